//! What golden kernels must be beside right: clean C with and without OpenMP, a header
//! that C++ takes, and two units that link into one program.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use support::corpus::is_in_share;
use support::root;

fn golden() -> Vec<PathBuf> {
    let mut list: Vec<PathBuf> = std::fs::read_dir(root().join("testdata/golden"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    list.sort();
    list
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn source(folder: &Path) -> PathBuf {
    let name = folder.file_name().unwrap().to_str().unwrap();
    folder.join(format!("{name}.c"))
}

/// What users may ask of their compilers.
const WARNINGS: [&str; 5] = ["-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Wshadow"];

#[test]
fn golden_kernels_compile_without_warnings_and_run() {
    let out = tempfile::tempdir().unwrap();
    for folder in golden() {
        let all = is_in_share(&folder.display().to_string());
        for openmp in [true, false] {
            if !openmp && !all {
                continue;
            }
            let program = out.path().join("test");
            let level = if all { "-O1" } else { "-O0" };
            let mut cc = Command::new("cc");
            cc.args(["-std=c11", level, "-Werror"]).args(WARNINGS);
            cc.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
            if openmp {
                cc.arg("-fopenmp");
            }
            cc.args(["-DSPARSEC_MAIN", "-o"]).arg(&program);
            run(cc.arg(source(&folder)).arg("-lm"));
            run(&mut Command::new(&program));
        }
    }
}

/// What compilers say of values only where they optimise: of tiles with a rest, by the schedules that sparsec
/// finds, of ranges that others end, and of comparisons and constants that types decide.
#[test]
fn no_compiler_warns_where_it_optimises() {
    const PROGRAMS: &str = "
def gemm(double(M,K) A, double(K,N) B) -> (C) { C(i,j) +=! A(i,k) * B(k,j) }
def narrow(float(M,K) A, float(K,N) B) -> (C) { C(i,j) +=! A(i,k) * B(k,j) }
def conv2d(float(B,I,H,W) x, float(O,I,P,Q) w) -> (y) { y(b,o,i,j) +=! x(b,c,i+p,j+q) * w(o,c,p,q) }
def mttkrp(double(I,K,L,M) B, double(K,J) C, double(L,J) D, double(M,J) E) -> (A) {
  A(i,j) +=! B(i,k,l,m) * C(k,j) * D(l,j) * E(m,j)
}
format mttkrp { B: csf }
def upper(double(N,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) where j in i:N }
def lower(double(N,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) where j in 0:i+1 }
format lower { A: csr }
";
    let out = tempfile::tempdir().unwrap();
    let decided = include_str!("../testdata/corpus/decided.tc");
    std::fs::write(out.path().join("all.tc"), PROGRAMS.to_string() + decided).unwrap();
    let mut sparsec = Command::new(env!("CARGO_BIN_EXE_sparsec"));
    sparsec.args(["-W", "no-performance", "-o", ".", "all.tc"]);
    run(sparsec.current_dir(out.path()));
    for level in ["-O2", "-O3"] {
        let mut cc = Command::new("cc");
        cc.args(["-std=c11", "-march=native", "-fopenmp", level]);
        cc.args(["-Wall", "-Wextra", "-Werror", "-c", "all.c"]);
        run(cc.current_dir(out.path()));
    }
}

/// Compilers forget of a loop of threads which arrays are apart. They know it of the parameters of a function, but some
/// arrays are not: several threads update them.
#[test]
fn what_threads_run_keeps_arrays_apart() {
    const PROGRAM: &str = "
def sampled(double(M,N) A, double(M,K) B, double(N,K) D) -> (C) { C(i,j) = A(i,j) * B(i,k) * D(j,k) }
format sampled { A: csr, C: csr }
schedule sampled for c { parallelize(i, CPUThread(static), NoRaces) }
def added(double(M,N) A, double(M,N) B) -> (C) { C(i,j) = A(i,j) + B(i,j) }
format added { A: csr, B: csr, C: csr }
schedule added for c { assemble(C, once) parallelize(i, CPUThread(static), NoRaces) }
def scattered(double(M,N) A, double(M) x) -> (y) { y(j) +=! A(i,j) * x(i) }
format scattered { A: csr }
schedule scattered for c { parallelize(i, CPUThread(static), Atomics) }
def spmv(double(M,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) }
format spmv { A: csr }
def product(double(M,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) }
schedule product for c { parallelize(i, CPUThread(static), NoRaces) }
def named(double(M,N) A, double(M) x, double named_loop) -> (y, z) {
  y(i,j) = A(i,j) + x(i) * named_loop
  z(i,j) = y(i,j) * named_loop
}
schedule named for c { parallelize(S0.i, CPUThread, NoRaces) parallelize(S1.i, CPUThread, NoRaces) }
";
    let text = text_of(PROGRAM);
    let head = |function: &str| {
        let from = text.find(function)?;
        let to = text[from..].find(") {")?;
        Some(&text[from..from + to])
    };
    let sampled = head("static void sampled_loop(").unwrap();
    assert!(
        sampled.contains("double *SPARSEC_RESTRICT C_vals"),
        "{sampled}"
    );
    assert_eq!(sampled.matches("SPARSEC_RESTRICT").count(), 6, "{sampled}");
    // The values of what is kept from call to call, and whether something else would be stored.
    let kept = head("static bool added_values_loop(").unwrap();
    assert!(
        kept.contains("const int32_t *SPARSEC_RESTRICT C2_pos"),
        "{kept}"
    );
    let scattered = head("static void scattered_loop(").unwrap();
    assert!(scattered.contains("double *y_vals"), "{scattered}");
    assert!(
        scattered.contains("*SPARSEC_RESTRICT x_vals"),
        "{scattered}"
    );
    // A share stays a function: rows are shared out in other registers.
    assert!(head("SPARSEC_NOINLINE static void spmv_loop(").is_some());
    // Nothing is stored in its inner loop.
    assert_eq!(head("product_loop("), None);
    // A parameter has the name that the first of two loops would have, and is not for the second either.
    assert!(head("static void named_loop2(").is_some());
    assert!(head("static void named_loop3(").is_some());
}

/// The text of a program in C.
fn text_of(program: &str) -> String {
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("all.tc");
    std::fs::write(&file, program).unwrap();
    let mut sparsec = Command::new(env!("CARGO_BIN_EXE_sparsec"));
    sparsec.args(["-W", "no-performance", "--stdout"]).arg(file);
    let output = sparsec.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// gcc keeps a tile of the result's row in registers where the loop is a part of the kernel, not in a function.
#[test]
fn tiles_that_are_unrolled_stay_in_the_kernel() {
    const PROGRAM: &str = "
def spmm(double(M,N) A, double(N,K) B) -> (C) { C(i,k) +=! A(i,j) * B(j,k) }
format spmm { A: csr }
schedule spmm for c {
  split(k, k0, k1, 32) reorder(i, k0, j, k1) precompute(A(i,j) * B(j,k), k1, k1, tile) UNROLLED
  parallelize(i, CPUThread, NoRaces)
}
";
    let text = text_of(&PROGRAM.replace("UNROLLED", "unroll(k1, 32)"));
    assert!(!text.contains("spmm_loop"), "{text}");
    let lanes = "parallelize(k1, CPUVector, NoRaces)";
    let text = text_of(&PROGRAM.replace("UNROLLED", lanes));
    assert!(text.contains("spmm_loop"), "{text}");
}

/// Threads clear what is large together where none of them runs a loop, and each by itself what it clears in one.
#[test]
fn threads_clear_together_outside_of_loops() {
    let rows = std::fs::read_to_string("testdata/corpus/hashed_rows.tc").unwrap();
    let text = text_of(&rows);
    assert!(text.contains("memset(C_row_places"), "{text}");
    assert!(!text.contains("sparsec_clear("), "{text}");
    const CHOICE: &str = "
def f(double(M,N) A, double(M) x) -> (y) { y(j) +=! A(i,j) * x(i) }
format f { A: csr }
schedule f for c {
  choose { when rows(A) < 100: { parallelize(i, CPUThread, Atomics) } otherwise: { parallelize(i, CPUThread(dynamic), Atomics) } }
}
";
    let text = text_of(CHOICE);
    assert_eq!(text.matches("sparsec_clear(y_vals").count(), 2, "{text}");
}

/// Of a device's memory, too, products of extents are asked whether they are numbers.
#[test]
fn sizes_on_devices_are_asked() {
    const PROGRAM: &str = "
def f(double(M) a, double(N) b, double(K) c) -> (y) { t(i,j,k) = a(i) * b(j) * c(k) y +=! t(i,j,k) }
schedule f for cuda { parallelize(S0.i, GPUBlock, NoRaces) }
";
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("all.tc");
    std::fs::write(&file, PROGRAM).unwrap();
    let mut sparsec = Command::new(env!("CARGO_BIN_EXE_sparsec"));
    sparsec.args(["-W", "no-performance", "--target", "cuda", "--stdout"]);
    let text = String::from_utf8(sparsec.arg(file).output().unwrap().stdout).unwrap();
    let asked = "sparsec_times(sparsec_times(M, N), K)";
    assert!(text.contains(&format!("sparsec_bytes({asked}")), "{text}");
}

/// Every kernel of `testdata` with every C compiler of this machine, its header with every
/// C++ compiler, before and behind the headers that define `I`.
#[test]
fn no_compiler_warns() {
    let out = tempfile::tempdir().unwrap();
    let mut folders = golden();
    for scheduled in support::scheduled::all() {
        if !scheduled.gpu {
            let folder = out.path().join(&scheduled.schedule);
            let mut sparsec = Command::new(env!("CARGO_BIN_EXE_sparsec"));
            sparsec.args(scheduled.args()).arg("-o").arg(&folder);
            run(sparsec.args(["-W", "no-performance"]));
            folders.push(folder);
        }
    }
    let found = |name: &String| {
        let version = Command::new(name).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    };
    let versions = |names: [&str; 2]| -> Vec<String> {
        let numbered = (11..=20).flat_map(|n| names.map(|name| format!("{name}-{n}")));
        let plain = names.map(str::to_string).into_iter();
        plain.chain(numbered).filter(found).collect()
    };
    let (c, cpp) = (versions(["cc", "clang"]), versions(["c++", "clang++"]));
    let mut headers = String::new();
    for folder in &folders {
        let kernel = std::fs::read_dir(folder).unwrap();
        let mut kernel = kernel.map(|entry| entry.unwrap().path());
        let kernel = kernel.find(|path| path.extension().is_some_and(|e| e == "c"));
        let kernel = kernel.unwrap();
        for compiler in &c {
            let mut cc = Command::new(compiler);
            cc.args(["-std=c11", "-Werror", "-DSPARSEC_MAIN", "-fsyntax-only"]);
            run(cc.args(WARNINGS).arg(&kernel));
        }
        // Several schedules are of functions of one name.
        let header = kernel.with_extension("h");
        if folder.starts_with(out.path()) {
            continue;
        }
        headers += &format!("#include \"{}\"\n", header.display());
    }
    for (before, after) in [("", "<complex.h>"), ("<complex.h>", "<complex>")] {
        let before = if before.is_empty() {
            String::new()
        } else {
            format!("#include {before}\n")
        };
        let caller = out.path().join("caller.cpp");
        let text = format!("{before}{headers}#include {after}\nint main() {{ return 0; }}\n");
        std::fs::write(&caller, text).unwrap();
        for compiler in &cpp {
            let mut cc = Command::new(compiler);
            cc.args(["-std=c++11", "-Werror", "-fsyntax-only"]);
            run(cc.args(WARNINGS).arg(&caller));
        }
    }
    println!("{} kernels with {c:?}, headers with {cpp:?}", folders.len());
}

#[test]
fn headers_are_cpp_and_units_link_together() {
    let out = tempfile::tempdir().unwrap();
    let folders = golden();
    let mut text = String::new();
    let mut objects = Vec::new();
    for folder in &folders {
        let name = folder.file_name().unwrap().to_str().unwrap();
        text += &format!(
            "#include \"{}\"\n",
            folder.join(format!("{name}.h")).display()
        );
        let object = out.path().join(format!("{name}.o"));
        run(Command::new("cc")
            .args(["-std=c11", "-O0", "-c", "-o"])
            .arg(&object)
            .arg(source(folder)));
        objects.push(object);
    }
    text += "#include <cmath>
int main() {
    int32_t pos[] = {0, 2, 3}, crd[] = {0, 2, 1};
    double vals[] = {1, 2, 3}, x[] = {4, 5, 6}, y[2];
    if (spmv_raw(2, 3, pos, crd, vals, x, y) != 0) return 1;
    sparsec_tensor result = {};
    if (spmv(nullptr, nullptr, &result) == 0 || !*sparsec_error()) return 2;
    return std::fabs(y[0] - 16) + std::fabs(y[1] - 15) < 1e-12 ? 0 : 3;
}
";
    let caller = out.path().join("caller.cpp");
    std::fs::write(&caller, text).unwrap();
    let program = out.path().join("caller");
    run(Command::new("c++")
        .args([
            "-std=c++17",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-o",
        ])
        .arg(&program)
        .arg(&caller)
        .args(&objects));
    run(&mut Command::new(&program));
}

/// Who thinks a header to be C's alone includes it within `extern "C"`; so may kernels for a GPU be.
#[test]
fn headers_may_be_included_as_those_of_c() {
    let out = tempfile::tempdir().unwrap();
    let text = "def f(complex64(N) x) -> (y) { y(i) = 2 * x(i) }\n";
    std::fs::write(out.path().join("f.tc"), text).unwrap();
    for target in ["c", "cuda"] {
        let folder = out.path().join(target);
        let mut sparsec = Command::new(env!("CARGO_BIN_EXE_sparsec"));
        sparsec
            .args(["f.tc", "--target", target, "-o"])
            .arg(&folder);
        run(sparsec.current_dir(out.path()));
        let caller = "extern \"C\" {\n#include \"f.h\"\n}\nint main() { return sparsec_error() == nullptr; }\n";
        std::fs::write(folder.join("caller.cpp"), caller).unwrap();
        let mut kinds = vec![vec![]];
        if target == "cuda" {
            kinds.push(vec![
                "-DSPARSEC_EMULATED",
                "-Iemulator",
                "-Wno-unknown-pragmas",
            ]);
        }
        for flags in kinds {
            for implementation in [&[][..], &["-DSPARSEC_IMPLEMENTATION"]] {
                let mut cc = Command::new("c++");
                cc.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]);
                cc.args(&flags).args(implementation).arg("caller.cpp");
                run(cc.current_dir(&folder));
            }
        }
    }
}

/// A debug build fails where a `bound` is not as promised, with both numbers, and runs where it
/// is; so does a checked run, timed or not.
#[test]
fn a_debug_build_checks_promises() {
    let out = tempfile::tempdir().unwrap();
    let text = "def f(double(N) x, int(M) len) -> (y, z) {
  y(i) = x(i)
  z(k) = x(j) where k in 0:M, j in 0:len(k)
}
schedule f { bound(i, ib, 24, MaxExact)  bound(j, jb, 4, MaxConstraint) }
";
    let file = out.path().join("promise.tc");
    std::fs::write(&file, text).unwrap();
    let sparsec = || Command::new(env!("CARGO_BIN_EXE_sparsec"));
    run(sparsec()
        .current_dir(out.path())
        .args(["promise.tc", "-o", "."]));
    let program = out.path().join("test");
    let mut build = Command::new("cc");
    build.args(["-std=c11", "-O1", "-DSPARSEC_DEBUG", "-DSPARSEC_MAIN", "-o"]);
    build.arg(&program).arg(out.path().join("promise.c"));
    run(build.arg("-lm"));
    // The smoke test's size is its argument.
    run(Command::new(&program).arg("24"));
    let broken = Command::new(&program).arg("23").output().unwrap();
    assert!(!broken.status.success());
    let reason = String::from_utf8_lossy(&broken.stdout).into_owned();
    let said = "error 6: bound(i, ib, 24, MaxExact), but i ends at 23";
    assert!(reason.contains(said), "{reason}");
    // 4 values, not 5, for the data-dependent range.
    let data = |extent: usize, value: usize, more: &[&str]| {
        let list = format!("{value}\n").repeat(extent);
        let text = format!("%%MatrixMarket matrix array integer general\n{extent} 1\n{list}");
        std::fs::write(out.path().join("len.mtx"), text).unwrap();
        sparsec()
            .current_dir(out.path())
            .args(["run", "promise.tc", "x=ones", "--size", "N=24", "--verify"])
            .arg("len=len.mtx")
            .args(more)
            .output()
            .unwrap()
    };
    let kinds: [&[&str]; 3] = [&[], &["--time", "2"], &["--target", "cuda"]];
    for more in kinds {
        assert!(data(3, 4, more).status.success(), "{more:?}");
        let broken = data(3, 5, more);
        assert_eq!(broken.status.code(), Some(1), "{more:?}");
        let broken = String::from_utf8_lossy(&broken.stderr).into_owned();
        let said = "bound(j, jb, 4, MaxConstraint), but j has this many values: 5";
        assert!(broken.contains(said), "{more:?}: {broken}");
    }
}

/// What a schedule promises of positions, of parts of them and of fused ones is checked, too.
#[test]
fn promises_about_positions_are_checked() {
    let run = |schedule: &str, target: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sparsec"));
        command.args([
            "run",
            "-e",
            "y(i)=A(i,j)*x(j)",
            "-f",
            "A:ds",
            "-s",
            schedule,
        ]);
        command.args(["A=ones", "x=ones", "-d", "i:3", "-d", "j:5", "--verify"]);
        command.args(["--target", target]).output().unwrap()
    };
    let cases = [
        ("pos(j,p,A(i,j)),bound(p,b,5,MaxExact)", None),
        (
            "pos(j,p,A(i,j)),bound(p,b,4,MaxExact)",
            Some("p has this many values: 5"),
        ),
        (
            "pos(j,p,A(i,j)),bound(p,b,2,Multiple)",
            Some("p has this many values: 5"),
        ),
        // A row has no more than what is promised: as many as there are are walked.
        ("pos(j,p,A(i,j)),bound(p,b,500000,MaxExact)", None),
        (
            "fuse(i,j,f),pos(f,p,A(i,j)),bound(p,b,14,MaxConstraint)",
            Some("p has this many values: 15"),
        ),
        (
            "pos(j,p,A(i,j)),split(p,p0,p1,2),bound(p0,b,2,MaxExact)",
            Some("p0 has this many values: 3"),
        ),
    ];
    for target in ["c", "cuda"] {
        // The emulator is built for each.
        let taken = |case: &(&str, _)| target == "c" || is_in_share(case.0);
        for (schedule, said) in cases.into_iter().filter(taken) {
            let output = run(schedule, target);
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let code = i32::from(said.is_some());
            assert_eq!(
                output.status.code(),
                Some(code),
                "{schedule} {target}: {text}"
            );
            assert!(
                text.contains(said.unwrap_or_default()),
                "{schedule}: {text}"
            );
        }
    }
}

