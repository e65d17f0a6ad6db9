//! Which schedule applies to which function.

use super::compile::{Request, ScheduleChoice, read};
use super::{Failure, argument};
use crate::diagnostic::codes::{environment as codes, schedule as schedule_codes};
use crate::diagnostic::{Diagnostic, Sources, Span};
use crate::program::spelling::suggest;
use crate::program::{ir::Function, ir::Program};
use crate::schedule::builtin::{self, Builtin, Scheduled};
use crate::syntax::{self, ast};
use crate::target::Target;
use std::path::{Path, PathBuf};

/// The schedules in use.
pub(super) enum Schedules {
    Plain,
    /// A `.sched` file, for the only function.
    File(Vec<ast::Command>),
    /// The same, of a file that the compiler carries.
    Builtin(&'static Scheduled, &'static Builtin, Vec<ast::Command>),
    /// Those of the program, by function.
    OfProgram(Vec<ast::Schedule>),
}

impl Schedules {
    pub(super) fn choose(
        request: &Request,
        files: &[ast::File],
        sources: &mut Sources,
        inputs: &mut Vec<PathBuf>,
        program: &Program,
    ) -> Result<Self, Failure> {
        let all = of_files(files);
        check_headers(&all, files)?;
        let target = request.target.properties().word;
        let fits = |s: &ast::Schedule| s.target.as_ref().is_none_or(|t| t.name == target);
        match &request.schedule {
            ScheduleChoice::Text { name, text } => {
                for_one_function(name, "a schedule", sources, program)?;
                let file = sources.add(name, text);
                Ok(Schedules::File(syntax::parse_schedule(file, text)?))
            }
            ScheduleChoice::None => Ok(Schedules::Plain),
            ScheduleChoice::Default => Ok(Self::defaults(files, request.target)),
            ScheduleChoice::Named(name) => {
                let named: Vec<ast::Schedule> = all
                    .iter()
                    .filter(|s| s.name.as_ref().is_some_and(|n| n.name == *name) && fits(s))
                    .map(|s| (*s).clone())
                    .collect();
                let is_compiled = |s: &ast::Schedule| {
                    let def = s.def.as_ref();
                    def.is_some_and(|def| program.functions.iter().any(|f| f.name == def.name))
                };
                if named.iter().any(is_compiled) {
                    return Ok(Schedules::OfProgram(named));
                }
                if let Some(def) = named.iter().find_map(|s| s.def.as_ref()) {
                    return Err(of_another(name, &def.name, sources));
                }
                if let Some(short) = name.strip_prefix(builtin::PREFIX) {
                    let (of, one) = carried(short, name, request.target, sources)?;
                    for_one_function(name, "a built-in schedule", sources, program)?;
                    let file = sources.add(name, one.text);
                    let commands = syntax::parse_schedule(file, one.text)?;
                    return Ok(Schedules::Builtin(of, one, commands));
                }
                let path = Path::new(name);
                let is_there = path.exists() && !path.is_dir();
                let is_file = is_there || path.extension().is_some_and(|e| e == "sched");
                if !is_file {
                    return Err(no_schedule(name, &all, sources));
                }
                for_one_function(name, "a .sched file", sources, program)?;
                let (file, text) = read(sources, path, inputs)?;
                Ok(Schedules::File(syntax::parse_schedule(file, &text)?))
            }
        }
    }

    /// The program's own without a name.
    pub(super) fn defaults(files: &[ast::File], target: Target) -> Self {
        let word = target.properties().word;
        let fits = |s: &&ast::Schedule| {
            s.name.is_none() && s.target.as_ref().is_none_or(|t| t.name == word)
        };
        let all = of_files(files).into_iter();
        Schedules::OfProgram(all.filter(fits).cloned().collect())
    }

    /// Says in errors of a built-in schedule for which program it is written.
    pub(super) fn explain(&self, errors: &mut [Diagnostic]) {
        match self {
            Schedules::Plain | Schedules::File(_) | Schedules::OfProgram(_) => {}
            Schedules::Builtin(of, one, _) => {
                for error in errors {
                    let (prefix, name) = (builtin::PREFIX, one.name);
                    error.notes.push(format!(
                        "`{prefix}{name}` is written for this program, whose names it uses:\n{}",
                        of.program()
                    ));
                    error.help.get_or_insert(format!(
                        "`sparsec schedules {name} > mine.sched` writes it into a file to edit"
                    ));
                }
            }
        }
    }

