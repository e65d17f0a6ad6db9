//! Dynamic counted loops (paper 003) under schedules, against the loops as one writes them by hand:
//! `scripts/bench-dynamic`. All variants of a row run in turn in one process; results are compared
//! before times are.

mod inputs;

use inputs::{Input, by_columns, csr, ell, equake, hog, skewed, to_ell};
use sparsec::data::Values;
use sparsec::diagnostic::Sources;
use sparsec::driver::{self, Request, Source, compile::ScheduleChoice};
use sparsec::emit::{Unit, c};
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const ROUNDS: usize = 31;

type Ours = unsafe extern "C" fn(*const i64, *const *mut c_void);

/// A program, how its kernel is called, the same by hand, and schedules: a name of `schedules/`, or
/// commands.
struct Table {
    title: &'static str,
    program: &'static str,
    def: &'static str,
    call: &'static str,
    hand: &'static str,
    schedules: &'static [(&'static str, &'static str)],
}

const CSR: Table = Table {
    title: "SpMV, CSR",
    program: "testdata/scheduled/spmv_csr.tc",
    def: "spmv_csr",
    call: "spmv_csr_raw(d[0] + 1, d[2], d[1], a[0], a[1], a[2], a[3], a[4])",
    hand: "hand_csr(d[0], a[0], a[1], a[2], a[3], a[4])",
    schedules: &[
        ("plain", ""),
        ("unrolled", "inspect(p, u)\nsplit(p, p0, p1, 8)\nunroll(p1)"),
        (
            "interchanged",
            "inspect(p, u)\nsplit(i, i0, i1, 64)\nreorder(i0, p, i1)",
        ),
        ("tiled", "inspect(p, u)\ntile(i, p, 32, 16)"),
        ("parallel", "parallelize(i, CPUThread(static), NoRaces)"),
        ("spmv_csr_cpu", ""),
    ],
};

const TILES: Table = Table {
    title: "SpMV, CSR, in tiles",
    schedules: &[
        ("plain", ""),
        ("(4, 8)", "inspect(p, u)\ntile(i, p, 4, 8)"),
        ("(64, 8)", "inspect(p, u)\ntile(i, p, 64, 8)"),
        ("(1000, 8)", "inspect(p, u)\ntile(i, p, 1000, 8)"),
    ],
    ..CSR
};

const ELL: Table = Table {
    title: "SpMV, ELL",
    program: "testdata/scheduled/spmv_ell.tc",
    def: "spmv_ell",
    call: "spmv_ell_raw(d[0], d[2], d[1], a[0], a[1], a[2], a[3], a[4])",
    hand: "hand_ell(d[0], d[2], a[0], a[1], a[2], a[3], a[4])",
    schedules: &[
        ("plain", ""),
        ("unrolled", "inspect(k, u)\nsplit(k, k0, k1, 8)\nunroll(k1)"),
        (
            "interchanged",
            "inspect(k, u)\nsplit(i, i0, i1, 64)\nreorder(i0, k, i1)",
        ),
        ("tiled", "inspect(k, u)\ntile(i, k, 32, 16)"),
        ("parallel", "parallelize(i, CPUThread(static), NoRaces)"),
        ("spmv_ell_cpu", ""),
    ],
};

const EQUAKE: Table = Table {
    title: "equake, smvp",
    program: "testdata/programs/equake.tc",
    def: "smvp",
    call: "smvp_raw(d[0] + 1, d[1], d[0], a[0], a[1], a[2], a[3], a[4])",
    hand: "hand_equake(d[0], a[0], a[1], a[2], a[3], a[4])",
    schedules: &[
        ("plain", ""),
        ("unrolled", "unroll(S1.b)\nunroll(S2.a)\nunroll(S2.b)"),
        (
            "interchanged",
            "precompute(K(e,a,b) * v(col(e),b), S1.a, aw, sums)\nreorder(S1.e, aw, S1.b)",
        ),
        (
            "both",
            "precompute(K(e,a,b) * v(col(e),b), S1.a, aw, sums)\nreorder(S1.e, aw, S1.b)\nunroll(aw)\nunroll(S1.b)\nunroll(S2.a)\nunroll(S2.b)",
        ),
        ("fused", "join(S1, S2, i)"),
        (
            "fused, all",
            "precompute(K(e,a,b) * v(col(e),b), S1.a, aw, sums)\nreorder(S1.e, aw, S1.b)\njoin(S1, S2, i)\nunroll(aw)\nunroll(S1.b)\nunroll(S2.a)\nunroll(S2.b)",
        ),
        (
            "fused, copies",
            "precompute(K(e,a,b) * v(col(e),b), S1.a, aw, sums)\nreorder(S1.e, aw, S1.b)\njoin(S1, S2, i)\nunroll(aw)\nunroll(S1.b)\nunroll(S2.a)\nunroll(S2.b)\nparallelize(S1.i, CPUThread, Temporary)",
        ),
        (
            "parallel, copies",
            "precompute(K(e,a,b) * v(col(e),b), S1.a, aw, sums)\nreorder(S1.e, aw, S1.b)\nunroll(aw)\nunroll(S1.b)\nunroll(S2.a)\nunroll(S2.b)\nparallelize(S1.i, CPUThread, NoRaces)\nparallelize(S2.i, CPUThread, Temporary)",
        ),
        (
            "parallel, atomics",
            "precompute(K(e,a,b) * v(col(e),b), S1.a, aw, sums)\nreorder(S1.e, aw, S1.b)\nunroll(aw)\nunroll(S1.b)\nunroll(S2.a)\nparallelize(S1.i, CPUThread, NoRaces)\nparallelize(S2.i, CPUThread, Atomics)",
        ),
    ],
};

