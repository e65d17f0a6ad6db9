//! What is known inside some loops ([`Known`]), and what must be known before a loop can begin
//! ([`Needs`]): which variables its number of values, the positions it counts and the tile it lies
//! in depend on.
//!
//! Found by asking the relations with constants, as far as there are any, and with sets of
//! variables in place of numbers: nothing is known or needed here that lowering, which asks the
//! same relations with expressions, would not know or use.

use super::Graph;
use super::order::{range_vars, vars_in};
use super::relation::{Cut, Partition, Pos, Quantity, Relation, Values};
use crate::program::ir::{Access, Bound, Expr, SizeExpr, VarId};

/// The variables that a number depends on, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needed(pub Vec<VarId>);

impl Needed {
    fn and(mut self, other: Needed) -> Needed {
        for var in other.0 {
            if !self.0.contains(&var) {
                self.0.push(var);
            }
        }
        self
    }
}

impl Quantity for Needed {
    fn int(_: i64) -> Self {
        Needed::default()
    }

    fn as_int(&self) -> Option<i64> {
        None
    }

    fn add(self, other: Self) -> Self {
        self.and(other)
    }

    fn sub(self, other: Self) -> Self {
        self.and(other)
    }

    fn mul(self, other: Self) -> Self {
        self.and(other)
    }

    fn floor_div(self, by: Self) -> Self {
        self.and(by)
    }

    fn at_least(self, other: Self) -> Self {
        self.and(other)
    }
}

/// What numbers depend on, at any place in the loops.
pub struct Needs<'g>(pub &'g Graph);

impl<'g> Values<'g> for Needs<'g> {
    type Quantity = Needed;

    fn graph(&self) -> &'g Graph {
        self.0
    }

    fn range(&mut self, root: VarId) -> Option<(Needed, Needed)> {
        let vars = Needed(range_vars(self.0, root));
        Some((vars.clone(), vars))
    }

    fn own(&mut self, var: VarId) -> Option<Needed> {
        Some(Needed(vec![var]))
    }

    fn count(&mut self, pos: VarId) -> Option<Needed> {
        let counted = self.0.provenance.position_of(pos)?;
        Some(Needed(self.0.needed_by_positions(counted)))
    }

    fn position(&mut self, pos: VarId) -> Option<Needed> {
        self.own(pos)
    }

    fn cut(&mut self, coord: VarId) -> Option<Cut<Needed>> {
        let all = self.0.provenance.cuts(coord);
        let (_, part) = all.into_iter().find(|(cut, _)| *cut == coord)?;
        let needed = self.tile(part)?;
        Some(Cut {
            first: needed.clone(),
            count: needed,
        })
    }

    fn begin(&mut self, _: &Partition, part: Needed) -> Option<Needed> {
        Some(part)
    }

    fn value_at(&mut self, _: &Partition, at: Needed) -> Option<Needed> {
        Some(at)
    }

    fn size(&mut self, _: &SizeExpr) -> Option<Needed> {
        Some(Needed::default())
    }
}

impl Needs<'_> {
    /// Which tile of positions `part` counts: the numbers of the tiles around, and what tells where
    /// the positions begin.
    fn tile(&mut self, part: VarId) -> Option<Needed> {
        let base = self.climb(part)?.affine?.base;
        Some(base.and(self.count(part)?))
    }
}

/// A number that is known, and which one if it is a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant(pub Option<i64>);

impl Constant {
    fn with(self, other: Constant, op: fn(i64, i64) -> Option<i64>) -> Constant {
        Constant(self.0.and_then(|a| op(a, other.0?)))
    }
}

impl Quantity for Constant {
    fn int(n: i64) -> Self {
        Constant(Some(n))
    }

    fn as_int(&self) -> Option<i64> {
        self.0
    }

    fn add(self, other: Self) -> Self {
        self.with(other, i64::checked_add)
    }

    fn sub(self, other: Self) -> Self {
        self.with(other, i64::checked_sub)
    }

    fn mul(self, other: Self) -> Self {
        self.with(other, i64::checked_mul)
    }

    fn floor_div(self, by: Self) -> Self {
        self.with(by, i64::checked_div_euclid)
    }

    fn at_least(self, other: Self) -> Self {
        self.with(other, |a, b| Some(a.max(b)))
    }
}

/// What loops and the positions that they have come to tell.
pub struct Known<'a, 'g> {
    graph: &'g Graph,
    loops: &'a [VarId],
}

impl<'a, 'g> Known<'a, 'g> {
    /// Inside these loops.
    #[must_use]
    pub fn after(graph: &'g Graph, loops: &'a [VarId]) -> Self {
        Known { graph, loops }
    }

