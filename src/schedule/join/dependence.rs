//! Whether two statements may share loops.
//!
//! Iteration i of the second statement runs before iteration i + 1 of the first, so
//! what it reads must have been written by iterations up to i. Left sides are plain
//! index variables, hence the element at subscript e is written at iteration e, and
//! the question is whether e <= i for all values of the other variables: e is affine,
//! so its greatest distance e - i is a sum of coefficients times bounds, exact where
//! the bounds are constants. Over several loops the distances compare
//! lexicographically. No integer programming is needed, because one side of each pair
//! is always the identity.

use crate::diagnostic::codes::schedule as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::{Graph, Nest, terms};
use crate::program::ir::{Access, Expr, VarId};
use crate::program::ranges::affine::{Affine, affine};
use crate::program::ranges::size;
use crate::sums::Range;

/// The pairs of nests that share loops, with the number of those loops: not only
/// neighbours, for three statements may have been joined.
#[must_use]
pub fn sharing(graph: &Graph) -> Vec<(usize, usize, usize)> {
    let mut pairs = Vec::new();
    for first in 0..graph.nests.len() {
        let mut depth = usize::MAX;
        for (second, nest) in graph.nests.iter().enumerate().skip(first + 1) {
            depth = depth.min(nest.joined);
            if depth == 0 {
                break;
            }
            pairs.push((first, second, depth));
        }
    }
    pairs
}

/// Checks two nests, the first of which runs first, whose outer loops are `shared`.
///
/// # Errors
/// A dependence would point backwards, or cannot be excluded.
pub fn check(
    graph: &Graph,
    (first, second): (usize, usize),
    shared: &[VarId],
    span: Span,
) -> Result<(), Diagnostic> {
    let (first, second) = (&graph.nests[first], &graph.nests[second]);
    // The second statement reads what the first writes: not from later iterations.
    for access in reads_of(graph, second, first) {
        if !ordered(graph, &access, first, shared, false) {
            return Err(backwards(graph, &access, first, second, span));
        }
    }
    // The first reads what the second overwrites: not from earlier iterations.
    for access in reads_of(graph, first, second) {
        if !ordered(graph, &access, second, shared, true) {
            return Err(backwards(graph, &access, first, second, span));
        }
    }
    // Both write: the same elements in the same iterations, or they add to them. (A loop that each has at
    // another place of its left side would race though neither does.)
    if first.tensor == second.tensor {
        let place = |nest: &Nest, var| nest.lhs.iter().position(|l| *l == var);
        let both_add = first.op.is_some() && first.op == second.op;
        let fits = |&var: &VarId| match (place(first, var), place(second, var)) {
            (Some(a), Some(b)) => a == b,
            (None, _) | (_, None) => both_add,
        };
        if !shared.iter().all(fits) {
            let access = Access {
                tensor: first.tensor,
                subscripts: vec![],
            };
            return Err(backwards(graph, &access, first, second, span));
        }
    }
    Ok(())
}

/// Whether iterations of a loop over `var` that two joined nests share depend on each
/// other.
#[must_use]
pub fn carried(graph: &Graph, (first, second): (usize, usize), var: VarId) -> bool {
    let (first, second) = (&graph.nests[first], &graph.nests[second]);
    let same = |access: &Access, writer: &Nest| {
        writer
            .lhs
            .iter()
            .position(|v| *v == var)
            .is_some_and(|mode| distance(graph, &access.subscripts[mode], var) == Range::of(0, 0))
    };
    reads_of(graph, second, first)
        .iter()
        .any(|access| !same(access, first))
        || reads_of(graph, first, second)
            .iter()
            .any(|access| !same(access, second))
}

/// Whether one nest reads what another writes.
#[must_use]
pub fn reads(graph: &Graph, reader: &Nest, writer: &Nest) -> bool {
    !reads_of(graph, reader, writer).is_empty()
}

/// Whether what `writer` writes stands in subscripts or ranges of `reader`.
#[must_use]
pub fn decides(graph: &Graph, reader: &Nest, writer: &Nest) -> bool {
    let named = |e: &Expr| terms::reads(e, writer.tensor);
    let mut decides = false;
    reader.visit(&mut |part| {
        for access in part.rhs.accesses() {
            decides |= access.subscripts.iter().any(named);
        }
        let roots = part
            .loops
            .iter()
            .flat_map(|l| graph.provenance.roots(l.var));
        for root in roots {
            decides |= graph.var(root).range.reads().any(named);
        }
    });
    decides
}

/// The accesses by which `reader` reads what `writer` writes.
fn reads_of(graph: &Graph, reader: &Nest, writer: &Nest) -> Vec<Access> {
    let mut found = Vec::new();
    let mut note = |e: &Expr| {
        let read = e.accesses().into_iter();
        let read = read.filter(|access| access.tensor == writer.tensor);
        found.extend(read.cloned());
    };
    reader.visit(&mut |part| {
        note(&part.rhs);
        for l in &part.loops {
            for root in graph.provenance.roots(l.var) {
                let range = &graph.var(root).range;
                for e in range.reads() {
                    note(e);
                }
            }
        }
    });
    found
}

/// Whether the element that `access` reads is written no later (`later`: no earlier)
/// than the iteration that reads it.
fn ordered(graph: &Graph, access: &Access, writer: &Nest, shared: &[VarId], later: bool) -> bool {
    for &var in shared {
        let Some(mode) = writer.lhs.iter().position(|v| *v == var) else {
            return false;
        };
        let d = distance(graph, &access.subscripts[mode], var);
        let d = if later { Range::of(0, 0).less(d) } else { d };
        match d.most {
            Some(x) if x < 0 => return true,
            // Of iterations that are equal here, the loops inside decide.
            Some(0) => {}
            Some(_) | None => return false,
        }
    }
    true
}

/// The values of `e - var`, where the factors and the rest are constants.
fn distance(graph: &Graph, e: &Expr, var: VarId) -> Range {
    let within = || {
        let form = affine(e, &|_| None)?.less(&Affine::index(var));
        let rest = size::constant(&form.rest)?;
        let mut range = Range::of(rest, rest);
        for (own, factor) in &form.terms {
            range = range.plus(constants(graph, *own).scaled(size::constant(factor)?));
        }
        Some(range)
    };
    within().unwrap_or(Range::ANY)
}

/// The least and greatest value of a variable, where they are constants.
fn constants(graph: &Graph, var: VarId) -> Range {
    match graph.static_range(var) {
        Some((lo, hi)) => Range {
            least: graph.function.constant(lo),
            most: graph.function.at_most(hi).map(|hi| hi - 1),
        },
        None => Range::ANY,
    }
}

fn backwards(
    graph: &Graph,
    access: &Access,
    first: &Nest,
    second: &Nest,
    span: Span,
) -> Diagnostic {
    let label = |nest: &Nest| graph.statement(nest).label.clone();
    Diagnostic::error(
        codes::BACKWARD_DEPENDENCE,
        span,
        format!(
            "a dependence would point backwards: `{}` needs elements of `{}` from other \
             iterations than those that came before",
            label(second),
            graph.tensor(access.tensor).name
        ),
        "cannot share these loops",
    )
    .with_label(first.span, format!("`{}` runs first today", label(first)))
    .with_help("join fewer loops, or leave the statements apart")
}
