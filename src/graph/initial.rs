//! Where the elements that a reduction accumulates into are set up: over which loops, and how
//! these run.

use super::concretize::{Concretizer, Item};
use super::order::{appended_vars, is_sparse_driven};
use super::{Race, Relation, Tag, Unit};
use crate::program::ir::VarId;

impl Concretizer<'_> {
    /// The loop that sets elements up is unrolled, vectorised and run by the same threads
    /// of a GPU as the one that
    /// accumulates into them.
    pub(super) fn init_tag(&self, var: VarId) -> Tag {
        let own = self.nest.loops.iter().find(|l| l.var == var);
        let mut tag = own.map_or_else(Tag::default, |l| l.tag.clone());
        tag.fetches.clear();
        tag.parallel = tag.parallel.filter(|p| match p.unit {
            Unit::CpuVector | Unit::Gpu(_) => true,
            Unit::CpuThread(_) => false,
        });
        if let Some(parallel) = &mut tag.parallel
            && let Unit::Gpu(_) = parallel.unit
        {
            // Each element is set once.
            parallel.race = Race::NoRaces;
        }
        tag
    }

    /// How many outer loops the initialisation shares with the accumulation: those
    /// of the left side that visit every coordinate anyway, or that append.
    pub(super) fn init_depth(&self, prefix: usize) -> usize {
        let nest = self.nest;
        let result = &self.tensors[nest.tensor.index()];
        let appended = appended_vars(&result.format, &nest.lhs);
        self.items[..prefix]
            .iter()
            .take_while(|item| {
                let Item::Loop { l, .. } = item else {
                    return false;
                };
                self.is_left(item)
                    && !self.is_reduced(item)
                    && self.graph.provenance.position_of(l.var).is_none()
                    && self.graph.provenance.roots(l.var).iter().all(|&root| {
                        appended.contains(&root)
                            || (appended.is_empty()
                                && !is_sparse_driven(self.graph, &nest.rhs, root))
                    })
            })
            .count()
    }

    /// The variables over which the initialisation must still loop so that `var` is
    /// known, inside the first `depth` items.
    pub(super) fn unbound(&self, var: VarId, depth: usize) -> Vec<VarId> {
        let around = |v: VarId| {
            let own = self.items[..depth]
                .iter()
                .any(|item| matches!(item, Item::Loop { l, .. } if l.var == v));
            own || (self.loops.contains(&v) && !self.nest.loops.iter().any(|l| l.var == v))
        };
        if around(var) {
            return vec![];
        }
        let known_below = self
            .graph
            .provenance
            .leaves(var, &self.loops)
            .into_iter()
            .any(around);
        if !known_below {
            return vec![var];
        }
        let relation = self
            .graph
            .provenance
            .consumers(var)
            .find(|r| {
                r.children()
                    .iter()
                    .any(|&c| !self.graph.provenance.leaves(c, &self.loops).is_empty())
            })
            .map(Relation::children);
        relation
            .unwrap_or_default()
            .into_iter()
            .flat_map(|child| self.unbound(child, depth))
            .collect()
    }
}
