//! Timed runs of the CUDA target: what the device does, by events.

mod support;

use sparsec::diagnostic::Sources;
use sparsec::driver::bind;
use sparsec::driver::build::{Backend, Library, Trust};
use sparsec::driver::run::{self, Clock, Outcome};
use std::process::Command;
use support::{compile, parse, root, words};

/// A run on the emulator, whose results are right.
fn run(program: &str, data: &str, trust: Trust, rounds: Option<u32>) -> Outcome {
    let mut args = vec!["-e".to_string()];
    args.extend(words(program));
    args.extend(["--target", "cuda"].map(String::from));
    let compiled = compile(&parse(&args)).unwrap();
    let (function, kernel) = (&compiled.program.functions[0], &compiled.kernels[0]);
    let mut sources = Sources::default();
    let bound = bind::bind(function, &words(data), &mut sources).unwrap();
    let backend = Backend::Emulator { checked: false };
    let kernels = std::slice::from_ref(kernel);
    let library = Library::build(kernels, backend, trust, &mut sources).unwrap();
    let outcome = run::run(&library, 0, kernel, function, &bound, rounds).unwrap();
    let differences = run::verify(function, &bound, &outcome).unwrap();
    assert!(differences.is_empty(), "{program}: {differences:?}");
    assert_eq!(library.device_time(), None, "the clock goes on: {program}");
    outcome
}

#[test]
fn timed_runs_are_timed_on_the_device() {
    let program = "y(i)=A(i,j)*x(j) -f A:ds -d i:60 -d j:50";
    let data = "A=random:1:0.1 x=random:2";
    let timed = run(program, data, Trust::Inputs, Some(3));
    assert_eq!(timed.clock, Clock::Events { intervals: 1 });
    assert_eq!(timed.seconds.len(), 3);
    assert!(timed.seconds.iter().all(|&s| s > 0.0), "{timed:?}");
    // Others have no clock.
    let plain = run(program, data, Trust::Promises, None);
    assert_eq!(plain.clock, Clock::Host);
}

/// A result that grows is counted, and made again where there was no room for it.
#[test]
fn all_intervals_of_a_call_count() {
    let program = |n: u32| {
        format!(
            "C(i,j)=A(i,k)*B(k,j) -f A:ds -f B:ds -f C:ds -s assemble(C,append) -d i:{n} -d j:{n} -d k:{n}"
        )
    };
    let data = "A=random:1:0.3 B=random:2:0.3";
    let small = run(&program(9), data, Trust::Inputs, Some(2));
    let large = run(&program(90), data, Trust::Inputs, Some(2));
    let count = |outcome: &Outcome| match outcome.clock {
        Clock::Events { intervals } => intervals,
        Clock::Host => 0,
    };
    assert!(count(&small) > 0, "{:?}", small.clock);
    assert!(count(&large) > count(&small), "{:?}", large.clock);
}

/// Where nothing is launched, the host's clock is all there is.
#[test]
fn calls_without_work_are_timed_on_the_host() {
    let idle = run("y(i)=x(i) -d i:0", "x=ones", Trust::Inputs, Some(2));
    assert_eq!(idle.clock, Clock::Host);
    assert_eq!(idle.seconds.len(), 2);
}

#[test]
fn the_command_line_says_which_clock() {
    let json = |target: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_sparsec"))
            .args(["run", "-e", "y(i)=x(i)", "-d", "i:100", "x=ones", "--json"])
            .args(["--time", "2", "--target", target])
            .env("SPARSEC_EMULATOR", "1")
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(
        json("cuda").contains("\"clock\":\"events\""),
        "{}",
        json("cuda")
    );
    assert!(json("c").contains("\"clock\":\"host\""), "{}", json("c"));
}

/// The clock alone, on a device whose time the test makes.
#[test]
fn the_clock_counts_work_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("clock");
    let compiled = Command::new("c++")
        .args([
            "-std=c++17",
            "-Wall",
            "-Wextra",
            "-Wconversion",
            "-Wshadow",
            "-Werror",
        ])
        .arg("-I")
        .arg(root().join("testdata/clock"))
        .arg("-I")
        .arg(root().join("src/emit/runtime"))
        .arg(root().join("testdata/clock/clock.cpp"))
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{said}");
    let output = Command::new(&program).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
}
