//! `bound(i, ib, v, kind)`: what is known of a range (000, 5.8).
//!
//! before: `forall(i, ...)`
//! after:  `forall(ib, ...) suchthat bound(i, ib, v, kind)`
//!
//! Kinds: `MinExact`, `MinConstraint` (lo = v, lo >= v), `MaxExact`, `MaxConstraint` (hi = v,
//! hi <= v), `Multiple` (hi - lo is divisible by v). Taken on the user's word; a debug
//! build of the kernel and a checked run compare it with the data. A range that data decide gets
//! a static upper bound by `MaxExact` or `MaxConstraint`, and the loop leaves where the data say.
//! Upper bounds may be sizes of the program, `K` or `2 * K + 1`. Refused: v contradicts what is
//! known.

use super::arguments::{Arguments, new_var, replace_loops};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::relation::{Bound, Quantity, Sizes, Values};
use crate::graph::{BoundKind, Graph, Relation};
use crate::program::ir::{SizeExpr, VarId};
use crate::syntax::ast::ExprKind;

const USAGE: &str = "bound(i, ib, 128, MaxExact)";

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    arguments.expect_count(4, USAGE)?;
    let parent = arguments.loop_var(&graph, 0)?;
    arguments.expect_open(&graph, parent)?;
    let kind = kind(arguments)?;
    let value = match kind {
        BoundKind::MaxExact | BoundKind::MaxConstraint => arguments.size(&graph, 2)?,
        BoundKind::MinExact | BoundKind::MinConstraint => {
            SizeExpr::Const(arguments.constants.eval(arguments.expr(2)?)?)
        }
        BoundKind::Multiple => SizeExpr::Const(arguments.positive(2)?),
    };
    if let Some(value) = value.as_int() {
        check(&graph, parent, value, kind, arguments)?;
    }
    let child = new_var(&mut graph, &arguments.name(1)?)?;
    replace_loops(&mut graph, parent, &[child]);
    graph.relate(Relation::Bound(Bound {
        parent,
        child,
        value,
        kind,
        span: arguments.span,
    }));
    Ok(graph)
}

fn kind(arguments: &Arguments) -> Result<BoundKind, Diagnostic> {
    let e = arguments.expr(3)?;
    let found = if let ExprKind::Name(name) = &e.kind {
        BoundKind::ALL
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(name))
    } else {
        None
    };
    found.ok_or_else(|| {
        let names: Vec<&str> = BoundKind::ALL.iter().map(|kind| kind.name()).collect();
        Diagnostic::error(
            codes::WRONG_ARGUMENTS,
            e.span,
            "expected a kind of bound",
            "here",
        )
        .with_help(format!("one of {}", names.join(", ")))
    })
}

/// Refuses what contradicts constants that are known.
fn check(
    graph: &Graph,
    parent: VarId,
    value: i64,
    kind: BoundKind,
    arguments: &Arguments,
) -> Result<(), Diagnostic> {
    let constant = |e: &SizeExpr| {
        if let SizeExpr::Const(c) = e {
            Some(*c)
        } else if let SizeExpr::Size(s) = e {
            graph
                .function
                .size(*s)
                .value
                .and_then(|v| i64::try_from(v).ok())
        } else {
            None
        }
    };
    let ending = graph.provenance.ending(parent);
    let ends = |var| Sizes(graph).bounds(var);
    let lo = ends(parent).and_then(|(lo, _)| constant(&lo));
    let hi = ends(ending).and_then(|(_, hi)| constant(&hi));
    // What is known of a range that may end earlier.
    let most = ends(parent).and_then(|(_, hi)| constant(&hi));
    let wrong = match kind {
        BoundKind::MinExact => lo.filter(|&lo| lo != value),
        BoundKind::MinConstraint => lo.filter(|&lo| lo < value),
        BoundKind::MaxExact => (hi.filter(|&hi| hi != value)).or(most.filter(|&most| most < value)),
        BoundKind::MaxConstraint => hi.filter(|&hi| hi > value),
        BoundKind::Multiple => lo
            .zip(hi)
            .filter(|(lo, hi)| (hi - lo) % value != 0)
            .map(|(_, hi)| hi),
    };
    let Some(found) = wrong else {
        return Ok(());
    };
    let known = match kind {
        BoundKind::MinExact | BoundKind::MinConstraint => format!("its range starts at {found}"),
        BoundKind::MaxExact | BoundKind::MaxConstraint | BoundKind::Multiple => {
            format!("its range ends at {found}")
        }
    };
    Err(Diagnostic::error(
        codes::BAD_BOUND,
        arguments.span,
        format!("`{}` cannot be bounded so: {known}", graph.var(parent).name),
        "contradicts what is known",
    )
    .with_help("leave the command out, or give the right number"))
}
