//! What is left of an expression or statement when some operands are absent.
//!
//! An absent element is the constant `fill`; constants fold, zeros annihilate
//! products and quotients, neutral elements vanish (see `program::ir`). A
//! statement of which nothing is left needs no iteration: that is how the merge
//! lattice (Kjolstad et al. 2017) learns which operands must be present.

use super::exact::{Exact, exact};
use crate::operators::constants;
use crate::program::ir::{Access, BinaryOp, Expr, ExprKind, Func, Shared, Tensor, UnaryOp};
use crate::scalar::{Literal, ScalarType};

/// The literal, if the expression is one, rounded as its type is.
#[must_use]
pub fn as_literal(e: &Expr) -> Option<Literal> {
    if let ExprKind::Literal(l) = e.kind {
        Some(e.ty.rounded(l))
    } else {
        None
    }
}

/// Whether storing the value in a tensor would store its fill: as its elements are, rounded or wrapped.
#[must_use]
pub fn is_fill(value: &Expr, tensor: &Tensor) -> bool {
    let stored = |l| constants::converted(l, value.ty, tensor.ty);
    as_literal(value).is_some_and(|l| stored(l).same_value(tensor.fill))
}

/// Folds bottom-up after replacing every access for which `absent` gives a value; `reads` says
/// what the others may be worth elsewhere.
#[must_use]
pub fn fold(
    e: &Expr,
    absent: &dyn Fn(&Access) -> Option<Literal>,
    reads: &dyn Fn(&Access) -> Exact,
) -> Expr {
    let recur = |x: &Expr| fold(x, absent, reads);
    let with = |kind: ExprKind| Expr {
        kind,
        ty: e.ty,
        span: e.span,
    };
    match &e.kind {
        ExprKind::Literal(_) | ExprKind::Index(_) | ExprKind::Size(_) => e.clone(),
        ExprKind::Access(access) => match absent(access) {
            Some(fill) => with(ExprKind::Literal(fill)),
            None => e.clone(),
        },
        ExprKind::Unary(op, a) => unary(e, *op, recur(a)),
        ExprKind::Binary(op, a, b) => {
            let (left, right) = (recur(a), recur(b));
            match keeps_zero(*op, (a, &left), (b, &right), reads) {
                true => kept(e, *op, left, right),
                false => binary(e, *op, left, right, reads),
            }
        }
        ExprKind::Select(c, a, b) => {
            let c = recur(c);
            match as_literal(&c) {
                Some(l) => recur(if l.is_zero() { b } else { a }),
                None => {
                    let (a, b) = (recur(a), recur(b));
                    match (as_literal(&a), as_literal(&b)) {
                        (Some(x), Some(y)) if x.same_value(y) => a,
                        (Some(_) | None, Some(_) | None) => with(ExprKind::Select(
                            Shared::new(c),
                            Shared::new(a),
                            Shared::new(b),
                        )),
                    }
                }
            }
        }
        ExprKind::Call(func, args) => call(e, *func, args.iter().map(recur).collect()),
        ExprKind::Cast(a) => {
            let a = recur(a);
            match as_literal(&a) {
                Some(l) => with(ExprKind::Literal(constants::converted(l, a.ty, e.ty))),
                None => with(ExprKind::Cast(Shared::new(a))),
            }
        }
        ExprKind::Reduce { op, vars, body } => with(ExprKind::Reduce {
            op: *op,
            vars: vars.clone(),
            body: Shared::new(recur(body)),
        }),
    }
}

/// Whether a zero that the program adds, or subtracts from, tells signed zeros apart: `0 + x` is 0 where x is -0. That an
/// absent operand is zero says nothing of its sign.
fn keeps_zero(
    op: BinaryOp,
    (a, left): (&Expr, &Expr),
    (b, right): (&Expr, &Expr),
    reads: &dyn Fn(&Access) -> Exact,
) -> bool {
    let constant = |e: &Expr, folded: &Expr| {
        is(as_literal(folded), 0) && as_literal(&fold(e, &|_| None, reads)).is_some()
    };
    let signed = !a.ty.is_integer() && a.ty != ScalarType::Bool;
    let one = as_literal(left).is_none() || as_literal(right).is_none();
    let adds = op == BinaryOp::Add;
    let first = constant(a, left) && (adds || op == BinaryOp::Sub);
    signed && one && (first || adds && constant(b, right))
}

