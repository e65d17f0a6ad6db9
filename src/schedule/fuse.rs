//! `fuse(i, j, f)`: one loop for two, f = i * extent(j) + j (000, 5.4).
//!
//! before: `forall(i, forall(j, ...))`
//! after:  `forall(f, ...) suchthat fuse(i, j, f)`
//!
//! A range of j that depends on data at i gets a bound first ([`synthesized`]); the loop over f has
//! as many iterations for each i, and those beyond the range do nothing. Refused: j is not directly
//! inside i; one of them counts positions (fuse first, then `pos`); a sparse level would be fused
//! with a loop below it that its tensor does not store there; the result is appended, so that its
//! levels need loops of their own.

use super::arguments::{Arguments, new_var};
use super::synthesized;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::order::sparse_accesses;
use crate::graph::pattern;
use crate::graph::relation::{Fuse, Partition};
use crate::graph::{Graph, Loop, Nest, Relation};
use crate::program::ir::{Access, VarId};
use crate::syntax::ast::Ident;

const USAGE: &str = "fuse(i, j, f)";

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    arguments.expect_count(3, USAGE)?;
    let outer = arguments.loop_var(&graph, 0)?;
    let inner = arguments.loop_var(&graph, 1)?;
    if outer == inner {
        return Err(arguments.named_twice(&graph, inner, arguments.expr(1)?.span, USAGE));
    }
    arguments.expect_open(&graph, outer)?;
    arguments.expect_open(&graph, inner)?;
    for (at, var) in [outer, inner].into_iter().enumerate() {
        if graph.provenance.position_of(var).is_some() {
            return Err(Diagnostic::error(
                codes::POSITION_SPACE,
                arguments.expr(at)?.span,
                format!("`{}` counts positions", graph.var(var).name),
                "cannot be fused",
            )
            .with_help("fuse the coordinates first, then take their positions with `pos`"));
        }
    }
    let fused = arguments.name(2)?;
    Ok(fuse(graph, (outer, inner), &fused, arguments)?.0)
}

/// One loop for two, and its variable.
///
/// # Errors
/// Those of the command that concern no argument alone.
pub(super) fn fuse(
    graph: Graph,
    (outer, inner): (VarId, VarId),
    fused: &Ident,
    arguments: &Arguments,
) -> Result<(Graph, VarId), Diagnostic> {
    if Partition::ties(&graph.provenance, outer, inner) {
        let (b, ib) = (&graph.var(outer).name, &graph.var(inner).name);
        return Err(Diagnostic::error(
            codes::PARTITION,
            arguments.span,
            format!("how far `{ib}` runs depends on `{b}`"),
            "could not be taken apart again",
        )
        .with_help("leave the two loops apart: parts store equally much already"));
    }
    let (mut graph, inner) = synthesized::bounded(graph, inner, &[outer], arguments)?;
    let mut places: Vec<usize> = Vec::new();
    for (at, nest) in graph.nests.iter().enumerate() {
        let mut error = None;
        let mut found = false;
        nest.visit(&mut |part| {
            match nested(&graph, part, outer, inner, arguments) {
                Ok(fits) => found |= fits,
                Err(e) => error = error.take().or(Some(e)),
            };
        });
        if let Some(error) = error {
            return Err(error);
        }
        if found {
            places.push(at);
        }
    }
    if places.is_empty() {
        return Err(not_nested(&graph, outer, inner, arguments));
    }
    let fused = new_var(&mut graph, fused)?;
    for at in places {
        graph.nests[at].visit_mut(&mut |part| {
            let Some(first) = part.loops.iter().position(|l| l.var == outer) else {
                return;
            };
            if part.loops.get(first + 1).is_some_and(|l| l.var == inner) {
                let tag = part.loops[first].tag.with(&part.loops[first + 1].tag);
                let var = fused;
                part.loops.splice(first..=first + 1, [Loop { var, tag }]);
                if first + 1 < part.joined {
                    part.joined -= 1;
                }
            }
        });
    }
    graph.relate(Relation::Fuse(Fuse {
        outer,
        inner,
        fused,
    }));
    Ok((graph, fused))
}

