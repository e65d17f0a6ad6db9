//! The CUDA target on the emulator, every access checked.

mod support;

use std::process::Command;
use support::corpus::{check, files, is_in_share, listed, programs};
use support::{Case, compile, parse, root, words};

/// As sparsec schedules by itself, and in one thread.
const CUDA: [&str; 2] = ["--target", "cuda"];
const SERIAL: [&str; 3] = ["--target", "cuda", "--no-schedule"];

#[test]
fn programs_of_the_papers() {
    check(&programs("testdata/programs", &CUDA));
}

#[test]
fn readings_that_peers_get_wrong() {
    let cases = programs("testdata/corpus", &CUDA);
    // Schedules of the programs' own are what many of these are about.
    let (found, own): (Vec<Case>, Vec<Case>) = cases
        .into_iter()
        .partition(|case| case.compiled.is_automatic);
    check(&own);
    check(&shared(found));
}

#[test]
fn sparse_corpus() {
    check(&shared(listed(&CUDA)));
}

#[test]
fn serial_kernels() {
    let mut cases = programs("testdata/corpus", &SERIAL);
    cases.extend(programs("testdata/programs", &SERIAL));
    check(&shared(cases));
}

/// Those of many cases that this run takes.
fn shared(mut cases: Vec<Case>) -> Vec<Case> {
    cases.retain(|case| is_in_share(&case.text));
    cases
}

/// What sparsec schedules by itself runs in more than one thread.
#[test]
fn defaults_are_shared_out() {
    let kernels = [
        "y(i)=A(i,j)*x(j) -f A:ds",
        "y(i)=A(i,j)*x(j) -f A:ss",
        "C(i,k)=A(i,j)*B(j,k) -f A:ds",
        "C(i,j)=A(i,j)*B(i,k)*D(j,k) -f A:ds -f C:ds",
        "A(i,r)=B(i,j,k)*C(j,r)*D(k,r) -f B:sss",
        "A(i,j)=B(i,j,k)*c(k) -f B:sss",
        "A(i,j,r)=B(i,j,k)*C(k,r) -f B:sss",
        "C(i,k)=A(i,j)*B(j,k) -f A:ds -f C:ds",
        "C(i,j)=A(i,k)*B(k,j)",
        "C(i,j)=A(i,j)+B(i,j)",
        "C(i,j)=A(i,j)+B(i,j) -f A:ds -f B:ds -f C:ds",
        "C(i,j)=A(i,j)+B(i,j) -f A:ss -f B:ss -f C:ss",
        "y(i)=a(i)*b(i)",
        "s=a(i)",
        "s=a(i)*b(i)",
        "s=A(i,j)",
        "s=A(i,j)*A(i,j) -f A:ds",
        "s=A(i,j) -f A:ss",
        "y(j)=A(i,j)",
        "y(j)=A(i,j) -f A:ds",
    ];
    for kernel in kernels {
        let mut args = vec!["-e".to_string()];
        args.extend(words(kernel));
        args.extend(["--target", "cuda"].map(String::from));
        let compiled = compile(&parse(&args)).unwrap();
        let remarks: Vec<String> = compiled.remarks.iter().map(|r| r.message.clone()).collect();
        assert!(
            !remarks.iter().any(|r| r.contains("one thread")),
            "{kernel}: {remarks:?}"
        );
    }
}

/// A race that the emulator finds is a check that fails, as one on CPUs is: nothing is missing here.
#[test]
fn races_on_the_emulator_are_findings() {
    let output = Command::new(env!("CARGO_BIN_EXE_sparsec"))
        .env("SPARSEC_EMULATOR", "1")
        .args(["run", "-e", "y(j)=A(i,j)*x(i)", "--target", "cuda"])
        .args(["-s", "reorder(i,j),parallelize(i,GPUBlock,IgnoreRaces)"])
        .args(["-d", "i:8", "-d", "j:6", "A=ones", "x=ones", "--verify"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("E0710"), "{said}");
}

/// `testdata/defaults` holds what sparsec schedules by itself, as it was looked at;
/// `scripts/golden` rewrites it.
#[test]
fn default_kernels_are_as_they_were() {
    for program in files("testdata/golden", "tc") {
        let output = Command::new(env!("CARGO_BIN_EXE_sparsec"))
            .args(["-W", "no-performance", "--target", "cuda", "--stdout"])
            .arg(&program)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let name = program.file_stem().unwrap().to_str().unwrap();
        let path = root().join(format!("testdata/defaults/{name}.cu"));
        let same = std::fs::read_to_string(&path).unwrap_or_default() == text;
        assert!(same, "{} differs:\n{text}", path.display());
    }
}

/// nvcc reads what a restricted pointer leads to before a barrier, as no other thread may write
/// it: a block waited for ever on an H100, its threads with different ends of one loop.
#[test]
fn what_a_kernel_writes_is_not_restricted() {
    let mut kernels = 0;
    for folder in [
        "testdata/defaults",
        "testdata/scheduled/golden",
        "testdata/emulator",
    ] {
        for file in files(folder, "cu") {
            let text = std::fs::read_to_string(&file).unwrap();
            for kernel in text.split("static __global__").skip(1) {
                let head = kernel.split(") {").next().unwrap();
                kernels += 1;
                for parameter in head.split(',').filter(|p| p.contains("SPARSEC_RESTRICT")) {
                    let constant = parameter.contains("const ");
                    assert!(constant, "{}: {parameter}", file.display());
                }
            }
        }
    }
    assert!(kernels > 50, "{kernels} kernels");
}

/// A thread's sums of a product are its own registers, for every type that takes tiles.
#[test]
fn sums_of_products_stay_in_registers() {
    for ty in ["float", "double", "complex64", "complex128", "int8"] {
        let text =
            format!("def f({ty}(M,K) A, {ty}(K,N) B) -> (C) {{ C(m,n) +=! A(m,k) * B(k,n) }}");
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("f.tc");
        std::fs::write(&program, text).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_sparsec"))
            .args(["-W", "no-performance", "--target", "cuda", "--stdout"])
            .arg(&program)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("f_kernel"), "{ty}: {text}");
        assert!(!text.contains("sums_all"), "{ty}: {text}");
    }
}

/// The emulator has no fault of ptxas: `scripts/verify-gpu` shows on a GPU that it needs this.
#[test]
fn negated_halfwords_are_kept_apart() {
    let output = Command::new(env!("CARGO_BIN_EXE_sparsec"))
        .args(["-W", "no-performance", "--target", "cuda", "--stdout"])
        .args(["--def", "negated_smallest"])
        .arg(root().join("testdata/corpus/found_gpu.tc"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let negated = text.matches("SPARSEC_APART(int16_t, -").count();
    assert_eq!(negated, 2, "{text}");
}
