//! What is written, and how; `environment.rs` has what is said where it cannot be.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn sparsec(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sparsec"));
    command.args(args).current_dir(folder);
    command
}

fn output(folder: &Path, args: &[&str]) -> Output {
    sparsec(folder, args).output().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Who closes a pipe has read enough.
#[test]
#[cfg(unix)]
fn a_closed_pipe_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = sparsec(folder.path(), &["formats"]);
    let status = command.stdout(Stdio::from(writer)).status().unwrap();
    assert_eq!(status.code(), Some(0));
}

/// The rule for make stands beside the files, in a folder that they made.
#[test]
fn the_depfile_may_stand_in_the_new_folder() {
    let folder = tempfile::tempdir().unwrap();
    let program = "def f(double(N) x) -> (y) { y(i) = x(i) }\n";
    std::fs::write(folder.path().join("k.tc"), program).unwrap();
    let done = output(
        folder.path(),
        &["k.tc", "-o", "gen", "--depfile", "gen/k.d"],
    );
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let rule = std::fs::read_to_string(folder.path().join("gen/k.d")).unwrap();
    assert!(rule.starts_with("gen/k.c gen/k.h"), "{rule}");
    assert!(rule.contains("k.tc:\n"), "{rule}");
}

/// Some editors begin a file with a byte-order mark; make takes a colon in a name for the end of targets.
#[test]
fn marks_and_colons_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let program = "\u{feff}def f(double(N) x) -> (y) { y(i) = x(i) }\n";
    std::fs::write(folder.path().join("a:b.tc"), program).unwrap();
    let done = output(
        folder.path(),
        &["./a:b.tc", "-o", "gen", "--depfile", "rules.d"],
    );
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let rules = "all: gen/a\\:b.c\ngen/a\\:b.c gen/a\\:b.h:\n\ttrue\ninclude rules.d\n";
    std::fs::write(folder.path().join("Makefile"), rules).unwrap();
    let mut make = Command::new("make");
    let made = make.current_dir(folder.path()).output().unwrap();
    assert!(made.status.success(), "{made:?}");
}

/// A kernel says that data lie outside; what and where, the judge says.
#[test]
fn a_wrong_subscript_has_a_name() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("at.tns"), "1 0\n2 1\n3 9\n").unwrap();
    let program = "def f(double(N) x, int(M) at) -> (y) { y(i) = x(at(i)) }\n";
    std::fs::write(folder.path().join("f.tc"), program).unwrap();
    let sizes = ["--size", "N=5", "--size", "M=3"];
    let run = ["run", "f.tc", "x=random:1", "at=at.tns"];
    let done = output(folder.path(), &[&run[..], &sizes].concat());
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(
        said.contains("subscript 9 of `x` is outside 0..5"),
        "{said}"
    );
}

/// Results replace files as a whole, keep their mode and their links, and leave nothing beside.
#[test]
#[cfg(unix)]
fn results_are_moved_into_place() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("old.tns"), "what was there").unwrap();
    let own = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(path("old.tns"), own).unwrap();
    symlink("old.tns", path("link.tns")).unwrap();
    let run = ["run", "-e", "y(i)=2*x(i)", "-d", "i:3", "x=ones"];
    let outs = ["--out", "y=link.tns", "--out", "y=new.tns.gz"];
    let done = output(folder.path(), &[&run[..], &outs].concat());
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert_eq!(names(folder.path()), ["link.tns", "new.tns.gz", "old.tns"]);
    assert!(std::fs::read_link(path("link.tns")).is_ok());
    let text = std::fs::read_to_string(path("old.tns")).unwrap();
    assert!(text.starts_with("1 2."), "{text}");
    let mode = |name: &str| std::fs::metadata(path(name)).unwrap().permissions().mode();
    assert_eq!(mode("old.tns") & 0o777, 0o640);
    std::fs::write(path("plain"), "").unwrap();
    assert_eq!(mode("new.tns.gz"), mode("plain"));
}

fn run_with(variable: &str, value: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut command = sparsec(
        folder.path(),
        &["run", "-e", "y(i)=2*x(i)", "-d", "i:3", "x=ones"],
    );
    command.env(variable, value).output().unwrap()
}

