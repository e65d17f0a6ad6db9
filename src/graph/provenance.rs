//! Provenance: how the variables of loops derive from those of the program
//! (000, chapters 5 and 6).
//!
//! The relations form a DAG. A variable that no relation made is a *root*; at most
//! one relation makes a variable. A variable can be taken apart in one way in each
//! nest: a `precompute` gives the producer's copy of a loop its own variable, so
//! that both can be scheduled apart.

use crate::diagnostic::Span;
use crate::program::ir::{Access, TensorId, VarId};

/// One transformation of variables.
#[derive(Clone, Debug)]
pub enum Relation {
    /// `parent = outer * factor + inner`, inner < factor (5.5).
    Split {
        parent: VarId,
        outer: VarId,
        inner: VarId,
        factor: i64,
    },
    /// `parent = outer * ceil(extent / parts) + inner`, outer < parts (5.6).
    Divide {
        parent: VarId,
        outer: VarId,
        inner: VarId,
        parts: i64,
    },
    /// `fused = outer * extent(inner) + inner` (5.4).
    Fuse {
        outer: VarId,
        inner: VarId,
        fused: VarId,
    },
    /// `pos` counts the positions at which `access` stores `parent` (5.1). If the
    /// parent was fused, they are those of the level of its innermost variable.
    Pos {
        parent: VarId,
        pos: VarId,
        access: Access,
        /// The command, for diagnostics of lowering.
        span: Span,
    },
    /// `coord` is the coordinate again that the positions `parent` stand for (5.2).
    Coord { parent: VarId, coord: VarId },
    /// `child` is `parent` with something known of its range (5.8).
    Bound {
        parent: VarId,
        child: VarId,
        value: i64,
        kind: BoundKind,
        span: Span,
    },
    /// `child` is `parent` with an upper bound that an inspector computes (003).
    Inspect {
        parent: VarId,
        child: VarId,
        bound: TensorId,
    },
    /// `child` runs over the values of `parent` in the nest of a workspace.
    Precompute { parent: VarId, child: VarId },
}

/// What `bound` says of a range `lo <= i < hi` (000, 5.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundKind {
    /// lo = value
    MinExact,
    /// lo >= value
    MinConstraint,
    /// hi = value
    MaxExact,
    /// hi <= value
    MaxConstraint,
    /// hi - lo is divisible by value
    Multiple,
}

impl BoundKind {
    pub const ALL: [BoundKind; 5] = [
        BoundKind::MinExact,
        BoundKind::MinConstraint,
        BoundKind::MaxExact,
        BoundKind::MaxConstraint,
        BoundKind::Multiple,
    ];

    /// As schedules write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            BoundKind::MinExact => "MinExact",
            BoundKind::MinConstraint => "MinConstraint",
            BoundKind::MaxExact => "MaxExact",
            BoundKind::MaxConstraint => "MaxConstraint",
            BoundKind::Multiple => "Multiple",
        }
    }
}

impl Relation {
    /// The command that made it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Relation::Split { .. } => "split",
            Relation::Divide { .. } => "divide",
            Relation::Fuse { .. } => "fuse",
            Relation::Pos { .. } => "pos",
            Relation::Coord { .. } => "coord",
            Relation::Bound { .. } => "bound",
            Relation::Inspect { .. } => "inspect",
            Relation::Precompute { .. } => "precompute",
        }
    }

    #[must_use]
    pub fn parents(&self) -> Vec<VarId> {
        listed(self.one_or_two_parents())
    }

    #[must_use]
    pub fn children(&self) -> Vec<VarId> {
        listed(self.one_or_two_children())
    }

    /// Whether it took `var` apart. Asked of every relation again and again: makes no list.
    #[must_use]
    pub fn takes(&self, var: VarId) -> bool {
        let (first, second) = self.one_or_two_parents();
        first == var || second == Some(var)
    }

    /// Whether it made `var`.
    #[must_use]
    pub fn makes(&self, var: VarId) -> bool {
        let (first, second) = self.one_or_two_children();
        first == var || second == Some(var)
    }

    fn one_or_two_parents(&self) -> (VarId, Option<VarId>) {
        match self {
            Relation::Split { parent, .. }
            | Relation::Divide { parent, .. }
            | Relation::Pos { parent, .. }
            | Relation::Coord { parent, .. }
            | Relation::Bound { parent, .. }
            | Relation::Inspect { parent, .. }
            | Relation::Precompute { parent, .. } => (*parent, None),
            Relation::Fuse { outer, inner, .. } => (*outer, Some(*inner)),
        }
    }

    fn one_or_two_children(&self) -> (VarId, Option<VarId>) {
        match self {
            Relation::Split { outer, inner, .. } | Relation::Divide { outer, inner, .. } => {
                (*outer, Some(*inner))
            }
            Relation::Fuse { fused: child, .. }
            | Relation::Pos { pos: child, .. }
            | Relation::Coord { coord: child, .. }
            | Relation::Bound { child, .. }
            | Relation::Inspect { child, .. }
            | Relation::Precompute { child, .. } => (*child, None),
        }
    }
}

fn listed((first, second): (VarId, Option<VarId>)) -> Vec<VarId> {
    std::iter::once(first).chain(second).collect()
}

/// The relations of one graph, in the order the commands made them.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    pub relations: Vec<Relation>,
}

impl Provenance {
    /// The relation that made `var`.
    #[must_use]
    pub fn producer(&self, var: VarId) -> Option<&Relation> {
        self.relations.iter().find(|r| r.makes(var))
    }

    /// The relations that took `var` apart, in one nest or another.
    pub fn consumers(&self, var: VarId) -> impl Iterator<Item = &Relation> {
        self.relations.iter().filter(move |r| r.takes(var))
    }

