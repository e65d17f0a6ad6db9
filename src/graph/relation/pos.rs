//! `pos(i, p, A(i,j))`: p counts the positions at which A stores i (000, 5.1).

use super::{Affine, Lift, RelationType, Top, Values, Vars, names};
use crate::diagnostic::Span;
use crate::graph::{Graph, Provenance, print};
use crate::program::ir::{Access, VarId};

/// `pos` counts the positions at which `access` stores `parent`. If the parent was fused, they
/// are those of the level of its innermost variable.
#[derive(Clone, Debug)]
pub struct Pos {
    pub parent: VarId,
    pub pos: VarId,
    pub access: Access,
    /// The command, for diagnostics of lowering.
    pub span: Span,
}

impl RelationType for Pos {
    fn name(&self) -> &'static str {
        "pos"
    }

    fn parents(&self) -> Vars {
        Vars::one(self.parent)
    }

    fn children(&self) -> Vars {
        Vars::one(self.pos)
    }

    fn arguments(&self, graph: &Graph) -> String {
        let vars = names(graph, &[self.parent, self.pos]);
        format!("{vars}, {}", print::access_text(graph, &self.access))
    }

    fn extent<'g, V: Values<'g> + ?Sized>(&self, child: VarId, v: &mut V) -> Option<V::Quantity> {
        v.count(child)
    }

    /// Where loops run over the coordinates of the positions again, all of them or those of a
    /// tile.
    fn parent_offset<'g, V: Values<'g> + ?Sized>(
        &self,
        _: VarId,
        v: &mut V,
    ) -> Option<V::Quantity> {
        let provenance = &v.graph().provenance;
        provenance
            .coordinates_of(self.pos)
            .find_map(|coordinates| coordinates.offset_in_stored(self.pos, v))
    }

    fn child_offset<'g, V: Values<'g> + ?Sized>(
        &self,
        child: VarId,
        v: &mut V,
    ) -> Option<V::Quantity> {
        v.position(child)
    }

    fn lift<'g, V: Values<'g> + ?Sized>(
        &self,
        child: VarId,
        _: Affine<V::Quantity>,
        _: &mut V,
    ) -> Option<Lift<V::Quantity>> {
        Some(Lift::Top(Top::Position(child)))
    }

    fn part_of(&self, _: VarId, _: &Provenance) -> Option<VarId> {
        None
    }

    fn consecutive_in(&self, _: VarId, _: &Provenance) -> Option<VarId> {
        None
    }

    fn counts(&self) -> Option<&Pos> {
        Some(self)
    }

    fn counts_mut(&mut self) -> Option<&mut Pos> {
        Some(self)
    }
}
