//! Loops that a schedule hands to vector units: gcc's and clang's own reports say whether
//! `CPUVector` loops became vector code, and their assembly shows the register tiles of
//! `schedules/`.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use support::root;

/// The inner loops of SpMM, MTTKRP and GEMM on vectors, and functions of elements.
const PROGRAMS: [(&str, &str); 4] = [
    (
        "spmm",
        "def spmm(double(M,N) A, double(N,K) B) -> (C) { C(i,k) +=! A(i,j) * B(j,k) }
format spmm { A: csr }
schedule spmm for c { reorder(i, j, k)  parallelize(k, CPUVector, NoRaces) }
",
    ),
    (
        "mttkrp",
        "def mttkrp(double(I,K,L) B, double(K,J) C, double(L,J) D) -> (A) {
  A(i,j) +=! B(i,k,l) * D(l,j) * C(k,j)
}
format mttkrp { B: csf }
schedule mttkrp for c { reorder(i, k, l, j)  parallelize(j, CPUVector, NoRaces) }
",
    ),
    (
        "gemm",
        "def gemm(double(M,K) A, double(K,N) B) -> (C) { C(i,j) +=! A(i,k) * B(k,j) }
schedule gemm for c { reorder(i, k, j)  parallelize(j, CPUVector, NoRaces) }
",
    ),
    // No calls: neither of C's `fmax`, nor of `sqrt` for the sake of its errors.
    (
        "elements",
        "def elements(double(M,N) A, double(M,N) C) -> (C) { C(i,j) += max(sqrt(A(i,j)), 0.5) }
schedule elements for c { parallelize(j, CPUVector, NoRaces) }
",
    ),
];

const GCC: [&str; 7] = [
    "-std=c11",
    "-O3",
    "-march=x86-64-v3",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fopenmp",
    "-fopt-info-vec-optimized",
];
const CLANG: [&str; 7] = [
    "-std=c11",
    "-O3",
    "-march=x86-64-v3",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fopenmp-simd",
    "-Rpass=loop-vectorize",
];

/// What a compiler reports of a file, or nothing where it is not installed.
fn report(compiler: &str, flags: &[&str], source: &Path) -> Option<String> {
    let mut command = Command::new(compiler);
    command.args(flags).arg("-c").arg(source);
    let output = command.args(["-o", "/dev/null"]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}\n{text}");
    Some(text)
}

fn clang() -> Option<&'static str> {
    ["clang", "clang-19", "clang-18", "clang-16", "clang-14"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok())
}

