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
use crate::syntax::ast::{Branch, Command, ExprKind, Number};

/// Neighbours in the cache that are starts.
const NEIGHBOURS: usize = 5;
/// How far from a threshold others are tried.
const APART: u64 = 16;
/// What scripts that sparsec does not choose are called, with their numbers, and plain loops of one thread.
pub(super) const OTHER: &str = "auto:";
pub(super) const LAST: &str = "one thread";
/// Scripts that what sparsec chooses was chosen from.
const CHOICES: usize = 6;
/// The least and the largest tile that is tried instead of one that sparsec chooses.
const TILES: (u64, u64) = (2, 512);

/// What sparsec chooses where a program has no schedule.
pub(super) fn automatic(request: &Request, graph: &Graph, sources: &mut Sources) -> Vec<String> {
    let asked = (request.target, &request.statistics);
    let commands = auto::single(&graph.function, asked, sources);
    let applied = schedule::apply(graph.clone(), &commands, &settings(request.target));
    applied.map_or_else(|_| Vec::new(), |graph| graph.script)
}

/// Every script that the graph takes, the most promising first: the program's own, the automatic one, plain loops (on
/// a GPU, where one thread runs them, as the last), built-in ones of the same program, the nearest in the cache, and
/// what the automatic one was chosen from.
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
    for script in own(request, graph, sources)? {
        // Each schedule that is chosen from is a script, too.
        let takes = |script: &Script| {
            schedule::apply(graph.clone(), &script.commands, &settings(target)).is_ok()
        };
        if script.choice.is_some() || takes(&script) {
            all.push(script);
        }
    }
    let mut add = |name: String, commands: Vec<Command>| {
        if schedule::apply(graph.clone(), &commands, &settings(target)).is_ok() {
            all.push(Script {
                name,
                commands,
                choice: None,
            });
        }
    };
    let asked = (target, &request.statistics);
    let single = auto::script(&graph.function, asked, sources);
    let found = auto::found(&graph.function, asked, sources);
    let ranges = found.iter().map(|one| one.script().cloned().collect());
    let others = found.iter().flat_map(auto::Found::alternatives);
    let mut chosen: Vec<Vec<String>> = Vec::new();
    for script in [single].into_iter().chain(ranges).chain(others) {
        if !chosen.contains(&script) && chosen.len() < CHOICES {
            chosen.push(script);
        }
    }
    let chosen = chosen.iter().zip(1..).filter_map(|(script, n)| {
        let name = match n {
            1 => "auto".to_string(),
            _ => format!("{OTHER}{n}"),
        };
        Some((name, parse(&with_parameters(script).join("\n"))?))
    });
    let mut chosen = chosen.collect::<Vec<_>>().into_iter();
    for (name, commands) in chosen.by_ref().take(1) {
        add(name, commands);
    }
    let serial = target.properties().has_blocks;
    if !serial {
        add("plain".to_string(), Vec::new());
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
        if let Some(commands) = parse(&lines.join("\n")) {
            add(format!("{}{}", builtin::PREFIX, one.name), commands);
        }
    }
    let fitting = kept.fitting.iter().map(|(entry, script)| (entry, script));
    let near = kept.near.iter().map(|(entry, script, _)| (entry, script));
    let mut choices = Vec::new();
    for (entry, script) in fitting.chain(near).take(NEIGHBOURS) {
        let name = format!("tuned:{}", entry.id());
        match kept_choice(name.clone(), script) {
            Some(choice) => choices.push(choice),
            None => {
                if let Some(commands) = parse(&script.join("\n")) {
                    add(name, commands);
                }
            }
        }
    }
    for (name, commands) in chosen {
        add(name, commands);
    }
    if serial {
        add(LAST.to_string(), Vec::new());
    }
    // (What is wrong with one of a cache is seen when it is compiled.)
    all.extend(choices);
    Ok(all)
}

/// A script of a cache that chooses, with numbers that its conditions compare with as parameters where they were;
/// `None` if it does not choose.
fn kept_choice(name: String, script: &[String]) -> Option<Script> {
    let is_constant = |line: &&String| line.starts_with("let ");
    if !script.iter().any(|line| line.starts_with("choose ")) {
        return None;
    }
    let constants = script.iter().filter(is_constant).map(|line| {
        let named = line.strip_prefix("let ").and_then(|l| l.split_once(" = "));
        let number = named.and_then(|(_, n)| n.parse().ok()).unwrap_or(0);
        match named {
            // It was a number of a condition.
            Some((own, _)) if own.starts_with(THRESHOLD) && number > 0 => threshold(own, number),
            Some(_) | None => line.clone(),
        }
    });
    let constants: Vec<String> = constants.collect();
    let lines = script.iter().filter(|line| !is_constant(line));
    Some(Script {
        name,
        commands: parse(&constants.join("\n"))?,
        choice: Some(lines.map(|line| line.trim().to_string()).collect()),
    })
}