fn not_nested(graph: &Graph, outer: VarId, inner: VarId, arguments: &Arguments) -> Diagnostic {
    let (i, j) = (&graph.var(outer).name, &graph.var(inner).name);
    Diagnostic::error(
        codes::NOT_NESTED,
        arguments.span,
        format!("the loop over `{j}` is not directly inside that over `{i}`"),
        "cannot become one",
    )
    .with_help(format!(
        "bring them together first: `reorder(..., {i}, {j}, ...)`"
    ))
}

/// Whether the nest has both loops, one directly inside the other.
fn nested(
    graph: &Graph,
    nest: &Nest,
    outer: VarId,
    inner: VarId,
    arguments: &Arguments,
) -> Result<bool, Diagnostic> {
    let at = |var: VarId| nest.loops.iter().position(|l| l.var == var);
    let (Some(i), Some(j)) = (at(outer), at(inner)) else {
        return Ok(false);
    };
    if j != i + 1 || j == nest.joined {
        return Err(not_nested(graph, outer, inner, arguments));
    }
    let result = graph.tensor(nest.tensor);
    let appended = pattern::appended(graph, nest);
    let roots = [graph.provenance.roots(outer), graph.provenance.roots(inner)];
    if roots.iter().flatten().any(|root| appended.contains(root)) {
        return Err(Diagnostic::error(
            codes::LEVEL_ORDER,
            arguments.span,
            format!("`{}` could not be appended in order any more", result.name),
            "its levels need loops of their own",
        )
        .with_help(format!("store `{}` dense, or leave the loops", result.name)));
    }
    let [outer_roots, inner_roots] = &roots;
    // Of a sum in parts, a workspace may keep some and add up others.
    let (above, below) = (
        graph.provenance.ancestors(outer),
        graph.provenance.ancestors(inner),
    );
    let kept = |vars: &[VarId]| nest.lhs.iter().any(|v| vars.contains(v));
    if outer_roots.iter().any(|root| inner_roots.contains(root)) && kept(&above) != kept(&below) {
        return Err(Diagnostic::error(
            codes::UNSUPPORTED_COMMAND,
            arguments.span,
            format!(
                "fusing a part of `{}` that `{}` keeps with one that it adds up is not supported yet",
                graph.var(outer_roots[0]).name, result.name
            ),
            "parts of one variable",
        )
        .with_help("leave the two loops apart"));
    }
    let stored = |var| graph.provenance.coordinates(var);
    // What is read at a distance has no positions that a loop could count: values are fused.
    let walks = |access: &Access, var: VarId| {
        let levels = &graph.tensor(access.tensor).format.levels;
        graph
            .level_of(access, var)
            .is_some_and(|level| !levels[level].is_full())
    };
    for sparse in stored(outer) {
        let accesses = sparse_accesses(graph, &nest.rhs);
        if !accesses.iter().any(|access| walks(access, sparse)) {
            continue;
        }
        let below = stored(inner).iter().all(|&next| {
            sparse_accesses(graph, &nest.rhs).iter().any(|access| {
                let level = |var: VarId| graph.level_of(access, var);
                matches!((level(sparse), level(next)), (Some(a), Some(b)) if a < b)
            })
        });
        if !below {
            return Err(Diagnostic::error(
                codes::LEVEL_ORDER,
                arguments.span,
                format!(
                    "`{}` walks the coordinates that are stored, `{}` all there are",
                    graph.var(outer).name,
                    graph.var(inner).name
                ),
                "cannot become one loop",
            )
            .with_help("fuse levels of one tensor, or loops over dense dimensions"));
        }
    }
    Ok(true)
}
