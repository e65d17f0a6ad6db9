//! Scripts for what is appended, or merged: who shares the outermost loop counts first.

use super::super::{Statistics, Writer};
use crate::graph::order::is_sparse_driven;
use crate::graph::pattern;
use crate::program::ir::{Access, Role, VarId};

impl Writer<'_> {
    /// The same, whose threads collect the row together: side by side what the innermost loop comes to, warps what the
    /// one around it does.
    pub(super) fn rows_together(&self, statistics: &Statistics, all: &mut Vec<Vec<String>>) {
        let mut producers = self.nest.producers.iter();
        let Some(row) = producers.find(|own| self.graph.collected.contains(&own.tensor)) else {
            return;
        };
        let mut inner = row.loop_vars().into_iter().rev();
        let Some(last) = inner.next() else {
            return;
        };
        let threads = self.name(last);
        if row.lhs == [last] && !is_sparse_driven(self.graph, &row.rhs, last) {
            // A row that is full is no longer than those of the dense operands that fill it.
            let blocks = self.vars().first().map(|&first| self.name(first));
            all.extend(blocks.map(|blocks| {
                self.units(&[
                    (&blocks, "GPUBlock", "NoRaces"),
                    (&threads, "GPUThread", "NoRaces"),
                ])
            }));
            return;
        }
        let mut rows = Vec::new();
        self.rows_for_blocks(statistics, &mut rows);
        let warps = inner.next().map(|var| self.name(var));
        let warps = warps.as_deref().map(|var| (var, "GPUWarp", "Atomics"));
        let units: Vec<_> = warps
            .into_iter()
            .chain([(threads.as_str(), "GPUThread", "Atomics")])
            .collect();
        for mut script in rows {
            script.extend(self.units(&units));
            all.push(script);
        }
    }

    /// A row of a result for each block, where rows are known to be short enough.
    pub(super) fn rows_for_blocks(&self, statistics: &Statistics, all: &mut Vec<Vec<String>>) {
        let (Some(&first), Some((_, inner))) = (self.vars().first(), self.nest.lhs.split_first())
        else {
            return;
        };
        let mut extents = inner.iter().map(|var| statistics.extent(self.graph, *var));
        let row = extents.try_fold(1_i64, |row, extent| row.checked_mul(extent?));
        if row.is_some_and(|row| row <= self.profile.gpu.collected_row) {
            all.push(self.units(&[(&self.name(first), "GPUBlock", "NoRaces")]));
        }
    }

    /// Whether something is laid out by the variable's values, so that there are not many more of these than what
    /// is stored anyhow.
    pub(super) fn is_laid_out(&self, var: VarId) -> bool {
        let nest = self.nest;
        let of = |tensor, at: &dyn Fn(usize) -> bool| {
            let format = &self.graph.tensor(tensor).format;
            let mut levels = format.levels.iter().zip(&format.modes);
            levels.any(|(level, &mode)| level.is_full() && at(mode))
        };
        let is_read = |access: &Access| {
            let at = |mode: usize| access.subscripts[mode].as_var() == Some(var);
            of(access.tensor, &at)
        };
        of(nest.tensor, &|mode| nest.lhs.get(mode) == Some(&var))
            || nest.rhs.accesses().into_iter().any(is_read)
    }

    /// Whether the nest makes or reads what is made on the way.
    pub(super) fn is_on_the_way(&self) -> bool {
        let made = |tensor| self.graph.tensor(tensor).role == Role::Temporary;
        let mut read = self.nest.rhs.accesses().into_iter();
        made(self.nest.tensor) || read.any(|access| made(access.tensor))
    }

    /// The outermost loop, whatever it is; in what needs copies of operands, none over parts of what may be of any
    /// length.
    pub(super) fn outermost(&self, all: &mut Vec<Vec<String>>) {
        let Some(&first) = self.vars().first() else {
            return;
        };
        let appends = !pattern::appended(self.graph, self.nest).is_empty();
        if appends && self.is_on_the_way() && !self.is_laid_out(first) {
            return;
        }
        for race in ["NoRaces", "Atomics"] {
            self.tiles(first, race, all);
            // A coiterated loop is shared out in tiles.
            let (tile, own) = (self.fresh("tile"), self.fresh("own"));
            let (block, thread) = (self.fresh("block"), self.fresh("thread"));
            let (iterations, threads) = (
                self.profile.gpu.merged_iterations,
                self.profile.gpu.merged_threads,
            );
            let mut script = vec![
                format!("split({}, {tile}, {own}, {iterations})", self.name(first)),
                format!("split({tile}, {block}, {thread}, {threads})"),
            ];
            script.extend(self.units(&[(&block, "GPUBlock", race), (&thread, "GPUThread", race)]));
            all.push(script);
        }
    }
}
