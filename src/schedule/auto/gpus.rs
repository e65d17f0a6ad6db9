//! Scripts for GPUs.
//!
//! The rules, after 000, 8.3: a warp shares the row of a sparse matrix; where the result
//! has columns, its threads take 32 of them side by side, so that what they load stands
//! together; what stores a value for each element of an operand is shared out by
//! positions; everything else gives each thread elements of the result of its own, or of a
//! sum that the threads reduce. What an H100 said of them stands in `BENCHMARKS.md`.

use super::{Script, Statistics, Writer};
use crate::graph::order::{is_sparse_driven, sparse_accesses};
use crate::graph::print::access_text;
use crate::graph::{Graph, Nest, pattern, visit};
use crate::program::ir::{Access, ExprKind, Role, VarId};
use std::borrow::Cow;

/// Scripts for one nest of an untransformed graph on a GPU; none if it has to stay serial.
#[must_use]
pub fn for_gpus(graph: &Graph, nest: &Nest, statistics: &Statistics) -> Vec<Script> {
    if nest.loops.is_empty() {
        return Vec::new();
    }
    let writer = Writer {
        graph,
        nest,
        profile: &statistics.profile,
    };
    let mut all = Vec::new();
    let mut by = |rule: &'static str, write: &dyn Fn(&mut Vec<Vec<String>>)| {
        let mut own = Vec::new();
        write(&mut own);
        all.extend(own.into_iter().map(|commands| Script {
            rule: Cow::Borrowed(rule),
            commands,
        }));
    };
    // What is appended is counted first by those who share the outermost loop. Rows that are
    // collected need memory for each block: where it is not known how much, they stay with one thread.
    if !pattern::appended(graph, nest).is_empty() {
        by(
            "who shares the outermost loop counts what is appended first",
            &|all| {
                writer.outermost(all);
            },
        );
        by(
            "threads of a block collect a row together, of which each block has memory for one",
            &|all| writer.rows_together(statistics, all),
        );
        by(
            "blocks share rows that are collected, of which each has memory for one",
            &|all| writer.rows_for_blocks(statistics, all),
        );
        return all;
    }
    if let Some(source) = pattern::source(graph, nest) {
        by(
            "values of what an operand stores are shared out by its positions",
            &|all| {
                writer.stored_elements(&source.access, all);
            },
        );
    }
    if nest.lhs.is_empty() {
        by(
            "each thread adds up a part of a sum of everything",
            &|all| writer.scalar(all),
        );
    }
    by(
        "each thread has a row, through which the diagonals pass",
        &|all| writer.row_of_diagonals(all),
    );
    by(
        "few rows have most elements, or there are few: stored elements are shared out",
        &|all| writer.skewed(statistics, all),
    );
    by(
        "threads walk the row of a sparse matrix, as many as it is long",
        &|all| writer.threads_per_row(statistics, all),
    );
    by(
        "tiles of both matrices pass through shared memory, sums stay in registers",
        &|all| {
            writer.product(all);
        },
    );
    by("threads take columns of the result side by side", &|all| {
        writer.columns(all)
    });
    by(
        "each thread has elements of the result of its own",
        &|all| writer.elements(all),
    );
    by("blocks share the outermost loop", &|all| {
        writer.outermost(all)
    });
    all
}

