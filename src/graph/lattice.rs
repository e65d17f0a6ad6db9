//! Merge lattices: which operands must be present for a loop body to do anything,
//! and what it then does (Kjolstad et al. 2017; 000, 6.1).
//!
//! A point is a set of sparse levels with the statement simplified for exactly
//! those being present. It is found by trying: the statement is simplified
//! with some operands absent, and the operands that are left in it name the point.
//! So intersections and unions need no rules of their own; they follow from
//! `0 * x = 0` and `0 + x = x`, and any operator that folds takes part.

use super::Stmt;
use super::access::AccessId;
use super::distance::{can_walk, carried, stride};
use super::equal::same_stmt;
use super::simplify::Operands;
use crate::graph::order::vars_in;
use crate::level::Level;
use crate::program::ir::{Expr, ReduceOp, VarId};
use std::collections::{BTreeMap, BTreeSet};

/// Above this many points a lattice is walked by one loop over the smallest
/// coordinate, in which an operand that is not there gives its fill: code linear in
/// the operands, where cases would double with each one.
const MAX_POINTS: usize = 7;

/// Above this many levels that are merged, too, a lattice of more than `MAX_NESTED_POINTS` points
/// is walked so: all of what is below would be written once for each case of each point, and
/// so again at the next level.
const MAX_BELOW: usize = 1;

/// The points of a union of two operands: below each but one there is nothing to be merged.
const MAX_NESTED_POINTS: usize = 3;

/// Operands of a loop beyond which subsets are not enumerated any more.
const MAX_ENUMERATED: usize = 6;

/// The lattice of one loop.
#[derive(Clone, Debug)]
pub struct Lattice {
    /// The sparse levels that the loop can walk.
    pub iterators: Vec<AccessId>,
    pub shape: Shape,
}

#[derive(Clone, Debug)]
pub enum Shape {
    /// Only coordinates at which some point holds are visited. Largest points first.
    Sparse(Vec<Point>),
    /// Every coordinate of the range does something: `rest` where no point holds.
    Full { points: Vec<Point>, rest: Stmt },
    /// Too many points: every operand contributes its value or its fill. `required`
    /// must all be present; if `full`, every coordinate is visited.
    Wide {
        stmt: Stmt,
        required: BTreeSet<AccessId>,
        full: bool,
    },
    /// Nothing is ever done.
    Nothing,
}

#[derive(Clone, Debug)]
pub struct Point {
    pub present: BTreeSet<AccessId>,
    pub stmt: Stmt,
}

/// How many levels of an access are resolved before a loop.
pub type Resolved<'a> = &'a dyn Fn(AccessId) -> usize;

/// Whether the loops around tell all of an expression but the variable that a loop determines.
pub type HasValue<'a> = &'a dyn Fn(&Expr) -> bool;

