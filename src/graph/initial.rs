//! Where the elements that a reduction accumulates into are set up: over which loops, and how
//! these run.

use super::concretize::{Concretizer, Item};
use super::order::{appended_vars, is_sparse_driven};
use super::pattern::Source;
use super::{Parallel, Race, Tag, Unit};
use crate::program::ir::VarId;
use crate::units::GpuLevel;

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
        let shared = self.items[..prefix]
            .iter()
            .take_while(|item| {
                let Item::Loop { l, .. } = item else {
                    return false;
                };
                self.is_left(item)
                    && !self.is_reduced(item)
                    && self.graph.provenance.position_of(l.var).is_none()
                    && match appended.is_empty() {
                        true => {
                            let own = self.graph.provenance.coordinates(l.var);
                            !own.iter().any(|&var| self.is_driven(var))
                        }
                        false => {
                            let own = self.graph.provenance.roots(l.var);
                            own.iter().all(|root| appended.contains(root))
                        }
                    }
            })
            .count();
        let mut depths = (0..=shared).rev();
        depths
            .find(|&depth| self.is_set_once(depth) && !self.is_between_blocks(depth))
            .unwrap_or(0)
    }

    /// Whether all blocks of a loop inside would set up what stands in a block of a loop outside.
    fn is_between_blocks(&self, depth: usize) -> bool {
        let is_block = |item: &Item| {
            let unit = parallel(item).map(|p| p.unit);
            matches!(unit, Some(Unit::Gpu(unit)) if unit.level == GpuLevel::Block)
        };
        let (around, inside) = self.items.split_at(depth);
        around.iter().any(is_block) && inside.iter().any(is_block)
    }

    /// Whether no element is set up in two iterations of the first `depth` loops. A skewed loop has some elements of
    /// two variables in each: of one that is cut only a part, which is not set up as a whole then.
    fn is_set_once(&self, depth: usize) -> bool {
        let lhs = self.nest.lhs.iter();
        let all: Vec<Vec<VarId>> = lhs.map(|&var| self.unbound(var, depth)).collect();
        let roots = |var: VarId| self.graph.provenance.roots(var);
        let meet = |x: VarId, y: VarId| roots(x).iter().any(|root| roots(y).contains(root));
        let cut = |x: VarId| {
            let mut others = all.iter().filter(|own| !own.contains(&x));
            others.any(|own| own.iter().any(|&y| meet(x, y)))
        };
        !all.iter().flatten().any(|&x| cut(x))
    }

    /// Whether a sparse operand of the nest or of its workspaces drives the variable's loop.
    fn is_driven(&self, var: VarId) -> bool {
        let mut driven = false;
        self.nest
            .visit(&mut |part| driven |= is_sparse_driven(self.graph, &part.rhs, var));
        driven
    }

    /// The number of outer loops after which one position of the operand that a sparse result
    /// follows is known, if each is met exactly once: its dense block is then set up there, just
    /// before sums add to it, and not in memory long before. `None` if the whole array must be
    /// set up before the loops: where several iterations add to one block or none comes to it (of
    /// `B(i,i,k)`, to the rows that store nothing at i), and where it is not this nest alone, on a
    /// CPU, that comes to it.
    pub(super) fn block_depth(&self, source: &Source) -> Option<usize> {
        let nest = self.nest;
        let result = &self.tensors[nest.tensor.index()];
        let outer: Vec<VarId> = result.format.modes[..source.levels]
            .iter()
            .map(|&mode| nest.lhs[mode])
            .collect();
        let operand = self.graph.tensor(source.access.tensor);
        let followed = &operand.format.modes[..source.levels];
        let stored = |item: &&Item| match item {
            Item::Loop { l, .. } => {
                let roots = self.graph.provenance.roots(l.var);
                self.graph.provenance.position_of(l.var).is_none()
                    && roots.iter().all(|root| outer.contains(root))
            }
            Item::Within { .. } => false,
        };
        let depth = self.items.iter().take_while(stored).count();
        // What is located further down with what is known already may not be stored.
        let below = source.access.subscripts.iter().enumerate();
        let met = below
            .filter(|(mode, _)| !followed.contains(mode))
            .all(|(_, subscript)| {
                let var = subscript.as_var();
                var.is_some_and(|var| !self.unbound(var, depth).is_empty())
            });
        let alone = self.graph.nests.iter().all(|nest| nest.joined == 0);
        let known = outer.iter().all(|&var| self.unbound(var, depth).is_empty());
        let (around, inside) = self.items.split_at(depth);
        let own = around.iter().all(|item| match parallel(item) {
            None => true,
            Some(p) => matches!(p.unit, Unit::CpuThread(_)) && p.race == Race::NoRaces,
        });
        let serial = inside.iter().all(|item| match parallel(item) {
            None => true,
            Some(p) => p.unit == Unit::CpuVector,
        });
        (alone && met && known && own && serial).then_some(depth)
    }

    /// The variables of the first `depth` items.
    pub(super) fn known_loops(&self, depth: usize) -> impl Iterator<Item = VarId> {
        self.items[..depth].iter().filter_map(|item| match item {
            Item::Loop { l, .. } => Some(l.var),
            Item::Within { .. } => None,
        })
    }

    /// The variables over which the initialisation must still loop so that `var` is
    /// known, inside the first `depth` items.
    pub(super) fn unbound(&self, var: VarId, depth: usize) -> Vec<VarId> {
        let around = |v: VarId| {
            let own = self.known_loops(depth).any(|known| known == v);
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
        let provenance = &self.graph.provenance;
        let relation = provenance.consumers(var).find(|r| {
            let mut parts = r.parts(var).into_iter();
            parts.any(|part| !provenance.leaves(part, &self.loops).is_empty())
        });
        relation
            .into_iter()
            .flat_map(|relation| relation.parts(var))
            .flat_map(|child| self.unbound(child, depth))
            .collect()
    }
}

/// How the loop is shared out, if it is.
fn parallel(item: &Item) -> Option<&Parallel> {
    match item {
        Item::Loop { l, .. } => l.tag.parallel.as_ref(),
        Item::Within { .. } => None,
    }
}