    /// The commands for a function; `None` if there is no schedule for it.
    pub(super) fn commands(&self, function: &Function) -> Option<&[ast::Command]> {
        match self {
            Schedules::Plain => Some(&[]),
            Schedules::File(commands) | Schedules::Builtin(_, _, commands) => Some(commands),
            Schedules::OfProgram(schedules) => {
                let own =
                    |s: &&ast::Schedule| s.def.as_ref().is_some_and(|d| d.name == function.name);
                // One for the target goes before one for any.
                let chosen = schedules
                    .iter()
                    .filter(own)
                    .find(|s| s.target.is_some())
                    .or_else(|| schedules.iter().find(own));
                chosen.map(|s| s.commands.as_slice())
            }
        }
    }
}

fn of_files(files: &[ast::File]) -> Vec<&ast::Schedule> {
    files
        .iter()
        .flat_map(|file| &file.items)
        .filter_map(|item| match item {
            ast::Item::Schedule(schedule) => Some(schedule),
            ast::Item::Def(_)
            | ast::Item::FormatDecl(_)
            | ast::Item::FormatUse(_)
            | ast::Item::Operator(_) => None,
        })
        .collect()
}

/// The names of schedules for functions of the program and this target, as they come.
pub(super) fn named(files: &[ast::File], program: &Program, target: Target) -> Vec<String> {
    let target = target.properties().word;
    let mut names: Vec<String> = Vec::new();
    for schedule in of_files(files) {
        let own = |def: &ast::Ident| program.functions.iter().any(|f| f.name == def.name);
        let fits = schedule.target.as_ref().is_none_or(|t| t.name == target)
            && schedule.def.as_ref().is_some_and(own);
        if let Some(name) = schedule.name.as_ref().filter(|_| fits)
            && !names.contains(&name.name)
        {
            names.push(name.name.clone());
        }
    }
    names
}

/// The commands of a function's named schedule; one for the target goes before one for any.
pub(super) fn commands_of(
    files: &[ast::File],
    function: &Function,
    name: &str,
    target: Target,
) -> Option<Vec<ast::Command>> {
    let target = target.properties().word;
    let all = of_files(files).into_iter().filter(|schedule| {
        let def = schedule
            .def
            .as_ref()
            .is_some_and(|def| def.name == function.name);
        def && schedule.name.as_ref().is_some_and(|own| own.name == name)
    });
    let all: Vec<&ast::Schedule> = all.collect();
    let fits = |s: &&&ast::Schedule| s.target.as_ref().is_some_and(|t| t.name == target);
    let any = |s: &&&ast::Schedule| s.target.is_none();
    let chosen = all.iter().find(fits).or_else(|| all.iter().find(any));
    chosen.map(|schedule| schedule.commands.clone())
}

/// The built-in schedule that `--schedule` names, if it is for this target.
fn carried(
    short: &str,
    named: &str,
    target: Target,
    sources: &mut Sources,
) -> Result<(&'static Scheduled, &'static Builtin), Failure> {
    let span = argument(sources, "--schedule", named);
    let refuse = |message: String, label: &str, help: String| {
        Diagnostic::error(codes::NO_SCHEDULE, span, message, label).with_help(help)
    };
    let Some((of, one)) = builtin::find(short) else {
        let names = builtin::all().map(|(_, one)| one.name);
        return Err(refuse(
            format!("there is no built-in schedule `{short}`"),
            "unknown",
            suggest(short, names, "`sparsec schedules` lists them"),
        )
        .into());
    };
    // What is written for blocks and threads fits all targets that have them.
    if one.target.properties().has_blocks != target.properties().has_blocks {
        let word = one.target.properties().word;
        return Err(refuse(
            format!("`{short}` is for the target {word}"),
            "for another target",
            format!("add `--target {word}`, or choose another of `sparsec schedules`"),
        )
        .into());
    }
    Ok((of, one))
}

/// Neither a file, nor a name of the program.
fn no_schedule(name: &str, all: &[&ast::Schedule], sources: &mut Sources) -> Failure {
    let known: Vec<&str> = all
        .iter()
        .filter_map(|s| s.name.as_ref())
        .map(|n| n.name.as_str())
        .collect();
    let mut others = all
        .iter()
        .filter(|s| s.name.as_ref().is_some_and(|n| n.name == name));
    let elsewhere = others
        .find_map(|s| s.target.as_ref())
        .map(|target| &target.name);
    let help = if builtin::find(name).is_some() {
        format!("did you mean `{}{name}`?", builtin::PREFIX)
    } else if let Some(target) = elsewhere {
        format!("`{name}` is for the target {target}: add `--target {target}`")
    } else if known.is_empty() {
        "the program names no schedule; give a .sched file, or one of `sparsec schedules`"
            .to_string()
    } else {
        format!("the program names {}", known.join(", "))
    };
    let span = argument(sources, "--schedule", name);
    Diagnostic::error(
        codes::NO_SCHEDULE,
        span,
        format!(
            "there is no schedule `{name}`{}",
            if elsewhere.is_some() {
                " for this target"
            } else {
                ""
            }
        ),
        "neither a file nor a name",
    )
    .with_help(help)
    .into()
}

