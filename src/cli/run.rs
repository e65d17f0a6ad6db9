//! `sparsec run`.

mod report;

use super::args::{MessageFormat, RunArgs};
use super::places::{self, Place};
use super::progress::Progress;
use super::request::{only_function, operands, statistics, threads_for};
use super::{Reporter, request, tuned};
use crate::data;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::environment as codes;
use crate::driver::build::Backend;
use crate::driver::cache::{self, Cache};
use crate::driver::device;
use crate::driver::watch::{self, Findings, Watched};
use crate::driver::{
    self, Compiled, Failure, Request, ScheduleChoice, argument,
    bind::{self, Bound},
    build::{Library, Trust, flags},
    run::{self, Outcome},
};
use crate::emit::watch::Watching;
use crate::files::{self, Staged};
use crate::loops::ir::Kernel;
use crate::program::ir::{Function, TensorId};
use crate::schedule::auto::Statistics;
use report::{Races, Report, ResultSummary, origin, text, times};
use std::path::PathBuf;

pub(super) fn run(args: &RunArgs) -> u8 {
    let mut reporter = Reporter::of(&args.program);
    match execute(args, &mut reporter) {
        Ok(code) => code,
        Err(failure) => reporter.fail(&failure),
    }
}

fn execute(args: &RunArgs, reporter: &mut Reporter) -> Result<u8, Failure> {
    let (programs, bindings) = operands(&args.operands, &mut reporter.sources)?;
    let request = request(&programs, &args.program, &mut reporter.sources)?;
    let has_blocks = request.target.properties().has_blocks;
    if let Some(threads) = args.threads {
        threads_for(request.target, &threads.to_string(), &mut reporter.sources)?;
    }
    let (request, known) = with_data(args, request, &bindings, reporter)?;
    let compiled = driver::compile(&request, &mut reporter.sources)?;
    if let Err(code) = reporter.remarks(&compiled.remarks) {
        return Ok(code);
    }
    let (function, kernel) = only_function(&compiled, &mut reporter.sources)?;
    let outputs = outputs(args, function, reporter)?;
    check_places(&outputs, &compiled, reporter)?;
    let progress = Progress::new(3 + 2 * u64::from(args.verify));
    progress.step("reading data");
    let bound = match known {
        Some(bound) => bound,
        None => bind::bind(function, &bindings, &mut reporter.sources)?,
    };
    progress.step("compiling the kernel");
    let backend = device::backend(compiled.target, args.time.is_none());
    if let Backend::Emulator { .. } = backend {
        let note = device::emulated(&mut reporter.sources);
        reporter.say(&note);
    }
    // Debuggers want what was compiled, where it was compiled.
    let kept = std::env::var_os("SPARSEC_KEEP").is_some();
    let cache = Cache::of_environment(&mut reporter.sources)?.filter(|_| !kept);
    let nothing = || Report {
        function: function.name.clone(),
        results: Vec::new(),
        verified: None,
        differences: Vec::new(),
        races: None,
        schedule: origin(&request.schedule, &compiled),
        device: backend.device(),
        seconds: None,
        threads: args.threads,
    };
    let build = |trust, reporter: &mut Reporter| {
        let is_json = args.program.message_format == MessageFormat::Json;
        library(kernel, (backend, trust), cache.as_ref(), is_json, reporter)
    };
    let trust = trust(args, backend);
    if args.verify && trust == Trust::Inputs && kernel.promises() {
        // Timed runs check nothing: once without the clock.
        let library = build(Trust::Nothing, reporter)?;
        if let Err(failure) = run::run(&library, 0, kernel, function, &bound, None) {
            return broken(failure, args, nothing(), reporter);
        }
    }
    let library = build(trust, reporter)?;
    if let Some(threads) = args.threads {
        library.set_threads(threads);
    }
    progress.step("packing and running");
    let outcome = match run::run(&library, 0, kernel, function, &bound, args.time) {
        Ok(outcome) => outcome,
        Err(failure) => return broken(failure, args, nothing(), reporter),
    };
    let results = written(function, &outcome, &outputs, reporter)?;
    let differences = if args.verify {
        progress.step("verifying");
        run::verify(function, &bound, &outcome)?
    } else {
        Vec::new()
    };
    let mut races = None;
    if args.verify && !has_blocks {
        progress.step("checking for races");
        races = raced(kernel, function, &bound, cache.as_ref(), reporter)?;
    }
    drop(progress);
    if let (Some(findings), Some(graph)) = (&races, compiled.graphs.first()) {
        for diagnostic in findings.diagnostics(function, graph) {
            reporter.say(&diagnostic);
        }
    }
    let good = differences.is_empty() && !races.as_ref().is_some_and(Findings::fails);
    let report = Report {
        results,
        verified: args.verify.then_some(good),
        differences: differences
            .iter()
            .map(|d| format!("{}: {}", d.tensor, d.reason))
            .collect(),
        races: races.as_ref().map(Races::of),
        seconds: Some(times(&outcome)),
        ..nothing()
    };
    let text = if args.json {
        report.json()
    } else {
        text(&report, args.time.is_some())
    };
    Ok(reporter.print(&text, u8::from(!good)))
}

