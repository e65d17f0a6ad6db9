//! Counted work: operations and bytes, for GFLOP/s and GB/s.
//!
//! Operations are those of each statement's right side (and of its reduction, or of what it is combined with), once
//! for each iteration; a statement with sparse operands iterates over the stored elements
//! of the largest one, times the extents of the variables that this one does not have. Of a product of
//! several sparse operands that is what is expected if their elements lie anywhere: of all coordinates
//! the part that each of them stores.
//! Bytes are those of every input and result array, once.

mod ranges;

use self::ranges::extent;
use super::bind::Bound;
use crate::data::Packed;
use crate::graph::distance::stride;
use crate::graph::order::vars_in;
use crate::program::ir::{Access, BinaryOp, Expr, ExprKind, Function, Statement, TensorId, VarId};
use std::collections::BTreeMap;

/// Operations of one run.
#[must_use]
pub fn operations(function: &Function, bound: &Bound, stored: &BTreeMap<TensorId, usize>) -> f64 {
    let of = |stmt: &Statement| {
        let mut factors = Vec::new();
        sparse_factors(function, &stmt.rhs, &mut factors);
        let iterations = match factors.len() {
            0 | 1 => walked(function, bound, stored, stmt),
            _ => expected(function, bound, stored, (stmt, &factors)),
        };
        // Sums that start over count each term; what is combined with the element does, too, where nothing is summed.
        let mut value = &stmt.rhs;
        while let ExprKind::Cast(inner) = &value.kind {
            value = inner;
        }
        let is_summed = matches!(value.kind, ExprKind::Reduce { .. });
        let combined = u32::from(stmt.op.is_some() && !is_summed);
        iterations * f64::from(arithmetic(&stmt.rhs) + combined)
    };
    function.stmts.iter().map(of).sum()
}

/// The sparse operands of a product.
fn sparse_factors<'e>(function: &Function, e: &'e Expr, found: &mut Vec<&'e Access>) {
    if let ExprKind::Access(access) = &e.kind
        && function.tensor(access.tensor).is_sparse()
    {
        found.push(access);
    }
    if matches!(
        e.kind,
        ExprKind::Reduce { .. }
            | ExprKind::Unary(..)
            | ExprKind::Cast(_)
            | ExprKind::Binary(BinaryOp::Mul, ..)
    ) {
        for part in e.parts() {
            sparse_factors(function, part, found);
        }
    }
}

/// Iterations in which all factors are there, if each stores its part of all coordinates.
#[expect(clippy::cast_precision_loss)]
fn expected(
    function: &Function,
    bound: &Bound,
    stored: &BTreeMap<TensorId, usize>,
    (stmt, factors): (&Statement, &[&Access]),
) -> f64 {
    let all: f64 = stmt
        .vars
        .iter()
        .map(|&v| extent(function, bound, v))
        .product();
    let part = |access: &&Access| {
        let tensor = function.tensor(access.tensor);
        let dims = tensor.dims.iter().map(|dim| bound.eval(dim).unwrap_or(0));
        let places: f64 = dims.map(|n| n.max(1) as f64).product();
        stored.get(&access.tensor).copied().unwrap_or(0) as f64 / places
    };
    all * factors.iter().map(part).product::<f64>()
}

/// Iterations over the largest sparse operand.
#[expect(clippy::cast_precision_loss)]
fn walked(
    function: &Function,
    bound: &Bound,
    stored: &BTreeMap<TensorId, usize>,
    stmt: &Statement,
) -> f64 {
    let mut largest: Option<(usize, &Access)> = None;
    let read = stmt.rhs.accesses().into_iter();
    for access in read.filter(|access| function.tensor(access.tensor).is_sparse()) {
        let count = stored.get(&access.tensor).copied().unwrap_or(0);
        if largest.is_none_or(|(n, _)| n < count) {
            largest = Some((count, access));
        }
    }
    // Of several variables one tells the element, where the others are known: each element is met once for each of the
    // fewest values that these have.
    let moving = |e: &Expr| {
        let vars = vars_in(e).into_iter();
        let vars = vars.filter(|&var| stride(e, var).is_some());
        vars.max_by(|&x, &y| extent(function, bound, x).total_cmp(&extent(function, bound, y)))
    };
    let walked: Vec<VarId> = largest.map_or(Vec::new(), |(_, access)| {
        access.subscripts.iter().filter_map(moving).collect()
    });
    let others = stmt.vars.iter().filter(|var| !walked.contains(var));
    let others: f64 = others.map(|&var| extent(function, bound, var)).product();
    largest.map_or(1.0, |(count, _)| count as f64) * others
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
