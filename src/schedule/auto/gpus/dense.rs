//! Scripts that share out elements of dense results, and sums of everything.

use super::super::{Statistics, Writer};
use crate::graph::order::{sparse_accesses, vars_in};
use crate::program::ir::{Access, Expr, VarId};

impl Writer<'_> {
    /// A sum of everything: each thread adds up a part, blocks add theirs together.
    pub(super) fn scalar(&self, all: &mut Vec<Vec<String>>) {
        let Some(&first) = self.vars().first() else {
            return;
        };
        // Elements of one operand side by side, sparse ones first: neighbouring threads
        // then load neighbouring elements, and rows are shared out evenly.
        let mut operands = sparse_accesses(self.graph, &self.nest.rhs);
        operands.extend(self.nest.rhs.accesses().into_iter().cloned());
        let whole = operands.into_iter().find_map(|access| {
            let roots = self.outer_vars(&access)?;
            (roots.len() == self.vars().len()).then_some((access, roots))
        });
        if let Some((access, roots)) = whole.filter(|(_, roots)| roots.len() > 1) {
            let (base, p) = self.positions(&access, &roots);
            all.push(self.summed(base, &p));
        }
        // Many iterations are a thread's where each is short.
        if self.vars().len() == 1 {
            all.push(self.summed(Vec::new(), &self.name(first)));
        }
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
        let leading = self.leading();
        if leading.len() > 2 && leading.contains(&column) {
            return;
        }
        // All rows are one loop, as far as dense loops around come to them.
        let around = match leading.iter().position(|&v| v == column) {
            Some(at) => &leading[..at],
            None => &leading[..],
        };
        let (mut script, first_name) = self.fused(around, "f");
        let first_name = first_name.unwrap_or_else(|| self.name(first));
        let (tile, thread) = (self.fresh("tile"), self.fresh("thread"));
        let inner = vars
            .iter()
            .filter(|&&v| v != first && v != column && !around.contains(&v))
            .map(|&v| self.name(v));
        // No more threads than columns; a block takes several rows where those are few.
        let columns = self.columns_of_tile(column);
        let rows = self.profile.gpu.columns / columns;
        let (rows_first, row_units) = if rows > 1 && !self.is_sparse(first) {
            let (block, row) = (self.fresh("block"), self.fresh("row"));
            script.push(format!("split({first_name}, {block}, {row}, {rows})"));
            let units = self.units(&[(&row, "GPUThreadY", "NoRaces")]);
            (vec![block, tile.clone(), row], units)
        } else {
            (vec![first_name, tile.clone()], Vec::new())
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

    /// The outermost loops over all coordinates of dimensions of the result.
    fn leading(&self) -> Vec<VarId> {
        let vars = self.vars().into_iter();
        vars.take_while(|&v| self.is_left(v) && !self.is_sparse(v))
            .collect()
    }

    /// Loops as one, and its name; none of none.
    fn fused(&self, loops: &[VarId], names: &str) -> (Vec<String>, Option<String>) {
        let mut script = Vec::new();
        let mut at = loops.first().map(|&first| self.name(first));
        for (n, &next) in loops.iter().enumerate().skip(1) {
            let fused = self.fresh(&format!("{names}{n}"));
            script.extend(at.map(|at| format!("fuse({at}, {}, {fused})", self.name(next))));
            at = Some(fused);
        }
        (script, at)
    }

    /// Elements of a dense result, one for each thread.
    pub(super) fn elements(&self, all: &mut Vec<Vec<String>>) {
        let left = self.leading();
        let Some(&first) = left.first() else {
            return;
        };
        if let (mut script, Some(at)) = self.fused(&left, "f")
            && left.len() > 1
        {
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

    /// Sums of rows of dense operands: the threads of a warp, or of a block where there are few rows,
    /// take neighbouring elements.
    pub(super) fn long_rows(&self, statistics: &Statistics, all: &mut Vec<Vec<String>>) {
        let (vars, left) = (self.vars(), self.leading());
        let summed = &vars[left.len()..];
        let (Some(&last), false) = (summed.last(), left.is_empty()) else {
            return;
        };
        let gpu = &self.profile.gpu;
        let extents = |vars: &[VarId]| {
            let mut extents = vars.iter().map(|&v| statistics.extent(self.graph, v));
            extents.try_fold(1_i64, |all, extent| Some(all.saturating_mul(extent?)))
        };
        if summed.iter().any(|&v| self.is_left(v)) || !self.is_along_rows(last, &left) {
            return;
        }
        let joined = if self.are_rows(summed) {
            summed
        } else {
            &[last]
        };
        if extents(joined).is_some_and(|length| length < gpu.lanes) {
            return;
        }
        let (mut script, row) = self.fused(&left, "f");
        let (more, sum) = self.fused(joined, "g");
        script.extend(more);
        let (Some(row), Some(sum)) = (row, sum) else {
            return;
        };
        let (turn, thread) = (self.fresh("turn"), self.fresh("thread"));
        let others = &summed[..summed.len() - joined.len()];
        let others = others.iter().map(|&v| self.name(v));
        let is_few = extents(&left).is_some_and(|rows| rows <= gpu.few_rows);
        let threads = if is_few { gpu.block_threads } else { gpu.lanes };
        script.push(format!("split({sum}, {turn}, {thread}, {threads})"));
        let (block, warp) = (self.fresh("block"), self.fresh("warp"));
        let rows = if is_few {
            vec![(row, "GPUBlock")]
        } else {
            let rows = gpu.block_threads / gpu.lanes;
            script.push(format!("split({row}, {block}, {warp}, {rows})"));
            vec![(block, "GPUBlock"), (warp, "GPUWarp")]
        };
        let order = rows.iter().map(|(name, _)| name.clone());
        let order = order.chain([thread.clone()]).chain(others).chain([turn]);
        script.push(format!("reorder({})", order.collect::<Vec<_>>().join(", ")));
        for (name, unit) in &rows {
            script.extend(self.units(&[(name, unit, "NoRaces")]));
        }
        script.extend(self.units(&[(&thread, "GPUThread", "Temporary")]));
        all.push(script);
    }

    /// Whether a summed variable takes neighbouring elements of all operands that have more dimensions, and
    /// no variable of the result does.
    fn is_along_rows(&self, summed: VarId, left: &[VarId]) -> bool {
        let (mut found, mut only) = (
            false,
            sparse_accesses(self.graph, &self.nest.rhs).is_empty(),
        );
        self.each_access(&mut |access| {
            let subscripts = self.stored_order(access);
            let Some((last, outer)) = subscripts.split_last() else {
                return;
            };
            only &= outer.iter().all(|s| !vars_in(s).contains(&summed));
            found |= !outer.is_empty() && last.as_var() == Some(summed);
            only &= outer.is_empty() || !vars_in(last).iter().any(|v| left.contains(v));
        });
        found && only
    }

    /// Whether each operand that has one of the summed variables has all, as its last dimensions.
    fn are_rows(&self, summed: &[VarId]) -> bool {
        let mut only = true;
        self.each_access(&mut |access| {
            let subscripts = self.stored_order(access);
            let has = |s: &&Expr| vars_in(s).iter().any(|v| summed.contains(v));
            let own: Vec<&Expr> = subscripts.iter().copied().skip_while(|s| !has(s)).collect();
            let vars: Option<Vec<VarId>> = own.iter().map(|s| s.as_var()).collect();
            only &= own.is_empty() || vars.as_deref() == Some(summed);
        });
        only
    }

    fn each_access(&self, f: &mut dyn FnMut(&Access)) {
        self.nest.rhs.accesses().into_iter().for_each(f);
    }

    /// The subscripts of an access, of outer levels first.
    fn stored_order<'a>(&self, access: &'a Access) -> Vec<&'a Expr> {
        let modes = &self.graph.tensor(access.tensor).format.modes;
        let subscripts = modes.iter().map(|&mode| access.subscripts.get(mode));
        subscripts.flatten().collect()
    }
}