#[test]
fn names_of_the_program_do_not_clash_with_the_smoke_test() {
    let out = tempfile::tempdir().unwrap();
    let program = out.path().join("names.tc");
    let text = "def error(double(n,best) round, double(best) x) -> (error) {
  error(i) +=! round(i,j) * x(j)
}
def start(double(rounds) n, double alpha) -> (start) { start(i) = n(i) * alpha }
";
    std::fs::write(&program, text).unwrap();
    for target in ["c", "cuda"] {
        let folder = out.path().join(target);
        let mut sparsec = Command::new(env!("CARGO_BIN_EXE_sparsec"));
        run(sparsec
            .arg(&program)
            .args(["--target", target, "-o"])
            .arg(&folder));
        run(Command::new("make")
            .current_dir(&folder)
            .args(["EMU=1", "test"]));
    }
}

/// A kernel that the compiler refuses only with OpenMP must not be run without. Where the
/// compiler has no OpenMP, loops run serially.
#[test]
fn kernels_are_built_without_openmp_only_where_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let header = folder.path().join("no_openmp.h");
    std::fs::write(&header, "#ifdef _OPENMP\n#error not with OpenMP\n#endif\n").unwrap();
    let compiler = folder.path().join("serial-cc");
    std::fs::write(
        &compiler,
        "#!/bin/sh\ncase \"$*\" in *-fopenmp*) exit 1;; esac\nexec cc \"$@\"\n",
    )
    .unwrap();
    std::fs::set_permissions(
        &compiler,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let spmv = |name: &str, value: &Path| {
        Command::new(env!("CARGO_BIN_EXE_sparsec"))
            .args(["run", "-e", "y(i)=A(i,j)*x(j)", "-f", "A:ds", "--verify"])
            .args(["-s", "parallelize(i,CPUThread,NoRaces)"])
            .args(["A=random:1:0.2", "x=random:2", "-d", "i:4", "-d", "j:5"])
            .env(
                "SPARSEC_CFLAGS",
                format!("-O1 -include {}", header.display()),
            )
            .env(name, value)
            .output()
            .unwrap()
    };
    let refused = spmv("LC_ALL", Path::new("C"));
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(message.contains("not with OpenMP"), "{message}");
    let serial = spmv("CC", &compiler);
    assert!(serial.status.success(), "{serial:?}");
}

