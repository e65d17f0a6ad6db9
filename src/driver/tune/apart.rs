//! A copy of a process (`fork`) for what may end badly, with limits of time and memory: what hangs,
//! crashes, eats memory or writes where it must not costs that copy alone.

use super::worker::Outcome;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

/// What a copy may take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// By the clock.
    pub seconds: f64,
    pub memory: Memory,
    /// Each has a stack and an arena of its own.
    pub threads: u32,
}

/// Bytes beyond those of this process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Memory {
    /// Of address space: what asks for more is told that there is none.
    Address(u64),
    /// Of memory that is used, for what reserves more than there is (drivers of devices, the emulator): whoever
    /// watches ends what takes more.
    Resident(u64),
}

/// How many times the memory of kernels it takes to look at what they made: a result is copied, and its elements
/// are listed with their coordinates. That it is large is not to look like a crash.
const RESULTS: u64 = 16;
/// What a copy says before it compares results, and before it runs kernels again.
const COMPARES: &[u8] = b"comparing\n";
const RUNS: &[u8] = b"running\n";
/// What it may take to compare them: the judge is asked where they differ.
const JUDGING: f64 = 600.0;
/// Between two looks at the memory of a copy.
const BETWEEN: Duration = Duration::from_millis(5);

impl Limits {
    /// What a copy may take of its kind of memory, of which this process has so much, while kernels run, and while
    /// their results are looked at.
    fn bytes(&self, now: u64) -> [u64; 2] {
        let (kernels, own) = match self.memory {
            Memory::Address(bytes) => (now + u64::from(self.threads) * (160 << 20) + bytes, bytes),
            Memory::Resident(bytes) => (now + bytes, bytes),
        };
        [kernels, kernels.saturating_add(own.saturating_mul(RESULTS))]
    }
}

/// A copy, as it sees itself.
pub(super) struct Apart {
    to: std::fs::File,
    /// Bytes of address space for kernels, and for looking at their results.
    address: Option<[u64; 2]>,
}

impl Apart {
    /// From now on it compares results: that takes its time and memory, which are not the candidate's.
    pub(super) fn compares(&self) {
        let _ = { &self.to }.write_all(COMPARES);
        self.allow(1);
    }

    /// From now on kernels run.
    pub(super) fn runs(&self) {
        self.allow(0);
        let _ = { &self.to }.write_all(RUNS);
    }

    fn tell(mut self, outcome: &Outcome) -> std::io::Result<()> {
        self.to
            .write_all(serde_json::to_string(outcome)?.as_bytes())
    }

    /// Sets the limit of what follows; a limit that the system does not know stays as it was.
    fn allow(&self, at: usize) {
        if let Some(bytes) = self.address {
            limit_memory(bytes[at], bytes[1]);
        }
    }

    /// Sets the limits of this process, for good.
    #[cfg(unix)]
    fn limit(to: std::fs::File, limits: &Limits) -> Self {
        let is_address = matches!(limits.memory, Memory::Address(_));
        let now = pages("self", 0).filter(|_| is_address);
        // SAFETY: these take numbers; what cannot be set stays as it was.
        unsafe {
            let none = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
            if is_address {
                libc::setrlimit(libc::RLIMIT_FSIZE, &raw const none);
            }
            // What kernels print goes nowhere: standard output is the report's.
            let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            if nowhere >= 0 {
                for fd in 0..3 {
                    libc::dup2(nowhere, fd);
                }
            }
        }
        let apart = Apart {
            to,
            address: now.map(|now| limits.bytes(now)),
        };
        apart.allow(0);
        apart
    }
}

/// Bytes of address space of a process (0), or of memory that it uses (1), where the system says so.
fn pages(process: &str, column: usize) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let pages: u64 = text.split(' ').nth(column)?.parse().ok()?;
    // SAFETY: it is asked for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Some(pages * u64::try_from(page).ok()?)
}

/// Asks the system to end this process where the one that started it ends, by a signal.
pub(super) fn die_with_parent(signal: std::ffi::c_int) {
    #[cfg(target_os = "linux")]
    // SAFETY: it asks for a signal, and touches no memory.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, signal);
    }
}

/// Sets the address space that this process may have, and what it may give to others. It leaves no core behind.
pub(super) fn limit_memory(bytes: u64, most: u64) {
    #[cfg(unix)]
    // SAFETY: it takes two numbers; what cannot be set stays as it was.
    unsafe {
        let limits = libc::rlimit {
            rlim_cur: bytes,
            rlim_max: most,
        };
        libc::setrlimit(libc::RLIMIT_AS, &raw const limits);
        let none = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
    }
}

