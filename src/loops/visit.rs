//! Walks over the loop IR.

use super::ir::{ArrayId, Expr, ExprKind, Stmt, VarId};
use std::collections::BTreeSet;

/// Calls `f` on every expression node below (and on) `e`.
pub fn expr(e: &Expr, f: &mut impl FnMut(&Expr)) {
    f(e);
    match &e.kind {
        ExprKind::Literal(_) | ExprKind::Var(_) | ExprKind::Place(_) => {}
        ExprKind::Load { index, .. } => expr(index, f),
        ExprKind::Unary(_, a) | ExprKind::Cast(a) => expr(a, f),
        ExprKind::Binary(_, a, b) => {
            expr(a, f);
            expr(b, f);
        }
        ExprKind::Call(_, args) => args.iter().for_each(|a| expr(a, f)),
        ExprKind::Select(c, a, b) | ExprKind::Locate(c, a, b) => {
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
        | Stmt::Prefetch { index: e, .. }
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
        Stmt::Device(device) => device.exprs().into_iter().for_each(f),
        Stmt::Declare { .. } | Stmt::Free { .. } | Stmt::Comment(_) => {}
    }
}

/// The variables that the expressions of `body` read, nested statements included.
#[must_use]
pub fn read_vars(body: &[Stmt]) -> BTreeSet<VarId> {
    let mut found = BTreeSet::new();
    stmts(body, &mut |stmt| {
        own_exprs(stmt, &mut |e| {
            expr(e, &mut |node| {
                if let ExprKind::Var(v) = node.kind {
                    found.insert(v);
                }
            });
        });
    });
    found
}

/// The arrays that `stmt` names itself, not in nested statements.
#[must_use]
pub fn arrays(stmt: &Stmt) -> Vec<ArrayId> {
    let mut found = match stmt {
        Stmt::Store { array, .. }
        | Stmt::Fill { array, .. }
        | Stmt::Search { array, .. }
        | Stmt::Prefetch { array, .. }
        | Stmt::Alloc { array, .. }
        | Stmt::Declare { array, .. }
        | Stmt::Free { array } => vec![*array],
        Stmt::Slice { array, of, .. } => vec![*array, *of],
        Stmt::Grow { arrays, .. } => arrays.clone(),
        Stmt::Device(device) => device.arrays(),
        Stmt::Let { .. }
        | Stmt::Assign { .. }
        | Stmt::For { .. }
        | Stmt::While { .. }
        | Stmt::If { .. }
        | Stmt::Assume { .. }
        | Stmt::FailIf { .. }
        | Stmt::Comment(_) => Vec::new(),
    };
    own_exprs(stmt, &mut |e| {
        expr(e, &mut |node| {
            if let ExprKind::Load { array, .. } = node.kind {
                found.push(array);
            }
        });
    });
    found
}

/// The expressions that stand directly in `stmt`, to be changed.
pub fn own_exprs_mut(stmt: &mut Stmt) -> Vec<&mut Expr> {
    match stmt {
        Stmt::Let { init: e, .. }
        | Stmt::Assign { value: e, .. }
        | Stmt::While { cond: e, .. }
        | Stmt::If { cond: e, .. }
        | Stmt::Alloc { count: e, .. }
        | Stmt::Grow { needed: e, .. }
        | Stmt::Slice { offset: e, .. }
        | Stmt::Assume { cond: e, .. }
        | Stmt::Prefetch { index: e, .. }
        | Stmt::FailIf { cond: e, .. } => vec![e],
        Stmt::Store { index, value, .. } => vec![index, value],
        Stmt::For { lo, hi, .. } => vec![lo, hi],
        Stmt::Fill {
            start,
            count,
            value,
            ..
        } => vec![start, count, value],
        Stmt::Search { lo, hi, key, .. } => vec![lo, hi, key],
        Stmt::Device(device) => device.exprs_mut(),
        Stmt::Declare { .. } | Stmt::Free { .. } | Stmt::Comment(_) => Vec::new(),
    }
}

/// Replaces every expression of `body` for which `f` gives another, outer nodes first.
pub fn replace_exprs(body: &mut [Stmt], f: &mut impl FnMut(&Expr) -> Option<Expr>) {
    for stmt in body {
        for e in own_exprs_mut(stmt) {
            replace_expr(e, f);
        }
        for inner in bodies_mut(stmt) {
            replace_exprs(inner, f);
        }
    }
}

/// As [`replace_exprs`], in one expression.
pub fn replace_expr(e: &mut Expr, f: &mut impl FnMut(&Expr) -> Option<Expr>) {
    if let Some(other) = f(e) {
        *e = other;
        return;
    }
    match &mut e.kind {
        ExprKind::Literal(_) | ExprKind::Var(_) | ExprKind::Place(_) => {}
        ExprKind::Load { index: a, .. } | ExprKind::Unary(_, a) | ExprKind::Cast(a) => {
            replace_expr(a, f);
        }
        ExprKind::Binary(_, a, b) => {
            replace_expr(a, f);
            replace_expr(b, f);
        }
        ExprKind::Call(_, args) => args.iter_mut().for_each(|a| replace_expr(a, f)),
        ExprKind::Select(c, a, b) | ExprKind::Locate(c, a, b) => {
            replace_expr(c, f);
            replace_expr(a, f);
            replace_expr(b, f);
        }
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
        Stmt::Device(device) => device.body().into_iter().collect(),
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
        | Stmt::Prefetch { .. }
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
        Stmt::Device(device) => device.body_mut().into_iter().collect(),
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
        | Stmt::Prefetch { .. }
        | Stmt::Comment(_) => vec![],
    }
}

/// Gives variables and arrays other names, where they are declared and used.
pub fn rename(
    body: &mut [Stmt],
    var: &impl Fn(VarId) -> VarId,
    array: &impl Fn(ArrayId) -> ArrayId,
) {
    for stmt in body {
        match stmt {
            Stmt::Let { var: v, init: e } => {
                *v = var(*v);
                rename_expr(e, var, array);
            }
            Stmt::Assign { var: v, value, .. } => {
                *v = var(*v);
                rename_expr(value, var, array);
            }
            Stmt::Store {
                array: a,
                index,
                value,
                ..
            } => {
                *a = array(*a);
                rename_expr(index, var, array);
                rename_expr(value, var, array);
            }
            Stmt::For {
                var: v,
                lo,
                hi,
                tag,
                ..
            } => {
                *v = var(*v);
                rename_expr(lo, var, array);
                rename_expr(hi, var, array);
                for (_, reduced) in &mut tag.reductions {
                    *reduced = var(*reduced);
                }
            }
            Stmt::While { cond, .. }
            | Stmt::If { cond, .. }
            | Stmt::Assume { cond, .. }
            | Stmt::FailIf { cond, .. } => rename_expr(cond, var, array),
            Stmt::Alloc {
                array: a, count, ..
            } => {
                *a = array(*a);
                rename_expr(count, var, array);
            }
            Stmt::Grow {
                arrays,
                capacity,
                needed,
            } => {
                arrays.iter_mut().for_each(|a| *a = array(*a));
                *capacity = var(*capacity);
                rename_expr(needed, var, array);
            }
            Stmt::Declare { array: a, .. } | Stmt::Free { array: a } => *a = array(*a),
            Stmt::Slice {
                array: a,
                of,
                offset,
            } => {
                *a = array(*a);
                *of = array(*of);
                rename_expr(offset, var, array);
            }
            Stmt::Fill {
                array: a,
                start,
                count,
                value,
            } => {
                *a = array(*a);
                rename_expr(start, var, array);
                rename_expr(count, var, array);
                rename_expr(value, var, array);
            }
            Stmt::Search {
                var: v,
                array: a,
                lo,
                hi,
                key,
                ..
            } => {
                *v = var(*v);
                *a = array(*a);
                rename_expr(lo, var, array);
                rename_expr(hi, var, array);
                rename_expr(key, var, array);
            }
            Stmt::Device(device) => {
                device.rename(var, array);
                for e in device.exprs_mut() {
                    rename_expr(e, var, array);
                }
            }
            Stmt::Prefetch { array: a, index } => {
                *a = array(*a);
                rename_expr(index, var, array);
            }
            Stmt::Comment(_) => {}
        }
        for inner in bodies_mut(stmt) {
            rename(inner, var, array);
        }
    }
}

fn rename_expr(e: &mut Expr, var: &impl Fn(VarId) -> VarId, array: &impl Fn(ArrayId) -> ArrayId) {
    match &mut e.kind {
        ExprKind::Literal(_) | ExprKind::Place(_) => {}
        ExprKind::Var(v) => *v = var(*v),
        ExprKind::Load { array: a, index } => {
            *a = array(*a);
            rename_expr(index, var, array);
        }
        ExprKind::Unary(_, a) | ExprKind::Cast(a) => rename_expr(a, var, array),
        ExprKind::Binary(_, a, b) => {
            rename_expr(a, var, array);
            rename_expr(b, var, array);
        }
        ExprKind::Call(_, args) => args.iter_mut().for_each(|a| rename_expr(a, var, array)),
        ExprKind::Select(c, a, b) | ExprKind::Locate(c, a, b) => {
            rename_expr(c, var, array);
            rename_expr(a, var, array);
            rename_expr(b, var, array);
        }
    }
}