/// Names that the text gives of itself, as names of parameters, sizes, variables and results.
#[test]
fn names_of_the_text_are_free_for_programs() {
    const NAMES: &[&str] = &[
        "y_dims",
        "y_vals",
        "y2_pos",
        "y2_crd",
        "y_positions",
        "y_vals_out",
        "y2_crd_out",
        "f_raw",
        "f_loop",
        "f_check",
        "f_A_spec",
        "f_y_spec",
        "f_A_levels",
        "f_device",
        "f_count_device",
        "f_fill_device",
        "f_workspace",
        "f_kernel",
        "f_run",
        "workspace",
        "stream",
        "memory",
        "room",
        "needed",
        "bytes",
        "error",
        "A_vals",
        "A2_pos",
        "f",
        "n",
        "best",
        "round",
        "memset",
        "fmaxf",
    ];
    let out = tempfile::tempdir().unwrap();
    let path = |name: &str| out.path().join(name);
    let mut units = Vec::new();
    for name in NAMES.iter().filter(|name| is_in_share(name)) {
        let given = format!(
            "def f(double(M,N) A, double(N) {name}, double s) -> (y) {{ y(i,j) = A(i,j) * {name}(j) * s }}
format f {{ A: csr, y: csr }}
"
        );
        let scalar = format!(
            "def f(double(M,N) A, double {name}) -> (y) {{ y(i) +=! max(A(i,j), {name}) }}
format f {{ A: csr }}
"
        );
        let size = format!(
            "def f(double(M,{name}) A) -> (y) {{ y(i,j) = A(i,j) * 2 }}
format f {{ A: csr, y: csr }}
"
        );
        let variable = format!(
            "def f(double(M,N) A, double(N) x) -> (y) {{ y({name}) +=! A({name},j) * max(x(j), 1) }}
format f {{ A: csr }}
"
        );
        let result = format!(
            "def f(double(M,N) A, double(M,N) B) -> ({name}, y) {{ {name}(i,j) = A(i,j) + B(i,j)  y(i,j) = A(i,j) }}
format f {{ A: csr, B: csr, {name}: csr, y: csr }}
"
        );
        for text in [given, scalar, size, variable, result] {
            let stem = format!("unit{}", units.len());
            std::fs::write(path(&format!("{stem}.tc")), &text).unwrap();
            for target in ["c", "cuda"] {
                let mut sparsec = Command::new(env!("CARGO_BIN_EXE_sparsec"));
                sparsec.args(["-W", "no-performance", "--target", target, "-o"]);
                let folder = path(target);
                run(sparsec.arg(&folder).arg(path(&format!("{stem}.tc"))));
            }
            units.push(stem);
        }
    }
    // All of them in two runs of the compilers: each file is what it would be by itself.
    let file = |unit: &String, ending: &str| format!("{unit}.{ending}");
    let mut cc = Command::new("cc");
    cc.args([
        "-std=c11",
        "-fsyntax-only",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-DSPARSEC_MAIN",
    ]);
    run(cc
        .current_dir(path("c"))
        .args(units.iter().map(|unit| file(unit, "c"))));
    let mut cxx = Command::new("c++");
    let emulator = std::env::current_dir()
        .unwrap()
        .join("src/emit/runtime/emulator");
    cxx.args([
        "-std=c++17",
        "-fsyntax-only",
        "-w",
        "-DSPARSEC_MAIN",
        "-DSPARSEC_EMULATED",
    ]);
    cxx.arg("-I").arg(emulator).args(["-x", "c++"]);
    run(cxx
        .current_dir(path("cuda"))
        .args(units.iter().map(|unit| file(unit, "cu"))));
}

