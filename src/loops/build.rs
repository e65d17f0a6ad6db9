//! Constructors that fold as they build, so that emitted index arithmetic reads
//! as a person would write it (`i * N + j`, never `(0 * M + i) * N + (j + 0)`).

use super::constants;
use super::ir::{
    ArrayId, BinaryOp, Expr, ExprKind, Func, Literal, Place, ReduceOp, ScalarType, Stmt, UnaryOp,
    VarId,
};

const INDEX: ScalarType = ScalarType::I64;

/// A whole number of type `I64`.
#[must_use]
pub fn int(value: i64) -> Expr {
    literal(Literal::Int(value), INDEX)
}

#[must_use]
pub fn literal(value: Literal, ty: ScalarType) -> Expr {
    Expr {
        kind: ExprKind::Literal(value),
        ty,
    }
}

#[must_use]
pub fn boolean(value: bool) -> Expr {
    literal(Literal::Bool(value), ScalarType::Bool)
}

#[must_use]
pub fn var(id: VarId, ty: ScalarType) -> Expr {
    Expr {
        kind: ExprKind::Var(id),
        ty,
    }
}

/// `array[index]`, of the compute type of `elem`.
#[must_use]
pub fn load(array: ArrayId, elem: ScalarType, index: Expr) -> Expr {
    Expr {
        kind: ExprKind::Load {
            array,
            index: Box::new(index),
        },
        ty: elem.compute(),
    }
}

#[must_use]
pub fn cast(ty: ScalarType, e: Expr) -> Expr {
    if e.ty == ty {
        return e;
    }
    if let (ExprKind::Literal(Literal::Bool(value)), true) = (&e.kind, ty.is_float()) {
        return literal(Literal::Float(f64::from(u8::from(*value))), ty);
    }
    if let (ExprKind::Literal(constant @ Literal::Int(_)), true) = (&e.kind, ty.is_float()) {
        return literal(e.ty.rounded(*constant), ty);
    }
    if let (Some(constant), Some((least, most))) = (as_int(&e), ty.ends())
        && !e.ty.is_unsigned()
        && (least..=most).contains(&i128::from(constant))
    {
        return literal(Literal::Int(constant), ty);
    }
    Expr {
        kind: ExprKind::Cast(Box::new(e)),
        ty,
    }
}

pub fn as_int(e: &Expr) -> Option<i64> {
    if let (ExprKind::Literal(Literal::Int(i)), true) = (&e.kind, e.ty.is_integer()) {
        Some(*i)
    } else {
        None
    }
}

fn as_bool(e: &Expr) -> Option<bool> {
    if let ExprKind::Literal(Literal::Bool(b)) = e.kind {
        Some(b)
    } else {
        None
    }
}

/// A node without any folding.
#[must_use]
pub fn raw_binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let ty = if is_comparison(op) {
        ScalarType::Bool
    } else {
        a.ty
    };
    Expr {
        kind: ExprKind::Binary(op, Box::new(a), Box::new(b)),
        ty,
    }
}

#[must_use]
pub fn is_comparison(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
    )
}

/// `a op b`. Integer arithmetic is folded; floating-point arithmetic never is,
/// since the order of its roundings is the program's.
#[must_use]
pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    if let Some(folded) = constants::folded(op, &a, &b) {
        return folded;
    }
    // Compilers warn of what is compared with itself. A float may be no number, which is not equal to itself.
    if is_comparison(op) && a == b && (a.ty.is_integer() || a.ty == ScalarType::Bool) {
        return boolean(matches!(op, BinaryOp::Eq | BinaryOp::Le | BinaryOp::Ge));
    }
    let (left, right) = (as_int(&a), as_int(&b));
    match op {
        BinaryOp::Add if left == Some(0) => b,
        BinaryOp::Add | BinaryOp::Sub if right == Some(0) => a,
        // (e + c) + d and the like: keep one constant at the end.
        BinaryOp::Add | BinaryOp::Sub if right.is_some() && a.ty == INDEX => {
            add_constant(op, a, b, right.unwrap_or(0))
        }
        BinaryOp::Sub if a == b && a.ty == INDEX => int(0),
        BinaryOp::Add | BinaryOp::Sub if a.ty == INDEX && negated(&b).is_some() => {
            let other = if op == BinaryOp::Add {
                BinaryOp::Sub
            } else {
                BinaryOp::Add
            };
            let b = negated(&b).cloned().unwrap_or(b);
            binary(other, a, b)
        }
        BinaryOp::Mul if left == Some(0) && a.ty == INDEX => a,
        BinaryOp::Mul if right == Some(0) && a.ty == INDEX => b,
        BinaryOp::Mul if left == Some(1) => b,
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::FloorDiv if right == Some(1) => a,
        BinaryOp::Min | BinaryOp::Max if a == b => a,
        BinaryOp::And => match (as_bool(&a), as_bool(&b)) {
            (Some(true), _) => b,
            (_, Some(true)) | (Some(false), _) => a,
            (None, None | Some(false)) => raw_binary(op, a, b),
        },
        BinaryOp::Or => match (as_bool(&a), as_bool(&b)) {
            (Some(false), _) => b,
            (_, Some(false)) | (Some(true), _) => a,
            (None, None | Some(true)) => raw_binary(op, a, b),
        },
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::FloorDiv
        | BinaryOp::Min
        | BinaryOp::Max
        | BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge => raw_binary(op, a, b),
    }
}

