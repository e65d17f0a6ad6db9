//! A command in an environment, and all that it does.

use crate::place::{Place, end, limit};
use std::fs::OpenOptions;
use std::path::Path;

/// Variables of the environment.
pub type Env = &'static [(&'static str, &'static str)];
pub type Words = &'static [&'static str];

/// A command, and what it does where something is lacking.
#[derive(Default)]
pub struct Case {
    pub args: &'static str,
    /// `@` is the folder of scripts.
    pub env: Env,
    /// How large files may become.
    pub limit: Option<u64>,
    /// Where its output goes; kept if empty.
    pub stdout: &'static str,
    pub stderr: &'static str,
    pub code: i32,
    /// What standard error has to say, piece by piece; nothing at all if there is no piece.
    pub says: Words,
    /// What it must not say.
    pub hides: Words,
    /// What is new afterwards, with all that stands in it. Everything else is as it was.
    pub makes: Words,
}

/// Runs it in a place of its own.
pub fn check(case: &Case) {
    let place = Place::new();
    let before = place.contents();
    let mut command = place.sparsec(case.args);
    for (name, value) in case.env {
        command.env(name, place.named(value));
    }
    if let Some(bytes) = case.limit {
        limit(&mut command, bytes);
    }
    let open = |path: &str| OpenOptions::new().write(true).open(path).unwrap();
    if !case.stdout.is_empty() {
        command.stdout(open(case.stdout));
    }
    if !case.stderr.is_empty() {
        command.stderr(open(case.stderr));
    }
    let what = format!("{:?} {}", case.env, case.args);
    let status = end(&what, &mut command.spawn().unwrap());
    let said = place.stderr();
    assert_eq!(status.code(), Some(case.code), "{what}: {status} {said}");
    for piece in case.says {
        assert!(said.contains(piece), "{what}: no `{piece}` in {said}");
    }
    for piece in case.hides {
        assert!(!said.contains(piece), "{what}: `{piece}` in {said}");
    }
    assert!(!case.says.is_empty() || said.is_empty(), "{what}: {said}");
    for made in case.makes {
        assert!(place.path(made).exists(), "{what}: no {made}");
    }
    let mut differs = place.differs(&before);
    differs.retain(|name| {
        !case
            .makes
            .iter()
            .any(|made| Path::new(name).starts_with(made))
    });
    assert!(differs.is_empty(), "{what}: {differs:?}");
}

pub const RUN: &str = "run -e 'y(i)=2*x(i)' -d i:3 x=ones";
pub const RUN_CUDA: &str = "run -e 'y(i)=2*x(i)' -d i:3 x=ones --target cuda";
/// No program is found.
pub const NOWHERE: Env = &[("PATH", "/nowhere")];