/// `CC` is a command as make's shell reads it.
#[test]
#[cfg(unix)]
fn the_compiler_may_have_arguments_and_a_wrapper() {
    for cc in ["cc -O1", "env cc", "  cc\t-O1 ", "'cc' \"-DA=1 2\""] {
        let done = run_with("CC", cc);
        assert_eq!(done.status.code(), Some(0), "{cc}: {done:?}");
    }
}

/// Standard input has no ending that tells programs and schedules apart.
#[test]
fn fmt_reads_programs_and_schedules_from_standard_input() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let fmt = |text: &str, args: &[&str]| {
        let mut command = sparsec(folder.path(), &[&["fmt", "-"], args].concat());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        let done = child.wait_with_output().unwrap();
        (done.status.code(), String::from_utf8(done.stdout).unwrap())
    };
    let schedule = "# tiles\n\nsplit( i,i0, i1,4 )\n";
    let wanted = "# tiles\n\nsplit(i,i0, i1,4)\n";
    assert_eq!(fmt(schedule, &[]), (Some(0), wanted.to_string()));
    assert_eq!(fmt(wanted, &["--check"]), (Some(0), String::new()));
    let (code, diff) = fmt(schedule, &["--check"]);
    assert_eq!(code, Some(1));
    assert!(
        diff.contains("-split( i,i0, i1,4 )") && diff.contains("--- <stdin>"),
        "{diff}"
    );
    let program = "def f(double x) -> (y) {\n  y = x\n}\n";
    assert_eq!(fmt(program, &[]), (Some(0), program.to_string()));
    let odd = folder.path().join("odd");
    std::fs::write(&odd, b"\xff").unwrap();
    let mut command = sparsec(folder.path(), &["fmt", "-"]);
    let odd = std::fs::File::open(odd).unwrap();
    let done = command.stdin(odd).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot read <stdin>"), "{said}");
}

/// A run on the emulator says so where machines read it.
#[test]
fn reports_name_what_ran() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["run", "-e", "y(i)=2*x(i)", "-d", "i:3", "x=ones", "--json"];
    for (target, device) in [("c", "cpu"), ("cuda", "emulator")] {
        let mut command = sparsec(folder.path(), &[&args[..], &["--target", target]].concat());
        let done = command.env("SPARSEC_EMULATOR", "1").output().unwrap();
        let report = String::from_utf8_lossy(&done.stdout);
        assert!(
            report.contains(&format!("\"device\":\"{device}\"")),
            "{done:?}"
        );
    }
}

/// What was written is read back as it was, whatever the element type.
#[test]
fn results_are_read_back_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let large = "x=18446744073709551615";
    for ending in ["tns", "mtx", "npy", "tns.gz"] {
        let first = format!("y=a.{ending}");
        let write = [
            "run",
            "-e",
            "y(i)=x*z(i)",
            "-t",
            "x:uint64",
            "-t",
            "y:uint64",
        ];
        let write = [
            &write[..],
            &[
                "-t", "z:uint64", "-d", "i:2", large, "z=ones", "--out", &first,
            ],
        ];
        let done = output(folder.path(), &write.concat());
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        let read = ["run", "-e", "y(i)=z(i)", "-t", "y:uint64", "-t", "z:uint64"];
        let from = format!("z=a.{ending}");
        let done = output(
            folder.path(),
            &[&read[..], &[&from, "--out", "y=b.tns"]].concat(),
        );
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        let text = std::fs::read_to_string(folder.path().join("b.tns")).unwrap();
        assert_eq!(
            text, "1 18446744073709551615\n2 18446744073709551615\n",
            "{ending}"
        );
    }
}

/// A result without elements is read back, too.
#[test]
fn a_result_without_elements_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let formats = ["-f", "A:ds", "-f", "C:ds", "-d", "i:3", "-d", "j:4"];
    let write = [
        "run",
        "-e",
        "C(i,j)=2*A(i,j)",
        "A=zeros",
        "--out",
        "C=empty.tns",
    ];
    let done = output(folder.path(), &[&write[..], &formats].concat());
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let path = folder.path().join("empty.tns");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "");
    let read = ["run", "-e", "C(i,j)=2*A(i,j)", "A=empty.tns", "--verify"];
    let done = output(folder.path(), &[&read[..], &formats].concat());
    assert_eq!(done.status.code(), Some(0), "{done:?}");
}

