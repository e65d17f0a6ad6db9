//! The factors of a nest's product, and the orders of its loops.

use super::Statistics;
use super::estimate::{Factor, Loops, extents, levels};
use super::turned::Turned;
use crate::graph::fold::{as_literal, fold};
use crate::graph::order::{range_vars, sparse_accesses, vars_in};
use crate::graph::terms::{reduces, root_reduction};
use crate::graph::{Graph, Nest, Relation, equal};
use crate::program::ir::{Access, BinaryOp, Expr, ExprKind, ReduceOp, VarId};
use crate::scalar::ScalarType;
use crate::schedule::matching::{Fraction, operands};
use crate::schedule::precompute::absent::is_nonzero;

const MOST_LOOPS: usize = 8;
const MOST_FACTORS: usize = 6;
const MOST_ORDERS: usize = 1_000;

/// What a nest's only reduction reduces: a product, the terms of a sum, or one value. Its loops are
/// numbered in the nest's order.
#[derive(Clone)]
pub(super) struct Product {
    pub(super) vars: Vec<VarId>,
    pub(super) extents: Vec<f64>,
    /// What joins the factors, as written.
    pub(super) join: BinaryOp,
    /// The reduction distributes over what joins them: sums of products may be taken in steps.
    pub(super) in_parts: bool,
    /// Lanes may have parts of the reduction: it does not end early.
    pub(super) in_lanes: bool,
    pub(super) exprs: Vec<Expr>,
    pub(super) factors: Vec<Factor>,
    /// The loops of all that is read.
    pub(super) reads: Vec<Loops>,
    pub(super) result: Factor,
    /// The sum is all that is stored.
    pub(super) is_whole: bool,
    /// For each loop, those that have to stand outside it.
    pub(super) outside: Vec<Loops>,
    /// Factors that are read from copies.
    pub(super) turned: Vec<Turned>,
}

impl Product {
    /// `None` if the nest is something else than loops around one reduction, or
    /// its loops search a sparse operand.
    pub(super) fn of(graph: &Graph, nest: &Nest, statistics: &Statistics) -> Option<Self> {
        let all = graph.tensor(nest.tensor).format.order();
        Self::of_levels(graph, nest, all, statistics)
    }

    /// The same of a result whose rows its nest collects, in the loops that it has in all.
    pub(super) fn of_rows(graph: &Graph, nest: &Nest, statistics: &Statistics) -> Option<Self> {
        let [row] = nest.producers.as_slice() else {
            return None;
        };
        let collects = graph.collected.contains(&row.tensor) && row.producers.is_empty();
        let (last, outer) = nest.loops.split_last()?;
        if !collects || row.lhs != [last.var] || !row.loops.iter().any(|l| l.var == last.var) {
            return None;
        }
        let whole = Nest {
            rhs: row.rhs.clone(),
            loops: [outer, &row.loops].concat(),
            producers: Vec::new(),
            ..nest.clone()
        };
        Self::of_levels(graph, &whole, outer.len(), statistics)
    }

    /// The result has so many levels outside of its sums, as far as it stores these.
    fn of_levels(
        graph: &Graph,
        nest: &Nest,
        outside_sums: usize,
        statistics: &Statistics,
    ) -> Option<Self> {
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
        let join = join(*op, body)?;
        let exprs: Vec<Expr> = (fraction(graph, *op, body))
            .unwrap_or_else(|| operands(body, join))
            .into_iter()
            .cloned()
            .collect();
        let in_parts = *op == ReduceOp::Add && exprs.len() > 1;
        let fits = (exprs.len() == 1 || exprs.iter().all(is_apart))
            && body.ty == body.ty.compute()
            && vars.len() <= MOST_LOOPS
            && (1..=MOST_FACTORS).contains(&exprs.len())
            && vars.iter().all(|&v| !ends_by_data(graph, v))
            && nest.producers.is_empty()
            && !graph.is_added(nest.tensor)
            && (in_parts || is_walked(graph, *op, body));
        if !fits {
            return None;
        }
        let set = |of: &[VarId]| Some(loops(&places(&vars, of)?));
        let sparse = sparse_accesses(graph, &nest.rhs);
        let levels_of = |e: &Expr| {
            let all = sparse_accesses(graph, e).into_iter();
            let all = all.map(|access| levels(graph, &access, &vars, statistics));
            Some(all.collect::<Option<Vec<_>>>()?.concat())
        };
        let mut factors = Vec::new();
        for e in &exprs {
            factors.push(Factor {
                vars: set(&vars_in(e))?,
                along: set(&along(graph, e))?,
                levels: levels_of(e)?,
            });
        }
        let read: Option<Vec<Loops>> = accesses(body).iter().map(|e| set(&vars_in(e))).collect();
        // What a range names has its loop outside.
        let named = vars.iter().map(|&v| set(&range_vars(graph, v)));
        let mut outside: Vec<Loops> = named.collect::<Option<_>>()?;
        for access in &sparse {
            let walked = levels(graph, access, &vars, statistics)?;
            // Where all coordinates are stored, positions are computed once those of the levels above are known.
            for (n, level) in walked.iter().enumerate() {
                if level.children.is_some() {
                    let above = walked[..n].iter().map(|level| level.at);
                    outside[level.at] |= loops(&above.collect::<Vec<_>>());
                }
            }
        }
        // What a result stores, or adds to its sum, has its loops outside the sum's.
        let format = &graph.tensor(nest.tensor).format;
        let last = format.levels.iter().rposition(|level| !level.is_full());
        let stored = &format.modes[..last.map_or(0, |last| last + 1).min(outside_sums)];
        let stored: Vec<VarId> = stored.iter().map(|&mode| nest.lhs[mode]).collect();
        let stored = places(&vars, &stored)?;
        let last = format.modes.last().map(|&mode| nest.lhs[mode]);
        let result = Factor {
            vars: set(&taken_apart(graph, &vars, &nest.lhs))?,
            along: set(last.as_slice())?,
            levels: Vec::new(),
        };
        for (n, &at) in stored.iter().enumerate() {
            outside[at] |= loops(&stored[..n]);
        }
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
            join,
            in_parts,
            in_lanes: !matches!(op, ReduceOp::And | ReduceOp::Or),
            exprs,
            factors,
            reads: read?,
            result,
            is_whole,
            outside,
            turned: Vec::new(),
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

/// What joins the factors of what is reduced; none where a reduction is not cut.
fn join(op: ReduceOp, body: &Expr) -> Option<BinaryOp> {
    let is_truth = body.ty == ScalarType::Bool;
    match op {
        ReduceOp::Add | ReduceOp::Mul => (!is_truth).then_some(BinaryOp::Mul),
        ReduceOp::Min | ReduceOp::Max => (!is_truth).then_some(BinaryOp::Add),
        ReduceOp::And | ReduceOp::Or => is_truth.then_some(BinaryOp::Mul),
        ReduceOp::Own(_) => None,
    }
}

/// The factors of a product that is negated, or divided by what no loop changes: a sum of them may be divided instead.
/// Where nothing is stored, 0 is only divided by what is not 0 itself.
fn fraction<'e>(graph: &Graph, op: ReduceOp, body: &'e Expr) -> Option<Vec<&'e Expr>> {
    let fraction = Fraction::of(body).filter(|_| op == ReduceOp::Add)?;
    let is_dense = sparse_accesses(graph, body).is_empty();
    let mut divisors = fraction.divisors.iter();
    let stay = divisors.all(|d| is_nonzero(d) || (is_dense && vars_in(d).is_empty()));
    stay.then_some(fraction.factors)
}

