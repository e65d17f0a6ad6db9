//! TACO's functions.

use super::bad;
use crate::diagnostic::Diagnostic;
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, UnaryOp};

/// Names that are functions or types rather than tensors.
pub(super) fn is_function(name: &str) -> bool {
    const FUNCTIONS: &[&str] = &[
        "abs",
        "sqrt",
        "cbrt",
        "exp",
        "expm1",
        "log",
        "log1p",
        "log10",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "sigmoid",
        "pow",
        "floor",
        "ceil",
        "round",
        "mod",
        "fmod",
        "min",
        "max",
        "fma",
        "heaviside",
        "fabs",
        "fmin",
        "fmax",
        "square",
        "cube",
        "gt",
        "lt",
        "gte",
        "lte",
        "eq",
        "neq",
        "not",
    ];
    FUNCTIONS.contains(&name)
        || name
            .strip_suffix('f')
            .is_some_and(|base| FUNCTIONS.contains(&base))
        || crate::scalar::ScalarType::from_name(name).is_some()
}

/// TACO's functions that are operators or powers here.
pub(super) fn desugar(e: &mut Expr) -> Result<(), Diagnostic> {
    match &mut e.kind {
        ExprKind::Number(_)
        | ExprKind::Name(_)
        | ExprKind::Extent { .. }
        | ExprKind::Member { .. } => {}
        ExprKind::Unary(_, a) => desugar(a)?,
        ExprKind::Binary(_, a, b) => {
            desugar(a)?;
            desugar(b)?;
        }
        ExprKind::Select(c, a, b) => {
            desugar(c)?;
            desugar(a)?;
            desugar(b)?;
        }
        ExprKind::Apply { callee, args } => {
            for arg in args.iter_mut() {
                desugar(arg)?;
            }
            let comparison = match callee.name.as_str() {
                "gt" => Some(BinaryOp::Gt),
                "lt" => Some(BinaryOp::Lt),
                "gte" => Some(BinaryOp::Ge),
                "lte" => Some(BinaryOp::Le),
                "eq" => Some(BinaryOp::Eq),
                "neq" => Some(BinaryOp::Ne),
                _ => None,
            };
            let times = |a: &Expr, b: Expr| {
                ExprKind::Binary(BinaryOp::Mul, Box::new(a.clone()), Box::new(b))
            };
            let span = e.span;
            let kind = match (callee.name.as_str(), comparison, args.as_slice()) {
                (_, Some(op), [a, b]) => {
                    ExprKind::Binary(op, Box::new(a.clone()), Box::new(b.clone()))
                }
                ("not", _, [a]) => ExprKind::Unary(UnaryOp::Not, Box::new(a.clone())),
                ("square", _, [a]) => times(a, a.clone()),
                ("cube", _, [a]) => times(
                    a,
                    Expr {
                        kind: times(a, a.clone()),
                        span,
                    },
                ),
                ("square" | "cube" | "not", ..) | (_, Some(_), _) => {
                    return Err(bad(
                        span,
                        format!("`{}` takes another number of arguments", callee.name),
                        "comparisons take two arguments, square, cube and not one",
                    ));
                }
                _ => return Ok(()),
            };
            e.kind = kind;
        }
    }
    Ok(())
}
