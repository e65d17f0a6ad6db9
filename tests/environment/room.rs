//! No room for what is written.

use crate::case::{Case, NOWHERE, RUN, RUN_CUDA, check};
use crate::place::{Place, words};
use std::process::Command;

/// Everything that prints says that it could not.
#[test]
#[cfg(target_os = "linux")]
fn a_full_standard_output_is_no_success() {
    let says = &["error[E0711]: cannot write standard output: No space left on device"];
    for args in [
        "k.tc --stdout",
        "k.tc --list-outputs",
        "k.tc --check",
        "show k.tc --stage loops",
        "run k.tc --size N=3 x=ones",
        "run k.tc --size N=3 x=ones --json",
        "fmt k.tc --check",
        "formats",
        "explain E0101",
        "completions bash",
        "--help",
        "--version",
    ] {
        check(&Case {
            args,
            says,
            code: 4,
            stdout: "/dev/full",
            ..Case::default()
        });
    }
}

/// Who cannot say what is wrong still exits with the right code.
#[test]
#[cfg(target_os = "linux")]
fn a_full_standard_error_changes_no_exit_code() {
    for (args, code) in [
        ("run k.tc", 2),
        ("run k.tc x=none.tns", 3),
        (RUN, 4),
        (RUN_CUDA, 4),
        ("--no-such-option", 2),
    ] {
        check(&Case {
            args,
            code,
            env: NOWHERE,
            stderr: "/dev/full",
            ..Case::default()
        });
    }
}