/// Whether the reduction has nothing to do where an element that is not stored is read.
fn is_walked(graph: &Graph, op: ReduceOp, body: &Expr) -> bool {
    let is_neutral = |sparse: &Access| {
        let fill = graph.tensor(sparse.tensor).fill;
        let absent = |access: &Access| equal::same_access(access, sparse).then_some(fill);
        let left = fold(body, &absent, &|access| graph.exact(access));
        as_literal(&left).is_some_and(|left| left.same_value(op.neutral(body.ty)))
    };
    reduces(body).is_empty() && sparse_accesses(graph, body).iter().all(is_neutral)
}

/// Whether an operand may be taken out of a product. The sums of what is converted as a whole would
/// not be sums of the product.
fn is_apart(e: &Expr) -> bool {
    !matches!(&e.kind, ExprKind::Cast(inner) if matches!(inner.kind, ExprKind::Binary(..)))
}

/// All that an expression reads.
fn accesses(e: &Expr) -> Vec<Expr> {
    let mut found = Vec::new();
    e.walk(&mut |node| {
        if matches!(node.kind, ExprKind::Access(_)) {
            found.push(node.clone());
        }
    });
    found
}

/// The variables along which all that a factor reads stands side by side, or stays the same.
fn along(graph: &Graph, e: &Expr) -> Vec<VarId> {
    let mut found = vars_in(e);
    for access in e.accesses() {
        let apart = apart(graph, access);
        found.retain(|var| !apart.contains(var));
    }
    found
}

/// The variables along which an access' elements stand apart: those of all modes but the last, and
/// those that its subscript takes more than one of a step.
fn apart(graph: &Graph, access: &Access) -> Vec<VarId> {
    let modes = &graph.tensor(access.tensor).format.modes;
    let Some((last, outer)) = modes.split_last() else {
        return Vec::new();
    };
    let outer = outer.iter().filter_map(|&mode| access.subscripts.get(mode));
    let mut found: Vec<VarId> = outer.flat_map(vars_in).collect();
    if let Some(last) = access.subscripts.get(*last) {
        last.walk(&mut |node| {
            if let ExprKind::Binary(BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem, ..) = node.kind {
                found.extend(vars_in(node));
            }
        });
    }
    found
}

/// The variables, and those that stand in loops in the place of what was taken apart into blocks.
fn taken_apart(graph: &Graph, vars: &[VarId], of: &[VarId]) -> Vec<VarId> {
    let parts = |&var: &VarId| match vars.contains(&var) {
        true => vec![var],
        false => {
            let relations = graph.provenance.consumers(var);
            let parts = relations.flat_map(Relation::children);
            parts.filter(|part| vars.contains(part)).collect()
        }
    };
    of.iter().flat_map(parts).collect()
}

fn places(vars: &[VarId], of: &[VarId]) -> Option<Vec<usize>> {
    let place = |var: &VarId| vars.iter().position(|v| v == var);
    of.iter().map(place).collect()
}

pub(super) fn loops(places: &[usize]) -> Loops {
    places.iter().fold(0, |set, at| set | 1 << at)
}

/// Whether data decide where a loop ends: nobody knows then how short it is.
fn ends_by_data(graph: &Graph, var: VarId) -> bool {
    let mut reads = graph.var(var).range.reads();
    reads.any(|e| !e.accesses().is_empty())
}