/// The operation as it is.
fn kept(e: &Expr, op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr {
        kind: ExprKind::Binary(op, Shared::new(a), Shared::new(b)),
        ty: e.ty,
        span: e.span,
    }
}

fn literal(like: &Expr, value: Literal) -> Expr {
    Expr {
        kind: ExprKind::Literal(value),
        ty: like.ty,
        span: like.span,
    }
}

fn unary(e: &Expr, op: UnaryOp, a: Expr) -> Expr {
    match (op, as_literal(&a)) {
        // (No number of a float's type is a minus zero that a whole one was.)
        (UnaryOp::Neg, Some(Literal::Int(0))) => literal(e, Literal::Int(0)),
        (UnaryOp::Neg | UnaryOp::Not, Some(l)) => literal(e, constants::unary(op, l, e.ty)),
        (UnaryOp::Neg | UnaryOp::Not, None) => Expr {
            kind: ExprKind::Unary(op, Shared::new(a)),
            ty: e.ty,
            span: e.span,
        },
    }
}

fn is(l: Option<Literal>, value: i64) -> bool {
    l.is_some_and(|l| l.same_value(Literal::Int(value)))
}

/// Whether it is an infinity that takes over what is added to it: `other`, subtracted or not.
fn takes_over(
    l: Option<Literal>,
    other: &Expr,
    subtracted: bool,
    reads: &dyn Fn(&Access) -> Exact,
) -> bool {
    let Some(value) = l.map(Literal::as_f64).filter(|value| value.is_infinite()) else {
        return false;
    };
    let other = exact(other, reads);
    if (value > 0.0) == subtracted {
        !other.plus
    } else {
        !other.minus
    }
}

fn binary(e: &Expr, op: BinaryOp, a: Expr, b: Expr, reads: &dyn Fn(&Access) -> Exact) -> Expr {
    let (x, y) = (as_literal(&a), as_literal(&b));
    if let (Some(x), Some(y)) = (x, y)
        && let Some(value) = compute(op, x, y, a.ty)
    {
        return literal(e, value);
    }
    match op {
        BinaryOp::Add if is(x, 0) => b,
        BinaryOp::Add | BinaryOp::Sub if is(y, 0) => a,
        BinaryOp::Add | BinaryOp::Sub if takes_over(x, &b, op == BinaryOp::Sub, reads) => a,
        BinaryOp::Add if takes_over(y, &a, false, reads) => b,
        BinaryOp::Sub if is(x, 0) => unary(e, UnaryOp::Neg, b),
        BinaryOp::Mul if is(x, 0) || is(y, 0) => literal(e, Literal::ZERO),
        BinaryOp::Mul if is(x, 1) => b,
        BinaryOp::Mul | BinaryOp::Div if is(y, 1) => a,
        BinaryOp::Div | BinaryOp::Rem if is(x, 0) => literal(e, Literal::ZERO),
        BinaryOp::And if is(x, 0) || is(y, 0) => literal(e, Literal::Bool(false)),
        BinaryOp::Or if x.is_some_and(|l| !l.is_zero()) || y.is_some_and(|l| !l.is_zero()) => {
            literal(e, Literal::Bool(true))
        }
        BinaryOp::And | BinaryOp::Or if x.is_some() && b.ty == ScalarType::Bool => b,
        BinaryOp::And | BinaryOp::Or if y.is_some() && a.ty == ScalarType::Bool => a,
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::And
        | BinaryOp::Or => kept(e, op, a, b),
    }
}

