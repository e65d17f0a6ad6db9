//! A folder to work in of which everything is known before and after.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What a place holds: each path with the content of a file, or what else it is.
pub type Contents = BTreeMap<String, String>;

/// Compilers, each started as `sh SCRIPT`. (To write programs and start them is a race with
/// other threads that start programs.)
const SCRIPTS: &[(&str, &str)] = &[
    ("silent", "exit 1"),
    ("wordy", "echo no licence >&2; exit 1"),
    ("killed", "kill -9 $$"),
    ("greedy", "exec head -c 10000000 /dev/zero >kernels.so"),
    ("crashing", CRASHING),
    ("asleep", ASLEEP),
    ("stubborn", "trap '' TERM; . $ASIDE/asleep"),
    // The race checker's kernel is the second one.
    (
        "second",
        "if [ -e $ASIDE/first ]; then . $ASIDE/asleep; fi; >$ASIDE/first; exec cc \"$@\"",
    ),
];

/// It starts another program and leaves files, as gcc does.
const ASLEEP: &str = ">$TMPDIR/scratch; >partial.o; sleep 1000 & echo $$ $! >>$ASIDE/pids; wait";

/// It builds what crashes when it is called.
const CRASHING: &str = "
cat >calls.c <<END
int sparsec_call_0(void **args);
int sparsec_call_0(void **args) {
    volatile int *volatile nowhere = 0;
    (void)args;
    return *nowhere = 1;
}
END
exec cc \"$@\"";

/// Included ahead of a kernel: its first sine says that it was reached, and never ends.
const ENDLESS: &str = "
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static double endless(double x) {
    char name[4096];
    snprintf(name, sizeof name, \"%s/kernel\", getenv(\"ASIDE\"));
    fclose(fopen(name, \"w\"));
    for (;;) pause();
    return x;
}
#define sin endless
";

/// The folder to work in, with `tmp` for temporary files, and one aside for scripts and what
/// they say.
pub struct Place {
    folder: tempfile::TempDir,
    aside: tempfile::TempDir,
}

impl Place {
    /// With a program `k.tc`, one that is long (and neither is formatted), an empty `tmp`, a `file`
    /// that is no folder, old results, a link to a full device, and pipes where programs, data,
    /// results and headers may stand.
    pub fn new() -> Place {
        let place = Place {
            folder: tempfile::tempdir().unwrap(),
            aside: tempfile::tempdir().unwrap(),
        };
        for folder in ["tmp", "old", "full", "slow", "folder.npy"] {
            fs::create_dir(place.path(folder)).unwrap();
        }
        for file in ["file", "old/k.c", "old/k.h", "old/y.npy", "full/k.c"] {
            fs::write(place.path(file), "what was there").unwrap();
        }
        let program = "def f(double(N)  x) -> (y) { y(i) = x(i) }\n";
        fs::write(place.path("k.tc"), program).unwrap();
        fs::write(place.path("long.tc"), program.repeat(500)).unwrap();
        for link in ["full/k.h", "full/y.tns"] {
            std::os::unix::fs::symlink("/dev/full", place.path(link)).unwrap();
        }
        for pipe in ["pipe.tc", "pipe.tns", "slow/k.h"] {
            let made = Command::new("mkfifo").arg(place.path(pipe)).status();
            assert!(made.unwrap().success());
        }
        for (name, text) in SCRIPTS.iter().chain(&[("endless.h", ENDLESS)]) {
            fs::write(place.aside(name), text).unwrap();
        }
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn aside(&self, name: &str) -> PathBuf {
        self.aside.path().join(name)
    }

    /// Words in which `@` is the folder aside.
    pub fn named(&self, text: &str) -> String {
        text.replace('@', self.aside.path().to_str().unwrap())
    }

    /// Everything that is there.
    pub fn contents(&self) -> Contents {
        let mut all = Contents::new();
        list(self.folder.path(), "", &mut all);
        all
    }

    /// What came, went or changed since then.
    pub fn differs(&self, before: &Contents) -> Vec<String> {
        let now = self.contents();
        let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        let differ = names
            .into_iter()
            .filter(|name| before.get(*name) != now.get(*name));
        differ.cloned().collect()
    }

    /// `sparsec` with these arguments, in this place; its output goes aside.
    pub fn sparsec(&self, args: &str) -> Command {
        self.command(env!("CARGO_BIN_EXE_sparsec"), &words(args))
    }

    pub fn command(&self, program: &str, args: &[String]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.folder.path());
        for other in ["CC", "CXX", "NVCC", "NO_COLOR"] {
            command.env_remove(other);
        }
        command.env("ASIDE", self.aside.path());
        command.env("TMPDIR", self.path("tmp"));
        command.env("SPARSEC_EMULATOR", "1");
        command.env("SPARSEC_CFLAGS", "-O1");
        command.stdin(Stdio::null());
        command.stdout(File::create(self.aside("stdout")).unwrap());
        command.stderr(File::create(self.aside("stderr")).unwrap());
        // Whoever runs the tests may ignore signals.
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGTERM] {
            disposition(&mut command, signal, libc::SIG_DFL);
        }
        command
    }

    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.aside("stdout")).unwrap()).into_owned()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.aside("stderr")).unwrap()).into_owned()
    }
}

/// Arguments as a shell takes them apart.
pub fn words(args: &str) -> Vec<String> {
    shlex::split(args).unwrap()
}

fn list(folder: &Path, above: &str, all: &mut Contents) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = format!("{above}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().unwrap();
        let content = if kind.is_dir() {
            list(&entry.path(), &format!("{name}/"), all);
            "<folder>".to_string()
        } else if kind.is_fifo() {
            "<pipe>".to_string()
        } else if kind.is_symlink() {
            format!(
                "<link to {}>",
                fs::read_link(entry.path()).unwrap().display()
            )
        } else {
            String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned()
        };
        all.insert(name, content);
    }
}

/// What the command does on a signal at its start.
pub fn disposition(command: &mut Command, signal: i32, how: libc::sighandler_t) {
    // SAFETY: `signal` may be called between fork and exec.
    unsafe {
        command.pre_exec(move || {
            libc::signal(signal, how);
            Ok(())
        });
    }
}

/// Lets the command, and what it starts, write no file beyond so many bytes.
pub fn limit(command: &mut Command, bytes: u64) {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    // SAFETY: `setrlimit` may be called between fork and exec.
    unsafe {
        command.pre_exec(
            move || match libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            },
        );
    }
}

/// Waits for what another process does.
pub fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "waited in vain: {what}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for a process, but not for ever.
pub fn end(what: &str, child: &mut Child) -> ExitStatus {
    let mut status = None;
    wait_for(what, || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}
