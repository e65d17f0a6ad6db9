//! `skew(i, j, f)`: the loop over j runs over j + f * i (002, 5.2; 003).
//!
//! before: `forall(i, forall(j, ...))`
//! after:  the same loops `suchthat skew(i, j, f)`
//!
//! The loops keep their names. With the skewed loop inside it runs over the same values, counted
//! from f * i; outside it runs over all that j + f * i may be, and the loop over i is left those
//! that give a value of j: a wavefront. f may be negative. Refused: i or j counts positions; a
//! statement has one of the loops and not the other; one of them was fused, or both are parts of
//! one variable (skew first, then split and fuse); f is too large.

use super::arguments::{Arguments, renamed};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::relation::Skew;
use crate::graph::{Graph, Nest, Relation, pattern};
use crate::program::ir::VarId;

const USAGE: &str = "skew(i, j, 1)";

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    arguments.expect_count(3, USAGE)?;
    let outer = arguments.loop_var(&graph, 0)?;
    let inner = arguments.loop_var(&graph, 1)?;
    if outer == inner {
        return Err(arguments.named_twice(&graph, inner, arguments.expr(1)?.span, USAGE));
    }
    for (at, var) in [outer, inner].into_iter().enumerate() {
        arguments.expect_open(&graph, var)?;
        if graph.provenance.position_of(var).is_some() {
            return Err(Diagnostic::error(
                codes::POSITION_SPACE,
                arguments.expr(at)?.span,
                format!("`{}` counts positions", graph.var(var).name),
                "cannot be skewed",
            )
            .with_help("leave out the `pos`: coordinates can be skewed"));
        }
    }
    if !Skew::is_between(&graph.provenance, outer, inner) {
        let (i, j) = (&graph.var(outer).name, &graph.var(inner).name);
        return Err(Diagnostic::error(
            codes::NOT_NESTED,
            arguments.span,
            format!("one loop would tell more than `{j}` and `{i}` at once"),
            "fused, parts of one variable, or a part besides another that is skewed",
        )
        .with_help("skew the variables first, then split or fuse them"));
    }
    check(&graph, (outer, inner), arguments)?;
    let factor = arguments.whole(2)?;
    let kept = renamed(&mut graph, outer);
    let skewed = renamed(&mut graph, inner);
    graph.relate(Relation::Skew(Skew {
        from_zero: false,
        outer,
        inner,
        kept,
        skewed,
        factor,
    }));
    Ok(graph)
}

/// Whoever has one of the loops has the other, and appends neither's coordinates.
fn check(
    graph: &Graph,
    (outer, inner): (VarId, VarId),
    arguments: &Arguments,
) -> Result<(), Diagnostic> {
    let mut error = None;
    graph.visit_nests(&mut |nest: &Nest| {
        let has = |var: VarId| nest.loops.iter().any(|l| l.var == var);
        if error.is_some() || !(has(outer) || has(inner)) {
            return;
        }
        let (i, j) = (&graph.var(outer).name, &graph.var(inner).name);
        if has(outer) != has(inner) {
            error = Some(
                Diagnostic::error(
                    codes::NOT_NESTED,
                    arguments.span,
                    format!("the loops over `{i}` and `{j}` do not belong to the same statements"),
                    "cannot be skewed",
                )
                .with_help("leave the statements apart, or skew before they share loops"),
            );
            return;
        }
        let appended = pattern::appended(graph, nest);
        let from = graph.provenance.ancestors(inner);
        if from.iter().any(|v| appended.contains(v)) {
            let result = &graph.tensor(nest.tensor).name;
            error = Some(
                Diagnostic::error(
                    codes::LEVEL_ORDER,
                    arguments.span,
                    format!("`{result}` could not be appended in order any more"),
                    "its levels need loops of their own",
                )
                .with_help(format!("store `{result}` dense, or leave the loops")),
            );
        }
    });
    error.map_or(Ok(()), Err)
}