/// e of `0 - e`
fn negated(e: &Expr) -> Option<&Expr> {
    let ExprKind::Binary(BinaryOp::Sub, zero, e) = &e.kind else {
        return None;
    };
    (as_int(zero) == Some(0)).then_some(e)
}

fn add_constant(op: BinaryOp, a: Expr, b: Expr, constant: i64) -> Expr {
    let signed = if op == BinaryOp::Sub {
        constant.checked_neg()
    } else {
        Some(constant)
    };
    if let (ExprKind::Binary(inner_op, x, y), Some(signed)) = (&a.kind, signed)
        && let (BinaryOp::Add | BinaryOp::Sub, Some(inner)) = (inner_op, as_int(y))
    {
        let inner = if *inner_op == BinaryOp::Sub {
            inner.checked_neg()
        } else {
            Some(inner)
        };
        if let Some(total) = inner.and_then(|inner| inner.checked_add(signed)) {
            return with_constant((**x).clone(), total);
        }
    }
    match signed {
        Some(signed) => with_constant(a, signed),
        None => raw_binary(op, a, b),
    }
}

/// `a + constant`, as one would write it.
fn with_constant(a: Expr, constant: i64) -> Expr {
    match constant.checked_neg() {
        _ if constant == 0 => a,
        Some(less) if constant < 0 => raw_binary(BinaryOp::Sub, a, int(less)),
        Some(_) | None => raw_binary(BinaryOp::Add, a, int(constant)),
    }
}

/// `a op b` for the operator of a reduction.
#[must_use]
pub fn combine(op: ReduceOp, a: Expr, b: Expr) -> Expr {
    let op = match op {
        ReduceOp::Add => BinaryOp::Add,
        ReduceOp::Mul => BinaryOp::Mul,
        ReduceOp::Min => BinaryOp::Min,
        ReduceOp::Max => BinaryOp::Max,
        ReduceOp::And => BinaryOp::And,
        ReduceOp::Or => BinaryOp::Or,
        ReduceOp::Own(own) => {
            let ty = a.ty;
            return call(Func::Own(own), vec![a, b], ty);
        }
    };
    binary(op, a, b)
}

#[must_use]
pub fn add(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Add, a, b)
}

#[must_use]
pub fn sub(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Sub, a, b)
}

#[must_use]
pub fn mul(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Mul, a, b)
}

#[must_use]
pub fn min(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Min, a, b)
}

#[must_use]
pub fn max(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Max, a, b)
}

#[must_use]
pub fn lt(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Lt, a, b)
}

#[must_use]
pub fn le(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Le, a, b)
}

#[must_use]
pub fn ne(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Ne, a, b)
}

#[must_use]
pub fn eq(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Eq, a, b)
}

#[must_use]
pub fn and(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::And, a, b)
}

#[must_use]
pub fn or(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Or, a, b)
}

/// All of them; true for none.
#[must_use]
pub fn all(conditions: impl IntoIterator<Item = Expr>) -> Expr {
    conditions.into_iter().fold(boolean(true), and)
}

#[must_use]
pub fn unary(op: UnaryOp, a: Expr) -> Expr {
    Expr {
        ty: a.ty,
        kind: ExprKind::Unary(op, Box::new(a)),
    }
}

#[must_use]
pub fn call(func: Func, args: Vec<Expr>, ty: ScalarType) -> Expr {
    Expr {
        kind: ExprKind::Call(func, args),
        ty,
    }
}

/// A function of the language; its `min` and `max` are operators of the IR.
#[must_use]
pub fn function(func: Func, args: Vec<Expr>, ty: ScalarType) -> Expr {
    let op = if func == Func::Min {
        BinaryOp::Min
    } else if func == Func::Max {
        BinaryOp::Max
    } else {
        return call(func, args, ty);
    };
    match <[Expr; 2]>::try_from(args) {
        Ok([a, b]) => raw_binary(op, a, b),
        Err(args) => call(func, args, ty),
    }
}

