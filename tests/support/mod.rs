//! Shared by the tests that compile and run many programs; not every test uses all of it.

#![allow(dead_code)]

pub mod corpus;
pub mod scheduled;

use clap::Parser;
use sparsec::cli::args::{Cli, Command, RunArgs};
use sparsec::diagnostic::{Diagnostic, Sources, render};
use sparsec::driver::build::Backend;
use sparsec::driver::{
    self, Compiled, Failure, bind,
    build::{Library, Trust},
    run,
    watch::{Checker, Findings, Race, Watched},
};
use sparsec::emit::clashes;
use sparsec::emit::watch::Watching;
use sparsec::loops::ir::Kernel;
use sparsec::program::ir::Function;
use sparsec::target::Target;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folder with real data: `SPARSEC_DATA`, or `shared/data` beside a parent.
pub fn data_folder() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("SPARSEC_DATA") {
        return Some(PathBuf::from(folder));
    }
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|parent| parent.join("shared/data"))
        .find(|folder| folder.is_dir())
}

/// Words of a line as a shell would split them; quotes are single.
pub fn words(line: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    let mut any = false;
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                any = true;
            }
            c if c.is_whitespace() && !quoted => {
                if any {
                    out.push(std::mem::take(&mut word));
                }
                any = false;
            }
            c => {
                word.push(c);
                any = true;
            }
        }
    }
    if any {
        out.push(word);
    }
    out
}

/// The C compiler's flag that makes variables begin as anything but zero, if it has one: what
/// is read before it is written shows.
pub fn poison() -> &'static str {
    const FLAG: &str = "-ftrivial-auto-var-init=pattern";
    static FOUND: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let found = FOUND.get_or_init(|| {
        std::process::Command::new(compiler)
            .args([FLAG, "-fsyntax-only", "-x", "c", "/dev/null"])
            .output()
            .is_ok_and(|output| output.status.success())
    });
    if *found { FLAG } else { "" }
}

/// The arguments of `sparsec run`.
pub fn parse(args: &[String]) -> RunArgs {
    let all = ["sparsec".to_string(), "run".to_string()]
        .into_iter()
        .chain(args.iter().cloned());
    match Cli::try_parse_from(all) {
        Ok(Cli {
            command: Some(Command::Run(args)),
            ..
        }) => args,
        other => panic!("not a run: {args:?}: {other:?}"),
    }
}

/// Diagnostics as text.
pub fn describe(failure: &Failure, sources: &Sources) -> String {
    match failure {
        Failure::Program(list) => list
            .iter()
            .map(|d| render::text(d, sources, false))
            .collect::<Vec<_>>()
            .join("\n"),
        Failure::Environment(d) | Failure::Check(d) => render::text(d, sources, false),
        Failure::Data(e) => e.to_string(),
    }
}

/// Codes and messages without their places: for failures that may point into the sources
/// of a compilation that is over.
pub fn brief(failure: &Failure) -> String {
    let line = |d: &Diagnostic| format!("[{}] {}", d.code.id, d.message);
    match failure {
        Failure::Program(list) => list.iter().map(line).collect::<Vec<_>>().join("\n"),
        Failure::Environment(d) | Failure::Check(d) => line(d),
        Failure::Data(e) => format!("[{}] {e}", e.code.id),
    }
}

/// A function of a compiled program with the data it is to run on.
pub struct Case {
    pub text: String,
    pub compiled: Compiled,
    /// Which function: where there are several, each has a case, one after another.
    pub function: usize,
    /// A function by itself keeps its name if no other one of the batch needs it.
    pub own_name: bool,
    /// One list of bindings for each run.
    pub runs: Vec<Vec<String>>,
}

impl Case {
    /// The first function, on no data.
    pub fn new(text: String, compiled: Compiled) -> Self {
        Case {
            text,
            compiled,
            function: 0,
            own_name: false,
            runs: Vec::new(),
        }
    }

    fn checked(&self) -> &Function {
        &self.compiled.program.functions[self.function]
    }
}

/// Compiles the program of a command line.
pub fn compile(args: &RunArgs) -> Result<Compiled, String> {
    let mut sources = Sources::default();
    let files: Vec<PathBuf> = args
        .operands
        .iter()
        .filter(|o| !o.contains('='))
        .map(PathBuf::from)
        .collect();
    sparsec::cli::request(&files, &args.program, &mut sources)
        .and_then(|request| driver::compile(&request, &mut sources))
        .map_err(|failure| describe(&failure, &sources))
}

/// Builds all cases into one library, runs each on its data and compares it with the
/// judge; those that share loops out on CPUs also under the race checker. Returns what went
/// wrong.
pub fn run_all(cases: &[Case]) -> Vec<String> {
    run_with(cases, &[])
}

/// Flags of watched kernels: compiled in no time, as they run for no time.
pub const WATCHED_FLAGS: &str = "-O0 -fwrapv";

/// As [`run_all`], with each of these numbers of OpenMP threads.
pub fn run_with(cases: &[Case], threads: &[u32]) -> Vec<String> {
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let size = cases.len().div_ceil(workers).clamp(1, 100);
    let batches: Vec<&[Case]> = cases.chunks(size).collect();
    let together = batches.chunks(workers);
    let wrong = together.flat_map(|batches| run_batches(batches, threads));
    wrong.collect()
}

