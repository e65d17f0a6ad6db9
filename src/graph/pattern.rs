//! Sparse results that store what one operand stores.
//!
//! `C(i,j) = A(i,j) * B(i,k) * D(j,k)` with dense B and D stores an element of C for each
//! of A's. Where C has the levels of A, its coordinates are A's and each value stands at
//! the position of A's: nothing is appended, the arrays have their size from the start,
//! and iterations of any loop over coordinates may run at once.

use super::build::{reduces, replace};
use super::equal::same_access;
use super::fold::{as_literal, fold};
use super::order::{appended_vars, sparse_accesses};
use super::{Graph, Nest};
use crate::format::LevelKind;
use crate::program::ir::{Access, Expr, ExprKind, SizeExpr, VarId};

/// The operand whose stored elements are exactly those of the nest's sparse result, in the
/// same levels; `None` if there is none, or the result is dense.
#[must_use]
pub fn source(graph: &Graph, nest: &Nest) -> Option<Access> {
    let result = graph.tensor(nest.tensor);
    if !result.is_sparse() || nest.op.is_some() || nest.joined > 0 {
        return None;
    }
    let mut accesses = sparse_accesses(graph, &nest.rhs);
    let computed = nest
        .producers
        .iter()
        .any(|p| !sparse_below(graph, p).is_empty());
    let (Some(access), true, false) = (accesses.pop(), accesses.is_empty(), computed) else {
        return None;
    };
    let operand = graph.tensor(access.tensor);
    let same_levels = operand.format.levels == result.format.levels
        && operand.format.index_bits == result.format.index_bits
        && access.tensor != nest.tensor
        && operand
            .format
            .modes
            .iter()
            .zip(&result.format.modes)
            .all(|(&own, &mode)| {
                let var = nest.lhs[mode];
                access.subscripts[own].as_var() == Some(var)
                    && operand.dims[own] == result.dims[mode]
                    && is_whole(graph, var, &result.dims[mode])
            });
    let elements = result
        .format
        .levels
        .last()
        .is_some_and(|last| last.unique && !last.is_full());
    // A run of equal coordinates belongs to the level below.
    let runs = result.format.levels.windows(2);
    let plain = runs
        .into_iter()
        .all(|pair| pair[0].unique || pair[1].kind == LevelKind::Singleton);
    (same_levels && elements && plain && vanishes_without(graph, nest, &access)).then_some(access)
}

/// The variables whose loops must be outermost and in this order, because coordinates of
/// the nest's result are appended.
#[must_use]
pub fn appended(graph: &Graph, nest: &Nest) -> Vec<VarId> {
    match source(graph, nest) {
        Some(_) => Vec::new(),
        None => appended_vars(&graph.tensor(nest.tensor).format, &nest.lhs),
    }
}

fn sparse_below(graph: &Graph, nest: &Nest) -> Vec<Access> {
    let mut found = Vec::new();
    nest.visit(&mut |part| found.extend(sparse_accesses(graph, &part.rhs)));
    found
}

fn is_whole(graph: &Graph, var: VarId, dim: &SizeExpr) -> bool {
    graph
        .static_range(var)
        .is_some_and(|(lo, hi)| *lo == SizeExpr::Const(0) && hi == dim)
}

/// Whether the statement would store the fill wherever `access` stores nothing.
fn vanishes_without(graph: &Graph, nest: &Nest, access: &Access) -> bool {
    let fill = graph.tensor(access.tensor).fill;
    let absent = |a: &Access| same_access(a, access).then_some(fill);
    let mut rhs = nest.rhs.clone();
    for sum in reduces(&nest.rhs) {
        let ExprKind::Reduce { op, body, .. } = &sum.kind else {
            continue;
        };
        let neutral = op.neutral(sum.ty);
        if as_literal(&fold(body, &absent)).is_some_and(|l| l.same_value(neutral)) {
            let left = Expr {
                kind: ExprKind::Literal(neutral),
                ..sum.clone()
            };
            replace(&mut rhs, &sum, &left);
        }
    }
    let own = graph.tensor(nest.tensor).fill;
    as_literal(&fold(&rhs, &absent)).is_some_and(|l| l.same_value(own))
}
