//! Random programs x formats x schedules x data, compared with the reference evaluator.
//!
//! Most are sums of products and the like on data that fit. One file in twenty is given in TACO
//! notation (`taco.rs`), one program in eight has a theme of its own: casts that change
//! the number, minima and maxima of several types, functions (`conversions.rs`); others are
//! rarer kinds by themselves (`maker.rs`). A run ends with how often it drew each.
//!
//! `SPARSEC_CASES` says how many (1,000 by default), of which a run that takes longer than
//! `SPARSEC_SECONDS` leaves the last ones out, `SPARSEC_SEED` repeats a run,
//! `SPARSEC_WRITE=folder` writes the cases and runs none,
//! `SPARSEC_FROM=n` draws the first n cases without running them,
//! `SPARSEC_CFLAGS` fixes the C compiler's flags, which otherwise change from batch to
//! batch. A failure is shrunk and written to `target/generator/`, ready for
//! `testdata/corpus`.

mod arguments;
mod conversions;
mod datafile;
mod drawn_files;
mod emitted;
mod expressions;
mod files;
mod late;
mod maker;
mod names;
mod numpy;
mod operands;
mod operators;
mod program;
mod scheduler;
mod shrink;
mod spelling;
mod sums;
#[path = "../support/mod.rs"]
mod support;
mod taco;

use maker::Maker;
use program::File;
use scheduler::Rates;
use std::collections::BTreeMap;
use std::hash::{Hash as _, Hasher as _};
use std::path::Path;
use std::process::Command;
use support::{Case, compile, parse, root, run_all};

/// Kernels in one C file.
const BATCH: usize = 100;

/// Functions in one file at most.
const MOST_FUNCTIONS: usize = 3;

/// Flags of the batches, in turn. Overflow of signed integers is the C compiler's affair.
/// Where the compiler can, variables begin as anything but zero in the first two.
const FLAGS: [&str; 3] = [
    "-O1 -fwrapv -DSPARSEC_DEBUG -fsanitize=undefined -fno-sanitize=signed-integer-overflow \
     -fno-sanitize-recover=all",
    "-O0 -fwrapv",
    "-O2 -fwrapv",
];

fn flags(at: usize) -> String {
    let more = if at < 2 { support::poison() } else { "" };
    format!("{} {more}", FLAGS[at])
}

enum Outcome {
    /// One case for each function.
    Ready(Vec<Case>),
    /// The code of the refusal.
    Refused(String),
    /// The compiler panicked, or data are not read as they were written.
    Broken(String),
}

fn prepare(file: &File, path: &Path, prefix: &str) -> Outcome {
    std::fs::write(path, file.text()).unwrap();
    if let Err(reason) = file.write_data(prefix) {
        return Outcome::Broken(reason);
    }
    let run = parse(&file.args(&path.display().to_string()));
    let compiled = std::panic::catch_unwind(|| compile(&run));
    let Ok(compiled) = compiled else {
        return Outcome::Broken("the compiler panics".to_string());
    };
    match compiled {
        Ok(compiled) => {
            if file.taco.is_some()
                && let Err(reason) = file.compare_with(&compiled.program.functions[0], prefix)
            {
                return Outcome::Broken(reason);
            }
            let cases = 0..file.functions.len();
            Outcome::Ready(
                cases
                    .map(|at| Case {
                        function: at,
                        own_name: file.functions[at].name != "f",
                        runs: vec![file.bindings(at, prefix)],
                        ..Case::new(file.text(), compiled.clone())
                    })
                    .collect(),
            )
        }
        Err(reason) => {
            let code = reason
                .split_once('[')
                .and_then(|(_, rest)| rest.split_once(']'))
                .map_or("?", |(code, _)| code);
            // Programs mean the same; what a command needs may be missing: sizes that the text
            // makes one or constant have several names. And sizes that the text leaves apart
            // are one: of `t(j) = x(i + j)` for one i, that of t is x's.
            let by_size = code == "E0232" || reason.contains("is ambiguous");
            let by_schedule = code.starts_with("E04") || code.starts_with("E05");
            if file.taco.is_some() && !by_schedule && !by_size && file.is_sound() {
                return Outcome::Broken(format!("in TACO notation {reason}"));
            }
            Outcome::Refused(code.to_string())
        }
    }
}

