//! Emitted kernels against loops written by hand: same compiler, same flags, one process,
//! interleaved rounds, medians. `scripts/bench` runs it.

use sparsec::data::{self, Packed, Tensor};
use sparsec::diagnostic::Sources;
use sparsec::driver::{self, Request, ScheduleChoice, Source};
use sparsec::emit::{Unit, c};
use sparsec::format::{Level, TensorFormat};
use sparsec::scalar::{Literal, ScalarType};
use std::ffi::c_void;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const COLUMNS: u64 = 32;

/// What is compared: a program, and the hand-written loop that does the same.
struct Contest {
    name: &'static str,
    program: &'static str,
    hand: &'static str,
    /// How both are called; `F` is the function's name.
    call: &'static str,
    order: usize,
}

const CONTESTS: &[Contest] = &[
    Contest {
        name: "SpMV",
        program: "def k(double(M,N) A, double(N) x) -> (y) { y(i) = A(i,j) * x(j) }\nformat k { A: csr }",
        hand: "void HAND(int64_t m, const int32_t *restrict pos, const int32_t *restrict crd,
    const double *restrict val, const double *restrict x, double *restrict y) {
    for (int64_t i = 0; i < m; i++) {
        double s = 0;
        for (int32_t p = pos[i]; p < pos[i + 1]; p++) s += val[p] * x[crd[p]];
        y[i] = s;
    }
}",
        call: "k_raw(d[0], d[1], a[0], a[1], a[2], a[3], a[4]) / HAND(d[0], a[0], a[1], a[2], a[3], a[4])",
        order: 2,
    },
    Contest {
        name: "SpMM",
        program: "def k(double(M,K) A, double(K,N) B) -> (C) { C(i,j) = A(i,k) * B(k,j) }\nformat k { A: csr }",
        hand: "void HAND(int64_t m, int64_t n, const int32_t *restrict pos, const int32_t *restrict crd,
    const double *restrict val, const double *restrict b, double *restrict c) {
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) c[i * n + j] = 0;
        for (int32_t p = pos[i]; p < pos[i + 1]; p++)
            for (int64_t j = 0; j < n; j++) c[i * n + j] += val[p] * b[crd[p] * n + j];
    }
}",
        call: "k_raw(d[0], d[1], d[3], a[0], a[1], a[2], a[3], a[4]) / HAND(d[0], d[3], a[0], a[1], a[2], a[3], a[4])",
        order: 2,
    },
    Contest {
        name: "MTTKRP",
        program: "def k(double(I,K,L) B, double(K,J) C, double(L,J) D) -> (A) { A(i,j) = B(i,k,l) * C(k,j) * D(l,j) }\nformat k { B: csf }",
        hand: "void HAND(int64_t ni, int64_t nj, const int32_t *restrict p1, const int32_t *restrict c1,
    const int32_t *restrict p2, const int32_t *restrict c2, const int32_t *restrict p3,
    const int32_t *restrict c3, const double *restrict val, const double *restrict c,
    const double *restrict d, double *restrict a) {
    memset(a, 0, (size_t)(ni * nj) * sizeof *a);
    for (int32_t x = p1[0]; x < p1[1]; x++)
        for (int32_t y = p2[x]; y < p2[x + 1]; y++)
            for (int32_t z = p3[y]; z < p3[y + 1]; z++)
                for (int64_t j = 0; j < nj; j++)
                    a[c1[x] * nj + j] += val[z] * c[c2[y] * nj + j] * d[c3[z] * nj + j];
}",
        call: "k_raw(d[0], d[1], d[2], d[3], a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]) / HAND(d[0], d[3], a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9])",
        order: 3,
    },
];

fn main() {
    let folder = std::env::var_os("SPARSEC_DATA")
        .map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    let matrices = [
        "poisson3d_p2.mtx.gz",
        "laplace2d_700.mtx.gz",
        "debian_words.mtx.gz",
        "powerlaw_131k.mtx.gz",
        "rotor.mtx.gz",
    ];
    let tensors = [
        "mnist_2500.tns.gz",
        "debian_trigrams.tns.gz",
        "wn18rr.tns.gz",
        "openflights.tns.gz",
        "fb15k237_valid.tns",
    ];
    reading(&folder);
    println!("| kernel | input | stored | hand ms | sparsec ms | hand / sparsec |");
    println!("|---|---|---:|---:|---:|---:|");
    for contest in CONTESTS {
        let library = build(contest);
        let mut product = 1.0f64;
        let mut count = 0;
        for name in if contest.order == 2 {
            matrices
        } else {
            tensors
        } {
            let path = folder.join(name);
            if !path.is_file() {
                println!(
                    "| {} | {name} | skipped: no such file | | | |",
                    contest.name
                );
                continue;
            }
            let (stored, ours, hand) = measure(contest, &library, &path);
            product *= hand / ours;
            count += 1;
            println!(
                "| {} | {name} | {stored} | {:.3} | {:.3} | {:.2} |",
                contest.name,
                1e3 * hand,
                1e3 * ours,
                hand / ours
            );
        }
        if count > 0 {
            println!(
                "| {} | geometric mean | | | | {:.2} |",
                contest.name,
                product.powf(1.0 / f64::from(count))
            );
        }
    }
}

