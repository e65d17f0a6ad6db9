//! Compilers beside measurements: schedules are compiled in the order in which they are asked for, and
//! while threads are timed, by so many compilers as leave each of these a core.

use crate::cleanup;
use crate::diagnostic::Sources;
use crate::driver::build::{Backend, LIBRARY, Trust, compiled, flags, unit};
use crate::driver::compile::{Request, ScheduleChoice, compile};
use crate::emit;
use crate::loops::ir::Kernel;
use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Programs nest as deeply as the parser allows.
const STACK: usize = 256 << 20;

/// A schedule's library, and one that checks what it promises.
#[derive(Clone)]
pub(super) struct Built {
    pub(super) library: PathBuf,
    pub(super) checked: Option<PathBuf>,
}

/// Why a schedule has no library.
type Outcome = Result<Built, String>;

/// Threads that compile.
pub(super) struct Builders {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    request: Request,
    backend: Backend,
    folder: PathBuf,
    cores: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    wanted: VecDeque<Vec<String>>,
    /// What was asked for; `None` until it is compiled.
    built: BTreeMap<Vec<String>, Option<Outcome>>,
    /// Compilers, and threads that are timed.
    running: usize,
    timed: usize,
    /// Nothing is wanted any more.
    ends: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(
        &self,
        state: MutexGuard<'s, State>,
        until: impl Fn(&State) -> bool,
    ) -> MutexGuard<'s, State> {
        let while_not = |state: &mut State| !until(state);
        let reached = self.changed.wait_while(state, while_not);
        reached.unwrap_or_else(PoisonError::into_inner)
    }

    /// Compiles until nothing is wanted any more.
    fn compile(&self) {
        let is_next = |state: &State| {
            let is_free = state.running + state.timed < self.cores;
            state.ends || (is_free && !state.wanted.is_empty())
        };
        let mut state = self.state();
        loop {
            state = self.wait(state, is_next);
            if state.ends {
                return;
            }
            let Some(script) = state.wanted.pop_front() else {
                continue;
            };
            state.running += 1;
            let number = state.built.len() - state.wanted.len();
            drop(state);
            let build = || build((&self.request, self.backend), &script, number, &self.folder);
            let built = std::panic::catch_unwind(AssertUnwindSafe(build));
            let built = built.unwrap_or_else(|_| Err("sparsec itself fails".into()));
            state = self.state();
            state.running -= 1;
            state.built.insert(script, Some(built));
            self.changed.notify_all();
        }
    }
}

impl Builders {
    /// Compilers of a request's schedules, into a folder.
    pub(super) fn start(request: &Request, backend: Backend, folder: &Path) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        let shared = Arc::new(Shared {
            request: request.clone(),
            backend,
            folder: folder.to_path_buf(),
            cores,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let threads = (0..cores).map_while(|_| {
            let own = Arc::clone(&shared);
            let builder = std::thread::Builder::new().stack_size(STACK);
            // Without memory for one more thread the others do its work.
            builder.spawn(move || own.compile()).ok()
        });
        let threads = threads.collect();
        Builders { shared, threads }
    }

    /// Has schedules compiled, each once.
    pub(super) fn want(&self, scripts: &[Vec<String>]) {
        let mut state = self.shared.state();
        for script in scripts {
            if !state.built.contains_key(script) {
                state.built.insert(script.clone(), None);
                state.wanted.push_back(script.clone());
            }
        }
        self.shared.changed.notify_all();
    }

    /// Waits for the library of a schedule.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn library(&self, script: &Vec<String>) -> Outcome {
        self.want(std::slice::from_ref(script));
        if self.threads.is_empty() {
            return Err("there is no thread to compile it".to_string());
        }
        let is_there = |state: &State| state.built.get(script).is_none_or(Option::is_some);
        let state = self.shared.wait(self.shared.state(), is_there);
        let built = state.built.get(script).cloned().flatten();
        built.unwrap_or_else(|| Err("it was not compiled".to_string()))
    }

    /// Runs what times so many threads, once they have their cores.
    pub(super) fn timed<T>(&self, threads: usize, run: impl FnOnce() -> T) -> T {
        let mut state = self.shared.state();
        // No compiler starts that they have no core for.
        state.timed = threads.min(self.shared.cores);
        let have_cores = |state: &State| state.running + state.timed <= self.shared.cores;
        drop(self.shared.wait(state, have_cores));
        let done = run();
        self.shared.state().timed = 0;
        self.shared.changed.notify_all();
        done
    }
}

impl Drop for Builders {
    fn drop(&mut self) {
        self.shared.state().ends = true;
        self.shared.changed.notify_all();
        // What they compile nobody waits for.
        cleanup::end_programs();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Compiles a schedule into libraries of a folder.
fn build(
    (request, backend): (&Request, Backend),
    script: &[String],
    number: usize,
    folder: &Path,
) -> Outcome {
    let mut sources = Sources::default();
    let own = Request {
        schedule: ScheduleChoice::Text {
            name: "candidate.sched".to_string(),
            text: script.join("\n"),
        },
        defines: Vec::new(),
        ..request.clone()
    };
    let program = compile(&own, &mut sources).map_err(|failure| failure.message())?;
    let kernels = program.kernels.as_slice();
    let files = emit::emit(&unit(kernels), backend.target());
    let mut make = |trust: Trust, name: String| {
        let made = compiled(&files, kernels, backend, trust, &flags(), &mut sources);
        let made = made.map_err(|failure| failure.message())?;
        let place = folder.join(name);
        let copied = std::fs::copy(made.path().join(LIBRARY), &place);
        copied.map(|_| place).map_err(|error| error.to_string())
    };
    let promises = kernels.iter().any(Kernel::promises);
    Ok(Built {
        library: make(Trust::Inputs, format!("k{number}.so"))?,
        checked: match promises {
            true => Some(make(Trust::Nothing, format!("k{number}-checked.so"))?),
            false => None,
        },
    })
}