const HOG: Table = Table {
    title: "HOG, histograms",
    program: "testdata/scheduled/histogram.tc",
    def: "histogram",
    call: "histogram_raw(d[0], d[1], d[2], d[3], d[4], a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7])",
    hand: "hand_hog(d[1], d[2], d[3], d[4], a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7])",
    schedules: &[
        ("plain", ""),
        ("hog_cpu", ""),
        ("hog_tiled_cpu", ""),
        ("hog_pixels_cpu", ""),
    ],
};

const INSPECTOR: Table = Table {
    title: "Inspector: CSR to ELL by columns",
    program: "testdata/programs/inspector.tc",
    def: "to_ell",
    call: "to_ell_raw(d[0] + 1, d[3], d[1], d[0], a[0], a[1], a[2], a[3], a[5], a[4])",
    hand: "hand_to_ell(d[0], d[1], a[0], a[1], a[2], a[3], a[4], a[5])",
    schedules: &[("plain", ""), ("joined", "join(S3, S4, i)")],
};

/// By hand, it is the loop over rows that the inspector was to spare.
const EXECUTOR: Table = Table {
    title: "Executor: SpMV, ELL by columns, against CSR by hand",
    program: "testdata/programs/inspector.tc",
    def: "ell_spmv",
    call: "ell_spmv_raw(d[1], d[0], d[2], a[0], a[1], a[5], a[6])",
    hand: "hand_csr(d[0], a[2], a[3], a[4], a[5], a[6])",
    schedules: &[
        ("plain", ""),
        (
            "rows side by side",
            "split(i, i0, i1, 64)\nprecompute(stored(k,i) * x(slot(k,i)), i1, iw, sums)\nreorder(k, iw)",
        ),
        (
            "in lanes",
            "split(i, i0, i1, 64)\nprecompute(stored(k,i) * x(slot(k,i)), i1, iw, sums)\nreorder(k, iw)\nparallelize(iw, CPUVector, NoRaces)\nparallelize(i0, CPUThread, NoRaces)",
        ),
    ],
};

fn main() {
    let data = std::env::var_os("SPARSEC_DATA")
        .map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    let made = PathBuf::from(
        std::env::args()
            .nth(1)
            .unwrap_or_else(|| "target/dynamic".to_string()),
    );
    let files = [
        "elasticity3d.mtx.gz",
        "rotor.mtx.gz",
        "laplace2d_700.mtx.gz",
        "poisson3d_p2.mtx.gz",
    ];
    let matrices = |more: &[&str]| -> Vec<Input> {
        let names = files.iter().chain(more);
        names.filter_map(|name| csr(&data, name)).collect()
    };
    table(&CSR, matrices(&["powerlaw_131k.mtx.gz"]));
    let narrow = files.iter().filter_map(|name| ell(&data, name));
    table(&ELL, narrow.collect());
    table(&EQUAKE, equake(&made.join("mesh")).into_iter().collect());
    let sizes = [16, 32, 64, 128];
    table(
        &HOG,
        sizes
            .iter()
            .filter_map(|n| hog(&made.join(format!("image{n}")), *n))
            .collect(),
    );
    let narrow = files.iter().filter_map(|name| to_ell(&data, name));
    table(&INSPECTOR, narrow.collect());
    let narrow = files.iter().filter_map(|name| by_columns(&data, name));
    table(&EXECUTOR, narrow.collect());
    let mut tiles = vec![skewed()];
    tiles.extend(matrices(&["powerlaw_131k.mtx.gz", "lp_fit2d.mtx.gz"]));
    table(&TILES, tiles);
}

