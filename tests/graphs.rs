//! Graph algorithms as loops in C over steps that sparsec compiles (`testdata/graphs`), against
//! textbook implementations: a queue, Dijkstra's algorithm, sums over edges, intersections of sets.

mod support;

use sparsec::data::{self, Tensor};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{data_folder, root};

/// Edges by rows: where they lead, and how long they are.
struct Graph {
    rows: Vec<Vec<(usize, f64)>>,
}

impl Graph {
    /// The pattern of a matrix; lengths are whole numbers from 1 to 9.
    fn read(path: &Path) -> Graph {
        let Tensor::Sparse(list) = data::read(path).unwrap() else {
            panic!("{}: not sparse", path.display());
        };
        let at = |n: &u64| usize::try_from(*n).unwrap();
        let size = at(&list.dims[0].max(list.dims[1]));
        let mut edges: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); size];
        for (i, j) in list.coords[0].iter().zip(&list.coords[1]) {
            edges[at(i)].insert(at(j));
        }
        let length = |i: usize, j: usize| {
            let mixed = (i * 31 + j * 17) % 9;
            1.0 + f64::from(u8::try_from(mixed).unwrap())
        };
        let row = |(i, row): (usize, BTreeSet<usize>)| {
            row.into_iter().map(|j| (j, length(i, j))).collect()
        };
        Graph {
            rows: edges.into_iter().enumerate().map(row).collect(),
        }
    }

    /// Of both directions, without loops; each edge leads to the smaller number.
    fn downwards(&self) -> Graph {
        let mut rows = vec![BTreeSet::new(); self.rows.len()];
        for (i, row) in self.rows.iter().enumerate() {
            for &(j, _) in row.iter().filter(|&&(j, _)| j != i) {
                rows[i.max(j)].insert(i.min(j));
            }
        }
        let row = |row: BTreeSet<usize>| row.into_iter().map(|j| (j, 1.0)).collect();
        Graph {
            rows: rows.into_iter().map(row).collect(),
        }
    }

    /// What `drivers.c` reads.
    fn write(&self, path: &Path) {
        let int = |n: usize| i32::try_from(n).unwrap().to_ne_bytes();
        let edges: Vec<&(usize, f64)> = self.rows.iter().flatten().collect();
        let mut bytes = Vec::new();
        for count in [self.rows.len(), edges.len()] {
            bytes.extend(i64::try_from(count).unwrap().to_ne_bytes());
        }
        let mut end = 0;
        bytes.extend(int(end));
        for row in &self.rows {
            end += row.len();
            bytes.extend(int(end));
        }
        bytes.extend(edges.iter().flat_map(|(j, _)| int(*j)));
        bytes.extend(edges.iter().flat_map(|(_, length)| length.to_ne_bytes()));
        std::fs::write(path, bytes).unwrap();
    }

    fn levels(&self) -> Vec<f64> {
        let mut levels = vec![-1.0; self.rows.len()];
        levels[0] = 0.0;
        let mut queue = VecDeque::from([0]);
        while let Some(i) = queue.pop_front() {
            for &(j, _) in &self.rows[i] {
                if levels[j] < 0.0 {
                    levels[j] = levels[i] + 1.0;
                    queue.push_back(j);
                }
            }
        }
        levels
    }

    fn lengths(&self) -> Vec<f64> {
        let mut lengths = vec![f64::INFINITY; self.rows.len()];
        lengths[0] = 0.0;
        // The bits of numbers that are not negative are in their order.
        let mut queue = BinaryHeap::from([Reverse((0, 0))]);
        while let Some(Reverse((bits, i))) = queue.pop() {
            if bits > lengths[i].to_bits() {
                continue;
            }
            for &(j, length) in &self.rows[i] {
                let new = lengths[i] + length;
                if new < lengths[j] {
                    lengths[j] = new;
                    queue.push(Reverse((new.to_bits(), j)));
                }
            }
        }
        lengths
    }

    fn ranks(&self) -> Vec<f64> {
        let count = |n: usize| f64::from(u32::try_from(n).unwrap());
        let all = count(self.rows.len());
        let mut ranks = vec![1.0 / all; self.rows.len()];
        for _ in 0..200 {
            let idle: f64 = (self.rows.iter().zip(&ranks))
                .filter(|(row, _)| row.is_empty())
                .map(|(_, rank)| rank)
                .sum();
            let mut next = vec![(0.15 + 0.85 * idle) / all; self.rows.len()];
            for (row, rank) in self.rows.iter().zip(&ranks) {
                for &(j, _) in row {
                    next[j] += 0.85 * rank / count(row.len());
                }
            }
            ranks = next;
        }
        ranks
    }

    fn triangles(&self) -> f64 {
        let mut marked = vec![false; self.rows.len()];
        let mut count = 0_u32;
        for row in &self.rows {
            row.iter().for_each(|&(j, _)| marked[j] = true);
            for &(k, _) in row {
                let closed = self.rows[k].iter().filter(|&&(j, _)| marked[j]);
                count += u32::try_from(closed.count()).unwrap();
            }
            row.iter().for_each(|&(j, _)| marked[j] = false);
        }
        f64::from(count)
    }
}