/// Calls kernels with tensors that share memory, have another fill value or extents that
/// cannot be counted.
const HOSTILE: &str = r#"
#define SPARSEC_IMPLEMENTATION
#include "hostile.h"
static int refused(int status, const char *reason) {
    if (status == SPARSEC_BAD_ARGUMENT && strstr(sparsec_error(), reason)) return 0;
    fprintf(stderr, "%d, %s: not \"%s\"\n", status, sparsec_error(), reason);
    return 1;
}
int main(void) {
    int32_t pos[] = {0, 2}, crd[] = {0, 2};
    int64_t three[] = {3}, most[] = {INT64_MAX}, wide[] = {1, INT64_MAX}, tall[] = {INT64_MAX / 4, 8};
    double v[] = {1, 2, 3, 4, 5}, s[] = {1, 2};
    sparsec_level dense = {.kind = SPARSEC_DENSE}, other = {.kind = SPARSEC_DENSE, .mode = 1};
    sparsec_level stored = {.kind = SPARSEC_COMPRESSED, .pos = pos, .pos_len = 2, .crd = crd, .crd_len = 2};
    sparsec_level both[] = {dense, other};
    sparsec_tensor x = {.type = SPARSEC_FLOAT64, .order = 1, .dims = three, .levels = &dense, .vals = v, .vals_len = 3};
    sparsec_tensor shifted = x, y = {0}, z = {0};
    sparsec_tensor S = {.type = SPARSEC_FLOAT64, .order = 1, .index_bits = 32, .dims = three, .levels = &stored,
        .vals = s, .vals_len = 2};
    sparsec_tensor T = {.type = SPARSEC_FLOAT64, .order = 2, .dims = wide, .levels = both, .vals = v, .vals_len = 5};
    int wrong = 0;
    shifted.vals = v + 2;
    /* The result of an earlier call is used again; as an operand it is refused. */
    if (twice(&x, &y) || twice(&x, &y) || ((double *)y.vals)[2] != 6) return 2;
    wrong |= refused(twice(&y, &y), "y: shares memory");
    if (((double *)y.vals)[2] != 6) return 3;
    wrong |= refused(twice(&x, &x), "y: shares memory");
    wrong |= refused(twice(&x, &shifted), "y: shares memory");
    wrong |= refused(two(&x, &z, &z), "shares memory");
    /* What is read and written is one argument. */
    wrong |= refused(more(&x, &x), "y: shares memory");
    wrong |= refused(more(&x, &shifted), "y: shares memory");
    if (more(&x, &y) || ((double *)y.vals)[2] != 9) return 4;
    /* Fill values, where something is not stored. */
    S.fill.float64 = INFINITY;
    if (least(&S, &z) || ((double *)z.vals)[0] != 1) return 5;
    sparsec_free_tensor(&z);
    S.fill.float64 = 0;
    wrong |= refused(least(&S, &z), "A: its fill value is 0, not inf");
    S.fill.float64 = NAN;
    wrong |= refused(stored_twice(&S, &z), "A: its fill value is");
    S.fill.float64 = 0;
    x.fill.float64 = 7;
    if (stored_twice(&S, &z) || twice(&x, &y)) return 6;
    S.dims = most;
    wrong |= refused(stored_twice(&S, &z), "A: the extent of dimension 0 is too large");
    wrong |= refused(rows(&T, &z), "A: the extent of dimension 1 is too large");
    T.dims = tall;
    wrong |= refused(rows(&T, &z), "A: its extents overflow");
    sparsec_free_tensor(&y);
    sparsec_free_tensor(&z);
    /* A table that does not lead to what is stored, or has no end. */
    {
        static const sparsec_level_spec levels[] = {{SPARSEC_HASHED, SPARSEC_UNORDERED, 0}};
        static const sparsec_spec spec = {"H", SPARSEC_FLOAT64, 1, 32, levels, NULL};
        const int64_t hundred[] = {100}, at[] = {7, 99, 0, 7, 50};
        const double values[] = {1, 2, 3, 4, 5};
        sparsec_tensor H = {0};
        int32_t *table;
        if (sparsec_pack(&H, &spec, hundred, 5, at, values) || asked(&H, &H, &z)) return 7;
        if (((double *)z.vals)[0] != 25 + 4 + 9 + 25 || H.levels[0].table_len != 8) return 8;
        if (entered(&H, &y) || y.levels[0].table_len != 8 || asked(&y, &H, &z)) return 9;
        if (((double *)z.vals)[0] != 25 + 4 + 9 + 25) return 10;
        table = (int32_t *)H.levels[0].table;
        for (int slot = 0; slot < 8; slot++) {
            const int32_t entry = table[slot], others[] = {entry ? 0 : 1, -1, 5, entry % 4 + 1};
            for (int k = 0; k < 4; k++) {
                table[slot] = others[k];
                wrong |= refused(asked(&H, &y, &z), "A: table of level 0 does not lead to what is stored at 0");
            }
            table[slot] = entry;
        }
        H.levels[0].table_len = 7;
        wrong |= refused(asked(&H, &y, &z), "A: table of level 0 has 7 slots, not twice 4");
        H.levels[0].table_len = 8;
        sparsec_free_tensor(&H);
        sparsec_free_tensor(&y);
        sparsec_free_tensor(&z);
    }
    return wrong;
}
"#;

