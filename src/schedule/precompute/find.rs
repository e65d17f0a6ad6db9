//! Where an expression stands in a statement, whatever the order of its factors.

use super::super::matching::{Fraction, assign, ast_operands, matches, operands};
use crate::graph::terms::negate;
use crate::graph::{Graph, Nest, equal};
use crate::program::ir::{BinaryOp, Expr, ExprKind, ReduceOp, Shared, TensorId, VarId};
use crate::syntax::ast;

/// What is looked for.
#[derive(Clone, Copy)]
pub(in crate::schedule) enum Wanted<'a> {
    /// What a command writes.
    Written(&'a ast::Expr),
    /// An access of the statement.
    Access(&'a Expr),
}

impl Wanted<'_> {
    /// Whether it is this expression, or what is converted there.
    fn is(self, graph: &Graph, e: &Expr) -> bool {
        match self {
            Wanted::Written(wanted) => {
                matches(graph, e, wanted) || matches(graph, copied(graph, e), wanted)
            }
            Wanted::Access(wanted) => {
                if let ExprKind::Cast(inner) = &e.kind {
                    self.is(graph, inner)
                } else {
                    equal::same(e, wanted)
                }
            }
        }
    }

    /// The numbers of the operands of a chain of `op` that make it up.
    fn among(self, graph: &Graph, have: &[&Expr], op: BinaryOp) -> Option<Vec<usize>> {
        match self {
            Wanted::Written(wanted) => {
                let wanted = ast_operands(wanted, op);
                let copied: Vec<&Expr> = have.iter().map(|e| copied(graph, e)).collect();
                assign(graph, have, &wanted).or_else(|| assign(graph, &copied, &wanted))
            }
            Wanted::Access(_) => {
                let at = have.iter().position(|e| self.is(graph, e))?;
                Some(vec![at])
            }
        }
    }
}

/// The access of the program that a tile or another workspace has a copy of; any other expression is itself.
fn copied<'a>(graph: &'a Graph, e: &'a Expr) -> &'a Expr {
    fn producer(nests: &[Nest], tensor: TensorId) -> Option<&Nest> {
        nests.iter().find_map(|nest| {
            let own = nest.producers.iter().find(|kept| kept.tensor == tensor);
            own.or_else(|| producer(&nest.producers, tensor))
        })
    }
    let ExprKind::Access(access) = &e.kind else {
        return e;
    };
    match producer(&graph.nests, access.tensor) {
        Some(kept) if matches!(kept.rhs.kind, ExprKind::Access(_)) => copied(graph, &kept.rhs),
        Some(_) | None => e,
    }
}

/// An expression found in a statement.
pub(in crate::schedule) struct Found {
    /// What the workspace holds.
    pub e: Expr,
    /// The whole product, quotient or sum that it was found in, and what is left of it.
    pub whole: Expr,
    pub rest: Vec<Expr>,
    pub op: BinaryOp,
    /// What the product is divided by, and whether it is negated, besides.
    pub divisors: Vec<Expr>,
    pub negative: bool,
    /// The reduction whose body the whole is.
    pub sum: Option<(ReduceOp, Vec<VarId>, Expr)>,
}

impl Found {
    /// Whether the workspace holds all that the reduction sums.
    pub(super) fn is_all(&self) -> bool {
        self.rest.is_empty() && self.divisors.is_empty() && !self.negative
    }

    /// All that is left beside the workspace.
    pub(super) fn others(&self) -> impl Iterator<Item = &Expr> {
        self.rest.iter().chain(&self.divisors)
    }

    /// What is left, with what is read of the workspace.
    pub(super) fn with(&self, read: Expr) -> Option<Expr> {
        let mut factors = self.rest.clone();
        factors.push(read);
        let product = chain(self.op, factors)?;
        let divided = self.divisors.iter().fold(product, |whole, divisor| Expr {
            ty: whole.ty,
            span: whole.span.to(divisor.span),
            kind: ExprKind::Binary(
                BinaryOp::Div,
                Shared::new(whole),
                Shared::new(divisor.clone()),
            ),
        });
        Some(match self.negative {
            true => negate(divided),
            false => divided,
        })
    }

    /// The reduction around it, or itself.
    pub(super) fn sum_expr(&self) -> Expr {
        match &self.sum {
            Some((_, _, sum)) => sum.clone(),
            None => self.e.clone(),
        }
    }
}

/// Finds the expression, outer places first.
pub(in crate::schedule) fn find(graph: &Graph, e: &Expr, wanted: Wanted) -> Option<Found> {
    search(graph, e, wanted, None)
}

/// All that a reduction sums.
pub(in crate::schedule) fn whole_sum(e: &Expr) -> Option<Found> {
    let ExprKind::Reduce { op, vars, body } = &e.kind else {
        return None;
    };
    Some(Found {
        e: Expr::clone(body),
        whole: Expr::clone(body),
        rest: Vec::new(),
        op: BinaryOp::Mul,
        divisors: Vec::new(),
        negative: false,
        sum: Some((*op, vars.clone(), e.clone())),
    })
}

fn search(
    graph: &Graph,
    e: &Expr,
    wanted: Wanted,
    sum: Option<(ReduceOp, Vec<VarId>, Expr)>,
) -> Option<Found> {
    if let ExprKind::Reduce { op, vars, body } = &e.kind {
        return search(graph, body, wanted, Some((*op, vars.clone(), e.clone())));
    }
    for op in [BinaryOp::Mul, BinaryOp::Add] {
        let have = operands(e, op);
        if have.len() < 2 {
            continue;
        }
        let Some(taken) = wanted.among(graph, &have, op) else {
            continue;
        };
        let chosen: Vec<Expr> = taken.iter().map(|&at| have[at].clone()).collect();
        let rest = (0..have.len())
            .filter(|at| !taken.contains(at))
            .map(|at| have[at].clone())
            .collect();
        return Some(Found {
            e: chain(op, chosen)?,
            whole: e.clone(),
            rest,
            op,
            divisors: Vec::new(),
            negative: false,
            sum,
        });
    }
    if let (Some(sum), Some(fraction)) = (&sum, Fraction::of(e))
        && let Some(taken) = wanted.among(graph, &fraction.factors, BinaryOp::Mul)
    {
        let (own, rest): (Vec<usize>, Vec<usize>) =
            (0..fraction.factors.len()).partition(|at| taken.contains(at));
        let factors = |of: &[usize]| {
            (of.iter())
                .map(|&at| Expr::clone(fraction.factors[at]))
                .collect()
        };
        return Some(Found {
            e: chain(BinaryOp::Mul, factors(&own))?,
            whole: e.clone(),
            rest: factors(&rest),
            op: BinaryOp::Mul,
            divisors: fraction.divisors.into_iter().cloned().collect(),
            negative: fraction.negative,
            sum: Some(sum.clone()),
        });
    }
    if wanted.is(graph, e) {
        return Some(Found {
            e: e.clone(),
            whole: e.clone(),
            rest: Vec::new(),
            op: BinaryOp::Mul,
            divisors: Vec::new(),
            negative: false,
            sum,
        });
    }
    let mut operands = e.operands().into_iter();
    operands.find_map(|e| search(graph, e, wanted, None))
}

/// `a op b op c`
pub(super) fn chain(op: BinaryOp, operands: Vec<Expr>) -> Option<Expr> {
    operands.into_iter().reduce(|a, b| Expr {
        ty: a.ty,
        span: a.span.to(b.span),
        kind: ExprKind::Binary(op, Shared::new(a), Shared::new(b)),
    })
}
