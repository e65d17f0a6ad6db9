//! Every schedule of `schedules/` on the programs of `testdata/scheduled`: right with one,
//! two and seven threads, or on the emulator of GPUs, and the emitted text as it was looked at
//! (`testdata/scheduled/golden`, rewritten by `scripts/golden`). Each schedule runs on the first data of its program;
//! of the other data a run may take a share.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use support::corpus::is_in_share;
use support::scheduled::{Scheduled, all};
use support::{Case, compile, parse, root, run_with};

#[test]
fn every_schedule_has_a_program() {
    let used: Vec<String> = all().into_iter().map(|s| s.schedule).collect();
    for entry in std::fs::read_dir(root().join("schedules")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        assert!(used.contains(&name), "no program uses {name}");
    }
}

fn cases(gpu: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for scheduled in all().into_iter().filter(|s| s.gpu == gpu) {
        assert!(!scheduled.runs.is_empty(), "{:?}", scheduled.program);
        for (at, run) in scheduled.runs.iter().enumerate() {
            let mut args = scheduled.args();
            args.extend(run.iter().cloned());
            if at > 0 && !is_in_share(&args.join(" ")) {
                continue;
            }
            let parsed = parse(&args);
            let compiled = compile(&parsed).unwrap_or_else(|e| panic!("{}\n{e}", args.join(" ")));
            let bindings = parsed.operands.into_iter().filter(|o| o.contains('='));
            cases.push(Case {
                runs: vec![bindings.collect()],
                ..Case::new(args.join(" "), compiled)
            });
        }
    }
    cases
}

#[test]
fn schedules_are_right_with_any_number_of_threads() {
    let wrong = run_with(&cases(false), &[1, 2, 7]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn schedules_for_gpus_are_right_and_free_of_races() {
    // SAFETY: set before the emulator reads it; no other test of this file reads it.
    unsafe { std::env::set_var("EMU_SEED", "7") };
    let wrong = run_with(&cases(true), &[]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn sparsec(scheduled: &Scheduled, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sparsec"));
    command
        .args(["-W", "no-performance"])
        .args(scheduled.args())
        .args(more);
    command
}

fn golden(scheduled: &Scheduled) -> PathBuf {
    let ending = if scheduled.gpu { "cu" } else { "c" };
    root().join(format!(
        "testdata/scheduled/golden/{}.{ending}",
        scheduled.schedule
    ))
}

#[test]
fn emitted_text_is_as_it_was() {
    for scheduled in all() {
        let output = sparsec(&scheduled, &["--stdout"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let path = golden(&scheduled);
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        let same = before == text;
        assert!(
            same,
            "{} differs (scripts/golden rewrites it):\n{text}",
            path.display()
        );
    }
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

#[test]
fn emitted_text_is_clean_c() {
    let out = tempfile::tempdir().unwrap();
    for scheduled in all().into_iter().filter(|s| !s.gpu) {
        let folder = out.path().join(&scheduled.schedule);
        run(sparsec(&scheduled, &["-o"]).arg(&folder));
        let source =
            folder.join(Path::new(scheduled.program.file_name().unwrap()).with_extension("c"));
        for openmp in [true, false] {
            if !is_in_share(&scheduled.schedule) {
                continue;
            }
            let program = out.path().join("test");
            let mut cc = Command::new("cc");
            cc.args([
                "-std=c11",
                "-O1",
                "-Wall",
                "-Wextra",
                "-Wpedantic",
                "-Werror",
            ]);
            cc.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
            if openmp {
                cc.arg("-fopenmp");
            }
            cc.args(["-DSPARSEC_MAIN", "-o"]).arg(&program);
            run(cc.arg(&source).arg("-lm"));
            run(&mut Command::new(&program));
        }
        // For any processor: clang warns where vectors that it may not have are passed by value.
        if with_openmp("clang-19", out.path()) {
            let mut clang = Command::new("clang-19");
            clang.args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]);
            run(clang
                .args(["-fopenmp", "-c", "-o", "/dev/null"])
                .arg(&source));
        }
    }
}

/// Whether the compiler is there, and its OpenMP, which is a package of its own.
fn with_openmp(compiler: &str, folder: &Path) -> bool {
    let probe = folder.join("probe.c");
    std::fs::write(&probe, "#include <omp.h>\n").unwrap();
    let mut command = Command::new(compiler);
    command.args(["-fopenmp", "-fsyntax-only"]).arg(&probe);
    command.output().is_ok_and(|output| output.status.success())
}

/// With the host compiler as strict as for C; `scripts/nvcc` shows them to nvcc.
#[test]
fn emitted_cuda_runs_its_smoke_test_on_the_emulator() {
    let out = tempfile::tempdir().unwrap();
    // The emulator is the same for all: compiled by the first.
    let object = out.path().join("emulator.o");
    let own = |s: &Scheduled| s.gpu && is_in_share(&s.schedule);
    for scheduled in all().into_iter().filter(own) {
        let folder = out.path().join(&scheduled.schedule);
        run(sparsec(&scheduled, &["-o"]).arg(&folder));
        if object.exists() {
            std::fs::copy(&object, folder.join("emulator.o")).unwrap();
        }
        let flags = "CXXFLAGS=-O1 -Werror -Wpedantic -Wno-variadic-macros";
        run(Command::new("make")
            .current_dir(&folder)
            .args(["EMU=1", flags, "test"]));
        std::fs::copy(folder.join("emulator.o"), &object).unwrap();
    }
}
