//! TACO's `sum(j, e)`: sums that stand where the program says, and what is summed around them.

use super::einsum::{Shape, binary, negation, shape};
use super::ir::{BinaryOp, Expr, ExprKind, ReduceOp, VarId};
use crate::diagnostic::codes::program as codes;
use crate::diagnostic::{Diagnostic, Span};
use std::collections::{BTreeMap, BTreeSet};

/// The variables of an expression that no sum inside it binds; `uses` tells for each variable
/// with dynamic bounds those that its bounds read.
pub(super) fn free(expr: &Expr, uses: &BTreeMap<VarId, BTreeSet<VarId>>) -> BTreeSet<VarId> {
    let mut found: BTreeSet<VarId> = expr.as_var().into_iter().collect();
    for child in expr.parts() {
        found.extend(free(child, uses));
    }
    if let ExprKind::Reduce { vars, .. } = &expr.kind {
        found.extend(vars.iter().filter_map(|v| uses.get(v)).flatten());
        found.retain(|v| !vars.contains(v));
    }
    found
}

/// The first of TACO's `sum(j, e)` whose variable stands on the left, or in a sum around it.
pub(super) fn bound_twice(expr: &Expr, around: &BTreeSet<VarId>) -> Option<Span> {
    let mut inside = around.clone();
    if let ExprKind::Reduce { vars, .. } = &expr.kind
        && !vars.iter().all(|&v| inside.insert(v))
    {
        return Some(expr.span);
    }
    let mut parts = expr.parts().into_iter();
    parts.find_map(|part| bound_twice(part, &inside))
}

/// A product without its sums, whose variables are added to those of the sum around it.
///
/// # Errors
/// Where a sum stands that does not distribute.
pub(super) fn lifted(expr: &Expr, vars: &mut Vec<VarId>) -> Result<Expr, Span> {
    if let ExprKind::Reduce {
        op: ReduceOp::Add,
        vars: own,
        body,
    } = &expr.kind
    {
        if own.iter().any(|v| vars.contains(v)) {
            return Err(expr.span);
        }
        vars.extend(own);
        return lifted(body, vars);
    }
    match shape(expr) {
        Shape::Negation(operand) => Ok(negation(lifted(operand, vars)?, expr.span)),
        Shape::Product(a, b) => {
            let (a, b) = (lifted(a, vars)?, lifted(b, vars)?);
            Ok(binary(BinaryOp::Mul, a, b, expr.span))
        }
        Shape::Quotient(a, b) => {
            let a = lifted(a, vars)?;
            whole(b).map(|b| binary(BinaryOp::Div, a, b, expr.span))
        }
        Shape::Sum(..) | Shape::Factor => whole(expr),
    }
}

/// The expression, if no sum stands in it.
pub(super) fn whole(expr: &Expr) -> Result<Expr, Span> {
    let mut at = None;
    expr.walk(&mut |e| {
        if let ExprKind::Reduce { .. } = e.kind {
            at = at.or(Some(e.span));
        }
    });
    at.map_or_else(|| Ok(expr.clone()), Err)
}

pub(super) fn in_another(span: Span) -> Diagnostic {
    Diagnostic::error(
        codes::NESTED_SUM,
        span,
        "this sum cannot stand inside another one, or over a variable of the left side",
        "summed again around it",
    )
    .with_help("store it in a tensor of its own first: `t(i) = sum(j, A(i,j))`")
}