/// Waits until there is something to read, or the end; `false` if there is none in this time.
#[cfg(unix)]
pub(super) fn has_words(from: &impl std::os::fd::AsRawFd, at_most: Duration) -> bool {
    let mut waits = libc::pollfd {
        fd: from.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let millis = libc::c_int::try_from(at_most.as_millis()).unwrap_or(libc::c_int::MAX - 1);
    // SAFETY: one descriptor, which is open.
    unsafe { libc::poll(&raw mut waits, 1, millis.saturating_add(1)) > 0 }
}

/// Runs something in a copy of this process, which must have no other thread that holds locks.
///
/// # Errors
/// There is no copy.
#[cfg(unix)]
pub(super) fn apart(
    limits: &Limits,
    run: impl FnOnce(&Apart) -> Outcome,
) -> std::io::Result<Outcome> {
    use std::os::fd::FromRawFd;
    let mut ends = [0; 2];
    // SAFETY: two descriptors are written into the array.
    if unsafe { libc::pipe(ends.as_mut_ptr()) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: both are new, and nobody else's.
    let (from, to) = unsafe {
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
        die_with_parent(libc::SIGKILL);
        let apart = Apart::limit(to, limits);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            if std::os::unix::process::parent_id() != own {
                // It has ended already.
                return Outcome::TimedOut;
            }
            run(&apart)
        }));
        let outcome = outcome.unwrap_or(Outcome::Crashed(libc::SIGABRT));
        let _ = apart.tell(&outcome);
        // SAFETY: nothing of this copy is to be dropped or flushed.
        unsafe { libc::_exit(0) };
    }
    drop(to);
    let (text, ended) = watched(from, child, limits);
    let mut status = 0;
    // SAFETY: it is our child, and was not waited for.
    unsafe {
        if ended.is_some() {
            libc::kill(child, libc::SIGKILL);
        }
        while libc::waitpid(child, &raw mut status, 0) < 0
            && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
        {}
    }
    if let Some(outcome) = ended {
        return Ok(outcome);
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

/// Listens to a copy until it has ended, or is to be ended: what it said, and why.
#[cfg(unix)]
fn watched(
    mut from: std::fs::File,
    child: libc::pid_t,
    limits: &Limits,
) -> (Vec<u8>, Option<Outcome>) {
    let after = |seconds: f64| Instant::now() + Duration::from_secs_f64(seconds.max(0.0));
    let mut until = after(limits.seconds);
    // What it may use while kernels run, and while their results are looked at.
    let mut most = match limits.memory {
        Memory::Address(_) => None,
        Memory::Resident(_) => pages("self", 1).map(|now| limits.bytes(now)),
    };
    let used = || pages(&child.to_string(), 1);
    // What it used when it began to look at results, if it does.
    let mut compares = None;
    let mut text = Vec::new();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if has_words(&from, most.map_or(left, |_| left.min(BETWEEN))) {
            let mut piece = [0; 4096];
            match from.read(&mut piece) {
                Ok(0) | Err(_) => return (text, None),
                Ok(count) => text.extend_from_slice(&piece[..count]),
            }
        }
        // What it says next may have come with it.
        let said = [(COMPARES, JUDGING), (RUNS, limits.seconds)];
        while let Some((said, seconds)) = said.iter().find(|(said, _)| text.starts_with(said)) {
            text.drain(..said.len());
            until = after(*seconds);
            let before = match *said == COMPARES {
                true => std::mem::replace(&mut compares, used()),
                false => compares.take(),
            };
            // What is kept of that is not the kernels'.
            if let (Some([kernels, _]), Some(before), Some(now)) = (&mut most, before, used()) {
                *kernels += now.saturating_sub(before);
            }
        }
        if let (Some(most), Some(now)) = (most, used())
            && now > most[usize::from(compares.is_some())]
        {
            return (text, Some(Outcome::OutOfMemory));
        }
        if Instant::now() >= until {
            return (text, Some(Outcome::TimedOut));
        }
    }
}

#[cfg(not(unix))]
pub(super) fn apart(_: &Limits, _: impl FnOnce(&Apart) -> Outcome) -> std::io::Result<Outcome> {
    Err(std::io::Error::other("processes cannot be copied here"))
}
