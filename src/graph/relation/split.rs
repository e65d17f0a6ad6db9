//! `split(i, i0, i1, n)`: i = i0 * n + i1, i1 < n (000, 5.5).

use super::{
    Affine, BoundKind, Lift, Quantity, Relation, RelationType, Tiles, Values, Vars, names,
};
use crate::graph::{Graph, Provenance};
use crate::program::ir::VarId;

/// `parent = outer * factor + inner`, inner < factor.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    pub parent: VarId,
    pub outer: VarId,
    pub inner: VarId,
    pub factor: i64,
}

impl Split {
    fn parts(&self) -> Tiles {
        Tiles {
            whole: self.parent,
            outer: self.outer,
            inner: self.inner,
            inhabited: true,
        }
    }

    fn size<Q: Quantity>(&self) -> Q {
        Q::int(self.factor)
    }
}

impl RelationType for Split {
    fn name(&self) -> &'static str {
        "split"
    }

    fn parents(&self) -> Vars {
        Vars::one(self.parent)
    }

    fn children(&self) -> Vars {
        Vars::two(self.outer, self.inner)
    }

    fn arguments(&self, graph: &Graph) -> String {
        let vars = names(graph, &[self.parent, self.outer, self.inner]);
        format!("{vars}, {}", self.factor)
    }

    fn extent<'g, V: Values<'g> + ?Sized>(&self, child: VarId, v: &mut V) -> Option<V::Quantity> {
        if child == self.outer {
            Some(v.extent(self.parent)?.ceil_div(&self.size()))
        } else {
            Some(self.size())
        }
    }

    fn parent_offset<'g, V: Values<'g> + ?Sized>(
        &self,
        _: VarId,
        v: &mut V,
    ) -> Option<V::Quantity> {
        self.parts().offset_of_whole(self.size(), v)
    }

    fn child_offset<'g, V: Values<'g> + ?Sized>(
        &self,
        child: VarId,
        v: &mut V,
    ) -> Option<V::Quantity> {
        self.parts().offset_of_part(child, self.size(), v)
    }

    fn lift<'g, V: Values<'g> + ?Sized>(
        &self,
        child: VarId,
        affine: Affine<V::Quantity>,
        v: &mut V,
    ) -> Option<Lift<V::Quantity>> {
        let many = (child == self.inner).then_some(self.factor);
        let overshoots = self.overshoots(v);
        let size = |_: &mut V| Some(self.size());
        self.parts()
            .lift(child, affine, many, (size, overshoots), v)
    }

    /// Unless the factor divides what the parent has.
    fn overshoots<'g, V: Values<'g> + ?Sized>(&self, v: &mut V) -> bool {
        let made = v.graph().provenance.producer(self.parent);
        let multiple = made.and_then(Relation::promise).is_some_and(|bound| {
            bound.kind == BoundKind::Multiple
                && bound.value.as_int().is_some_and(|n| n % self.factor == 0)
        });
        let mut exact = || {
            let extent = v.extent(self.parent)?.as_int()?;
            Some(extent % self.factor == 0)
        };
        !multiple && exact() != Some(true)
    }

    fn consecutive_in(&self, child: VarId, _: &Provenance) -> Option<VarId> {
        self.parts().consecutive(child)
    }

    fn tiles(&self) -> Option<Tiles> {
        Some(self.parts())
    }
}
