//! The factors of a nest's product, and the orders of its loops.

use super::Statistics;
use super::estimate::{Factor, Loops, extents, levels};
use crate::graph::order::{range_vars, sparse_accesses, vars_in};
use crate::graph::terms::{reduces, root_reduction};
use crate::graph::{Graph, Nest};
use crate::program::ir::{BinaryOp, Expr, ExprKind, ReduceOp, VarId};
use crate::scalar::ScalarType;
use crate::schedule::matching::operands;

const MOST_LOOPS: usize = 8;
const MOST_FACTORS: usize = 6;
const MOST_ORDERS: usize = 1_000;

/// The product of a nest's only sum. Its loops are numbered in the nest's order.
pub(super) struct Product {
    pub(super) vars: Vec<VarId>,
    pub(super) extents: Vec<f64>,
    pub(super) exprs: Vec<Expr>,
    pub(super) factors: Vec<Factor>,
    pub(super) result: Factor,
    /// The sum is all that is stored.
    pub(super) is_whole: bool,
    /// For each loop, those that have to stand outside it.
    pub(super) outside: Vec<Loops>,
}

impl Product {
    /// `None` if the nest is something else than loops over static ranges around one sum of
    /// products, or its loops search a sparse operand.
    pub(super) fn of(graph: &Graph, nest: &Nest, statistics: &Statistics) -> Option<Self> {
        let sums = reduces(&nest.rhs);
        let [sum] = sums.as_slice() else { return None };
        let ExprKind::Reduce {
            op,
            vars: summed,
            body,
        } = &sum.kind
        else {
            return None;
        };
        let vars = nest.loop_vars();
        let exprs: Vec<Expr> = operands(body, BinaryOp::Mul).into_iter().cloned().collect();
        // The sums of what is converted as a whole would not be sums of the product.
        let is_apart = |e: &Expr| match &e.kind {
            ExprKind::Cast(inner) => !matches!(inner.kind, ExprKind::Binary(..)),
            ExprKind::Literal(_)
            | ExprKind::Access(_)
            | ExprKind::Index(_)
            | ExprKind::Size(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Select(..)
            | ExprKind::Call(..)
            | ExprKind::Reduce { .. } => true,
        };
        let fits = exprs.iter().all(is_apart)
            && *op == ReduceOp::Add
            && body.ty != ScalarType::Bool
            && body.ty == body.ty.compute()
            && vars.len() <= MOST_LOOPS
            && (2..=MOST_FACTORS).contains(&exprs.len())
            && vars.iter().all(|&v| range_vars(graph, v).is_empty())
            && nest.producers.is_empty()
            && !graph.is_added(nest.tensor);
        if !fits {
            return None;
        }
        let set = |of: &[VarId]| Some(loops(&places(&vars, of)?));
        let sparse = sparse_accesses(graph, &nest.rhs);
        let levels_of = |e: &Expr| {
            if let ExprKind::Access(access) = &e.kind {
                levels(graph, access, &vars, statistics)
            } else {
                Some(Vec::new())
            }
        };
        let mut factors = Vec::new();
        for e in &exprs {
            factors.push(Factor {
                vars: set(&vars_in(e))?,
                along: set(&along(graph, e))?,
                levels: levels_of(e)?,
            });
        }
        let mut outside = vec![0; vars.len()];
        let mut in_order = |order: &[usize]| {
            for (n, &at) in order.iter().enumerate() {
                outside[at] |= loops(&order[..n]);
            }
        };
        for access in &sparse {
            let walked = levels(graph, access, &vars, statistics)?;
            in_order(&walked.iter().map(|level| level.at).collect::<Vec<_>>());
        }
        // What a result stores, or adds to its sum, has its loops outside the sum's.
        let format = &graph.tensor(nest.tensor).format;
        let last = format.levels.iter().rposition(|level| !level.is_full());
        let stored = &format.modes[..last.map_or(0, |last| last + 1)];
        let stored: Vec<VarId> = stored.iter().map(|&mode| nest.lhs[mode]).collect();
        let stored = places(&vars, &stored)?;
        let last = format.modes.last().map(|&mode| nest.lhs[mode]);
        let result = Factor {
            vars: set(&nest.lhs)?,
            along: set(last.as_slice())?,
            levels: Vec::new(),
        };
        in_order(&stored);
        let is_whole = root_reduction(&nest.rhs, nest.op).is_some();
        let first = match is_whole {
            true => loops(&stored),
            false => result.vars,
        };
        for at in places(&vars, summed)? {
            outside[at] |= first;
        }
        let extents = extents(graph, &vars, &sparse, statistics);
        Some(Product {
            vars,
            extents,
            exprs,
            factors,
            result,
            is_whole,
            outside,
        })
    }

    /// Orders of the loops in which nothing is searched, the nest's first. The outermost one stays
    /// one of the result's, for threads to share out.
    pub(super) fn orders(&self) -> Vec<Vec<usize>> {
        let shared = self.result.vars & 1 == 1;
        let mut all = Vec::new();
        let mut order = Vec::new();
        self.complete(&mut order, shared, &mut all);
        all
    }

    fn complete(&self, order: &mut Vec<usize>, shared: bool, all: &mut Vec<Vec<usize>>) {
        if all.len() >= MOST_ORDERS {
            return;
        }
        if order.len() == self.vars.len() {
            all.push(order.clone());
            return;
        }
        let open = loops(order);
        for at in 0..self.vars.len() {
            let next = open >> at & 1 == 0 && self.outside[at] & !open == 0;
            let kept = !order.is_empty() || !shared || self.result.vars >> at & 1 == 1;
            if next && kept {
                order.push(at);
                self.complete(order, shared, all);
                order.pop();
            }
        }
    }
}

/// The variables along which what a factor reads stands side by side.
fn along(graph: &Graph, e: &Expr) -> Vec<VarId> {
    match &e.kind {
        ExprKind::Access(access) => {
            let last = graph.tensor(access.tensor).format.modes.last();
            last.map_or(Vec::new(), |&mode| vars_in(&access.subscripts[mode]))
        }
        ExprKind::Literal(_)
        | ExprKind::Index(_)
        | ExprKind::Size(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Call(..)
        | ExprKind::Cast(_)
        | ExprKind::Reduce { .. } => vars_in(e),
    }
}

fn places(vars: &[VarId], of: &[VarId]) -> Option<Vec<usize>> {
    let place = |var: &VarId| vars.iter().position(|v| v == var);
    of.iter().map(place).collect()
}

pub(super) fn loops(places: &[usize]) -> Loops {
    places.iter().fold(0, |set, at| set | 1 << at)
}
