//! Scripts that share out what operands store: positions, and rows by threads that walk them.

use super::super::{Statistics, Writer};
use crate::graph::order::sparse_accesses;
use crate::graph::print::access_text;
use crate::program::ir::{Access, VarId};

impl Writer<'_> {
    /// The variables of an access, outer levels first, if they are those of the first loops.
    pub(super) fn outer_vars(&self, access: &Access) -> Option<Vec<VarId>> {
        let format = &self.graph.tensor(access.tensor).format;
        let roots: Vec<VarId> = format
            .modes
            .iter()
            .map(|&m| access.subscripts[m].as_var())
            .collect::<Option<_>>()?;
        (!roots.is_empty() && self.vars().starts_with(&roots)).then_some(roots)
    }

    /// A loop over the positions of all levels of an access, and its variable.
    pub(super) fn positions(&self, access: &Access, roots: &[VarId]) -> (Vec<String>, String) {
        let mut script = Vec::new();
        let mut at = self.name(roots[0]);
        for (n, &next) in roots.iter().enumerate().skip(1) {
            let fused = self.fresh(&format!("f{n}"));
            script.push(format!("fuse({at}, {}, {fused})", self.name(next)));
            at = fused;
        }
        let p = self.fresh("p");
        let operand = access_text(self.graph, access);
        script.push(format!("pos({at}, {p}, {operand})"));
        (script, p)
    }

    /// The stored elements of an operand, shared out evenly: each to a group of threads that
    /// reduces a sum over a dense dimension, or to a thread.
    pub(super) fn stored_elements(&self, access: &Access, all: &mut Vec<Vec<String>>) {
        let Some(roots) = self.outer_vars(access) else {
            return;
        };
        let vars = self.vars();
        let (mut base, p) = self.positions(access, &roots);
        let (block, own) = (self.fresh("block"), self.fresh("own"));
        if let [k] = vars[roots.len()..]
            && !self.is_left(k)
            && !self.is_sparse(k)
        {
            let (k0, k1) = (self.fresh("k0"), self.fresh("k1"));
            let mut script = base.clone();
            let threads = self.profile.gpu.block_threads;
            let group = self.profile.gpu.group;
            let groups = (threads / group).max(1);
            script.push(format!("split({p}, {block}, {own}, {groups})"));
            let rows = self.graph.tensor(access.tensor).format.levels.first();
            if rows.is_some_and(|level| level.unique) {
                script.push(format!("starts({block}, before)"));
            }
            script.push(format!("split({}, {k0}, {k1}, {group})", self.name(k)));
            script.push(format!("reorder({block}, {own}, {k1}, {k0})"));
            let group = format!("GPUGroup({group})");
            script.extend(self.units(&[
                (&block, "GPUBlock", "NoRaces"),
                (&own, "GPUWarp", "NoRaces"),
                (&k1, &group, "ParallelReduction"),
            ]));
            all.push(script);
        }
        let threads = self.profile.gpu.block_threads;
        base.push(format!("split({p}, {block}, {own}, {threads})"));
        base.extend(self.units(&[
            (&block, "GPUBlock", "NoRaces"),
            (&own, "GPUThread", "NoRaces"),
        ]));
        all.push(base);
    }

    /// Tiles of stored elements for blocks, whose sums of rows meet in memory.
    pub(super) fn skewed(&self, statistics: &Statistics, all: &mut Vec<Vec<String>>) {
        let accesses = sparse_accesses(self.graph, &self.nest.rhs);
        let [access] = accesses.as_slice() else {
            return;
        };
        let Some(roots) = self.outer_vars(access) else {
            return;
        };
        // What ignores that rows meet is above sums, each of which is added atomically.
        let adds = !roots.iter().all(|&root| self.is_left(root));
        // What has no array of rows cannot be walked by these: each coordinate may come again and again.
        let format = &self.graph.tensor(access.tensor).format;
        let repeats = format.levels.first().is_some_and(|level| !level.unique);
        let is_skewed = repeats || statistics.is_skewed(self.graph, access.tensor);
        if !adds || !self.is_left(roots[0]) || !is_skewed {
            return;
        }
        let gpu = &self.profile.gpu;
        let (mut script, p) = self.positions(access, &roots);
        let (block, own) = (self.fresh("block"), self.fresh("own"));
        let rest = &self.vars()[roots.len()..];
        let cut = |tile: i64| {
            let starts = format!("starts({block}, before)");
            let split = format!("split({p}, {block}, {own}, {tile})");
            [split].into_iter().chain((!repeats).then_some(starts))
        };
        let segment = format!("GPUGroup({})", gpu.segment);
        match rest {
            [] => {
                script.extend(cut(gpu.segment_tile));
                script.extend(self.units(&[
                    (&block, "GPUBlock", "IgnoreRaces"),
                    (&own, &segment, "Segment"),
                ]));
            }
            [k] if self.is_left(*k) && !self.is_sparse(*k) => {
                let (warp, column) = (self.fresh("warp"), self.fresh("column"));
                let columns = statistics.extent(self.graph, *k);
                let k = self.name(*k);
                if columns.is_some_and(|columns| columns <= 2 * gpu.segment_columns) {
                    script.extend(cut(gpu.segment_tile));
                    script.extend([
                        format!("split({k}, {warp}, {column}, {})", gpu.segment_columns),
                        format!("reorder({block}, {warp}, {own}, {column})"),
                    ]);
                    script.extend(self.units(&[
                        (&block, "GPUBlock", "IgnoreRaces"),
                        (&warp, "GPUWarp", "IgnoreRaces"),
                        (&own, &segment, "Segment"),
                    ]));
                } else {
                    let (part, turn) = (self.fresh("part"), self.fresh("turn"));
                    script.extend(cut(gpu.warp_elements * gpu.warps));
                    script.extend([
                        format!("split({own}, {warp}, {part}, {})", gpu.warp_elements),
                        format!("split({k}, {turn}, {column}, {})", gpu.lanes),
                        format!("reorder({block}, {warp}, {turn}, {column}, {part})"),
                    ]);
                    script.extend(self.units(&[
                        (&block, "GPUBlock", "IgnoreRaces"),
                        (&warp, "GPUWarp", "IgnoreRaces"),
                        (&column, "GPUThread", "Atomics"),
                    ]));
                }
            }
            [_, ..] => return,
        }
        all.push(script);
    }

    /// `y(i) = A(i,j) * x(j)`: half a warp walks a row, fewer threads one that is known to be short.
    pub(super) fn threads_per_row(&self, statistics: &Statistics, all: &mut Vec<Vec<String>>) {
        let vars = self.vars();
        let accesses = sparse_accesses(self.graph, &self.nest.rhs);
        let ([i, j], [access]) = (vars.as_slice(), accesses.as_slice()) else {
            return;
        };
        let walked = self.graph.level_of(access, *j).is_some() && self.is_sparse(*j);
        if !self.is_left(*i) || self.is_left(*j) || !walked {
            return;
        }
        let gpu = &self.profile.gpu;
        let row = statistics.children(self.graph, access.tensor, 1);
        if row.is_some_and(|row| row < gpu.short_row) {
            self.tiles(*i, "NoRaces", all);
            return;
        }
        let mut walked = |rows: i64, threads: i64, unit: &str, race: &str| {
            let (block, warp) = (self.fresh("block"), self.fresh("warp"));
            let (p, turn, thread) = (self.fresh("p"), self.fresh("turn"), self.fresh("thread"));
            let operand = access_text(self.graph, access);
            let mut script = vec![
                format!("split({}, {block}, {warp}, {rows})", self.name(*i)),
                format!("pos({}, {p}, {operand})", self.name(*j)),
                format!("split({p}, {turn}, {thread}, {threads})"),
                format!("reorder({block}, {warp}, {thread}, {turn})"),
            ];
            script.extend(self.units(&[
                (&block, "GPUBlock", "NoRaces"),
                (&warp, "GPUWarp", "NoRaces"),
                (&thread, unit, race),
            ]));
            all.push(script);
        };
        if row.is_some_and(|row| row < gpu.middle_row) {
            let (threads, group) = (gpu.block_threads, gpu.middle_group);
            let unit = format!("GPUGroup({group})");
            walked((threads / group).max(1), group, &unit, "ParallelReduction");
        }
        walked(16, 16, "GPUThread", "Temporary");
    }
}
