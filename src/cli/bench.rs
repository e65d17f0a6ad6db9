//! `sparsec bench`.

mod csv;
mod table;

use super::args::BenchArgs;
use super::places::{self, Place};
use super::progress::Progress;
use super::request::{is_picture, only_function, operands, statistics, threads_for};
use super::{Reporter, request, tuned};
use crate::data::DataError;
use crate::diagnostic::codes::{data as data_codes, environment as codes};
use crate::diagnostic::{Diagnostic, Severity};
use crate::diagram::chart;
use crate::driver::bench::compare::{self, Compared, Verdict};
use crate::driver::bench::machine::{Description, Machine};
use crate::driver::bench::report::{CandidateReport, Report, SCHEMA};
use crate::driver::bench::{self, Built, Candidate, Entrant, Row, Settings};
use crate::driver::bind::{self, Bound};
use crate::driver::build::Backend;
use crate::driver::run::Clock;
use crate::driver::{Failure, argument, device};
use crate::files::{self, Staged};
use crate::program::ir::Function;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(super) fn bench(args: &BenchArgs) -> u8 {
    let mut reporter = Reporter::of(&args.program);
    match execute(args, &mut reporter) {
        Ok(code) => code,
        Err(failure) => reporter.fail(&failure),
    }
}

fn execute(args: &BenchArgs, reporter: &mut Reporter) -> Result<u8, Failure> {
    let (programs, bindings) = operands(&args.operands, &mut reporter.sources)?;
    let mut request = request(&programs, &args.program, &mut reporter.sources)?;
    if let Some(threads) = args.threads.first() {
        threads_for(request.target, &threads.to_string(), &mut reporter.sources)?;
    }
    // What would be refused behind the measurements is refused before.
    let old = args.compare.as_deref().map(read).transpose()?;
    if let Some(path) = &args.plot {
        is_picture(path, &mut reporter.sources)?;
        files::check(path).map_err(|e| reporter.unwritable(path, &e))?;
    }
    let sets = bench::data_sets(&bindings).map_err(|binding| uneven(&binding, reporter))?;
    if args.program.tuned {
        let first = sets.first().map_or(&[][..], Vec::as_slice);
        request = tuned::with_data(request, first, &mut None, reporter)?;
    }
    // One kernel runs on all data sets: only one of them says what it is for.
    if let [only] = sets.as_slice() {
        request.statistics = statistics(&request, only, &mut None, &mut reporter.sources)?;
    }
    let listed = args.schedules.as_deref();
    let (entrants, left_out) = bench::candidates(&request, listed, &mut reporter.sources)?;
    for (candidate, reasons) in &left_out {
        let notes = reasons.iter().map(|reason| without(candidate, reason));
        notes.for_each(|note| reporter.say(&note));
    }
    if let Err(code) = remarks(&entrants, reporter) {
        return Ok(code);
    }
    let Some(first) = entrants.first() else {
        return Ok(0);
    };
    let (function, _) = only_function(&first.compiled, &mut reporter.sources)?;
    apart(args, &entrants, &bindings, reporter)?;
    let backend = device::backend(request.target, false);
    if let Backend::Emulator { .. } = backend {
        return Err(no_clock(reporter));
    }
    let progress = Progress::new((entrants.len() + sets.len()) as u64);
    let bound = read_sets(function, &sets, &progress, reporter)?;
    let built = build(&entrants, backend, &progress, reporter)?;
    let machine = match backend {
        Backend::C => Some(Machine::new(&mut reporter.sources)?),
        Backend::Emulator { .. } | Backend::Gpu | Backend::Model(_) => None,
    };
    let rows = rows(&built, args, machine.as_ref());
    let settings = Settings {
        rounds: args.rounds,
        verify: args.verify,
    };
    let mut report = Report {
        schema: SCHEMA.to_string(),
        sparsec: env!("CARGO_PKG_VERSION").to_string(),
        function: function.name.clone(),
        program: function.to_string(),
        target: request.target.properties().word.to_string(),
        device: backend.device().to_string(),
        clock: String::new(),
        machine: Description::of(backend),
        candidates: entrants.iter().zip(&built).map(described).collect(),
        data: Vec::new(),
        comparison: None,
    };
    for (name, data) in &bound {
        let mut round = |done: u32, of: u32| {
            if done == 0 {
                progress.lengthen(u64::from(of));
            }
            progress.step(name);
        };
        let data = (name.as_str(), data);
        let (set, clock) = bench::measure(
            &rows,
            function,
            data,
            settings,
            machine.as_ref(),
            &mut round,
        )?;
        report.clock = clock_name(clock).to_string();
        report.data.push(set);
    }
    drop(progress);
    if let Some(path) = &args.plot {
        plot(&report, path, reporter)?;
    }
    if let Some((path, old)) = old {
        let compared = compare::compare(&old, &report).map_err(|reason| {
            DataError::new(data_codes::OF_SOMETHING_ELSE, reason).in_file(&path)
        })?;
        report.comparison = Some(compared);
    }
    finish(args, &report, function, reporter)
}