/// `cond ? a : b`
#[must_use]
pub fn select(cond: Expr, a: Expr, b: Expr) -> Expr {
    match as_bool(&cond) {
        Some(true) => a,
        Some(false) => b,
        None => Expr {
            ty: a.ty,
            kind: ExprKind::Select(Box::new(cond), Box::new(a), Box::new(b)),
        },
    }
}

/// The position of `coordinate` below `parent` in a dense level of `extent` coordinates.
#[must_use]
pub fn locate(parent: Expr, extent: Expr, coordinate: Expr) -> Expr {
    if as_int(&parent).is_some() || matches!(as_int(&extent), Some(0 | 1)) {
        return flat(&parent, &extent, &coordinate);
    }
    Expr {
        kind: ExprKind::Locate(Box::new(parent), Box::new(extent), Box::new(coordinate)),
        ty: INDEX,
    }
}

/// [`locate`] as the sum that it is.
#[must_use]
pub fn flat(parent: &Expr, extent: &Expr, coordinate: &Expr) -> Expr {
    add(mul(parent.clone(), extent.clone()), coordinate.clone())
}

/// Folds what has become constant since the expression was built.
pub fn fold(e: &mut Expr) {
    e.parts_mut(&mut |part| fold(part));
    if let ExprKind::Binary(op, x, y) = &e.kind {
        *e = binary(*op, (**x).clone(), (**y).clone());
    } else if let ExprKind::Cast(a) = &e.kind {
        *e = cast(e.ty, (**a).clone());
    } else if let ExprKind::Select(c, x, y) = &e.kind {
        *e = select((**c).clone(), (**x).clone(), (**y).clone());
    } else if let ExprKind::Locate(parent, extent, at) = &e.kind {
        *e = locate((**parent).clone(), (**extent).clone(), (**at).clone());
    }
}

/// The least c with c * n >= e, for n > 0.
#[must_use]
pub fn ceil_div(e: Expr, n: i64) -> Expr {
    if n == 1 {
        return e;
    }
    binary(BinaryOp::FloorDiv, add(e, int(n - 1)), int(n))
}

/// The least c with c * n >= e; n is at least 1.
#[must_use]
pub fn ceil_div_by(e: Expr, n: &Expr) -> Expr {
    if let Some(n) = as_int(n) {
        return ceil_div(e, n);
    }
    let up = sub(add(e, n.clone()), int(1));
    binary(BinaryOp::FloorDiv, up, n.clone())
}

/// The statements where all conditions hold.
#[must_use]
pub fn when(conds: Vec<Expr>, then: Vec<Stmt>) -> Vec<Stmt> {
    if conds.is_empty() {
        return then;
    }
    vec![if_then(all(conds), then)]
}

/// `if (cond) { then }`
#[must_use]
pub fn if_then(cond: Expr, then: Vec<Stmt>) -> Stmt {
    if_else(cond, then, Vec::new())
}

/// `if (cond) { then } else { otherwise }`
#[must_use]
pub fn if_else(cond: Expr, then: Vec<Stmt>, otherwise: Vec<Stmt>) -> Stmt {
    Stmt::If {
        cond,
        then,
        otherwise,
    }
}

/// Declares a variable with its value.
#[must_use]
pub fn bind(var: VarId, init: Expr) -> Stmt {
    Stmt::Let { var, init }
}

/// `var = value`
#[must_use]
pub fn set(var: VarId, value: Expr) -> Stmt {
    Stmt::Assign {
        var,
        op: None,
        value,
    }
}

/// `var op= value`
#[must_use]
pub fn update(var: VarId, op: ReduceOp, value: Expr) -> Stmt {
    Stmt::Assign {
        var,
        op: Some(op),
        value,
    }
}

/// `array[index] = value`
#[must_use]
pub fn store(array: ArrayId, index: Expr, value: Expr) -> Stmt {
    Stmt::Store {
        array,
        index,
        op: None,
        value,
        atomic: false,
    }
}

/// A number that says where a statement runs.
#[must_use]
pub fn place(place: Place) -> Expr {
    Expr {
        kind: ExprKind::Place(place),
        ty: ScalarType::I64,
    }
}

/// The number of the thread at hand.
#[must_use]
pub fn thread() -> Expr {
    place(Place::Thread)
}

/// How many threads there may be.
#[must_use]
pub fn threads() -> Expr {
    place(Place::Threads)
}
