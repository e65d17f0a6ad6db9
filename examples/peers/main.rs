//! Scheduled kernels against peers: MKL (inspector-executor, and without inspection), Eigen,
//! OpenBLAS, oneDNN and the plain OpenMP loop (`peers.cpp`); sparse results also against
//! SuiteSparse:GraphBLAS (`sparse.cpp`). `scripts/bench-peers` gets the
//! libraries and runs it; those that are not there are left out of the tables.
//!
//! Everybody works on the same arrays with the same number of threads, in turn, in one
//! process; results are compared before times are. Where two schedules are named, a rule
//! written beside the table says which one an input gets.

mod effects;
mod given;
mod operations;
mod sparse;

use operations::{Choice, Operation, Shape, operations};
use sparsec::data::{self, Packed, Tensor};
use sparsec::diagnostic::Sources;
use sparsec::driver::{self, Request, Source, compile::ScheduleChoice};
use sparsec::emit::{Unit, c};
use sparsec::format::{Level, TensorFormat};
use sparsec::scalar::{Literal, ScalarType};
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

const ROUNDS: usize = 15;

type Ours = unsafe extern "C" fn(*const i64, *const *mut c_void, *mut *mut c_void);
type Measure = unsafe extern "C" fn(
    *const c_char,
    *const Ours,
    i32,
    *const i64,
    *const *mut c_void,
    *mut c_void,
    i64,
    i64,
    i32,
    i32,
    *mut f64,
) -> f64;

fn main() {
    let threads: Vec<i32> = std::env::args()
        .skip(1)
        .filter_map(|a| a.parse().ok())
        .collect();
    let mut only: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a.parse::<i32>().is_err())
        .collect();
    let effects = only.first().is_some_and(|a| a == "effects");
    only.drain(..usize::from(effects));
    let folder = std::env::var_os("SPARSEC_DATA")
        .map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    let peers = Peers::build();
    for count in if threads.is_empty() { vec![1] } else { threads } {
        println!("### {count} thread(s)\n");
        if effects {
            effects::tables(&folder, &peers, count, &only);
            continue;
        }
        for operation in operations() {
            if only.is_empty() || only.iter().any(|o| operation.name.contains(o.as_str())) {
                table(&operation, &folder, &peers, count);
            }
        }
        for operation in sparse::operations() {
            if only.is_empty() || only.iter().any(|o| operation.name.contains(o.as_str())) {
                sparse::table(&operation, &folder, &peers, count);
            }
        }
    }
    // Threads of its OpenMP still wait for work: their code stays where it is.
    std::mem::forget(peers);
}

/// The library of peers.
struct Peers {
    library: libloading::Library,
}

impl Peers {
    fn build() -> Peers {
        let folder = tempfile::tempdir().unwrap().keep();
        let out = folder.join("peers.so");
        let mut cxx = Command::new("g++");
        cxx.args([
            "-std=c++17",
            "-O3",
            "-march=native",
            // gcc 12 makes gathers of what this does to a plain loop over rows of a matrix.
            "-fno-loop-unroll-and-jam",
            "-fopenmp",
            "-shared",
            "-fPIC",
            "-w",
            "examples/peers/peers.cpp",
            "examples/peers/sparse.cpp",
        ]);
        // What `scripts/bench-peers` found: `-D`, `-I` and libraries.
        if let Ok(flags) = std::env::var("PEER_FLAGS") {
            cxx.args(flags.split_whitespace());
        }
        assert!(cxx.arg("-o").arg(&out).status().unwrap().success());
        // SAFETY: our own text.
        let library = unsafe { libloading::Library::new(out).unwrap() };
        Peers { library }
    }

    /// Of those that do an operation, from the function of the library that tells them.
    fn names(&self, of: &str, key: &str) -> Vec<String> {
        type Name = unsafe extern "C" fn(*const c_char, i32) -> *const c_char;
        let key = CString::new(key).unwrap();
        // SAFETY: the library's signature.
        let name = |k: i32| unsafe {
            let f = self.library.get::<Name>(of.as_bytes()).unwrap();
            CStr::from_ptr(f(key.as_ptr(), k))
                .to_string_lossy()
                .into_owned()
        };
        (0..)
            .map(name)
            .take_while(|name| !name.is_empty())
            .collect()
    }