/// The program's only schedules of this name are of functions that are not compiled.
fn of_another(name: &str, def: &str, sources: &mut Sources) -> Failure {
    let span = argument(sources, "--schedule", name);
    let text = format!("the schedule `{name}` is of another function");
    let help = format!("it is of `{def}`: compile that with `--def {def}`");
    Diagnostic::error(codes::NO_SCHEDULE, span, text, "of none that is compiled")
        .with_help(help)
        .into()
}

/// Commands alone do not say whose they are.
fn for_one_function(
    name: &str,
    what: &str,
    sources: &mut Sources,
    program: &Program,
) -> Result<(), Failure> {
    if program.functions.len() <= 1 {
        return Ok(());
    }
    let span = argument(sources, "--schedule", name);
    Err(Diagnostic::error(
        codes::COMMAND_LINE,
        span,
        format!("{what} applies to one function, the program has several"),
        "for which one?",
    )
    .with_help("choose one with `--def NAME`")
    .into())
}

/// Schedules must be for functions that exist, for targets that exist, and not twice
/// the same.
fn check_headers(all: &[&ast::Schedule], files: &[ast::File]) -> Result<(), Failure> {
    let mut errors = Vec::new();
    let mut seen: Vec<(String, String, String, Span)> = Vec::new();
    for schedule in all {
        if let Some(target) = &schedule.target
            && Target::named(&target.name).is_none()
        {
            let targets = Target::ALL.map(|target| target.properties().word);
            errors.push(
                Diagnostic::error(
                    schedule_codes::BAD_UNIT,
                    target.span,
                    format!("unknown target `{}`", target.name),
                    "no such target",
                )
                .with_help(format!("the targets are {}", targets.join(" and "))),
            );
        }
        let Some(def) = &schedule.def else { continue };
        let exists = files.iter().flat_map(|f| &f.items).any(|item| match item {
            ast::Item::Def(d) => d.name.name == def.name,
            ast::Item::FormatDecl(_)
            | ast::Item::FormatUse(_)
            | ast::Item::Operator(_)
            | ast::Item::Schedule(_) => false,
        });
        if !exists {
            errors.push(
                Diagnostic::error(
                    schedule_codes::UNKNOWN_VARIABLE,
                    def.span,
                    format!("a schedule for `{}`, which is not defined", def.name),
                    "no such function",
                )
                .with_help("name a `def` of this file"),
            );
        }
        let text = |i: &Option<ast::Ident>| i.as_ref().map_or(String::new(), |i| i.name.clone());
        let key = (
            def.name.clone(),
            text(&schedule.target),
            text(&schedule.name),
        );
        let first = seen
            .iter()
            .find(|(d, t, n, _)| (d, t, n) == (&key.0, &key.1, &key.2));
        if let Some((_, _, _, first)) = first {
            errors.push(
                Diagnostic::error(
                    schedule_codes::REDEFINED,
                    def.span,
                    format!("`{}` has two schedules of this target and name", def.name),
                    "the second one",
                )
                .with_label(*first, "the first one")
                .with_help("name one of them: `schedule f for c named other { ... }`"),
            );
        } else {
            seen.push((key.0, key.1, key.2, def.span));
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Failure::Program(errors))
    }
}

/// The names of `let` and `param`.
pub(super) fn declared_names(commands: &[ast::Command]) -> Vec<String> {
    commands
        .iter()
        .filter_map(|command| match command {
            ast::Command::Let { name, .. } | ast::Command::Param { name, .. } => {
                Some(name.name.clone())
            }
            ast::Command::Size { .. } | ast::Command::Choose { .. } | ast::Command::Call { .. } => {
                None
            }
        })
        .collect()
}

/// The first commands of a schedule, with all its constants.
pub(super) fn first(commands: &[ast::Command], count: Option<usize>) -> Vec<ast::Command> {
    let mut left = count.unwrap_or(usize::MAX);
    commands
        .iter()
        .filter(|command| {
            let counts = matches!(command, ast::Command::Call { .. });
            let kept = !counts || left > 0;
            left = left.saturating_sub(usize::from(counts));
            kept
        })
        .cloned()
        .collect()
}
