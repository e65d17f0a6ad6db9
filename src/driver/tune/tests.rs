//! The search against a machine that is made up: the same seed leads to the same schedule, and a
//! tuning that was ended to where it would have ended.

use super::decisions::Free;
use super::express::express;
use super::log::{self, Logged};
use super::race::{Plan, Runner, race};
use super::search::{Kind, Search};
use super::space::{Decision, Gene, Genome, Space};
use super::turns::{duel, rung};
use super::worker::Outcome;
use crate::data::generate::Random;
use crate::diagnostic::Sources;
use crate::driver::{Request, Source, compile};
use crate::graph::Graph;
use crate::target::Target;
use std::collections::BTreeMap;
use std::rc::Rc;

const SPMM: &str = "def spmm(double(M,K) A, double(K,N) B) -> (C) { C(i,k) +=! A(i,j) * B(j,k) }\n\
                    format spmm { A: csr }";

fn space(text: &str) -> Space {
    space_for(Target::C, text)
}

fn space_for(target: Target, text: &str) -> Space {
    let request = Request::new(Source::Text {
        name: "f".to_string(),
        text: text.to_string(),
    });
    let compiled = compile(&request, &mut Sources::default()).unwrap();
    let function = &compiled.program.functions[0];
    let graph = Graph::build(&Rc::new(function.clone())).unwrap();
    let vars = function.vars.iter().enumerate();
    let extents: BTreeMap<_, _> = vars
        .map(|(at, _)| (crate::program::ir::VarId(u32::try_from(at).unwrap()), 100))
        .collect();
    Space::new(&graph, target, Vec::new(), &extents)
}

#[test]
fn loops_that_the_function_does_not_have_are_decided_on() {
    let blocks = "def f(double(M,N) A) -> (B) { B(i,j) = 2 * A(i,j) } format f { A: bcsr(2,2), B: bcsr(2,2) }";
    let named = |gene: &Gene| gene.name.contains("i_o");
    assert!(space(blocks).genes.iter().any(named));
}

/// A machine on which schedules take what their text says, and a clock that measurements move.
struct Fake {
    clock: f64,
    runs: usize,
    /// Runs until it is ended.
    left: usize,
}

impl Fake {
    fn new(left: usize) -> Self {
        Fake {
            clock: 0.0,
            runs: 0,
            left,
        }
    }

    fn seconds(script: &[String]) -> f64 {
        let text = script.join("\n");
        let sum: u64 = text.bytes().map(u64::from).sum();
        let mut random = Random::new(sum);
        let tiled = if text.contains("precompute") {
            1.0
        } else {
            2.0
        };
        tiled * (1.0 + random.unit())
    }
}

impl Runner for Fake {
    fn prepare(&mut self, _: &[Vec<String>]) {}

    fn run(&mut self, scripts: &[Vec<String>], _: usize, rounds: u32, _: bool) -> Outcome {
        assert!(self.left > 0, "killed");
        self.left -= 1;
        self.runs += 1;
        self.clock += 1.0;
        let one = |script: &Vec<String>| vec![Fake::seconds(script); rounds as usize];
        Outcome::Measured(scripts.iter().map(one).collect())
    }

    fn elapsed(&self) -> f64 {
        self.clock
    }
}

fn plan(kind: Kind, seed: u64) -> Plan {
    Plan {
        kind,
        seed,
        budget: 60.0,
        trials: None,
        sets: 1,
        scratch: false,
    }
}

