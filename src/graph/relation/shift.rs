//! `shift(i, n)`: the loop over i + n (002, 5.2).

use super::{Quantity, RelationType, Values, Vars, names};
use crate::graph::{Graph, Provenance};
use crate::program::ir::VarId;

/// `child = parent + by`: the same offsets, counted from elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Shift {
    pub parent: VarId,
    pub child: VarId,
    pub by: i64,
}

impl RelationType for Shift {
    fn name(&self) -> &'static str {
        "shift"
    }

    fn parents(&self) -> Vars {
        Vars::one(self.parent)
    }

    fn children(&self) -> Vars {
        Vars::one(self.child)
    }

    fn arguments(&self, graph: &Graph) -> String {
        format!("{}, {}", names(graph, &[self.parent]), self.by)
    }

    fn origin<'g, V: Values<'g> + ?Sized>(&self, _: VarId, v: &mut V) -> Option<V::Quantity> {
        let origin = v.origin(self.parent)?;
        Some(origin.add(V::Quantity::int(self.by)))
    }

    fn is_renaming(&self, _: &Provenance) -> bool {
        true
    }
}
