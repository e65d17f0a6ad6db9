//! Simplifications that pay in the emitted text: what is not used is not
//! computed, and what is empty is not written.
//!
//! Index arithmetic is folded where it is built ([`super::build`]); the C compiler
//! hoists and shares loads, so the text keeps them where a reader expects them.

use super::ir::{ExprKind, Kernel, Stmt, VarId};
use super::visit;
use std::collections::BTreeSet;

/// Removes unused variables and empty statements until nothing changes.
#[must_use]
pub fn simplify(mut kernel: Kernel) -> Kernel {
    loop {
        let mut used = BTreeSet::new();
        visit::stmts(&kernel.body, &mut |stmt| {
            visit::own_exprs(stmt, &mut |e| {
                visit::expr(e, &mut |node| {
                    if let ExprKind::Var(v) = node.kind {
                        used.insert(v);
                    }
                });
            });
            if let Stmt::Grow { capacity, .. } = stmt {
                used.insert(*capacity);
            }
        });
        let before = count(&kernel.body);
        prune(&mut kernel.body, &used);
        if count(&kernel.body) == before {
            return kernel;
        }
    }
}

fn count(body: &[Stmt]) -> usize {
    let mut n = 0;
    visit::stmts(body, &mut |_| n += 1);
    n
}

fn prune(body: &mut Vec<Stmt>, used: &BTreeSet<VarId>) {
    for stmt in body.iter_mut() {
        for inner in visit::bodies_mut(stmt) {
            prune(inner, used);
        }
        if let Stmt::If {
            cond,
            then,
            otherwise,
        } = stmt
            && then.is_empty()
            && !otherwise.is_empty()
        {
            *cond = super::build::unary(super::ir::UnaryOp::Not, cond.clone());
            *then = std::mem::take(otherwise);
        }
    }
    body.retain(|stmt| match stmt {
        // A variable that is only assigned is not used either.
        Stmt::Let { var, .. } | Stmt::Assign { var, .. } | Stmt::Search { var, .. } => {
            used.contains(var)
        }
        Stmt::For { body, .. } => !body.is_empty(),
        Stmt::If {
            then, otherwise, ..
        } => !(then.is_empty() && otherwise.is_empty()),
        // An empty while loop either never runs or never ends: it is never built.
        Stmt::While { .. }
        | Stmt::Store { .. }
        | Stmt::Alloc { .. }
        | Stmt::Grow { .. }
        | Stmt::Free { .. }
        | Stmt::Fill { .. }
        | Stmt::FailIf { .. }
        | Stmt::Comment(_) => true,
    });
}
