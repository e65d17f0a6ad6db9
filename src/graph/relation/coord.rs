//! `coord(p, c)`: back from positions to coordinates (000, 5.2).
//!
//! Of all positions that a `pos` counts, c has all values of their parent again; of a tile of them
//! it runs from the coordinate of the tile's first element to that of its last.

use super::{Affine, Lift, Quantity, RelationType, Values, Vars, names};
use crate::graph::{Graph, Provenance};
use crate::program::ir::VarId;

/// `coord` is the coordinate again that the positions `parent` stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coord {
    pub parent: VarId,
    pub coord: VarId,
}

impl Coord {
    /// The variable whose positions were counted.
    fn stored(&self, provenance: &Provenance) -> Option<VarId> {
        provenance.stored_parent(self.parent)
    }

    /// The offset of the variable whose positions `pos` counts, from that of the coordinate.
    pub(super) fn offset_in_stored<'g, V: Values<'g> + ?Sized>(
        &self,
        pos: VarId,
        v: &mut V,
    ) -> Option<V::Quantity> {
        if self.parent == pos {
            return v.by_parts(self.coord);
        }
        let first = v.cut(self.coord)?.first;
        Some(first.add(v.by_parts(self.coord)?))
    }
}

impl RelationType for Coord {
    fn name(&self) -> &'static str {
        "coord"
    }

    fn parents(&self) -> Vars {
        Vars::one(self.parent)
    }

    fn children(&self) -> Vars {
        Vars::one(self.coord)
    }

    fn arguments(&self, graph: &Graph) -> String {
        names(graph, &[self.parent, self.coord])
    }

    fn extent<'g, V: Values<'g> + ?Sized>(&self, child: VarId, v: &mut V) -> Option<V::Quantity> {
        if let Some(cut) = v.cut(child) {
            return Some(cut.count);
        }
        // Data decide where the tile of positions ends.
        if v.graph().provenance.cuts_tile(self) {
            return None;
        }
        v.extent(self.stored(&v.graph().provenance)?)
    }

    /// Positions do not follow from coordinates by arithmetic.
    fn parent_offset<'g, V: Values<'g> + ?Sized>(
        &self,
        _: VarId,
        _: &mut V,
    ) -> Option<V::Quantity> {
        None
    }

    fn child_offset<'g, V: Values<'g> + ?Sized>(
        &self,
        child: VarId,
        v: &mut V,
    ) -> Option<V::Quantity> {
        let stored = self.stored(&v.graph().provenance)?;
        match v.cut(child) {
            None => v.offset(stored),
            Some(cut) => Some(v.offset(stored)?.sub(cut.first)),
        }
    }

    fn lift<'g, V: Values<'g> + ?Sized>(
        &self,
        child: VarId,
        mut affine: Affine<V::Quantity>,
        v: &mut V,
    ) -> Option<Lift<V::Quantity>> {
        let graph = v.graph();
        match v.cut(child) {
            Some(cut) => affine.base = cut.first.add(affine.base),
            None if graph.provenance.cuts_tile(self) => return Some(Lift::Open { end: None }),
            None => {}
        }
        Some(Lift::Whole {
            whole: self.stored(&graph.provenance)?,
            affine,
            overshoots: false,
            left: None,
        })
    }

    fn part_of(&self, _: VarId, provenance: &Provenance) -> Option<VarId> {
        self.stored(provenance)
    }

    fn consecutive_in(&self, _: VarId, provenance: &Provenance) -> Option<VarId> {
        self.stored(provenance)
    }

    fn is_renaming(&self, provenance: &Provenance) -> bool {
        !provenance.cuts_tile(self)
    }

    fn coordinates(&self) -> Option<Coord> {
        Some(*self)
    }
}