/// The request with the schedule or the statistics that the data ask for, and the data where they were read for that.
fn with_data(
    args: &RunArgs,
    request: Request,
    bindings: &[String],
    reporter: &mut Reporter,
) -> Result<(Request, Option<Bound>), Failure> {
    let mut known = None;
    let request = match args.program.tuned {
        true => tuned::with_data(request, bindings, &mut known, reporter)?,
        false => request,
    };
    let request = match request.schedule {
        ScheduleChoice::Default => Request {
            statistics: Statistics {
                threads: args.threads.map(i64::from),
                ..statistics(&request, bindings, &mut known, &mut reporter.sources)?
            },
            ..request
        },
        ScheduleChoice::None | ScheduleChoice::Named(_) | ScheduleChoice::Text { .. } => request,
    };
    Ok((request, known))
}

/// No result is written where another one is, or to a file that was read.
fn check_places(
    outputs: &[(TensorId, PathBuf)],
    compiled: &Compiled,
    reporter: &mut Reporter,
) -> Result<(), Failure> {
    let places: Vec<Place> = (outputs.iter())
        .map(|(_, path)| Place {
            option: "--out",
            path,
        })
        .collect();
    let read = compiled.inputs.iter().map(PathBuf::as_path);
    places::check(&places, read, reporter)
}

/// What the kernel does not check: inputs where it is timed, promises where nobody asked.
fn trust(args: &RunArgs, backend: Backend) -> Trust {
    let checked = args.verify || matches!(backend, Backend::Emulator { checked: true });
    match (args.time, checked) {
        (Some(_), _) => Trust::Inputs,
        (None, true) => Trust::Nothing,
        (None, false) => Trust::Promises,
    }
}

/// The kernel as it is called, from the cache where there is one.
fn library(
    kernel: &Kernel,
    how: (Backend, Trust),
    cache: Option<&Cache>,
    is_json: bool,
    reporter: &mut Reporter,
) -> Result<Library, Failure> {
    let kernels = std::slice::from_ref(kernel);
    let library = match cache {
        Some(cache) => {
            let mut ignored = Vec::new();
            let sources = &mut reporter.sources;
            let library = cache::library(kernels, how, cache, &mut ignored, sources)?;
            ignored.iter().for_each(|one| tuned::ignored(one, reporter));
            library
        }
        None => Library::build(kernels, how.0, how.1, &mut reporter.sources)?,
    };
    if is_json {
        library.findings_as_json();
    }
    Ok(library)
}

