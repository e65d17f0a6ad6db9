//! The value that a sparse result has where none of its operands stores anything: it
//! must be the result's fill value, or the absent elements would be wrong.

use super::ir::{
    BinaryOp, Bound, Expr, ExprKind, Func, Function, Literal, ReduceOp, Role, SizeExpr, Statement,
};
use crate::diagnostic::codes::format as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::operators::constants::{self, converted};
use crate::scalar::ScalarType;
use crate::syntax::ast::Notation;

/// Checks every statement that writes a sparse tensor; `entries` are the places of the
/// tensors' formats.
pub(super) fn check(
    function: &Function,
    entries: &[Option<Span>],
    notation: Notation,
) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    for stmt in &function.stmts {
        let tensor = function.tensor(stmt.tensor);
        if !tensor.is_sparse() || is_part(function, stmt) {
            continue;
        }
        let Some(value) = background(function, stmt) else {
            continue;
        };
        let both_nan = value.as_f64().is_nan() && tensor.fill.as_f64().is_nan();
        if value.same_value(tensor.fill) || both_nan {
            continue;
        }
        let name = &tensor.name;
        let mut error = Diagnostic::error(
            codes::WRONG_FILL,
            stmt.span,
            format!(
                "elements that `{name}` does not store would have to be {}, not {}",
                shown(value, tensor.ty),
                shown(tensor.fill, tensor.ty)
            ),
            format!(
                "this is {} where no operand stores an element",
                shown(value, tensor.ty)
            ),
        )
        .with_help(match notation {
            Notation::Program => format!(
                "say `fill {}` in the format of `{name}`, or store it dense",
                shown(value, tensor.ty)
            ),
            Notation::Taco => format!(
                "store `{name}` dense, or say `fill {}` in its format in a file (`--formats`)",
                shown(value, tensor.ty)
            ),
        });
        if let Some(entry) = entries.get(stmt.tensor.index()).copied().flatten() {
            error = error.with_label(
                entry,
                format!("absent elements are {} here", shown(tensor.fill, tensor.ty)),
            );
        }
        errors.push(error);
    }
    errors
}

/// Whether the statement leaves elements as the caller gives them: what it writes is stored then.
fn is_part(function: &Function, stmt: &Statement) -> bool {
    let tensor = function.tensor(stmt.tensor);
    let mut modes = stmt.lhs.iter().zip(&tensor.dims);
    let is_whole = modes.all(|(&var, dim)| {
        let range = &function.var(var).range;
        let (Bound::Static(lo), Bound::Static(hi)) = (&range.lo, &range.hi) else {
            return false;
        };
        *lo == SizeExpr::Const(0) && hi == dim
    });
    tensor.role == Role::InOut && !is_whole
}

/// As fill values are written: with no more digits than the type has.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn shown(value: Literal, ty: ScalarType) -> String {
    match value {
        Literal::Float(x) if x.fract() == 0.0 && x.abs() < 1e15 => format!("{x:.0}"),
        Literal::Float(x) if ty.size() < 8 || ty == ScalarType::C64 => (x as f32).to_string(),
        Literal::Bool(truth) => u8::from(truth).to_string(),
        Literal::Int(pattern) if ty == ScalarType::U64 => (pattern as u64).to_string(),
        Literal::Int(_) | Literal::Float(_) => value.to_string(),
    }
}

/// What the statement gives at elements where every sparse operand is absent, if that
/// does not depend on anything else: a value of the type that it writes.
fn background(function: &Function, stmt: &Statement) -> Option<Literal> {
    let tensor = function.tensor(stmt.tensor);
    let value = fold(function, &stmt.rhs)?;
    let from = stmt.rhs.ty;
    let value = match stmt.op {
        None => converted(value, from, tensor.ty),
        Some(op) => {
            let wide = tensor.ty.compute();
            let value = combine(op, tensor.fill, converted(value, from, wide), wide);
            converted(value, wide, tensor.ty)
        }
    };
    Some(value)
}

fn truth(value: bool) -> Option<Literal> {
    Some(Literal::Bool(value))
}

