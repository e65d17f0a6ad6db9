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
use std::time::Duration;

/// Programs nest as deeply as the parser allows.
const STACK: usize = 256 << 20;

/// Between two looks whether a thread has ended.
const BETWEEN: Duration = Duration::from_millis(5);

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

/// Compiles a schedule, of this number.
type Compile = dyn Fn(&[String], usize) -> Outcome + Send + Sync;

struct Shared {
    compile: Box<Compile>,
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
    /// What is waited for: once it is there, its threads are going to be timed.
    awaited: Option<Vec<String>>,
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
            let wanted = state
                .awaited
                .as_ref()
                .and_then(|script| state.built.get(script));
            let is_free =
                state.running + state.timed < self.cores && !wanted.is_some_and(Option::is_some);
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
            let build = || (self.compile)(&script, number);
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
        let (request, folder) = (request.clone(), folder.to_path_buf());
        let compile =
            move |script: &[String], number| build((&request, backend), script, number, &folder);
        Self::with(cores, Box::new(compile))
    }

    fn with(cores: usize, compile: Box<Compile>) -> Self {
        let shared = Arc::new(Shared {
            compile,
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

    /// Has schedules compiled, each once, instead of those that were wanted before.
    pub(super) fn want(&self, scripts: &[Vec<String>]) {
        let mut state = self.shared.state();
        for script in std::mem::take(&mut state.wanted) {
            state.built.remove(&script);
        }
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
        if self.threads.is_empty() {
            return Err("there is no thread to compile it".to_string());
        }
        let mut state = self.shared.state();
        if !state.built.contains_key(script) {
            state.built.insert(script.clone(), None);
            state.wanted.push_front(script.clone());
        }
        state.awaited = Some(script.clone());
        self.shared.changed.notify_all();
        let is_there = |state: &State| state.built.get(script).is_none_or(Option::is_some);
        let state = self.shared.wait(state, is_there);
        let built = state.built.get(script).cloned().flatten();
        built.unwrap_or_else(|| Err("it was not compiled".to_string()))
    }

    /// Runs what times so many threads, once they have their cores.
    pub(super) fn timed<T>(&self, threads: usize, run: impl FnOnce() -> T) -> T {
        let mut state = self.shared.state();
        // No compiler starts that they have no core for.
        state.timed = threads.min(self.shared.cores);
        state.awaited = None;
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
        for thread in self.threads.drain(..) {
            // What it compiles nobody waits for; it may start several compilers for that.
            while !thread.is_finished() {
                cleanup::end_programs();
                std::thread::sleep(BETWEEN);
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn script(n: usize) -> Vec<String> {
        vec![format!("unroll(i, {n})")]
    }

    /// What runs at a time, and what is to be compiled.
    fn counted(cores: usize, fails: usize) -> (Builders, Arc<AtomicUsize>, Arc<AtomicUsize>) {
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (own, highest) = (Arc::clone(&running), Arc::clone(&most));
        let compile = move |script: &[String], _| {
            let now = own.fetch_add(1, Ordering::SeqCst) + 1;
            highest.fetch_max(now, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(3));
            own.fetch_sub(1, Ordering::SeqCst);
            assert!(script != self::script(fails), "planted");
            Ok(Built {
                library: PathBuf::from(&script[0]),
                checked: None,
            })
        };
        (Builders::with(cores, Box::new(compile)), running, most)
    }

    #[test]
    fn what_is_timed_has_its_cores() {
        for threads in 1..=4 {
            let (builders, running, most) = counted(3, 5);
            let all: Vec<Vec<String>> = (0..9).map(script).collect();
            builders.want(&all);
            for (n, one) in all.iter().enumerate() {
                let built = builders.library(one);
                match n {
                    5 => assert_eq!(built.err().unwrap(), "sparsec itself fails"),
                    _ => assert_eq!(built.unwrap().library, PathBuf::from(&one[0])),
                }
                let most_beside = builders.timed(threads, || {
                    let looks = (0..4).map(|_| {
                        std::thread::sleep(Duration::from_millis(1));
                        running.load(Ordering::SeqCst)
                    });
                    looks.max().unwrap()
                });
                assert!(
                    most_beside <= 3 - threads.min(3),
                    "{threads}: {most_beside}"
                );
            }
            assert!(most.load(Ordering::SeqCst) <= 3);
        }
    }

    #[test]
    fn what_nobody_waits_for_is_not_compiled() {
        let (builders, _, _) = counted(1, 99);
        builders.want(&(0..50).map(script).collect::<Vec<_>>());
        builders.want(&[script(77)]);
        assert!(builders.library(&script(77)).is_ok());
        // Not asked for before, or no more.
        assert!(builders.library(&script(40)).is_ok());
        builders.want(&(0..50).map(script).collect::<Vec<_>>());
        drop(builders);
    }
}