/// Why a program that compiles does not agree with the judge. Data that a program
/// refuses at run time, such as a size too small for its subscripts, or that do not fit
/// its parameters any more (while shrinking), is no failure.
fn real_failure(reason: &str) -> bool {
    !["[E0604]", "[E0606]", "[E0702]", "[E0706]", "[E0707]"]
        .iter()
        .any(|code| reason.contains(code))
}

/// Compiles a file and runs its functions, in processes of their own, which may crash.
fn fails(file: &File, path: &Path) -> Option<String> {
    let prefix = path.with_extension("data").display().to_string();
    match prepare(file, path, &prefix) {
        Outcome::Ready(_) => {}
        Outcome::Refused(_) => return None,
        Outcome::Broken(reason) => return Some(reason),
    }
    let sparsec = || Command::new(env!("CARGO_BIN_EXE_sparsec"));
    for at in 0..file.functions.len() {
        let output = sparsec()
            .arg("run")
            .args(file.run_args(at, &path.display().to_string(), &prefix))
            .arg("--verify")
            .env("SPARSEC_CFLAGS", flags(0))
            .env("MALLOC_PERTURB_", "165")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        match output.status.code() {
            Some(0) => {}
            Some(_) if !real_failure(&text) => {}
            Some(_) => return Some(text),
            None => return Some(format!("the kernel crashes: {}", output.status)),
        }
    }
    emitted::compile(file, path).err()
}

