//! The emulator finds what is wrong with a kernel: each fault is planted in emitted text.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

/// A matrix times two vectors in one block: a shared workspace, a barrier, a reduction over
/// lanes and atomics.
const STAGED: &str = "def f(double(64,64) A, double(64) x) -> (y) { y(i) = A(i,j) * x(j) }
schedule f for cuda {
  split(i, i0, i1, 16)
  split(j, j0, j1, 16)
  reorder(i0, j0, i1, j1)
  precompute(x(j), j1, j1p, w)
  parallelize(i0, GPUBlock, NoRaces)
  parallelize(i1, GPUThread, NoRaces)
}
";
const SUMMED: &str = "def f(double(64,64) A, double(64) x) -> (y) { y(i) = A(i,j) * x(j) }
schedule f for cuda {
  split(j, j0, j1, 32)
  reorder(i, j1, j0)
  parallelize(i, GPUBlock, NoRaces)
  parallelize(j1, GPUThread, Temporary)
}
";
const SCATTERED: &str = "def f(double(64,64) A, double(64) x) -> (y) { y(j) +=! A(i,j) * x(i) }
schedule f for cuda {
  reorder(i, j)
  split(i, i0, i1, 32)
  parallelize(i0, GPUBlock, Atomics)
  parallelize(i1, GPUThread, Atomics)
}
";
/// Rows whole in a tile are updated plainly, beside others that are updated atomically: of
/// bytes that share a word.
const NARROW: &str = "def f(int8(300,40) A, int8(40) x) -> (y) { y(i) +=! A(i,j) * x(j) }
format f { A: csr }
schedule f for cuda {
  fuse(i, j, f) pos(f, p, A(i,j)) split(p, b, q, 64) split(q, t, u, 4)
  parallelize(b, GPUBlock, IgnoreRaces) parallelize(t, GPUThread, Atomics)
}
";

/// A thread's four columns are loaded and stored together.
const WIDE: &str = "def f(float(300,40) A, float(40,4) B) -> (C) { C(i,k) +=! A(i,j) * B(j,k) }
format f { A: csr }
schedule f for cuda {
  split(i, b, t, 64) precompute(A(i,j) * B(j,k), k, l, sums) reorder(j, l)
  unroll(k, 4) unroll(l, 4)
  parallelize(b, GPUBlock, NoRaces) parallelize(t, GPUThread, NoRaces)
}
";

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}\n{text}");
    output
}

/// The emitted files, and the emulator's object file, which is compiled once for all.
fn emit(program: &str) -> tempfile::TempDir {
    static BUILT: OnceLock<tempfile::TempDir> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let folder = emit_text(SCATTERED);
        let mut make = Command::new("make");
        run(make
            .current_dir(folder.path())
            .args(["-s", "EMU=1", OBJECT]));
        folder
    });
    let folder = emit_text(program);
    std::fs::copy(built.path().join(OBJECT), folder.path().join(OBJECT)).unwrap();
    folder
}

const OBJECT: &str = "emulator.o";

fn emit_text(program: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("f.tc");
    std::fs::write(&source, program).unwrap();
    run(Command::new(env!("CARGO_BIN_EXE_sparsec"))
        .arg(&source)
        .args(["--target", "cuda", "-W", "no-performance", "-o"])
        .arg(folder.path()));
    folder
}

/// The folder with `holes_test`, which runs the kernels of `testdata/emulator/holes.cu`.
fn holes() -> &'static Path {
    static BUILT: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        let folder = emit(SCATTERED);
        let text = include_str!("../testdata/emulator/holes.cu");
        std::fs::write(folder.path().join("holes.cu"), text).unwrap();
        std::fs::write(folder.path().join("holes.h"), "").unwrap();
        run(Command::new("make").current_dir(folder.path()).args([
            "-s",
            "EMU=1",
            "CXXFLAGS=-O1 -g -w",
            "NAMES=holes",
            "holes_test",
        ]));
        folder
    });
    folder.path()
}

