//! Provenance: how the variables of loops derive from those of the program
//! (000, chapters 5 and 6).
//!
//! The relations form a DAG. A variable that no relation made is a *root*; at most
//! one relation makes a variable. A variable can be taken apart in one way in each
//! nest: a `precompute` gives the producer's copy of a loop its own variable, so
//! that both can be scheduled apart.

use super::relation::{BoundKind, Coord, Pos, Relation, Tiles, Vars};
use crate::program::ir::{Access, VarId};
use std::collections::{BTreeMap, BTreeSet};

/// The relations of one graph.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    pub relations: Relations,
    /// The numbers of blocks that levels store: loops walk these levels as they walk those of
    /// variables of the program.
    pub stored: Vec<VarId>,
}

/// Relations in the order the commands made them. Which of them a variable stands in is noted: it is asked of each
/// loop behind each command, so that looking through all of them would be cubic in the statements of a program.
#[derive(Clone, Debug, Default)]
pub struct Relations {
    all: Vec<Relation>,
    making: BTreeMap<VarId, usize>,
    taking: BTreeMap<VarId, Vec<usize>>,
}

impl Relations {
    pub fn push(&mut self, relation: Relation) {
        let at = self.all.len();
        for child in relation.children() {
            self.making.entry(child).or_insert(at);
        }
        for parent in relation.parents() {
            let taking = self.taking.entry(parent).or_default();
            if taking.last() != Some(&at) {
                taking.push(at);
            }
        }
        self.all.push(relation);
    }
}

impl std::ops::Deref for Relations {
    type Target = [Relation];

    fn deref(&self) -> &[Relation] {
        &self.all
    }
}

impl Provenance {
    /// The relation that made `var`.
    #[must_use]
    pub fn producer(&self, var: VarId) -> Option<&Relation> {
        let at = self.relations.making.get(&var)?;
        self.relations.get(*at)
    }

    /// The variable whose range says where that of `var` ends: commands that bound it leave that open, unless they
    /// say it exactly.
    #[must_use]
    pub fn ending(&self, var: VarId) -> VarId {
        let bound = self.producer(var).and_then(Relation::promise);
        match bound.filter(|bound| bound.kind != BoundKind::MaxExact) {
            Some(bound) => self.ending(bound.parent),
            None => var,
        }
    }

    /// The relations that took `var` apart, in one nest or another.
    pub fn consumers(&self, var: VarId) -> impl Iterator<Item = &Relation> {
        let taking = self.relations.taking.get(&var).into_iter().flatten();
        taking.filter_map(|&at| self.relations.get(at))
    }

    /// What the two were fused into, the first around the second.
    #[must_use]
    pub fn fused(&self, outer: VarId, inner: VarId) -> Option<VarId> {
        let mut fusing = self.consumers(outer);
        let both = fusing.find(|relation| relation.fuses() == Some((outer, inner)))?;
        Some(both.children().0)
    }

    /// On how many ways loop variables derive from each variable that is taken apart: parts that are
    /// fused, then taken apart again, double them.
    #[must_use]
    pub fn ways(&self) -> BTreeMap<VarId, u64> {
        let mut ways = BTreeMap::new();
        // What takes parts apart again stands behind what made them.
        for relation in self.relations.iter().rev() {
            let of = |var| ways.get(&var).copied().unwrap_or(1);
            let children = relation.children().into_iter();
            let own = children.map(of).fold(0, u64::saturating_add);
            for parent in relation.parents() {
                let most = ways.entry(parent).or_insert(own);
                *most = own.max(*most);
            }
        }
        ways
    }

    /// The accesses whose positions variables count.
    pub fn accesses_mut(&mut self) -> impl Iterator<Item = &mut Access> {
        let counted = self
            .relations
            .all
            .iter_mut()
            .filter_map(Relation::counts_mut);
        counted.map(|pos| &mut pos.access)
    }

    /// `var` and every variable that it derives from.
    #[must_use]
    pub fn ancestors(&self, var: VarId) -> Vec<VarId> {
        self.closure(var, Relation::made_of)
    }