/// The drivers, with the steps that sparsec wrote for them.
fn build(folder: &Path, flags: &[&str]) -> PathBuf {
    let graphs = root().join("testdata/graphs");
    let mut sparsec = Command::new(env!("CARGO_BIN_EXE_sparsec"));
    sparsec.args(["-W", "no-performance"]);
    sparsec.arg(graphs.join("steps.tc")).arg("-o").arg(folder);
    assert!(sparsec.output().unwrap().status.success());
    let drivers = folder.join("drivers");
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-fopenmp", "-Wall", "-Wextra", "-Werror"]);
    cc.args(flags).arg("-I").arg(folder).arg("-o").arg(&drivers);
    cc.arg(graphs.join("drivers.c")).arg(folder.join("steps.c"));
    assert!(cc.arg("-lm").status().unwrap().success());
    drivers
}

fn run(drivers: &Path, graph: &Graph, what: &str) -> Vec<f64> {
    let file = drivers.with_file_name("graph");
    graph.write(&file);
    let mut command = Command::new(drivers);
    command.arg(&file).arg(what).env("OMP_NUM_THREADS", "2");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {said}");
    let numbers = output.stdout.chunks_exact(8);
    numbers
        .map(|bytes| f64::from_ne_bytes(bytes.try_into().unwrap()))
        .collect()
}

/// Runs all algorithms on a graph.
fn compare(drivers: &Path, path: &Path) {
    let graph = Graph::read(path);
    let same = |what: &str, want: &[f64]| {
        let got = run(drivers, &graph, what);
        let wrong = (0..want.len()).find(|&vertex| got[vertex] != want[vertex]);
        assert_eq!((got.len(), wrong), (want.len(), None), "{what}");
    };
    same("bfs", &graph.levels());
    same("paths", &graph.lengths());
    // They stop where a step moves 1e-12: all steps behind it move six times as much.
    let (got, want) = (run(drivers, &graph, "rank"), graph.ranks());
    let away: f64 = got.iter().zip(&want).map(|(a, b)| (a - b).abs()).sum();
    assert!(
        got.len() == want.len() && away < 1e-11,
        "ranks differ by {away:e}"
    );
    let down = graph.downwards();
    assert_eq!(run(drivers, &down, "triangles"), [down.triangles()]);
}

#[test]
fn small_graphs_under_the_sanitizers() {
    let folder = tempfile::tempdir().unwrap();
    let sanitized = [
        "-g",
        "-O1",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
    ];
    let drivers = build(folder.path(), &sanitized);
    for file in ["airfoil.mtx", "cage5.mtx"] {
        compare(&drivers, &root().join("testdata/data").join(file));
    }
}

#[test]
fn large_graphs() {
    let Some(data) = data_folder() else { return };
    let folder = tempfile::tempdir().unwrap();
    let drivers = build(folder.path(), &["-O3"]);
    for file in ["debian_depends.mtx.gz", "powerlaw_131k.mtx.gz"] {
        compare(&drivers, &data.join(file));
    }
}