#[test]
fn a_tuning_that_was_killed_ends_as_if_it_was_not() {
    let space = space(SPMM);
    let folder = tempfile::tempdir().unwrap();
    let tune = |path: &std::path::Path, left: usize, budget: f64| {
        let (mut file, lines) = log::open(path, "me").unwrap();
        let fake = Fake::new(left);
        let mut runner = Logged::new(fake, &lines, Some(&mut file));
        let plan = Plan {
            budget,
            ..plan(Kind::Genetic, 7)
        };
        let starts = vec![space.usual(0)];
        race(&space, &plan, starts, &[], &mut runner, &mut |_, _, _| {})
    };
    let whole = folder.path().join("whole");
    let wanted = tune(&whole, usize::MAX, 60.0).unwrap();
    assert!(wanted.ahead && wanted.measured > 20);
    for killed_after in [1, 5, 30] {
        let log = folder.path().join(format!("log{killed_after}"));
        let killed = std::panic::catch_unwind(|| tune(&log, killed_after, 60.0));
        assert!(killed.is_err());
        // In the middle of a line.
        let text = std::fs::read_to_string(&log).unwrap();
        std::fs::write(&log, text.clone() + &text[text.len() / 2..][..9]).unwrap();
        assert_eq!(tune(&log, usize::MAX, 60.0).as_ref(), Ok(&wanted));
        // All of it is there now.
        assert_eq!(tune(&log, 0, 60.0).as_ref(), Ok(&wanted));
    }
    // With more time it goes on where the budget was over; what follows is read again, too.
    let longer = tune(&folder.path().join("longer"), usize::MAX, 90.0).unwrap();
    assert!(longer.measured > wanted.measured);
    assert_eq!(tune(&whole, usize::MAX, 90.0).as_ref(), Ok(&longer));
    assert_eq!(tune(&whole, 0, 90.0).as_ref(), Ok(&longer));
}

#[test]
fn a_log_is_of_one_tuning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let (file, _) = log::open(&path, "me").unwrap();
    let again = log::open(&path, "me").unwrap_err();
    assert!(again.to_string().contains("another tuning"));
    drop(file);
    std::fs::write(&path, "{\"schema\":\"sparsec-tuning-1\",\"of\":\"you\"}\n").unwrap();
    let (_file, lines) = log::open(&path, "me").unwrap();
    assert!(lines.is_empty());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"me\""), "{text}");
    // What is none stays.
    let other = folder.path().join("other");
    std::fs::write(&other, "y(i) = x(i)\n").unwrap();
    assert!(log::open(&other, "me").is_err());
    let text = std::fs::read_to_string(&other).unwrap();
    assert_eq!(text, "y(i) = x(i)\n");
}

/// Where every schedule changes the result, all of them come back.
#[test]
fn nothing_that_is_wrong_is_lost() {
    struct Wrong(Fake);
    impl Runner for Wrong {
        fn prepare(&mut self, _: &[Vec<String>]) {}

        fn run(&mut self, scripts: &[Vec<String>], set: usize, rounds: u32, all: bool) -> Outcome {
            self.0.run(scripts, set, rounds, all);
            Outcome::Wrong("y(0)".to_string())
        }

        fn elapsed(&self) -> f64 {
            self.0.elapsed()
        }
    }
    let space = space(SPMM);
    let mut runner = Wrong(Fake::new(usize::MAX));
    let plan = plan(Kind::Genetic, 1);
    let starts = vec![space.usual(0)];
    let faults = race(&space, &plan, starts, &[], &mut runner, &mut |_, _, _| {}).unwrap_err();
    assert_eq!(faults.len(), 60);
}

/// Who is clearly ahead is told by a few samples, who is not by more.
#[test]
fn a_pair_is_sampled_until_it_is_told_apart() {
    /// The second takes as much longer as `ratio` says, give or take `noise`.
    struct Noisy(Random, f64, f64, u32);
    impl Runner for Noisy {
        fn prepare(&mut self, _: &[Vec<String>]) {}

        fn run(&mut self, _: &[Vec<String>], _: usize, rounds: u32, _: bool) -> Outcome {
            self.3 += rounds;
            let mut take = |by: f64| {
                (0..rounds)
                    .map(|_| by * (1.0 + self.2 * self.0.unit()))
                    .collect()
            };
            Outcome::Measured(vec![take(1.0), take(self.1)])
        }

        fn elapsed(&self) -> f64 {
            0.0
        }
    }
    let told = |ratio: f64, noise: f64| {
        let mut runner = Noisy(Random::new(5), ratio, noise, 0);
        let pair = vec![vec!["a".to_string()], vec!["b".to_string()]];
        let found = duel(&pair, 2, &mut runner).unwrap();
        assert!((found / ratio - 1.0).abs() < noise.max(1e-9), "{found}");
        // Of two data sets.
        runner.3 / 2
    };
    assert_eq!(told(1.0, 0.0), 5);
    assert_eq!(told(0.5, 0.3), 5);
    assert_eq!(told(2.0, 0.3), 5);
    assert_eq!(told(0.98, 0.5), 20);
}