    /// The accesses whose positions variables count.
    pub fn accesses_mut(&mut self) -> impl Iterator<Item = &mut Access> {
        self.relations
            .iter_mut()
            .filter_map(|relation| match relation {
                Relation::Pos { access, .. } => Some(access),
                Relation::Split { .. }
                | Relation::Divide { .. }
                | Relation::Fuse { .. }
                | Relation::Coord { .. }
                | Relation::Bound { .. }
                | Relation::Inspect { .. }
                | Relation::Precompute { .. } => None,
            })
    }

    /// `var` and every variable that it derives from.
    #[must_use]
    pub fn ancestors(&self, var: VarId) -> Vec<VarId> {
        let mut found = vec![var];
        let mut at = 0;
        while let Some(&next) = found.get(at) {
            for parent in self.producer(next).map_or(Vec::new(), Relation::parents) {
                if !found.contains(&parent) {
                    found.push(parent);
                }
            }
            at += 1;
        }
        found
    }

    /// The variables of the program that `var` derives from, outer ones first.
    #[must_use]
    pub fn roots(&self, var: VarId) -> Vec<VarId> {
        match self.producer(var) {
            None => vec![var],
            Some(relation) => relation
                .parents()
                .into_iter()
                .flat_map(|parent| self.roots(parent))
                .collect(),
        }
    }

    /// Those of the loop variables `loops` that `var` was taken apart into (itself, if
    /// it has a loop). `loops` are outermost first: where a loop of a nest and one of a
    /// nest inside it both stand for `var`, the inner one counts.
    #[must_use]
    pub fn leaves(&self, var: VarId, loops: &[VarId]) -> Vec<VarId> {
        if loops.contains(&var) {
            return vec![var];
        }
        self.consumers(var)
            .map(|relation| {
                relation
                    .children()
                    .into_iter()
                    .flat_map(|child| self.leaves(child, loops))
                    .collect::<Vec<VarId>>()
            })
            .max_by_key(|leaves| {
                let at = |leaf: &VarId| loops.iter().position(|l| l == leaf);
                leaves.iter().filter_map(at).max()
            })
            .unwrap_or_default()
    }

    /// Whether `loops` tell the value of `var`: it has one, or each of the parts has
    /// that it was taken apart into in one way or another.
    #[must_use]
    pub fn is_complete(&self, var: VarId, loops: &[VarId]) -> bool {
        loops.contains(&var)
            || self.consumers(var).any(|relation| {
                let mut parts = relation.children().into_iter();
                parts.all(|part| self.is_complete(part, loops))
            })
    }

    /// The coordinates of tiles of positions that `var` is, or is made of: what `coord` made of
    /// parts of positions, and those parts.
    #[must_use]
    pub fn cuts(&self, var: VarId) -> Vec<(VarId, VarId)> {
        match self.producer(var) {
            None => Vec::new(),
            Some(Relation::Coord { parent, coord }) => {
                let whole = matches!(self.producer(*parent), Some(Relation::Pos { .. }));
                let stored = self.stored_parent(*parent);
                let mut found = stored.map_or(Vec::new(), |stored| self.cuts(stored));
                if !whole {
                    found.push((*coord, *parent));
                }
                found
            }
            Some(relation) => {
                let parents = relation.parents().into_iter();
                parents.flat_map(|parent| self.cuts(parent)).collect()
            }
        }
    }

    /// Whether `var` runs over the coordinates of a tile of positions, or a part of them.
    #[must_use]
    pub fn is_cut(&self, var: VarId) -> bool {
        !self.cuts(var).is_empty()
    }

    /// The inner part of a split of a variable of the program, or the coordinates of a tile of its
    /// positions: consecutive coordinates.
    #[must_use]
    pub fn is_inner_part(&self, var: VarId) -> bool {
        let whole = |var: VarId| self.producer(var).is_none() || self.is_inner_part(var);
        match self.producer(var) {
            Some(
                Relation::Split { parent, inner, .. } | Relation::Divide { parent, inner, .. },
            ) => *inner == var && whole(*parent),
            // From one coordinate to another.
            Some(Relation::Coord { parent, .. }) => {
                self.is_cut(var) && self.stored_parent(*parent).is_some_and(whole)
            }
            Some(
                Relation::Fuse { .. }
                | Relation::Pos { .. }
                | Relation::Inspect { .. }
                | Relation::Precompute { .. }
                | Relation::Bound { .. },
            )
            | None => false,
        }
    }

    /// The variable whose positions `var` counts, or counts a part of.
    #[must_use]
    pub fn stored_parent(&self, var: VarId) -> Option<VarId> {
        match self.position_of(var)? {
            Relation::Pos { parent, .. } => Some(*parent),
            Relation::Split { .. }
            | Relation::Divide { .. }
            | Relation::Fuse { .. }
            | Relation::Coord { .. }
            | Relation::Bound { .. }
            | Relation::Inspect { .. }
            | Relation::Precompute { .. } => None,
        }
    }

    /// The `pos` relation that `var` stands below, if it counts positions or a part of
    /// them.
    #[must_use]
    pub fn position_of(&self, var: VarId) -> Option<&Relation> {
        match self.producer(var)? {
            relation @ Relation::Pos { .. } => Some(relation),
            Relation::Split { parent, .. }
            | Relation::Divide { parent, .. }
            | Relation::Bound { parent, .. }
            | Relation::Inspect { parent, .. }
            | Relation::Precompute { parent, .. } => self.position_of(*parent),
            Relation::Fuse { .. } | Relation::Coord { .. } => None,
        }
    }
}
