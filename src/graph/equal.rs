//! Structural equality of expressions and statements, places ignored.

use super::{Assign, Guard, Stmt};
use crate::program::ir::{Access, Bound, Expr, ExprKind, Literal};

/// Whether two expressions say the same.
#[must_use]
pub fn same(a: &Expr, b: &Expr) -> bool {
    a.ty == b.ty && same_kind(&a.kind, &b.kind)
}

/// Whether two accesses read the same element whatever the variables are.
#[must_use]
pub fn same_access(a: &Access, b: &Access) -> bool {
    a.tensor == b.tensor && same_all(&a.subscripts, &b.subscripts)
}

/// Whether two statements do the same in loops over the same variables, however these are shared
/// out.
#[must_use]
pub fn same_stmt(a: &Stmt, b: &Stmt) -> bool {
    match (a, b) {
        (
            Stmt::Forall { var, body, .. },
            Stmt::Forall {
                var: other,
                body: inner,
                ..
            },
        ) => var == other && same_stmt(body, inner),
        (
            Stmt::Within { var, skipped, body },
            Stmt::Within {
                var: other,
                skipped: others,
                body: inner,
            },
        ) => var == other && skipped == others && same_stmt(body, inner),
        (
            Stmt::Where {
                consumer,
                producer,
                temp,
                init,
            },
            Stmt::Where {
                consumer: second,
                producer: first,
                temp: other,
                init: start,
            },
        ) => {
            temp == other
                && init == start
                && same_stmt(producer, first)
                && same_stmt(consumer, second)
        }
        (
            Stmt::Guarded { guards, body },
            Stmt::Guarded {
                guards: others,
                body: inner,
            },
        ) => {
            let same = |(a, b): (&Guard, &Guard)| {
                a.var == b.var && same_bounds(&a.lo, &b.lo) && same_bounds(&a.hi, &b.hi)
            };
            guards.len() == others.len()
                && guards.iter().zip(others).all(same)
                && same_stmt(body, inner)
        }
        (Stmt::Sequence(stmts), Stmt::Sequence(others)) => {
            stmts.len() == others.len() && stmts.iter().zip(others).all(|(x, y)| same_stmt(x, y))
        }
        (Stmt::Assign(x), Stmt::Assign(y)) => same_assign(x, y),
        (
            Stmt::Forall { .. }
            | Stmt::Within { .. }
            | Stmt::Where { .. }
            | Stmt::Sequence(_)
            | Stmt::Guarded { .. }
            | Stmt::Assign(_),
            _,
        ) => false,
    }
}

fn same_bounds(a: &Option<Bound>, b: &Option<Bound>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => same_bound(a, b),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Whether two bounds are the same expression.
#[must_use]
pub fn same_bound(a: &Bound, b: &Bound) -> bool {
    match (a, b) {
        (Bound::Static(a), Bound::Static(b)) => a == b,
        (Bound::Dynamic(a), Bound::Dynamic(b)) => same(a, b),
        (Bound::Static(_), Bound::Dynamic(_)) | (Bound::Dynamic(_), Bound::Static(_)) => false,
    }
}

fn same_assign(a: &Assign, b: &Assign) -> bool {
    a.tensor == b.tensor && a.lhs == b.lhs && a.op == b.op && same(&a.rhs, &b.rhs)
}

fn same_all(a: &[Expr], b: &[Expr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| same(x, y))
}

/// Zeros differ in their sign, and no number is the same as itself.
fn same_literal(a: Literal, b: Literal) -> bool {
    match (a, b) {
        (Literal::Float(a), Literal::Float(b)) => a.to_bits() == b.to_bits(),
        (Literal::Bool(_) | Literal::Int(_) | Literal::Float(_), _) => a == b,
    }
}

fn same_kind(a: &ExprKind, b: &ExprKind) -> bool {
    match (a, b) {
        (ExprKind::Literal(x), ExprKind::Literal(y)) => same_literal(*x, *y),
        (ExprKind::Access(x), ExprKind::Access(y)) => same_access(x, y),
        (ExprKind::Index(x), ExprKind::Index(y)) => x == y,
        (ExprKind::Size(x), ExprKind::Size(y)) => x == y,
        (ExprKind::Unary(p, x), ExprKind::Unary(q, y)) => p == q && same(x, y),
        (ExprKind::Binary(p, x, y), ExprKind::Binary(q, z, w)) => {
            p == q && same(x, z) && same(y, w)
        }
        (ExprKind::Select(c, x, y), ExprKind::Select(d, z, w)) => {
            same(c, d) && same(x, z) && same(y, w)
        }
        (ExprKind::Call(p, x), ExprKind::Call(q, y)) => p == q && same_all(x, y),
        (ExprKind::Cast(x), ExprKind::Cast(y)) => same(x, y),
        (
            ExprKind::Reduce { op, vars, body },
            ExprKind::Reduce {
                op: other_op,
                vars: other_vars,
                body: other,
            },
        ) => op == other_op && vars == other_vars && same(body, other),
        (
            ExprKind::Literal(_)
            | ExprKind::Access(_)
            | ExprKind::Index(_)
            | ExprKind::Size(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Select(..)
            | ExprKind::Call(..)
            | ExprKind::Cast(_)
            | ExprKind::Reduce { .. },
            _,
        ) => false,
    }
}