/// Half of what is hopeful stays after each rung, which all of them run in turns; what takes long has none.
#[test]
fn rungs_halve_what_is_hopeful() {
    /// Notes how many schedules ran together, and how often.
    struct Noting(Fake, Vec<(usize, u32)>);
    impl Runner for Noting {
        fn prepare(&mut self, _: &[Vec<String>]) {}

        fn run(&mut self, all: &[Vec<String>], set: usize, rounds: u32, compare: bool) -> Outcome {
            self.1.push((all.len(), rounds));
            // As fast as rungs must be.
            match self.0.run(all, set, rounds, compare) {
                Outcome::Measured(samples) => {
                    let all = samples.into_iter();
                    let faster = |of: Vec<f64>| of.iter().map(|s| s / 100.0).collect();
                    Outcome::Measured(all.map(faster).collect())
                }
                other @ (Outcome::Wrong(_)
                | Outcome::Refused(_)
                | Outcome::Crashed(_)
                | Outcome::TimedOut
                | Outcome::OutOfMemory) => other,
            }
        }

        fn elapsed(&self) -> f64 {
            self.0.elapsed()
        }
    }
    let scripts: Vec<Vec<String>> = ["a", "b", "c"].map(|s| vec![s.to_string()]).into();
    let seconds: Vec<f64> = scripts.iter().map(|s| Fake::seconds(s)).collect();
    let mut noting = Noting(Fake::new(usize::MAX), Vec::new());
    let ratios = rung(&scripts, 0.1, 1, &mut noting).unwrap();
    for (ratio, own) in ratios.iter().zip(&seconds) {
        assert!((ratio - own / seconds[0]).abs() < 1e-12, "{ratios:?}");
    }
    assert!(rung(&scripts, 0.1, 2, &mut noting).is_some());
    assert_eq!(rung(&scripts, 0.1, 4, &mut noting), None);
    assert_eq!(noting.1, [(3, 5), (3, 5), (3, 5)]);
    noting.1.clear();
    let space = space(SPMM);
    let starts = vec![space.usual(0)];
    let plan = plan(Kind::Genetic, 1);
    race(&space, &plan, starts, &[], &mut noting, &mut |_, _, _| {}).unwrap();
    // Three or four beside the best one, and pairs at last.
    let together = |n: usize| noting.1.iter().filter(|(all, _)| *all == n).count();
    assert!(together(4) + together(5) > 0 && together(2) > 0);
    let of_five = noting.1.iter().filter(|(all, _)| *all == 5);
    assert!({ of_five }.all(|(_, rounds)| *rounds == 5));
    assert!(noting.1.iter().all(|(all, _)| *all <= 8));
}

/// Until there are parents, and in turns with children later, one choice of the best one is another; each choice
/// of a child is one of its three parents', or drawn.
#[test]
fn steps_come_first_and_children_have_three_parents() {
    let space = space(SPMM);
    let mut search = Search::new(&space, (Kind::Genetic, 3), vec![space.usual(0)]);
    let mut best = (f64::INFINITY, space.usual(0));
    let mut scored: Vec<Genome> = Vec::new();
    let (mut steps, mut others) = (0, 0);
    for _ in 0..8 {
        let (best_before, known) = (best.1.clone(), scored.clone());
        for candidate in search.generation(8) {
            let differs = best_before.iter().zip(&candidate.genome);
            let few = known.len() < 16;
            if differs.filter(|(a, b)| a != b).count() <= 1 {
                steps += 1;
            } else if !known.is_empty() {
                assert!(!few, "{:?}", candidate.genome);
                others += 1;
            }
            let text = candidate.script.join("\n");
            let mut random = Random::new(text.bytes().map(u64::from).sum());
            let seconds = 1.0 + random.unit();
            search.score(&candidate.genome, seconds);
            scored.push(candidate.genome.clone());
            if seconds < best.0 {
                best = (seconds, candidate.genome);
            }
        }
    }
    assert!(steps >= 16 && others >= 8, "{steps} {others}");
}

