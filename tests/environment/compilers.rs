//! No compiler, one that fails, no folder to build in.

use crate::case::{Case, Env, NOWHERE, RUN, RUN_CUDA, Words, check};

const NO_CC: Words = &[
    "error[E0703]: cannot run the C compiler: No such file",
    "cc\n",
    "help: set CC to a C compiler, or install one",
];

/// What needs no compiler works without one.
#[test]
fn without_any_program_all_but_runs_works() {
    for (args, makes) in [
        ("k.tc", &["k.out"][..]),
        ("k.tc --target cuda -o new/k", &["new"]),
        ("k.tc --stdout", &[]),
        ("k.tc --list-outputs", &[]),
        ("k.tc --depfile k.d --stdout", &["k.d"]),
        ("k.tc --depfile /dev/stdout --stdout", &[]),
        ("check k.tc", &[]),
        ("show k.tc --stage kernel", &[]),
        ("fmt k.tc", &["k.tc"]),
        ("formats", &[]),
        ("schedules spmv_cpu", &[]),
        ("explain E0703", &[]),
        ("completions bash", &[]),
    ] {
        check(&Case {
            args,
            makes,
            env: NOWHERE,
            ..Case::default()
        });
    }
}

#[test]
fn without_a_compiler_runs_say_what_is_missing() {
    let json = &["{\"code\":\"E0703\"", "set CC to a C compiler"];
    for (args, says) in [
        (RUN, NO_CC),
        ("run k.tc --size N=3 x=ones --verify --out y=y.tns", NO_CC),
        ("run k.tc --size N=3 x=ones --time 2 --json", NO_CC),
        ("bench k.tc --size N=3 x=ones --json", NO_CC),
        ("run k.tc --size N=3 x=ones --message-format json", json),
        (
            RUN_CUDA,
            &[
                "error[E0703]: cannot run the C++ compiler: No such file",
                "set CXX to",
            ],
        ),
    ] {
        check(&Case {
            args,
            says,
            env: NOWHERE,
            code: 4,
            ..Case::default()
        });
    }
    check(&Case {
        args: "tune k.tc --size N=3 x=ones",
        says: &["error[E0703]: cannot run the C compiler: No such file"],
        env: NOWHERE,
        code: 4,
        ..Case::default()
    });
}

#[test]
fn compilers_that_fail_are_quoted() {
    let cases: &[(&str, Env, Words)] = &[
        (
            RUN,
            &[("CC", "no-such-compiler -O1")],
            &[
                "error[E0703]: cannot run the C compiler",
                "no-such-compiler -O1",
            ],
        ),
        (
            RUN,
            &[("CC", "'cc")],
            &["error[E0703]: CC is no command: a quote is left open"],
        ),
        (
            RUN,
            &[("CC", "cc --no-such-flag")],
            &["error[E0704]: the C compiler failed:", "no-such-flag"],
        ),
        (
            RUN,
            &[("CC", "sh @/wordy")],
            &["error[E0704]: the C compiler failed:", "no licence", "sh /"],
        ),
        (
            RUN,
            &[("CC", "sh @/silent")],
            &["error[E0704]: the C compiler failed without a word: exit status: 1"],
        ),
        (
            RUN,
            &[("CC", "sh @/killed")],
            &["error[E0704]: the C compiler was ended: signal: 9"],
        ),
        (
            RUN,
            &[("CC", "true")],
            &["error[E0704]: cannot load the compiled kernel", "(see CC)"],
        ),
        (
            // Functions have other names in C++.
            RUN,
            &[("CC", "g++")],
            &[
                "error[E0704]: cannot load the compiled kernel: kernels.so",
                "(see CC)",
            ],
        ),
        (
            RUN_CUDA,
            &[("CXX", "sh @/wordy")],
            &["error[E0704]: the C++ compiler failed:", "no licence"],
        ),
        (
            RUN_CUDA,
            &[("CXX", "true"), ("CC", "none")],
            &["error[E0703]: cannot run the C compiler"],
        ),
    ];
    for &(args, env, says) in cases {
        check(&Case {
            args,
            env,
            says,
            code: 4,
            ..Case::default()
        });
    }
}

/// `TMPDIR` is needed by runs alone, and is what they name.
#[test]
fn a_bad_temporary_folder_is_named() {
    let says = &[
        "error[E0711]: cannot write temporary files",
        "help: set TMPDIR to",
    ];
    for env in [
        &[("TMPDIR", "/nowhere/at/all")][..],
        &[("TMPDIR", "file")],
        &[("TMPDIR", "/dev/null/tmp")],
        &[("TMPDIR", "/proc")],
    ] {
        for args in [RUN, RUN_CUDA] {
            // (No GPU is needed to fail.)
            check(&Case {
                args,
                env,
                says,
                code: 4,
                hides: &["compiler"],
                ..Case::default()
            });
        }
        check(&Case {
            args: "k.tc --check -o k",
            env,
            code: 1,
            ..Case::default()
        });
    }
}

/// However a run ends, its temporary files are gone.
#[test]
fn runs_leave_nothing_behind() {
    let cases: &[(&str, i32, Words)] = &[
        ("run k.tc --size N=3 x=ones --verify", 0, &[]),
        (
            "run k.tc --size N=3 x=ones --target cuda",
            0,
            &["note[E0713]: SPARSEC_EMULATOR is set: running on the emulator"],
        ),
        (
            "run k.tc --size N=3 x=ones --target cuda --message-format json",
            0,
            &["{\"code\":\"E0713\"", "\"severity\":\"note\""],
        ),
        (
            "run k.tc x=none.tns",
            3,
            &["error[E0601]: none.tns: No such file"],
        ),
        (
            "run k.tc x=none.tns --target cuda",
            3,
            &["error[E0601]: none.tns: No such file"],
        ),
        (
            "run k.tc --size N=3 x=ones --out y=y.txt",
            2,
            &["error[E0702]: nothing says in which format it is written"],
        ),
    ];
    for &(args, code, says) in cases {
        check(&Case {
            args,
            code,
            says,
            ..Case::default()
        });
    }
}
