//! Loops of which a thread runs a function.
//!
//! Compilers put an OpenMP loop into a function of their own, and forget on the way that its arrays do not overlap: what
//! a row needs is loaded again behind each element that is stored (SDDMM takes 1.4 times as long, in one thread, too).
//! Parameters of a function are known to be apart. So loops of threads whose iterations store in loops of their own are
//! marked, if they leave nothing behind but arrays, or a truth that they return. What shares rows out needs registers,
//! too, which the loops then lack: shares have a function in any case (SpMV on rows of five elements: 1.13 times as
//! long without). Not where loops inside are unrolled and no vectors: gcc (12) makes vectors of what they sum up, but rarely
//! in a function that stands by itself (a tile of SpMM's row took 3.6 times as long).
//!
//! Where an iteration has a few terms that are the same in each, as the weights of a convolution, registers keep
//! them from one iteration to the next, if what stores between them is known to be elsewhere: then all of a thread's
//! iterations are one function (1.45 times as fast with 15 weights).

use super::build as b;
use super::ir::{
    ArrayId, Expr, ExprKind, Kernel, LoopTag, OmpSchedule, Piece, ReduceOp, Run, ScalarType, Stmt,
    VarId,
};
use super::operands::{ArrayUse, Operand};
use super::visit;
use std::collections::BTreeSet;

/// Terms that registers hold.
const MOST_TERMS: i64 = 16;

/// Marks loops of threads whose iterations become functions where that pays.
#[must_use]
pub fn mark_functions(mut kernel: Kernel) -> Kernel {
    let mut body = std::mem::take(&mut kernel.body);
    list(&kernel, &mut body);
    kernel.body = body;
    kernel
}

/// What no thread runs stays in the loop around; loops inside of a function are its own.
fn list(kernel: &Kernel, body: &mut [Stmt]) {
    for stmt in body {
        let piece = piece(stmt).filter(|_| may_be(kernel, stmt));
        if let Stmt::For { tag, .. } = stmt
            && piece.is_some()
        {
            tag.function = piece;
            continue;
        }
        if let Stmt::For { tag, .. } = stmt
            && tag.is_vector()
        {
            continue;
        }
        for inner in visit::bodies_mut(stmt) {
            list(kernel, inner);
        }
    }
}

/// Whether a thread may run a function of the loop: iterations of threads, one by one and in rising order, that leave
/// nothing behind but arrays and what the function returns. (No loop of threads fails or asks for memory.)
#[must_use]
pub fn may_be(kernel: &Kernel, stmt: &Stmt) -> bool {
    let Stmt::For {
        step: 1, tag, body, ..
    } = stmt
    else {
        return false;
    };
    let Some(returned) = returned(kernel, tag) else {
        return false;
    };
    let mut declared = visit::declared(body);
    declared.extend(returned.filter(|var| !visit::read_vars(body).contains(var)));
    !tag.reversed && visit::changed(body).is_subset(&declared) && !visit::any(body, &leaves)
}

/// What iterations of a loop of threads return: nothing, or whether something holds for one of them; `None` for
/// other loops.
#[must_use]
pub fn returned(kernel: &Kernel, tag: &LoopTag) -> Option<Option<VarId>> {
    let Run::Threads { reductions, .. } = &tag.run else {
        return None;
    };
    match reductions.as_slice() {
        [] => Some(None),
        [(ReduceOp::Or | ReduceOp::Add | ReduceOp::Max, var)] => {
            let is_truth = kernel.var(*var).ty == ScalarType::Bool;
            is_truth.then_some(Some(*var))
        }
        _ => None,
    }
}

/// What a loop assumes is noted where the kernel looks for it.
fn leaves(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Assume { .. })
}

/// What of the loop pays as a function: a share where rows are shared out by what they hold, or an iteration needs what
/// those before it had in registers; an iteration where a loop among the statements stores in arrays that are not theirs,
/// where loads from others might be kept from one to the next.
fn piece(stmt: &Stmt) -> Option<Piece> {
    let Stmt::For { tag, body, .. } = stmt else {
        return None;
    };
    let own = visit::declared_arrays(body);
    let stores = |stmt: &Stmt| {
        let mut found = false;
        stmt.operands(&mut |operand| {
            if let Operand::Array(array, ArrayUse::Write | ArrayUse::Exchange) = operand {
                found |= !own.contains(array);
            }
        });
        found
    };
    let is_loop = |stmt: &Stmt| matches!(stmt, Stmt::For { body, .. } | Stmt::While { body, .. } if visit::any(body, &stores));
    let is_vector = |stmt: &Stmt| matches!(stmt, Stmt::For { tag, .. } if tag.is_vector());
    let is_unrolled = |stmt: &Stmt| matches!(stmt, Stmt::For { tag, body, .. } if tag.unroll.is_some() && !tag.is_vector() && !visit::any(body, &is_vector));
    if visit::any(body, &is_unrolled) {
        None
    } else if tag.shares().is_some() || (is_even(tag) && has_terms(stmt)) {
        Some(Piece::Share)
    } else {
        visit::any(body, &is_loop).then_some(Piece::Iteration)
    }
}

/// Whether threads get neighbouring iterations, equally many.
fn is_even(tag: &LoopTag) -> bool {
    let schedule = OmpSchedule::Static(None);
    matches!(&tag.run, Run::Threads { schedule: own, .. } if *own == schedule)
}

/// Whether short loops of an iteration read what is the same in each.
fn has_terms(stmt: &Stmt) -> bool {
    let Stmt::For { var, body, .. } = stmt else {
        return false;
    };
    let mut short = BTreeSet::new();
    visit::stmts(body, &mut |stmt| {
        if let Stmt::For { var, lo, hi, .. } = stmt
            && let (Some(lo), Some(hi)) = (b::as_int(lo), b::as_int(hi))
            && hi.checked_sub(lo).is_some_and(|terms| terms <= MOST_TERMS)
        {
            short.insert(*var);
        }
    });
    let mut changing = visit::declared(body);
    changing.extend([*var]);
    changing.retain(|var| !short.contains(var));
    let mut written = BTreeSet::new();
    let mut stores = |stmt: &Stmt| {
        stmt.operands(&mut |operand| {
            if let Operand::Array(array, ArrayUse::Write | ArrayUse::Exchange) = operand {
                written.insert(*array);
            }
        });
    };
    visit::stmts(body, &mut stores);
    let is_same = |array: &ArrayId, index: &Expr| {
        let mut reads = BTreeSet::new();
        visit::expr(index, &mut |node| {
            if let ExprKind::Var(var) = node.kind {
                reads.insert(var);
            }
        });
        !written.contains(array) && !reads.is_disjoint(&short) && reads.is_disjoint(&changing)
    };
    let mut found = false;
    let mut terms = |stmt: &Stmt| {
        visit::own_exprs(stmt, &mut |e| {
            visit::expr(e, &mut |node| {
                if let ExprKind::Load { array, index } = &node.kind {
                    found |= is_same(array, index);
                }
            });
        });
    };
    visit::stmts(body, &mut terms);
    found
}
