//! Subscripts that move with an index variable, in equal strides and at a distance: `A(i, j+1)`, `x(2*i)`, or `x(i+j)`
//! where i is known.
//!
//! Where the loop over the variable begins, the distance is known. So the loop walks what a level stores as it
//! would at `A(i,j)`, takes the distance off each coordinate, and passes over those between two strides.

use super::order::vars_in;
use crate::level::Level;
use crate::program::ir::{BinaryOp, Expr, ExprKind, VarId};
use crate::scalar::{Literal, ScalarType};

/// How far a subscript goes, always forwards, from each value of the variable to the next; `None` if that is not the
/// same everywhere, or no number says so.
#[must_use]
pub fn stride(subscript: &Expr, var: VarId) -> Option<i64> {
    if subscript.as_var() == Some(var) {
        return Some(1);
    }
    let ExprKind::Binary(op, a, b) = &subscript.kind else {
        return None;
    };
    // What is narrower may wrap between two values.
    if subscript.ty != ScalarType::I64 {
        return None;
    }
    let free = |e: &Expr| !vars_in(e).contains(&var);
    let times = |factor: &Expr, e: &Expr| {
        let ExprKind::Literal(Literal::Int(n)) = factor.kind else {
            return None;
        };
        stride(e, var)?.checked_mul(n).filter(|_| n > 0)
    };
    if matches!(op, BinaryOp::Add | BinaryOp::Sub) && free(b) {
        stride(a, var)
    } else if *op == BinaryOp::Add && free(a) {
        stride(b, var)
    } else if *op == BinaryOp::Mul {
        times(a, b).or_else(|| times(b, a))
    } else {
        None
    }
}

/// Whether a loop over the variable can walk such a level with this subscript, if it knows what is added. Where to
/// begin is searched then, so the level must be in order.
#[must_use]
pub fn can_walk(level: Level, subscript: &Expr, var: VarId) -> bool {
    subscript.as_var() == Some(var) || (level.ordered && stride(subscript, var).is_some())
}

/// The one variable that decides a subscript, if different values lead to different coordinates.
#[must_use]
pub fn carried(subscript: &Expr) -> Option<VarId> {
    let vars = vars_in(subscript);
    let &[var] = vars.as_slice() else { return None };
    let mut reads = subscript.accesses().into_iter();
    let fixed = reads.all(|read| read.subscripts.is_empty());
    (fixed && stride(subscript, var).is_some()).then_some(var)
}
