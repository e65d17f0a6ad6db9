//! Structural equality of expressions, places ignored.

use crate::program::ir::{Access, Expr, ExprKind};

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

fn same_all(a: &[Expr], b: &[Expr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| same(x, y))
}

fn same_kind(a: &ExprKind, b: &ExprKind) -> bool {
    match (a, b) {
        (ExprKind::Literal(x), ExprKind::Literal(y)) => x == y,
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
