//! How often the loops of a nest run, by estimate. What is not known counts as these constants
//! say: they tell plans apart whose costs differ by an order of magnitude, and no finer ones.

use super::Statistics;
use crate::graph::Graph;
use crate::graph::distance::carried;
use crate::level::Level;
use crate::program::ir::{Access, VarId};

/// A set of loops, by their places in the nest.
pub(super) type Loops = u32;

/// A factor of a product.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Factor {
    pub vars: Loops,
    /// The loops along which its elements stand side by side.
    pub along: Loops,
    /// What its levels store, outermost first, down to the last that is not full.
    pub levels: Vec<Stored>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stored {
    /// The place of the loop.
    pub at: usize,
    /// Elements below each stored one; none if each coordinate is stored.
    pub children: Option<f64>,
}

/// Loops that are open, and how often what stands inside them runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around {
    pub open: Loops,
    pub runs: f64,
}

impl Around {
    /// Inside one more loop, with the steps that it takes in all.
    pub fn inside(self, at: usize, extents: &[f64], factors: &[&Factor]) -> (Around, f64) {
        let extent = extents[at];
        // Operands that drive a loop are walked together, and what is inside runs where all of them
        // meet.
        let mut steps: Option<f64> = None;
        let mut share = 1.0;
        for factor in factors {
            let next = factor
                .levels
                .iter()
                .find(|level| self.open >> level.at & 1 == 0);
            let driven = next.filter(|level| level.at == at);
            if let Some(children) = driven.and_then(|level| level.children) {
                let children = children.min(extent);
                steps = Some(steps.unwrap_or(0.0) + children);
                share *= children / extent.max(1.0);
            }
        }
        let around = Around {
            open: self.open | 1 << at,
            runs: self.runs * extent * share,
        };
        (around, self.runs * steps.unwrap_or(extent))
    }
}

/// The extents of the loops over these variables.
pub(super) fn extents(
    graph: &Graph,
    vars: &[VarId],
    sparse: &[Access],
    statistics: &Statistics,
) -> Vec<f64> {
    let of_sparse = |var: &VarId| {
        let mut subscripts = sparse.iter().flat_map(|access| &access.subscripts);
        subscripts.any(|s| carried(s) == Some(*var))
    };
    let is_slot = |var: &VarId| {
        sparse
            .iter()
            .any(|access| graph.numbers_slots(access, *var))
    };
    let extent = |var: &VarId| match statistics.extent(graph, *var) {
        #[allow(clippy::cast_precision_loss, reason = "an estimate")]
        Some(extent) => extent.max(0) as f64,
        // As many as the longest row has elements.
        None if is_slot(var) => statistics.profile.estimate.row_children,
        None if of_sparse(var) => statistics.profile.estimate.sparse_extent,
        None => statistics.profile.estimate.dense_extent,
    };
    vars.iter().map(extent).collect()
}

/// The levels of an access that loops walk; `None` if a subscript is more than a variable at a distance.
pub(super) fn levels(
    graph: &Graph,
    access: &Access,
    vars: &[VarId],
    statistics: &Statistics,
) -> Option<Vec<Stored>> {
    let format = &graph.tensor(access.tensor).format;
    let last = format.levels.iter().rposition(|level| !level.is_full());
    let count = last.map_or(0, |last| last + 1);
    let walked = format.levels.iter().zip(&format.modes).take(count);
    let estimate = &statistics.profile.estimate;
    let typical = |depth: usize| match depth {
        0 => estimate.outer_children,
        1 => estimate.row_children,
        _ => estimate.inner_children,
    };
    let stored = |(depth, (level, &mode)): (usize, (&Level, &usize))| {
        let var = access.subscripts.get(mode).and_then(carried)?;
        let known = statistics.children(graph, access.tensor, depth);
        let children = match (level.is_full(), level.is_branchless()) {
            (true, _) => None,
            (false, true) => Some(1.0),
            (false, false) => Some(known.unwrap_or_else(|| typical(depth))),
        };
        Some(Stored {
            at: vars.iter().position(|&v| v == var)?,
            children,
        })
    };
    walked.enumerate().map(stored).collect()
}
