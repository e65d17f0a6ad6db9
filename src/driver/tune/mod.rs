//! Searching for schedules by measuring them (paper 002, section 6; paper 001, 7.2): the space
//! ([`space`]: known scripts, [`starts`], and [`decisions`] behind [`bases`]), how a point of it becomes commands
//! ([`express`]), which points are measured
//! ([`search`]), how long and against what ([`race`], [`turns`]), in which processes ([`builders`], [`builder`], [`runner`], [`worker`], [`apart`]),
//! what is known of the data outside of them ([`sets`]),
//! and how a tuning that was ended goes on ([`log`]).

pub mod apart;
pub mod bases;
mod builder;
mod builders;
pub mod decisions;
pub mod express;
pub mod log;
pub mod race;
mod runner;
pub mod search;
mod sets;
pub mod space;
mod starts;
#[cfg(test)]
mod tests;
mod turns;
pub mod worker;

use super::bench::machine::Description;
use super::build::Backend;
use super::cache::{self, Found as Kept};
use super::compile::Request;
use super::{Failure, argument};
use crate::diagnostic::codes::environment as codes;
use crate::diagnostic::{Diagnostic, Sources};
use crate::graph::Graph;
use crate::program::ir::Function;
use log::Logged;
use race::{Fault, Found, Plan, race};
use runner::Machine;
pub use sets::DataSet;
use space::Space;
use std::path::Path;
use std::rc::Rc;

/// What is asked for beside the plan.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'s> {
    pub plan: Plan,
    /// What runs the kernels.
    pub backend: Backend,
    pub threads: u32,
    /// Where measurements are written and read.
    pub log: Option<&'s Path>,
    /// What the cache has of the program.
    pub kept: &'s Kept,
}

/// Searches for a schedule of the request's only function.
///
/// # Errors
/// No compiler; the log cannot be used. Where nothing that is tried runs, what became of it comes back inside.
pub fn tune(
    request: &Request,
    function: &Function,
    data: &[DataSet],
    settings: Settings,
    sources: &mut Sources,
    tell: &mut dyn FnMut(f64, Option<f64>, usize),
) -> Result<Result<Found, Vec<Fault>>, Failure> {
    let graph = Graph::build(&Rc::new(function.clone()))?;
    let automatic = starts::automatic(request, &graph, sources);
    let scripts = if settings.plan.scratch {
        Vec::new()
    } else {
        starts::all(request, &graph, settings.kept, sources)?
    };
    let extents = sets::extents(data);
    let space = Space::new(&graph, request.target, scripts, &extents);
    // What is only there to be complete comes behind the usual choices of free genes.
    let is_last = |at: &usize| {
        let name = &space.scripts[*at].name;
        name == starts::LAST || name.starts_with(starts::OTHER)
    };
    let (last, known): (Vec<usize>, Vec<usize>) = (0..space.scripts.len()).partition(is_last);
    let usual = |all: Vec<usize>| all.into_iter().map(|at| space.usual(at));
    let bases = (0..space.bases.len()).map(|base| space.usual(space.scripts.len() + base));
    let starts = usual(known).chain(bases).chain(space.shapes(0));
    let starts: Vec<_> = starts.chain(usual(last)).collect();
    let machine = Machine::start(
        request,
        (settings.backend, settings.threads, settings.plan.budget),
        data.len(),
        sources,
    )?;
    // Other starts, or parameters of theirs, lead elsewhere.
    let mut of = identity(function, data, &settings);
    for script in &space.scripts {
        of += &format!(" {} {:?}", script.name, script.commands);
    }
    let of = cache::short_hash(&of);
    let mut log = match settings.log {
        Some(path) => Some(log::open(path, &of).map_err(|e| no_log(path, &e, sources))?),
        None => None,
    };
    let (file, lines) = match &mut log {
        Some((file, lines)) => (Some(file), std::mem::take(lines)),
        None => (None, Vec::new()),
    };
    let mut runner = Logged::new(machine, &lines, file);
    Ok(race(
        &space,
        &settings.plan,
        starts,
        &automatic,
        &mut runner,
        tell,
    ))
}

/// What measurements are of: those of another program, data, plan, machine or compiler are not
/// read.
#[must_use]
pub fn identity(function: &Function, sets: &[DataSet], settings: &Settings) -> String {
    let canonical = cache::key::Canonical::of(function);
    let mut text = format!(
        "{} {:?} {} {} {}",
        cache::key::build(),
        settings.plan.kind,
        settings.plan.seed,
        settings.threads,
        settings.plan.scratch
    );
    let machine = Description::of(settings.backend);
    // With the numbers of a model, which another profile changes.
    text += &format!("{:?}", settings.backend);
    text += &cache::key::device(&machine);
    for part in [&machine.compiler, &machine.version, &machine.flags] {
        text += &format!(" {part}");
    }
    text += &canonical.text;
    text += &canonical.all_names().join(" ");
    for set in sets {
        text += &set.name;
        for tensor in &set.tensors {
            text += &format!(" {:?}", tensor.summary);
        }
    }
    cache::short_hash(&text)
}

/// Serves jobs of a tuning: the process of [`worker`].
///
/// # Errors
/// As [`worker::serve`].
pub fn serve(
    request: &Request,
    plain: &Path,
    sets: &[Vec<String>],
    sources: &mut Sources,
) -> Result<(), Failure> {
    let own = runner::plain(request);
    let compiled = super::compile(&own, sources)?;
    let (Some(function), Some(kernel)) =
        (compiled.program.functions.first(), compiled.kernels.first())
    else {
        return Ok(());
    };
    let mut data = Vec::new();
    for set in sets {
        data.push(super::bind::bind(function, set, sources)?);
    }
    worker::serve(function, kernel, plain, &data, sources)
}

/// Compiles schedules of a tuning: the process of [`builder`].
///
/// # Errors
/// Nobody listens, or speaks.
pub fn build(request: &Request, backend: Backend, folder: &Path) -> std::io::Result<()> {
    // What it has started ends with it.
    apart::die_with_parent(libc::SIGTERM);
    builder::serve(request, backend, folder)
}

/// The diagnostic of a function of which nothing ran.
#[must_use]
pub fn nothing_runs(function: &Function) -> Diagnostic {
    Diagnostic::error(
        codes::NOTHING_RUNS,
        function.span,
        "no schedule was measured: none was accepted and ran within its limits",
        "of this function",
    )
    .with_help("a larger --budget has time for more; `sparsec run` says whether it runs at all")
}

fn no_log(path: &Path, error: &std::io::Error, sources: &mut Sources) -> Failure {
    let text = path.display().to_string();
    let span = argument(sources, "command line", &text);
    Failure::Environment(
        Diagnostic::error(
            codes::UNWRITABLE,
            span,
            format!("cannot write {text}: {error}"),
            "measurements go there",
        )
        .with_help("name another file with --log"),
    )
}
