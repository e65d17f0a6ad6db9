//! Full tiles apart from the last one (000, 6.4).
//!
//! A loop over the inner part of a split ends at `min(32, K - k0 * 32)`. Where a schedule
//! unrolls or vectorises it, the loop around it gets two bodies: in the first the tile is
//! full and the loop has a constant number of iterations, so that it unrolls wholly and
//! its workspace lives in registers; the second takes what is left. The test stands as
//! far out as what it depends on allows.

use super::build as b;
use super::ir::{ArrayId, BinaryOp, Expr, ExprKind, Kernel, LoopTag, Stmt, VarId};
use super::visit;
use crate::scalar::Literal;
use std::collections::{BTreeMap, BTreeSet};

/// Splits off full tiles, outermost tests first.
#[must_use]
pub fn split_full_tiles(mut kernel: Kernel) -> Kernel {
    let mut body = std::mem::take(&mut kernel.body);
    Splitter {
        kernel: &mut kernel,
    }
    .list(&mut body);
    kernel.body = body;
    kernel
}

struct Splitter<'k> {
    kernel: &'k mut Kernel,
}

/// A loop's bound `min(count, rests...)`.
struct Bound {
    count: i64,
    rests: Vec<Expr>,
}

impl Splitter<'_> {
    fn list(&mut self, body: &mut Vec<Stmt>) {
        let mut inner = BTreeSet::new();
        visit::stmts(body, &mut |s| declared(s, &mut inner));
        let mut conditions: Vec<Expr> = Vec::new();
        let mut first = None;
        let mut last = 0;
        for (at, stmt) in body.iter().enumerate() {
            let mut here = Vec::new();
            tiles(std::slice::from_ref(stmt), &inner, &mut here);
            if here.is_empty() {
                continue;
            }
            first = first.or(Some(at));
            last = at;
            for condition in here {
                if !conditions.contains(&condition) {
                    conditions.push(condition);
                }
            }
        }
        let Some(mut first) = first else {
            for stmt in body {
                for inner in visit::bodies_mut(stmt) {
                    self.list(inner);
                }
            }
            return;
        };
        // Workspaces go along: each body has its own.
        while first > 0 && matches!(body[first - 1], Stmt::Declare { .. }) {
            first -= 1;
        }
        while used_after(body, first, last) {
            last += 1;
        }
        let mut full: Vec<Stmt> = body.drain(first..=last).collect();
        let mut rest = self.copy(&full);
        keep_short(&mut rest);
        fix_bounds(&mut full, &conditions);
        self.list(&mut full);
        body.insert(
            first,
            Stmt::If {
                cond: b::all(conditions),
                then: full,
                otherwise: rest,
            },
        );
    }

    /// The statements with variables and arrays of their own.
    fn copy(&mut self, stmts: &[Stmt]) -> Vec<Stmt> {
        let mut vars = BTreeSet::new();
        let mut arrays = BTreeSet::new();
        visit::stmts(stmts, &mut |s| {
            declared(s, &mut vars);
            if let Stmt::Declare { array, .. } | Stmt::Slice { array, .. } = s {
                arrays.insert(*array);
            }
        });
        let mut names = Renaming::default();
        for var in vars {
            let copy = self.kernel.vars[var.0 as usize].clone();
            self.kernel.vars.push(copy);
            let new = u32::try_from(self.kernel.vars.len() - 1).unwrap_or(u32::MAX);
            names.vars.insert(var, VarId(new));
        }
        for array in arrays {
            let copy = self.kernel.arrays[array.0 as usize].clone();
            self.kernel.arrays.push(copy);
            let new = u32::try_from(self.kernel.arrays.len() - 1).unwrap_or(u32::MAX);
            names.arrays.insert(array, ArrayId(new));
        }
        let mut copy = stmts.to_vec();
        visit::rename(
            &mut copy,
            &|v| names.vars.get(&v).copied().unwrap_or(v),
            &|a| names.arrays.get(&a).copied().unwrap_or(a),
        );
        copy
    }
}

#[derive(Default)]
struct Renaming {
    vars: BTreeMap<VarId, VarId>,
    arrays: BTreeMap<ArrayId, ArrayId>,
}

fn declared(stmt: &Stmt, vars: &mut BTreeSet<VarId>) {
    if let Stmt::Let { var, .. } | Stmt::For { var, .. } | Stmt::Search { var, .. } = stmt {
        vars.insert(*var);
    }
}

