//! The process that compiles candidates: one on which sparsec or a compiler hangs, or eats memory, costs
//! its own limit alone.
//!
//! It speaks lines of JSON: a [`Job`] in, then twice what has been [`Said`].

use super::apart::{has_words, limit_memory};
use super::builders::{Built, Outcome};
use crate::cleanup::Running;
use crate::diagnostic::Sources;
use crate::driver::build::{Backend, LIBRARY, Trust, compiled, flags, unit};
use crate::driver::compile::{Request, ScheduleChoice, compile};
use crate::driver::tools::{COMPILER_MEMORY, COMPILER_SECONDS};
use crate::emit;
use crate::loops::ir::Kernel;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Read, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Bytes of address space that sparsec may have: a few thousand times what programs need.
const MEMORY: u64 = 4 << 30;
/// How many times longer than one compiler may take, by the processor, all of a schedule may take by the clock;
/// and seconds beyond that, or for a process to start.
const COMPILERS: f64 = 3.0;
const BEYOND: f64 = 10.0;
/// Between two looks whether the tuning is over.
const BETWEEN: Duration = Duration::from_millis(50);

/// What is to be compiled.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Job {
    script: Vec<String>,
    number: usize,
    /// What a compiler may take, of the processor.
    seconds: u64,
}

/// What became of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Said {
    /// Sparsec is through; what follows is the compilers'.
    Emitted,
    Built(Outcome),
}

/// Compiles schedules in a process of its own.
pub(super) struct Builder {
    starts: Box<Starts>,
    /// What sparsec may take for a schedule, and a compiler.
    seconds: u64,
    /// Nobody waits for it any more.
    over: Arc<AtomicBool>,
    process: Option<Process>,
}

/// The command that starts the process.
type Starts = dyn Fn() -> std::io::Result<Command>;

struct Process {
    running: Running,
    to: ChildStdin,
    from: ChildStdout,
    /// What it said of the next line.
    begun: Vec<u8>,
}

impl Builder {
    /// One that puts libraries into a folder; its process starts when it is needed, and ends when all is `over`.
    pub(super) fn new(folder: &Path, seconds: u64, over: Arc<AtomicBool>) -> Self {
        let folder = folder.to_path_buf();
        let starts = move || {
            let mut command = itself("--builder", &folder)?;
            // However it ends, what it leaves goes with the folder.
            command.env("TMPDIR", std::path::absolute(&folder)?);
            Ok(command)
        };
        Self::of(Box::new(starts), seconds, over)
    }

    fn of(starts: Box<Starts>, seconds: u64, over: Arc<AtomicBool>) -> Self {
        Builder {
            starts,
            seconds,
            over,
            process: None,
        }
    }

    /// Compiles a schedule, of this number.
    ///
    /// # Errors
    /// Why there is no library.
    pub(super) fn build(&mut self, script: &[String], number: usize) -> Outcome {
        let job = Job {
            script: script.to_vec(),
            number,
            seconds: self.seconds,
        };
        let built = self.ask(&job);
        if built.is_err() {
            // The next one gets a new process.
            self.process = None;
        }
        built.unwrap_or_else(Err)
    }

    /// # Errors
    /// The process cannot go on.
    #[expect(clippy::cast_precision_loss)]
    fn ask(&mut self, job: &Job) -> Result<Outcome, String> {
        let start = self.process.as_ref().map_or(BEYOND, |_| 0.0);
        let process = match &mut self.process {
            Some(process) => process,
            none => none.insert(Process::start((self.starts)()).map_err(|e| e.to_string())?),
        };
        let text = serde_json::to_string(job).map_err(|e| e.to_string())?;
        let asked = writeln!(process.to, "{text}");
        asked.map_err(|_| process.ended())?;
        let seconds = self.seconds as f64;
        match process.hear(start + seconds, &self.over)? {
            Some(Said::Built(built)) => return Ok(built),
            Some(Said::Emitted) => {}
            None => return Err(format!("sparsec itself takes longer than {seconds} s")),
        }
        let compilers = COMPILERS * seconds + BEYOND;
        match process.hear(compilers, &self.over)? {
            Some(Said::Built(built)) => Ok(built),
            Some(Said::Emitted) | None => Err(format!("compilers take longer than {compilers} s")),
        }
    }
}