fn compute(op: BinaryOp, x: Literal, y: Literal, ty: ScalarType) -> Option<Literal> {
    if ty.is_integer() {
        let undefined = matches!(op, BinaryOp::Div | BinaryOp::Rem) && y.is_zero();
        return (!undefined).then(|| constants::binary(op, x, y, ty));
    }
    // Small whole numbers stay whole, so that results compare exactly.
    if let (Literal::Int(x), Literal::Int(y)) = (x, y) {
        let small = |v: i64| (0..=127).contains(&v).then_some(Literal::Int(v));
        let whole = match op {
            BinaryOp::Add => x.checked_add(y).and_then(small),
            BinaryOp::Sub => x.checked_sub(y).and_then(small),
            BinaryOp::Mul => x.checked_mul(y).and_then(small),
            BinaryOp::Div
            | BinaryOp::Rem
            | BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
            | BinaryOp::And
            | BinaryOp::Or => None,
        };
        if whole.is_some() {
            return whole;
        }
    }
    let (x, y) = (x.as_f64(), y.as_f64());
    let float = |v: f64| ty.is_float().then_some(Literal::Float(v));
    match op {
        // Infinity stays what it is, as beside what is no constant.
        BinaryOp::Add | BinaryOp::Sub if x.is_infinite() && y.is_nan() => float(x),
        BinaryOp::Add if y.is_infinite() && x.is_nan() => float(y),
        BinaryOp::Add => float(x + y),
        BinaryOp::Sub => float(x - y),
        BinaryOp::Mul if x == 0.0 || y == 0.0 => Some(Literal::ZERO),
        BinaryOp::Mul => float(x * y),
        BinaryOp::Div | BinaryOp::Rem if x == 0.0 => Some(Literal::ZERO),
        BinaryOp::Div => float(x / y),
        BinaryOp::Rem => float(x % y),
        BinaryOp::Eq => Some(Literal::Bool(x == y)),
        BinaryOp::Ne => Some(Literal::Bool(x != y)),
        BinaryOp::Lt => Some(Literal::Bool(x < y)),
        BinaryOp::Le => Some(Literal::Bool(x <= y)),
        BinaryOp::Gt => Some(Literal::Bool(x > y)),
        BinaryOp::Ge => Some(Literal::Bool(x >= y)),
        BinaryOp::And => Some(Literal::Bool(x != 0.0 && y != 0.0)),
        BinaryOp::Or => Some(Literal::Bool(x != 0.0 || y != 0.0)),
    }
}

fn call(e: &Expr, func: Func, args: Vec<Expr>) -> Expr {
    if let (Func::Own(own), [a, b]) = (func, args.as_slice()) {
        let is = |e: &Expr, value: Literal| as_literal(e).is_some_and(|l| l.same_value(value));
        if own.identity.is_some() {
            let neutral = own.neutral(e.ty);
            if is(a, neutral) {
                return b.clone();
            }
            if is(b, neutral) {
                return a.clone();
            }
        }
        if let Some(absorbing) = own.absorbing(e.ty).filter(|v| is(a, *v) || is(b, *v)) {
            return literal(e, absorbing);
        }
    }
    let literals: Option<Vec<Literal>> = args.iter().map(as_literal).collect();
    if let Some(values) = literals
        && let Some(value) = evaluate(func, &values, e.ty)
    {
        return literal(e, value);
    }
    if let [a, b] = args.as_slice() {
        let bound = if func == Func::Min {
            Some(f64::INFINITY)
        } else if func == Func::Max {
            Some(f64::NEG_INFINITY)
        } else {
            None
        };
        if let Some(bound) = bound {
            if as_literal(a).is_some_and(|l| l.as_f64() == bound) {
                return b.clone();
            }
            if as_literal(b).is_some_and(|l| l.as_f64() == bound) {
                return a.clone();
            }
        }
    }
    if let (Func::Fma, [a, b, c]) = (func, args.as_slice())
        && (is(as_literal(a), 0) || is(as_literal(b), 0))
    {
        return c.clone();
    }
    Expr {
        kind: ExprKind::Call(func, args),
        ty: e.ty,
        span: e.span,
    }
}

/// The function's value at constants. Whole numbers stay whole so that results
/// compare exactly (`sqrt(0)` is 0).
#[expect(clippy::cast_possible_truncation)]
fn evaluate(func: Func, args: &[Literal], ty: ScalarType) -> Option<Literal> {
    if ty.is_complex() {
        return None;
    }
    let value = match (func, args) {
        (Func::Mod, [x, _]) if x.is_zero() => Literal::ZERO,
        (Func::Mod, [_, y]) if y.is_zero() && ty.is_integer() => return None,
        (Func::Fma, [x, y, z]) if x.is_zero() || y.is_zero() => *z,
        (_, _) => constants::call(func, args, ty)?,
    };
    if ty.is_integer() {
        return Some(value);
    }
    let number = value.as_f64();
    if number.fract() == 0.0 && number.abs() <= 127.0 {
        Some(Literal::Int(number as i64))
    } else {
        ty.is_float().then_some(Literal::Float(number))
    }
}
