//! The process that runs candidates. It reads and packs the data once, then runs each candidate
//! in a child of its own, a copy of itself ([`super::apart`]).
//!
//! It speaks lines of JSON: a [`Job`] in, an [`Outcome`] out.

use super::apart::{Apart, Limits, apart, die_with_parent};
use crate::data::DataError;
use crate::diagnostic::Sources;
use crate::diagnostic::codes::environment as codes;
use crate::driver::Failure;
use crate::driver::bench::agree::Agreement;
use crate::driver::bind::Bound;
use crate::driver::build::Library;
use crate::driver::call::{Arguments, Calls};
use crate::driver::count;
use crate::driver::run::{self, Clock};
use crate::loops::ir::Kernel;
use crate::program::ir::Function;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

/// What is to be run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Libraries whose kernels take turns.
    pub libraries: Vec<PathBuf>,
    /// One that checks what the schedule promises, run first.
    pub checked: Option<PathBuf>,
    /// Which of the data sets.
    pub set: usize,
    /// Whether the results are compared.
    pub compare: bool,
    /// Samples of each; with none the first call is the only one.
    pub rounds: u32,
    pub limits: Limits,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Seconds of a call, for each library in turn.
    Measured(Vec<Vec<f64>>),
    /// It computes something else: a bug.
    Wrong(String),
    /// It says that it cannot.
    Refused(String),
    /// It was ended by a signal.
    Crashed(i32),
    /// It was ended at its limit of time.
    TimedOut,
    /// It was ended at its limit of memory.
    OutOfMemory,
}

/// What the process says when the data is packed: seconds of plain loops on each data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    pub plain: Vec<f64>,
    /// Bytes of all arguments.
    pub bytes: u64,
}

/// A sample is of as many calls as take this long.
const SAMPLE: f64 = 2e-4;
/// A data set in this process.
struct Set<'d> {
    arguments: Arguments,
    agreement: Agreement<'d>,
    function: &'d Function,
}

/// Packs the data, runs plain loops for their results, and serves jobs until there are no more.
///
/// # Errors
/// The data does not fit, plain loops refuse it, or nobody listens.
pub fn serve(
    function: &Function,
    kernel: &Kernel,
    plain: &Path,
    data: &[Bound],
    sources: &mut Sources,
) -> Result<(), Failure> {
    die_with_parent(libc::SIGKILL);
    let library = Library::open(plain, sources)?;
    // Threads of this process would be missing in its copies.
    library.set_threads(1);
    let mut ready = Ready {
        plain: Vec::new(),
        bytes: 0,
    };
    let mut sets = Vec::new();
    for bound in data {
        let mut arguments = Arguments::pack(&kernel.interface, function, bound)?;
        let operations = count::operations(function, bound, &arguments.stored);
        let mut agreement = Agreement::new(function, bound, operations);
        let mut calls = Calls::new(&library, 0, &arguments);
        let taken = calls.call(&mut arguments, function, 1)?;
        agreement.add("plain loops", calls.results(&arguments, function)?, false)?;
        drop(calls);
        ready.plain.push(taken.seconds);
        ready.bytes += arguments.bytes as u64;
        sets.push(Set {
            arguments,
            agreement,
            function,
        });
    }
    let nobody = |error: std::io::Error| {
        Failure::Data(DataError::new(
            crate::diagnostic::codes::data::UNREADABLE,
            error.to_string(),
        ))
    };
    say(&ready).map_err(nobody)?;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(nobody)?;
        let job: Job = serde_json::from_str(&line).map_err(|e| nobody(e.into()))?;
        let outcome = match sets.get_mut(job.set) {
            Some(set) => apart(&job.limits, |copy| limited(&job, set, copy))
                .unwrap_or_else(|e| Outcome::Refused(e.to_string())),
            None => Outcome::Refused("there is no such data set".to_string()),
        };
        say(&outcome).map_err(nobody)?;
    }
    Ok(())
}

fn say(what: &impl Serialize) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let text = serde_json::to_string(what)?;
    writeln!(out, "{text}")?;
    out.flush()
}