    /// `var` and every variable that tells its value: where it is skewed, more than it derives
    /// from.
    #[must_use]
    pub fn told_by(&self, var: VarId) -> Vec<VarId> {
        self.closure(var, Relation::told_by)
    }

    fn closure(&self, var: VarId, above: fn(&Relation, VarId) -> Vars) -> Vec<VarId> {
        let mut found = vec![var];
        let mut at = 0;
        while let Some(&next) = found.get(at) {
            let made = self.producer(next);
            for parent in made.into_iter().flat_map(|r| above(r, next)) {
                if !found.contains(&parent) {
                    found.push(parent);
                }
            }
            at += 1;
        }
        found
    }

    /// Whether levels store the variable, though a relation made it.
    #[must_use]
    pub fn is_stored(&self, var: VarId) -> bool {
        self.stored.contains(&var)
    }

    /// The variables of the program that `var` derives from, outer ones first.
    #[must_use]
    pub fn roots(&self, var: VarId) -> Vec<VarId> {
        self.above(var, &|_| false)
    }

    /// The variables whose coordinates levels store and that `var` derives from, outer ones first: those of
    /// the program, and numbers of blocks.
    #[must_use]
    pub fn coordinates(&self, var: VarId) -> Vec<VarId> {
        self.above(var, &|var| self.is_stored(var))
    }

    fn above(&self, var: VarId, ends: &impl Fn(VarId) -> bool) -> Vec<VarId> {
        let mut found = Vec::new();
        self.note_above(var, ends, &mut BTreeSet::new(), &mut found);
        found
    }

    /// Parts of one variable may be fused again: each is come to once.
    fn note_above(
        &self,
        var: VarId,
        ends: &impl Fn(VarId) -> bool,
        done: &mut BTreeSet<VarId>,
        found: &mut Vec<VarId>,
    ) {
        if !done.insert(var) {
            return;
        }
        match self.producer(var).filter(|_| !ends(var)) {
            None => found.push(var),
            Some(relation) => {
                for parent in relation.told_by(var) {
                    self.note_above(parent, ends, done, found);
                }
            }
        }
    }

    /// Those of the loop variables `loops` that `var` was taken apart into (itself, if
    /// it has a loop). `loops` are outermost first: where a loop of a nest and one of a
    /// nest inside it both stand for `var`, the inner one counts.
    #[must_use]
    pub fn leaves(&self, var: VarId, loops: &[VarId]) -> Vec<VarId> {
        self.known_leaves(var, loops, &mut BTreeMap::new())
    }

    fn known_leaves(
        &self,
        var: VarId,
        loops: &[VarId],
        known: &mut BTreeMap<VarId, Vec<VarId>>,
    ) -> Vec<VarId> {
        if loops.contains(&var) {
            return vec![var];
        }
        if let Some(leaves) = known.get(&var) {
            return leaves.clone();
        }
        let mut innermost = (None, Vec::new());
        for relation in self.consumers(var) {
            let mut leaves = Vec::new();
            for child in relation.parts(var) {
                let own = self.known_leaves(child, loops, known);
                leaves.extend(
                    own.into_iter()
                        .filter(|leaf| !leaves.contains(leaf))
                        .collect::<Vec<_>>(),
                );
            }
            let at = |leaf: &VarId| loops.iter().position(|l| l == leaf);
            let last = leaves.iter().filter_map(at).max();
            if last >= innermost.0 {
                innermost = (last, leaves);
            }
        }
        known.insert(var, innermost.1.clone());
        innermost.1
    }

    /// Whether `loops` tell the value of `var`: it has one, or each of the parts has
    /// that it was taken apart into in one way or another.
    #[must_use]
    pub fn is_complete(&self, var: VarId, loops: &[VarId]) -> bool {
        loops.contains(&var)
            || self.consumers(var).any(|relation| {
                let mut parts = relation.parts(var).into_iter();
                parts.all(|part| self.is_complete(part, loops))
            })
    }

    /// The variable of which `var` is the number of a tile or a place within one.
    #[must_use]
    pub fn tiles(&self, var: VarId) -> Option<Tiles> {
        self.producer(var)?.tiles()
    }

