//! The value that a sparse result has where none of its operands stores anything: it
//! must be the result's fill value, or the absent elements would be wrong.

use super::ir::{
    BinaryOp, Bound, Expr, ExprKind, Func, Function, Literal, ReduceOp, Role, SizeExpr, Statement,
    UnaryOp,
};
use super::types::convert_literal;
use crate::diagnostic::codes::format as codes;
use crate::diagnostic::{Diagnostic, Span};
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
        let value = convert_literal(value, tensor.ty).unwrap_or(value);
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
                shown(value),
                shown(tensor.fill)
            ),
            format!(
                "this is {} where no operand stores an element",
                shown(value)
            ),
        )
        .with_help(match notation {
            Notation::Program => format!(
                "say `fill {}` in the format of `{name}`, or store it dense",
                shown(value)
            ),
            Notation::Taco => format!(
                "store `{name}` dense, or say `fill {}` in its format in a file (`--formats`)",
                shown(value)
            ),
        });
        if let Some(entry) = entries.get(stmt.tensor.index()).copied().flatten() {
            error = error.with_label(
                entry,
                format!("absent elements are {} here", shown(tensor.fill)),
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

fn shown(value: Literal) -> String {
    match value {
        Literal::Float(x) if x.fract() == 0.0 && x.abs() < 1e15 => format!("{x:.0}"),
        // As fill values are written.
        Literal::Bool(truth) => u8::from(truth).to_string(),
        Literal::Int(_) | Literal::Float(_) => value.to_string(),
    }
}

/// What the statement gives at elements where every sparse operand is absent, if that
/// does not depend on anything else.
fn background(function: &Function, stmt: &Statement) -> Option<Literal> {
    let value = fold(function, &stmt.rhs)?;
    match stmt.op {
        None => Some(value),
        Some(op) => combine(op, function.tensor(stmt.tensor).fill, value),
    }
}

fn number(value: f64) -> Option<Literal> {
    Some(Literal::Float(value))
}

fn truth(value: bool) -> Option<Literal> {
    Some(Literal::Bool(value))
}

fn combine(op: ReduceOp, a: Literal, b: Literal) -> Option<Literal> {
    let (x, y) = (a.as_f64(), b.as_f64());
    match op {
        ReduceOp::Add => number(x + y),
        ReduceOp::Mul => number(x * y),
        ReduceOp::Min => number(x.min(y)),
        ReduceOp::Max => number(x.max(y)),
        ReduceOp::And => truth(!a.is_zero() && !b.is_zero()),
        ReduceOp::Or => truth(!a.is_zero() || !b.is_zero()),
        ReduceOp::Own(own) => number(own.body.at(x, y, false)),
    }
}

/// The constant value with absent sparse operands; `None` if it has none.
fn fold(function: &Function, expr: &Expr) -> Option<Literal> {
    let of = |e: &Expr| fold(function, e);
    match &expr.kind {
        ExprKind::Literal(value) => Some(*value),
        ExprKind::Access(access) => {
            let tensor = function.tensor(access.tensor);
            tensor.is_sparse().then_some(tensor.fill)
        }
        ExprKind::Index(_) | ExprKind::Size(_) => None,
        ExprKind::Unary(UnaryOp::Neg, a) => number(-of(a)?.as_f64()),
        ExprKind::Unary(UnaryOp::Not, a) => truth(of(a)?.is_zero()),
        ExprKind::Binary(op, a, b) => binary(*op, of(a), of(b)),
        ExprKind::Select(c, a, b) => match of(c) {
            Some(c) => of(if c.is_zero() { b } else { a }),
            None => of(a).filter(|a| of(b).is_some_and(|b| a.same_value(b))),
        },
        ExprKind::Call(function, args) => call(*function, &args.iter().map(of).collect::<Vec<_>>()),
        ExprKind::Cast(a) => {
            let value = of(a)?;
            // No fill value is as large as the ends of 64 bits.
            let beyond = expr.ty.size() == 8 && value.as_f64().abs() >= 2f64.powi(63);
            convert_literal(value, expr.ty).or(beyond.then_some(value))
        }
        ExprKind::Reduce { op, body, .. } => {
            let value = of(body)?;
            let idempotent = matches!(
                op,
                ReduceOp::Min | ReduceOp::Max | ReduceOp::And | ReduceOp::Or
            );
            let neutral = match op {
                ReduceOp::Add => value.is_zero(),
                ReduceOp::Mul => value.is_zero() || value.as_f64() == 1.0,
                ReduceOp::Min | ReduceOp::Max | ReduceOp::And | ReduceOp::Or => false,
                // Of one value or several, or of none.
                ReduceOp::Own(own) => own.neutral(body.ty).same_value(value),
            };
            (idempotent || neutral).then_some(value)
        }
    }
}

fn binary(op: BinaryOp, a: Option<Literal>, b: Option<Literal>) -> Option<Literal> {
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
    let value = op.at(a?.as_f64(), b?.as_f64());
    if op.is_truth() {
        return truth(value != 0.0);
    }
    number(value)
}

fn call(function: Func, args: &[Option<Literal>]) -> Option<Literal> {
    let x = args.first().copied().flatten().map(Literal::as_f64);
    let y = args.get(1).copied().flatten().map(Literal::as_f64);
    let either = |value: f64| x == Some(value) || y == Some(value);
    if let Func::Own(own) = function
        && let Some(absorbing) = own.annihilator
        && either(absorbing.as_f64())
    {
        return Some(absorbing);
    }
    // One operand can decide alone.
    if function == Func::Min && either(f64::NEG_INFINITY) {
        return number(f64::NEG_INFINITY);
    }
    if function == Func::Max && either(f64::INFINITY) {
        return number(f64::INFINITY);
    }
    if function == Func::Mod && x == Some(0.0) {
        return number(0.0);
    }
    if function == Func::Fma {
        let product = binary(BinaryOp::Mul, args.first().copied()?, args.get(1).copied()?);
        return binary(BinaryOp::Add, product, args.get(2).copied()?);
    }
    let args: Option<Vec<f64>> = args.iter().map(|arg| arg.map(Literal::as_f64)).collect();
    function.at(&args?).and_then(number)
}