impl Writer<'_> {
    /// The variables of an access, outer levels first, if they are those of the first loops.
    fn outer_vars(&self, access: &Access) -> Option<Vec<VarId>> {
        let format = &self.graph.tensor(access.tensor).format;
        let roots: Vec<VarId> = format
            .modes
            .iter()
            .map(|&m| access.subscripts[m].as_var())
            .collect::<Option<_>>()?;
        (!roots.is_empty() && self.vars().starts_with(&roots)).then_some(roots)
    }

    /// A loop over the positions of all levels of an access, and its variable.
    fn positions(&self, access: &Access, roots: &[VarId]) -> (Vec<String>, String) {
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
    fn stored_elements(&self, access: &Access, all: &mut Vec<Vec<String>>) {
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
            script.push(format!("starts({block}, before)"));
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

    /// A sum of everything: each thread adds up a part, blocks add theirs together.
    fn scalar(&self, all: &mut Vec<Vec<String>>) {
        let Some(&first) = self.vars().first() else {
            return;
        };
        // Elements of one operand side by side, sparse ones first: neighbouring threads
        // then load neighbouring elements, and rows are shared out evenly.
        let mut operands = sparse_accesses(self.graph, &self.nest.rhs);
        visit(&self.nest.rhs, &mut |node| {
            if let ExprKind::Access(access) = &node.kind {
                operands.push(access.clone());
            }
        });
        let whole = operands.into_iter().find_map(|access| {
            let roots = self.outer_vars(&access)?;
            (roots.len() == self.vars().len()).then_some((access, roots))
        });
        if let Some((access, roots)) = whole.filter(|(_, roots)| roots.len() > 1) {
            let (base, p) = self.positions(&access, &roots);
            all.push(self.summed(base, &p));
        }
        all.push(self.summed(Vec::new(), &self.name(first)));
        self.tiles(first, "Temporary", all);
    }

    /// Many iterations for each block, whose threads take them in turns.
    fn summed(&self, mut script: Vec<String>, name: &str) -> Vec<String> {
        let (block, part, turn, thread) = (
            self.fresh("block"),
            self.fresh("part"),
            self.fresh("turn"),
            self.fresh("thread"),
        );
        let (iterations, threads) = (
            self.profile.gpu.block_iterations,
            self.profile.gpu.block_threads,
        );
        script.extend([
            format!("split({name}, {block}, {part}, {iterations})"),
            format!("split({part}, {turn}, {thread}, {threads})"),
            format!("reorder({block}, {thread}, {turn})"),
        ]);
        script.extend(self.units(&[
            (&block, "GPUBlock", "Temporary"),
            (&thread, "GPUThread", "Temporary"),
        ]));
        script
    }

    /// A block for each tile of iterations, a thread for each.
    fn tiles(&self, var: VarId, race: &str, all: &mut Vec<Vec<String>>) {
        let (block, thread) = (self.fresh("block"), self.fresh("thread"));
        let (name, threads) = (self.name(var), self.profile.gpu.block_threads);
        let mut script = vec![format!("split({name}, {block}, {thread}, {threads})")];
        script.extend(self.units(&[(&block, "GPUBlock", race), (&thread, "GPUThread", race)]));
        all.push(script);
    }

    /// Tiles of stored elements for blocks, whose sums of rows meet in memory.
    fn skewed(&self, statistics: &Statistics, all: &mut Vec<Vec<String>>) {
        let accesses = sparse_accesses(self.graph, &self.nest.rhs);
        let [access] = accesses.as_slice() else {
            return;
        };
        let Some(roots) = self.outer_vars(access) else {
            return;
        };
        // What ignores that rows meet is above sums, each of which is added atomically.
        let adds = !roots.iter().all(|&root| self.is_left(root));
        let is_skewed = statistics.is_skewed(self.graph, access.tensor);
        if !adds || !self.is_left(roots[0]) || !is_skewed {
            return;
        }
        let gpu = &self.profile.gpu;
        let (mut script, p) = self.positions(access, &roots);
        let (block, own) = (self.fresh("block"), self.fresh("own"));
        let rest = &self.vars()[roots.len()..];
        let cut = |tile: i64| {
            [
                format!("split({p}, {block}, {own}, {tile})"),
                format!("starts({block}, before)"),
            ]
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
                        format!("split({k}, {turn}, {column}, 32)"),
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
    fn threads_per_row(&self, statistics: &Statistics, all: &mut Vec<Vec<String>>) {
        let vars = self.vars();
        let accesses = sparse_accesses(self.graph, &self.nest.rhs);
        let ([i, j], [access]) = (vars.as_slice(), accesses.as_slice()) else {
            return;
        };
        if !self.is_left(*i) || self.is_left(*j) || !self.is_sparse(*j) {
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

    /// Columns of the result side by side.
    fn columns(&self, all: &mut Vec<Vec<String>>) {
        let vars = self.vars();
        let format = &self.graph.tensor(self.nest.tensor).format;
        let (Some(&first), Some(&mode)) = (vars.first(), format.modes.last()) else {
            return;
        };
        let Some(&column) = self.nest.lhs.get(mode) else {
            return;
        };
        if column == first || !self.is_left(first) || self.is_sparse(column) {
            return;
        }
        let (tile, thread) = (self.fresh("tile"), self.fresh("thread"));
        let inner = vars
            .iter()
            .filter(|&&v| v != first && v != column)
            .map(|&v| self.name(v));
        // No more threads than columns; a block takes several rows where those are few.
        let columns = self.columns_of_tile(column);
        let rows = self.profile.gpu.columns / columns;
        let (mut script, rows_first, row_units) = if rows > 1 && !self.is_sparse(first) {
            let (block, row) = (self.fresh("block"), self.fresh("row"));
            let split = format!("split({}, {block}, {row}, {rows})", self.name(first));
            let units = self.units(&[(&row, "GPUThreadY", "NoRaces")]);
            (vec![split], vec![block, tile.clone(), row], units)
        } else {
            let first = self.name(first);
            (Vec::new(), vec![first, tile.clone()], Vec::new())
        };
        let outer = rows_first[0].clone();
        let mut order = rows_first;
        order.push(thread.clone());
        order.extend(inner);
        let column = self.name(column);
        script.push(format!("split({column}, {tile}, {thread}, {columns})"));
        script.push(format!("reorder({})", order.join(", ")));
        script.extend(self.units(&[
            (&outer, "GPUBlock", "NoRaces"),
            (&tile, "GPUBlockY", "NoRaces"),
        ]));
        script.extend(row_units);
        script.extend(self.units(&[(&thread, "GPUThread", "NoRaces")]));
        all.push(script);
    }

    /// Threads side by side for the columns of a result: as many as there are, if that is known
    /// and few, in powers of two.
    fn columns_of_tile(&self, column: VarId) -> i64 {
        let most = self
            .graph
            .most_extent(column)
            .unwrap_or(self.profile.gpu.columns);
        let mut columns = self.profile.gpu.columns;
        while columns / 2 >= most.max(1) && columns > 4 {
            columns /= 2;
        }
        columns
    }

    /// Elements of a dense result, one for each thread.
    fn elements(&self, all: &mut Vec<Vec<String>>) {
        let left: Vec<VarId> = self
            .vars()
            .into_iter()
            .take_while(|&v| self.is_left(v) && !self.is_sparse(v))
            .collect();
        let Some((&first, rest)) = left.split_first() else {
            return;
        };
        if !rest.is_empty() {
            let mut script = Vec::new();
            let mut at = self.name(first);
            for (n, &next) in rest.iter().enumerate() {
                let fused = self.fresh(&format!("f{n}"));
                script.push(format!("fuse({at}, {}, {fused})", self.name(next)));
                at = fused;
            }
            let (block, thread) = (self.fresh("block"), self.fresh("thread"));
            let threads = self.profile.gpu.block_threads;
            script.push(format!("split({at}, {block}, {thread}, {threads})"));
            script.extend(self.units(&[
                (&block, "GPUBlock", "NoRaces"),
                (&thread, "GPUThread", "NoRaces"),
            ]));
            all.push(script);
        }
        self.tiles(first, "NoRaces", all);
    }

    /// The same, whose threads collect the row together: side by side what the innermost loop comes to, warps what the
    /// one around it does.
    fn rows_together(&self, statistics: &Statistics, all: &mut Vec<Vec<String>>) {
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
    fn rows_for_blocks(&self, statistics: &Statistics, all: &mut Vec<Vec<String>>) {
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
    fn is_laid_out(&self, var: VarId) -> bool {
        let nest = self.nest;
        let of = |tensor, at: &dyn Fn(usize) -> bool| {
            let format = &self.graph.tensor(tensor).format;
            let mut levels = format.levels.iter().zip(&format.modes);
            levels.any(|(level, &mode)| level.is_full() && at(mode))
        };
        let mut found = of(nest.tensor, &|mode| nest.lhs.get(mode) == Some(&var));
        visit(&nest.rhs, &mut |node| {
            if let ExprKind::Access(access) = &node.kind {
                let at = |mode: usize| access.subscripts[mode].as_var() == Some(var);
                found |= of(access.tensor, &at);
            }
        });
        found
    }

    /// Whether the nest makes or reads what is made on the way.
    fn is_on_the_way(&self) -> bool {
        let made = |tensor| self.graph.tensor(tensor).role == Role::Temporary;
        let mut found = made(self.nest.tensor);
        visit(&self.nest.rhs, &mut |node| {
            if let ExprKind::Access(access) = &node.kind {
                found |= made(access.tensor);
            }
        });
        found
    }

    /// The outermost loop, whatever it is; in what needs copies of operands, none over parts of what may be of any
    /// length.
    fn outermost(&self, all: &mut Vec<Vec<String>>) {
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
