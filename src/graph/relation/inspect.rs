//! `inspect(p, u)`: an upper bound of a dynamic counted loop that is computed before it (003).

use super::{RelationType, Values, Vars, names};
use crate::graph::Graph;
use crate::program::ir::{SizeExpr, TensorId, VarId};

/// `child` is `parent` with an upper bound that an inspector computes.
#[derive(Clone, Copy, Debug)]
pub struct Inspect {
    pub parent: VarId,
    pub child: VarId,
    pub bound: TensorId,
}

impl RelationType for Inspect {
    fn name(&self) -> &'static str {
        "inspect"
    }

    fn parents(&self) -> Vars {
        Vars::one(self.parent)
    }

    fn children(&self) -> Vars {
        Vars::one(self.child)
    }

    fn arguments(&self, graph: &Graph) -> String {
        let var = names(graph, &[self.parent]);
        format!("{var}, {}", graph.tensor(self.bound).name)
    }

    fn extent<'g, V: Values<'g> + ?Sized>(&self, _: VarId, v: &mut V) -> Option<V::Quantity> {
        v.size(&SizeExpr::Param(self.bound))
    }

    fn overshoots<'g, V: Values<'g> + ?Sized>(&self, _: &mut V) -> bool {
        true
    }

    fn inspected(&self) -> Option<TensorId> {
        Some(self.bound)
    }

    fn is_bounded(&self) -> bool {
        true
    }
}
