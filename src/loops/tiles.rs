//! Full tiles apart from the last one (000, 6.4).
//!
//! A loop over the inner part of a split ends at `min(32, K - k0 * 32)`. Where a schedule
//! unrolls or vectorises it, the loop around it gets two bodies: in the first the tile is
//! full and the loop has a constant number of iterations, so that it unrolls wholly and
//! its workspace lives in registers; the second takes what is left. The test stands as
//! far out as what it depends on allows. Where the loop around it is serial and full
//! tiles come first, it becomes two loops instead, and nothing is tested: what lives
//! through both is never indexed by a variable in the first, and stays in registers there.

use super::build as b;
use super::copy::{copied, end_of_full};
use super::ir::{ArrayId, BinaryOp, Expr, ExprKind, Kernel, LoopTag, Run, Stmt, VarId};
use super::lanes::Lanes;
use super::linear::{self, Linear};
use super::partial;
use super::trips::{self, Bounds, Trips};
use super::visit;
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

/// The bound of a loop that makes `count` iterations, or fewer at the end of a range.
struct Bound {
    count: i64,
    rests: Vec<Expr>,
}

/// The statements of a list that get two bodies, and the conditions of the first.
struct Test {
    first: usize,
    last: usize,
    conditions: Vec<Expr>,
}

impl Test {
    /// Of the tiles in `body`, where none of them is tested further inside.
    fn of(body: &[Stmt]) -> Option<Test> {
        let mut conditions: Vec<Expr> = Vec::new();
        let mut first = None;
        let mut last = 0;
        for (at, stmt) in body.iter().enumerate() {
            let mut here = Vec::new();
            tiles(std::slice::from_ref(stmt), &mut here);
            if !here.is_empty() {
                // Not yet known where the test would stand, or another number there.
                let tested = &body[first.unwrap_or(at)..];
                let inner = &visit::declared(tested) | &visit::changed(tested);
                let unknown =
                    |node: &Expr| matches!(node.kind, ExprKind::Var(v) if inner.contains(&v));
                here.retain(|condition| !condition.any(unknown));
            }
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
        let mut first = first?;
        // Workspaces go along: each body has its own.
        while first > 0 && matches!(body[first - 1], Stmt::Declare { .. }) {
            first -= 1;
        }
        while used_after(body, first, last) {
            last += 1;
        }
        // A region that appends stands in nothing: the test goes into it.
        let region = |stmt: &Stmt| matches!(stmt, Stmt::Append { .. });
        let apart = !visit::any(&body[first..=last], &region);
        apart.then_some(Test {
            first,
            last,
            conditions,
        })
    }
}

impl Splitter<'_> {
    fn list(&mut self, body: &mut Vec<Stmt>) {
        let Some(test) = Test::of(body) else {
            for stmt in body.iter_mut() {
                for inner in visit::bodies_mut(stmt) {
                    self.list(inner);
                }
            }
            self.part_loops(body);
            return;
        };
        let Test {
            first,
            last,
            conditions,
        } = test;
        let mut full: Vec<Stmt> = body.drain(first..=last).collect();
        let mut rest = copied(self.kernel, &full);
        partial::by_vectors(self.kernel, &mut rest);
        let rooms = visit::rooms(&rest);
        keep_short(&mut rest, &rooms);
        fix_bounds(&mut full, &conditions);
        self.list(&mut full);
        body.insert(first, b::if_else(b::all(conditions), full, rest));
    }

    /// Loops that test whether a tile is full become two: over the full ones, over the rest.
    fn part_loops(&mut self, body: &mut Vec<Stmt>) {
        let mut at = 0;
        while at < body.len() {
            if let Some((end, full, rest)) = self.parted(&body[at]) {
                body.splice(at..=at, [end, full, rest]);
                at += 2;
            }
            at += 1;
        }
    }

    fn parted(&mut self, stmt: &Stmt) -> Option<(Stmt, Stmt, Stmt)> {
        let Stmt::For {
            var,
            lo,
            hi,
            most,
            step: 1,
            tag,
            body,
        } = stmt
        else {
            return None;
        };
        let serial = tag.is_serial() && tag.unroll.is_none();
        let (last, before) = body.split_last()?;
        let Stmt::If {
            cond,
            then,
            otherwise,
        } = last
        else {
            return None;
        };
        let lets = before.iter().all(|s| matches!(s, Stmt::Let { .. }));
        if !serial || !lets || otherwise.is_empty() {
            return None;
        }
        let full = full_iterations(cond, *var, before)?;
        let full = full_end(full, hi);
        let init = self.not_before(lo, full.clone());
        let most_full = trips::fewer(*most, trips::constant(lo, &init));
        let most_rest = trips::fewer(*most, trips::constant(&init, hi));
        let (id, end) = end_of_full(self.kernel, *var);
        let with = |inner: &[Stmt]| [before, inner].concat();
        let first = Bounds::of(lo.clone(), end.clone()).at_most(most_full);
        let first = first.each(*var, tag.clone(), with(then));
        let second = match once(&full, hi) {
            Some((step, count)) => b::if_then(
                b::lt(b::mul(end.clone(), step), count),
                [vec![b::bind(*var, end)], with(otherwise)].concat(),
            ),
            None => {
                let rest = Bounds::of(end, hi.clone()).at_most(most_rest);
                rest.each(*var, tag.clone(), with(otherwise))
            }
        };
        let second = copied(self.kernel, &[second]).into_iter().next()?;
        let end = b::bind(id, init);
        Some((end, first, second))
    }

