//! Between which values an expression stays, as far as types and the ranges of variables tell.

use super::Graph;
use crate::program::affine;
use crate::program::ir::{BinaryOp, Bound, Expr, ExprKind, SizeExpr};
use crate::program::ranges::affine::Affine;
use crate::program::ranges::size as sizes;
use crate::scalar::Literal;
use std::cmp::Ordering;

/// Whether it is never negative.
#[must_use]
pub fn is_natural(graph: &Graph, e: &Expr) -> bool {
    // What leaves its type is asked before.
    let of_naturals = matches!(&e.kind, ExprKind::Binary(BinaryOp::Add | BinaryOp::Mul, a, b)
        if is_natural(graph, a) && is_natural(graph, b));
    let part_of_natural = parts(e).is_some_and(|(a, _)| is_natural(graph, a));
    of_naturals
        || part_of_natural
        || values(e).is_some_and(|(least, _)| least >= 0)
        || ends(graph, e).is_some_and(|(least, _)| sizes::never_negative(&least))
}

/// Whether its type keeps it from the ends of 64 bits.
#[must_use]
pub fn is_narrow(e: &Expr) -> bool {
    values(e).is_some()
}

/// Whether the type of `e` or the ranges of its variables keep `e + by` from being more than an extent.
#[must_use]
pub fn stays_below(graph: &Graph, e: &Expr, extent: &Expr, by: i64) -> bool {
    let ExprKind::Size(extent) = &extent.kind else {
        return false;
    };
    fits(graph, e, extent, by)
}

/// Whether what `e` says is a coordinate of a dimension, whatever the values of its variables and the data are.
#[must_use]
pub fn lies_in(graph: &Graph, e: &Expr, extent: &SizeExpr) -> bool {
    is_natural(graph, e) && ends_in(graph, e, extent)
}

/// Whether it is never behind a dimension.
#[must_use]
pub fn ends_in(graph: &Graph, e: &Expr, extent: &SizeExpr) -> bool {
    fits(graph, e, extent, 1) || part_ends_in(graph, e, extent)
}

fn fits(graph: &Graph, e: &Expr, extent: &SizeExpr, by: i64) -> bool {
    if let (SizeExpr::Const(extent), Some((_, most))) = (extent, values(e))
        && most + by <= *extent
    {
        return true;
    }
    ends(graph, e).is_some_and(|(_, most)| {
        let rest = sizes::sub(extent.clone(), sizes::add(most, SizeExpr::Const(by)));
        sizes::never_negative(&rest)
    })
}

/// The dividend and the positive divisor of a quotient or a rest.
fn parts(e: &Expr) -> Option<(&Expr, i64)> {
    if let ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, a, by) = &e.kind
        && let ExprKind::Literal(Literal::Int(n)) = by.kind
    {
        return (n > 0).then_some((a, n));
    }
    None
}

/// Whether the quotient of what is below an extent is below the number of blocks that hold it, or a rest below its
/// divisor.
fn part_ends_in(graph: &Graph, e: &Expr, extent: &SizeExpr) -> bool {
    let Some((of, n)) = parts(e) else {
        return false;
    };
    let is_quotient = matches!(e.kind, ExprKind::Binary(BinaryOp::Div, ..));
    match extent {
        SizeExpr::Const(extent) if !is_quotient => n <= *extent,
        SizeExpr::FloorDiv(up, by) if is_quotient && **by == SizeExpr::Const(n) => {
            let whole = sizes::sub((**up).clone(), SizeExpr::Const(n - 1));
            ends_in(graph, of, &sizes::simplify(&whole))
        }
        SizeExpr::Const(_)
        | SizeExpr::Size(_)
        | SizeExpr::Param(_)
        | SizeExpr::Add(..)
        | SizeExpr::Sub(..)
        | SizeExpr::Mul(..)
        | SizeExpr::FloorDiv(..)
        | SizeExpr::Min(..)
        | SizeExpr::Max(..) => false,
    }
}

fn is_positive(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Literal(Literal::Int(n)) if n > 0)
}

fn ends(graph: &Graph, e: &Expr) -> Option<(SizeExpr, SizeExpr)> {
    ends_of(graph, affine(e, &|_| None)?)
}

/// The least and the largest value of a form, where the ranges of its variables tell.
#[must_use]
pub(crate) fn ends_of(graph: &Graph, form: Affine) -> Option<(SizeExpr, SizeExpr)> {
    let (mut least, mut most) = (form.rest.clone(), form.rest);
    for (var, coefficient) in form.terms {
        let range = &graph.var(var).range;
        let end = |bound: &Bound, last: bool| match bound {
            Bound::Static(e) => Some(e.clone()),
            Bound::Dynamic(e) => {
                let (least, most) = ends(graph, e)?;
                Some(if last { most } else { least })
            }
        };
        let first = end(&range.lo, false)?;
        let last = sizes::sub(end(&range.hi, true)?, SizeExpr::Const(1));
        let times = |at| sizes::mul(coefficient.clone(), at);
        let (low, high) = match sizes::sign(&coefficient)? {
            Ordering::Greater => (first, last),
            Ordering::Less => (last, first),
            Ordering::Equal => return None,
        };
        least = sizes::add(least, times(low));
        most = sizes::add(most, times(high));
    }
    Some((least, most))
}

/// The values that an element read from data can have, or what is left of it by a division, where its type is narrow
/// enough to tell.
fn values(e: &Expr) -> Option<(i64, i64)> {
    if let ExprKind::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), a, b) = &e.kind {
        let (least, most) = values(a)?;
        let keeps_sign = *op == BinaryOp::Rem || is_positive(b);
        return keeps_sign.then_some((least.min(0), most.max(0)));
    }
    let (least, most) = e.ty.ends()?;
    // A conversion keeps what its type has.
    if let ExprKind::Cast(inner) = &e.kind {
        let own = inner.ty.ends()?;
        let kept = least <= own.0 && own.1 <= most;
        return kept.then(|| values(inner)).flatten();
    }
    let narrow = matches!(e.kind, ExprKind::Access(_)) && e.ty.size() < 8;
    narrow.then_some((i64::try_from(least).ok()?, i64::try_from(most).ok()?))
}
