//! `divide(i, i0, i1, n)`: the range of i in n parts (000, 5.6).

use super::{Affine, Lift, Quantity, RelationType, Tiles, Values, Vars, names};
use crate::graph::{Graph, Provenance};
use crate::program::ir::VarId;

/// `parent = outer * ceil(extent / parts) + inner`, outer < parts.
#[derive(Clone, Copy, Debug)]
pub struct Divide {
    pub parent: VarId,
    pub outer: VarId,
    pub inner: VarId,
    pub parts: i64,
}

impl Divide {
    fn in_parts(&self) -> Tiles {
        Tiles {
            whole: self.parent,
            outer: self.outer,
            inner: self.inner,
            inhabited: false,
        }
    }

    /// A part of nothing has one iteration as well, which the guards end, so that an empty range
    /// can be divided by it.
    fn size<'g, V: Values<'g> + ?Sized>(&self, v: &mut V) -> Option<V::Quantity> {
        let extent = v.extent(self.parent)?;
        let size = extent.ceil_div(&V::Quantity::int(self.parts));
        Some(size.at_least(V::Quantity::int(1)))
    }
}

impl RelationType for Divide {
    fn name(&self) -> &'static str {
        "divide"
    }

    fn parents(&self) -> Vars {
        Vars::one(self.parent)
    }

    fn children(&self) -> Vars {
        Vars::two(self.outer, self.inner)
    }

    fn arguments(&self, graph: &Graph) -> String {
        let vars = names(graph, &[self.parent, self.outer, self.inner]);
        format!("{vars}, {}", self.parts)
    }

    fn extent<'g, V: Values<'g> + ?Sized>(&self, child: VarId, v: &mut V) -> Option<V::Quantity> {
        if child == self.outer {
            Some(V::Quantity::int(self.parts))
        } else {
            self.size(v)
        }
    }

    fn parent_offset<'g, V: Values<'g> + ?Sized>(
        &self,
        _: VarId,
        v: &mut V,
    ) -> Option<V::Quantity> {
        let size = self.size(v)?;
        self.in_parts().offset_of_whole(size, v)
    }

    fn child_offset<'g, V: Values<'g> + ?Sized>(
        &self,
        child: VarId,
        v: &mut V,
    ) -> Option<V::Quantity> {
        let size = self.size(v)?;
        self.in_parts().offset_of_part(child, size, v)
    }

    fn lift<'g, V: Values<'g> + ?Sized>(
        &self,
        child: VarId,
        affine: Affine<V::Quantity>,
        v: &mut V,
    ) -> Option<Lift<V::Quantity>> {
        let many = (child == self.outer).then_some(self.parts);
        let size = |v: &mut V| self.size(v);
        self.in_parts().lift(child, affine, many, (size, true), v)
    }

    fn overshoots<'g, V: Values<'g> + ?Sized>(&self, _: &mut V) -> bool {
        true
    }

    fn consecutive_in(&self, child: VarId, _: &Provenance) -> Option<VarId> {
        self.in_parts().consecutive(child)
    }

    fn measures(&self) -> bool {
        true
    }

    fn tiles(&self) -> Option<Tiles> {
        Some(self.in_parts())
    }
}