fn table(table: &Table, inputs: Vec<Input>) {
    // Those whose title holds what was asked for.
    let asked: Vec<String> = std::env::args().skip(2).collect();
    if !asked.is_empty() && !asked.iter().any(|part| table.title.contains(part.as_str())) {
        return;
    }
    println!("**{}**\n", table.title);
    let names = table.schedules.iter().map(|(name, _)| *name);
    let names: Vec<&str> = ["by hand"].into_iter().chain(names).collect();
    println!("| input | {} ms | best / plain |", names.join(" ms | "));
    println!("|---|{}", "---:|".repeat(names.len() + 1));
    let mut libraries = vec![compile(table, None)];
    libraries.extend(
        table
            .schedules
            .iter()
            .map(|schedule| compile(table, Some(*schedule))),
    );
    for mut input in inputs {
        let times = interleaved(table, &libraries, &names, &mut input);
        let cells: Vec<String> = times.iter().map(|t| format!("{:.3}", 1e3 * t)).collect();
        let best = times[2..].iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "| {} | {} | {:.2} |",
            input.name,
            cells.join(" | "),
            times[1] / best
        );
    }
    println!();
}

/// The kernel of a schedule, or the loop by hand, as a library with one function `ours`.
fn compile(table: &Table, schedule: Option<(&str, &str)>) -> libloading::Library {
    let folder = tempfile::tempdir().unwrap().keep();
    let call = match schedule {
        None => table.hand,
        Some(schedule) => {
            kernel(table, schedule, &folder);
            table.call
        }
    };
    let (include, source) = match schedule {
        None => (
            std::fs::read_to_string("examples/dynamic/hand.c").unwrap(),
            vec!["wrapper.c"],
        ),
        Some(_) => (
            "#include \"ours.h\"\n".to_string(),
            vec!["ours.c", "wrapper.c"],
        ),
    };
    let wrapper =
        format!("{include}\nvoid ours(const int64_t *d, void *const *a) {{\n    {call};\n}}\n");
    std::fs::write(folder.join("wrapper.c"), wrapper).unwrap();
    let flags = "-std=gnu11 -O3 -march=native -ffp-contract=fast -fno-math-errno -fopenmp -shared -fPIC -w -o ours.so";
    let cc = std::env::var("KERNEL_CC").unwrap_or_else(|_| "cc".to_string());
    let mut cc = Command::new(cc);
    cc.current_dir(&folder)
        .args(flags.split(' '))
        .args(source)
        .arg("-lm");
    assert!(cc.status().unwrap().success());
    // SAFETY: our own text.
    unsafe { libloading::Library::new(folder.join("ours.so")).unwrap() }
}

fn kernel(table: &Table, (name, commands): (&str, &str), folder: &Path) {
    let mut request = Request::new(Source::File(PathBuf::from(table.program)));
    request.def = Some(table.def.to_string());
    request.schedule = if name == "plain" {
        ScheduleChoice::None
    } else if commands.is_empty() {
        ScheduleChoice::Named(format!("schedules/{name}.sched"))
    } else {
        let path = folder.join("own.sched");
        std::fs::write(&path, commands).unwrap();
        ScheduleChoice::Named(path.display().to_string())
    };
    let compiled = match driver::compile(&request, &mut Sources::default()) {
        Ok(compiled) => compiled,
        Err(failure) => panic!("{}: {failure:?}", table.title),
    };
    let unit = Unit {
        name: "ours".to_string(),
        kernels: compiled.kernels,
    };
    for file in c::emit(&unit) {
        std::fs::write(folder.join(file.name), file.content).unwrap();
    }
}

/// The median of each variant, run in turn; the first one says what comes out.
fn interleaved(
    table: &Table,
    libraries: &[libloading::Library],
    names: &[&str],
    input: &mut Input,
) -> Vec<f64> {
    let mut times = vec![Vec::new(); libraries.len()];
    let mut expected: Option<Values> = None;
    for round in 0..ROUNDS + 2 {
        for (at, library) in libraries.iter().enumerate() {
            let args: Vec<*mut c_void> = input.arrays.iter_mut().map(Values::as_mut_ptr).collect();
            let start = Instant::now();
            // SAFETY: the kernel's own signature, see `compile`.
            unsafe { library.get::<Ours>(b"ours").unwrap()(input.extents.as_ptr(), args.as_ptr()) }
            let elapsed = start.elapsed().as_secs_f64();
            if round >= 2 {
                times[at].push(elapsed);
            }
            let result = input.arrays.last().unwrap();
            let worst = inputs::difference(expected.get_or_insert_with(|| result.clone()), result);
            assert!(
                worst < 1e-4,
                "{} {}: {} differs by {worst:e}",
                table.title,
                input.name,
                names[at]
            );
        }
    }
    let median = |own: &mut Vec<f64>| {
        own.sort_by(f64::total_cmp);
        own[ROUNDS / 2]
    };
    times.iter_mut().map(median).collect()
}
