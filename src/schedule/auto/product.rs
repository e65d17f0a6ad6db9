//! Products of dense matrices on GPUs: tiles of both pass through shared memory, and each
//! thread keeps several sums in registers (002, 5.5; `schedules/tmm_registers_gpu.sched`), so
//! that an element that was read once is used several times.

use super::Writer;
use crate::graph::order::vars_in;
use crate::graph::print::expr_text;
use crate::program::ir::{Access, BinaryOp, Expr, ExprKind, ReduceOp, VarId};

impl Writer<'_> {
    /// `C(m,n) = A(m,k) * B(n,k)`, in any order of modes, once or for each of a batch.
    pub(super) fn product(&self, all: &mut Vec<Vec<String>>) {
        let Some(found) = self.matrices() else {
            return;
        };
        let [m, n, k] = found.vars;
        let name = |var| self.name(var);
        let fresh = |what: &str| self.fresh(what);
        let (m0, m1, n0, n1) = (fresh("m0"), fresh("m1"), fresh("n0"), fresh("n1"));
        let (k0, k1) = (fresh("k0"), fresh("k1"));
        let own = [fresh("r"), fresh("row"), fresh("c"), fresh("column")];
        let staged = [fresh("r2"), fresh("row2"), fresh("c2"), fresh("column2")];
        let ([r, row, c, column], [r2, row2, c2, column2]) = (&own, &staged);
        let (threads, own_rows) = (
            self.profile.gpu.product_threads,
            self.profile.gpu.product_rows,
        );
        let tile = threads * own_rows;
        let outer: Vec<String> = found.batch.map(name).into_iter().collect();
        let order = |inner: &[&String]| {
            let names = outer.iter().chain(inner.iter().copied());
            names.map(String::as_str).collect::<Vec<_>>().join(", ")
        };
        let product = expr_text(self.graph, found.product);
        let mut script = vec![
            format!("split({}, {m0}, {m1}, {tile})", name(m)),
            format!("split({}, {n0}, {n1}, {tile})", name(n)),
            format!("split({}, {k0}, {k1}, {threads})", name(k)),
            format!("split({m1}, {r}, {row}, {threads})"),
            format!("split({n1}, {c}, {column}, {threads})"),
            format!(
                "reorder({})",
                order(&[&m0, &n0, row, column, r, c, &k0, &k1])
            ),
            format!(
                "precompute({product}, {{{row}, {column}, {r}, {c}}}, {{{row2}, {column2}, {r2}, {c2}}}, {})",
                fresh("sums")
            ),
            format!("reorder({k0}, {row2}, {column2}, {k1}, {r2}, {c2})"),
        ];
        for factor in found.factors {
            let tensor = &self.graph.tensor(factor.tensor).name;
            script.push(format!("promote({tensor}, shared, {k0})"));
        }
        script.push(format!("unroll({k1}, {threads})"));
        script.push(format!("unroll({r2}, {own_rows})"));
        script.push(format!("unroll({c2}, {own_rows})"));
        let batch: Vec<_> = outer
            .iter()
            .map(|b| (b.as_str(), "GPUBlockZ", "NoRaces"))
            .collect();
        script.extend(self.units(&batch));
        script.extend(self.units(&[
            (&m0, "GPUBlockY", "NoRaces"),
            (&n0, "GPUBlock", "NoRaces"),
            (row, "GPUThreadY", "NoRaces"),
            (column, "GPUThread", "NoRaces"),
            (row2, "GPUThreadY", "NoRaces"),
            (column2, "GPUThread", "NoRaces"),
        ]));
        all.push(script);
    }

    /// A variable of a batch, those of rows, columns and the sum, and the two matrices.
    fn matrices(&self) -> Option<Matrices<'_>> {
        let ExprKind::Reduce {
            op: ReduceOp::Add,
            body,
            ..
        } = &self.nest.rhs.kind
        else {
            return None;
        };
        let mut matrices = Vec::new();
        factors(body, &mut matrices)?;
        let [x, y] = matrices[..] else {
            return None;
        };
        let (sums, left): (Vec<_>, Vec<_>) =
            self.vars().into_iter().partition(|&v| !self.is_left(v));
        let [k] = sums[..] else {
            return None;
        };
        let has = |access: &Access, var| access.subscripts.iter().any(|e| e.as_var() == Some(var));
        let (both, each): (Vec<_>, Vec<_>) = self
            .nest
            .lhs
            .iter()
            .partition(|&&var| has(x, var) && has(y, var));
        let ([m, n], batch) = match (&each[..], &both[..]) {
            ([m, n], []) => ([*m, *n], None),
            ([m, n], [batch]) => ([*m, *n], Some(*batch)),
            _ => return None,
        };
        let one_each = left.len() == self.nest.lhs.len();
        let dense = |tensor| {
            let format = &self.graph.tensor(tensor).format;
            format.levels.iter().all(|level| level.is_full())
        };
        let all_dense = [x.tensor, y.tensor, self.nest.tensor]
            .into_iter()
            .all(dense);
        if !one_each || !all_dense || x.tensor == y.tensor {
            return None;
        }
        let mut subscripts = [x, y].into_iter().flat_map(|access| &access.subscripts);
        let plain = subscripts.all(|e| e.as_var().is_some());
        let summed = plain && has(x, k) && has(y, k);
        let apart = has(x, m) && has(y, n) || has(x, n) && has(y, m);
        // Sums of the widest numbers would not stay in registers, but in the device's memory.
        let narrow = self.graph.tensor(self.nest.tensor).ty.size() <= 8;
        // What a tile would be mostly empty for is better shared out otherwise.
        let large = [m, n].into_iter().all(|v| {
            let most = self.graph.most_extent(v);
            most.is_none_or(|most| most > self.profile.gpu.product_threads)
        });
        (summed && apart && narrow && large).then_some(Matrices {
            batch,
            vars: [m, n, k],
            product: body,
            factors: [x, y],
        })
    }
}

/// What a product of matrices is made of.
struct Matrices<'g> {
    batch: Option<VarId>,
    /// Of rows, of columns, of the sum.
    vars: [VarId; 3],
    product: &'g Expr,
    factors: [&'g Access; 2],
}

/// The tensors of a product; `None` if anything else in it depends on the loops.
fn factors<'g>(e: &'g Expr, found: &mut Vec<&'g Access>) -> Option<()> {
    if let ExprKind::Binary(BinaryOp::Mul, x, y) = &e.kind {
        factors(x, found)?;
        return factors(y, found);
    }
    if let ExprKind::Access(access) = &e.kind
        && !access.subscripts.is_empty()
    {
        found.push(access);
        return Some(());
    }
    vars_in(e).is_empty().then_some(())
}
