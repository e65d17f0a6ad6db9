//! The schedule of a program that has none for its target.

use super::compile::build;
use crate::diagnostic::codes::{performance as codes, schedule as schedule_codes};
use crate::diagnostic::{Diagnostic, Sources};
use crate::graph::{Graph, Nest};
use crate::program::ir::Function;
use crate::schedule::{self, Settings, Target, auto};
use crate::syntax::{self, ast};
use std::rc::Rc;

/// The commands of a schedule for `target`. Notes the statements that stay serial.
pub(super) fn schedule(
    function: &Function,
    target: Target,
    sources: &mut Sources,
    remarks: &mut Vec<Diagnostic>,
) -> Vec<ast::Command> {
    // What cannot be built is refused by whoever asks for this schedule.
    let Ok(graph) = Graph::build(&Rc::new(function.clone())) else {
        return Vec::new();
    };
    match target {
        Target::C => threads(function, graph, sources, remarks),
        Target::Cuda => units(function, &graph, sources, remarks),
    }
}

/// One command for a statement: tried on the graph alone, then all together by all
/// stages, so that the number of times that a program is built does not grow with its
/// statements as long as they are accepted.
fn threads(
    function: &Function,
    graph: Graph,
    sources: &mut Sources,
    remarks: &mut Vec<Diagnostic>,
) -> Vec<ast::Command> {
    let settings = Settings {
        defines: Vec::new(),
        target: Target::C,
    };
    let mut serial = Vec::new();
    let mut offered: Vec<(usize, ast::Command)> = Vec::new();
    let mut reached = graph.clone();
    for (at, nest) in graph.nests.iter().enumerate() {
        if reached.nests.get(at).is_none_or(is_shared) {
            continue;
        }
        let Some(text) = auto::threads(&graph, nest) else {
            continue;
        };
        let file = sources.add("<automatic schedule>", &text);
        let Ok(own) = syntax::parse_schedule(file, &text) else {
            continue;
        };
        match schedule::apply(reached.clone(), &own, &settings) {
            Ok(next) => {
                reached = next;
                offered.extend(own.into_iter().map(|command| (at, command)));
            }
            Err(errors) => serial.push((at, errors)),
        }
    }
    let mut chosen = Vec::new();
    accept(function, &settings, &offered, &mut chosen, &mut serial);
    serial.sort_by_key(|(at, _)| *at);
    for (at, errors) in &serial {
        let nest = &graph.nests[*at];
        remarks.push(stays_serial(&graph, nest, errors.first()));
    }
    chosen
}

/// Adds those of `offered` that all stages accept, by halves.
fn accept(
    function: &Function,
    settings: &Settings,
    offered: &[(usize, ast::Command)],
    chosen: &mut Vec<ast::Command>,
    serial: &mut Vec<(usize, Vec<Diagnostic>)>,
) {
    if offered.is_empty() {
        return;
    }
    let mut all = chosen.clone();
    all.extend(offered.iter().map(|(_, command)| command.clone()));
    match build(function, &all, settings) {
        Ok(_) => *chosen = all,
        Err(errors) => match offered {
            [(at, _)] => serial.push((*at, errors)),
            _ => {
                let (first, rest) = offered.split_at(offered.len() / 2);
                accept(function, settings, first, chosen, serial);
                accept(function, settings, rest, chosen, serial);
            }
        },
    }
}

fn is_shared(nest: &Nest) -> bool {
    nest.loops.iter().any(|l| l.tag.parallel.is_some())
}

fn stays_serial(graph: &Graph, nest: &Nest, why: Option<&Diagnostic>) -> Diagnostic {
    let result = &graph.tensor(nest.tensor).name;
    let note = Diagnostic::performance(
        codes::SERIAL,
        nest.span,
        format!("the loops of `{result}` run in one thread"),
        "cannot be shared out as they are",
    );
    let Some(why) = why else { return note };
    let note = note.with_note(why.message.clone());
    if why.code == schedule_codes::PARALLEL_REDUCTION {
        let outermost = nest.loops.first().map_or("", |l| &graph.var(l.var).name);
        let label = &graph.statement(nest).label;
        let outermost = if graph.nests.len() > 1 {
            format!("{label}.{outermost}")
        } else {
            outermost.to_owned()
        };
        return note.with_help(format!(
            "`parallelize({outermost}, CPUThread, Temporary)` shares them out; the order of \
             sums then depends on the number of threads"
        ));
    }
    note
}

/// Chooses for each statement the first script that is accepted behind those before it.
fn units(
    function: &Function,
    graph: &Graph,
    sources: &mut Sources,
    remarks: &mut Vec<Diagnostic>,
) -> Vec<ast::Command> {
    let settings = Settings {
        defines: Vec::new(),
        target: Target::Cuda,
    };
    let mut chosen = Vec::new();
    let mut reached: Option<Graph> = None;
    for (at, nest) in graph.nests.iter().enumerate() {
        // Pieces of one statement may share variables, and so their loops.
        let done = reached
            .as_ref()
            .and_then(|g| g.nests.get(at))
            .is_some_and(is_shared);
        if done {
            continue;
        }
        let candidates = auto::candidates(graph, nest);
        let accepted = candidates.iter().find_map(|script| {
            let text = script.join("\n");
            let file = sources.add("<automatic schedule>", &text);
            let own = syntax::parse_schedule(file, &text).ok()?;
            let all: Vec<ast::Command> = chosen.iter().cloned().chain(own).collect();
            let built = build(function, &all, &settings).ok()?;
            Some((all, built.graph))
        });
        match accepted {
            Some((all, graph)) => {
                chosen = all;
                reached = Some(graph);
            }
            None if nest.loops.is_empty() => {}
            None => {
                let result = &graph.tensor(nest.tensor).name;
                remarks.push(
                    Diagnostic::performance(
                        codes::SERIAL,
                        nest.span,
                        format!("the loops of `{result}` run in one thread of the GPU"),
                        "cannot be shared out as they are",
                    )
                    .with_help(format!(
                        "store `{result}` dense, or write a schedule for it"
                    )),
                );
            }
        }
    }
    chosen
}
