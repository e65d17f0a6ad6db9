//! Scheduled kernels against peers: Intel MKL (inspector-executor) and the plain OpenMP
//! loop. `scripts/bench-peers` gets MKL and runs it.
//!
//! Everybody works on the same arrays with the same number of threads, in turn, in one
//! process; results are compared before times are. Without MKL (`MKLROOT`) the plain loop
//! is the only peer, and the table says so.

use sparsec::data::{self, LevelData, Packed, Tensor};
use sparsec::diagnostic::Sources;
use sparsec::driver::{self, Request, Source, compile::ScheduleChoice};
use sparsec::emit::{Unit, c};
use sparsec::format::{Level, TensorFormat};
use sparsec::scalar::{Literal, ScalarType};
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;

const MATRICES: &[&str] = &[
    "poisson3d_p2.mtx.gz",
    "laplace2d_700.mtx.gz",
    "debian_words.mtx.gz",
    "powerlaw_131k.mtx.gz",
    "rotor.mtx.gz",
    "gowalla.mtx.gz",
    "copter2.mtx.gz",
    "short_wide.mtx.gz",
    "elasticity3d.mtx.gz",
    "debian_depends.mtx.gz",
    "pushpull.mtx",
    "Groebner_id2003_aug.mtx.gz",
    "lp_fit2d.mtx.gz",
    "bayer10.mtx.gz",
    "bcsstk13.mtx.gz",
];
const TENSORS: &[&str] = &[
    "mnist_2500.tns.gz",
    "debian_trigrams.tns.gz",
    "wn18rr.tns.gz",
    "openflights.tns.gz",
    "fb15k237_valid.tns",
    "umls.tns",
];

/// One operation: our program and schedule, and how everybody is called. `d` are the
/// extents, then the number of columns; `a` the arrays, operands and last the result.
struct Operation {
    name: String,
    program: &'static str,
    schedule: &'static str,
    defines: Vec<(String, i64)>,
    inputs: &'static [&'static str],
    order: usize,
    columns: u64,
    ours: &'static str,
    plain: &'static str,
    mkl: &'static str,
    hint: &'static str,
    /// The geometric mean to reach.
    target: f64,
}

