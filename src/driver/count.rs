//! Counted work: operations and bytes, for GFLOP/s and GB/s.
//!
//! Operations are those of each statement's right side (and of its reduction), once
//! for each iteration; a statement with sparse operands iterates over the stored elements
//! of the largest one, times the extents of the variables that this one does not have.
//! Bytes are those of every input and result array, once.

use super::bind::Bound;
use crate::data::Packed;
use crate::graph::visit;
use crate::program::ir::{Access, Bound as RangeBound, Expr, ExprKind, Function, TensorId, VarId};
use std::collections::BTreeMap;

/// Operations of one run.
#[must_use]
#[expect(clippy::cast_precision_loss)]
pub fn operations(function: &Function, bound: &Bound, stored: &BTreeMap<TensorId, usize>) -> f64 {
    let mut total = 0.0;
    for stmt in &function.stmts {
        let ops = arithmetic(&stmt.rhs);
        let mut largest: Option<(usize, Access)> = None;
        visit(&stmt.rhs, &mut |e| match &e.kind {
            ExprKind::Access(access) if function.tensor(access.tensor).is_sparse() => {
                let count = stored.get(&access.tensor).copied().unwrap_or(0);
                if largest.as_ref().is_none_or(|(n, _)| *n < count) {
                    largest = Some((count, access.clone()));
                }
            }
            ExprKind::Access(_)
            | ExprKind::Binary(..)
            | ExprKind::Unary(..)
            | ExprKind::Call(..)
            | ExprKind::Reduce { .. }
            | ExprKind::Literal(_)
            | ExprKind::Index(_)
            | ExprKind::Size(_)
            | ExprKind::Select(..)
            | ExprKind::Cast(_) => {}
        });
        let (mut iterations, walked): (f64, Vec<VarId>) = match &largest {
            None => (1.0, Vec::new()),
            Some((count, access)) => (
                *count as f64,
                access
                    .subscripts
                    .iter()
                    .filter_map(|s| s.as_var())
                    .collect(),
            ),
        };
        for &var in &stmt.vars {
            if walked.contains(&var) {
                continue;
            }
            let range = &function.var(var).range;
            if let (RangeBound::Static(lo), RangeBound::Static(hi)) = (&range.lo, &range.hi) {
                let (lo, hi) = (bound.eval(lo).unwrap_or(0), bound.eval(hi).unwrap_or(0));
                let extent = hi.saturating_sub(lo);
                iterations *= extent.max(0) as f64;
            }
        }
        total += iterations * f64::from(ops);
    }
    total
}

/// Operations of one evaluation, those of subscripts apart.
fn arithmetic(e: &Expr) -> u32 {
    match &e.kind {
        ExprKind::Literal(_) | ExprKind::Index(_) | ExprKind::Size(_) | ExprKind::Access(_) => 0,
        ExprKind::Binary(_, a, b) => 1 + arithmetic(a) + arithmetic(b),
        ExprKind::Unary(_, a) => 1 + arithmetic(a),
        ExprKind::Reduce { body, .. } => 1 + arithmetic(body),
        ExprKind::Call(_, args) => 1 + args.iter().map(arithmetic).sum::<u32>(),
        ExprKind::Select(c, a, b) => arithmetic(c) + arithmetic(a).max(arithmetic(b)),
        ExprKind::Cast(a) => arithmetic(a),
    }
}

/// Bytes of a packed tensor's arrays.
#[must_use]
pub fn bytes(packed: &Packed) -> usize {
    let levels: usize = packed.levels.iter().flatten().map(|a| a.bytes()).sum();
    levels + packed.values.len() * packed.values.ty().size()
}