/// The data sets, by how they are written.
fn read_sets(
    function: &Function,
    sets: &[Vec<String>],
    progress: &Progress,
    reporter: &mut Reporter,
) -> Result<Vec<(String, Bound)>, Failure> {
    let mut bound = Vec::new();
    for set in sets {
        progress.step("reading data");
        let data = bind::bind(function, set, &mut reporter.sources)?;
        bound.push((set.join(" "), data));
    }
    Ok(bound)
}

/// The kernels of all schedules.
fn build(
    entrants: &[Entrant],
    backend: Backend,
    progress: &Progress,
    reporter: &mut Reporter,
) -> Result<Vec<Built>, Failure> {
    let mut built = Vec::new();
    for entrant in entrants {
        let name = &entrant.candidate.name;
        progress.step(&format!("compiling {name}"));
        let (_, kernel) = only_function(&entrant.compiled, &mut reporter.sources)?;
        built.push(Built::new(name, kernel, backend, &mut reporter.sources)?);
    }
    Ok(built)
}

/// Draws the report into a file.
fn plot(report: &Report, path: &Path, reporter: &mut Reporter) -> Result<(), Failure> {
    let charts = bench::plot::charts(report);
    let written = files::stage(path, |file| file.write_all(chart::svg(&charts).as_bytes()));
    let placed = written.and_then(|file| file.map_or(Ok(()), Staged::place));
    placed.map_err(|e| reporter.unwritable(path, &e))?;
    Ok(())
}

/// Prints everything; the exit code.
fn finish(
    args: &BenchArgs,
    report: &Report,
    function: &Function,
    reporter: &mut Reporter,
) -> Result<u8, Failure> {
    let slower = report.comparison.iter().flatten();
    let slower: Vec<&Compared> = slower.filter(|c| c.verdict == Verdict::Slower).collect();
    for row in &slower {
        let error = Diagnostic::error(
            codes::SLOWER,
            function.span,
            format!("`{}` is slower than it was on {}", row.candidate, row.data),
            "this function",
        );
        reporter.say(&error.with_help("the table says by how much; measure again to be sure"));
    }
    let text = if args.json {
        serde_json::to_string(report).unwrap_or_default() + "\n"
    } else if args.csv {
        csv::text(report)
    } else {
        table::text(report)
    };
    Ok(reporter.print(&text, u8::from(!slower.is_empty())))
}

/// Refuses to draw into the place of what is read.
fn apart(
    args: &BenchArgs,
    entrants: &[Entrant],
    bindings: &[String],
    reporter: &mut Reporter,
) -> Result<(), Failure> {
    let plot = args.plot.as_deref().map(|path| Place {
        option: "--plot",
        path,
    });
    let inputs = entrants.iter().flat_map(|one| &one.compiled.inputs);
    let read = inputs.map(PathBuf::as_path).chain(args.compare.as_deref());
    places::check(
        plot.as_slice(),
        read.chain(places::data(bindings)),
        reporter,
    )
}

