//! What must not outlive the process: temporary files and folders, and the compilers that run.
//!
//! Values remove what they made when they are dropped, but a signal drops nothing. So what is
//! made is registered here; a thread waits for the signals that end a process, ends the
//! compilers, removes the files, and lets the signal do what it does without it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is registered.
struct Held {
    paths: Vec<PathBuf>,
    /// Process groups, by the process that leads each.
    groups: Vec<u32>,
}

static HELD: Mutex<Held> = Mutex::new(Held {
    paths: Vec::new(),
    groups: Vec::new(),
});

fn held() -> MutexGuard<'static, Held> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file or folder that a signal removes as long as this value lives.
pub struct Registered(PathBuf);

impl Registered {
    #[must_use]
    pub fn new(path: &Path) -> Registered {
        held().paths.push(path.to_path_buf());
        Registered(path.to_path_buf())
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        held().paths.retain(|path| *path != self.0);
    }
}

/// A folder for temporary files, removed when it is dropped and by signals.
pub struct Folder {
    folder: tempfile::TempDir,
    _registered: Registered,
}

impl Folder {
    /// # Errors
    /// There is no room for one: see `TMPDIR`.
    pub fn new() -> io::Result<Folder> {
        let folder = tempfile::tempdir()?;
        let registered = Registered::new(folder.path());
        Ok(Folder {
            folder,
            _registered: registered,
        })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// A program that runs, with all that it starts.
pub struct Running(Child);

impl Running {
    /// Starts a program whose output is kept. What it writes for itself goes to the folder that
    /// it runs in.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Running> {
        let pipes = command.stdin(Stdio::null()).stdout(Stdio::piped());
        pipes.stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        // No signal comes between the start and the note.
        let mut held = held();
        let child = command.spawn()?;
        held.groups.push(child.id());
        Ok(Running(child))
    }

    /// # Errors
    /// Its output cannot be read.
    pub fn output(self) -> io::Result<Output> {
        let id = self.0.id();
        let output = self.0.wait_with_output();
        held().groups.retain(|group| *group != id);
        output
    }
}

/// Runs a program to its end.
///
/// # Errors
/// As [`Running`].
pub fn output(command: &mut Command) -> io::Result<Output> {
    Running::start(command)?.output()
}

/// From now on signals clean up.
#[cfg(unix)]
pub fn install() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM]) else {
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

/// Ends the programs and removes the files. Whoever would make more waits for the lock.
#[cfg(unix)]
fn clean(held: &mut Held) {
    use rustix::process::{Pid, Signal, kill_process_group};
    for group in held.groups.drain(..) {
        if let Some(pid) = i32::try_from(group).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(pid, Signal::TERM);
        }
    }
    // A program that is ending may still write into its folder.
    for _ in 0..50 {
        held.paths.retain(|path| {
            let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
            path.exists()
        });
        if held.paths.is_empty() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