/// What a kernel of [`holes`] prints, and whether it is clean.
fn hole(name: &str, seed: Option<&str>) -> (bool, String) {
    let mut command = Command::new(holes().join("holes_test"));
    command.arg(name).env_remove("EMU_SEED");
    if let Some(seed) = seed {
        command.env("EMU_SEED", seed);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

/// The kernel is clean without its fault, and with it each of these is reported, once, in the
/// order of numbers and in another.
fn hole_is_found(name: &str, reported: &[&str]) {
    for seed in [None, Some("1"), Some("2")] {
        let (clean, text) = hole(&format!("{name}, clean"), seed);
        assert!(clean, "{name}, clean, {seed:?}: {text}");
        let (clean, text) = hole(name, seed);
        assert!(!clean, "{name}, {seed:?}: {text}");
        for what in reported {
            let found = text
                .lines()
                .filter(|line| line.starts_with(&format!("emulator: {what}")))
                .count();
            assert_eq!(found, 1, "{name}, {seed:?}, {what}: {text}");
        }
    }
}

/// Emits the program, plants a fault, and runs the smoke test in a checked build.
fn smoke(program: &str, from: &str, to: &str) -> (bool, String) {
    let folder = emit(program);
    let path = folder.path().join("f.cu");
    let mut text = std::fs::read_to_string(&path).unwrap();
    if !from.is_empty() {
        assert!(text.contains(from), "no `{from}` in\n{text}");
        text = text.replacen(from, to, 1);
        std::fs::write(&path, &text).unwrap();
    }
    build_and_run(folder.path())
}

fn build_and_run(folder: &Path) -> (bool, String) {
    make_test(Command::new("make").current_dir(folder))
}

fn make_test(make: &mut Command) -> (bool, String) {
    let output = make
        .args(["-s", "EMU=1", "CXXFLAGS=-O1 -g -w", "test"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

fn finds(program: &str, from: &str, to: &str, what: &str) {
    let (clean, text) = smoke(program, from, to);
    assert!(!clean && text.contains(what), "`{from}` -> `{to}`:\n{text}");
}

#[test]
fn clean_kernels_pass() {
    for program in [STAGED, SUMMED, SCATTERED, NARROW, WIDE] {
        let (clean, text) = smoke(program, "", "");
        assert!(clean, "{text}");
    }
}

#[test]
fn threads_may_change_places_at_any_access() {
    for program in [STAGED, SUMMED, SCATTERED, NARROW] {
        let folder = emit(program);
        for seed in ["1", "2", "3"] {
            let mut make = Command::new("make");
            make.current_dir(folder.path());
            let (clean, text) = make_test(make.env("EMU_PREEMPT", "1").env("EMU_SEED", seed));
            assert!(clean, "{text}");
        }
    }
}

#[test]
fn arrays_that_vector_loads_cannot_take_are_refused() {
    for array in ["B_vals", "C_vals"] {
        finds(
            WIDE,
            &format!("sparsec_need_aligned({array},"),
            &format!("sparsec_need_aligned({array} + 1,"),
            "must begin at a multiple of 16 bytes",
        );
    }
}

#[test]
fn a_removed_barrier_is_a_race() {
    finds(
        STAGED,
        "__syncthreads();",
        ";",
        "a race between threads of a block",
    );
}

#[test]
fn a_removed_atomic_is_a_race() {
    finds(
        SCATTERED,
        "sparsec_atomic(&y_vals[j], A_vals[i * 64 + j] * x_vals[i], sparsec_add())",
        "y_vals[j] += A_vals[i * 64 + j] * x_vals[i]",
        "a race between",
    );
}

#[test]
fn a_wrong_mask_names_lanes_that_are_not_there() {
    // Half of the lanes leave before they reduce.
    finds(
        SUMMED,
        "sum = sparsec_reduce_lanes<32>",
        "if (threadIdx.x < 16) sum = sparsec_reduce_lanes<32>",
        "threads wait for others that never come",
    );
}

#[test]
fn lanes_that_wait_for_each_other_with_other_masks_are_reported() {
    finds(
        SUMMED,
        "sum = sparsec_reduce_lanes<32>(sum, sparsec_add())",
        "sum = threadIdx.x % 2 ? sparsec_reduce_lanes<32>(sum, sparsec_add()) \
         : sparsec_reduce_lanes<2>(sum, sparsec_add())",
        "lanes of a warp wait with different masks",
    );
}

#[test]
fn an_index_past_the_end_is_outside_of_all_arrays() {
    finds(
        SUMMED,
        "y_vals[i] =",
        "y_vals[i + 64] =",
        "an access outside of all arrays",
    );
}

#[test]
fn shared_memory_that_nobody_wrote_is_reported() {
    finds(
        STAGED,
        "w_vals[j1p] =",
        "if (j1p != 3) w_vals[j1p] =",
        "shared memory is read before it is written",
    );
}

#[test]
fn a_barrier_that_some_threads_skip_is_reported() {
    finds(
        STAGED,
        "__syncthreads();",
        "if (threadIdx.x != 5) __syncthreads();",
        "threads meet in different barriers",
    );
}

#[test]
fn a_result_that_is_not_written_is_reported() {
    finds(
        SUMMED,
        "sum += A_vals[",
        "sum += y_vals[i] + A_vals[",
        "memory is read before it is written",
    );
}

#[test]
fn every_reader_is_known() {
    hole_is_found("readers", &["a race between threads of a block: w[0], "]);
}

#[test]
fn freed_arrays_are_gone() {
    hole_is_found(
        "freed",
        &["an access outside of all arrays: gone[0], which is not allocated, holes.cu:"],
    );
}

#[test]
fn an_array_in_the_place_of_another_has_its_own_end() {
    hole_is_found(
        "again",
        &["an access outside of all arrays: again[8] of 8, holes.cu:"],
    );
}

#[test]
fn an_array_of_shared_memory_ends_where_it_ends() {
    hole_is_found(
        "shared",
        &["an access outside of all arrays of shared memory: first[32], holes.cu:"],
    );
    hole_is_found(
        "indexed",
        &["an index outside of its array: 100 of 'double [32]', holes.cu:"],
    );
}

#[test]
fn vectors_are_aligned() {
    hole_is_found(
        "vectors",
        &["an access that is not aligned to its type: (float *)y[1], holes.cu:"],
    );
}

#[test]
fn launches_keep_to_the_limits() {
    hole_is_found(
        "bounds",
        &["a launch of 65 threads a block, where __launch_bounds__ says 64: bounded"],
    );
    hole_is_found(
        "threads",
        &["a launch of 1025 threads a block, where 1024 are the most"],
    );
    hole_is_found(
        "large",
        &["49160 bytes of shared memory, where 49152 are the most"],
    );
}

#[test]
fn threads_that_have_left_are_missed_at_barriers() {
    hole_is_found(
        "leaves",
        &["threads have left before a barrier that others wait at"],
    );
}

#[test]
fn variables_that_nobody_set_are_reported() {
    hole_is_found(
        "local array",
        &["a variable is used before it is set: y[7], holes.cu:"],
    );
    hole_is_found(
        "local sum",
        &["a variable is used before it is set: y[0], holes.cu:"],
    );
}

#[test]
fn a_thread_s_own_memory_has_no_atomics() {
    hole_is_found(
        "own counter",
        &["an atomic update of a thread's own variable, holes.cu:"],
    );
}

#[test]
fn restricted_arrays_do_not_overlap() {
    hole_is_found(
        "overlap",
        &["overlapping arrays are passed for __restrict__ parameters: y["],
    );
}

#[test]
fn fences_order_what_blocks_leave_for_others() {
    hole_is_found("last block", &["a race between blocks: y["]);
    hole_is_found("look back", &["a race between blocks: sums["]);
    // Blocks begin in the order of their numbers, or in another, which CUDA does not promise.
    assert!(hole("look back by number", None).0);
    let (clean, text) = hole("look back by number", Some("1"));
    let what = "threads look for a change that never comes, holes.cu:";
    assert!(!clean && text.contains(what), "{text}");
}

#[test]
fn what_never_comes_is_not_waited_for() {
    let what = "threads look for a change that never comes, holes.cu:";
    hole_is_found("waits", &[what]);
    // Eight blocks are alive, and no more.
    hole_is_found("all meet", &[what]);
}

#[test]
fn findings_are_reported_once_with_both_lines() {
    let (_, text) = smoke(STAGED, "__syncthreads();", ";");
    let races: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("emulator: a race"))
        .collect();
    assert!(!races.is_empty() && races.len() <= 2, "{text}");
    for race in races {
        assert!(
            race.contains("a race between threads of a block: w_vals[")
                && race.contains("read in f.cu:")
                && race.contains("written in f.cu:"),
            "{text}"
        );
    }
    assert!(text.contains(" times: a race between threads"), "{text}");
}

/// Calls the device function of [`SCATTERED`] amid a capture, then runs the graph twice, on
/// other values the second time.
const CAPTURE: &str = r#"#include "f.h"
#include <stdio.h>
static double host[64 * 64];
static void need(cudaError_t status) {
    if (status != cudaSuccess) { printf("%s\n", cudaGetErrorString(status)); exit(1); }
}
int main(void) {
    double *A, *x, *y;
    void *workspace;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    need(cudaMalloc((void **)&A, sizeof host));
    need(cudaMalloc((void **)&x, 64 * sizeof(double)));
    need(cudaMalloc((void **)&y, 64 * sizeof(double)));
    need(cudaMalloc(&workspace, f_workspace() + 256));
    for (int k = 0; k < 64 * 64; k++) host[k] = 1;
    need(cudaMemcpy(A, host, sizeof host, cudaMemcpyHostToDevice));
    need(cudaStreamCreate(&stream));
    need(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    if (f_device(A, x, y, workspace, stream)) printf("%s\n", sparsec_error());
    need(cudaStreamEndCapture(stream, &graph));
    need(cudaGraphInstantiate(&executable, graph));
    for (int round = 1; round <= 2; round++) {
        double out[64];
        for (int k = 0; k < 64; k++) host[k] = round;
        need(cudaMemcpy(x, host, 64 * sizeof(double), cudaMemcpyHostToDevice));
        need(cudaGraphLaunch(executable, stream));
        need(cudaStreamSynchronize(stream));
        need(cudaMemcpy(out, y, sizeof out, cudaMemcpyDeviceToHost));
        for (int k = 0; k < 64; k++)
            if (out[k] != 64.0 * round) { printf("y(%d) is %g\n", k, out[k]); return 1; }
    }
    need(cudaGraphExecDestroy(executable));
    need(cudaGraphDestroy(graph));
    need(cudaStreamDestroy(stream));
    printf("captured\n");
    return 0;
}
"#;

/// What [`CAPTURE`] prints of the program's kernel with `planted` before its first launch.
fn captured(planted: &str) -> String {
    with_main((SCATTERED, CAPTURE), planted)
}

/// What a program prints that calls the functions of another's kernels, with `planted` before their
/// first launch.
fn with_main((program, main): (&str, &str), planted: &str) -> String {
    let folder = emit(program);
    let path = folder.path().join("f.cu");
    let text = std::fs::read_to_string(&path).unwrap();
    let launch = "SPARSEC_TRY(sparsec_launch(";
    assert!(text.contains(launch), "{text}");
    let text = text.replacen(launch, &format!("{planted} {launch}"), 1);
    std::fs::write(&path, text).unwrap();
    std::fs::write(folder.path().join("main.cpp"), main).unwrap();
    run(Command::new("c++").current_dir(folder.path()).args([
        "-std=c++17",
        "-O1",
        "-w",
        "-DSPARSEC_EMULATED",
        "-Iemulator",
        "-x",
        "c++",
        "f.cu",
        "main.cpp",
        "-x",
        "none",
        OBJECT,
        "-ldl",
        "-lpthread",
        "-o",
        "main",
    ]));
    let output = Command::new(folder.path().join("main")).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn device_functions_can_be_captured_in_graphs() {
    assert_eq!(captured(""), "captured\n");
    for (planted, what) in [
        (
            "cudaStreamSynchronize(stream);",
            "a previous error during capture",
        ),
        (
            "void *more; cudaMalloc(&more, 8);",
            "a previous error during capture",
        ),
        (
            "stream = 0;",
            "the legacy stream depend on a capturing stream",
        ),
    ] {
        let text = captured(planted);
        assert!(text.contains(what), "{planted}: {text}");
    }
}

/// A union of two matrices that is counted first.
const COUNTED: &str =
    "def f(double(300,40) A, double(300,40) B) -> (C) { C(i,j) = A(i,j) + B(i,j) }
format f { A: csr, B: csr, C: csr }
schedule f for cuda {
  split(i, io, ii, 32) parallelize(io, GPUBlock, NoRaces) parallelize(ii, GPUThread, NoRaces)
}
";

/// Adds a matrix with an element in each row to one with an element in each other row, in memory of
/// its own: both phases are captured.
const PHASES: &str = r#"#include "f.h"
#include <stdio.h>
static void need(cudaError_t status) {
    if (status != cudaSuccess) { printf("%s\n", cudaGetErrorString(status)); exit(1); }
}
template <class T> static T *device(int64_t n) {
    void *array;
    need(cudaMalloc(&array, (size_t)n * sizeof(T)));
    return (T *)array;
}
template <class F> static cudaGraphExec_t graph_of(F launches) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    need(cudaStreamCreate(&stream));
    need(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    if (launches(stream)) printf("%s\n", sparsec_error());
    need(cudaStreamEndCapture(stream, &graph));
    need(cudaGraphInstantiate(&executable, graph));
    need(cudaGraphLaunch(executable, stream));
    need(cudaStreamSynchronize(stream));
    return executable;
}
static int32_t apos[301], acrd[300], bpos[301], bcrd[150], pos[301], crd[450];
static double avals[300], bvals[150], vals[450];
int main(void) {
    for (int i = 0; i < 300; i++) {
        apos[i + 1] = i + 1, acrd[i] = 3, avals[i] = i;
        bpos[i + 1] = (i + 2) / 2;
        if (i % 2 == 0) bcrd[i / 2] = i % 3 ? 3 : 1, bvals[i / 2] = 1000;
    }
    int32_t *A2_pos = device<int32_t>(301), *A2_crd = device<int32_t>(300), *B2_pos = device<int32_t>(301);
    int32_t *B2_crd = device<int32_t>(150), *C2_pos = device<int32_t>(301);
    double *A_vals = device<double>(300), *B_vals = device<double>(150);
    int64_t *totals = device<int64_t>(1), count;
    void *workspace = device<char>((int64_t)f_workspace());
    need(cudaMemcpy(A2_pos, apos, sizeof apos, cudaMemcpyHostToDevice));
    need(cudaMemcpy(A2_crd, acrd, sizeof acrd, cudaMemcpyHostToDevice));
    need(cudaMemcpy(A_vals, avals, sizeof avals, cudaMemcpyHostToDevice));
    need(cudaMemcpy(B2_pos, bpos, sizeof bpos, cudaMemcpyHostToDevice));
    need(cudaMemcpy(B2_crd, bcrd, sizeof bcrd, cudaMemcpyHostToDevice));
    need(cudaMemcpy(B_vals, bvals, sizeof bvals, cudaMemcpyHostToDevice));
    graph_of([&](cudaStream_t stream) {
        return f_count_device(A2_pos, A2_crd, A_vals, B2_pos, B2_crd, B_vals, C2_pos, totals, workspace, stream);
    });
    need(cudaMemcpy(&count, totals, sizeof count, cudaMemcpyDeviceToHost));
    if (count != 350) { printf("%d stored\n", (int)count); return 1; }
    int32_t *C2_crd = device<int32_t>(count);
    double *C_vals = device<double>(count);
    graph_of([&](cudaStream_t stream) {
        return f_fill_device(A2_pos, A2_crd, A_vals, B2_pos, B2_crd, B_vals, C2_pos, C2_crd, C_vals, count, workspace, stream);
    });
    need(cudaMemcpy(pos, C2_pos, sizeof pos, cudaMemcpyDeviceToHost));
    need(cudaMemcpy(crd, C2_crd, (size_t)count * sizeof *crd, cudaMemcpyDeviceToHost));
    need(cudaMemcpy(vals, C_vals, (size_t)count * sizeof *vals, cudaMemcpyDeviceToHost));
    for (int i = 0, p = 0; i < 300; i++) {
        if (i % 6 == 0 && (crd[p] != 1 || vals[p++] != 1000)) { printf("B in row %d\n", i); return 1; }
        const double sum = i % 2 == 0 && i % 3 ? i + 1000 : i;
        if (crd[p] != 3 || vals[p++] != sum) { printf("row %d: %g\n", i, vals[p - 1]); return 1; }
        if (pos[i + 1] != p) { printf("row %d ends at %d\n", i, pos[i + 1]); return 1; }
    }
    printf("filled\n");
    return 0;
}
"#;

#[test]
fn both_phases_run_on_memory_of_the_caller() {
    assert_eq!(with_main((COUNTED, PHASES), ""), "filled\n");
    let text = with_main((COUNTED, PHASES), "cudaStreamSynchronize(stream);");
    assert!(text.contains("a previous error during capture"), "{text}");
}

/// Who reads lines of JSON gets nothing else.
#[test]
fn findings_are_json_where_messages_are() {
    let program = "-e y(j)+=A(i,j)*x(i) -d i:40 -d j:33 A=random:1 x=random:2 y=random:3";
    let schedule = "reorder(i,j),parallelize(i,GPUBlock,IgnoreRaces)";
    let mut command = Command::new(env!("CARGO_BIN_EXE_sparsec"));
    command.arg("run").args(program.split(' '));
    command.args(["-s", schedule, "--target", "cuda"]);
    command.args(["--message-format", "json"]);
    let output = command.env("SPARSEC_EMULATOR", "1").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    let says = |what: &str| {
        let of = |line: &serde_json::Value| line["message"].as_str().unwrap().contains(what);
        lines.iter().filter(|line| of(line)).count()
    };
    assert!(
        says("emulator: a race between blocks: y_vals[0]") > 0,
        "{text}"
    );
    assert!(says(" times: a race between blocks") > 0, "{text}");
}

/// What is made for the emulator is not taken for what nvcc makes.
#[test]
fn emulated_programs_are_none_of_nvcc() {
    let folder = emit(SCATTERED);
    let names = || {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<BTreeSet<_>>()
    };
    let mut written = names();
    // Copied here, so that it is not compiled again.
    written.remove(OBJECT);
    let make = |args: &[&str]| {
        let mut make = Command::new("make");
        make.current_dir(folder.path()).arg("-s").args(args);
        make.output().unwrap()
    };
    let emulated = ["EMU=1", "CXXFLAGS=-O1 -g -w", "all", "test"];
    let all = make(&emulated);
    assert!(all.status.success(), "{all:?}");
    assert!(folder.path().join("libf.so").exists());
    let with_nvcc = make(&["NVCC=false", "test"]);
    assert!(!with_nvcc.status.success(), "{with_nvcc:?}");
    // A compiler in the place of nvcc, whose programs say so.
    let nvcc = folder.path().join("nvcc");
    std::fs::write(
        &nvcc,
        "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\nprintf '#!/bin/sh\\nexit 7\\n' >\"$2\"\nchmod +x \"$2\"\n",
    )
    .unwrap();
    std::fs::set_permissions(&nvcc, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert!(make(&["NVCC=./nvcc", "all"]).status.success());
    let own = make(&["NVCC=./nvcc", "test"]);
    assert!(!own.status.success(), "{own:?}");
    let again = make(&emulated);
    assert!(again.status.success(), "{again:?}");
    std::fs::remove_file(nvcc).unwrap();
    assert!(make(&["clean"]).status.success());
    assert_eq!(names(), written);
}