/// A candidate with each number of threads that makes a difference to it.
fn rows<'b>(built: &'b [Built], args: &BenchArgs, machine: Option<&Machine>) -> Vec<Row<'b>> {
    let usual = machine.map_or(1, Machine::threads);
    let mut threads = if args.threads.is_empty() {
        vec![usual]
    } else {
        args.threads.clone()
    };
    // One that is named again is no other candidate.
    let mut seen = BTreeSet::new();
    threads.retain(|&number| seen.insert(number));
    let mut rows: Vec<Row> = Vec::new();
    for built in built {
        let own = if built.shares_loops {
            threads.as_slice()
        } else {
            &[1]
        };
        rows.extend(own.iter().map(|&threads| Row { built, threads }));
    }
    rows
}

fn described((entrant, built): (&Entrant, &Built)) -> CandidateReport {
    CandidateReport {
        name: entrant.candidate.name.clone(),
        schedule: entrant.compiled.scripts.concat(),
        parameters: entrant.compiled.constants.clone(),
        compile_seconds: entrant.seconds,
        build_seconds: built.seconds,
    }
}

fn clock_name(clock: Clock) -> &'static str {
    match clock {
        Clock::Host => "host",
        Clock::Events { .. } => "events",
    }
}

/// Says what is to be said of candidates, once if several have it in common.
fn remarks(entrants: &[Entrant], reporter: &mut Reporter) -> Result<(), u8> {
    let mut said: Vec<&Diagnostic> = Vec::new();
    for entrant in entrants {
        for remark in &entrant.compiled.remarks {
            let again = |other: &&Diagnostic| {
                (other.code.id, &other.message) == (remark.code.id, &remark.message)
            };
            if !said.iter().any(again) {
                said.push(remark);
            }
        }
    }
    let said: Vec<Diagnostic> = said.into_iter().cloned().collect();
    reporter.remarks(&said)
}

/// A report that was written before.
fn read(path: &Path) -> Result<(PathBuf, Report), Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| DataError::new(data_codes::UNREADABLE, error.to_string()).in_file(path))?;
    let report = compare::read(&text).map_err(|(line, reason)| {
        let mut error = DataError::new(data_codes::OF_SOMETHING_ELSE, reason).in_file(path);
        error.line = Some(line);
        error
    })?;
    Ok((path.to_path_buf(), report))
}

/// That a candidate is left out, and why.
fn without(candidate: &Candidate, reason: &Diagnostic) -> Diagnostic {
    let mut note = reason.clone();
    note.severity = Severity::Note;
    note.message = format!("`{}` is left out: {}", candidate.name, note.message);
    note
}

pub(super) fn no_clock(reporter: &mut Reporter) -> Failure {
    let span = argument(&mut reporter.sources, "command line", "--target cuda");
    Failure::Environment(
        Diagnostic::error(
            codes::NO_CLOCK,
            span,
            "no GPU with nvcc is in use, and times of the emulator are none of a GPU's",
            "nothing to measure",
        )
        .with_help(
            "set NVCC to CUDA's nvcc where there is a GPU, and leave SPARSEC_EMULATOR unset; \
             `sparsec run` uses the emulator",
        ),
    )
}

/// A parameter that is bound more than once, but not for all data sets.
pub(super) fn uneven(binding: &str, reporter: &mut Reporter) -> Failure {
    let name = binding.split_once('=').map_or("", |(name, _)| name);
    let span = argument(&mut reporter.sources, "command line", binding);
    Diagnostic::error(
        codes::COMMAND_LINE,
        span,
        format!("`{name}` is bound neither once nor for each data set"),
        "for which of them?",
    )
    .with_help("bind it once for all, or as often as the others")
    .into()
}