fn emit(program: &Path, schedule: Option<&Path>, folder: &Path) -> PathBuf {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sparsec"));
    command.arg(program).arg("-o").arg(folder);
    if let Some(schedule) = schedule {
        command.arg("--schedule").arg(schedule);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    folder.join(Path::new(program.file_name().unwrap()).with_extension("c"))
}

/// The lines of a file that a report has with `what`.
fn reported(text: &str, source: &Path, what: &[&str]) -> Vec<usize> {
    let name = format!("{}:", source.display());
    text.lines()
        .filter(|line| what.iter().any(|w| line.contains(w)))
        .filter_map(|line| line.strip_prefix(&name)?.split(':').next()?.parse().ok())
        .collect()
}

#[test]
fn vector_loops_become_vector_code() {
    if cfg!(not(target_arch = "x86_64")) {
        println!("skipped: the flags are those of x86-64");
        return;
    }
    let out = tempfile::tempdir().unwrap();
    let clang = clang();
    if clang.is_none() {
        println!("skipped: clang is not installed");
    }
    for (name, text) in PROGRAMS {
        let program = out.path().join(format!("{name}.tc"));
        std::fs::write(&program, text).unwrap();
        let source = emit(&program, None, &out.path().join(name));
        let code = std::fs::read_to_string(&source).unwrap();
        let pragmas: Vec<usize> = (1..)
            .zip(code.lines())
            .filter(|(_, line)| line.contains("pragma omp simd"))
            .map(|(n, _)| n)
            // Filling with zeros becomes a call instead.
            .filter(|n| code.lines().nth(n + 2).is_some_and(|l| l.contains("+=")))
            .collect();
        assert!(!pragmas.is_empty(), "{name}:\n{code}");
        let gcc = report("gcc", &GCC, &source);
        let packed = gcc.as_deref().unwrap_or_default();
        let packed = reported(packed, &source, &["loop vectorized using 32 byte"]);
        let remarks = clang.and_then(|clang| report(clang, &CLANG, &source));
        let remarked = remarks.as_deref().unwrap_or_default();
        let remarked = reported(
            remarked,
            &source,
            &["vectorized loop (vectorization width: 4"],
        );
        for line in pragmas {
            // A pragma's loop is reported at the pragma, the loop or its body.
            let near = |list: &[usize]| list.iter().any(|at| (line..line + 4).contains(at));
            assert!(gcc.is_none() || near(&packed), "gcc, {name}:{line}\n{code}");
            assert!(
                remarks.is_none() || near(&remarked),
                "clang, {name}:{line}\n{code}"
            );
        }
    }
}

/// A register tile is unrolled code that the compilers pack: a multiply-add of four
/// doubles for each quarter of the tile.
#[test]
fn register_tiles_become_vector_code() {
    if cfg!(not(target_arch = "x86_64")) {
        println!("skipped: the flags are those of x86-64");
        return;
    }
    let out = tempfile::tempdir().unwrap();
    for (program, schedule, tile) in [
        ("spmm", "spmm_cpu", 32),
        ("mttkrp3", "mttkrp_cpu", 32),
        ("gemm", "gemm_cpu", 96),
    ] {
        let source = emit(
            &root().join(format!("testdata/scheduled/{program}.tc")),
            Some(&root().join(format!("schedules/{schedule}.sched"))),
            &out.path().join(schedule),
        );
        for compiler in ["gcc", clang().unwrap_or("clang")] {
            let assembly = out.path().join("kernel.s");
            let mut command = Command::new(compiler);
            command.args([
                "-std=c11",
                "-O3",
                "-march=x86-64-v3",
                "-ffp-contract=fast",
                "-S",
                "-o",
            ]);
            let Ok(output) = command.arg(&assembly).arg(&source).output() else {
                println!("skipped: {compiler} is not installed");
                continue;
            };
            assert!(output.status.success(), "{command:?}");
            let text = std::fs::read_to_string(&assembly).unwrap();
            let packed = text
                .lines()
                .filter(|l| l.contains("vfmadd") && l.contains("pd") && l.contains("%ymm"))
                .count();
            assert!(
                packed >= tile / 4,
                "{compiler}, {schedule}: {packed} packed multiply-adds for a tile of {tile}"
            );
        }
    }
}

/// Where sums and products of neighbours fill a workspace, whole vectors do; elsewhere the
/// loop stays one over elements.
#[test]
fn workspaces_are_filled_by_whole_vectors_where_they_can_be() {
    let cases = [
        ("products", true),
        ("floats", true),
        ("four", true),
        ("quotients", true),
        ("called", false),
        ("strided", false),
        ("numbered", false),
        ("whole", false),
        ("halves", false),
        ("largest", false),
    ];
    let emitted = |name| {
        let output = Command::new(env!("CARGO_BIN_EXE_sparsec"))
            .arg(root().join("testdata/corpus/whole_vectors.tc"))
            .args(["--def", name, "--stdout", "-W", "no-performance"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{name}: {output:?}");
        text
    };
    for (name, wide) in cases {
        // A long line is broken behind the operator.
        let text = emitted(name).replace("=\n", "=");
        let fills = |line: &&str| line.contains("w_vals[") && line.contains("A_vals[");
        let fill = text.lines().find(fills).unwrap_or_default().trim();
        assert_eq!(fill.starts_with("*(sparsec_"), wide, "{name}: {fill}");
    }
    let sums = [
        ("dots", Some("sparsec_sum_double8(")),
        ("float_dots", Some("sparsec_sum_float16(")),
        ("dots_of_two", Some("sparsec_sum_double2(")),
        ("whole_dots", None),
        ("largest_terms", None),
    ];
    for (name, call) in sums {
        let text = emitted(name);
        let found = text.lines().find_map(|line| {
            let at = line.find("sparsec_sum_")?;
            Some(&line[at..=at + line[at..].find('(')?])
        });
        assert_eq!(found, call, "{name}");
    }
    let gathers = [
        ("gathered", true),
        ("gathered_floats", true),
        ("gathered_twos", true),
        ("gathered_less", true),
        ("gathered_rows", true),
        ("gathered_whole", false),
        ("gathered_coordinates", false),
    ];
    for (name, wide) in gathers {
        let text = emitted(name);
        assert_eq!(text.contains("A2_crd[jp + 1]"), wide, "{name}");
        // The rest of a row, too.
        assert_eq!(text.contains("jp + 1 < jp_end ?"), wide, "{name}");
    }
}