/// Bytes that are no text are refused as any other word is.
#[test]
#[cfg(unix)]
fn arguments_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt;
    let odd = |bytes| std::ffi::OsStr::from_bytes(bytes);
    let commands: [&[&std::ffi::OsStr]; 4] = [
        &[odd(b"run"), odd(b"spmv.tc"), odd(b"A=b\xffd.mtx")],
        &[odd(b"-e"), odd(b"y(i)=\xff")],
        &[odd(b"explain"), odd(b"\xff")],
        &[
            odd(b"bench"),
            odd(b"--threads"),
            odd(b"5000"),
            odd(b"b\xffd.tc"),
        ],
    ];
    for args in commands {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sparsec"));
        let done = command.args(args).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains("error[E0702]"), "{args:?}: {said}");
    }
}

/// Where the path is right, it is not the path that is to be looked at.
#[test]
fn programs_are_text() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.tc"), b"# \xfc\n").unwrap();
    let done = output(folder.path(), &["k.tc"]);
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(
        said.contains("convert it to UTF-8") && !said.contains("path"),
        "{said}"
    );
}

/// Only a file that is not there is one that would be written.
#[test]
fn what_cannot_be_compared_is_no_difference() {
    let folder = tempfile::tempdir().unwrap();
    let program = "def f(double(N) x) -> (y) { y(i) = x(i) }\n";
    std::fs::write(folder.path().join("k.tc"), program).unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    std::fs::create_dir_all(folder.path().join("out/k.h")).unwrap();
    std::fs::copy(folder.path().join("k.tc"), folder.path().join("out/k.c")).unwrap();
    for (out, code, says) in [
        ("file", 4, "E0711"),
        ("out", 4, "E0711"),
        ("none", 1, "/dev/null"),
    ] {
        let done = output(folder.path(), &["k.tc", "-o", out, "--check"]);
        assert_eq!(done.status.code(), Some(code), "{done:?}");
        let said = [done.stdout, done.stderr].concat();
        assert!(String::from_utf8_lossy(&said).contains(says), "{out}");
    }
}

/// No program overwrites what stands beside it, nor takes make's own file for its own.
#[test]
#[cfg(unix)]
fn awkward_names_of_programs() {
    let folder = tempfile::tempdir().unwrap();
    let program = "def f(double(N) x) -> (y) { y(i) = x(i) }\n";
    for name in ["sparsec.tc", "Sparsec.tc"] {
        std::fs::write(folder.path().join(name), program).unwrap();
        let done = output(folder.path(), &[name]);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains("is the runtime's header"), "{said}");
        let done = output(folder.path(), &[name, "--stdout"]);
        assert_eq!(done.status.code(), Some(0), "{done:?}");
    }
    assert_eq!(names(folder.path()), ["Sparsec.tc", "sparsec.tc"]);
    // Tools would take it for an option.
    std::fs::write(folder.path().join("-x.tc"), program).unwrap();
    let done = output(folder.path(), &["./-x.tc", "-o", "dash"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let files = names(&folder.path().join("dash"));
    assert_eq!(files, ["Makefile", "_x.c", "_x.h", "sparsec.h"]);
    std::fs::write(folder.path().join("emulator.tc"), program).unwrap();
    let done = output(
        folder.path(),
        &["emulator.tc", "--target", "cuda", "-o", "out"],
    );
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("the emulator's object file"), "{said}");
    for stem in ["Makefile", "all", "test", "clean", "emulator"] {
        let file = format!("{stem}.tc");
        std::fs::write(folder.path().join(&file), program).unwrap();
        let done = output(folder.path(), &[&file, "-o", stem]);
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        let mut make = Command::new("make");
        make.args(["-s", "CFLAGS=-O0 -Werror", "all", "test"]);
        let done = make.current_dir(folder.path().join(stem)).output().unwrap();
        assert!(done.status.success(), "{stem}: {done:?}");
        assert!(
            folder
                .path()
                .join(stem)
                .join(format!("lib{stem}.a"))
                .exists()
        );
    }
}

