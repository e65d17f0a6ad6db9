//! Simplifications that pay in the emitted text: what is not used is not
//! computed, and what is empty is not written.
//!
//! Index arithmetic is folded where it is built ([`super::build`]); the C compiler
//! hoists and shares loads, so the text keeps them where a reader expects them.

use super::ir::{ArrayId, BinaryOp, Expr, ExprKind, Kernel, Literal, Stmt, Storage, VarId};
use super::visit;
use std::collections::BTreeSet;

/// Removes unused variables, arrays that are only written, and empty statements until nothing
/// changes.
#[must_use]
pub fn simplify(mut kernel: Kernel) -> Kernel {
    for body in [&mut kernel.checks, &mut kernel.body] {
        loop {
            let used = used_vars(body);
            let before = count(body);
            prune(body, &used);
            let read = read_arrays(body);
            drop_arrays(body, &|array| {
                kernel.arrays[array.0 as usize].storage == Storage::Local && !read.contains(&array)
            });
            if count(body) == before {
                break;
            }
        }
    }
    kernel
}

/// Divisions that round down become C's own, which round towards zero, where a quotient
/// below zero is as good as zero: in the bound of a loop that starts there.
#[must_use]
pub fn divide_plainly(mut kernel: Kernel) -> Kernel {
    plain_bounds(&mut kernel.body);
    kernel
}

fn plain_bounds(body: &mut [Stmt]) {
    for stmt in body {
        match stmt {
            Stmt::For { lo, hi, .. } if is_natural(lo) => plain(hi),
            Stmt::Let { init, .. } => {
                if let ExprKind::Binary(BinaryOp::Max, lo, hi) = &mut init.kind
                    && is_natural(lo)
                {
                    plain(hi);
                }
            }
            Stmt::For { .. }
            | Stmt::Assign { .. }
            | Stmt::Store { .. }
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Search { .. }
            | Stmt::Alloc { .. }
            | Stmt::Declare { .. }
            | Stmt::Slice { .. }
            | Stmt::Assume { .. }
            | Stmt::Grow { .. }
            | Stmt::Free { .. }
            | Stmt::Fill { .. }
            | Stmt::FailIf { .. }
            | Stmt::Device(_)
            | Stmt::Prefetch { .. }
            | Stmt::Comment(_) => {}
        }
        for inner in visit::bodies_mut(stmt) {
            plain_bounds(inner);
        }
    }
}

fn plain(e: &mut Expr) {
    let ExprKind::Binary(op, x, y) = &mut e.kind else {
        return;
    };
    match op {
        BinaryOp::Min => {
            plain(x);
            plain(y);
        }
        BinaryOp::FloorDiv if is_natural(y) && **y != super::build::int(0) => *op = BinaryOp::Div,
        BinaryOp::FloorDiv
        | BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::Max
        | BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::And
        | BinaryOp::Or => {}
    }
}

fn is_natural(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Literal(Literal::Int(n)) if n >= 0)
}

fn used_vars(body: &[Stmt]) -> BTreeSet<VarId> {
    let mut used = visit::read_vars(body);
    visit::stmts(body, &mut |stmt| {
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

/// The arrays that something reads: whatever names them but what only writes.
fn read_arrays(body: &[Stmt]) -> BTreeSet<ArrayId> {
    let mut read = BTreeSet::new();
    visit::stmts(body, &mut |stmt| {
        let mut named = visit::arrays(stmt);
        match stmt {
            Stmt::Store { .. }
            | Stmt::Fill { .. }
            | Stmt::Alloc { .. }
            | Stmt::Declare { .. }
            | Stmt::Free { .. } => {
                // The array itself comes first, what expressions load behind it.
                named.remove(0);
            }
            Stmt::Let { .. }
            | Stmt::Assign { .. }
            | Stmt::For { .. }
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Grow { .. }
            | Stmt::Slice { .. }
            | Stmt::Assume { .. }
            | Stmt::Search { .. }
            | Stmt::FailIf { .. }
            | Stmt::Device(_)
            | Stmt::Prefetch { .. }
            | Stmt::Comment(_) => {}
        }
        read.extend(named);
    });
    read
}

/// Removes what writes, makes and frees arrays.
fn drop_arrays(body: &mut Vec<Stmt>, is_dead: &impl Fn(ArrayId) -> bool) {
    for stmt in body.iter_mut() {
        for inner in visit::bodies_mut(stmt) {
            drop_arrays(inner, is_dead);
        }
    }
    body.retain(|stmt| match stmt {
        Stmt::Store { array, .. }
        | Stmt::Fill { array, .. }
        | Stmt::Alloc { array, .. }
        | Stmt::Declare { array, .. }
        | Stmt::Free { array } => !is_dead(*array),
        Stmt::Let { .. }
        | Stmt::Assign { .. }
        | Stmt::For { .. }
        | Stmt::While { .. }
        | Stmt::If { .. }
        | Stmt::Grow { .. }
        | Stmt::Slice { .. }
        | Stmt::Assume { .. }
        | Stmt::Search { .. }
        | Stmt::FailIf { .. }
        | Stmt::Device(_)
        | Stmt::Prefetch { .. }
        | Stmt::Comment(_) => true,
    });
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
        | Stmt::Device(_)
        | Stmt::Prefetch { .. }
        | Stmt::Comment(_) => true,
    });
}