/// Writes results to where they are wanted, all or none, and says what they are.
fn written(
    function: &Function,
    outcome: &Outcome,
    outputs: &[(TensorId, PathBuf)],
    reporter: &mut Reporter,
) -> Result<Vec<ResultSummary>, Failure> {
    let mut results = Vec::new();
    let mut staged = Vec::new();
    for &id in &function.results {
        let Some(packed) = outcome.results.get(&id) else {
            continue;
        };
        let tensor = data::unpack(packed);
        results.push(ResultSummary {
            name: function.tensor(id).name.clone(),
            summary: data::summarize(&tensor),
        });
        for (_, path) in outputs.iter().filter(|(out, _)| *out == id) {
            let content = data::content(path, &tensor, function.tensor(id).fill)?;
            let written = files::stage(path, |file| file.write_all(&content));
            staged.push((path, written.map_err(|e| reporter.unwritable(path, &e))?));
        }
    }
    for (path, file) in staged {
        let placed = file.map_or(Ok(()), Staged::place);
        placed.map_err(|e| reporter.unwritable(path, &e))?;
    }
    Ok(results)
}

/// What the race checker finds in a run of its own; nothing if no loops are shared out.
fn raced(
    kernel: &Kernel,
    function: &Function,
    bound: &Bound,
    cache: Option<&Cache>,
    reporter: &mut Reporter,
) -> Result<Option<Findings>, Failure> {
    let kernels = std::slice::from_ref(kernel);
    let Some(watched) = Watched::of(kernels, Watching::Unproved) else {
        return Ok(None);
    };
    let mut ignored = Vec::new();
    let sources = &mut reporter.sources;
    let checker = match cache {
        Some(cache) => watched.kept(cache, &mut ignored, sources)?,
        None => watched.compiled(&flags(), sources)?,
    };
    ignored.iter().for_each(|one| tuned::ignored(one, reporter));
    checker.check(0, kernel, function, bound, watch::ALL_ELEMENTS)
}

/// Says why a kernel did not run to its end. Whoever reads JSON finds a check that did not hold there, too.
fn broken(
    failure: Failure,
    args: &RunArgs,
    nothing: Report,
    reporter: &mut Reporter,
) -> Result<u8, Failure> {
    if !args.json || !matches!(failure, Failure::Check(_)) {
        return Err(failure);
    }
    let report = Report {
        verified: Some(false),
        differences: vec![failure.message()],
        ..nothing
    };
    let code = reporter.fail(&failure);
    Ok(reporter.print(&report.json(), code))
}

/// The results that are to be written, and where.
fn outputs(
    args: &RunArgs,
    function: &Function,
    reporter: &mut Reporter,
) -> Result<Vec<(TensorId, PathBuf)>, Failure> {
    let mut outputs: Vec<(TensorId, PathBuf)> = Vec::new();
    for text in &args.outputs {
        let found = text.split_once('=').and_then(|(name, path)| {
            let id = function.tensor_named(name)?;
            function
                .results
                .contains(&id)
                .then(|| (id, PathBuf::from(path)))
        });
        let Some(found) = found else {
            let span = argument(&mut reporter.sources, "--out", text);
            let names: Vec<&str> = function
                .results
                .iter()
                .map(|&id| function.tensor(id).name.as_str())
                .collect();
            return Err(Diagnostic::error(
                codes::COMMAND_LINE,
                span,
                format!("`{text}` is not RESULT=FILE"),
                "here",
            )
            .with_help(format!("the results are {}", names.join(", ")))
            .into());
        };
        // Not only behind the run, which may be long.
        let Ok((kind, _)) = data::ending(&found.1) else {
            let span = argument(&mut reporter.sources, "--out", text);
            let message = "nothing says in which format it is written";
            return Err(
                Diagnostic::error(codes::COMMAND_LINE, span, message, "unknown ending")
                    .with_help("end it with .mtx, .tns or .npy, or one of these and .gz")
                    .into(),
            );
        };
        let result = function.tensor(found.0);
        if let Err(reason) = data::write::holds(kind, result.order(), result.ty) {
            let span = argument(&mut reporter.sources, "--out", text);
            let message = format!("`{}` cannot be written so: {reason}", result.name);
            return Err(
                Diagnostic::error(codes::COMMAND_LINE, span, message, "this ending")
                    .with_help(format!(
                        "`--out {}=FILE.npy` holds anything dense",
                        result.name
                    ))
                    .into(),
            );
        }
        files::check(&found.1).map_err(|e| reporter.unwritable(&found.1, &e))?;
        outputs.push(found);
    }
    Ok(outputs)
}
