//! Walks over the loop IR.

use super::ir::{Expr, ExprKind, Stmt};

/// Calls `f` on every expression node below (and on) `e`.
pub fn expr(e: &Expr, f: &mut impl FnMut(&Expr)) {
    f(e);
    match &e.kind {
        ExprKind::Literal(_) | ExprKind::Var(_) | ExprKind::Thread | ExprKind::Threads => {}
        ExprKind::Load { index, .. } => expr(index, f),
        ExprKind::Unary(_, a) | ExprKind::Cast(a) => expr(a, f),
        ExprKind::Binary(_, a, b) => {
            expr(a, f);
            expr(b, f);
        }
        ExprKind::Call(_, args) => args.iter().for_each(|a| expr(a, f)),
        ExprKind::Select(c, a, b) => {
            expr(c, f);
            expr(a, f);
            expr(b, f);
        }
    }
}

/// Calls `f` on the expressions that stand directly in `stmt` (not in nested statements).
pub fn own_exprs<'a>(stmt: &'a Stmt, f: &mut impl FnMut(&'a Expr)) {
    match stmt {
        Stmt::Let { init: e, .. }
        | Stmt::Assign { value: e, .. }
        | Stmt::While { cond: e, .. }
        | Stmt::If { cond: e, .. }
        | Stmt::Alloc { count: e, .. }
        | Stmt::Grow { needed: e, .. }
        | Stmt::Slice { offset: e, .. }
        | Stmt::Assume { cond: e, .. }
        | Stmt::FailIf { cond: e, .. } => f(e),
        Stmt::Store { index, value, .. } => {
            f(index);
            f(value);
        }
        Stmt::For { lo, hi, .. } => {
            f(lo);
            f(hi);
        }
        Stmt::Fill {
            start,
            count,
            value,
            ..
        } => {
            f(start);
            f(count);
            f(value);
        }
        Stmt::Search { lo, hi, key, .. } => {
            f(lo);
            f(hi);
            f(key);
        }
        Stmt::Declare { .. } | Stmt::Free { .. } | Stmt::Comment(_) => {}
    }
}

/// Calls `f` on every statement, outer ones first.
pub fn stmts<'a>(body: &'a [Stmt], f: &mut impl FnMut(&'a Stmt)) {
    for stmt in body {
        f(stmt);
        for inner in bodies(stmt) {
            stmts(inner, f);
        }
    }
}

/// The statement lists nested in `stmt`.
#[must_use]
pub fn bodies(stmt: &Stmt) -> Vec<&[Stmt]> {
    match stmt {
        Stmt::For { body, .. } | Stmt::While { body, .. } => vec![body],
        Stmt::If {
            then, otherwise, ..
        } => vec![then, otherwise],
        Stmt::Let { .. }
        | Stmt::Assign { .. }
        | Stmt::Store { .. }
        | Stmt::Alloc { .. }
        | Stmt::Grow { .. }
        | Stmt::Free { .. }
        | Stmt::Fill { .. }
        | Stmt::Search { .. }
        | Stmt::Declare { .. }
        | Stmt::Slice { .. }
        | Stmt::Assume { .. }
        | Stmt::FailIf { .. }
        | Stmt::Comment(_) => vec![],
    }
}

/// The statement lists nested in `stmt`, to be changed.
pub fn bodies_mut(stmt: &mut Stmt) -> Vec<&mut Vec<Stmt>> {
    match stmt {
        Stmt::For { body, .. } | Stmt::While { body, .. } => vec![body],
        Stmt::If {
            then, otherwise, ..
        } => vec![then, otherwise],
        Stmt::Let { .. }
        | Stmt::Assign { .. }
        | Stmt::Store { .. }
        | Stmt::Alloc { .. }
        | Stmt::Grow { .. }
        | Stmt::Free { .. }
        | Stmt::Fill { .. }
        | Stmt::Search { .. }
        | Stmt::Declare { .. }
        | Stmt::Slice { .. }
        | Stmt::Assume { .. }
        | Stmt::FailIf { .. }
        | Stmt::Comment(_) => vec![],
    }
}