/// Numbers have the next smaller and larger ones beside them, whatever their order.
#[test]
fn near_choices_are_those_beside() {
    let space = space(SPMM);
    let split = space.genes.iter().find(|gene| gene.name == "S0.split.i");
    let split = split.unwrap();
    let Decision::Free(.., Free::Split(_, values)) = &split.what else {
        panic!("{split:?}");
    };
    for (at, own) in values.iter().enumerate() {
        let near: Vec<i64> = split.near(at).iter().map(|&n| values[n]).collect();
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let place = sorted.iter().position(|v| v == own).unwrap();
        let mut wanted = Vec::new();
        wanted.extend(place.checked_sub(1).map(|n| sorted[n]));
        wanted.extend(sorted.get(place + 1));
        assert_eq!(near, wanted, "{own} of {values:?}");
    }
    let place = space.genes.iter().find(|g| g.name.starts_with("S0.place"));
    assert!(place.unwrap().near(0).is_empty());
}

/// Another seed draws others; genetic search finds what is faster sooner than draws.
#[test]
fn seeds_and_kinds_differ() {
    let space = space(SPMM);
    let best = |kind, seed| {
        let mut fake = Fake::new(usize::MAX);
        let starts = vec![space.usual(0)];
        let plan = plan(kind, seed);
        race(&space, &plan, starts, &[], &mut fake, &mut |_, _, _| {}).unwrap()
    };
    let (one, other) = (best(Kind::Genetic, 1), best(Kind::Genetic, 2));
    assert_eq!(one, best(Kind::Genetic, 1));
    assert_ne!(one.curve, other.curve);
    assert_ne!(one.curve, best(Kind::Random, 1).curve);
}

/// The usual genes are what people write: tiles in registers, rows for threads.
#[test]
fn the_usual_genome_is_a_schedule_of_the_books() {
    let space = space(SPMM);
    let script = express(&space, &space.usual(0)).unwrap().join("\n");
    for piece in [
        "split(i, ",
        "reorder(",
        "precompute(A(i,j) * B(j,k)",
        "CPUVector",
        "CPUThread",
    ] {
        assert!(script.contains(piece), "{piece} in\n{script}");
    }
}

/// Of dense matrices a tile stays in registers, whose rows are unrolled, and rows of the other factor are copied
/// for it.
#[test]
fn the_usual_genome_of_dense_products_keeps_a_tile() {
    let gemm = "def gemm(double(M,K) A, double(K,N) B) -> (C) { C(i,j) +=! A(i,k) * B(k,j) }";
    let space = space(gemm);
    let script = express(&space, &space.usual(0)).unwrap();
    let wanted = [
        "split(i, i_t1, i_t2, 6)",
        "split(j, j_t3, j_t4, 16)",
        "reorder(j_t3, i_t1, k, i_t2, j_t4)",
        "precompute(B(k,j), {k, j_t4}, {k_t7, jt4_t8}, panel_t9)",
        "precompute(A(i,k) * panel_t9(k,j_t4), {i_t2, j_t4}, {i_t2, j_t4}, w_t10)",
        "unroll(i_t2)",
        "parallelize(j_t4, CPUVector, NoRaces)",
        "parallelize(j_t3, CPUThread, NoRaces)",
    ];
    assert_eq!(script, wanted);
    let mut other = space.usual(0);
    let pack = space.genes.iter().position(|gene| gene.name == "S0.pack");
    other[pack.unwrap()] = 1;
    let script = express(&space, &other).unwrap().join("\n");
    assert!(!script.contains("panel"), "{script}");
    assert!(
        script.contains("reorder(i_t1, j_t3, k, i_t2, j_t4)"),
        "{script}"
    );
}

/// The rows of a convolution's tile are output channels, of which the input has none.
#[test]
fn rows_of_a_tile_share_what_vectors_read() {
    let space = space(
        "def conv(double(B,C,H,W) in, double(O,C,KH,KW) w) -> (out) { \
         out(b,o,h,x) +=! in(b, c, h + kh, x + kw) * w(o,c,kh,kw) where kh in 0:KH, kw in 0:KW }",
    );
    let script = express(&space, &space.usual(0)).unwrap().join("\n");
    for piece in [
        "split(o, o_t3, o_t4, 6)",
        "reorder(b, o_t3, h, x_t7, c, kh, kw, o_t4, x_t8)",
    ] {
        assert!(script.contains(piece), "{piece} in\n{script}");
    }
}

