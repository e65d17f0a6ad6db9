//! Simplifications that pay in the emitted text: what is not used is not
//! computed, and what is empty is not written.
//!
//! Index arithmetic is folded where it is built ([`super::build`]); the C compiler
//! hoists and shares loads, so the text keeps them where a reader expects them.

use super::build as b;
use super::exceeded::Naturals;
use super::ir::{
    ArrayId, BinaryOp, Expr, ExprKind, Kernel, Literal, LoopTag, ScalarType, Stmt, Storage, Var,
    VarId,
};
use super::operands::{ArrayUse, Operand, VarUse};
use super::trips;
use super::visit;
use std::collections::BTreeSet;

/// Removes unused variables, arrays that are only written, empty statements and loops over single
/// values until nothing changes.
#[must_use]
pub fn simplify(mut kernel: Kernel) -> Kernel {
    for body in [&mut kernel.checks, &mut kernel.body] {
        declare_single(body);
        loop {
            let used = used_vars(body);
            let before = count(body);
            prune(body, &used);
            let read = read_arrays(body);
            drop_arrays(body, &|array| {
                kernel.arrays[array.index()].storage == Storage::Local && !read.contains(&array)
            });
            if count(body) == before {
                break;
            }
        }
        same_branches(body);
        count_at_once(&kernel.vars, &kernel.interface.ascending(), body);
    }
    kernel
}

/// A loop that only counts its iterations adds their number. Variables that change are positions
/// and counters, so that one of them as an end is not below 0; nor do positions of operands fall.
fn count_at_once(vars: &[Var], ascending: &BTreeSet<ArrayId>, body: &mut [Stmt]) {
    for stmt in body {
        for inner in visit::bodies_mut(stmt) {
            count_at_once(vars, ascending, inner);
        }
        let Stmt::For {
            lo,
            hi,
            step: 1,
            tag,
            body: inner,
            ..
        } = stmt
        else {
            continue;
        };
        let [
            Stmt::Assign {
                var,
                op: None,
                value,
            },
        ] = inner.as_slice()
        else {
            continue;
        };
        let counter = b::var(*var, ScalarType::I64);
        if *tag != LoopTag::default() || *value != b::add(counter.clone(), b::int(1)) {
            continue;
        }
        let is_count = matches!(hi.kind, ExprKind::Var(var) if vars[var.index()].mutable);
        let rises = (is_count && *lo == b::int(0))
            || segment(lo, hi).is_some_and(|array| ascending.contains(&array));
        let range = b::sub(hi.clone(), lo.clone());
        let range = if rises {
            range
        } else {
            b::max(range, b::int(0))
        };
        *stmt = b::set(*var, b::add(counter, range));
    }
}

/// The array of which these are the ends of a segment, `pos[e]` and `pos[e + 1]`.
fn segment(lo: &Expr, hi: &Expr) -> Option<ArrayId> {
    match (&lo.kind, &hi.kind) {
        (ExprKind::Cast(lo), ExprKind::Cast(hi)) => segment(lo, hi),
        (
            ExprKind::Load { array, index },
            ExprKind::Load {
                array: other,
                index: next,
            },
        ) if array == other => (**next == b::add((**index).clone(), b::int(1))).then_some(*array),
        _ => None,
    }
}

/// A test whose branches do the same does it.
fn same_branches(body: &mut Vec<Stmt>) {
    for mut stmt in std::mem::take(body) {
        for inner in visit::bodies_mut(&mut stmt) {
            same_branches(inner);
        }
        if let Stmt::If {
            then, otherwise, ..
        } = &mut stmt
            && then == otherwise
        {
            body.append(then);
        } else {
            body.push(stmt);
        }
    }
}

/// A serial loop over a single value declares it.
fn declare_single(body: &mut Vec<Stmt>) {
    for mut stmt in std::mem::take(body) {
        for inner in visit::bodies_mut(&mut stmt) {
            declare_single(inner);
        }
        if let Stmt::For {
            var,
            lo,
            hi,
            tag,
            body: inner,
            ..
        } = &mut stmt
            && *tag == LoopTag::default()
            && trips::constant(lo, hi) == Some(1)
        {
            body.push(b::bind(*var, lo.clone()));
            body.append(inner);
        } else {
            body.push(stmt);
        }
    }
}

/// Divisions that round down become C's own, which round towards zero, where a quotient
/// below zero is as good as zero: in the bound of a loop that starts there, where at least zero is taken, and where a
/// natural number is compared.
#[must_use]
pub fn divide_plainly(mut kernel: Kernel) -> Kernel {
    let naturals = Naturals::of(&kernel);
    plain_bounds(&mut kernel.body);
    visit::replace_exprs(&mut kernel.body, &mut plain_maximum);
    visit::replace_exprs(&mut kernel.body, &mut |e| plain_comparison(e, &naturals));
    kernel
}

