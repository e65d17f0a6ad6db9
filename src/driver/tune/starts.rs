//! What a search starts from: scripts that are known to fit the program.

use super::space::Script;
use crate::diagnostic::Sources;
use crate::driver::cache::Found as Kept;
use crate::driver::cache::key::{Canonical, renamed};
use crate::driver::choice::alternatives;
use crate::driver::compile::{self, Request, ScheduleChoice};
use crate::driver::schedules::{Schedules, commands_of, named};
use crate::driver::{Failure, auto};
use crate::graph::Graph;
use crate::program::{self, ir::Program};
use crate::schedule::{self, Settings, Target, builtin};
use crate::syntax;
use crate::syntax::ast::{Command, ExprKind, Number};

/// Neighbours in the cache that are starts.
const NEIGHBOURS: usize = 5;

/// What sparsec chooses where a program has no schedule.
pub(super) fn automatic(request: &Request, graph: &Graph, sources: &mut Sources) -> Vec<String> {
    let asked = (request.target, &request.statistics);
    let commands = auto::single(&graph.function, asked, sources);
    let applied = schedule::apply(graph.clone(), &commands, &settings(request.target));
    applied.map_or_else(|_| Vec::new(), |graph| graph.script)
}

/// Every script that the graph takes: the automatic one, plain loops, the program's own, built-in
/// ones of the same program, and the nearest in the cache.
///
/// # Errors
/// The program cannot be read again.
pub(super) fn all(
    request: &Request,
    graph: &Graph,
    kept: &Kept,
    sources: &mut Sources,
) -> Result<Vec<Script>, Failure> {
    let target = request.target;
    let mut all: Vec<Script> = Vec::new();
    let mut add = |name: String, commands: Vec<Command>| {
        if schedule::apply(graph.clone(), &commands, &settings(target)).is_ok() {
            all.push(Script { name, commands });
        }
    };
    let asked = (target, &request.statistics);
    let found = auto::single(&graph.function, asked, sources);
    add("auto".to_string(), found);
    add("plain".to_string(), Vec::new());
    for (name, commands) in own(request, graph, sources)? {
        add(name, commands);
    }
    let canonical = Canonical::of(&graph.function);
    for (of, one) in builtin::all().filter(|(_, one)| one.target == target) {
        let Some(theirs) = function_of(of.program()) else {
            continue;
        };
        if statements(&theirs) != statements(&canonical) {
            continue;
        }
        let lines: Vec<String> = one.text.lines().map(str::to_string).collect();
        let lines: Vec<String> = lines.into_iter().filter(|l| !l.starts_with('#')).collect();
        let Some(lines) = renamed(&lines, &theirs.names, &canonical.names) else {
            continue;
        };
        if let Some(commands) = parse(&lines.join("\n"), sources) {
            add(format!("{}{}", builtin::PREFIX, one.name), commands);
        }
    }
    let fitting = kept.fitting.iter().map(|(entry, script)| (entry, script));
    let near = kept.near.iter().map(|(entry, script, _)| (entry, script));
    for (entry, script) in fitting.chain(near).take(NEIGHBOURS) {
        if let Some(commands) = parse(&script.join("\n"), sources) {
            add(format!("tuned:{}", entry.id()), commands);
        }
    }
    Ok(all)
}

/// The schedules that the program has for the function, and the one that is asked for; none with
/// `--no-schedule`.
fn own(
    request: &Request,
    graph: &Graph,
    sources: &mut Sources,
) -> Result<Vec<(String, Vec<Command>)>, Failure> {
    if request.schedule == ScheduleChoice::None {
        return Ok(Vec::new());
    }
    let mut inputs = Vec::new();
    let files = [compile::parse(request, sources, &mut inputs)?];
    let program = Program {
        functions: vec![(*graph.function).clone()],
    };
    let mut choices = vec![
        ("own".to_string(), request.schedule.clone()),
        ("own".to_string(), ScheduleChoice::Default),
    ];
    for name in named(&files, &program, request.target) {
        choices.push((name.clone(), ScheduleChoice::Named(name)));
    }
    let mut all: Vec<(String, Vec<Command>)> = Vec::new();
    for (name, choice) in choices {
        let asked = Request {
            schedule: choice,
            ..request.clone()
        };
        let schedules = Schedules::choose(&asked, &files, sources, &mut inputs, &program)?;
        if let Some(commands) = schedules.commands(&graph.function)
            && !commands.is_empty()
            && !all
                .iter()
                .any(|(other, _)| other.split(':').next() == Some(name.as_str()))
        {
            let of_program =
                |other: &str| commands_of(&files, &graph.function, other, request.target);
            // Each schedule of a `choose` is a start of its own.
            let alternatives = alternatives(commands, of_program)
                .map_err(|error| Failure::Program(vec![error]))?;
            let several = alternatives.len() > 1;
            for (n, alternative) in (1..).zip(alternatives) {
                let mut commands = alternative.commands;
                commands
                    .iter_mut()
                    .for_each(|command| define(command, &request.defines));
                let name = if several {
                    format!("{name}:{n}")
                } else {
                    name.clone()
                };
                all.push((name, commands));
            }
        }
    }
    Ok(all)
}

/// Has a `let` or `param` the value that `-D` gives it.
fn define(command: &mut Command, defines: &[(String, i64)]) {
    let (name, value) = match command {
        Command::Let { name, value, .. } => (name, value),
        Command::Param { name, default, .. } => (name, default),
        Command::Size { .. } | Command::Choose { .. } | Command::Call { .. } => return,
    };
    let defined = defines.iter().find(|(own, _)| *own == name.name);
    // Negative values are refused as those of schedules are.
    if let Some(n) = defined.and_then(|(_, n)| u64::try_from(*n).ok()) {
        value.kind = ExprKind::Number(Number::Int(n));
    }
}

/// The only function of a program's text.
fn function_of(text: &str) -> Option<Canonical> {
    let mut sources = Sources::default();
    let file = sources.add("<built-in>", text);
    let parsed = syntax::parse(file, text).ok()?;
    let resolved = program::resolve(&[parsed], &program::Options::default()).ok()?;
    match resolved.program.functions.as_slice() {
        [function] => Some(Canonical::of(function)),
        _ => None,
    }
}

/// What is computed, whatever the types, formats and sizes: the graph says what it takes.
fn statements(canonical: &Canonical) -> Vec<&str> {
    let lines = canonical.text.lines();
    lines.filter(|line| line.starts_with("  S")).collect()
}

fn parse(text: &str, sources: &mut Sources) -> Option<Vec<Command>> {
    let file = sources.add("<start>", text);
    syntax::parse_schedule(file, text).ok()
}

fn settings(target: Target) -> Settings {
    Settings {
        defines: Vec::new(),
        target,
    }
}