/// Shrinks a failure, writes it down and stops the test. `batch` says what went wrong where
/// alone it does not.
fn report(seed: u64, drawn: &File, folder: &Path, batch: &str) -> ! {
    let kept = root().join("target/generator");
    std::fs::create_dir_all(&kept).unwrap();
    let file = kept.join(format!("failure{seed}.tc"));
    let shrunk = shrink::shrink(drawn, |f| fails(f, &folder.join("shrink.tc")));
    let (small, reason) =
        shrunk.unwrap_or_else(|| (drawn.clone(), format!("only in its batch: {batch}")));
    let prefix = format!("target/generator/failure{seed}_");
    let text = small.corpus_file(&prefix);
    let _ = small.write_data(&root().join(&prefix).display().to_string());
    std::fs::write(&file, &text).unwrap();
    panic!(
        "seed {seed}: {reason}\n\n{text}\nwritten to {}; drawn as\n{}",
        file.display(),
        drawn.corpus_file("drawn")
    );
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The folder for files, set in the process that runs the kernels: if one crashes, the
/// test lives on and says which.
const INNER: &str = "SPARSEC_GENERATOR_INNER";

#[test]
fn random_programs_agree_with_the_judge() {
    run_apart("random_programs_agree_with_the_judge", 1000, false);
}

/// Only draws schedules: counts those that `schedule` takes and lowering refuses, and writes a
/// small one of each class to `target/generator/late_c` and `late_cuda`.
#[test]
#[ignore = "draws 20,000 schedules"]
fn schedules_that_lowering_refuses() {
    let seed = number("SPARSEC_SEED").unwrap_or(USUAL_SEED);
    let cases = [("SPARSEC_CASES", 20_000), ("SPARSEC_GPU_CASES", 10_000)];
    for (cuda, (variable, usual)) in [false, true].into_iter().zip(cases) {
        let mut maker = Maker::new(seed, cuda);
        let mut rates = Rates::default();
        // Which ones were taken: a change of `schedule` alone must not change it.
        let mut taken = std::hash::DefaultHasher::new();
        for _ in 0..number(variable).unwrap_or(usual) {
            let file = draw(&mut maker, &mut rates);
            file.text().hash(&mut taken);
        }
        let (tried, accepted) = rates.total();
        println!(
            "{accepted} of {tried} commands taken ({:x})",
            taken.finish()
        );
        println!("{}", rates.text());
        println!("{}", rates.late.text());
        let name = if cuda { "late_cuda" } else { "late_c" };
        rates
            .late
            .write(&root().join("target/generator").join(name));
    }
}

/// As many as `SPARSEC_GPU_CASES` says.
#[test]
fn random_programs_agree_on_the_emulator() {
    run_apart("random_programs_agree_on_the_emulator", 500, true);
}

/// What fails here fails everywhere: `scripts/fuzz` draws fresh seeds.
const USUAL_SEED: u64 = 20_261_121;

/// Runs the test in a process of its own.
fn run_apart(test: &str, usual: u64, cuda: bool) {
    let variable = if cuda {
        "SPARSEC_GPU_CASES"
    } else {
        "SPARSEC_CASES"
    };
    let cases = number(variable).unwrap_or(usual);
    let seed = number("SPARSEC_SEED").unwrap_or(USUAL_SEED);
    if let Some(folder) = std::env::var_os("SPARSEC_WRITE") {
        let target = if cuda { "cuda" } else { "c" };
        return write_cases(seed, cases, cuda, &Path::new(&folder).join(target));
    }
    if let Some(folder) = std::env::var_os(INNER) {
        return run_cases(seed, cases, cuda, Path::new(&folder));
    }
    // Two runs at a time do not disturb each other.
    let folder = tempfile::tempdir().unwrap();
    println!("seed {seed}, {cases} cases (repeat with SPARSEC_SEED={seed} {variable}={cases})");
    let status = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(INNER, folder.path())
        .env("SPARSEC_SEED", seed.to_string())
        .env(variable, cases.to_string())
        // Memory that nobody has written is not zero.
        .env("MALLOC_PERTURB_", "165")
        // The order of the emulator's threads and blocks.
        .env("EMU_SEED", seed.to_string())
        // Waiting threads leave a busy machine alone.
        .env("OMP_WAIT_POLICY", "passive")
        .status()
        .unwrap();
    // A failed assertion of the test itself has been reported.
    if !status.success() && status.code() != Some(101) {
        println!("{status}");
        find_crash(seed, cuda, folder.path());
    }
    assert!(status.success(), "see above");
}

/// Draws the programs of the batch that crashed again and runs them one by one.
fn find_crash(seed: u64, cuda: bool, folder: &Path) {
    let batch = std::fs::read_to_string(folder.join("batch")).unwrap_or_default();
    let start: u64 = batch.trim().parse().unwrap_or(0);
    let mut maker = Maker::new(seed, cuda);
    let mut rates = Rates::default();
    for n in 0..start + 4 * BATCH as u64 {
        let file = draw(&mut maker, &mut rates);
        if n >= start && fails(&file, &folder.join("case.tc")).is_some() {
            report(seed, &file, folder, "the kernel crashes");
        }
    }
    panic!("seed {seed}: the batch that begins at case {start} crashes, its programs alone do not");
}

fn draw(maker: &mut Maker, rates: &mut Rates) -> File {
    let mut file = maker.file();
    for at in 0..file.functions.len() {
        file.functions[at].schedule = maker.schedule(&file, at, rates);
        file.functions[at].automatic = file.cuda || maker.chance(50);
    }
    file
}

/// `SPARSEC_WRITE=folder` writes the cases, as files of the corpus, and runs none; beside each
/// one with the last command that was refused.
fn write_cases(seed: u64, cases: u64, cuda: bool, folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let mut maker = Maker::new(seed, cuda);
    let mut rates = Rates::default();
    for n in 0..cases {
        let mut file = draw(&mut maker, &mut rates);
        let write = |name: String, file: &File| {
            let prefix = format!("{}_", folder.join(&name).with_extension("").display());
            let written = file.write_data(&prefix);
            assert_eq!(written, Ok(()), "{name}");
            std::fs::write(folder.join(name), file.corpus_file(&prefix)).unwrap();
        };
        write(format!("case{n:05}.tc"), &file);
        if let Some((at, schedule)) = maker.refused.take() {
            file.functions[at].schedule = schedule;
            write(format!("refused{n:05}.tc"), &file);
        }
    }
}

fn run_cases(seed: u64, cases: u64, cuda: bool, folder: &Path) {
    let fixed_flags = std::env::var_os("SPARSEC_CFLAGS").is_some();
    let from = number("SPARSEC_FROM").unwrap_or(0);
    let mut maker = Maker::new(seed, cuda);
    let mut rates = Rates::default();
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    let data = folder.join("data");
    let (mut ran, mut several, mut bad_data, mut done) = (0, 0, 0, 0);
    let cycle = [0, 1, 2].map(flags);
    let begun = std::time::Instant::now();
    let is_late =
        || number("SPARSEC_SECONDS").is_some_and(|most| begun.elapsed().as_secs() >= most);
    for flags in cycle.iter().cycle() {
        if done == cases || (done > 0 && is_late()) {
            break;
        }
        if !fixed_flags {
            // SAFETY: no other thread of this test reads the environment now.
            unsafe { std::env::set_var("SPARSEC_CFLAGS", flags) };
        }
        let mut files = Vec::new();
        let mut batch = Vec::new();
        std::fs::write(folder.join("batch"), done.to_string()).unwrap();
        // Files of the last batch go.
        let _ = std::fs::remove_dir_all(&data);
        std::fs::create_dir_all(&data).unwrap();
        while batch.len() + MOST_FUNCTIONS <= BATCH && done < cases {
            done += 1;
            let file = draw(&mut maker, &mut rates);
            let prefix = format!("{}/{done}_", data.display());
            match prepare(&file, &folder.join("case.tc"), &prefix) {
                Outcome::Ready(cases) => {
                    if done % 3 == 0
                        && file.is_awkward()
                        && let Err(reason) = emitted::compile(&file, &folder.join("case.tc"))
                    {
                        report(seed, &file, folder, &reason);
                    }
                    several += usize::from(cases.len() > 1);
                    batch.extend(cases);
                    files.push(file);
                }
                Outcome::Broken(reason) => report(seed, &file, folder, &reason),
                Outcome::Refused(code) => *refused.entry(code).or_default() += 1,
            }
        }
        ran += batch.len();
        if done <= from {
            continue;
        }
        let (wrong, refused_data): (Vec<_>, Vec<_>) =
            run_all(&batch).into_iter().partition(|r| real_failure(r));
        bad_data += refused_data.len();
        if wrong.is_empty() {
            continue;
        }
        let culprit = files
            .iter()
            .find(|f| wrong.iter().any(|w| w.starts_with(&f.text())));
        match culprit {
            Some(file) => report(seed, file, folder, &wrong.join("\n")),
            // It does not even compile: which one does not?
            None => {
                let path = folder.join("case.tc");
                let alone = files.iter().find(|f| fails(f, &path).is_some());
                if let Some(file) = alone {
                    report(seed, file, folder, &wrong.join("\n"));
                }
                panic!("seed {seed}: a batch fails: {}", wrong.join("\n"));
            }
        }
    }
    let good = ran - bad_data;
    println!(
        "{done} files of {cases}: {good} functions ran and agree, {several} files hold several; {bad_data} refused their data; refused: {refused:?}"
    );
    let (tried, taken) = rates.total();
    println!("{taken} of {tried} commands taken: {}", rates.text());
    println!("{}", rates.late.text());
    println!("of the rarer kinds: {:?}", maker.drawn);
    println!("functions: {:?}", maker.calls);
    assert!(
        good * 2 > usize::try_from(done).unwrap(),
        "most programs are refused"
    );
}