/// What compilers warn of beyond `-Wall -Wextra`, and a header between others.
#[test]
#[cfg(unix)]
fn awkward_programs_compile_without_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let program = "op keep(x, y) = x
op under(x, y) = x < y || x < 0 ? x : y
op both(x, y) = (x && y) || (x && y) identity 1 annihilator 0 commutes
def kept(uint64(N) a, bool(N) b) -> (y, z, all) {
  y(i) = under(a(i), keep(a(i), 3))
  z(i) = keep(1, a(i))
  all both=! b(i)
}
def bags(uint8(B,L) I, uint32(B) J, uint64(B) K, double(N) x, double(256) t, double(N,B) A) -> (y, z, u, v) {
  y(b) +=! x(I(b,l))
  z(b) = x(J(b)) + x(K(b))
  u(b) = t(I(b,l)) where l in 0:1
  v(b) +=! A(r, b) where r in I(b, 0):J(b)
}
def signs(uint8(N) a) -> (y) { y(i) = a(i) < 0 || 0 > a(i) ? 1 : a(i) >= 0 && 0 <= a(i) ? 2 : 3 }
def largest(bool(N) a, bool(N) b, bool(N) c) -> (y, z) {
  y(i) = max(a(i) && b(i), c(i))
  z max=! max(max(a(i), b(i) && c(i)), !a(i) && min(a(i) || b(i), c(i)))
}
";
    let scalars = "def scalars(double a, int I) -> (y) { y = a * float(I) }\n";
    for (name, text) in [("odd.tc", program), ("scalars.tc", scalars)] {
        std::fs::write(folder.path().join(name), text).unwrap();
        let done = output(folder.path(), &[name, "-o", "."]);
        assert_eq!(done.status.code(), Some(0), "{done:?}");
    }
    let caller = "#include BEFORE\n#include \"odd.h\"\n#include AFTER\n\
        double _Complex unit(void);\ndouble _Complex unit(void) { return I; }\n";
    std::fs::write(folder.path().join("caller.c"), caller).unwrap();
    let flags = "-std=c11 -Wall -Wextra -pedantic -Wtype-limits -Wshadow -Werror -c -o /dev/null";
    for compiler in ["cc", "clang"] {
        let known = Command::new(compiler).arg("--version").output();
        if !known.is_ok_and(|output| output.status.success()) {
            continue;
        }
        let compile = |args: &[&str]| {
            let mut command = Command::new(compiler);
            command
                .current_dir(folder.path())
                .args(flags.split(' '))
                .args(args);
            let done = command.output().unwrap();
            assert!(
                done.status.success(),
                "{}",
                String::from_utf8_lossy(&done.stderr)
            );
        };
        compile(&["odd.c"]);
        compile(&["-DSPARSEC_MAIN", "odd.c"]);
        compile(&["-DSPARSEC_MAIN", "scalars.c"]);
        compile(&["-DBEFORE=<complex.h>", "-DAFTER=<math.h>", "caller.c"]);
        compile(&["-DBEFORE=<math.h>", "-DAFTER=<complex.h>", "caller.c"]);
    }
}

/// Results of TACO notation are double, or what `-t` says; comparisons are numbers of the type
/// that they meet.
#[test]
fn types_of_taco_s_results() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.tns"), "1 1.5\n2 3\n3 0.5\n").unwrap();
    for (expr, types, wanted, ty) in [
        ("y(i)=gt(A(j),1)", &[][..], "2.0000000000000000e0", "<f8"),
        ("y(i)=gt(A(j),1)/2", &[], "1.0000000000000000e0", "<f8"),
        ("y(i)=2/4+0*A(i)", &[], "5.0000000000000000e-1", "<f8"),
        ("y(i)=2/4", &["-t", "y:int"], "0", "<i4"),
        (
            "y(i)=A(j)",
            &["-t", "y:float"],
            "5.0000000000000000e0",
            "<f4",
        ),
        ("y(i)=A(j)", &["-t", "y:int"], "5", "<i4"),
        (
            "y(i)=A(j)",
            &["-t", "A:float", "-t", "y:double"],
            "5.0000000000000000e0",
            "<f8",
        ),
        (
            "y(i)=A(j)",
            &["-t", "A:float"],
            "5.0000000000000000e0",
            "<f8",
        ),
        ("y(i)=not(lt(A(i),1))", &["-t", "y:bool"], "1", "|b1"),
    ] {
        let run = [
            "run", "-e", expr, "-d", "i:3", "--verify", "--out", "y=y.tns", "--out", "y=y.npy",
        ];
        let data: &[&str] = if expr.contains('A') {
            &["A=a.tns"]
        } else {
            &[]
        };
        let done = output(folder.path(), &[&run[..], types, data].concat());
        assert_eq!(done.status.code(), Some(0), "{expr}: {done:?}");
        let text = std::fs::read_to_string(folder.path().join("y.tns")).unwrap();
        let first = text.lines().next().unwrap();
        assert_eq!(first, format!("1 {wanted}"), "{expr} {types:?}");
        let array = std::fs::read(folder.path().join("y.npy")).unwrap();
        let header = String::from_utf8_lossy(&array[..64]);
        assert!(
            header.contains(&format!("'{ty}'")),
            "{expr} {types:?}: {header}"
        );
    }
}

