//! Scripts that share out elements of dense results, and sums of everything.

use super::super::Writer;
use crate::graph::order::sparse_accesses;
use crate::graph::visit;
use crate::program::ir::{ExprKind, VarId};

impl Writer<'_> {
    /// A sum of everything: each thread adds up a part, blocks add theirs together.
    pub(super) fn scalar(&self, all: &mut Vec<Vec<String>>) {
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
    pub(super) fn summed(&self, mut script: Vec<String>, name: &str) -> Vec<String> {
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

    /// Columns of the result side by side.
    pub(super) fn columns(&self, all: &mut Vec<Vec<String>>) {
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
    pub(super) fn columns_of_tile(&self, column: VarId) -> i64 {
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
    pub(super) fn elements(&self, all: &mut Vec<Vec<String>>) {
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
}
