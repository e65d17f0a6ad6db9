//! Measurements on this machine: libraries of schedules ([`super::builders`]) to the process that runs them
//! ([`super::worker`]).

use super::apart::{Limits, Memory};
use super::builder::itself;
use super::builders::{Builders, Built};
use super::race::Runner;
use super::worker::{Job, Outcome, Ready};
use crate::cleanup;
use crate::diagnostic::codes::environment as codes;
use crate::diagnostic::{Diagnostic, Sources};
use crate::driver::build::{Backend, LIBRARY, Trust, compiled, flags, unit};
use crate::driver::compile::{Request, ScheduleChoice, compile};
use crate::driver::tools::no_room;
use crate::driver::{Failure, argument};
use crate::emit;
use crate::target::Target;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Instant;

/// What a schedule may take before it is hopeless: so much more than the best one, or plain loops.
const PATIENCE: f64 = 10.0;
/// Seconds that starting and loading may take.
const START: f64 = 1.0;
/// Seconds that a device may take to be there, and for what surrounds a call.
const DEVICE_START: f64 = 10.0;
const DEVICE_CALL: f64 = 0.01;
/// Bytes that go to a device, or come from it, in a second.
const TRANSFERS: f64 = 1e9;
/// How much slower than plain loops the emulator may be.
const EMULATED: f64 = 1e4;
/// The same where it counts, for each of [`PATIENCE`], and seconds beyond: what takes longer is a schedule of few
/// threads, which is hopeless.
const COUNTED: f64 = 50.0;
const COUNTING: f64 = 10.0;
/// Seconds of the processor that a schedule's compiler may take at most, and the part of the budget that it may
/// take beyond the least.
const COMPILING: f64 = 60.0;
const LEAST_COMPILING: f64 = 5.0;
const COMPILING_PART: f64 = 0.1;
/// Bytes that a schedule may take beyond four times those of the data.
const MEMORY: u64 = 1 << 30;
/// How many times the data an emulated schedule may take: it has a copy for the device, and a shadow of that.
const EMULATED_MEMORY: u64 = 32;
/// The part of the budget that a schedule may take, if its calls at the best one's pace do not need more.
const MOST: f64 = 0.1;

/// This machine.
pub(super) struct Machine {
    backend: Backend,
    threads: u32,
    start: Instant,
    /// Seconds that a schedule may take.
    most: f64,
    // Dropped before the folder that they write to.
    builders: Builders,
    _folder: cleanup::Folder,
    plain: PathBuf,
    worker: Option<Worker>,
    ready: Ready,
    /// The least seconds of a call on each data set.
    best: Vec<f64>,
    /// What a model says of schedules on data sets: the same each time.
    counted: BTreeMap<(Vec<String>, usize), f64>,
}

/// The process that runs jobs.
struct Worker {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The request for plain loops. They run on the processor: what they compute is what the kernels of
/// a GPU are compared with.
pub(super) fn plain(request: &Request) -> Request {
    Request {
        schedule: ScheduleChoice::None,
        target: Target::C,
        defines: Vec::new(),
        ..request.clone()
    }
}

impl Machine {
    /// Compiles plain loops and starts the process, which reads the data.
    ///
    /// # Errors
    /// No compiler, no room, or the process ends: the data does not fit.
    pub(super) fn start(
        request: &Request,
        (backend, threads, budget): (Backend, u32, f64),
        sets: usize,
        sources: &mut Sources,
    ) -> Result<Self, Failure> {
        let folder = cleanup::Folder::new().map_err(|e| no_room(sources, &e))?;
        let own = plain(request);
        let program = compile(&own, sources)?;
        let files = emit::emit(&unit(&program.kernels), Backend::C.target());
        let kernels = program.kernels.as_slice();
        let trust = Trust::Nothing;
        let made = compiled(&files, kernels, Backend::C, trust, &flags(), sources)?;
        let place = folder.path().join("plain.so");
        std::fs::copy(made.path().join(LIBRARY), &place).map_err(|e| no_room(sources, &e))?;
        // Plain loops have told that there is a compiler; now it gets what it may not end with.
        let part = (COMPILING_PART * budget).clamp(LEAST_COMPILING, COMPILING);
        let seconds = match backend {
            Backend::C => part,
            // nvcc, or the emulator itself, takes longer than that.
            Backend::Emulator { .. } | Backend::Gpu | Backend::Model(_) => COMPILING,
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let seconds = seconds as u64;
        let (worker, ready) = Worker::start(&place).map_err(|error| no_worker(&error, sources))?;
        Ok(Machine {
            backend,
            threads,
            start: Instant::now(),
            most: MOST * budget,
            builders: Builders::start(folder.path(), seconds),
            _folder: folder,
            plain: place,
            worker: Some(worker),
            best: vec![f64::INFINITY; sets],
            counted: BTreeMap::new(),
            ready,
        })
    }

    fn job(&self, scripts: &[Vec<String>], set: usize, rounds: u32) -> Result<Job, String> {
        let mut libraries = Vec::new();
        let mut checked = None;
        for script in scripts {
            let built: Built = self.builders.library(script)?;
            libraries.push(built.library);
            checked = checked.or(built.checked);
        }
        let plain = self.ready.plain.get(set).copied().unwrap_or(1.0);
        let best = self.best.get(set).copied().unwrap_or(f64::INFINITY);
        let call = plain.min(best * PATIENCE).max(1e-3);
        let (start, call) = match self.backend {
            Backend::C => (START, call),
            // The data goes there and back at each call; a device that is new to a process takes
            // its time, too.
            #[expect(clippy::cast_precision_loss)]
            Backend::Gpu => (
                DEVICE_START,
                call + self.ready.bytes as f64 / TRANSFERS + DEVICE_CALL,
            ),
            Backend::Emulator { .. } => (START, plain.max(1e-3) * EMULATED),
            Backend::Model(_) => (COUNTING, plain * COUNTED),
        };
        #[expect(clippy::cast_precision_loss)]
        let calls = (scripts.len() as f64) * f64::from(rounds + 3);
        Ok(Job {
            libraries,
            checked,
            set,
            compare: false,
            rounds,
            limits: Limits {
                seconds: match self.backend {
                    Backend::C | Backend::Gpu => {
                        start + (PATIENCE * call * calls).min(self.most.max(calls * call))
                    }
                    Backend::Emulator { .. } | Backend::Model(_) => start + PATIENCE * call * calls,
                },
                memory: match self.backend {
                    Backend::C => Memory::Address(MEMORY + 4 * self.ready.bytes),
                    // What a device has is its own limit.
                    Backend::Gpu => Memory::Resident(MEMORY + 4 * self.ready.bytes),
                    Backend::Emulator { .. } | Backend::Model(_) => {
                        Memory::Resident(MEMORY + EMULATED_MEMORY * self.ready.bytes)
                    }
                },
                threads: self.threads,
            },
        })
    }
}

impl Runner for Machine {
    fn prepare(&mut self, scripts: &[Vec<String>]) {
        self.builders.want(scripts);
    }

