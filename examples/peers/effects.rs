//! The effects that the papers report of their schedules, each as schedules of one program
//! against each other: what a ratio above 1 means is that the first is slower.

use crate::operations::{Choice, Operation};
use crate::{Bench, Ours, Peers, compile};
use sparsec::data::{self, Coo, Tensor};
use std::path::Path;
use std::time::Instant;

const ROUNDS: usize = 15;

struct Effect {
    title: &'static str,
    /// Program, schedule ("none" for plain loops) and how the kernel is called.
    variants: Vec<(&'static str, &'static str, &'static str)>,
    inputs: Vec<(String, Option<Tensor>)>,
    order: usize,
    columns: i64,
    operands: fn(&crate::operations::Shape) -> Vec<i64>,
    result: fn(&crate::operations::Shape) -> i64,
}

/// A matrix whose row i holds k * c^i elements, rows shuffled (000, figure 8-7).
fn skewed(rows: u64, columns: u64, stored: f64, c: f64) -> Tensor {
    let mut random = data::generate::Random::new(7);
    // Relative to the fullest row, which c^i would overflow for.
    let exponents: Vec<f64> = (0..rows)
        .map(|i| c.powf(i as f64 + 1.0 - rows as f64))
        .collect();
    let k = stored / exponents.iter().sum::<f64>();
    let mut order: Vec<u64> = (0..rows).collect();
    for at in (1..order.len()).rev() {
        let other = usize::try_from(random.below(at as u64 + 1)).unwrap();
        order.swap(at, other);
    }
    let (mut is, mut js) = (Vec::new(), Vec::new());
    for (&row, share) in order.iter().zip(&exponents) {
        let count = (k * share).round().min(columns as f64) as u64;
        for _ in 0..count {
            is.push(row);
            js.push(random.below(columns));
        }
    }
    let values = data::Values::F64(vec![1.0; is.len()]);
    Tensor::Sparse(Coo {
        dims: vec![rows, columns],
        coords: vec![is, js],
        values,
    })
}

fn effects() -> Vec<Effect> {
    let spmv = "spmv_raw(d[0], d[1], a[0], a[1], a[2], a[3], *out)";
    let spmm = "spmm_raw(d[0], d[1], d[2], a[0], a[1], a[2], a[3], *out)";
    let mttkrp = "mttkrp3_raw(d[0], d[1], d[2], d[3], a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], *out)";
    let counted =
        "spmv_csr_raw(d[0] + 1, ((int32_t *)a[0])[d[0]], d[1], a[0], a[1], a[2], a[3], *out)";
    let files = |list: &[&str]| list.iter().map(|f| ((*f).to_string(), None)).collect();
    let matrices = [
        "bcsstk13.mtx.gz",
        "bayer10.mtx.gz",
        "lp_fit2d.mtx.gz",
        "elasticity3d.mtx.gz",
        "rotor.mtx.gz",
        "powerlaw_131k.mtx.gz",
        "laplace2d_700.mtx.gz",
        "poisson3d_p2.mtx.gz",
    ];
    vec![
        Effect {
            title: "SpMV: plain loops against rows in chunks (000, 8.2.1)",
            variants: vec![
                ("testdata/scheduled/spmv.tc", "none", spmv),
                ("testdata/scheduled/spmv.tc", "spmv_cpu", spmv),
            ],
            inputs: files(&matrices),
            order: 2,
            columns: 0,
            operands: |s| vec![s.extents[1]],
            result: |s| s.extents[0],
        },
        Effect {
            title: "SpMV: rows in chunks, fetched ahead, in vectors, in equal shares of vectors",
            variants: vec![
                ("testdata/scheduled/spmv.tc", "spmv_cpu", spmv),
                ("testdata/scheduled/spmv.tc", "spmv_ahead_cpu", spmv),
                ("testdata/scheduled/spmv.tc", "spmv_lanes_cpu", spmv),
                ("testdata/scheduled/spmv.tc", "spmv_vector_cpu", spmv),
                ("testdata/scheduled/spmv.tc", "spmv_balanced_cpu", spmv),
            ],
            inputs: files(&matrices),
            order: 2,
            columns: 0,
            operands: |s| vec![s.extents[1]],
            result: |s| s.extents[0],
        },
        Effect {
            title: "SpMV: rows against positions in equal shares, row i with k c^i elements \
                    (000, figure 8-7, here with 4 million)",
            variants: vec![
                ("testdata/scheduled/spmv.tc", "spmv_cpu", spmv),
                ("testdata/scheduled/spmv.tc", "spmv_positions_cpu", spmv),
            ],
            inputs: [1.0, 1.001, 1.01, 1.1, 1.5, 3.0]
                .into_iter()
                .map(|c| (format!("c = {c}"), Some(skewed(20_000, 4_000_000, 4e6, c))))
                .collect(),
            order: 2,
            columns: 0,
            operands: |s| vec![s.extents[1]],
            result: |s| s.extents[0],
        },
        Effect {
            title: "SpMM, 128 columns: untiled (A.13) against positions in tiles (A.12) (000, 8.6)",
            variants: vec![
                ("testdata/scheduled/spmm.tc", "spmm_plain_cpu", spmm),
                ("testdata/scheduled/spmm.tc", "spmm_tiled_cpu", spmm),
            ],
            inputs: files(&matrices[..6]),
            order: 2,
            columns: 128,
            operands: |s| vec![s.extents[1] * s.extents[2]],
            result: |s| s.extents[0] * s.extents[2],
        },
        Effect {
            title: "MTTKRP, rank 32: no workspace, the sum over l in one (A.5), rows and fibres in \
                    registers (000, 8.2.5)",
            variants: vec![
                ("testdata/scheduled/mttkrp3.tc", "none", mttkrp),
                ("testdata/scheduled/mttkrp3.tc", "mttkrp3_cpu", mttkrp),
                ("testdata/scheduled/mttkrp3.tc", "mttkrp_cpu", mttkrp),
            ],
            inputs: files(&[
                "mnist_2500.tns.gz",
                "debian_trigrams.tns.gz",
                "wn18rr.tns.gz",
                "openflights.tns.gz",
                "fb15k237_valid.tns",
            ]),
            order: 3,
            columns: 32,
            operands: |s| vec![s.extents[1] * s.extents[3], s.extents[2] * s.extents[3]],
            result: |s| s.extents[0] * s.extents[3],
        },
        Effect {
            title: "SpMV as a dynamic counted loop: plain against tiled with an inspector (003)",
            variants: vec![
                ("testdata/scheduled/spmv_csr.tc", "none", counted),
                ("testdata/scheduled/spmv_csr.tc", "spmv_csr_cpu", counted),
            ],
            inputs: files(&matrices),
            order: 2,
            columns: 0,
            operands: |s| vec![s.extents[1]],
            result: |s| s.extents[0],
        },
    ]
}

pub fn tables(folder: &Path, peers: &Peers, threads: i32, only: &[String]) {
    peers.use_threads(threads);
    for effect in effects() {
        if only.is_empty() || only.iter().any(|o| effect.title.contains(o.as_str())) {
            table(&effect, folder);
        }
    }
}

fn table(effect: &Effect, folder: &Path) {
    println!("{}\n", effect.title);
    let labels: Vec<String> = effect
        .variants
        .iter()
        .map(|(_, schedule, _)| format!("{schedule} ms"))
        .collect();
    println!("| input | stored | {} | first / last |", labels.join(" | "));
    println!("|---|{}", "---:|".repeat(labels.len() + 2));
    let operation = |program, ours| Operation {
        name: effect.title.to_string(),
        key: "",
        program,
        schedules: &[],
        choose: Choice::First,
        rule: "",
        defines: vec![],
        inputs: vec![],
        order: effect.order,
        columns: effect.columns,
        single: false,
        sized: false,
        ours,
        unscheduled: "",
        operands: effect.operands,
        result: effect.result,
        target: 0.0,
    };
    let kernels: Vec<(Operation, libloading::Library)> = effect
        .variants
        .iter()
        .map(|&(program, schedule, ours)| {
            let operation = operation(program, ours);
            let library = compile(&operation, schedule, None);
            (operation, library)
        })
        .collect();
    for (name, tensor) in &effect.inputs {
        let bench = match tensor {
            Some(tensor) => Some(Bench::new(&kernels[0].0, Some(tensor), vec![])),
            None => Bench::load(&kernels[0].0, folder, name),
        };
        let Some(mut bench) = bench else {
            println!("| {name} | skipped: no such file |");
            continue;
        };
        let times = interleaved(&mut bench, &kernels);
        let cells: Vec<String> = times.iter().map(|t| format!("{:.3}", 1e3 * t)).collect();
        println!(
            "| {name} | {} | {} | {:.2} |",
            bench.shape.stored,
            cells.join(" | "),
            times[0] / times[times.len() - 1]
        );
    }
    println!();
}

/// The median of each variant, run in turn.
fn interleaved(bench: &mut Bench, kernels: &[(Operation, libloading::Library)]) -> Vec<f64> {
    let args = bench.args();
    let mut times = vec![Vec::new(); kernels.len()];
    for round in 0..ROUNDS + 2 {
        for (own, (_, library)) in times.iter_mut().zip(kernels) {
            let mut out = crate::aligned(&mut bench.result);
            let start = Instant::now();
            // SAFETY: the kernel's own signature, see `compile`.
            unsafe {
                let kernel = library.get::<Ours>(b"ours").unwrap();
                kernel(bench.extents.as_ptr(), args.as_ptr(), &raw mut out);
            }
            if round >= 2 {
                own.push(start.elapsed().as_secs_f64());
            }
        }
    }
    times
        .iter_mut()
        .map(|own| {
            own.sort_by(f64::total_cmp);
            own[ROUNDS / 2]
        })
        .collect()
}