/// Whether a statement after `last` uses what those from `first` on declare.
fn used_after(body: &[Stmt], first: usize, last: usize) -> bool {
    let mut vars = BTreeSet::new();
    let mut arrays = BTreeSet::new();
    for stmt in &body[first..=last] {
        declared(stmt, &mut vars);
        if let Stmt::Declare { array, .. } | Stmt::Slice { array, .. } = stmt {
            arrays.insert(*array);
        }
    }
    let mut used = false;
    visit::stmts(&body[last + 1..], &mut |s| {
        visit::own_exprs(s, &mut |e| {
            visit::expr(e, &mut |node| match &node.kind {
                ExprKind::Var(v) => used |= vars.contains(v),
                ExprKind::Load { array, .. } => used |= arrays.contains(array),
                ExprKind::Literal(_)
                | ExprKind::Unary(..)
                | ExprKind::Binary(..)
                | ExprKind::Call(..)
                | ExprKind::Cast(_)
                | ExprKind::Select(..)
                | ExprKind::Thread
                | ExprKind::Threads => {}
            });
        });
        if let Stmt::Assign { var, .. } = s {
            used |= vars.contains(var);
        }
        if let Stmt::Store { array, .. } | Stmt::Fill { array, .. } = s {
            used |= arrays.contains(array);
        }
    });
    used
}

fn wanted(tag: &LoopTag) -> bool {
    tag.vector || tag.unroll.is_some()
}

/// The bound of a loop that runs to a constant, or to less at the end of a range.
fn bound(lo: &Expr, hi: &Expr, tag: &LoopTag) -> Option<Bound> {
    if !wanted(tag) || *lo != b::int(0) {
        return None;
    }
    let mut bound = Bound {
        count: i64::MAX,
        rests: Vec::new(),
    };
    flatten(hi, &mut bound);
    (bound.count < i64::MAX && !bound.rests.is_empty()).then_some(bound)
}

fn flatten(e: &Expr, bound: &mut Bound) {
    match &e.kind {
        ExprKind::Binary(BinaryOp::Min, x, y) => {
            flatten(x, bound);
            flatten(y, bound);
        }
        ExprKind::Literal(Literal::Int(n)) => bound.count = bound.count.min(*n),
        ExprKind::Literal(_)
        | ExprKind::Var(_)
        | ExprKind::Load { .. }
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Call(..)
        | ExprKind::Cast(_)
        | ExprKind::Select(..)
        | ExprKind::Thread
        | ExprKind::Threads => bound.rests.push(e.clone()),
    }
}

/// The conditions under which tiles below are full, as far as they depend on nothing
/// that `inner` declares and on no memory.
fn tiles(body: &[Stmt], inner: &BTreeSet<VarId>, found: &mut Vec<Expr>) {
    visit::stmts(body, &mut |stmt| {
        let Stmt::For { lo, hi, tag, .. } = stmt else {
            return;
        };
        let Some(bound) = bound(lo, hi, tag) else {
            return;
        };
        for rest in bound.rests {
            let mut known = true;
            visit::expr(&rest, &mut |node| match &node.kind {
                ExprKind::Var(v) => known &= !inner.contains(v),
                ExprKind::Load { .. } => known = false,
                ExprKind::Literal(_)
                | ExprKind::Unary(..)
                | ExprKind::Binary(..)
                | ExprKind::Call(..)
                | ExprKind::Cast(_)
                | ExprKind::Select(..)
                | ExprKind::Thread
                | ExprKind::Threads => {}
            });
            if known {
                found.push(full(&rest, bound.count));
            }
        }
    });
}

/// `rest >= count`
fn full(rest: &Expr, count: i64) -> Expr {
    b::binary(BinaryOp::Ge, rest.clone(), b::int(count))
}

/// What is left of a tile is not worth unrolling as far as the tile is wide.
fn keep_short(body: &mut [Stmt]) {
    for stmt in body {
        if let Stmt::For { lo, hi, tag, .. } = stmt
            && let Some(bound) = bound(lo, hi, tag)
            && tag.unroll.is_some_and(|n| i64::from(n) >= bound.count)
        {
            tag.unroll = None;
        }
        for inner in visit::bodies_mut(stmt) {
            keep_short(inner);
        }
    }
}

/// Leaves out of loop bounds what the conditions exclude.
fn fix_bounds(body: &mut [Stmt], conditions: &[Expr]) {
    for stmt in body {
        if let Stmt::For { lo, hi, tag, .. } = stmt
            && let Some(bound) = bound(lo, hi, tag)
        {
            *hi = bound
                .rests
                .into_iter()
                .filter(|rest| !conditions.contains(&full(rest, bound.count)))
                .fold(b::int(bound.count), b::min);
        }
        for inner in visit::bodies_mut(stmt) {
            fix_bounds(inner, conditions);
        }
    }
}
