//! Walks over resolved expressions.

use super::ir::{Expr, ExprKind};

/// The direct parts of an expression, in the order they are written.
pub(crate) fn children(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Index(_) | ExprKind::Size(_) => Vec::new(),
        ExprKind::Access(access) => access.subscripts.iter().collect(),
        ExprKind::Unary(_, a) | ExprKind::Cast(a) => vec![a],
        ExprKind::Binary(_, a, b) => vec![a, b],
        ExprKind::Select(c, a, b) => vec![c, a, b],
        ExprKind::Call(_, args) => args.iter().collect(),
        ExprKind::Reduce { body, .. } => vec![body],
    }
}

/// Calls `visit` with the expression and all its parts, outer ones first.
pub(crate) fn walk<'e>(expr: &'e Expr, visit: &mut impl FnMut(&'e Expr)) {
    visit(expr);
    for child in children(expr) {
        walk(child, visit);
    }
}

/// As [`walk`], with leave to change each node.
pub(crate) fn walk_mut(expr: &mut Expr, visit: &mut impl FnMut(&mut Expr)) {
    visit(expr);
    match &mut expr.kind {
        ExprKind::Literal(_) | ExprKind::Index(_) | ExprKind::Size(_) => {}
        ExprKind::Access(access) => {
            for subscript in &mut access.subscripts {
                walk_mut(subscript, visit);
            }
        }
        ExprKind::Unary(_, a) | ExprKind::Cast(a) => walk_mut(a, visit),
        ExprKind::Binary(_, a, b) => {
            walk_mut(a, visit);
            walk_mut(b, visit);
        }
        ExprKind::Select(c, a, b) => {
            walk_mut(c, visit);
            walk_mut(a, visit);
            walk_mut(b, visit);
        }
        ExprKind::Call(_, args) => {
            for arg in args {
                walk_mut(arg, visit);
            }
        }
        ExprKind::Reduce { body, .. } => walk_mut(body, visit),
    }
}
