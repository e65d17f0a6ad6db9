//! The process that runs candidates. It reads and packs the data once, then runs each candidate
//! in a child of its own, a copy of itself (`fork`), which has its limits of time and memory: what
//! hangs, crashes, eats memory or writes where it must not costs that copy alone.
//!
//! It speaks lines of JSON: a [`Job`] in, an [`Outcome`] out.

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
use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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
    pub threads: u32,
    /// Limits: seconds by the clock, bytes beyond what the data takes.
    pub seconds: f64,
    pub bytes: Option<u64>,
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
/// How many times the memory of kernels it takes to look at what they made.
const RESULTS: u64 = 16;
/// What a copy of this process says before it compares results, and before it runs kernels again.
const COMPARES: &[u8] = b"comparing\n";
const RUNS: &[u8] = b"running\n";
/// What it may take to compare them: the judge is asked where they differ.
const JUDGING: f64 = 600.0;

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
    die_with_parent();
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
            Some(set) => apart(&job, set).unwrap_or_else(|e| Outcome::Refused(e.to_string())),
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

/// Asks the system to end this process where the one that started it ends.
fn die_with_parent() {
    #[cfg(target_os = "linux")]
    // SAFETY: it asks for a signal, and touches no memory.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
}

/// Runs a job in a copy of this process.
#[cfg(unix)]
fn apart(job: &Job, set: &mut Set) -> std::io::Result<Outcome> {
    use std::os::fd::{AsRawFd, FromRawFd};
    let mut ends = [0; 2];
    // SAFETY: two descriptors are written into the array.
    if unsafe { libc::pipe(ends.as_mut_ptr()) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: both are new, and nobody else's.
    let (mut from, to) = unsafe {
        (
            std::fs::File::from_raw_fd(ends[0]),
            std::fs::File::from_raw_fd(ends[1]),
        )
    };
    let own = std::process::id();
    // SAFETY: no other thread of this process holds a lock that the copy needs: one waits for
    // signals, and the kernels' threads are those of copies.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(std::io::Error::last_os_error());
    }
    if child == 0 {
        drop(from);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            die_with_parent();
            if std::os::unix::process::parent_id() != own {
                // It has ended already.
                return Outcome::TimedOut;
            }
            let memory = limit(job);
            limited(job, set, &to, memory)
        }));
        let outcome = outcome.unwrap_or(Outcome::Crashed(libc::SIGABRT));
        let _ = tell(&to, &outcome);
        // SAFETY: nothing of this copy is to be dropped or flushed.
        unsafe { libc::_exit(0) };
    }
    drop(to);
    let mut until = Instant::now() + Duration::from_secs_f64(job.seconds.max(0.0));
    let mut text = Vec::new();
    let mut late = false;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let mut waits = libc::pollfd {
            fd: from.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let millis = libc::c_int::try_from(left.as_millis()).unwrap_or(libc::c_int::MAX);
        // SAFETY: one descriptor, which is open.
        let some = unsafe { libc::poll(&raw mut waits, 1, millis.saturating_add(1)) };
        if some == 0 {
            if Instant::now() < until {
                continue;
            }
            late = true;
            break;
        }
        if some < 0 {
            continue;
        }
        let mut piece = [0; 4096];
        match from.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(count) => text.extend_from_slice(&piece[..count]),
        }
        // What it says next may have come with it.
        let said = [(COMPARES, JUDGING), (RUNS, job.seconds)];
        while let Some((said, seconds)) = said.iter().find(|(said, _)| text.starts_with(said)) {
            text.drain(..said.len());
            until = Instant::now() + Duration::from_secs_f64(seconds.max(0.0));
        }
    }
    let mut status = 0;
    // SAFETY: it is our child, and was not waited for.
    unsafe {
        if late {
            libc::kill(child, libc::SIGKILL);
        }
        while libc::waitpid(child, &raw mut status, 0) < 0
            && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
        {}
    }
    if late {
        return Ok(Outcome::TimedOut);
    }
    if libc::WIFSIGNALED(status) {
        return Ok(Outcome::Crashed(libc::WTERMSIG(status)));
    }
    Ok(serde_json::from_slice(&text).unwrap_or_else(|_| {
        Outcome::Refused(format!(
            "it ended by itself, with status {}",
            libc::WEXITSTATUS(status)
        ))
    }))
}

#[cfg(not(unix))]
fn apart(_: &Job, _: &mut Set) -> std::io::Result<Outcome> {
    Err(std::io::Error::other("processes cannot be copied here"))
}

