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
};
use sparsec::loops::ir::Kernel;
use sparsec::target::Target;
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
        Failure::Environment(d) => render::text(d, sources, false),
        Failure::Data(e) => e.to_string(),
    }
}

/// Codes and messages without their places: for failures that may point into the sources
/// of a compilation that is over.
pub fn brief(failure: &Failure) -> String {
    let line = |d: &Diagnostic| format!("[{}] {}", d.code.id, d.message);
    match failure {
        Failure::Program(list) => list.iter().map(line).collect::<Vec<_>>().join("\n"),
        Failure::Environment(d) => line(d),
        Failure::Data(e) => format!("[{}] {e}", e.code.id),
    }
}

/// A compiled program with the data it is to run on.
pub struct Case {
    pub text: String,
    pub compiled: Compiled,
    /// One list of bindings for each run.
    pub runs: Vec<Vec<String>>,
}

/// Compiles the program of a command line.
pub fn compile(args: &RunArgs) -> Result<Compiled, String> {
    let mut sources = Sources::default();
    let file = args
        .operands
        .iter()
        .find(|o| !o.contains('='))
        .map(PathBuf::from);
    sparsec::cli::request(file.as_ref(), &args.program, &mut sources)
        .and_then(|request| driver::compile(&request, &mut sources))
        .map_err(|failure| describe(&failure, &sources))
}

/// Builds all cases into one library, runs each on its data and compares it with the
/// judge. Returns what went wrong.
pub fn run_all(cases: &[Case]) -> Vec<String> {
    run_with(cases, &[])
}

/// As [`run_all`], with each of these numbers of OpenMP threads.
pub fn run_with(cases: &[Case], threads: &[u32]) -> Vec<String> {
    let mut wrong = Vec::new();
    for batch in cases.chunks(100) {
        let kernels = kernels(batch);
        let mut sources = Sources::default();
        let backend = match batch[0].compiled.target {
            Target::C => Backend::C,
            Target::Cuda => Backend::Emulator { checked: true },
        };
        let library = match Library::build(&kernels, backend, Trust::Nothing, &mut sources) {
            Ok(library) => library,
            Err(failure) => {
                wrong.push(describe(&failure, &sources));
                continue;
            }
        };
        for (at, case) in batch.iter().enumerate() {
            for data in &case.runs {
                let counts: Vec<Option<u32>> = if threads.is_empty() {
                    vec![None]
                } else {
                    threads.iter().copied().map(Some).collect()
                };
                for count in counts {
                    if let Some(count) = count {
                        library.set_threads(count);
                    }
                    if let Err(reason) = run_one(&library, at, &kernels[at], case, data) {
                        wrong.push(format!("{} {}: {reason}", case.text, data.join(" ")));
                    }
                }
            }
        }
    }
    wrong
}

/// The first kernel of each case, under a name of its own.
pub fn kernels(cases: &[Case]) -> Vec<Kernel> {
    let named = |(at, case): (usize, &Case)| Kernel {
        name: format!("case{at}"),
        ..case.compiled.kernels[0].clone()
    };
    cases.iter().enumerate().map(named).collect()
}

fn run_one(
    library: &Library,
    at: usize,
    kernel: &Kernel,
    case: &Case,
    data: &[String],
) -> Result<(), String> {
    let mut sources = Sources::default();
    let function = &case.compiled.program.functions[0];
    let outcome = bind::bind(function, data, &mut sources)
        .and_then(|bound| {
            let outcome = run::run(library, at, kernel, function, &bound, None)?;
            run::verify(function, &bound, &outcome.results)
        })
        .map_err(|failure| brief(&failure))?;
    match outcome.first() {
        None => Ok(()),
        Some(difference) => Err(format!("{} {}", difference.tensor, difference.reason)),
    }
}