/// What shapes a schedule is tried first: one of them is the built-in vectorised product.
#[test]
fn shapes_are_tried_first() {
    let space = space(
        "def spmv(double(M,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) }\nformat spmv { A: csr }",
    );
    let all = space.shapes(0);
    let scripts: Vec<Vec<String>> = all.iter().map(|g| express(&space, g).unwrap()).collect();
    let vectors = [
        "split(i, i_t1, i_t2, 32)",
        "reorder(i_t1, i_t2, j)",
        "parallelize(j, CPUVector, ParallelReduction)",
        "parallelize(i_t1, CPUThread, NoRaces)",
    ];
    assert!(
        scripts.iter().any(|script| script == &vectors),
        "{scripts:#?}"
    );
    let walked = |depth: &str| {
        scripts
            .iter()
            .any(|script| script.iter().any(|l| l.starts_with(depth)))
    };
    assert!(
        walked("pos(i_t1, p_t2, A(i,j))") && !walked("pos(j,"),
        "{scripts:#?}"
    );
}

const CHAIN: &str = "def chain(double(N,N) A, double(N,N) B, double(N) x) -> (y) { y(i) +=! A(i,j) * B(j,k) * x(k) }\n\
                     format chain { A: csr, B: csr }";
const LAYERS: &str = "def layers(double(N,K) x, double(K,M) w) -> (r) { h(n,m) +=! x(n,k) * w(k,m)  \
                      r(n,m) = max(h(n,m), 0) }";

/// Products are taken apart where some factors alone have a sum, and adjacent statements share loops.
#[test]
fn free_genes_begin_with_bases() {
    let commands = |text: &str| -> Vec<String> {
        let all = space(text).bases.into_iter();
        all.map(|base| base.commands.join("; ")).collect()
    };
    assert_eq!(commands(SPMM), [""]);
    let wanted = [
        "",
        "precompute(B(j,k) * x(k), {j}, {j_a0}, part0)",
        "precompute(A(i,j) * B(j,k), {i, k}, {i_a0, k_a0}, part0)",
    ];
    assert_eq!(commands(CHAIN), wanted);
    let wanted = ["", "join(S0, S1, n, m)", "join(S0, S1, n)"];
    assert_eq!(commands(LAYERS), wanted);
    let four = "def f(double(N,N) A, double(N,N) B, double(N,N) C, double(N) x) -> (y) \
                { y(i) +=! A(i,j) * B(j,k) * C(k,l) * x(l) }";
    let last = "precompute(C(k,l) * x(l), {k}, {k_a0}, part0); precompute(B(j,k) * part0(k), {j}, {j_a1}, part1)";
    assert!(
        commands(four).iter().any(|c| c == last),
        "{:#?}",
        commands(four)
    );
    // Both nests of what is taken apart are decided on.
    let space = space(CHAIN);
    let named = |name: &str| space.genes.iter().any(|gene| gene.name == name);
    assert!(named("S0.split.i") && named("part0.split.k"));
    let script = express(&space, &space.usual(1)).unwrap().join("\n");
    assert!(script.contains("parallelize(ja0_t7, CPUThread"), "{script}");
}

/// Whatever is drawn is accepted by all stages.
#[test]
fn what_is_drawn_compiles() {
    for target in [Target::C, Target::Cuda] {
        drawn_compiles(target);
    }
}

fn drawn_compiles(target: Target) {
    let mut begun = std::collections::BTreeSet::new();
    for text in [
        SPMM,
        "def spmv(double(M,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) }\nformat spmv { A: csr }",
        "def gemm(double(M,K) A, double(K,N) B) -> (C) { C(i,j) +=! A(i,k) * B(k,j) }",
        "def two(double(N,N) A, double(N) x) -> (z) { y(i) +=! A(i,j) * x(j)  z(i) = y(i) + x(i) }\nformat two { A: csr }",
        CHAIN,
        LAYERS,
    ] {
        let space = space_for(target, text);
        let mut random = Random::new(3);
        let mut all = std::collections::BTreeSet::new();
        for _ in 0..40 {
            let genome = space.drawn(&mut random);
            begun.insert(space.bases[space.script(&genome).unwrap_err()].name.clone());
            let script = express(&space, &genome).unwrap();
            let mut request = Request::new(Source::Text {
                name: "f".to_string(),
                text: text.to_string(),
            });
            request.target = target;
            request.schedule = crate::driver::ScheduleChoice::Text {
                name: "drawn".to_string(),
                text: script.join("\n"),
            };
            let compiled = compile(&request, &mut Sources::default());
            assert!(compiled.is_ok(), "{}\n{compiled:?}", script.join("\n"));
            all.insert(script);
        }
        assert!(all.len() >= 10, "{}", all.len());
    }
    for base in ["free", "joined", "joined once", "apart B(j,k) * x(k)"] {
        assert!(begun.contains(base), "{base} in {begun:?}");
    }
}