/// The schedules that the program has for the function, and the one that is asked for; none with
/// `--no-schedule`. Where one chooses, it is there as a whole and each of its alternatives.
fn own(request: &Request, graph: &Graph, sources: &mut Sources) -> Result<Vec<Script>, Failure> {
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
    let mut all: Vec<Script> = Vec::new();
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
                .any(|other| other.name.split(':').next() == Some(name.as_str()))
        {
            let of_program =
                |other: &str| commands_of(&files, &graph.function, other, request.target);
            let defined = |commands: &[Command]| {
                let mut commands = commands.to_vec();
                let each = commands.iter_mut();
                each.for_each(|command| define(command, &request.defines));
                commands
            };
            let alternatives = alternatives(commands, of_program)
                .map_err(|error| Failure::Program(vec![error]))?;
            let several = alternatives.len() > 1;
            all.extend(chosen_lines(commands, sources).map(|lines| {
                let (thresholds, lines) = with_thresholds(lines);
                Script {
                    name: name.clone(),
                    commands: [defined(commands), thresholds].concat(),
                    choice: Some(lines),
                }
            }));
            for (n, alternative) in (1..).zip(alternatives) {
                all.push(Script {
                    name: match several {
                        true => format!("{name}:{n}"),
                        false => name.clone(),
                    },
                    commands: defined(&alternative.commands),
                    choice: None,
                });
            }
        }
    }
    Ok(all)
}

/// The lines of commands that choose, without constants; `None` where they do not choose, or from schedules that
/// only the program has.
fn chosen_lines(commands: &[Command], sources: &Sources) -> Option<Vec<String>> {
    let whole = |command: &Command| match command {
        Command::Choose { arms, .. } => {
            let mut branches = arms.iter().map(|arm| &arm.branch);
            // What `-D` says is not in their text.
            let constant =
                |command: &Command| matches!(command, Command::Let { .. } | Command::Param { .. });
            branches.all(|branch| match branch {
                Branch::Commands(own) => !own.iter().any(constant),
                Branch::Named(_) => false,
            })
        }
        Command::Let { .. }
        | Command::Param { .. }
        | Command::Size { .. }
        | Command::Call { .. } => false,
    };
    commands.iter().any(whole).then(|| {
        let others = commands
            .iter()
            .filter(|c| !matches!(c, Command::Let { .. } | Command::Param { .. }));
        let texts = others.map(|command| {
            let span = command.span();
            let text = &sources.get(span.file).text;
            &text[span.start as usize..span.end as usize]
        });
        let lines = texts.flat_map(str::lines);
        lines.map(|line| line.trim().to_string()).collect()
    })
}

/// What numbers of conditions are called.
const THRESHOLD: &str = "THRESHOLD";

/// A parameter for a number of a condition.
fn threshold(own: &str, n: u64) -> String {
    let (least, most) = ((n / APART).max(1), n.saturating_mul(APART));
    format!("param {own} in {{{least}, {n}, {most}}} = {n}")
}