/// Runs a job in this process.
fn limited(job: &Job, set: &mut Set, copy: &Apart) -> Outcome {
    match sampled(job, set, copy) {
        Ok(outcome) => outcome,
        // The data break what the schedule promises: no fault of the compiler.
        Err(Failure::Check(error)) if error.code == codes::PROMISE_BROKEN => {
            Outcome::Refused(error.message)
        }
        Err(Failure::Check(error)) => {
            let notes = error.notes.join("; ");
            Outcome::Wrong(format!("{}: {notes}", error.message))
        }
        Err(Failure::Data(error)) => Outcome::Refused(error.to_string()),
        Err(Failure::Environment(error)) => Outcome::Refused(error.message),
        Err(Failure::Program(errors)) => {
            let first = errors.into_iter().next();
            Outcome::Refused(first.map_or(String::new(), |error| error.message))
        }
    }
}

fn sampled(job: &Job, set: &mut Set, copy: &Apart) -> Result<Outcome, Failure> {
    let mut sources = Sources::default();
    let (arguments, function) = (&mut set.arguments, set.function);
    if let Some(checked) = &job.checked {
        let checked = Library::open(checked, &mut sources)?;
        checked.set_threads(job.limits.threads);
        Calls::new(&checked, 0, arguments).call(arguments, function, 1)?;
    }
    let mut libraries = Vec::new();
    for path in &job.libraries {
        libraries.push(Library::open(path, &mut sources)?);
    }
    let mut contestants = Vec::new();
    let mut samples = Vec::new();
    for library in &libraries {
        library.set_threads(job.limits.threads);
        let mut calls = Calls::new(library, 0, arguments);
        let first = calls.call(arguments, function, 1)?;
        if job.compare {
            copy.compares();
            // An element that is no tensor's is found here, too.
            let results = calls.results(arguments, function).map_err(wrong)?;
            set.agreement.add("the candidate", results, false)?;
            copy.runs();
        }
        if job.rounds == 0 {
            samples.push(vec![first]);
            contestants.push((library, calls, 1));
            continue;
        }
        samples.push(Vec::new());
        contestants.push((library, calls, 1));
    }
    // What one has made is not freed before the results of all are compared: another one may get its memory.
    let warm = match job.rounds {
        0 => 0,
        _ => contestants.len(),
    };
    for at in 0..warm {
        if let Ok([own, other]) = contestants.get_disjoint_mut([at, at.wrapping_sub(1)]) {
            own.1.take_place(&mut other.1);
        }
        let (library, calls, times) = &mut contestants[at];
        library.set_threads(job.limits.threads);
        let taken = calls.call(arguments, function, 1)?;
        // On a device each call is an interval of its own.
        if arguments.are_kept() && taken.device.is_none() {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let repeated = (SAMPLE / taken.seconds.max(1e-9)).ceil() as u32;
            *times = repeated.clamp(1, 1000);
        }
    }
    let mut last = contestants.len().saturating_sub(1);
    for round in 0..job.rounds as usize {
        for k in 0..contestants.len() {
            // Each is first as often as the others.
            let at = (round + k) % contestants.len();
            if let Ok([own, other]) = contestants.get_disjoint_mut([at, last]) {
                own.1.take_place(&mut other.1);
            }
            last = at;
            let (library, calls, times) = &mut contestants[at];
            library.set_threads(job.limits.threads);
            let taken = calls.call(arguments, function, *times)?;
            samples[at].push(taken);
        }
    }
    let mut seconds = Vec::new();
    let mut clocks = Vec::new();
    for (taken, (_, _, times)) in samples.iter().zip(&contestants) {
        let (clock, all) = run::timed(taken);
        clocks.push(clock == Clock::Host);
        seconds.push(all.iter().map(|s| s / f64::from(*times)).collect());
    }
    // Times of two clocks do not compare.
    if clocks.iter().any(|host| *host != clocks[0]) {
        return Ok(Outcome::Refused("the device has no clock".to_string()));
    }
    Ok(Outcome::Measured(seconds))
}

/// A result that is no valid tensor is a wrong one.
fn wrong(error: DataError) -> Failure {
    use crate::diagnostic::Diagnostic;
    let span = crate::driver::argument(&mut Sources::default(), "candidate", "");
    Failure::Check(Diagnostic::error(
        codes::WRONG_SCHEDULE,
        span,
        error.reason,
        "this result",
    ))
}