impl Process {
    fn start(command: std::io::Result<Command>) -> std::io::Result<Self> {
        let mut command = command?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::null());
        let mut running = Running::spawn(&mut command)?;
        let pipes = running.child();
        let pipes = pipes.map(|child| (child.stdin.take(), child.stdout.take()));
        let Some((Some(to), Some(from))) = pipes else {
            return Err(std::io::Error::other("it has no pipes"));
        };
        Ok(Process {
            running,
            to,
            from,
            begun: Vec::new(),
        })
    }

    /// Its next line; `None` if there is none within so many seconds.
    ///
    /// # Errors
    /// It has ended, or all is over.
    fn hear(&mut self, seconds: f64, over: &AtomicBool) -> Result<Option<Said>, String> {
        let until = Instant::now() + Duration::from_secs_f64(seconds);
        loop {
            if let Some(end) = self.begun.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.begun.drain(..=end).collect();
                let said = serde_json::from_slice(&line);
                return said.map(Some).map_err(|error| error.to_string());
            }
            let left = until.saturating_duration_since(Instant::now());
            if over.load(Ordering::Relaxed) {
                return Err("nobody waits for it".to_string());
            }
            if !has_words(&self.from, left.min(BETWEEN)) {
                if left.is_zero() {
                    return Ok(None);
                }
                continue;
            }
            let mut piece = [0; 4096];
            match self.from.read(&mut piece) {
                Ok(0) | Err(_) => return Err(self.ended()),
                Ok(count) => self.begun.extend_from_slice(&piece[..count]),
            }
        }
    }

    fn ended(&mut self) -> String {
        match self.running.child().map(std::process::Child::wait) {
            Some(Ok(status)) => format!("sparsec itself was ended: {status}"),
            Some(Err(_)) | None => "sparsec itself was ended".to_string(),
        }
    }
}

/// This program once more, with the same arguments behind a flag that only it uses.
pub(super) fn itself(flag: &str, value: &Path) -> std::io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    let mut own = std::env::args_os().skip(1);
    command.args(own.by_ref().take(1));
    // Behind the command's name: what follows `--` are operands.
    command.arg(flag).arg(value).args(own);
    Ok(command)
}

/// Compiles what it is told until there is no more: the process of a [`Builder`].
///
/// # Errors
/// Nobody listens, or speaks.
pub(super) fn serve(request: &Request, backend: Backend, folder: &Path) -> std::io::Result<()> {
    crate::cleanup::stay_in_group();
    limit_memory(MEMORY, COMPILER_MEMORY);
    let say = |said: &Said| -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(said)?)?;
        out.flush()
    };
    for line in std::io::stdin().lock().lines() {
        let job: Job = serde_json::from_str(&line?)?;
        COMPILER_SECONDS.store(job.seconds, Ordering::Relaxed);
        let build = || build((request, backend), &job, folder, &say);
        let built = std::panic::catch_unwind(std::panic::AssertUnwindSafe(build));
        let built = built.unwrap_or_else(|_| Err("sparsec itself fails".to_string()));
        say(&Said::Built(built))?;
    }
    Ok(())
}

/// Compiles a schedule into libraries of a folder.
fn build(
    (request, backend): (&Request, Backend),
    job: &Job,
    folder: &Path,
    say: &dyn Fn(&Said) -> std::io::Result<()>,
) -> Outcome {
    let mut sources = Sources::default();
    let own = Request {
        schedule: ScheduleChoice::Text {
            name: "candidate.sched".to_string(),
            text: job.script.join("\n"),
        },
        defines: Vec::new(),
        ..request.clone()
    };
    let program = compile(&own, &mut sources).map_err(|failure| failure.message())?;
    let kernels = program.kernels.as_slice();
    let files = emit::emit(&unit(kernels), backend.target());
    say(&Said::Emitted).map_err(|error| error.to_string())?;
    let mut make = |trust: Trust, name: String| {
        let made = compiled(&files, kernels, backend, trust, &flags(), &mut sources);
        let made = made.map_err(|failure| failure.message())?;
        let place = folder.join(name);
        let copied = std::fs::copy(made.path().join(LIBRARY), &place);
        copied.map(|_| place).map_err(|error| error.to_string())
    };
    let number = job.number;
    let promises = kernels.iter().any(Kernel::promises);
    Ok(Built {
        library: make(Trust::Inputs, format!("k{number}.so"))?,
        checked: match promises {
            true => Some(make(Trust::Nothing, format!("k{number}-checked.so"))?),
            false => None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a process says, and what it does then, tells what becomes of a schedule; the next one has a new process
    /// where that one cannot go on.
    #[test]
    fn a_process_that_cannot_go_on_costs_one_schedule() {
        let emitted = serde_json::to_string(&Said::Emitted).unwrap();
        let failed = serde_json::to_string(&Said::Built(Err("no".to_string()))).unwrap();
        for (does, says) in [
            (format!("echo '{emitted}'; echo '{failed}'"), "no"),
            (format!("echo '{failed}'"), "no"),
            (
                "sleep 60".to_string(),
                "sparsec itself takes longer than 1 s",
            ),
            (
                "exit 3".to_string(),
                "sparsec itself was ended: exit status: 3",
            ),
            (format!("echo '{emitted}'; kill -9 $$"), "signal: 9"),
            ("echo no words; sleep 60".to_string(), "expected"),
        ] {
            let starts = move || {
                let mut command = Command::new("sh");
                command.args(["-c", &format!("while read a; do {does}; done")]);
                Ok(command)
            };
            let mut builder = Builder::of(Box::new(starts), 1, Arc::default());
            for at in 0..2 {
                let error = builder.build(&["unroll(i)".to_string()], at).err();
                assert!(
                    error.as_ref().is_some_and(|e| e.contains(says)),
                    "{says} {error:?}"
                );
            }
        }
    }
}
