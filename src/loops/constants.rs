//! What constants and types tell of integer expressions.

use super::build::{as_int, boolean, is_comparison, literal};
use super::ir::{BinaryOp, Expr, ExprKind, Literal, ScalarType};

/// The result, if constants or the types of the operands tell it: compilers warn of constants that overflow, and of
/// comparisons that the range of a type decides.
pub(super) fn folded(op: BinaryOp, a: &Expr, b: &Expr) -> Option<Expr> {
    let (x, y) = (values(a)?, values(b)?);
    if is_comparison(op) {
        return decided(op, x, y).map(boolean);
    }
    as_int(a).and(as_int(b))?;
    let value = fold_int(op, x.0, y.0)?;
    Some(literal(Literal::Int(wrapped(a.ty, value)?), a.ty))
}

/// The smallest and the largest number that an integer or truth value can be, as far as its type and those it was
/// converted from tell.
fn values(e: &Expr) -> Option<(i128, i128)> {
    let of_type = if e.ty == ScalarType::Bool {
        (0, 1)
    } else {
        e.ty.ends()?
    };
    if let ExprKind::Literal(Literal::Int(i)) = &e.kind
        && e.ty.is_integer()
    {
        // Those of `uint64` stand for the number of the same bits.
        let is_large = e.ty == ScalarType::U64 && *i < 0;
        let value = i128::from(*i) + if is_large { 1 << 64 } else { 0 };
        return Some((value, value));
    }
    if let ExprKind::Literal(Literal::Bool(b)) = &e.kind {
        return Some((i128::from(*b), i128::from(*b)));
    }
    let mut found = of_type;
    if let ExprKind::Cast(from) = &e.kind {
        let kept = |(least, most): &(i128, i128)| of_type.0 <= *least && *most <= of_type.1;
        found = values(from).filter(kept).unwrap_or(of_type);
    }
    Some(found)
}

/// What a comparison of any two numbers of these ranges says.
fn decided(op: BinaryOp, a: (i128, i128), b: (i128, i128)) -> Option<bool> {
    let below = |a: (i128, i128), b: (i128, i128)| match (a.1 < b.0, a.0 >= b.1) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        (false, false) => None,
    };
    let same = match (a.0 == a.1 && a == b, a.1 < b.0 || b.1 < a.0) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        (false, false) => None,
    };
    match op {
        BinaryOp::Lt => below(a, b),
        BinaryOp::Gt => below(b, a),
        BinaryOp::Le => below(b, a).map(|greater| !greater),
        BinaryOp::Ge => below(a, b).map(|less| !less),
        BinaryOp::Eq => same,
        BinaryOp::Ne => same.map(|same| !same),
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::FloorDiv
        | BinaryOp::Min
        | BinaryOp::Max
        | BinaryOp::And
        | BinaryOp::Or => None,
    }
}

/// A number as a constant of an integer type holds it: what is beyond its ends wraps, as it does where programs run.
fn wrapped(ty: ScalarType, value: i128) -> Option<i64> {
    let (least, most) = ty.ends()?;
    let value = least + (value - least).rem_euclid(most - least + 1);
    // Those of `uint64` stand for the number of the same bits.
    i64::try_from(value)
        .or_else(|_| i64::try_from(value - (1 << 64)))
        .ok()
}

fn fold_int(op: BinaryOp, x: i128, y: i128) -> Option<i128> {
    match op {
        BinaryOp::Add => x.checked_add(y),
        BinaryOp::Sub => x.checked_sub(y),
        BinaryOp::Mul => x.checked_mul(y),
        BinaryOp::Div => x.checked_div(y),
        BinaryOp::Rem => x.checked_rem(y),
        BinaryOp::FloorDiv => {
            let q = x.checked_div(y)?;
            let inexact = q.checked_mul(y)? != x && ((x < 0) != (y < 0));
            Some(if inexact { q - 1 } else { q })
        }
        BinaryOp::Min => Some(x.min(y)),
        BinaryOp::Max => Some(x.max(y)),
        BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::And
        | BinaryOp::Or => None,
    }
}
