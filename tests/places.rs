//! What commands write takes the place of nothing that they read, and of nothing that others need.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

const SPMV: &str = "def spmv(double(M,N) A, double(N) x) -> (y, s) {
  y(i) = A(i,j) * x(j)
  s +=! x(j)
}
";

fn sparsec(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sparsec"));
    command.args(line.split(' ')).current_dir(folder);
    command.output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with these files; names in folders, too.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// All files of a folder.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(content(&path));
        } else {
            all.insert(path.display().to_string(), std::fs::read(&path).unwrap());
        }
    }
    all
}

/// The command line is refused, and everything is as it was.
fn is_refused(files: &[(&str, &str)], line: &str, said: &str) {
    let folder = folder(files);
    let before = content(folder.path());
    let done = sparsec(folder.path(), line);
    let text = stderr(&done);
    assert_eq!(done.status.code(), Some(2), "{line}: {text}");
    assert!(
        text.contains("error[E0702]") && text.contains(said) && text.contains("help: "),
        "{line}: {text}"
    );
    assert!(content(folder.path()) == before, "{line}");
}

const READ: &str = "would take the place of a file that is read";
const TWICE: &str = "would take the place of a file that is written, too";

#[test]
fn compiling_keeps_what_it_reads() {
    let formats = "format spmv { A: csr }\n";
    let commands = "split(i, i0, i1, 8)\n";
    for (files, line) in [
        ([("p.h", SPMV), ("f", formats)], "p.h -o ."),
        ([("p.c", SPMV), ("f", formats)], "./p.c -o ../DIR"),
        ([("Makefile", SPMV), ("f", formats)], "./Makefile -o ."),
        (
            [("k.tc", SPMV), ("g/k.h", formats)],
            "k.tc --formats g/k.h -o g",
        ),
        (
            [("k.tc", SPMV), ("g/k.c", commands)],
            "g/../k.tc --schedule ./g/k.c -o g",
        ),
        ([("k.tc", SPMV), ("f", formats)], "k.tc --depfile k.tc"),
        (
            [("k.tc", SPMV), ("f", formats)],
            "k.tc --stdout --formats f --depfile ./f",
        ),
    ] {
        let own = folder(&files);
        let line = line.replace("DIR", own.path().file_name().unwrap().to_str().unwrap());
        let before = content(own.path());
        let done = sparsec(own.path(), &line);
        let text = stderr(&done);
        assert_eq!(done.status.code(), Some(2), "{line}: {text}");
        assert!(
            text.contains("E0702") && text.contains(READ),
            "{line}: {text}"
        );
        assert!(content(own.path()) == before, "{line}");
    }
    is_refused(&[("k.tc", SPMV)], "k.tc -o new --depfile new/./k.c", TWICE);
}

/// Where nothing is written, nothing is lost.
#[test]
fn comparing_may_name_what_is_read() {
    let folder = folder(&[("p.h", SPMV)]);
    let done = sparsec(folder.path(), "p.h -o . --check");
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let done = sparsec(folder.path(), "p.h -o . --stdout");
    assert_eq!(done.status.code(), Some(0), "{done:?}");
}

const MATRIX: &str = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.5\n2 1 2.5\n";

#[test]
fn tuning_keeps_what_it_reads() {
    let files = [("v.tc", SPMV), ("A.mtx", MATRIX)];
    let line = |more: &str| format!("tune v.tc A=A.mtx x=ones --trials 1 --budget 1s {more}");
    for more in ["-o v.tc", "-o ./A.mtx", "--log A.mtx"] {
        is_refused(&files, &line(more), READ);
    }
    is_refused(&files, &line("-o y.sched --log ./y.sched"), TWICE);
}

#[test]
fn pictures_take_no_place_of_what_is_compared() {
    let files = [("v.tc", SPMV), ("old", "{}")];
    let done = folder(&files);
    let line = "bench v.tc A=random:1 x=ones --size M=4 --size N=4 --rounds 1 --json";
    let report = sparsec(done.path(), line);
    assert_eq!(report.status.code(), Some(0), "{}", stderr(&report));
    let report = String::from_utf8(report.stdout).unwrap();
    let files = [("v.tc", SPMV), ("old", report.as_str())];
    is_refused(&files, &format!("{line} --compare old --plot old"), READ);
}

#[test]
fn each_result_has_a_file_of_its_own() {
    let files = [("k.tc", SPMV), ("A.mtx", MATRIX)];
    for second in ["same.npy", "./same.npy"] {
        let line = format!("run k.tc A=A.mtx x=ones --out s=same.npy --out y={second}");
        is_refused(&files, &line, TWICE);
    }
    // Updated in place: what was read is meant.
    let program = "def f(double(M,N) A) -> (A) { A(i,j) *= 2 }\nformat f { A: csr }\n";
    let folder = folder(&[("f.tc", program), ("A.mtx", MATRIX)]);
    let done = sparsec(folder.path(), "run f.tc A=A.mtx --out A=A.mtx");
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
}

/// The rule for make is one of the files: all are written, or none.
#[test]
fn a_rule_that_cannot_be_written_leaves_nothing() {
    let folder = folder(&[("k.tc", SPMV)]);
    let before = content(folder.path());
    for line in [
        "k.tc --depfile none/k.d",
        "k.tc --stdout --depfile none/k.d",
    ] {
        let done = sparsec(folder.path(), line);
        assert_eq!(done.status.code(), Some(4), "{line}: {done:?}");
        assert!(stderr(&done).contains("cannot write none/k.d"), "{done:?}");
        assert!(done.stdout.is_empty(), "{line}");
        assert!(content(folder.path()) == before, "{line}");
        assert!(!folder.path().join("k.out").exists(), "{line}");
    }
}

/// What is printed is the kernel's text: the others are not written.
#[test]
fn the_rule_of_a_printed_kernel_has_one_target() {
    let folder = folder(&[("k.tc", SPMV)]);
    let done = sparsec(folder.path(), "k.tc --stdout -o gen --depfile k.d");
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let rule = std::fs::read_to_string(folder.path().join("k.d")).unwrap();
    assert_eq!(rule, "gen/k.c: k.tc\nk.tc:\n");
}

#[test]
fn programs_of_another_target_are_not_taken_from_in_silence() {
    let folder = folder(&[("one.tc", SPMV), ("two.tc", SPMV)]);
    let said = |line: &str| {
        let done = sparsec(folder.path(), line);
        assert_eq!(done.status.code(), Some(0), "{line}: {done:?}");
        stderr(&done)
    };
    let quiet = "-W no-performance -o out";
    assert_eq!(said(&format!("one.tc {quiet}")), "");
    assert_eq!(said(&format!("two.tc {quiet}")), "");
    let text = said(&format!("two.tc {quiet} --target cuda"));
    assert!(
        text.contains("warning[E0728]: one.c in out is not for cuda") && text.contains("help: "),
        "{text}"
    );
    // It is as it is now.
    assert_eq!(said(&format!("two.tc {quiet} --target cuda")), "");
    let text = said(&format!("one.tc {quiet}"));
    assert!(text.contains("two.cu in out is not for c,"), "{text}");
    // The same program for another target replaces its own files alone.
    assert_eq!(said("one.tc -W no-performance -o alone"), "");
    assert_eq!(said("one.tc -W no-performance -o alone --target cuda"), "");
}