/// Where there is no room, or no folder, outputs are as they were: all of them.
#[test]
fn outputs_are_written_wholly_or_not_at_all() {
    let full = "File too large";
    let some = Some(16 << 10);
    let mib = Some(1 << 20);
    let large = "run -e 'y(i)=x(i)' -d i:200000 x=ones";
    let cases: &[(String, Option<u64>, [&'static str; 2])] = &[
        // The program's files: the first fit, a later one does not.
        ("k.tc -o new/k".into(), some, ["cannot write new/k: ", full]),
        ("k.tc -o old".into(), some, ["cannot write old: ", full]),
        (
            "k.tc -o file/k".into(),
            None,
            ["cannot write file/k: ", "Not a directory"],
        ),
        (
            "k.tc -o file".into(),
            None,
            ["cannot write file: ", "exists"],
        ),
        (
            "k.tc -o /proc/k".into(),
            None,
            ["cannot write /proc/k: ", "No such file"],
        ),
        (
            "k.tc --stdout --depfile none/k.d".into(),
            None,
            ["cannot write none/k.d: ", "No such file"],
        ),
        ("fmt long.tc".into(), some, ["cannot write long.tc: ", full]),
        // Results: the first is small, the second is not.
        (
            format!("{large} --out y=y.npy.gz --out y=old/y.npy"),
            mib,
            ["cannot write old/y.npy: ", full],
        ),
        (
            format!("{large} --out y=y.npy.gz --out y=none/y.npy"),
            None,
            ["cannot write none/y.npy: ", "No such file"],
        ),
        (
            format!("{RUN} --out y=file/y.tns"),
            None,
            ["cannot write file/y.tns: ", "Not a directory"],
        ),
        // Temporary files: the sources, and what the compiler writes.
        (RUN.into(), some, ["cannot write temporary files: ", full]),
    ];
    for (args, limit, [says, reason]) in cases {
        let args: &'static str = args.clone().leak();
        let says = &*vec!["error[E0711]: ", *says, *reason].leak();
        check(&Case {
            args,
            says,
            limit: *limit,
            code: 4,
            ..Case::default()
        });
    }
    check(&Case {
        args: RUN,
        env: &[("CC", "sh @/greedy")],
        limit: mib,
        says: &["error[E0704]: the C compiler was ended: signal: 25"],
        code: 4,
        ..Case::default()
    });
}

/// Places of results that cannot be written are found before the work, which needs a compiler.
#[test]
fn places_of_results_are_looked_at_first() {
    let missing = "error[E0703]: cannot run the C compiler";
    for (out, code, says) in [
        (
            "none/y.npy",
            4,
            "error[E0711]: cannot write none/y.npy: No such",
        ),
        ("folder.npy", 4, "cannot write folder.npy: Is a directory"),
        ("file/y.tns", 4, "cannot write file/y.tns: Not a directory"),
        ("/proc/y.tns", 4, "cannot write /proc/y.tns: No such"),
        (
            "y.txt",
            2,
            "error[E0702]: nothing says in which format it is written",
        ),
        // Nothing is made, opened or cut off where they can be.
        ("y.tns", 4, missing),
        ("old/y.npy", 4, missing),
        ("pipe.tns", 4, missing),
        ("full/y.tns", 4, missing),
    ] {
        check(&Case {
            args: format!("{RUN} --out y={out}").leak(),
            env: NOWHERE,
            code,
            says: vec![says].leak(),
            ..Case::default()
        });
    }
}

/// As above, of a device that takes nothing.
#[test]
#[cfg(target_os = "linux")]
fn outputs_on_a_full_device() {
    let full = "No space left on device";
    for (args, says) in [
        ("k.tc -o full", "error[E0711]: cannot write full: "),
        (
            "k.tc --stdout --depfile /dev/full",
            "error[E0711]: cannot write /dev/full: ",
        ),
        (
            "run k.tc --size N=3 x=ones --out y=y.tns --out y=full/y.tns",
            "error[E0711]: cannot write full/y.tns: ",
        ),
    ] {
        let says = &*vec![says, full].leak();
        check(&Case {
            args,
            says,
            code: 4,
            ..Case::default()
        });
    }
}

/// A disk of 16 KiB, where this system lets us make one.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk() {
    let mount = "mount -t tmpfs -o size=16k none tmp || exit 99; \
        \"$@\"; code=$?; find tmp -mindepth 1; exit $code";
    let full = "No space left on device";
    for (args, env, says) in [
        (
            RUN,
            &[][..],
            ["error[E0711]: cannot write temporary files: ", full],
        ),
        (
            "k.tc -o tmp/k",
            &[],
            ["error[E0711]: cannot write tmp/k: ", full],
        ),
        (
            "run -e 'y(i)=x(i)' -d i:200000 x=ones --out y=tmp/y.npy",
            &[("TMPDIR", "/tmp")],
            ["error[E0711]: cannot write tmp/y.npy: ", full],
        ),
    ] {
        let place = Place::new();
        let before = place.contents();
        let mut shell = words("-rm sh -c");
        shell.extend([mount, "sh", env!("CARGO_BIN_EXE_sparsec")].map(String::from));
        shell.extend(words(args));
        let mut command: Command = place.command("unshare", &shell);
        command.envs(env.iter().copied());
        let status = command.status();
        if !status
            .as_ref()
            .is_ok_and(|status| ![Some(1), Some(99)].contains(&status.code()))
        {
            println!(
                "skipped: no disk can be mounted here: {status:?} {}",
                place.stderr()
            );
            return;
        }
        let said = place.stderr();
        assert_eq!(status.unwrap().code(), Some(4), "{args}: {said}");
        for piece in says {
            assert!(said.contains(piece), "{args}: {said}");
        }
        assert_eq!(place.stdout(), "", "{args}: left on the disk");
        assert_eq!(place.differs(&before), [""; 0], "{args}");
    }
}

/// What cannot even start says so in the format that is asked for.
#[test]
#[cfg(target_os = "linux")]
fn no_memory_for_a_thread() {
    let place = Place::new();
    let limited = "ulimit -v 100000; exec \"$@\"";
    let mut shell = words("-c");
    shell.extend([limited, "sh", env!("CARGO_BIN_EXE_sparsec")].map(String::from));
    shell.extend(words("check k.tc --message-format json"));
    let status = place.command("sh", &shell).status().unwrap();
    let said = place.stderr();
    assert_eq!(status.code(), Some(4), "{said}");
    assert!(said.starts_with("{\"code\":\"E0714\""), "{said}");
    assert!(said.contains("cannot start: "), "{said}");
}
