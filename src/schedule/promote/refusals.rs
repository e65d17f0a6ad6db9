//! Why no tile is made, and what to write instead.

use super::super::arguments::Arguments;
use super::super::legal;
use super::super::precompute::find::whole_sum;
use super::super::precompute::place::Place;
use super::super::precompute::precompute;
use super::super::reorder::reorder;
use super::reads::Reads;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::Graph;
use crate::graph::order::vars_in;
use crate::graph::print::var_text;
use crate::program::ir::{SizeExpr, VarId};
use crate::syntax::ast::Ident;
use std::collections::BTreeSet;

/// Inside the loop the subscripts have one value: a tile needs a loop over one of them there. The help names a
/// loop that has such loops inside, or an order of loops that brings one inside.
pub(super) fn single_element(
    graph: &Graph,
    reads: &Reads,
    (operand, kind): (&Ident, &Ident),
    arguments: &Arguments,
) -> Diagnostic {
    let (operand, kind) = (&operand.name, &kind.name);
    let (loops, at) = (&reads.loops, reads.at);
    let sides: BTreeSet<VarId> = reads
        .accesses
        .iter()
        .flat_map(vars_in)
        .flat_map(|root| graph.provenance.leaves(root, loops))
        .collect();
    let is_constant = |var: &VarId| matches!(graph.extent(*var), Some(SizeExpr::Const(_)));
    let inside = |outer: usize| {
        let inner = loops[outer + 1..].iter();
        inner.copied().filter(|v| sides.contains(v)).collect()
    };
    let nearest = (0..at).rev().find(|&outer| {
        let inside: Vec<VarId> = inside(outer);
        !inside.is_empty()
    });
    let constant = (0..at).rev().find(|&outer| {
        let inside: Vec<VarId> = inside(outer);
        !inside.is_empty() && inside.iter().all(is_constant)
    });
    let var = loops[at];
    let promoted = |var: VarId| format!("promote({operand}, {kind}, {})", var_text(graph, var));
    let list = |vars: &[VarId]| {
        let names: Vec<String> = vars.iter().map(|&v| var_text(graph, v)).collect();
        names.join(", ")
    };
    let own = reads.place.of(graph).loop_vars();
    let (sided, others): (Vec<VarId>, Vec<VarId>) =
        own.iter().partition(|&v| *v != var && sides.contains(v));
    let order = [others, sided.clone()].concat();
    let mut ordered = graph.clone();
    let legal = order != own
        && !sided.is_empty()
        && reorder(&mut ordered, &order, arguments)
            .and_then(|()| legal::check_all(&ordered, arguments))
            .is_ok();
    let help = match (constant, nearest) {
        (Some(outer), _) => format!(
            "name a loop outside of one of them: `{}`",
            promoted(loops[outer])
        ),
        (None, _) if legal => format!(
            "bring one inside first: `reorder({})`, then `{}`",
            list(&order),
            promoted(var)
        ),
        (None, Some(outer)) => {
            format!(
                "name a loop outside of one of them: `{}`",
                promoted(loops[outer])
            )
        }
        (None, None) => "leave the command out".to_string(),
    };
    Diagnostic::error(
        codes::WRONG_ARGUMENTS,
        arguments.span,
        format!(
            "no loop over the subscripts of `{operand}` stands inside `{}`",
            var_text(graph, var)
        ),
        "a tile of a single element",
    )
    .with_help(help)
}

/// A tile would be filled once for all iterations of a loop that it has a side along.
pub(super) fn not_its_own(
    graph: &Graph,
    outer: VarId,
    reads: &Reads,
    arguments: &Arguments,
) -> Diagnostic {
    let outer = &graph.var(outer).name;
    let operand = &graph.tensor(reads.tensor).name;
    Diagnostic::error(
        codes::NOT_NESTED,
        arguments.span,
        format!("`{outer}` is no loop of the workspace that reads `{operand}`"),
        "the tile would stand inside that loop",
    )
    .with_label(reads.place.of(graph).span, "it is computed for this")
    .with_help(format!(
        "promote inside `{outer}`, or before the `precompute`"
    ))
}

/// What a statement updates is no operand that is staged: its tile is the workspace of the sum.
pub(super) fn is_updated(
    graph: &Graph,
    name: &Ident,
    place: &Place,
    var: VarId,
    arguments: &Arguments,
) -> Diagnostic {
    let help = match workspace_of_sum(graph, place, var, arguments) {
        Some(command) => format!("its tile is the workspace of the sum: write `{command}`"),
        None => "leave the command out".to_string(),
    };
    Diagnostic::error(
        codes::WRONG_ARGUMENTS,
        name.span,
        format!(
            "`{}` is updated inside `{}`, not read as an operand",
            name.name,
            var_text(graph, var)
        ),
        "only operands are staged",
    )
    .with_label(place.of(graph).span, "updated here")
    .with_help(help)
}

/// The `precompute` that keeps the sum of a nest over the loops of its left side inside `var`, where there is one.
fn workspace_of_sum(
    graph: &Graph,
    place: &Place,
    var: VarId,
    arguments: &Arguments,
) -> Option<String> {
    let nest = place.of(graph);
    let found = whole_sum(&nest.rhs)?;
    let own = nest.loop_vars();
    let inside = match own.iter().position(|&v| v == var) {
        Some(at) => &own[at + 1..],
        None => &own[..],
    };
    let sides: BTreeSet<VarId> = nest
        .lhs
        .iter()
        .flat_map(|&root| graph.provenance.leaves(root, &own))
        .collect();
    let over: Vec<(VarId, Option<Ident>)> = inside
        .iter()
        .filter(|v| sides.contains(v))
        .map(|&v| (v, None))
        .collect();
    let mut kept = graph.clone();
    precompute(&mut kept, (place, &found), &over, None, arguments.span).ok()?;
    legal::check_all(&kept, arguments).ok()?;
    kept.script.pop()
}

/// The tile does not tell where its elements are read.
pub(super) fn no_tile(arguments: &Arguments, message: String, help: &str) -> Diagnostic {
    Diagnostic::error(
        codes::WRONG_ARGUMENTS,
        arguments.span,
        message,
        "no tile can be made",
    )
    .with_help(help)
}

/// A tile has sides of a fixed size.
pub(super) fn not_constant(graph: &Graph, var: VarId, arguments: &Arguments) -> Diagnostic {
    let own = &graph.var(var).name;
    Diagnostic::error(
        codes::NO_TILE,
        arguments.span,
        format!("the loop over `{own}` has no constant number of iterations"),
        "no fixed-size tile",
    )
    .with_help(format!("`split` {own} and promote outside its inner part"))
}
