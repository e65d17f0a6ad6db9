//! How many iterations loops have.

use super::build as b;
use super::device::{Definitions, inlined};
use super::ir::{BinaryOp, Expr, ExprKind};
use super::linear::{self, Linear};

/// A constant that `hi - lo` does not exceed.
#[must_use]
pub fn most(hi: &Expr, lo: &Expr, known: &Definitions) -> Option<i64> {
    let either = |a: Option<i64>, b: Option<i64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, None) | (None, one) => one,
    };
    let plain = linear::sub(&inlined(hi, known), &inlined(lo, known));
    if let Some(n) = Linear::of(&plain).and_then(|sum| sum.as_constant()) {
        return Some(n);
    }
    match (&hi.kind, &lo.kind) {
        (ExprKind::Binary(BinaryOp::Min, x, y), _) => {
            either(most(x, lo, known), most(y, lo, known))
        }
        (_, ExprKind::Binary(BinaryOp::Max, x, y)) => {
            either(most(hi, x, known), most(hi, y, known))
        }
        (ExprKind::Binary(BinaryOp::Add, x, y), _) => {
            // base + min(n, rest), as bounds of tiles are written
            let through = |term: &Expr, base: &Expr| {
                let ExprKind::Binary(BinaryOp::Min, p, q) = &term.kind else {
                    return None;
                };
                either(
                    most(&b::add(base.clone(), (**p).clone()), lo, known),
                    most(&b::add(base.clone(), (**q).clone()), lo, known),
                )
            };
            either(through(y, x), through(x, y))
        }
        (ExprKind::Var(v), _) if known.contains_key(v) => most(&known[v], lo, known),
        (_, ExprKind::Var(v)) if known.contains_key(v) => most(hi, &known[v], known),
        _ => None,
    }
}