    fn use_threads(&self, threads: i32) {
        type Use = unsafe extern "C" fn(i32);
        // SAFETY: the library's signature.
        unsafe { self.library.get::<Use>(b"use_threads").unwrap()(threads) }
    }

    /// Bytes a second for a working set.
    fn bandwidth(&self, bytes: i64, threads: i32) -> f64 {
        type Bandwidth = unsafe extern "C" fn(i64, i32) -> f64;
        // SAFETY: the library's signature.
        unsafe { self.library.get::<Bandwidth>(b"bandwidth").unwrap()(bytes, threads) }
    }
}

/// The fastest peer's time over ours, the first of so many.
fn ratio(times: &[f64], mine: usize) -> f64 {
    let best = times[mine..].iter().copied().fold(f64::INFINITY, f64::min);
    best / times[0]
}

fn table(operation: &Operation, folder: &Path, peers: &Peers, threads: i32) {
    let names = peers.names("peer_name", operation.key);
    println!(
        "| {} | stored | sparsec ms | no schedule ms | {} ms | best peer / sparsec | bound / sparsec |",
        operation.name,
        names.join(" ms | ")
    );
    println!("|---|{}", "---:|".repeat(names.len() + 5));
    // The last is what one gets without asking for anything.
    let compile_all = |shape: Option<&Shape>| -> Vec<libloading::Library> {
        let schedules = operation.schedules.iter().chain(&["default"]);
        schedules.map(|s| compile(operation, s, shape)).collect()
    };
    let shared = if operation.sized {
        Vec::new()
    } else {
        compile_all(None)
    };
    let (mut product, mut count) = (1.0f64, 0);
    for input in &operation.inputs {
        let Some(mut bench) = Bench::load(operation, folder, input) else {
            println!("| {input} | skipped: no such file |");
            continue;
        };
        let shape = bench.shape.clone();
        let own = operation.sized.then(|| compile_all(Some(&shape)));
        let kernels = own.as_ref().unwrap_or(&shared);
        let (default, scheduled) = kernels.split_last().unwrap();
        let mut measure = |ours: &[&libloading::Library]| {
            bench.measure(operation, ours, peers, names.len() + ours.len(), threads)
        };
        let chosen = match operation.choose {
            Choice::First => 0,
            Choice::Rule(rule) => rule(&shape),
            Choice::Fastest => {
                // Against the peers of the same run: times of different runs do not compare.
                let before: Vec<f64> = scheduled.iter().map(|k| ratio(&measure(&[k]), 1)).collect();
                let order = |&a: &usize, &b: &usize| before[a].total_cmp(&before[b]);
                eprintln!("{input}: {before:.2?}");
                (0..scheduled.len()).max_by(order).unwrap()
            }
        };
        let times = measure(&[&scheduled[chosen], default]);
        let ratio_here = ratio(&times, 2);
        let bound = bench.bytes as f64 / peers.bandwidth(bench.bytes, threads);
        product *= ratio_here;
        count += 1;
        let cells: Vec<String> = times.iter().map(|t| format!("{:.3}", 1e3 * t)).collect();
        println!(
            "| {input} | {} | {} | {:.2} | {:.2} |",
            bench.shape.stored,
            cells.join(" | "),
            ratio_here,
            bound / times[0]
        );
    }
    if count == 0 {
        println!("no inputs: SPARSEC_DATA names their folder\n");
        return;
    }
    println!(
        "| **geometric mean** (target {}) | {}| **{:.2}** | |\n",
        operation.target,
        "| ".repeat(names.len() + 3),
        product.powf(1.0 / f64::from(count))
    );
    if !operation.rule.is_empty() {
        println!("{}\n", operation.rule);
    }
}