fn tell(mut to: &std::fs::File, outcome: &Outcome) -> std::io::Result<()> {
    to.write_all(serde_json::to_string(outcome)?.as_bytes())
}

/// Bytes of address space: what kernels may have, and what is needed to look at their results.
#[derive(Clone, Copy)]
struct Memory {
    kernels: u64,
    ours: u64,
}

impl Memory {
    /// Sets the limit of what follows; a limit that the system does not know stays as it was.
    fn allow(self, bytes: u64) {
        #[cfg(unix)]
        if self.kernels > 0 {
            let limits = libc::rlimit {
                rlim_cur: bytes,
                rlim_max: self.ours,
            };
            // SAFETY: it takes two numbers.
            unsafe {
                libc::setrlimit(libc::RLIMIT_AS, &raw const limits);
            }
        }
    }
}

/// Sets the limits of this process, for good.
#[cfg(unix)]
fn limit(job: &Job) -> Memory {
    let now = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = now
        .split(' ')
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or(0);
    let mut memory = Memory {
        kernels: 0,
        ours: 0,
    };
    // SAFETY: these take numbers; what cannot be set stays as it was.
    unsafe {
        let page = u64::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap_or(4096);
        let set = |what, soft: u64, hard: u64| {
            let limits = libc::rlimit {
                rlim_cur: soft,
                rlim_max: hard,
            };
            libc::setrlimit(what, &raw const limits);
        };
        if let (Some(bytes), true) = (job.bytes, pages > 0) {
            // Each thread has a stack and an arena of its own.
            let threads = u64::from(job.threads) * (160 << 20);
            let kernels = pages * page + threads + bytes;
            // A result is copied, and its elements are listed with their coordinates: that it is
            // large is not to look like a crash.
            memory = Memory {
                kernels,
                ours: kernels.saturating_add(bytes.saturating_mul(RESULTS)),
            };
        }
        set(libc::RLIMIT_CORE, 0, 0);
        if job.bytes.is_some() {
            set(libc::RLIMIT_FSIZE, 0, 0);
        }
        // What kernels print goes nowhere: standard output is the report's.
        let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        if nowhere >= 0 {
            for fd in 0..3 {
                libc::dup2(nowhere, fd);
            }
        }
    }
    memory.allow(memory.kernels);
    memory
}

/// Runs a job in this process.
fn limited(job: &Job, set: &mut Set, to: &std::fs::File, memory: Memory) -> Outcome {
    match sampled(job, set, to, memory) {
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

fn sampled(
    job: &Job,
    set: &mut Set,
    to: &std::fs::File,
    memory: Memory,
) -> Result<Outcome, Failure> {
    let mut sources = Sources::default();
    let (arguments, function) = (&mut set.arguments, set.function);
    if let Some(checked) = &job.checked {
        let checked = Library::open(checked, &mut sources)?;
        checked.set_threads(job.threads);
        Calls::new(&checked, 0, arguments).call(arguments, function, 1)?;
    }
    let mut libraries = Vec::new();
    for path in &job.libraries {
        libraries.push(Library::open(path, &mut sources)?);
    }
    let mut contestants = Vec::new();
    let mut samples = Vec::new();
    for library in &libraries {
        library.set_threads(job.threads);
        let mut calls = Calls::new(library, 0, arguments);
        let first = calls.call(arguments, function, 1)?;
        if job.compare {
            // That takes its time, which is not the candidate's.
            let _ = { to }.write_all(COMPARES);
            memory.allow(memory.ours);
            // An element that is no tensor's is found here, too.
            let results = calls.results(arguments, function).map_err(wrong)?;
            set.agreement.add("the candidate", results, false)?;
            memory.allow(memory.kernels);
            let _ = { to }.write_all(RUNS);
        }
        if job.rounds == 0 {
            samples.push(vec![first]);
            contestants.push((library, calls, 1));
            continue;
        }
        samples.push(Vec::new());
        let taken = calls.call(arguments, function, 1)?;
        // On a device each call is an interval of its own.
        let times = if arguments.are_kept() && taken.device.is_none() {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let times = (SAMPLE / taken.seconds.max(1e-9)).ceil() as u32;
            times.clamp(1, 1000)
        } else {
            1
        };
        contestants.push((library, calls, times));
    }
    for round in 0..job.rounds as usize {
        for k in 0..contestants.len() {
            // Each is first as often as the others.
            let at = (round + k) % contestants.len();
            let (library, calls, times) = &mut contestants[at];
            library.set_threads(job.threads);
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
