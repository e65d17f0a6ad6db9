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
    for body in [&mut kernel.checks, &mut kernel.body] {
        loop {
            let used = used_vars(body);
            let before = count(body);
            prune(body, &used);
            if count(body) == before {
                break;
            }
        }
    }
    kernel
}

fn used_vars(body: &[Stmt]) -> BTreeSet<VarId> {
    let mut used = BTreeSet::new();
    visit::stmts(body, &mut |stmt| {
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
    used
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
        if let Stmt::For { tag, .. } = stmt {
            tag.reductions.retain(|(_, var)| used.contains(var));
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
        | Stmt::Declare { .. }
        | Stmt::Slice { .. }
        | Stmt::Assume { .. }
        | Stmt::Grow { .. }
        | Stmt::Free { .. }
        | Stmt::Fill { .. }
        | Stmt::FailIf { .. }
        | Stmt::Comment(_) => true,
    });
}