    fn run(&mut self, scripts: &[Vec<String>], set: usize, rounds: u32, compare: bool) -> Outcome {
        match self.backend {
            Backend::Model(_) => self.count(scripts, set, rounds, compare),
            Backend::C | Backend::Emulator { .. } | Backend::Gpu => {
                self.measure(scripts, set, rounds, compare)
            }
        }
    }

    fn elapsed(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

impl Machine {
    /// What a model says: asked once of each schedule, and compared then.
    fn count(
        &mut self,
        scripts: &[Vec<String>],
        set: usize,
        rounds: u32,
        compare: bool,
    ) -> Outcome {
        let mut samples = Vec::new();
        for script in scripts {
            let key = (script.clone(), set);
            let mut known = self.counted.get(&key).copied();
            if known.is_none() {
                // (The same each time: one call is enough.)
                let outcome = self.measure(std::slice::from_ref(script), set, 0, compare);
                let Outcome::Measured(all) = outcome else {
                    return outcome;
                };
                known = all.iter().flatten().next().copied();
            }
            let Some(cycles) = known else {
                return Outcome::Refused("nothing was counted".to_string());
            };
            self.counted.insert(key, cycles);
            samples.push(vec![cycles; rounds as usize]);
        }
        Outcome::Measured(samples)
    }

    fn measure(
        &mut self,
        scripts: &[Vec<String>],
        set: usize,
        rounds: u32,
        compare: bool,
    ) -> Outcome {
        let mut job = match self.job(scripts, set, rounds) {
            Ok(job) => job,
            Err(reason) => return Outcome::Refused(reason),
        };
        job.compare = compare;
        if self.worker.is_none() {
            self.worker = Worker::start(&self.plain).ok().map(|(worker, _)| worker);
        }
        let worker = &mut self.worker;
        let asked = || match worker {
            Some(worker) => worker.ask(&job),
            None => Err(std::io::Error::other(
                "the process that runs kernels does not start",
            )),
        };
        let asked = self.builders.timed(self.threads as usize, asked);
        match asked {
            Ok(outcome) => {
                // (Cycles of a model say nothing of how long a schedule takes to run.)
                if let (Outcome::Measured(samples), Some(best)) = (&outcome, self.best.get_mut(set))
                    && !matches!(self.backend, Backend::Model(_))
                {
                    let all = samples.iter().flatten().copied();
                    *best = all.fold(*best, f64::min);
                }
                outcome
            }
            Err(error) => {
                // The next job gets a new one.
                self.worker = None;
                Outcome::Refused(error.to_string())
            }
        }
    }
}

impl Worker {
    /// Starts this program again, with the same arguments.
    fn start(plain: &Path) -> std::io::Result<(Self, Ready)> {
        let mut command = itself("--worker", plain)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::null());
        let mut child = command.spawn()?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::Error::other("it has no pipes"));
        };
        let mut worker = Worker {
            child,
            to,
            from: BufReader::new(from),
        };
        let ready = worker.read()?;
        Ok((worker, ready))
    }

    fn ask(&mut self, job: &Job) -> std::io::Result<Outcome> {
        writeln!(self.to, "{}", serde_json::to_string(job)?)?;
        self.read()
    }

    fn read<T: serde::de::DeserializeOwned>(&mut self) -> std::io::Result<T> {
        let mut line = String::new();
        if self.from.read_line(&mut line)? == 0 {
            let status = self.child.wait()?;
            return Err(std::io::Error::other(format!("it ended: {status}")));
        }
        Ok(serde_json::from_str(&line)?)
    }
}

fn no_worker(error: &std::io::Error, sources: &mut Sources) -> Failure {
    let span = argument(sources, "command line", "tune");
    Failure::Environment(
        Diagnostic::error(
            codes::NOTHING_RUNS,
            span,
            format!("plain loops do not run on this data: {error}"),
            "their results are what all others are compared with",
        )
        .with_help("`sparsec run --no-schedule` with the same data says why"),
    )
}