    /// The end of a loop from `lo` on that may have no iterations.
    fn not_before(&self, lo: &Expr, end: Expr) -> Expr {
        let ExprKind::Binary(BinaryOp::FloorDiv, n, by) = &end.kind else {
            return b::max(lo.clone(), end);
        };
        let sizes = &self.kernel.interface.sizes;
        let size = sizes.iter().any(|s| n.kind == ExprKind::Var(s.var));
        match b::as_int(lo) {
            Some(0) if size => b::binary(BinaryOp::Div, (**n).clone(), (**by).clone()),
            // Compilers divide what is not negative by a shift alone.
            Some(0) => b::binary(
                BinaryOp::Div,
                b::max(lo.clone(), (**n).clone()),
                (**by).clone(),
            ),
            Some(_) | None => b::max(lo.clone(), end),
        }
    }
}

/// Whether a statement after `last` uses what those from `first` on declare.
fn used_after(body: &[Stmt], first: usize, last: usize) -> bool {
    let own = &body[first..=last];
    let vars: BTreeSet<VarId> = own.iter().flat_map(Stmt::declares).collect();
    let arrays: BTreeSet<ArrayId> = own.iter().filter_map(Stmt::declares_array).collect();
    let rest = &body[last + 1..];
    let used: BTreeSet<VarId> = &visit::read_vars(rest) | &visit::changed(rest);
    let named = |stmt: &Stmt| visit::arrays(stmt).iter().any(|a| arrays.contains(a));
    !used.is_disjoint(&vars) || visit::any(rest, &named)
}

fn wanted(tag: &LoopTag) -> bool {
    tag.is_vector() || tag.unroll.is_some()
}

/// The bound of a loop that is better split.
fn bound(lo: &Expr, hi: &Expr, tag: &LoopTag) -> Option<Bound> {
    wanted(tag).then_some(())?;
    let Trips { most, rests } = Trips::of(lo, hi);
    let count = most.filter(|_| !rests.is_empty())?;
    Some(Bound { count, rests })
}

/// How many iterations come before the first in which `cond`, conditions `x >= y` that
/// hold for small values of `var`, does not; `lets` are declared before it.
fn full_iterations(cond: &Expr, var: VarId, lets: &[Stmt]) -> Option<Expr> {
    if let ExprKind::Binary(BinaryOp::And, x, y) = &cond.kind {
        let (x, y) = (
            full_iterations(x, var, lets)?,
            full_iterations(y, var, lets)?,
        );
        return Some(if x == y { x } else { b::min(x, y) });
    }
    let ExprKind::Binary(BinaryOp::Ge, x, y) = &cond.kind else {
        return None;
    };
    // The condition is a - c * var >= 0.
    let mut difference = Linear::of(&linear::sub(x, y))?;
    for stmt in lets.iter().rev() {
        if let Stmt::Let { var, init } = stmt {
            difference = difference.substitute(*var, init)?;
        }
    }
    let (factor, rest) = difference.split(var)?;
    let step = factor.checked_neg().filter(|&step| step > 0)?;
    let end = linear::add(&rest, &b::int(step));
    (!rest.loads()).then(|| b::binary(BinaryOp::FloorDiv, end, b::int(step)))
}

/// The size of a tile and the number of elements, where at most one iteration is left
/// after the full ones: they end at `n / 4`, all at `(n + 3) / 4`.
fn once(full: &Expr, hi: &Expr) -> Option<(Expr, Expr)> {
    let (
        ExprKind::Binary(BinaryOp::FloorDiv, n, by),
        ExprKind::Binary(BinaryOp::FloorDiv, up, same),
    ) = (&full.kind, &hi.kind)
    else {
        return None;
    };
    let missing = Linear::of(&linear::sub(&b::add((**n).clone(), (**by).clone()), up))?;
    (by == same && missing.as_constant()? == 1).then(|| ((**by).clone(), (**n).clone()))
}

/// The end of the full iterations, at most `hi`.
fn full_end(full: Expr, hi: &Expr) -> Expr {
    // `n / 4` is at most `(n + 3) / 4`.
    if let (
        ExprKind::Binary(BinaryOp::FloorDiv, n, by),
        ExprKind::Binary(BinaryOp::FloorDiv, other, same),
    ) = (&full.kind, &hi.kind)
        && by == same
        && Linear::of(&linear::sub(other, n))
            .and_then(|d| d.as_constant())
            .is_some_and(|d| d >= 0)
    {
        return full;
    }
    b::min(full, hi.clone())
}