/// The kernels of each batch are compiled at the same time; what was compiled runs in turn.
fn run_batches(batches: &[&[Case]], threads: &[u32]) -> Vec<String> {
    let batches: Vec<_> = batches
        .iter()
        .map(|batch| (*batch, kernels(batch)))
        .collect();
    let built: Vec<_> = std::thread::scope(|scope| {
        let started: Vec<_> = batches
            .iter()
            .map(|(batch, kernels)| {
                let target = batch[0].compiled.target;
                scope.spawn(move || built(target, kernels))
            })
            .collect();
        started
            .into_iter()
            .map(|build| build.join().unwrap())
            .collect()
    });
    let outcomes = batches
        .iter()
        .zip(built)
        .flat_map(|((batch, kernels), built)| match built {
            Ok((library, checker)) => {
                run_batch(batch, kernels, (&library, checker.as_ref()), threads)
            }
            Err(reason) => vec![reason],
        });
    outcomes.collect()
}

/// The library of these kernels, and what watches those that share loops.
fn built(target: Target, kernels: &[Kernel]) -> Result<(Library, Option<Checker>), String> {
    let mut sources = Sources::default();
    let backend = match target {
        Target::C => Backend::C,
        Target::Cuda => Backend::Emulator { checked: true },
    };
    let library = Library::build(kernels, backend, Trust::Nothing, &mut sources)
        .map_err(|failure| describe(&failure, &sources))?;
    let checker = match backend {
        Backend::C => Watched::of(kernels, Watching::All)
            .map(|watched| watched.compiled(WATCHED_FLAGS, &mut sources))
            .transpose(),
        Backend::Emulator { .. } | Backend::Gpu | Backend::Model(_) => Ok(None),
    };
    let checker = checker.map_err(|failure| describe(&failure, &sources))?;
    Ok((library, checker))
}

fn run_batch(
    batch: &[Case],
    kernels: &[Kernel],
    (library, checker): (&Library, Option<&Checker>),
    threads: &[u32],
) -> Vec<String> {
    let mut wrong = Vec::new();
    for (at, case) in batch.iter().enumerate() {
        for data in &case.runs {
            if let Some(checker) = checker {
                // Where the check fails the run below fails as well, and says so.
                if let Ok(findings) = check(checker, at, &kernels[at], case, data) {
                    let found = races(&findings);
                    wrong.extend(
                        found.map(|race| format!("{} {}: {race}", case.text, data.join(" "))),
                    );
                }
            }
            let counts: Vec<Option<u32>> = if threads.is_empty() {
                vec![None]
            } else {
                threads.iter().copied().map(Some).collect()
            };
            for count in counts {
                if let Some(count) = count {
                    library.set_threads(count);
                }
                if let Err(reason) = run_one(library, at, &kernels[at], case, data) {
                    wrong.push(format!("{} {}: {reason}", case.text, data.join(" ")));
                }
            }
        }
    }
    wrong
}

/// The kernel of each case, under a name of its own; those of one program keep their names
/// behind one of the program, so that they clash as they would by themselves.
pub fn kernels(cases: &[Case]) -> Vec<Kernel> {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut named = |(at, case): (usize, &Case)| {
        let kernel = case.compiled.kernels[case.function].clone();
        let alone = case.compiled.kernels.len() == 1;
        if case.own_name
            && alone
            && clashes::given(&kernel, case.compiled.target)
                .iter()
                .all(|n| !taken.contains(n))
        {
            taken.extend(clashes::given(&kernel, case.compiled.target));
            return kernel;
        }
        let name = if alone {
            format!("case{at}")
        } else {
            // Of a program whose first functions stand in another batch the number is a large one.
            format!("case{}_{}", at.wrapping_sub(case.function), kernel.name)
        };
        kernel.called(&name)
    };
    cases.iter().enumerate().map(&mut named).collect()
}

/// What the race checker finds on this data, watching all elements.
pub fn check(
    checker: &Checker,
    at: usize,
    kernel: &Kernel,
    case: &Case,
    data: &[String],
) -> Result<Findings, String> {
    check_with(checker, at, kernel, case, data, i64::MAX)
}

/// As [`check`], watching some elements alone after so many accesses.
pub fn check_with(
    checker: &Checker,
    at: usize,
    kernel: &Kernel,
    case: &Case,
    data: &[String],
    limit: i64,
) -> Result<Findings, String> {
    let function = case.checked();
    let mut sources = Sources::default();
    bind::bind(function, data, &mut sources)
        .and_then(|bound| checker.check(at, kernel, function, &bound, limit))
        .map(Option::unwrap_or_default)
        .map_err(|failure| brief(&failure))
}

/// The races that no schedule answers for, as text.
pub fn races(findings: &Findings) -> impl Iterator<Item = String> {
    let text = |race: &Race| {
        let [one, other] = &race.statements;
        format!(
            "iterations of {} race for {}, {} times: {} {}; {} {}",
            race.shared,
            race.element,
            race.count,
            one.how,
            one.statement,
            other.how,
            other.statement
        )
    };
    let found = findings.races.iter().filter(|race| !race.ignored);
    found.map(text).collect::<Vec<_>>().into_iter()
}

fn run_one(
    library: &Library,
    at: usize,
    kernel: &Kernel,
    case: &Case,
    data: &[String],
) -> Result<(), String> {
    let mut sources = Sources::default();
    let function = case.checked();
    let outcome = bind::bind(function, data, &mut sources)
        .and_then(|bound| {
            let outcome = run::run(library, at, kernel, function, &bound, None)?;
            run::verify(function, &bound, &outcome)
        })
        .map_err(|failure| brief(&failure))?;
    match outcome.first() {
        None => Ok(()),
        Some(difference) => Err(format!("{} {}", difference.tensor, difference.reason)),
    }
}
