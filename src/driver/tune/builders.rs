//! Compilers beside measurements: schedules are compiled in the order in which they are asked for, and
//! while threads are timed, by so many compilers as leave each of these a core.

use super::builder::Builder;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A schedule's library, and one that checks what it promises.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Built {
    pub(super) library: PathBuf,
    pub(super) checked: Option<PathBuf>,
}

/// Why a schedule has no library.
pub(super) type Outcome = Result<Built, String>;

/// Threads that compile.
pub(super) struct Builders {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// What is being compiled nobody waits for.
    over: Arc<AtomicBool>,
}

/// Compiles a schedule, of this number.
type Compile = Box<dyn FnMut(&[String], usize) -> Outcome>;
/// What a thread compiles with.
type Compiler = dyn Fn() -> Compile + Send + Sync;

struct Shared {
    compiler: Box<Compiler>,
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
        let mut compile = (self.compiler)();
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
            let build = || compile(&script, number);
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
    /// Compilers of a request's schedules, into a folder, which may take so many seconds for each.
    pub(super) fn start(folder: &Path, seconds: u64) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        let (folder, over) = (folder.to_path_buf(), Arc::<AtomicBool>::default());
        let ends = Arc::clone(&over);
        let compiler = move || -> Compile {
            let mut builder = Builder::new(&folder, seconds, Arc::clone(&ends));
            Box::new(move |script, number| builder.build(script, number))
        };
        Self::with(cores, Box::new(compiler), over)
    }

    fn with(cores: usize, compiler: Box<Compiler>, over: Arc<AtomicBool>) -> Self {
        let shared = Arc::new(Shared {
            compiler,
            cores,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let threads = (0..cores).map_while(|_| {
            let own = Arc::clone(&shared);
            // Without memory for one more thread the others do its work.
            std::thread::Builder::new()
                .spawn(move || own.compile())
                .ok()
        });
        let threads = threads.collect();
        Builders {
            shared,
            threads,
            over,
        }
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
        self.over.store(true, Ordering::Relaxed);
        self.shared.state().ends = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    fn script(n: usize) -> Vec<String> {
        vec![format!("unroll(i, {n})")]
    }

    /// What runs at a time, and what is to be compiled.
    fn counted(cores: usize, fails: usize) -> (Builders, Arc<AtomicUsize>, Arc<AtomicUsize>) {
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (own, highest) = (Arc::clone(&running), Arc::clone(&most));
        let compile = move |script: &[String], _: usize| {
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
        let compiler = move || -> Compile { Box::new(compile.clone()) };
        (
            Builders::with(cores, Box::new(compiler), Arc::default()),
            running,
            most,
        )
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
