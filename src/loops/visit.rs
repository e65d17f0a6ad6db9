//! Walks over the loop IR, all by the tables of [`super::operands`].

use super::ir::{ArrayId, Expr, ExprKind, Stmt, VarId};
use super::operands::{Operand, OperandMut, VarUse};
use std::collections::{BTreeMap, BTreeSet};

/// Calls `f` on every expression node below (and on) `e`.
pub fn expr(e: &Expr, f: &mut impl FnMut(&Expr)) {
    f(e);
    e.parts(&mut |part| expr(part, f));
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

/// Whether the test holds for some statement, nested ones included.
#[must_use]
pub fn any(body: &[Stmt], test: &impl Fn(&Stmt) -> bool) -> bool {
    body.iter()
        .any(|stmt| test(stmt) || bodies(stmt).into_iter().any(|inner| any(inner, test)))
}

/// Calls `f` on the expressions that stand directly in `stmt` (not in nested statements).
pub fn own_exprs<'a>(stmt: &'a Stmt, f: &mut impl FnMut(&'a Expr)) {
    stmt.operands(&mut |operand| {
        if let Operand::Expr(e) = operand {
            f(e);
        }
    });
}

/// The expressions that stand directly in `stmt`, to be changed.
pub fn own_exprs_mut(stmt: &mut Stmt) -> Vec<&mut Expr> {
    let mut found = Vec::new();
    stmt.operands_mut(&mut |operand| {
        if let OperandMut::Expr(e) = operand {
            found.push(e);
        }
    });
    found
}

/// The statement lists nested in `stmt`.
#[must_use]
pub fn bodies(stmt: &Stmt) -> Vec<&[Stmt]> {
    let mut found = Vec::new();
    stmt.operands(&mut |operand| {
        if let Operand::Body(body) = operand {
            found.push(body.as_slice());
        }
    });
    found
}

/// The statement lists nested in `stmt`, to be changed.
pub fn bodies_mut(stmt: &mut Stmt) -> Vec<&mut Vec<Stmt>> {
    let mut found = Vec::new();
    stmt.operands_mut(&mut |operand| {
        if let OperandMut::Body(body) = operand {
            found.push(body);
        }
    });
    found
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

/// The variables that `body` declares, nested statements included.
#[must_use]
pub fn declared(body: &[Stmt]) -> BTreeSet<VarId> {
    vars_as(body, |how| how == VarUse::Declare)
}

/// The variables that `body` sets after their declaration, nested statements included.
#[must_use]
pub fn changed(body: &[Stmt]) -> BTreeSet<VarId> {
    vars_as(body, |how| how != VarUse::Declare)
}

fn vars_as(body: &[Stmt], is: impl Fn(VarUse) -> bool) -> BTreeSet<VarId> {
    let mut found = BTreeSet::new();
    stmts(body, &mut |stmt| {
        stmt.operands(&mut |operand| {
            if let Operand::Var(var, how) = operand
                && is(how)
            {
                found.insert(*var);
            }
        });
    });
    found
}

/// The arrays that `body` declares, nested statements included.
#[must_use]
pub fn declared_arrays(body: &[Stmt]) -> BTreeSet<ArrayId> {
    let mut found = BTreeSet::new();
    stmts(body, &mut |stmt| found.extend(stmt.declares_array()));
    found
}

/// How many elements the arrays of constant size have that `body` declares, nested statements included.
#[must_use]
pub fn rooms(body: &[Stmt]) -> BTreeMap<ArrayId, u64> {
    let mut found = BTreeMap::new();
    stmts(body, &mut |stmt| {
        if let Stmt::Declare { array, count } = stmt {
            found.insert(*array, *count);
        }
    });
    found
}

/// The arrays that `stmt` names itself or loads from, not in nested statements.
#[must_use]
pub fn arrays(stmt: &Stmt) -> Vec<ArrayId> {
    let mut found = Vec::new();
    stmt.operands(&mut |operand| match operand {
        Operand::Array(array, _) => found.push(*array),
        Operand::Expr(e) => expr(e, &mut |node| {
            if let ExprKind::Load { array, .. } = node.kind {
                found.push(array);
            }
        }),
        Operand::Var(..) | Operand::Body(_) => {}
    });
    found
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
    match f(e) {
        Some(other) => *e = other,
        None => e.parts_mut(&mut |part| replace_expr(part, f)),
    }
}

/// Gives variables and arrays other names, where they are declared and used.
pub fn rename(
    body: &mut [Stmt],
    var: &impl Fn(VarId) -> VarId,
    array: &impl Fn(ArrayId) -> ArrayId,
) {
    for stmt in body {
        stmt.operands_mut(&mut |operand| match operand {
            OperandMut::Expr(e) => rename_expr(e, var, array),
            OperandMut::Var(v, _) => *v = var(*v),
            OperandMut::Array(a, _) => *a = array(*a),
            OperandMut::Body(inner) => rename(inner, var, array),
        });
    }
}

fn rename_expr(e: &mut Expr, var: &impl Fn(VarId) -> VarId, array: &impl Fn(ArrayId) -> ArrayId) {
    if let ExprKind::Var(v) = &mut e.kind {
        *v = var(*v);
    }
    if let ExprKind::Load { array: a, .. } = &mut e.kind {
        *a = array(*a);
    }
    e.parts_mut(&mut |part| rename_expr(part, var, array));
}
