//! Results of which the first call makes the coordinates, and later calls the values alone
//! (`assemble(C, once)`).
//!
//! Where a result stores what an input stores, the checked function gives it the coordinates of that
//! input, and there is one kernel ([`pattern`]). Otherwise there are two, made of the same loops: one
//! that makes coordinates and values, and one for results whose coordinates are there, which puts each
//! element where the first one has put it. As an element that has no place there is noticed, what the
//! operands store may change from call to call.

use super::{Assembled, Assembly, Graph, pattern};
use crate::program::ir::{Role, TensorId};

impl Graph {
    /// Whether a result is to have its coordinates from the checked function: it is assembled once and
    /// stores what an input stores, whatever commands have made of the loops.
    #[must_use]
    pub fn is_given(&self, tensor: TensorId) -> bool {
        if self.assembly(tensor) != Some(Assembly::Once) {
            return false;
        }
        let followed = pattern::followed(self);
        let of_input = followed
            .get(&tensor)
            .is_some_and(|&operand| matches!(self.tensor(operand).role, Role::Input | Role::InOut));
        let mut writers = self.nests.iter().filter(|nest| nest.tensor == tensor);
        of_input && writers.all(|nest| pattern::source(self, nest).is_some())
    }

    /// Whether the result has coordinates before the kernel runs, where this one puts its elements.
    #[must_use]
    pub fn is_kept(&self, tensor: TensorId) -> bool {
        self.assembly(tensor) == Some(Assembly::Kept)
    }

    /// The same loops for results that have their coordinates; `None` if a kernel of them would be
    /// none of its own.
    #[must_use]
    pub fn keeping(&self) -> Option<Graph> {
        let kept = |said: &&Assembled| said.how == Assembly::Once && !self.is_given(said.tensor);
        let kept: Vec<TensorId> = (self.assembled.iter().filter(kept))
            .map(|said| said.tensor)
            .collect();
        (!kept.is_empty()).then(|| {
            let mut graph = self.clone();
            let all = graph.assembled.iter_mut();
            for said in all.filter(|said| kept.contains(&said.tensor)) {
                said.how = Assembly::Kept;
            }
            graph
        })
    }
}
