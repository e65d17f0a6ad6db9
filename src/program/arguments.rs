//! Numbers as arguments of calls: what the parameter's type does not hold is refused.

use super::draft::{Binding, Draft};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::program as codes;
use crate::scalar::ScalarType;
use crate::syntax::ast::{Expr, ExprKind, Number, Param, UnaryOp};

/// A number that is written as an argument, perhaps of a call further out.
#[derive(Clone, Copy)]
enum Written {
    Whole(i128),
    Real(f64),
}

/// Refuses a number that `ty`, the type of `param`, does not hold.
pub(super) fn check(
    draft: &Draft,
    scope: usize,
    arg: &Expr,
    param: &Param,
    ty: ScalarType,
) -> Result<(), Box<Diagnostic>> {
    let Some(number) = written(draft, scope, arg) else {
        return Ok(());
    };
    if holds(ty, number) {
        return Ok(());
    }
    let shown = match number {
        Written::Whole(n) => n.to_string(),
        Written::Real(x) => format!("{x:?}"),
    };
    Err(Box::new(
        Diagnostic::error(
            codes::CALL_MISMATCH,
            arg.span,
            format!("{shown} is no {ty}, the type of `{}`", param.name.name),
            "not converted in silence",
        )
        .with_label(param.span, "declared here")
        .with_help(format!(
            "give a number of the type, or convert: `{ty}({shown})`"
        )),
    ))
}

fn written(draft: &Draft, scope: usize, expr: &Expr) -> Option<Written> {
    match &expr.kind {
        ExprKind::Number(Number::Int(n)) => Some(Written::Whole(i128::from(*n))),
        ExprKind::Number(Number::Float(x)) => Some(Written::Real(*x)),
        ExprKind::Unary(UnaryOp::Neg, operand) => Some(match written(draft, scope, operand)? {
            Written::Whole(n) => Written::Whole(-n),
            Written::Real(x) => Written::Real(-x),
        }),
        ExprKind::Name(name) => match draft.scopes.get(scope)?.tensors.get(name.as_str())? {
            Binding::Value { scope, expr, .. } => written(draft, *scope, expr),
            Binding::Tensor(_) => None,
        },
        ExprKind::Unary(UnaryOp::Not, _)
        | ExprKind::Apply { .. }
        | ExprKind::Extent { .. }
        | ExprKind::Member { .. }
        | ExprKind::Binary(..)
        | ExprKind::Select(..) => None,
    }
}

fn holds(ty: ScalarType, number: Written) -> bool {
    let whole = match number {
        Written::Whole(n) => Some(n),
        Written::Real(x) if x.fract() == 0.0 && x.abs() < 1e15 => Some(x as i128),
        Written::Real(_) => None,
    };
    if ty == ScalarType::Bool {
        return matches!(whole, Some(0 | 1));
    }
    if ty.is_integer() {
        let fits = |n| i64::try_from(n).is_ok_and(|n| super::types::fits(n, ty));
        return whole.is_some_and(fits);
    }
    // What is too large for a `float` is infinite in it, as it is in any expression.
    true
}
