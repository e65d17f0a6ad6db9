//! Notes on loops that step from row to row, with the command to write.

use super::compile::build;
use crate::diagnostic::codes::performance;
use crate::diagnostic::{Diagnostic, Sources};
use crate::graph::{Graph, Nest};
use crate::program::ir::{Function, VarId};
use crate::schedule::strides::{Strided, strided};
use crate::schedule::{self, Settings, Target, auto};
use crate::syntax::{self, ast};
use std::rc::Rc;

/// Notes each statement of a function without a schedule whose innermost loop steps from row to
/// row, where another order is accepted by all stages. `found`: what it has by itself; where
/// threads share loops out a schedule would have to say so, too, and loops that it reordered are as
/// they should be.
pub(super) fn notes(
    function: &Function,
    found: &[ast::Command],
    sources: &mut Sources,
) -> Vec<Diagnostic> {
    let Ok(graph) = Graph::build(&Rc::new(function.clone())) else {
        return Vec::new();
    };
    let shared = !found.is_empty();
    let settings = Settings {
        defines: Vec::new(),
        target: Target::C,
    };
    let reached = schedule::apply(graph.clone(), found, &settings);
    let mut found = Vec::new();
    for (at, nest) in graph.nests.iter().enumerate() {
        let is_reordered = reached.as_ref().is_ok_and(|reached| {
            let own = reached.nests.get(at);
            own.is_some_and(|own| own.loop_vars() != nest.loop_vars())
        });
        let Some(strided) = strided(&graph, nest).filter(|_| !is_reordered) else {
            continue;
        };
        let accepted = strided
            .orders
            .iter()
            .find_map(|order| accepted(function, &graph, nest, order, shared, sources));
        if let Some(commands) = accepted {
            found.push(note(&graph, nest, &strided, &commands));
        }
    }
    found
}

/// The commands for an order, if all stages accept them.
fn accepted(
    function: &Function,
    graph: &Graph,
    nest: &Nest,
    order: &[VarId],
    shared: bool,
    sources: &mut Sources,
) -> Option<Vec<String>> {
    let settings = Settings {
        defines: Vec::new(),
        target: Target::C,
    };
    let label = format!("{}.", graph.statement(nest).label);
    // One statement's loops need no label.
    let alone = graph.nests.len() == 1;
    let names: Vec<String> = order
        .iter()
        .map(|&v| {
            let name = &graph.var(v).name;
            if alone {
                name.clone()
            } else {
                format!("{label}{name}")
            }
        })
        .collect();
    let reorder = format!("reorder({})", names.join(", "));
    let first = parse(&reorder, sources)?;
    let reached = schedule::apply(graph.clone(), &first, &settings).ok()?;
    let at = graph.nests.iter().position(|n| std::ptr::eq(n, nest))?;
    let threads = reached
        .nests
        .get(at)
        .filter(|_| shared)
        .and_then(|nest| auto::threads(&reached, nest))
        .map(|text| {
            if alone {
                text.replace(&label, "")
            } else {
                text
            }
        });
    if let Some(threads) = threads {
        let mut both = first.clone();
        both.extend(parse(&threads, sources)?);
        if build(function, &both, &settings).is_ok() {
            return Some(vec![reorder, threads]);
        }
    }
    build(function, &first, &settings).ok()?;
    Some(vec![reorder])
}

fn parse(text: &str, sources: &mut Sources) -> Option<Vec<ast::Command>> {
    let file = sources.add("<automatic schedule>", text);
    syntax::parse_schedule(file, text).ok()
}

fn note(graph: &Graph, nest: &Nest, strided: &Strided, commands: &[String]) -> Diagnostic {
    let operand = &graph.tensor(strided.operand).name;
    let inner = &graph.var(strided.inner).name;
    let commands: Vec<String> = commands.iter().map(|c| format!("`{c}`")).collect();
    Diagnostic::performance(
        performance::STRIDE,
        nest.span,
        format!("the innermost loop, over `{inner}`, steps from row to row of `{operand}`"),
        "computed in an order that reads it column by column",
    )
    .with_help(format!(
        "write the schedule {} to walk all operands along their rows",
        commands.join(" and ")
    ))
}