/// How fast text is read, in MB/s of the uncompressed file.
fn reading(folder: &Path) {
    println!("| file | MB | MB/s |\n|---|---:|---:|");
    for name in [
        "poisson3d_p2.mtx.gz",
        "debian_words.mtx.gz",
        "flights4.tns.gz",
    ] {
        let Ok(file) = std::fs::File::open(folder.join(name)) else {
            continue;
        };
        let mut text = Vec::new();
        flate2::read::MultiGzDecoder::new(file)
            .read_to_end(&mut text)
            .unwrap();
        let kind = if name.contains("mtx") {
            data::FileKind::MatrixMarket
        } else {
            data::FileKind::Frostt
        };
        let mut best = f64::INFINITY;
        for _ in 0..7 {
            let start = Instant::now();
            data::parse(kind, &text).unwrap();
            best = best.min(start.elapsed().as_secs_f64());
        }
        #[expect(clippy::cast_precision_loss)]
        let size = text.len() as f64 / 1e6;
        println!("| {name} | {size:.1} | {:.0} |", size / best);
    }
    println!();
}

/// Compiles both sides with a harness that times them in turn.
fn build(contest: &Contest) -> libloading::Library {
    let mut sources = Sources::default();
    let mut request = Request::new(Source::Text {
        name: "bench".to_string(),
        text: contest.program.to_string(),
    });
    // Loops against loops, both in one thread.
    request.schedule = ScheduleChoice::None;
    let compiled = match driver::compile(&request, &mut sources) {
        Ok(compiled) => compiled,
        Err(failure) => panic!("{failure:?}"),
    };
    let folder = tempfile::tempdir().unwrap().keep();
    let unit = Unit {
        name: "ours".to_string(),
        kernels: compiled.kernels,
    };
    for file in c::emit(&unit) {
        std::fs::write(folder.join(file.name), file.content).unwrap();
    }
    let (ours, hand) = contest.call.split_once(" / ").unwrap();
    let mut harness = String::from("#include \"ours.h\"\n#include <time.h>\n");
    let _ = writeln!(
        harness,
        "{}",
        contest.hand.replacen("void", "void HAND();\nvoid", 0)
    );
    let _ = writeln!(
        harness,
        "static double now(void) {{ struct timespec t; timespec_get(&t, TIME_UTC); return t.tv_sec + 1e-9 * t.tv_nsec; }}
void measure(int64_t *d, void **a, int rounds, double *ours, double *hand) {{
    for (int r = -2; r < rounds; r++) {{
        double t0 = now(); {ours}; double t1 = now(); {hand}; double t2 = now();
        if (r >= 0) {{ ours[r] = t1 - t0; hand[r] = t2 - t1; }}
    }}
}}"
    );
    // The hand-written loop stands in a file of its own, as the emitted one does.
    let head = contest.hand.split_once(" {").unwrap().0;
    let harness = harness.replace(contest.hand, &format!("{head};"));
    std::fs::write(folder.join("harness.c"), harness).unwrap();
    std::fs::write(
        folder.join("hand.c"),
        format!(
            "#include <stdint.h>\n#include <string.h>\n{head};\n{}\n",
            contest.hand
        ),
    )
    .unwrap();
    let status = Command::new("cc")
        .current_dir(&folder)
        .args([
            "-std=c11",
            "-O3",
            "-march=native",
            "-ffp-contract=fast",
            "-fno-math-errno",
            "-shared",
            "-fPIC",
            "-w",
            "-o",
            "bench.so",
        ])
        .args(["ours.c", "hand.c", "harness.c", "-lm"])
        .status()
        .unwrap();
    assert!(status.success());
    // SAFETY: our own text.
    unsafe { libloading::Library::new(folder.join("bench.so")).unwrap() }
}

fn measure(contest: &Contest, library: &libloading::Library, path: &Path) -> (usize, f64, f64) {
    let tensor = data::read(path).unwrap();
    let dims = tensor.dims().to_vec();
    let level = |l: usize| {
        if contest.order == 2 && l == 0 {
            Level::DENSE
        } else {
            Level::COMPRESSED
        }
    };
    let format = TensorFormat::whole(
        (0..contest.order).map(level).collect(),
        (0..contest.order).collect(),
    );
    let mut packed =
        data::pack(&tensor, ScalarType::F64, (&dims, 0), &format, Literal::ZERO).unwrap();
    let stored = packed.values.len();
    let width = if contest.name == "SpMV" { 1 } else { COLUMNS };
    let dense = |rows: u64| match data::random(1, 1.0, &[rows, width], ScalarType::F64) {
        Tensor::Dense(d) => d.values,
        Tensor::Sparse(_) => unreachable!("density 1 is dense"),
    };
    let mut operands: Vec<data::Values> = dims[1..].iter().map(|&d| dense(d)).collect();
    let mut result = dense(dims[0]);
    let mut args = arrays(&mut packed);
    args.extend(operands.iter_mut().map(data::Values::as_mut_ptr));
    args.push(result.as_mut_ptr());
    let mut extents: Vec<i64> = dims.iter().map(|&d| i64::try_from(d).unwrap()).collect();
    extents.resize(3, 0);
    extents.push(i64::try_from(width).unwrap());
    let rounds = 31;
    let mut ours = vec![0.0; rounds];
    let mut hand = vec![0.0; rounds];
    type Measure = unsafe extern "C" fn(*mut i64, *mut *mut c_void, i32, *mut f64, *mut f64);
    // SAFETY: the harness takes these.
    unsafe {
        let f = library.get::<Measure>(b"measure").unwrap();
        f(
            extents.as_mut_ptr(),
            args.as_mut_ptr(),
            31,
            ours.as_mut_ptr(),
            hand.as_mut_ptr(),
        );
    }
    let median = |v: &mut Vec<f64>| {
        v.sort_by(f64::total_cmp);
        v[v.len() / 2]
    };
    (stored, median(&mut ours), median(&mut hand))
}

fn arrays(packed: &mut Packed) -> Vec<*mut c_void> {
    let levels = packed.levels.iter_mut().flatten();
    let mut out: Vec<*mut c_void> = levels.map(|array| array.as_mut_ptr()).collect();
    out.push(packed.values.as_mut_ptr());
    out
}