#[test]
fn arguments_that_would_corrupt_memory_are_refused() {
    let out = tempfile::tempdir().unwrap();
    let path = |name: &str| out.path().join(name);
    let program = "def twice(double(N) x) -> (y) { y(i) = x(i) * 2 }
def two(double(N) x) -> (y, z) { y(i) = x(i) * 2  z(i) = x(i) }
def more(double(N) x, double(N) y) -> (y) { y(i) += x(i) }
def least(double(N) A) -> (y) { y min=! A(i) }
def stored_twice(double(N) A) -> (y) { y(i) = A(i) * 2 }
def rows(double(M,N) A) -> (y) { y +=! A(i,j) }
def asked(double(N) A, double(N) B) -> (s) { s +=! A(i) * B(i) }
def entered(double(N) A) -> (B) { B(i) = A(i) }
def negated(double(N) x, int64 n) -> (y) { y(i) = not(x(i)) > n }
format least { A: sparse_vector fill inf }
format asked { A: {hashed}, B: {hashed} }
format entered { A: {hashed}, B: {hashed} }
format stored_twice { A: sparse_vector, y: sparse_vector }
";
    std::fs::write(path("hostile.tc"), program).unwrap();
    std::fs::write(path("main.c"), HOSTILE).unwrap();
    let mut sparsec = Command::new(env!("CARGO_BIN_EXE_sparsec"));
    run(sparsec.arg(path("hostile.tc")).arg("-o").arg(out.path()));
    let mut cc = Command::new("cc");
    cc.args([
        "-std=c11",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsanitize=address,undefined",
    ]);
    cc.args(["main.c", "hostile.c", "-o", "main", "-lm"]);
    run(cc.current_dir(out.path()));
    run(&mut Command::new(path("main")));
}

/// The text of a union of three tensors grows with their order as its loops do.
#[test]
fn unions_of_three_are_linear_in_the_order() {
    let lines = |order: usize| {
        let subscripts = &"i,j,k,l,m,n"[..2 * order - 1];
        let mut sparsec = Command::new(env!("CARGO_BIN_EXE_sparsec"));
        sparsec.args(["--no-schedule", "-W", "no-performance", "--stdout", "-e"]);
        sparsec.arg("D(_)=A(_)+B(_)+C(_)".replace('_', subscripts));
        for tensor in ["A", "B", "C", "D"] {
            sparsec
                .arg("-f")
                .arg(format!("{tensor}:{}", "s".repeat(order)));
        }
        let output = sparsec.output().unwrap();
        assert!(output.status.success());
        output.stdout.iter().filter(|&&c| c == b'\n').count()
    };
    let (four, five, six) = (lines(4), lines(5), lines(6));
    assert!(six < 2000, "{six}");
    assert!(
        six - five < 100 && five - four < 100,
        "{four}, {five}, {six}"
    );
}