/// The kernel as a library with one function `ours`.
fn compile(operation: &Operation, schedule: &str, shape: Option<&Shape>) -> libloading::Library {
    let folder = tempfile::tempdir().unwrap().keep();
    let mut text = std::fs::read_to_string(operation.program).unwrap();
    if operation.single {
        text = text.replace("double", "float");
    }
    if let Some(shape) = shape {
        let e = &shape.extents;
        let (rows, cols, k) = (e[3] + e[5] - 1, e[4] + e[5] - 1, e[5]);
        text = text
            .replace("(B,IP,H,W)", &format!("({},{},{rows},{cols})", e[0], e[1]))
            .replace("(OP,IP,KH,KW)", &format!("({},{},{k},{k})", e[2], e[1]));
    }
    let program = folder.join("ours.tc");
    std::fs::write(&program, text).unwrap();
    let mut sources = Sources::default();
    let mut request = Request::new(Source::File(program));
    request.schedule = match schedule {
        "default" => ScheduleChoice::Default,
        "none" => ScheduleChoice::None,
        _ => ScheduleChoice::Named(format!("schedules/{schedule}.sched")),
    };
    if !matches!(schedule, "default" | "none") {
        request.defines.clone_from(&operation.defines);
    }
    let compiled = match driver::compile(&request, &mut sources) {
        Ok(compiled) => compiled,
        Err(failure) => panic!("{failure:?}"),
    };
    let unit = Unit {
        name: "ours".to_string(),
        kernels: compiled.kernels,
    };
    for file in c::emit(&unit) {
        std::fs::write(folder.join(file.name), file.content).unwrap();
    }
    let wrapper = format!(
        "#include \"ours.h\"\nvoid ours(const int64_t *d, void *const *a, void **out) {{\n    {};\n}}\n",
        if schedule == "default" && !operation.unscheduled.is_empty() {
            operation.unscheduled
        } else {
            operation.ours
        }
    );
    std::fs::write(folder.join("wrapper.c"), wrapper).unwrap();
    let flags =
        "-std=gnu11 -O3 -march=native -ffp-contract=fast -fno-math-errno -fopenmp -shared -fPIC -w";
    let cc = std::env::var("KERNEL_CC").unwrap_or_else(|_| "cc".to_string());
    let status = Command::new(cc)
        .current_dir(&folder)
        .args(flags.split(' '))
        .args(["-o", "ours.so", "ours.c", "wrapper.c", "-lm"])
        .status();
    assert!(status.unwrap().success());
    // SAFETY: our own text.
    unsafe { libloading::Library::new(folder.join("ours.so")).unwrap() }
}

/// One input with its operands.
struct Bench {
    shape: Shape,
    /// The extents as `ours` and the peers take them.
    extents: Vec<i64>,
    packed: Option<Packed>,
    operands: Vec<data::Values>,
    result: data::Values,
    /// Elements of the result.
    length: i64,
    /// What must be read and written at least.
    bytes: i64,
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap()
}

fn values(n: u64, ty: ScalarType) -> data::Values {
    match data::random(1, 1.0, &[n], ty) {
        Tensor::Dense(d) => d.values,
        Tensor::Sparse(_) => unreachable!("density 1 is dense"),
    }
}

/// Elements that may be skipped so that the others begin at a cache line, which MKL's guide asks
/// for: `malloc` puts large arrays 16 bytes behind one.
const SPARE: u64 = 16;
const LINE: usize = 64;

/// Where the array begins for kernels.
fn aligned(values: &mut data::Values) -> *mut c_void {
    let start = values.as_mut_ptr();
    start.wrapping_byte_add(start.align_offset(LINE))
}

impl Bench {
    fn load(operation: &Operation, folder: &Path, input: &str) -> Option<Bench> {
        if operation.order == 0 {
            let extents = input
                .split('x')
                .map(|n| n.trim().parse().unwrap())
                .collect();
            return Some(Bench::new(operation, None, extents));
        }
        let path = folder.join(input);
        let tensor = path.is_file().then(|| data::read(&path).unwrap())?;
        Some(Bench::new(operation, Some(&tensor), vec![]))
    }