/// The smoke test takes sizes that the checks of each function take, and that memory allows.
#[test]
fn smoke_tests_fit_what_they_run() {
    let folder = tempfile::tempdir().unwrap();
    let program = "def window(double(N) x) -> (y) { y(i) = x(i+30) where i in 0:100 }\n\
                   def product(double(I,J,K) A, double(K,L) B) -> (C) { C(i,j,l) +=! A(i,j,k) * B(k,l) }\n";
    std::fs::write(folder.path().join("sizes.tc"), program).unwrap();
    let mut sparsec = Command::new(env!("CARGO_BIN_EXE_sparsec"));
    let done = sparsec
        .args(["sizes.tc", "-o", "."])
        .current_dir(folder.path());
    assert!(done.output().unwrap().status.success());
    let text = std::fs::read_to_string(folder.path().join("sizes.c")).unwrap();
    assert!(text.contains("if (n < 130) n = 130;") && text.contains("if (n > 304) n = 304;"));
    let mut make = Command::new("make");
    make.args(["-s", "CFLAGS=-O0 -Werror", "test"]);
    let done = make.current_dir(folder.path()).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// Whole numbers are subscripts that are in bounds, in a debug build too, whose memory holds no number.
#[test]
fn smoke_tests_hold_in_debug_builds() {
    let folder = tempfile::tempdir().unwrap();
    let program = "def gather(int(N) p, double(M) x) -> (y) { y(i) = x(p(i)) }
def counted(int(M) len, double(N) x) -> (z) { z(k) +=! x(j) where k in 0:M, j in 0:len(k) }
def bits(bool(N) b, uint8(N) c) -> (d) { d(i) = b(i) ? c(i) : 0 }
";
    std::fs::write(folder.path().join("whole.tc"), program).unwrap();
    let done = output(folder.path(), &["whole.tc", "-o", "."]);
    assert!(done.status.success(), "{done:?}");
    let mut make = Command::new("make");
    let flags = "CFLAGS=-O0 -Werror -DSPARSEC_DEBUG -fsanitize=undefined -fno-sanitize-recover=all";
    make.args(["-s", flags, "test"]);
    let done = make.current_dir(folder.path()).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// A header says of each tensor what it is, what is updated in place, and which sizes are fixed.
#[test]
fn headers_describe_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let program = "def add(double(M,N) A, float(N) x, double s, double(M) y) -> (y, t) {
  y(i) += s * A(i,j) * x(j)
  t +=! x(j)
}
format add { A: csr }
";
    std::fs::write(folder.path().join("add.tc"), program).unwrap();
    for target in ["c", "cuda"] {
        let args = ["add.tc", "-o", target, "--target", target, "--size", "N=7"];
        let done = output(folder.path(), &args);
        assert!(done.status.success(), "{done:?}");
        let header = std::fs::read_to_string(folder.path().join(target).join("add.h")).unwrap();
        let said = "/* Tensors, by elements and dimensions:
 *   A: double(M, 7), int32_t coordinates
 *   x: float(7)
 *   y: double(M), in and out
 *   t: float, a scalar, out
 * Compiled for N = 7: tensors of other sizes are refused.
 */
/* Checked; updates y in place: a tensor with the content before the call, of the shape above. */
";
        assert!(header.contains(said), "{header}");
    }
}

