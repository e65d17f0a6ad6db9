//! `fuse(i, j, f)`: f = i * extent(j) + j (000, 5.4).

use super::{Affine, Lift, Quantity, RelationType, Top, Values, Vars, names};
use crate::graph::{Graph, Provenance};
use crate::program::ir::VarId;

/// `fused = outer * extent(inner) + inner`
#[derive(Clone, Copy, Debug)]
pub struct Fuse {
    pub outer: VarId,
    pub inner: VarId,
    pub fused: VarId,
}

impl RelationType for Fuse {
    fn name(&self) -> &'static str {
        "fuse"
    }

    fn parents(&self) -> Vars {
        Vars::two(self.outer, self.inner)
    }

    fn children(&self) -> Vars {
        Vars::one(self.fused)
    }

    fn arguments(&self, graph: &Graph) -> String {
        names(graph, &[self.outer, self.inner, self.fused])
    }

    fn extent<'g, V: Values<'g> + ?Sized>(&self, _: VarId, v: &mut V) -> Option<V::Quantity> {
        let outer = v.extent(self.outer)?;
        Some(outer.mul(v.extent(self.inner)?))
    }

    /// A loop over fused values says both at once, see `unfuse` of lowering.
    fn parent_offset<'g, V: Values<'g> + ?Sized>(
        &self,
        _: VarId,
        _: &mut V,
    ) -> Option<V::Quantity> {
        None
    }

    fn child_offset<'g, V: Values<'g> + ?Sized>(&self, _: VarId, v: &mut V) -> Option<V::Quantity> {
        let extent = v.extent(self.inner)?;
        let outer = v.offset(self.outer)?;
        let inner = v.offset(self.inner)?;
        Some(outer.mul(extent).add(inner))
    }

    fn lift<'g, V: Values<'g> + ?Sized>(
        &self,
        child: VarId,
        _: Affine<V::Quantity>,
        _: &mut V,
    ) -> Option<Lift<V::Quantity>> {
        Some(Lift::Top(Top::Fused(child)))
    }

    fn part_of(&self, _: VarId, _: &Provenance) -> Option<VarId> {
        None
    }

    fn consecutive_in(&self, _: VarId, _: &Provenance) -> Option<VarId> {
        None
    }

    fn measures(&self) -> bool {
        true
    }

    fn fuses(&self) -> Option<(VarId, VarId)> {
        Some((self.outer, self.inner))
    }
}
