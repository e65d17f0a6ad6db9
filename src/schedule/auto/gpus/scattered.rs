//! Scripts for sums that come to the elements of a dense result in any order.

use super::super::Writer;
use crate::program::ir::VarId;

impl Writer<'_> {
    /// Sums into rows: a warp has an iteration of the outermost loop, its threads take the columns that it comes to
    /// side by side.
    pub(super) fn scattered_columns(&self, all: &mut Vec<Vec<String>>) {
        let vars = self.vars();
        let (Some(&first), Some(&last)) = (vars.first(), vars.last()) else {
            return;
        };
        let modes = &self.graph.tensor(self.nest.tensor).format.modes;
        let column = modes.last().and_then(|&mode| self.nest.lhs.get(mode));
        if first == last || self.is_left(first) || column != Some(&last) || self.is_sparse(last) {
            return;
        }
        let gpu = &self.profile.gpu;
        if self
            .graph
            .most_extent(last)
            .is_some_and(|columns| columns < gpu.least_columns)
        {
            return;
        }
        let (block, warp) = (self.fresh("block"), self.fresh("warp"));
        let (turn, thread) = (self.fresh("turn"), self.fresh("thread"));
        let warps = gpu.block_threads / gpu.lanes;
        let split = [
            format!("split({}, {block}, {warp}, {warps})", self.name(first)),
            format!(
                "split({}, {turn}, {thread}, {})",
                self.name(last),
                gpu.lanes
            ),
        ];
        for race in ["NoRaces", "Atomics"] {
            let mut script = split.to_vec();
            script.extend(self.units(&[
                (&block, "GPUBlock", "Atomics"),
                (&warp, "GPUWarp", "Atomics"),
                (&thread, "GPUThread", race),
            ]));
            all.push(script);
        }
    }

    /// Sums of rows that an operand stores: each block has a row of the result, its threads what is stored.
    pub(super) fn rows_of_sums(&self, all: &mut Vec<Vec<String>>) {
        let vars = self.vars();
        let is_row = |v: &&VarId| self.is_left(**v) && !self.is_sparse(**v);
        let (Some(&first), Some(&row)) = (vars.first(), vars.iter().find(is_row)) else {
            return;
        };
        let inside = vars.iter().filter(|&&v| v != row);
        let order: Vec<VarId> = std::iter::once(&row).chain(inside).copied().collect();
        let Some(&last) = order.last() else {
            return;
        };
        if self.is_left(first) || !self.is_left(last) || !self.is_sparse(last) {
            return;
        }
        let order: Vec<String> = order.iter().map(|&v| self.name(v)).collect();
        let mut script = vec![format!("reorder({})", order.join(", "))];
        script.extend(self.units(&[
            (&self.name(row), "GPUBlock", "NoRaces"),
            (&self.name(last), "GPUThread", "NoRaces"),
        ]));
        all.push(script);
    }
}