/// One makefile makes all programs of a folder, and none that others put there.
#[test]
fn programs_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["first", "second.part"] {
        let program = "def NAME(double(N) x) -> (y) { y(i) = 2 * x(i) }\n";
        let program = program.replace("NAME", &name[..5]);
        std::fs::write(folder.path().join(format!("{name}.tc")), program).unwrap();
    }
    let out = folder.path().join("out");
    let write = |more: &[&str]| {
        for name in ["first.tc", "second.part.tc"] {
            let done = output(folder.path(), &[&["-o", "out", name], more].concat());
            assert!(done.status.success(), "{done:?}");
        }
    };
    write(&[]);
    for (name, text) in [
        ("other.c", "#error\n"),
        ("other.h", "\n"),
        ("lone.c", "#error\n"),
    ] {
        std::fs::write(out.join(name), text).unwrap();
    }
    let make = |args: &[&str]| {
        let mut make = Command::new("make");
        make.args(["-s", "CFLAGS=-O0 -Werror"]).args(args);
        let done = make.current_dir(&out).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    make(&[]);
    assert!(out.join("libfirst.so").exists() && out.join("libsecond.part.a").exists());
    let said = make(&["test"]);
    assert!(
        said.contains("first: ok") && said.contains("secon: ok"),
        "{said}"
    );
    let said = make(&["test", "NAMES=first"]);
    assert!(
        said.contains("first: ok") && !said.contains("secon"),
        "{said}"
    );
    write(&["--check"]);
    make(&["clean"]);
    let mut left = [
        "Makefile", "first.c", "first.h", "lone.c", "other.c", "other.h",
    ]
    .to_vec();
    left.extend(["second.part.c", "second.part.h", "sparsec.h"]);
    assert_eq!(names(&out), left);
}

/// A rule that make reads: names with `=` and `%` too, of which it takes `=` for an assignment and `%` for any text.
#[test]
fn rules_hold_whatever_files_are_called() {
    let folder = tempfile::tempdir().unwrap();
    let program = "def f(double(N) x) -> (y) { y(i) = x(i) }\n";
    std::fs::create_dir(folder.path().join("run=1")).unwrap();
    std::fs::write(folder.path().join("run=1/a%b.tc"), program).unwrap();
    let args = ["run=1/a%b.tc", "-o", "out=1", "--depfile", "rules.d"];
    let done = output(folder.path(), &args);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let rules = "is := =\nall: out$(is)1/a_b.c\nout$(is)1/a_b.c out$(is)1/a_b.h:\n\t@echo made; touch $@\ninclude rules.d\n";
    std::fs::write(folder.path().join("Makefile"), rules).unwrap();
    let make = || {
        let made = Command::new("make").current_dir(folder.path()).output();
        let made = made.unwrap();
        assert!(made.status.success(), "{made:?}");
        String::from_utf8(made.stdout).unwrap()
    };
    assert!(!make().contains("made"));
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(10);
    let source = folder.path().join("run=1/a%b.tc");
    let file = std::fs::File::options().write(true).open(&source).unwrap();
    file.set_modified(later).unwrap();
    assert!(make().contains("made"));
    // One that is gone breaks nothing.
    std::fs::remove_file(&source).unwrap();
    make();
}

#[test]
fn names_that_make_cannot_read_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let program = "def f(double(N) x) -> (y) { y(i) = x(i) }\n";
    for name in [
        "a;b.tc", "a\nb.tc", "a|b.tc", "a[1].tc", "f(x).tc", "a\\b.tc",
    ] {
        std::fs::write(folder.path().join(name), program).unwrap();
        let done = output(folder.path(), &[name, "-o", "gen", "--depfile", "rules.d"]);
        assert_eq!(done.status.code(), Some(2), "{done:?}");
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(
            said.contains("make has no way to write this name"),
            "{said}"
        );
        assert!(!folder.path().join("rules.d").exists());
        let done = output(folder.path(), &[name, "-o", "gen"]);
        assert_eq!(done.status.code(), Some(0), "{done:?}");
    }
}

/// A shell opens the file behind `/dev/stdout` at its end; opened again it would be written from its beginning.
#[test]
#[cfg(target_os = "linux")]
fn what_goes_to_standard_output_stands_behind_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let program = "def f(double(N) x) -> (y) { y(i) = x(i) }\n";
    std::fs::write(folder.path().join("k.tc"), program).unwrap();
    std::fs::write(folder.path().join("log"), "before\n").unwrap();
    let log = std::fs::File::options()
        .append(true)
        .open(folder.path().join("log"));
    let mut command = sparsec(
        folder.path(),
        &["k.tc", "-o", "gen", "--depfile", "/dev/stdout"],
    );
    assert!(command.stdout(log.unwrap()).status().unwrap().success());
    let text = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(text.starts_with("before\ngen/k.c gen/k.h"), "{text}");
}