/// Lines that choose, with parameters for the numbers that their conditions compare with: `when nnz(A) < 20000: {`
/// has `THRESHOLD1`.
fn with_thresholds(lines: Vec<String>) -> (Vec<Command>, Vec<String>) {
    let mut parameters: Vec<String> = Vec::new();
    let mut all = Vec::new();
    for line in lines {
        let Some(end) = line.find(':').filter(|_| line.starts_with("when ")) else {
            all.push(line);
            continue;
        };
        let (mut condition, mut rest) = (String::new(), &line[..end]);
        while let Some(at) = rest.find(['<', '>']) {
            let behind = rest[at + 1..].trim_start_matches('=').trim_start();
            condition += &rest[..rest.len() - behind.len()];
            let is_digit = |c: char| !c.is_ascii_digit();
            let (number, next) = behind.split_at(behind.find(is_digit).unwrap_or(behind.len()));
            rest = next;
            let whole = !next.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
            match number.parse::<u64>() {
                Ok(n) if whole && n > 0 && n < u64::MAX / APART => {
                    let own = format!("{THRESHOLD}{}", parameters.len() + 1);
                    parameters.push(threshold(&own, n));
                    condition += &own;
                }
                Ok(_) | Err(_) => condition += number,
            }
        }
        all.push(format!("{condition}{rest}{}", &line[end..]));
    }
    (parse(&parameters.join("\n")).unwrap_or_default(), all)
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

/// A script whose tiles are parameters: `split(i, i0, i1, 32)` has `TILE1`, and where its inner loop is
/// unrolled as a whole, so has that.
fn with_parameters(script: &[String]) -> Vec<String> {
    let arguments = |line: &str| -> Option<(String, Vec<String>)> {
        let (name, rest) = line.split_once('(')?;
        let inside = rest.strip_suffix(')')?;
        let simple = !inside.contains(['(', '{']);
        simple.then(|| {
            let all = inside
                .split(',')
                .map(|argument| argument.trim().to_string());
            (name.to_string(), all.collect())
        })
    };
    let mut parameters: Vec<String> = Vec::new();
    let mut lines = Vec::new();
    let mut tiles: Vec<(String, String, String)> = Vec::new();
    for line in script {
        let line = match arguments(line) {
            Some((name, args)) if name == "split" && args.len() == 4 => {
                let size = args[3].parse::<u64>();
                match size {
                    Ok(size) if (TILES.0..=TILES.1).contains(&size) => {
                        let own = format!("TILE{}", parameters.len() + 1);
                        let (least, most) = ((size / 4).max(TILES.0), (4 * size).min(TILES.1));
                        parameters.push(format!(
                            "param {own} in {{{least}, {size}, {most}}} = {size}"
                        ));
                        let [outer, from, inner] = [0, 1, 2].map(|n| args[n].as_str());
                        let line = format!("split({outer}, {from}, {inner}, {own})");
                        tiles.push((inner.to_string(), args[3].clone(), own));
                        line
                    }
                    Ok(_) | Err(_) => line.clone(),
                }
            }
            Some((name, args)) if name == "unroll" && args.len() == 2 => {
                let mut known = tiles.iter();
                let whole = known.find(|(var, size, _)| *var == args[0] && *size == args[1]);
                match whole {
                    Some((var, _, own)) => format!("unroll({var}, {own})"),
                    None => line.clone(),
                }
            }
            Some(_) | None => line.clone(),
        };
        lines.push(line);
    }
    parameters.extend(lines);
    parameters
}

/// Commands that no person wrote.
pub(super) fn parse(text: &str) -> Option<Vec<Command>> {
    let file = Sources::default().add("<candidate>", text);
    syntax::parse_schedule(file, text).ok()
}

fn settings(target: Target) -> Settings {
    Settings {
        defines: Vec::new(),
        target,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_of_what_is_chosen_are_parameters() {
        let script = [
            "split(i, i0, i1, 32)",
            "precompute(A(i,k) * B(k,j), {i1}, {i1}, w)",
            "unroll(i1, 32)",
            "unroll(j, 4)",
            "split(S0.j, j0, j1, 1024)",
        ];
        let wanted = [
            "param TILE1 in {8, 32, 128} = 32",
            "split(i, i0, i1, TILE1)",
            "precompute(A(i,k) * B(k,j), {i1}, {i1}, w)",
            "unroll(i1, TILE1)",
            "unroll(j, 4)",
            "split(S0.j, j0, j1, 1024)",
        ];
        assert_eq!(with_parameters(&script.map(str::to_string)), wanted);
    }

    #[test]
    fn thresholds_of_conditions_are_parameters() {
        let lines = [
            "choose {",
            "when nnz(A) < 20000 && cols(B)>=32: { split(i, i0, i1, 8) }",
            "when rows(A) < LONG && cols(B) % 8 == 0: { }",
            "otherwise: { }",
            "}",
        ];
        let (parameters, lines) = with_thresholds(lines.map(str::to_string).to_vec());
        assert_eq!(parameters.len(), 2);
        let wanted = [
            "choose {",
            "when nnz(A) < THRESHOLD1 && cols(B)>=THRESHOLD2: { split(i, i0, i1, 8) }",
            "when rows(A) < LONG && cols(B) % 8 == 0: { }",
            "otherwise: { }",
            "}",
        ];
        assert_eq!(lines, wanted);
    }
}