/// Scripts of some genomes on a GPU, by what they say beside the usual.
fn on_a_gpu(text: &str, changes: &[(&str, usize)]) -> String {
    let space = space_for(Target::Cuda, text);
    let mut genome = space.usual(0);
    for (name, choice) in changes {
        let at = space
            .genes
            .iter()
            .position(|g| g.name == format!("S0.{name}"));
        genome[at.unwrap()] = *choice;
    }
    express(&space, &genome).unwrap().join("\n")
}

/// The four families of 001, and the tiles of 002.
#[test]
fn free_genes_of_a_gpu() {
    let spmv = "def spmv(double(M,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) }\nformat spmv { A: csr }";
    let gemm = "def gemm(double(M,K) A, double(K,N) B) -> (C) { C(i,j) +=! A(i,k) * B(k,j) }";
    let mttkrp = "def mttkrp(double(I,K,L) B, double(K,J) C, double(L,J) D) -> (A) { A(i,j) +=! B(i,k,l) * C(k,j) * D(l,j) }\nformat mttkrp { B: csf }";
    let sddmm = "def sddmm(double(M,N) A, double(M,K) B, double(N,K) D) -> (C) { C(i,j) +=! A(i,j) * B(i,k) * D(j,k) }\nformat sddmm { A: csr, C: csr }";
    let all = [
        (spmv, &[][..], "GPUGroup(8), ParallelReduction"),
        (spmv, &[("group", 1)], "GPUThread, NoRaces"),
        (
            spmv,
            &[("worker", 2)],
            "reorder(i_t4, it5_t7, it5_t6, pt1_t3, pt1_t2)",
        ),
        (SPMM, &[], "fuse(i, k_t1, i_t3)"),
        (SPMM, &[("walk", 3)], "GPUGroup(8), Segment"),
        (SPMM, &[("walk", 3), ("segment", 1)], "GPUThread, Atomics"),
        (mttkrp, &[], "GPUGroup(8), ParallelReduction"),
        (sddmm, &[("walk", 3)], "GPUGroup(8), ParallelReduction"),
        (gemm, &[], "promote(A, shared, k_t9)"),
        (gemm, &[("shared", 1)], "GPUThreadY, NoRaces"),
        // Sums of their own, without tiles.
        (
            gemm,
            &[("registers", 1)],
            "jt6_t7)\nunroll(it2_t3, 4)\nunroll(jt6_t7, 4)",
        ),
        (gemm, &[("order", 1)], "parallelize(j_t5, GPUBlockY"),
        (
            gemm,
            &[("order", 2)],
            "reorder(k_t9, r_t11, r_t12, r_t13, r_t14, k_t10)",
        ),
        (gemm, &[("unroll", 2)], "unroll(k_t10, 2)"),
        // A fourth of 100 rows.
        (gemm, &[("down", 4)], "split(i_t2, it2_t3, it2_t4, 25)"),
        (SPMM, &[("group", 1)], "reorder(j, r_t6)\n"),
        (
            SPMM,
            &[("group", 1), ("registers", 1)],
            "GPUThread, NoRaces)\nunroll(k_t2)",
        ),
        (SPMM, &[("order", 1)], "fuse(k_t1, i, i_t3)"),
        (spmv, &[("unroll", 2)], "unroll(pt1_t2, 4)"),
    ];
    let space = space_for(Target::Cuda, LAYERS);
    let joined = express(&space, &space.usual(1)).unwrap().join("\n");
    assert!(
        joined.contains("parallelize(S0.n, GPUBlock, NoRaces)"),
        "{joined}"
    );
    assert!(joined.contains("GPUThread, NoRaces"), "{joined}");
    for (text, changes, piece) in all {
        let script = on_a_gpu(text, changes);
        assert!(script.contains(piece), "{piece} in\n{script}");
        // What ignores races is above what is atomic.
        let ignored = script.contains("IgnoreRaces");
        let atomic = script.contains("Atomics") || script.contains("Segment");
        assert!(!ignored || atomic, "{script}");
    }
}