#[test]
#[cfg(unix)]
fn a_link_to_nothing_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let program = "def f(double(N) x) -> (y) { y(i) = x(i) }\n";
    std::fs::write(folder.path().join("k.tc"), program).unwrap();
    std::os::unix::fs::symlink("rules.d", folder.path().join("link")).unwrap();
    let done = output(folder.path(), &["k.tc", "-o", "gen", "--depfile", "link"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert!(folder.path().join("link").is_symlink());
    assert!(folder.path().join("rules.d").is_file());
}

/// The makefile's smoke test looks for headers by name, and a shell leaves hidden ones out.
#[test]
fn hidden_programs_have_files_that_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    let program = "def f(double(N) x) -> (y) { y(i) = x(i) }\n";
    std::fs::write(folder.path().join(".tc"), program).unwrap();
    let done = output(folder.path(), &[".tc", "-o", "gen"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert!(names(&folder.path().join("gen")).contains(&"_tc.c".to_string()));
}

/// A pipe can be read once, and several stages ask for the program and its formats.
#[test]
#[cfg(unix)]
fn programs_and_formats_come_from_pipes() {
    let folder = tempfile::tempdir().unwrap();
    let program = "def f(double(M,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) }\n";
    let format = "format f { A: csr }\n";
    std::fs::write(folder.path().join("k.tc"), program).unwrap();
    let data = ["A=random:1:0.1", "x=ones", "--size", "M=9", "--size", "N=9"];
    let piped = |args: &[&str], text: &str| {
        let mut command = sparsec(folder.path(), &[args, &data].concat());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let done = piped(&["run", "/dev/stdin"], program);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let bench = [
        "bench",
        "k.tc",
        "--formats",
        "/dev/stdin",
        "--rounds",
        "1",
        "--csv",
    ];
    let done = piped(&bench, format);
    let text = String::from_utf8(done.stdout.clone()).unwrap();
    // Of 81 elements these are stored.
    let stored: Vec<&str> = text
        .lines()
        .skip(1)
        .filter_map(|row| row.split(',').nth(4))
        .collect();
    assert_eq!(stored, ["8", "8"], "{text}{done:?}");
    let done = piped(
        &["run", "k.tc", "--formats", "/dev/stdin"],
        "format f { A: csr ",
    );
    assert_eq!(done.status.code(), Some(2), "{done:?}");
    assert!(String::from_utf8(done.stderr).unwrap().contains("E0101"));
}

#[test]
fn a_file_of_formats_has_no_functions() {
    let folder = tempfile::tempdir().unwrap();
    let program = "def f(double(N) x) -> (y) { y(i) = x(i) }\n";
    std::fs::write(folder.path().join("k.tc"), program).unwrap();
    std::fs::write(
        folder.path().join("z.tc"),
        program.replace("def f", "def z"),
    )
    .unwrap();
    let done = output(folder.path(), &["k.tc", "--formats", "z.tc", "--stdout"]);
    assert_eq!(done.status.code(), Some(2), "{done:?}");
    assert!(
        String::from_utf8(done.stderr)
            .unwrap()
            .contains("`z` is a function")
    );
}

#[test]
fn a_schedule_of_another_function_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let program = "def f(double(N) x) -> (y) { y(i) = x(i) }\ndef g(double(N) x) -> (y) { y(i) = x(i) }\n\
        schedule f for c named fast { split(i, i0, i1, 4) }\n";
    std::fs::write(folder.path().join("k.tc"), program).unwrap();
    let done = output(
        folder.path(),
        &["k.tc", "--def", "g", "--schedule", "fast", "--stdout"],
    );
    assert_eq!(done.status.code(), Some(2), "{done:?}");
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(said.contains("compile that with `--def f`"), "{said}");
    for args in [
        ["k.tc", "--schedule", "fast", "--stdout"].as_slice(),
        &["k.tc", "--def", "f", "--schedule", "fast", "--stdout"],
    ] {
        assert_eq!(output(folder.path(), args).status.code(), Some(0));
    }
}