fn combine(op: ReduceOp, a: Literal, b: Literal, ty: ScalarType) -> Literal {
    let of = |func: Func| constants::call(func, &[a, b], ty).unwrap_or(a);
    match op {
        ReduceOp::Add => constants::binary(BinaryOp::Add, a, b, ty),
        ReduceOp::Mul => constants::binary(BinaryOp::Mul, a, b, ty),
        ReduceOp::Min => of(Func::Min),
        ReduceOp::Max => of(Func::Max),
        ReduceOp::And => constants::binary(BinaryOp::And, a, b, ty),
        ReduceOp::Or => constants::binary(BinaryOp::Or, a, b, ty),
        ReduceOp::Own(own) => of(Func::Own(own)),
    }
}

/// The constant value with absent sparse operands, of the expression's type; `None` if it has none.
fn fold(function: &Function, expr: &Expr) -> Option<Literal> {
    let of = |e: &Expr| fold(function, e);
    match &expr.kind {
        ExprKind::Literal(value) => Some(expr.ty.rounded(*value)),
        ExprKind::Access(access) => {
            let tensor = function.tensor(access.tensor);
            tensor.is_sparse().then_some(tensor.fill)
        }
        ExprKind::Index(_) | ExprKind::Size(_) => None,
        ExprKind::Unary(op, a) => Some(constants::unary(*op, of(a)?, a.ty)),
        ExprKind::Binary(op, a, b) => binary(*op, of(a), of(b), a.ty),
        ExprKind::Select(c, a, b) => match of(c) {
            Some(c) => of(if c.is_zero() { b } else { a }),
            None => of(a).filter(|a| of(b).is_some_and(|b| a.same_value(b))),
        },
        ExprKind::Call(function, args) => {
            let args: Vec<Option<Literal>> = args.iter().map(of).collect();
            call(*function, &args, expr.ty)
        }
        ExprKind::Cast(a) => Some(converted(of(a)?, a.ty, expr.ty)),
        ExprKind::Reduce { op, body, .. } => {
            let value = of(body)?;
            let neutral = match op {
                ReduceOp::Add => value.is_zero(),
                ReduceOp::Mul => value.is_zero() || value.as_f64() == 1.0,
                ReduceOp::Min | ReduceOp::Max | ReduceOp::And | ReduceOp::Or => false,
                // Of one value or several, or of none.
                ReduceOp::Own(own) => own.neutral(body.ty).same_value(value),
            };
            (op.is_idempotent() || neutral).then_some(value)
        }
    }
}

fn binary(op: BinaryOp, a: Option<Literal>, b: Option<Literal>, ty: ScalarType) -> Option<Literal> {
    let zero = |side: Option<Literal>| side.is_some_and(Literal::is_zero);
    let one_is = |value: bool| {
        let is = |side: Option<Literal>| side.is_some_and(|s| s.is_zero() != value);
        is(a) || is(b)
    };
    // An operand that decides alone.
    let divides = matches!(op, BinaryOp::Div | BinaryOp::Rem);
    if (divides || op == BinaryOp::Mul) && zero(a) || op == BinaryOp::Mul && zero(b) {
        return Some(Literal::ZERO);
    }
    if op == BinaryOp::And && one_is(false) {
        return truth(false);
    }
    if op == BinaryOp::Or && one_is(true) {
        return truth(true);
    }
    Some(constants::binary(op, a?, b?, ty))
}

fn call(function: Func, args: &[Option<Literal>], ty: ScalarType) -> Option<Literal> {
    let x = args.first().copied().flatten();
    let y = args.get(1).copied().flatten();
    let either = |value: Literal| [x, y].into_iter().flatten().any(|v| v.same_value(value));
    if let Func::Own(own) = function
        && let Some(absorbing) = own.absorbing(ty).filter(|value| either(*value))
    {
        return Some(absorbing);
    }
    // One operand can decide alone.
    let end = match function == Func::Min {
        true => Literal::Float(f64::NEG_INFINITY),
        false => Literal::Float(f64::INFINITY),
    };
    if (function == Func::Min || function == Func::Max) && either(end) {
        return Some(end);
    }
    if function == Func::Mod && x.is_some_and(Literal::is_zero) {
        return Some(Literal::ZERO);
    }
    if function == Func::Fma {
        let product = binary(BinaryOp::Mul, x, y, ty);
        return binary(BinaryOp::Add, product, args.get(2).copied()?, ty);
    }
    let args: Option<Vec<Literal>> = args.iter().copied().collect();
    constants::call(function, &args?, ty)
}