    /// With operands for a sparse one, or for extents.
    fn new(operation: &Operation, tensor: Option<&Tensor>, mut extents: Vec<i64>) -> Bench {
        let ty = if operation.single {
            ScalarType::F32
        } else {
            ScalarType::F64
        };
        let packed = tensor.map(|tensor| {
            let dims = tensor.dims().iter();
            extents = dims.map(|&d| i64::try_from(d).unwrap()).collect();
            pack(tensor, operation.order)
        });
        if operation.columns > 0 {
            extents.push(operation.columns);
        }
        let mut shape = Shape {
            extents: extents.clone(),
            ..Shape::default()
        };
        if let Some(packed) = &packed {
            shape.stored = count(packed.values.len());
            // Positions of each level above the last.
            shape.positions = positions(packed, &extents);
        }
        let sizes = (operation.operands)(&shape);
        let length = (operation.result)(&shape);
        let operands: Vec<data::Values> = sizes
            .iter()
            .map(|&n| values(u64::try_from(n).unwrap() + SPARE, ty))
            .collect();
        let index: i64 = packed.as_ref().map_or(0, |p| {
            let arrays = p.levels.iter().flatten();
            arrays.map(|array| count(array.bytes())).sum()
        });
        let width = if operation.single { 4 } else { 8 };
        Bench {
            bytes: index + width * (shape.stored + sizes.iter().sum::<i64>() + length),
            result: values(u64::try_from(length).unwrap() + SPARE, ty),
            length,
            shape,
            extents,
            packed,
            operands,
        }
    }

    fn args(&mut self) -> Vec<*mut c_void> {
        let mut args = self.packed.as_mut().map_or_else(Vec::new, arrays);
        args.extend(self.operands.iter_mut().map(aligned));
        args
    }

    /// The median of each contestant.
    fn measure(
        &mut self,
        operation: &Operation,
        ours: &[&libloading::Library],
        peers: &Peers,
        contestants: usize,
        threads: i32,
    ) -> Vec<f64> {
        let args = self.args();
        let mut times = vec![f64::INFINITY; contestants * ROUNDS];
        let key = CString::new(operation.key).unwrap();
        let length = self.length;
        // SAFETY: the signatures of our own text.
        let worst = unsafe {
            let measure = peers.library.get::<Measure>(b"measure").unwrap();
            let kernels: Vec<Ours> = (ours.iter())
                .map(|library| *library.get::<Ours>(b"ours").unwrap())
                .collect();
            measure(
                key.as_ptr(),
                kernels.as_ptr(),
                i32::try_from(kernels.len()).unwrap(),
                self.extents.as_ptr(),
                args.as_ptr(),
                aligned(&mut self.result),
                if operation.single { 0 } else { length },
                length * if operation.single { 4 } else { 8 },
                i32::try_from(ROUNDS).unwrap(),
                threads,
                times.as_mut_ptr(),
            )
        };
        assert!(
            worst < 1e-9,
            "{}: results differ by {worst:e}",
            operation.name
        );
        times
            .chunks_mut(ROUNDS)
            .map(|own| {
                own.sort_by(f64::total_cmp);
                own[ROUNDS / 2]
            })
            .collect()
    }
}

/// CSR, or compressed levels for tensors.
fn pack(tensor: &Tensor, order: usize) -> Packed {
    let dims = tensor.dims().to_vec();
    let level = |l: usize| {
        if order == 2 && l == 0 {
            Level::DENSE
        } else {
            Level::COMPRESSED
        }
    };
    let format = TensorFormat::whole((0..order).map(level).collect(), (0..order).collect());
    data::pack(tensor, ScalarType::F64, (&dims, 0), &format, Literal::ZERO).unwrap()
}

fn positions(packed: &Packed, extents: &[i64]) -> Vec<i64> {
    packed
        .levels
        .iter()
        .zip(extents)
        .map(|(arrays, &extent)| arrays.last().map_or(extent, |crd| count(crd.len())))
        .collect()
}

fn arrays(packed: &mut Packed) -> Vec<*mut c_void> {
    let levels = packed.levels.iter_mut().flatten();
    let mut out: Vec<*mut c_void> = levels.map(|array| array.as_mut_ptr()).collect();
    out.push(packed.values.as_mut_ptr());
    out
}
