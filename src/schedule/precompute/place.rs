//! Where the expression of a `precompute` stands.

use super::super::arguments::Arguments;
use super::USAGE;
use super::find::{Found, Wanted, find};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::{Graph, Nest};
use crate::program::ir::VarId;
use crate::syntax::ast;

/// The nest that an expression stands in: a statement's, or below it a workspace's.
#[derive(Clone, Debug)]
pub(in crate::schedule) struct Place {
    pub(in crate::schedule) nest: usize,
    pub(in crate::schedule) path: Vec<usize>,
}

impl Place {
    pub(in crate::schedule) fn of<'g>(&self, graph: &'g Graph) -> &'g Nest {
        self.path
            .iter()
            .fold(&graph.nests[self.nest], |nest, &at| &nest.producers[at])
    }

    pub(in crate::schedule) fn of_mut<'g>(&self, graph: &'g mut Graph) -> &'g mut Nest {
        self.path
            .iter()
            .fold(&mut graph.nests[self.nest], |nest, &at| {
                &mut nest.producers[at]
            })
    }

    /// All nests, those of workspaces after the one that reads them; and last those that bring operands into another order.
    fn all(graph: &Graph) -> Vec<Place> {
        fn below(graph: &Graph, nest: &Nest, at: usize, path: &[usize], found: &mut Vec<Place>) {
            if graph.is_guarded(nest) {
                return;
            }
            found.push(Place {
                nest: at,
                path: path.to_vec(),
            });
            for (n, producer) in nest.producers.iter().enumerate() {
                let mut path = path.to_vec();
                path.push(n);
                below(graph, producer, at, &path, found);
            }
        }
        let mut found = Vec::new();
        for (at, nest) in graph.nests.iter().enumerate() {
            below(graph, nest, at, &[], &mut found);
        }
        found.sort_by_key(|place| graph.makes_copy(place.of(graph)));
        found
    }
}

/// Where a nest with all these loops holds the expression.
pub(super) fn place(
    graph: &Graph,
    arguments: &Arguments,
    wanted: &ast::Expr,
    vars: &[VarId],
) -> Result<(Place, Found), Diagnostic> {
    let found = |place: &Place| find(graph, &place.of(graph).rhs, Wanted::Written(wanted));
    let has_loops = |nest: &Nest| vars.iter().all(|v| nest.loops.iter().any(|l| l.var == *v));
    let places = Place::all(graph);
    let (around, elsewhere): (Vec<Place>, Vec<Place>) = places
        .into_iter()
        .partition(|place| has_loops(place.of(graph)));
    let mut last = None;
    for (at, place) in around.iter().enumerate() {
        let Some(found_here) = found(place) else {
            last = Some(place.clone());
            continue;
        };
        // A workspace of one value names no loop, and so no statement.
        let mut others = around[at..].iter().filter(|other| other.nest != place.nest);
        if let (true, Some(other)) = (vars.is_empty(), others.find(|other| found(other).is_some()))
        {
            let message = "several statements hold the expression".to_string();
            return Err(arguments
                .wrong(arguments.span, message, USAGE)
                .with_label(place.of(graph).span, "this one")
                .with_label(other.of(graph).span, "and this one"));
        }
        return Ok((place.clone(), found_here));
    }
    if let Some(other) = elsewhere.iter().find(|place| found(place).is_some()) {
        return Err(outside(graph, other, vars, arguments));
    }
    let nest = last.as_ref().map(|place| place.of(graph));
    Err(match nest.or(graph.nests.first()) {
        Some(nest) => not_found(nest, wanted),
        None => arguments.wrong(arguments.span, "there is no statement".to_string(), USAGE),
    })
}

/// Some of the loops are not those of the nest that holds the expression.
fn outside(graph: &Graph, place: &Place, vars: &[VarId], arguments: &Arguments) -> Diagnostic {
    let name = |v: VarId| format!("`{}`", graph.var(v).name);
    let nest = place.of(graph);
    let own = nest.loop_vars();
    let others: Vec<String> = vars
        .iter()
        .filter(|v| !own.contains(v))
        .map(|&v| name(v))
        .collect();
    let own: Vec<String> = own.into_iter().map(name).collect();
    let (list, own) = (others.join(", "), own.join(", "));
    let message = match others.as_slice() {
        [_] => format!("{list} is no loop around the expression"),
        _ => format!("{list} are no loops around the expression"),
    };
    let (stands, help) = if place.path.is_empty() {
        (
            "the expression stands here".to_string(),
            format!("name loops of the statement that holds it: {own}"),
        )
    } else {
        let workspace = &graph.tensor(nest.tensor).name;
        (
            format!("the expression stands here, where `{workspace}` is computed"),
            format!("name loops of `{workspace}`: {own}"),
        )
    };
    Diagnostic::error(
        codes::NOT_NESTED,
        arguments.span,
        message,
        "read back there",
    )
    .with_label(nest.span, stands)
    .with_help(help)
}

fn not_found(nest: &Nest, wanted: &ast::Expr) -> Diagnostic {
    Diagnostic::error(
        codes::NO_SUCH_EXPRESSION,
        wanted.span,
        "the expression does not occur",
        "not found",
    )
    .with_label(nest.span, "in this statement")
    .with_help("write it as the statement does; factors may be left out")
}
