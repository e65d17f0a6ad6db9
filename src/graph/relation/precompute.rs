//! `precompute(e, {i}, {ii}, w)`: the copy of a loop in the nest of a workspace (000, 5.7).

use super::{RelationType, Vars, names};
use crate::graph::{Graph, Provenance};
use crate::program::ir::VarId;

/// `child` runs over the values of `parent` in the nest of a workspace.
#[derive(Clone, Copy, Debug)]
pub struct Precompute {
    pub parent: VarId,
    pub child: VarId,
}

impl RelationType for Precompute {
    fn name(&self) -> &'static str {
        "precompute"
    }

    fn parents(&self) -> Vars {
        Vars::one(self.parent)
    }

    fn children(&self) -> Vars {
        Vars::one(self.child)
    }

    fn arguments(&self, graph: &Graph) -> String {
        names(graph, &[self.parent, self.child])
    }

    fn is_renaming(&self, _: &Provenance) -> bool {
        true
    }
}
