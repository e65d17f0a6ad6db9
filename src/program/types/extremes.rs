//! In which type `min=` and `max=` compare.
//!
//! In the left side's: each value is converted first, so that nothing but numbers of this type
//! are compared, what a reduction starts from is the type's own largest or smallest number, and
//! terms may be gathered in any order, also in the left side itself. In a wider type neither
//! holds. The largest `int64` is no `int8`, and a reduction of `uint8` numbers over nothing
//! starts from 0, which an `int8` holds and which may be more than what is there. What does not
//! fit wraps, and a least number that has wrapped is not the least of those that have.
//!
//! Floats going into whole numbers are compared as floats, and what comes out is converted:
//! infinities, the neutral elements among floats, are no whole numbers, and an absent element
//! often is one. What is beyond the left side's end on the neutral side becomes that end, which is
//! neutral in turn: `min=` with 300 and infinity leaves every `int8` as it is.

use super::Ty;
use super::typer::{Typer, convert};
use crate::program::ir::{Expr, ExprKind, Func, Literal, ReduceOp, ScalarType};

impl Typer<'_, '_> {
    /// The right side of `min=` or `max=` into numbers of type `want`; `op` is one of them.
    pub(super) fn extreme(&mut self, expr: &Expr, op: ReduceOp, want: ScalarType) -> Expr {
        let floats = match self.infer(expr) {
            Ty::WeakFloat => Some(ScalarType::F64),
            Ty::Strong(ty) if ty.is_float() => Some(ty.compute()),
            Ty::Unknown | Ty::WeakInt | Ty::Strong(_) => None,
        };
        if let (Some(floats), Some(ends)) = (floats, want.ends()) {
            return bounded(self.build(expr, floats), op, ends, want);
        }
        self.in_left_side(expr, want)
    }

    /// The right side of a reduction whose values are converted before they are combined.
    pub(super) fn in_left_side(&mut self, expr: &Expr, want: ScalarType) -> Expr {
        if matches!(expr.kind, ExprKind::Reduce { .. }) {
            return Expr {
                kind: self.kind(expr, want),
                ty: want,
                span: expr.span,
            };
        }
        self.build(expr, want)
    }
}

/// A float as a whole number, where `ends` are those of its type: in double precision, which has
/// all ends but the largest numbers of 64 bits. Those are rounded up, and whatever is as large
/// becomes them in a conversion.
#[expect(clippy::cast_precision_loss)]
fn bounded(value: Expr, op: ReduceOp, ends: (i128, i128), want: ScalarType) -> Expr {
    let span = value.span;
    let double = |kind| Expr {
        kind,
        ty: ScalarType::F64,
        span,
    };
    let (function, end) = if op == ReduceOp::Min {
        (Func::Min, ends.1 as f64)
    } else {
        (Func::Max, ends.0 as f64)
    };
    let value = convert(value, ScalarType::F64);
    let kind = if let ExprKind::Literal(x) = value.kind {
        let x = x.as_f64();
        let nearer = if op == ReduceOp::Min {
            x.min(end)
        } else {
            x.max(end)
        };
        ExprKind::Literal(Literal::Float(nearer))
    } else {
        let end = double(ExprKind::Literal(Literal::Float(end)));
        ExprKind::Call(function, vec![value, end])
    };
    convert(double(kind), want)
}
