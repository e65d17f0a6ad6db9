//! Signals, in each phase of the work.

use crate::case::RUN;
use crate::place::{Place, disposition, end, wait_for, words};
use libc::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

/// Work, and how it is known to be in a phase that it does not leave by itself.
struct Phase {
    what: &'static str,
    args: &'static str,
    /// `@` is the folder of scripts.
    env: &'static [(&'static str, &'static str)],
    reached: Reached,
}

enum Reached {
    /// It opened this pipe to read it, and gets nothing.
    Reads(&'static str),
    /// It began to write this pipe, which is full.
    Writes(&'static str),
    /// It wrote this pipe and closed it.
    Wrote(&'static str),
    /// This many compilers sleep.
    Compilers(usize),
    /// The kernel says so.
    Kernel,
    /// A file waits beside its place in this folder; another one is a pipe that nobody reads.
    Staged(&'static str),
}

const PHASES: &[Phase] = &[
    Phase {
        what: "the program is read",
        args: "pipe.tc -o new",
        env: &[],
        reached: Reached::Reads("pipe.tc"),
    },
    Phase {
        what: "data are read",
        args: "run k.tc x=pipe.tns --out y=y.tns",
        env: &[],
        reached: Reached::Reads("pipe.tns"),
    },
    Phase {
        what: "the C compiler runs",
        args: "run k.tc --size N=3 x=ones --out y=old/y.npy",
        env: &[("CC", "sh @/asleep")],
        reached: Reached::Compilers(1),
    },
    Phase {
        what: "a C compiler runs that does not listen",
        args: "run k.tc --size N=3 x=ones",
        env: &[("CC", "sh @/stubborn")],
        reached: Reached::Compilers(1),
    },
    Phase {
        what: "the C++ compilers of kernel and emulator run",
        args: "run k.tc --size N=3 x=ones --target cuda",
        env: &[("CXX", "sh @/asleep")],
        reached: Reached::Compilers(2),
    },
    Phase {
        what: "the kernel runs",
        args: "run -e 'y(i)=sin(x(i))' -d i:3 x=ones --out y=old/y.npy",
        env: &[("SPARSEC_CFLAGS", "-O1 -include @/endless.h")],
        reached: Reached::Kernel,
    },
    Phase {
        what: "the timed kernel runs",
        args: "run -e 'y(i)=sin(x(i))' -d i:3 x=ones --time 5 --json",
        env: &[("SPARSEC_CFLAGS", "-O1 -include @/endless.h")],
        reached: Reached::Kernel,
    },
    Phase {
        what: "results are written",
        args: "run -e 'y(i)=x(i)' -d i:100000 x=ones --out y=old/y.npy --out y=pipe.tns",
        env: &[],
        reached: Reached::Writes("pipe.tns"),
    },
    Phase {
        what: "the judge computes",
        args: "run -e 'y(i)=a(i)*b(j)*c(k)' -d i:2 -d j:5000 -d k:5000 a=ones b=ones c=ones \
            --no-schedule --verify --out y=pipe.tns",
        env: &[],
        reached: Reached::Wrote("pipe.tns"),
    },
    Phase {
        what: "the race checker is compiled",
        args: "run k.tc --size N=3 x=ones --verify",
        env: &[("CC", "sh @/second")],
        reached: Reached::Compilers(1),
    },
    Phase {
        what: "the program's files are written",
        args: "k.tc -o slow",
        env: &[],
        reached: Reached::Staged("slow"),
    },
];

#[test]
fn an_interrupt_leaves_nothing_behind() {
    for phase in PHASES {
        for signal in [SIGINT, SIGTERM] {
            interrupt(phase, signal);
        }
    }
}

#[test]
fn so_do_the_other_signals_that_end_a_process() {
    for signal in [SIGHUP, SIGQUIT, SIGXCPU] {
        interrupt(&PHASES[2], signal);
    }
}

fn interrupt(phase: &Phase, signal: i32) {
    let place = Place::new();
    let before = place.contents();
    let mut command = place.sparsec(phase.args);
    for (name, value) in phase.env {
        command.env(name, place.named(value));
    }
    let mut child = command.spawn().unwrap();
    let mut holds = phase.reached.test(&place);
    wait_for(phase.what, || {
        let ended = child.try_wait().unwrap();
        assert_eq!(ended, None, "{}: {}", phase.what, place.stderr());
        holds()
    });
    send(&child, signal);
    let what = format!("signal {signal} while {}", phase.what);
    let status = end(&what, &mut child);
    // A shell says 128 + signal.
    assert_eq!(status.signal(), Some(signal), "{what}: {status}");
    assert!(
        !place.stderr().contains("error"),
        "{what}: {}",
        place.stderr()
    );
    assert_eq!(place.stdout(), "", "{what}");
    for pid in pids(&place) {
        assert!(!lives(pid), "{what}: {pid:?} lives");
    }
    assert_eq!(place.differs(&before), [""; 0], "{what}");
}

impl Reached {
    /// Asked again and again.
    fn test<'a>(&'a self, place: &'a Place) -> Box<dyn FnMut() -> bool + 'a> {
        match self {
            Reached::Reads(pipe) => {
                let mut held = None;
                Box::new(move || {
                    held = held.take().or_else(|| writer(&place.path(pipe)));
                    held.is_some()
                })
            }
            Reached::Writes(pipe) => {
                let mut reader = reader(&place.path(pipe));
                Box::new(move || reader.read(&mut [0]).is_ok_and(|n| n > 0))
            }
            Reached::Wrote(pipe) => {
                let mut reader = reader(&place.path(pipe));
                let mut some = false;
                Box::new(move || match reader.read(&mut [0; 4096]) {
                    Ok(0) => some,
                    Ok(_) => {
                        some = true;
                        false
                    }
                    Err(_) => false,
                })
            }
            Reached::Compilers(count) => Box::new(move || pids(place).len() == 2 * count),
            Reached::Kernel => Box::new(move || place.aside("kernel").exists()),
            Reached::Staged(folder) => Box::new(move || {
                let mut files = std::fs::read_dir(place.path(folder)).unwrap().flatten();
                files.any(|file| file.file_name().to_string_lossy().starts_with(".sparsec-"))
            }),
        }
    }
}

/// The writing end of a pipe that somebody reads.
fn writer(pipe: &Path) -> Option<File> {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(libc::O_NONBLOCK);
    options.open(pipe).ok()
}

/// The reading end, whether or not somebody writes.
fn reader(pipe: &Path) -> File {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK);
    options.open(pipe).unwrap()
}

fn send(child: &std::process::Child, signal: i32) {
    kill_process(
        Pid::from_child(child),
        Signal::from_named_raw(signal).unwrap(),
    )
    .unwrap();
}

/// The compilers and what they started: whole lines of two.
fn pids(place: &Place) -> Vec<Pid> {
    let said = std::fs::read_to_string(place.aside("pids")).unwrap_or_default();
    let lines = said
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    let words = lines.flat_map(str::split_whitespace);
    words
        .map(|pid| Pid::from_raw(pid.parse().unwrap()).unwrap())
        .collect()
}

/// A process that ended may wait for its parent to notice.
fn lives(pid: Pid) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let zombie = state.is_ok_and(|state| state.contains(") Z"));
    test_kill_process(pid).is_ok() && !zombie
}

/// Nobody cleans up behind a crash: there must be nothing to clean up.
#[test]
#[cfg(target_os = "linux")]
fn a_kernel_that_crashes_leaves_nothing_behind() {
    let place = Place::new();
    let before = place.contents();
    let mut shell = words("-c");
    let without_core = "ulimit -c 0; exec \"$@\"";
    shell.extend([without_core, "sh", env!("CARGO_BIN_EXE_sparsec")].map(String::from));
    shell.extend(words(RUN));
    let mut command = place.command("sh", &shell);
    command.env("CC", place.named("sh @/crashing"));
    let status = end("the kernel crashes", &mut command.spawn().unwrap());
    assert_eq!(status.signal(), Some(libc::SIGSEGV), "{}", place.stderr());
    assert_eq!(place.differs(&before), [""; 0]);
}

/// Who starts it under `nohup` wants it to go on.
#[test]
fn what_is_ignored_stays_ignored() {
    for signal in [SIGHUP, SIGINT] {
        let place = Place::new();
        let mut command = place.sparsec("pipe.tc --stdout");
        disposition(&mut command, signal, libc::SIG_IGN);
        let mut child = command.spawn().unwrap();
        let mut pipe = None;
        wait_for("the program is read", || {
            pipe = writer(&place.path("pipe.tc"));
            pipe.is_some()
        });
        send(&child, signal);
        let text = std::fs::read(place.path("k.tc")).unwrap();
        // It may have ended, if it did not ignore the signal.
        let _ = pipe.take().unwrap().write_all(&text);
        let status = end("the kernel is printed", &mut child);
        assert_eq!(status.code(), Some(0), "{status}: {}", place.stderr());
        assert!(place.stdout().contains("int f("), "{}", place.stdout());
    }
}

/// Who reads a pipe waits for it: to compare it with what would be written is to wait for ever.
#[test]
fn what_is_no_file_is_written_to() {
    let place = Place::new();
    let mut reader = reader(&place.path("slow/k.h"));
    let mut child = place
        .sparsec("k.tc --stdout --depfile slow/k.h")
        .spawn()
        .unwrap();
    let status = end("the rule is written", &mut child);
    assert_eq!(status.code(), Some(0), "{}", place.stderr());
    let mut rule = String::new();
    reader.read_to_string(&mut rule).unwrap();
    assert!(rule.contains("k.tc"), "{rule}");
}
