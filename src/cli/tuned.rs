//! `--tuned`: the schedule that the cache has for a program.

use super::Reporter;
use super::request::only_function;
use crate::diagnostic::codes::environment as codes;
use crate::diagnostic::{Diagnostic, Severity};
use crate::driver::bench::machine::Description;
use crate::driver::bind::{self, Bound};
use crate::driver::cache::key::{Canonical, Key, Likeness};
use crate::driver::cache::{self, Cache, Found, Ignored, Kind};
use crate::driver::{self, Failure, Request, ScheduleChoice, argument, device};
use crate::program::ir::Function;
use crate::target::Target;

/// The request with the schedule that was found for data like this; as it was if there is none. The
/// data is kept.
///
/// # Errors
/// As compiling and binding.
pub(super) fn with_data(
    request: Request,
    bindings: &[String],
    known: &mut Option<Bound>,
    reporter: &mut Reporter,
) -> Result<Request, Failure> {
    found(request, Some((bindings, known)), reporter)
}

/// The request with the schedule that was found last, whatever the data.
///
/// # Errors
/// As compiling.
pub(super) fn without_data(request: Request, reporter: &mut Reporter) -> Result<Request, Failure> {
    found(request, None, reporter)
}

fn found(
    request: Request,
    data: Option<(&[String], &mut Option<Bound>)>,
    reporter: &mut Reporter,
) -> Result<Request, Failure> {
    let Some(cache) = Cache::of_environment(&mut reporter.sources)? else {
        say_none(reporter, "SPARSEC_CACHE is off");
        return Ok(request);
    };
    let plain = Request {
        schedule: ScheduleChoice::None,
        defines: Vec::new(),
        ..request.clone()
    };
    let compiled = driver::compile(&plain, &mut reporter.sources)?;
    let (function, _) = only_function(&compiled, &mut reporter.sources)?;
    let mut likeness = Vec::new();
    if let Some((bindings, known)) = data {
        let bound = bind::bind(function, bindings, &mut reporter.sources)?;
        likeness.push(Likeness::of(function, &bound));
        *known = Some(bound);
    }
    let kept = of_function(&cache, function, request.target, &likeness);
    for one in &kept.ignored {
        ignored(one, reporter);
    }
    for (entry, commands) in kept.fitting {
        let tuned = Request {
            schedule: ScheduleChoice::Text {
                name: format!("tuned:{}", entry.id()),
                text: commands.join("\n"),
            },
            ..request.clone()
        };
        // Whoever wrote it: what the compiler refuses is not used.
        match driver::compile(&tuned, &mut reporter.sources) {
            Ok(_) => return Ok(tuned),
            Err(failure) => {
                let path = cache.path(Kind::Schedule, &entry.file_name());
                let reason = format!("its schedule is refused: {}", failure.message());
                ignored(&Ignored { path, reason }, reporter);
            }
        }
    }
    match kept.near.first() {
        Some((_, _, why)) => say_none(reporter, &format!("there is one for {why}")),
        None => say_none(reporter, "`sparsec tune` finds one"),
    }
    Ok(request)
}

/// What the cache has for a function on this machine.
pub(super) fn of_function(
    cache: &Cache,
    function: &Function,
    target: Target,
    data: &[Likeness],
) -> Found {
    let backend = device::backend(target, false);
    let canonical = Canonical::of(function);
    let key = Key::of(&canonical, backend, &Description::of(backend));
    cache::tuned(cache, &key, &canonical.all_names(), data)
}

/// Says that a file of the cache is not used.
pub(super) fn ignored(one: &Ignored, reporter: &mut Reporter) {
    let path = one.path.display().to_string();
    let span = argument(&mut reporter.sources, "cache", &path);
    let message = format!("{path} is ignored: {}", one.reason);
    let note = Diagnostic::new(
        Severity::Note,
        codes::CACHE_IGNORED,
        span,
        message,
        "not used",
    );
    reporter.say(&note.with_help("`sparsec cache clear` removes what is kept"));
}

fn say_none(reporter: &mut Reporter, why: &str) {
    let span = argument(&mut reporter.sources, "command line", "--tuned");
    let note = Diagnostic::new(
        Severity::Note,
        codes::NOT_TUNED,
        span,
        format!("there is no tuned schedule for this program, machine and data: {why}"),
        "compiled with its own schedule",
    );
    reporter.say(&note.with_help("`sparsec tune` searches for one, and keeps it"));
}
