//! What is known of the data that a kernel will meet, and of the machine.

use super::Profile;
use crate::graph::Graph;
use crate::program::ir::{SizeExpr, SizeId, TensorId, VarId};
use crate::syntax::ast::Typical;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Sizes and stored elements, by the names that a function gives them; empty where nothing is
/// known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    pub sizes: BTreeMap<String, i64>,
    /// The positions of each level, outermost first.
    pub stored: BTreeMap<String, Vec<u64>>,
    /// The most elements below one coordinate of the outermost level.
    pub longest: BTreeMap<String, u64>,
    /// How many threads a call has.
    pub threads: Option<i64>,
    pub profile: Arc<Profile>,
}

impl Statistics {
    /// The extent of a variable of the program.
    pub(super) fn extent(&self, graph: &Graph, var: VarId) -> Option<i64> {
        let size = |s: SizeId| self.size(graph, s);
        let known = graph.static_range(var).and_then(|(lo, hi)| {
            let end = hi.eval(&size, &|_| None)?;
            end.checked_sub(lo.eval(&size, &|_| None)?)
        });
        known.or_else(|| graph.most_extent(var))
    }

    fn size(&self, graph: &Graph, size: SizeId) -> Option<i64> {
        let size = graph.function.size(size);
        let fixed = size.value.and_then(|value| i64::try_from(value).ok());
        fixed.or_else(|| self.sizes.get(&size.name).copied())
    }

    /// Whether one row of a tensor takes a GPU longer than all others together: few rows have most
    /// elements, or there are few. Only data tell.
    pub(super) fn is_skewed(&self, graph: &Graph, tensor: TensorId) -> bool {
        let name = &graph.tensor(tensor).name;
        let (Some(&longest), Some(stored)) = (self.longest.get(name), self.stored.get(name)) else {
            return false;
        };
        let gpu = &self.profile.gpu;
        let all = stored.last().copied().unwrap_or(0);
        longest >= gpu.long_row && longest.saturating_mul(gpu.rows_at_once) >= all
    }

    /// How many positions a level has below each of the level above: in the data, else as the format
    /// says that is typical.
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn children(&self, graph: &Graph, tensor: TensorId, level: usize) -> Option<f64> {
        let Some(stored) = self.stored.get(&graph.tensor(tensor).name) else {
            return self.typical(graph, tensor, level);
        };
        let above = match level.checked_sub(1) {
            Some(above) => *stored.get(above)?,
            None => 1,
        };
        Some(*stored.get(level)? as f64 / (above as f64).max(1.0))
    }

    /// The same of what a format says. Elements of a density lie anywhere with the same chance.
    fn typical(&self, graph: &Graph, tensor: TensorId, level: usize) -> Option<f64> {
        let said = *graph.function.typical.get(&tensor)?;
        let tensor = graph.tensor(tensor);
        let levels = &tensor.format.levels;
        let innermost = levels.iter().rposition(|l| !l.is_full())?;
        match said {
            Typical::RowLength(length) => {
                let repeats = levels[innermost].is_branchless();
                (level == innermost && !repeats).then_some(length)
            }
            Typical::Density(share) => {
                let positions = |level: usize| {
                    // A level that repeats a coordinate has a position for each element below.
                    let unique = (level..levels.len()).find(|&at| levels[at].unique);
                    let depth = unique.map_or(levels.len(), |at| at + 1);
                    let extent = |at: &usize| self.dimension(graph, &tensor.dims[*at]);
                    let modes = &tensor.format.modes;
                    let own: f64 = modes[..depth].iter().map(extent).product();
                    let below: f64 = modes[depth..].iter().map(extent).product();
                    own * (1.0 - (1.0 - share).powf(below))
                };
                let above = level.checked_sub(1).map_or(1.0, positions);
                Some(positions(level) / above.max(1.0))
            }
        }
    }

    /// A dimension of a sparse tensor.
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    fn dimension(&self, graph: &Graph, dim: &SizeExpr) -> f64 {
        let known = dim.eval(&|size| self.size(graph, size), &|_| None);
        known.map_or(self.profile.estimate.sparse_extent, |extent| {
            extent.max(1) as f64
        })
    }
}
