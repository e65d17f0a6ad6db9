//! What must not outlive the process: temporary files and folders, and the compilers that run.
//!
//! Values remove what they made when they are dropped, but a signal drops nothing. So what is
//! made is registered here; a thread waits for the signals that end a process, ends the
//! compilers, removes the files, and lets the signal do what it does without it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is registered.
struct Held {
    paths: Vec<PathBuf>,
    /// Process groups, by the process that leads each.
    groups: Vec<u32>,
}

/// Whether what this process starts stays in its group: whoever started it ends all of that at once.
static IS_PART: AtomicBool = AtomicBool::new(false);

/// From now on programs stay in the group of this process, which leads one.
pub fn stay_in_group() {
    IS_PART.store(true, Ordering::Relaxed);
}

static HELD: Mutex<Held> = Mutex::new(Held {
    paths: Vec::new(),
    groups: Vec::new(),
});

fn held() -> MutexGuard<'static, Held> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something temporary on disk: removed when it is dropped, and by signals.
pub struct Temporary<T> {
    // Dropped in this order: what is still there is still noted.
    made: T,
    note: Note,
}

/// That a path is registered.
pub struct Note(PathBuf);

impl Drop for Note {
    fn drop(&mut self) {
        held().paths.retain(|path| *path != self.0);
    }
}

impl<T: AsRef<Path>> Temporary<T> {
    /// Makes it.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn make(make: impl FnOnce() -> io::Result<T>) -> io::Result<Self> {
        // No signal comes between the making and the note.
        let mut held = held();
        let made = make()?;
        let path = made.as_ref().to_path_buf();
        held.paths.push(path.clone());
        Ok(Temporary {
            made,
            note: Note(path),
        })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.made.as_ref()
    }

    pub fn made(&mut self) -> &mut T {
        &mut self.made
    }

    /// What was made, which shall stay, and the note, to be dropped once it is in its place.
    pub fn into_parts(self) -> (T, Note) {
        (self.made, self.note)
    }
}

/// A folder for temporary files.
pub type Folder = Temporary<tempfile::TempDir>;

impl Folder {
    /// # Errors
    /// There is no room for one: see `TMPDIR`.
    pub fn new() -> io::Result<Folder> {
        Temporary::make(tempfile::tempdir)
    }
}

/// A program that runs, with all that it starts. One that is dropped is ended.
pub struct Running(Option<Child>);

impl Running {
    /// Starts a program whose output is kept. What it writes for itself goes to the folder that
    /// it runs in.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Running> {
        let pipes = command.stdin(Stdio::null()).stdout(Stdio::piped());
        pipes.stderr(Stdio::piped());
        if let Some(folder) = command.get_current_dir() {
            let folder = std::path::absolute(folder)?;
            command.env("TMPDIR", folder);
        }
        Self::spawn(command)
    }

    /// Starts a program as the command says.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(command: &mut Command) -> io::Result<Running> {
        #[cfg(unix)]
        if !IS_PART.load(Ordering::Relaxed) {
            std::os::unix::process::CommandExt::process_group(command, 0);
        }
        // No signal comes between the start and the note.
        let mut held = held();
        let child = command.spawn()?;
        if !IS_PART.load(Ordering::Relaxed) {
            held.groups.push(child.id());
        }
        Ok(Running(Some(child)))
    }

    /// The process that was started; `None` if it has been waited for.
    pub fn child(&mut self) -> Option<&mut Child> {
        self.0.as_mut()
    }

    /// # Errors
    /// Its output cannot be read.
    pub fn output(mut self) -> io::Result<Output> {
        let Some(child) = self.0.take() else {
            return Err(io::Error::other("it was waited for"));
        };
        let id = child.id();
        let output = child.wait_with_output();
        forget(id);
        output
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(mut child) = self.0.take() else {
            return;
        };
        // It has files of its own to remove; what does not listen is ended, also what it has left behind.
        #[cfg(unix)]
        {
            use rustix::process::{Pid, Signal, kill_process_group};
            let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            let send = |signal| group.map(|group| kill_process_group(group, signal));
            let _ = send(Signal::TERM);
            for _ in 0..PATIENCE {
                if !matches!(child.try_wait(), Ok(None)) {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            let _ = send(Signal::KILL);
        }
        let _ = child.kill();
        let _ = child.wait();
        forget(child.id());
    }
}

/// That a program has ended.
fn forget(id: u32) {
    held().groups.retain(|group| *group != id);
}

/// Runs a program to its end.
///
/// # Errors
/// As [`Running`].
pub fn output(command: &mut Command) -> io::Result<Output> {
    Running::start(command)?.output()
}

/// From now on signals clean up, and a file that grows too large is an error like a full disk.
#[cfg(unix)]
pub fn install() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ};
    // Programs that are started get the default back. Where it cannot be set, the process ends
    // as ever.
    let _ = signal_hook::flag::register(SIGXFSZ, std::sync::Arc::default());
    let ends = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU];
    let ends = ends.into_iter().filter(|&signal| !is_ignored(signal));
    let Ok(mut signals) = signal_hook::iterator::Signals::new(ends) else {
        // Without the thread a signal ends the process as ever.
        return;
    };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // To the end: whoever waited for a program must not go on and start another.
            let mut held = held();
            clean(&mut held);
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
}

#[cfg(not(unix))]
pub fn install() {}

/// Whether whoever started this process wants it to live on, as `nohup` does.
#[cfg(unix)]
fn is_ignored(signal: std::ffi::c_int) -> bool {
    // SAFETY: this asks, and changes nothing; zeros are a value of the type.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        let asked = libc::sigaction(signal, std::ptr::null(), &raw mut now);
        asked == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}

/// Ends the programs and removes the files. Whoever would make more waits for the lock.
#[cfg(unix)]
fn clean(held: &mut Held) {
    use rustix::process::{
        Pid, Signal, WaitOptions, kill_process_group, test_kill_process_group, waitpid,
    };
    if IS_PART.load(Ordering::Relaxed) {
        // (This process has the signal already.)
        let own = rustix::process::getpgrp();
        let _ = kill_process_group(own, Signal::TERM);
    }
    let groups = held.groups.drain(..);
    let mut groups: Vec<Pid> = groups
        .filter_map(|group| Pid::from_raw(i32::try_from(group).ok()?))
        .collect();
    for group in &groups {
        let _ = kill_process_group(*group, Signal::TERM);
    }
    // A program that is ending may still write into its folder. One that does not listen is
    // ended.
    for round in 0..PATIENCE + 10 {
        held.paths.retain(|path| {
            let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
            path.exists()
        });
        groups.retain(|group| {
            if round == PATIENCE {
                let _ = kill_process_group(*group, Signal::KILL);
            }
            // Whoever waited for it may be waiting for the lock.
            let _ = waitpid(Some(*group), WaitOptions::NOHANG);
            test_kill_process_group(*group).is_ok()
        });
        if held.paths.is_empty() && groups.is_empty() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// How long programs have to end, in hundredths of a second.
#[cfg(unix)]
const PATIENCE: u32 = 50;