    /// Whether the value of an expression is known: that of each variable in it.
    pub fn has_value(&mut self, e: &Expr) -> bool {
        vars_in(e).into_iter().all(|var| self.tells(var))
    }

    /// Whether the value of a variable is known, not just which one of its range it is.
    pub fn tells(&mut self, var: VarId) -> bool {
        self.offset(var).is_some() && self.origin(var).is_some()
    }
}

impl<'g> Values<'g> for Known<'_, 'g> {
    type Quantity = Constant;

    fn graph(&self) -> &'g Graph {
        self.graph
    }

    fn range(&mut self, root: VarId) -> Option<(Constant, Constant)> {
        let range = &self.graph.var(root).range;
        let mut end = |bound: &Bound| match bound {
            Bound::Static(e) => self.size(e),
            Bound::Dynamic(e) => self.has_value(e).then_some(Constant(None)),
        };
        Some((end(&range.lo)?, end(&range.hi)?))
    }

    /// Loops over fused values and positions tell what was fused, and the coordinates there.
    fn own(&mut self, var: VarId) -> Option<Constant> {
        let graph = self.graph;
        let tells = |r: &&Relation| r.fuses().is_some() || r.counts().is_some();
        let telling = graph.provenance.consumers(var).filter(tells);
        let mut telling = telling.flat_map(Relation::children);
        let known = self.loops.contains(&var) || telling.any(|v| self.by_parts(v).is_some());
        known.then_some(Constant(None))
    }

    fn count(&mut self, _: VarId) -> Option<Constant> {
        Some(Constant(None))
    }

    fn position(&mut self, pos: VarId) -> Option<Constant> {
        // Levels above may be skipped where their coordinates are not needed.
        let parent = self.graph.provenance.stored_parent(pos)?;
        let innermost = self.graph.provenance.coordinates(parent).pop()?;
        self.offset(innermost).map(|_| Constant(None))
    }

    fn cut(&mut self, coord: VarId) -> Option<Cut<Constant>> {
        let cuts = self.graph.provenance.cuts(coord);
        cuts.iter().any(|cut| cut.0 == coord).then_some(Cut {
            first: Constant(None),
            count: Constant(None),
        })
    }

    fn begin(&mut self, _: &Partition, _: Constant) -> Option<Constant> {
        Some(Constant(None))
    }

    fn value_at(&mut self, _: &Partition, _: Constant) -> Option<Constant> {
        Some(Constant(None))
    }

    fn size(&mut self, e: &SizeExpr) -> Option<Constant> {
        Some(Constant(self.graph.function.constant(e)))
    }
}

impl Graph {
    /// The variables that the number of values of `var` depends on.
    #[must_use]
    pub fn needed_by_extent(&self, var: VarId) -> Vec<VarId> {
        Needs(self).extent(var).unwrap_or_default().0
    }

    /// The variables that tell which tile of positions `part` is.
    #[must_use]
    pub fn needed_by_tile(&self, part: VarId) -> Vec<VarId> {
        Needs(self).tile(part).unwrap_or_default().0
    }

    /// What must be known where positions begin to be counted: the tile of coordinates that they
    /// lie in, and the coordinates of the levels above.
    #[must_use]
    pub fn needed_by_positions(&self, pos: &Pos) -> Vec<VarId> {
        let mut needed = self.tiles_around(pos.parent);
        needed.extend(self.levels_above(pos).into_iter().flatten());
        needed
    }

    /// The variables in the subscripts of the levels above the positions.
    #[must_use]
    pub fn levels_above(&self, pos: &Pos) -> Vec<Vec<VarId>> {
        let modes = &self.tensor(pos.access.tensor).format.modes;
        let first = self.first_level(pos.parent, &pos.access);
        let above = modes[..first].iter();
        let above = above.filter_map(|&mode| pos.access.subscripts.get(mode));
        above.map(vars_in).collect()
    }

    /// The outer parts of the splits that `var` is the inner part of.
    #[must_use]
    pub fn tiles_around(&self, var: VarId) -> Vec<VarId> {
        let mut tiles = Vec::new();
        let mut part = var;
        while self.provenance.is_inner_part(part)
            && let Some(parts) = self.provenance.tiles(part)
        {
            tiles.push(parts.outer);
            part = parts.whole;
        }
        tiles
    }

    /// The first level of the access whose positions are those of `var`.
    #[must_use]
    pub fn first_level(&self, var: VarId, access: &Access) -> usize {
        let coordinates = self.provenance.coordinates(var);
        let first = coordinates.first();
        first
            .and_then(|&root| self.level_of(access, root))
            .unwrap_or(0)
    }
}