fn operations() -> Vec<Operation> {
    let spmm = |columns: u64, target: f64| {
        Operation {
        name: format!("SpMM, {columns} columns"),
        program: "testdata/scheduled/spmm.tc",
        schedule: "schedules/spmm_cpu.sched",
        defines: vec![("COLS".to_string(), i64::try_from(columns).unwrap())],
        inputs: MATRICES,
        order: 2,
        columns,
        ours: "spmm_raw(d[0], d[1], d[3], a[0], a[1], a[2], a[3], a[4])",
        plain: "const int32_t *pos = a[0], *crd = a[1]; const double *v = a[2], *b = a[3]; double *c = a[4]; int64_t n = d[3];
    _Pragma(\"omp parallel for\") for (int64_t i = 0; i < d[0]; i++) {
        for (int64_t k = 0; k < n; k++) c[i * n + k] = 0;
        for (int32_t p = pos[i]; p < pos[i + 1]; p++)
            for (int64_t k = 0; k < n; k++) c[i * n + k] += v[p] * b[crd[p] * n + k];
    }",
        mkl: "mkl_sparse_d_mm(SPARSE_OPERATION_NON_TRANSPOSE, 1.0, handle, kind, SPARSE_LAYOUT_ROW_MAJOR, a[3], (int)d[3], (int)d[3], 0.0, a[4], (int)d[3])",
        hint: "mkl_sparse_set_mm_hint(handle, SPARSE_OPERATION_NON_TRANSPOSE, kind, SPARSE_LAYOUT_ROW_MAJOR, (int)d[3], 1000)",
        target,
    }
    };
    vec![
        Operation {
            name: "SpMV".to_string(),
            program: "testdata/scheduled/spmv.tc",
            schedule: "schedules/spmv_cpu.sched",
            defines: vec![],
            inputs: MATRICES,
            order: 2,
            columns: 1,
            ours: "spmv_raw(d[0], d[1], a[0], a[1], a[2], a[3], a[4])",
            plain: "const int32_t *pos = a[0], *crd = a[1]; const double *v = a[2], *x = a[3]; double *y = a[4];
    _Pragma(\"omp parallel for\") for (int64_t i = 0; i < d[0]; i++) {
        double s = 0;
        for (int32_t p = pos[i]; p < pos[i + 1]; p++) s += v[p] * x[crd[p]];
        y[i] = s;
    }",
            mkl: "mkl_sparse_d_mv(SPARSE_OPERATION_NON_TRANSPOSE, 1.0, handle, kind, a[3], 0.0, a[4])",
            hint: "mkl_sparse_set_mv_hint(handle, SPARSE_OPERATION_NON_TRANSPOSE, kind, 1000)",
            target: 0.95,
        },
        spmm(4, 0.95),
        spmm(32, 1.05),
        spmm(128, 1.05),
        Operation {
            name: "MTTKRP, order 3, rank 32".to_string(),
            program: "testdata/scheduled/mttkrp3.tc",
            schedule: "schedules/mttkrp_cpu.sched",
            defines: vec![],
            inputs: TENSORS,
            order: 3,
            columns: 32,
            ours: "mttkrp3_raw(d[0], d[1], d[2], d[3], a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9])",
            plain: "const int32_t *p1 = a[0], *c1 = a[1], *p2 = a[2], *c2 = a[3], *p3 = a[4], *c3 = a[5];
    const double *v = a[6], *c = a[7], *e = a[8]; double *r = a[9]; int64_t n = d[3];
    memset(r, 0, (size_t)(d[0] * n) * 8);
    _Pragma(\"omp parallel for schedule(dynamic, 16)\") for (int32_t x = p1[0]; x < p1[1]; x++)
        for (int32_t y = p2[x]; y < p2[x + 1]; y++)
            for (int32_t z = p3[y]; z < p3[y + 1]; z++)
                for (int64_t j = 0; j < n; j++)
                    r[c1[x] * n + j] += v[z] * c[c2[y] * n + j] * e[c3[z] * n + j];",
            mkl: "",
            hint: "",
            target: 1.5,
        },
    ]
}

fn main() {
    let threads: Vec<String> = std::env::args().skip(1).collect();
    let threads = if threads.is_empty() {
        vec!["1".to_string()]
    } else {
        threads
    };
    let folder = std::env::var_os("SPARSEC_DATA")
        .map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    let mkl = std::env::var_os("MKLROOT").map(PathBuf::from);
    if mkl.is_none() {
        println!("MKL is not there (MKLROOT): the plain loop is the only peer.\n");
    }
    for count in &threads {
        println!("### {count} thread(s)\n");
        let only = std::env::var("ONLY").unwrap_or_default();
        for operation in operations().iter().filter(|o| o.name.contains(&only)) {
            table(operation, &folder, mkl.as_deref(), count.parse().unwrap());
        }
    }
}

fn table(operation: &Operation, folder: &Path, mkl: Option<&Path>, threads: i32) {
    println!(
        "| {} | stored | sparsec ms | plain ms | MKL ms | best peer / sparsec |",
        operation.name
    );
    println!("|---|---:|---:|---:|---:|---:|");
    let mkl = mkl.filter(|_| !operation.mkl.is_empty());
    let library = build(operation, mkl);
    let (mut product, mut count) = (1.0f64, 0);
    for name in operation.inputs {
        let path = folder.join(name);
        if !path.is_file() {
            println!("| {name} | skipped: no such file | | | | |");
            continue;
        }
        let (stored, times) = measure(operation, &library, &path, mkl.is_some(), threads);
        let best = times[1].min(times[2]);
        product *= best / times[0];
        count += 1;
        let third = if times[2].is_finite() {
            format!("{:.3}", 1e3 * times[2])
        } else {
            "-".to_string()
        };
        println!(
            "| {name} | {stored} | {:.3} | {:.3} | {third} | {:.2} |",
            1e3 * times[0],
            1e3 * times[1],
            best / times[0]
        );
    }
    println!(
        "| **geometric mean** (target {}) | | | | | **{:.2}** |\n",
        operation.target,
        product.powf(1.0 / f64::from(count.max(1)))
    );
}

/// Compiles all contestants with a harness that runs them in turn.
fn build(operation: &Operation, mkl: Option<&Path>) -> libloading::Library {
    let mut sources = Sources::default();
    let mut request = Request::new(Source::File(PathBuf::from(operation.program)));
    request.schedule = ScheduleChoice::Named(operation.schedule.to_string());
    request.defines.clone_from(&operation.defines);
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
    let (include, state, third) = match mkl {
        Some(_) => (
            "#include <mkl_spblas.h>\n#include <mkl_service.h>\n",
            format!(
                "static sparse_matrix_t handle; static struct matrix_descr kind;
static void prepare(int64_t *d, void **a, int threads) {{
    mkl_set_num_threads(threads); kind.type = SPARSE_MATRIX_TYPE_GENERAL;
    mkl_sparse_d_create_csr(&handle, SPARSE_INDEX_BASE_ZERO, (int)d[0], (int)d[1], a[0], (int *)a[0] + 1, a[1], a[2]);
    {}; mkl_sparse_optimize(handle);
}}
static void done(void) {{ mkl_sparse_destroy(handle); }}",
                operation.hint
            ),
            operation.mkl,
        ),
        None => (
            "",
            "static void prepare(int64_t *d, void **a, int threads) { (void)d; (void)a; (void)threads; }\n\
             static void done(void) {}"
                .to_string(),
            "",
        ),
    };
    let harness = format!(
        "#include \"ours.h\"\n#include <time.h>\n#include <omp.h>\n{include}{state}
static double now(void) {{ struct timespec t; timespec_get(&t, TIME_UTC); return t.tv_sec + 1e-9 * t.tv_nsec; }}
static void run0(int64_t *d, void **a) {{ {}; }}
static void run1(int64_t *d, void **a) {{ {}; }}
static void run2(int64_t *d, void **a) {{ (void)d; (void)a; {third}; }}
double measure(int64_t *d, void **a, void *result, int64_t n, int rounds, int contestants, int threads, double *times) {{
    void (*run[3])(int64_t *, void **) = {{run0, run1, run2}};
    double *want = malloc((size_t)n * 8 + 8), *got = result, worst = 0;
    omp_set_num_threads(threads);
    prepare(d, a, threads);
    for (int r = -2; r < rounds; r++)
        for (int k = 0; k < contestants; k++) {{
            double t = now(); run[k](d, a); t = now() - t;
            if (r >= 0) times[k * rounds + r] = t;
            if (r == -2 && k == 0) memcpy(want, got, (size_t)n * 8);
            if (r == -2 && k > 0)
                for (int64_t e = 0; e < n; e++) {{
                    double off = fabs(got[e] - want[e]) / (1 + fabs(want[e]));
                    if (off > worst) worst = off;
                }}
        }}
    done(); free(want);
    return worst;
}}
",
        operation.ours, std::env::var("PLAIN").unwrap_or(operation.plain.to_string())
    );
    std::fs::write(folder.join("harness.c"), harness).unwrap();
    let mut cc = Command::new("cc");
    cc.current_dir(&folder).args([
        "-std=gnu11",
        "-O3",
        "-march=native",
        "-fopenmp",
        "-shared",
        "-fPIC",
        "-w",
        "-o",
        "bench.so",
        "ours.c",
        "harness.c",
        "-lm",
    ]);
    if let Some(root) = mkl {
        cc.arg("-I").arg(root.join("include"));
        cc.arg(root.join("lib/libmkl_rt.so.3"));
        cc.arg(format!("-Wl,-rpath,{}", root.join("lib").display()));
    }
    assert!(cc.status().unwrap().success());
    // SAFETY: our own text.
    unsafe { libloading::Library::new(folder.join("bench.so")).unwrap() }
}

const ROUNDS: usize = 15;

/// Stored elements, and each contestant's median (infinite for one that does not run).
fn measure(
    operation: &Operation,
    library: &libloading::Library,
    path: &Path,
    mkl: bool,
    threads: i32,
) -> (usize, [f64; 3]) {
    let tensor = data::read(path).unwrap();
    let dims = tensor.dims().to_vec();
    let level = |l: usize| {
        if operation.order == 2 && l == 0 {
            Level::DENSE
        } else {
            Level::COMPRESSED
        }
    };
    let format = TensorFormat {
        levels: (0..operation.order).map(level).collect(),
        modes: (0..operation.order).collect(),
        index_bits: 32,
    };
    let mut packed = data::pack(&tensor, ScalarType::F64, &dims, &format, Literal::ZERO).unwrap();
    let stored = packed.values.len();
    let dense = |rows: u64| match data::random(1, 1.0, &[rows, operation.columns], ScalarType::F64)
    {
        Tensor::Dense(d) => d.values,
        Tensor::Sparse(_) => unreachable!("density 1 is dense"),
    };
    let mut operands: Vec<data::Values> = dims[1..].iter().map(|&d| dense(d)).collect();
    let mut result = dense(dims[0]);
    let mut args = arrays(&mut packed);
    args.extend(operands.iter_mut().map(data::Values::as_mut_ptr));
    let out = result.as_mut_ptr();
    args.push(out);
    let mut extents: Vec<i64> = dims.iter().map(|&d| i64::try_from(d).unwrap()).collect();
    extents.resize(3, 0);
    extents.push(i64::try_from(operation.columns).unwrap());
    let contestants = if mkl { 3 } else { 2 };
    let mut times = vec![f64::INFINITY; 3 * ROUNDS];
    type Measure = unsafe extern "C" fn(
        *mut i64,
        *mut *mut c_void,
        *mut c_void,
        i64,
        i32,
        i32,
        i32,
        *mut f64,
    ) -> f64;
    // SAFETY: the harness takes these.
    let worst = unsafe {
        let f = library.get::<Measure>(b"measure").unwrap();
        f(
            extents.as_mut_ptr(),
            args.as_mut_ptr(),
            out,
            i64::try_from(result.len()).unwrap(),
            i32::try_from(ROUNDS).unwrap(),
            contestants,
            threads,
            times.as_mut_ptr(),
        )
    };
    assert!(
        worst < 1e-10,
        "{}: results differ by {worst:e}",
        path.display()
    );
    let mut medians = [f64::INFINITY; 3];
    for (k, median) in medians.iter_mut().enumerate() {
        let own = &mut times[k * ROUNDS..(k + 1) * ROUNDS];
        own.sort_by(f64::total_cmp);
        *median = own[ROUNDS / 2];
    }
    (stored, medians)
}

fn arrays(packed: &mut Packed) -> Vec<*mut c_void> {
    let pointer = |a: &mut data::IndexArray| match a {
        data::IndexArray::I32(v) => v.as_mut_ptr().cast(),
        data::IndexArray::I64(v) => v.as_mut_ptr().cast(),
    };
    let mut out = Vec::new();
    for level in &mut packed.levels {
        match level {
            LevelData::Dense => {}
            LevelData::Compressed { pos, crd } => {
                out.push(pointer(pos));
                out.push(pointer(crd));
            }
            LevelData::Singleton { crd } => out.push(pointer(crd)),
        }
    }
    out.push(packed.values.as_mut_ptr());
    out
}