/// The conditions under which tiles below are full, as far as they depend on no memory.
fn tiles(body: &[Stmt], found: &mut Vec<Expr>) {
    visit::stmts(body, &mut |stmt| {
        let Stmt::For { lo, hi, tag, .. } = stmt else {
            return;
        };
        let Some(bound) = bound(lo, hi, tag) else {
            return;
        };
        for rest in bound.rests {
            let condition = full(lo, &rest, bound.count);
            if !condition.loads() {
                found.push(condition);
            }
        }
    });
}

/// `rest >= lo + count`
fn full(lo: &Expr, rest: &Expr, count: i64) -> Expr {
    let end = b::add(lo.clone(), b::int(count));
    b::binary(BinaryOp::Ge, rest.clone(), end)
}

/// The widest tile whose rest is taken element by element.
pub(super) const SHORT: i64 = 8;

/// What is left of a tile is not worth unrolling as far as the tile is wide. Of a short
/// one each element is tested, so that the workspaces it is kept in stay in registers.
///
/// Where a workspace is only filled nothing is tested: behind the rest nobody reads what it holds, and compilers see
/// that all of it is set.
fn keep_short(body: &mut [Stmt], rooms: &BTreeMap<ArrayId, u64>) {
    for stmt in body {
        if let Stmt::For {
            var,
            lo,
            hi,
            most,
            tag,
            body,
            ..
        } = stmt
            && let Some(bound) = bound(lo, hi, tag)
            && (tag.is_vector() || tag.unroll.is_some_and(|n| i64::from(n) >= bound.count))
        {
            let leaf = body.iter().all(|s| visit::bodies(s).is_empty());
            // Vectors of elements that are loaded one by one test their lanes themselves.
            if leaf && bound.count <= SHORT && !(tag.is_vector() && gathers(*var, body)) {
                tag.run = Run::Serial;
                tag.unroll = u32::try_from(bound.count).ok();
                *hi = b::add(lo.clone(), b::int(bound.count));
                *most = Some(bound.count);
                if b::as_int(lo) == Some(0)
                    && body.iter().all(|s| fills(s, rooms, (*var, bound.count)))
                {
                    continue;
                }
                let at = b::var(*var, lo.ty);
                let inside = bound.rests.into_iter().map(|end| b::lt(at.clone(), end));
                *body = vec![b::if_then(b::all(inside), std::mem::take(body))];
            } else if !tag.is_vector() {
                tag.unroll = None;
            }
        }
        for inner in visit::bodies_mut(stmt) {
            keep_short(inner, rooms);
        }
    }
}

/// Whether a statement stores a constant in a workspace that has room for `count` iterations of the loop over
/// `var` at the place where it stores.
fn fills(stmt: &Stmt, rooms: &BTreeMap<ArrayId, u64>, (var, count): (VarId, i64)) -> bool {
    let Stmt::Store {
        array,
        index,
        op: None,
        value,
        ..
    } = stmt
    else {
        return false;
    };
    matches!(value.kind, ExprKind::Literal(_)) && has_room(rooms, (*array, index), (var, count))
}

/// Whether a place in a workspace has room for `count` iterations of the loop over `var`, from 0 on.
fn has_room(
    rooms: &BTreeMap<ArrayId, u64>,
    (array, index): (ArrayId, &Expr),
    (var, count): (VarId, i64),
) -> bool {
    let is_var = |e: &Expr| e.kind == ExprKind::Var(var);
    let declared = rooms.get(&array).and_then(|&room| i64::try_from(room).ok());
    let room = if is_var(index) {
        declared
    } else if let ExprKind::Locate(_, extent, coordinate) = &index.kind {
        b::as_int(extent).filter(|_| is_var(coordinate) && declared.is_some())
    } else {
        None
    };
    room.is_some_and(|room| room >= count)
}

/// Whether the loop over `var` stores elements that do not lie side by side.
fn gathers(var: VarId, body: &[Stmt]) -> bool {
    let plan = Lanes::of(var, 1, body);
    let stored = |stmt: &Stmt| matches!(stmt, Stmt::Store { value, .. } if plan.scatters(value));
    body.iter().any(stored)
}

/// Leaves out of loop bounds what the conditions exclude.
fn fix_bounds(body: &mut [Stmt], conditions: &[Expr]) {
    for stmt in body {
        if let Stmt::For {
            lo, hi, most, tag, ..
        } = stmt
            && let Some(bound) = bound(lo, hi, tag)
        {
            *most = Some(bound.count);
            *hi = bound
                .rests
                .into_iter()
                .filter(|rest| !conditions.contains(&full(lo, rest, bound.count)))
                .fold(b::add(lo.clone(), b::int(bound.count)), b::min);
        }
        for inner in visit::bodies_mut(stmt) {
            fix_bounds(inner, conditions);
        }
    }
}