/// Whether a natural number is less than a quotient.
fn plain_comparison(e: &Expr, naturals: &Naturals) -> Option<Expr> {
    let ExprKind::Binary(BinaryOp::Lt, x, y) = &e.kind else {
        return None;
    };
    let mut end = (**y).clone();
    if naturals.has(x) {
        plain(&mut end);
    }
    (end != **y).then(|| b::raw_binary(BinaryOp::Lt, (**x).clone(), end))
}

/// The larger of a quotient and a natural number, of which the quotient is rounded in either way.
fn plain_maximum(e: &Expr) -> Option<Expr> {
    let ExprKind::Binary(BinaryOp::Max, x, y) = &e.kind else {
        return None;
    };
    let (mut first, mut second) = ((**x).clone(), (**y).clone());
    match (is_natural(x), is_natural(y)) {
        (false, true) => plain(&mut first),
        (true, false) => plain(&mut second),
        (true, true) | (false, false) => return None,
    }
    let plainly = super::build::binary(BinaryOp::Max, first, second);
    (plainly != *e).then_some(plainly)
}

fn plain_bounds(body: &mut [Stmt]) {
    for stmt in body {
        if let Stmt::For { lo, hi, .. } = stmt
            && is_natural(lo)
        {
            plain(hi);
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
    if *op == BinaryOp::Min {
        plain(x);
        plain(y);
    } else if *op == BinaryOp::FloorDiv && is_natural(y) && **y != super::build::int(0) {
        *op = BinaryOp::Div;
    }
}

fn is_natural(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Literal(Literal::Int(n)) if n >= 0)
}

/// The variables on whose values something depends. One that is only assigned is not used.
fn used_vars(body: &[Stmt]) -> BTreeSet<VarId> {
    let mut used = visit::read_vars(body);
    visit::stmts(body, &mut |stmt| {
        stmt.operands(&mut |operand| {
            if let Operand::Var(var, VarUse::Update) = operand {
                used.insert(*var);
            }
        });
    });
    used
}

fn count(body: &[Stmt]) -> usize {
    let mut n = 0;
    visit::stmts(body, &mut |_| n += 1);
    n
}

/// The arrays that something reads: whatever names them but what only makes and writes.
fn read_arrays(body: &[Stmt]) -> BTreeSet<ArrayId> {
    let mut read = BTreeSet::new();
    visit::stmts(body, &mut |stmt| {
        stmt.operands(&mut |operand| match operand {
            Operand::Array(array, how) if !is_droppable(how) => {
                read.insert(*array);
            }
            Operand::Expr(e) => visit::expr(e, &mut |node| {
                if let ExprKind::Load { array, .. } = node.kind {
                    read.insert(array);
                }
            }),
            Operand::Array(..) | Operand::Var(..) | Operand::Body(_) => {}
        });
    });
    read
}

/// Whether a statement of which an array has no more than this use is for that array alone.
fn is_droppable(how: ArrayUse) -> bool {
    match how {
        ArrayUse::Write | ArrayUse::Alloc | ArrayUse::Declare | ArrayUse::Free => true,
        ArrayUse::Alias | ArrayUse::Part | ArrayUse::Grow | ArrayUse::Read | ArrayUse::Exchange => {
            false
        }
    }
}

/// Removes what writes, makes and frees arrays.
fn drop_arrays(body: &mut Vec<Stmt>, is_dead: &impl Fn(ArrayId) -> bool) {
    for stmt in body.iter_mut() {
        for inner in visit::bodies_mut(stmt) {
            drop_arrays(inner, is_dead);
        }
    }
    body.retain(|stmt| {
        let mut dead = false;
        stmt.operands(&mut |operand| {
            if let Operand::Array(array, how) = operand {
                dead |= is_droppable(how) && is_dead(*array);
            }
        });
        !dead
    });
}

fn prune(body: &mut Vec<Stmt>, used: &BTreeSet<VarId>) {
    for stmt in body.iter_mut() {
        for inner in visit::bodies_mut(stmt) {
            prune(inner, used);
        }
        if let Stmt::For { tag, .. } = stmt {
            tag.retain_reductions(|var| used.contains(&var));
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
    body.retain(|stmt| {
        if let Stmt::Let { var, .. } | Stmt::Assign { var, .. } | Stmt::Search { var, .. } = stmt {
            return used.contains(var);
        }
        // An empty while loop either never runs or never ends: it is never built.
        let is_block = matches!(stmt, Stmt::For { .. } | Stmt::If { .. });
        !is_block || visit::bodies(stmt).iter().any(|inner| !inner.is_empty())
    });
}
