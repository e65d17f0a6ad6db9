//! What is known of the data that a kernel will meet.

use crate::graph::Graph;
use crate::program::ir::{SizeId, TensorId, VarId};
use std::collections::BTreeMap;

/// Sizes and stored elements, by the names that a function gives them; empty where nothing is
/// known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    pub sizes: BTreeMap<String, i64>,
    /// The positions of each level, outermost first.
    pub stored: BTreeMap<String, Vec<u64>>,
}

impl Statistics {
    /// The extent of a variable of the program.
    pub(super) fn extent(&self, graph: &Graph, var: VarId) -> Option<i64> {
        let size = |s: SizeId| {
            let size = graph.function.size(s);
            let fixed = size.value.and_then(|value| i64::try_from(value).ok());
            fixed.or_else(|| self.sizes.get(&size.name).copied())
        };
        let known = graph.static_range(var).and_then(|(lo, hi)| {
            let end = hi.eval(&size, &|_| None)?;
            end.checked_sub(lo.eval(&size, &|_| None)?)
        });
        known.or_else(|| graph.most_extent(var))
    }

    /// How many positions a level has below each of the level above.
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn children(&self, graph: &Graph, tensor: TensorId, level: usize) -> Option<f64> {
        let stored = self.stored.get(&graph.tensor(tensor).name)?;
        let above = match level.checked_sub(1) {
            Some(above) => *stored.get(above)?,
            None => 1,
        };
        Some(*stored.get(level)? as f64 / (above as f64).max(1.0))
    }
}