    /// The variables, outer one first, that `var` was fused from.
    #[must_use]
    pub fn fused_from(&self, var: VarId) -> Option<(VarId, VarId)> {
        self.producer(var)?.fuses()
    }

    /// Whether a variable that derives from `var` is counted by how many values `var`, or a part of
    /// it, has.
    #[must_use]
    pub fn is_measured(&self, var: VarId) -> bool {
        self.consumers(var).any(|relation| {
            let mut made = relation.children().into_iter();
            relation.measures() || made.any(|v| self.is_measured(v))
        })
    }

    /// Whether `var` is, or derives from, several variables that were fused.
    #[must_use]
    pub fn is_fused(&self, var: VarId) -> bool {
        let mut from = self.ancestors(var).into_iter();
        from.any(|v| self.fused_from(v).is_some())
    }

    /// Whether a `coord` runs over the coordinates of a tile of positions, not of all of them.
    #[must_use]
    pub fn cuts_tile(&self, coord: &Coord) -> bool {
        let made = self.producer(coord.parent);
        made.and_then(Relation::counts).is_none()
    }

    /// The coordinates of tiles of positions that `var` is, or is made of: what `coord` made of
    /// parts of positions, and those parts.
    #[must_use]
    pub fn cuts(&self, var: VarId) -> Vec<(VarId, VarId)> {
        let Some(relation) = self.producer(var) else {
            return Vec::new();
        };
        let Some(coord) = relation.coordinates() else {
            let parents = relation.parents().into_iter();
            return parents.flat_map(|parent| self.cuts(parent)).collect();
        };
        let stored = self.stored_parent(coord.parent);
        let mut found = stored.map_or(Vec::new(), |stored| self.cuts(stored));
        if self.cuts_tile(&coord) {
            found.push((coord.coord, coord.parent));
        }
        found
    }

    /// Whether `var` runs over the coordinates of a tile of positions, or a part of them.
    #[must_use]
    pub fn is_cut(&self, var: VarId) -> bool {
        !self.cuts(var).is_empty()
    }

    /// Where coordinates run again over the positions that `pos` counts, or a part of them.
    pub fn coordinates_of(&self, pos: VarId) -> impl Iterator<Item = Coord> {
        let all = self.relations.iter().filter_map(Relation::coordinates);
        all.filter(move |coord| self.ancestors(coord.parent).contains(&pos))
    }

    /// The inner part of a split of a variable of the program, or the coordinates of a tile of its
    /// positions: consecutive coordinates.
    #[must_use]
    pub fn is_inner_part(&self, var: VarId) -> bool {
        let Some(relation) = self.producer(var) else {
            return false;
        };
        let is_part =
            relation.tiles().is_some() || (relation.coordinates().is_some() && self.is_cut(var));
        let whole = |var: VarId| self.producer(var).is_none() || self.is_inner_part(var);
        is_part && relation.consecutive_in(var, self).is_some_and(whole)
    }

    /// Whether `var` counts single values of `top`: it is the inner part of each split.
    #[must_use]
    pub fn is_innermost_part(&self, var: VarId, top: VarId) -> bool {
        let step = || self.producer(var)?.consecutive_in(var, self);
        var == top || step().is_some_and(|of| self.is_innermost_part(of, top))
    }

    /// The variable whose positions `var` counts, or counts a part of.
    #[must_use]
    pub fn stored_parent(&self, var: VarId) -> Option<VarId> {
        Some(self.position_of(var)?.parent)
    }

    /// The positions that `var` counts, or counts a part of.
    #[must_use]
    pub fn position_of(&self, var: VarId) -> Option<&Pos> {
        let relation = self.producer(var)?;
        match relation.counts() {
            Some(pos) => Some(pos),
            // Coordinates are no positions any more.
            None if relation.coordinates().is_some() => None,
            None => self.position_of(relation.part_of(var, self)?),
        }
    }

    /// The outermost variable that `var` is, or is a part of.
    #[must_use]
    pub fn top_of(&self, var: VarId) -> VarId {
        let above = || self.producer(var)?.part_of(var, self);
        above().map_or(var, |above| self.top_of(above))
    }
}
