//! Numbers of blocks and threads: CUDA has them unsigned, of 32 bits, where all other indices are
//! signed, of 64.

use crate::loops::build::as_int;
use crate::loops::ir::{BinaryOp, Expr, ExprKind, Place, ScalarType};

/// Whether an expression is made of numbers of blocks and threads alone.
pub(super) fn is_unit_number(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Place(place) => match place {
            Place::Thread | Place::Threads => false,
            Place::BlockIndex(_) | Place::ThreadIndex(_) | Place::Blocks(_) => true,
        },
        ExprKind::Binary(_, a, b) => {
            let bare = |e: &Expr| is_unit_number(e) || as_int(e).is_some();
            (is_unit_number(a) && bare(b)) || (bare(a) && is_unit_number(b))
        }
        ExprKind::Literal(_)
        | ExprKind::Var(_)
        | ExprKind::Load { .. }
        | ExprKind::Unary(..)
        | ExprKind::Call(..)
        | ExprKind::Cast(_)
        | ExprKind::Locate(..)
        | ExprKind::Select(..) => false,
    }
}

/// Whether a sum, difference or product of numbers of units may be negative, and would come round
/// to large numbers instead.
pub(super) fn leaves_unsigned(op: BinaryOp, a: &Expr, b: &Expr) -> bool {
    let negative = |e: &Expr| as_int(e).is_some_and(|n| n < 0);
    let bare = |e: &Expr| is_unit_number(e) || as_int(e).is_some();
    let of_units = (is_unit_number(a) && bare(b)) || (bare(a) && is_unit_number(b));
    let signed = op == BinaryOp::Sub
        || (matches!(op, BinaryOp::Add | BinaryOp::Mul) && (negative(a) || negative(b)));
    of_units && signed
}

/// Whether C would add or multiply in 32 bits what may take more: two loaded numbers, or one and a
/// constant. A coordinate and one more is a coordinate, or where the next one would be.
pub(super) fn leaves_narrow(op: BinaryOp, a: &Expr, b: &Expr) -> bool {
    let loaded = |e: &Expr| match &e.kind {
        ExprKind::Cast(from) => {
            from.ty == ScalarType::I32 && matches!(from.kind, ExprKind::Load { .. })
        }
        ExprKind::Literal(_)
        | ExprKind::Var(_)
        | ExprKind::Load { .. }
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Call(..)
        | ExprKind::Locate(..)
        | ExprKind::Place(_)
        | ExprKind::Select(..) => false,
    };
    let constant = |e: &Expr| as_int(e).is_some();
    let both = loaded(a) && loaded(b);
    let one = (loaded(a) && constant(b)) || (constant(a) && loaded(b));
    (op == BinaryOp::Add && both) || (op == BinaryOp::Mul && (both || one))
}