impl Operands<'_> {
    /// How many sparse levels at least two of the accesses have below the ones at hand.
    fn levels_below(&self, ids: &[AccessId], resolved: Resolved) -> usize {
        let mut left: Vec<usize> = ids
            .iter()
            .map(|&id| {
                let format = &self.tensor(self.table.get(id).access.tensor).format;
                let below = &format.levels[resolved(id) + 1..];
                below.iter().filter(|level| level.is_walked()).count()
            })
            .collect();
        left.sort_unstable();
        left.iter().rev().nth(1).copied().unwrap_or(0)
    }

    /// The sparse levels that a loop which determines `root` walks: those whose
    /// outer levels are resolved and whose subscript is the variable itself, or moves with it at a distance that
    /// is known. A level that has a table, is read in strides, or at a distance that loops or data change, is left out where others
    /// tell all coordinates that it is asked for.
    #[must_use]
    pub fn iterators(
        &self,
        stmt: &Stmt,
        root: VarId,
        (resolved, known): (Resolved, HasValue),
    ) -> Vec<AccessId> {
        let mut all = self.walkable(stmt, root, (resolved, known));
        let asked = |id: AccessId| {
            let format = &self.tensor(self.table.get(id).access.tensor).format;
            format.levels[resolved(id)].is_asked()
        };
        // Between two strides there may be many positions, and in a window that moves with the loops around all are
        // walked anew: a search leaps over them.
        let leapt = |id: AccessId| {
            let access = &self.table.get(id).access;
            let modes = &self.tensor(access.tensor).format.modes;
            let fixed = carried(&access.subscripts[modes[resolved(id)]]).is_some();
            !fixed || !self.has_each(id, root, resolved)
        };
        while all.len() > 1
            || self
                .simplify(stmt, &all.iter().copied().collect())
                .is_some()
        {
            let told = |others: &[AccessId]| {
                let others: BTreeSet<AccessId> = others.iter().copied().collect();
                self.simplify(stmt, &others).is_none()
            };
            let whole = !told(&all);
            let found = |&at: &usize| {
                let others: Vec<AccessId> = [&all[..at], &all[at + 1..]].concat();
                (whole && asked(all[at])) || ((asked(all[at]) || leapt(all[at])) && told(&others))
            };
            match (0..all.len()).rev().find(found) {
                Some(at) => all.remove(at),
                None => break,
            };
        }
        all
    }

    /// The sparse levels that such a loop can walk.
    fn walkable(
        &self,
        stmt: &Stmt,
        root: VarId,
        (resolved, known): (Resolved, HasValue),
    ) -> Vec<AccessId> {
        let walks = |level: Level, subscript: &Expr| {
            level.is_walked()
                && can_walk(level, subscript, root)
                && (subscript.as_var().is_some() || known(subscript))
        };
        self.table
            .in_stmt(self.graph, stmt, false)
            .into_iter()
            .filter(|&id| {
                let entry = self.table.get(id);
                let level = resolved(id);
                let format = &self.tensor(entry.access.tensor).format;
                !entry.nested
                    && level < format.order()
                    && walks(
                        format.levels[level],
                        &entry.access.subscripts[format.modes[level]],
                    )
            })
            .collect()
    }

    /// The lattice of the loop body `stmt` over `iterators`.
    #[must_use]
    pub fn lattice(&self, stmt: &Stmt, iterators: Vec<AccessId>, resolved: Resolved) -> Lattice {
        let all: BTreeSet<AccessId> = iterators.iter().copied().collect();
        let rest = self.simplify(stmt, &all);
        let points = if iterators.len() <= MAX_ENUMERATED {
            self.points(stmt, &all)
        } else {
            None
        };
        let nested = self.levels_below(&iterators, resolved) > MAX_BELOW;
        let points = points.filter(|points| !nested || points.len() <= MAX_NESTED_POINTS);
        let shape = match (points, rest) {
            (Some(points), None) if points.is_empty() => Shape::Nothing,
            (Some(points), None) => Shape::Sparse(points),
            (Some(points), Some(rest)) => Shape::Full { points, rest },
            (None, rest) => Shape::Wide {
                stmt: stmt.clone(),
                required: self.required(stmt, &all),
                full: rest.is_some(),
            },
        };
        Lattice { iterators, shape }
    }

    /// Whether `left` is what is left of the statement at `point`, too. It is not where an
    /// absent operand takes over whatever others give, but only if those are there: of
    /// `a + b` with the fills inf and -inf, -inf is left where a alone stands, NaN where none.
    fn is_same_without(
        &self,
        stmt: &Stmt,
        left: &Stmt,
        (all, point): (&BTreeSet<AccessId>, &BTreeSet<AccessId>),
    ) -> bool {
        let absent = all.difference(point).copied().collect();
        self.simplify(stmt, &absent)
            .is_some_and(|smaller| same_stmt(&smaller, left))
    }

    /// The non-empty points, largest first; `None` if they are too many.
    fn points(&self, stmt: &Stmt, all: &BTreeSet<AccessId>) -> Option<Vec<Point>> {
        let mut points: BTreeMap<BTreeSet<AccessId>, Stmt> = BTreeMap::new();
        let mut seen: BTreeSet<BTreeSet<AccessId>> = BTreeSet::new();
        let mut queue = vec![all.clone()];
        while let Some(present) = queue.pop() {
            if !seen.insert(present.clone()) {
                continue;
            }
            let absent = all.difference(&present).copied().collect();
            let Some(left) = self.simplify(stmt, &absent) else {
                continue;
            };
            let read = self.table.in_stmt(self.graph, &left, false);
            let mut point: BTreeSet<AccessId> =
                read.into_iter().filter(|id| all.contains(id)).collect();
            if point != present && !self.is_same_without(stmt, &left, (all, &point)) {
                point = present;
            }
            for &gone in &point {
                let mut smaller = point.clone();
                smaller.remove(&gone);
                queue.push(smaller);
            }
            if !point.is_empty() {
                points.insert(point, left);
            }
            if points.len() > MAX_POINTS {
                return None;
            }
        }
        let mut list: Vec<Point> = points
            .into_iter()
            .map(|(present, stmt)| Point { present, stmt })
            .collect();
        list.sort_by(|a, b| {
            b.present
                .len()
                .cmp(&a.present.len())
                .then_with(|| a.present.cmp(&b.present))
        });
        Some(list)
    }

    /// Whether the loop counts: it walks one level in which coordinates do not repeat, or does
    /// nothing.
    #[must_use]
    pub fn counts(&self, lattice: &Lattice, resolved: Resolved) -> bool {
        match &lattice.shape {
            Shape::Nothing => true,
            Shape::Sparse(points) => self.single_walk(points, resolved).is_some(),
            Shape::Full { .. } | Shape::Wide { .. } => false,
        }
    }

    /// The only operand, if the loop walks one unique level and nothing else.
    #[must_use]
    pub fn single_walk(&self, points: &[Point], resolved: Resolved) -> Option<AccessId> {
        let [point] = points else { return None };
        let mut present = point.present.iter();
        let (Some(&id), None) = (present.next(), present.next()) else {
            return None;
        };
        self.is_unique(id, resolved).then_some(id)
    }

    /// The one level that says where a loop over all coordinates does something else than once is enough for: what it
    /// does elsewhere combines one value with one element, so that repeating it changes nothing.
    #[must_use]
    pub fn rest_once(&self, shape: &Shape, root: VarId, resolved: Resolved) -> Option<AccessId> {
        let Shape::Full {
            points,
            rest: Stmt::Assign(rest),
        } = shape
        else {
            return None;
        };
        let repeats = !rest.op.is_some_and(ReduceOp::is_idempotent);
        let moves = rest.lhs.contains(&root) || vars_in(&rest.rhs).contains(&root);
        let single = self.single_walk(points, resolved);
        single.filter(|&id| !repeats && !moves && self.has_each(id, root, resolved))
    }

    /// Whether each position of the level has a value of the loop's variable.
    fn has_each(&self, id: AccessId, root: VarId, resolved: Resolved) -> bool {
        let access = &self.table.get(id).access;
        let modes = &self.tensor(access.tensor).format.modes;
        stride(&access.subscripts[modes[resolved(id)]], root) == Some(1)
    }

    /// Whether the loop may leap: it is an intersection of levels without repeated coordinates.
    #[must_use]
    pub fn leaps(&self, lattice: &Lattice, resolved: Resolved) -> bool {
        match &lattice.shape {
            Shape::Nothing => true,
            Shape::Sparse(points) => match points.as_slice() {
                [point] => point.present.iter().all(|&id| self.is_unique(id, resolved)),
                _ => false,
            },
            Shape::Full { .. } | Shape::Wide { .. } => false,
        }
    }

    fn is_unique(&self, id: AccessId, resolved: Resolved) -> bool {
        let format = &self.tensor(self.table.get(id).access.tensor).format;
        format.levels[resolved(id)].unique
    }

    /// The operands without which nothing is done.
    fn required(&self, stmt: &Stmt, all: &BTreeSet<AccessId>) -> BTreeSet<AccessId> {
        all.iter()
            .copied()
            .filter(|&id| self.simplify(stmt, &BTreeSet::from([id])).is_none())
            .collect()
    }
}
