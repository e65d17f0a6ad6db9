//! Where an expression stands in a statement, whatever the order of its factors.

use super::super::matching::{assign, ast_operands, matches, operands};
use crate::graph::Graph;
use crate::program::ir::{BinaryOp, Expr, ExprKind, ReduceOp, VarId};
use crate::syntax::ast;

/// An expression found in a statement.
pub(super) struct Found {
    /// What the workspace holds.
    pub e: Expr,
    /// The whole product or sum that it was found in, and what is left of it.
    pub whole: Expr,
    pub rest: Vec<Expr>,
    pub op: BinaryOp,
    /// The reduction whose body the whole is.
    pub sum: Option<(ReduceOp, Vec<VarId>, Expr)>,
}

impl Found {
    /// The reduction around it, or itself.
    pub(super) fn sum_expr(&self) -> Expr {
        match &self.sum {
            Some((_, _, sum)) => sum.clone(),
            None => self.e.clone(),
        }
    }
}

/// Finds the expression, outer places first.
pub(super) fn find(graph: &Graph, e: &Expr, wanted: &ast::Expr) -> Option<Found> {
    search(graph, e, wanted, None)
}

fn search(
    graph: &Graph,
    e: &Expr,
    wanted: &ast::Expr,
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
        let want = ast_operands(wanted, op);
        let Some(taken) = assign(graph, &have, &want) else {
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
            sum,
        });
    }
    if matches(graph, e, wanted) {
        return Some(Found {
            e: e.clone(),
            whole: e.clone(),
            rest: Vec::new(),
            op: BinaryOp::Mul,
            sum,
        });
    }
    match &e.kind {
        ExprKind::Literal(_)
        | ExprKind::Access(_)
        | ExprKind::Index(_)
        | ExprKind::Size(_)
        | ExprKind::Reduce { .. } => None,
        ExprKind::Unary(_, a) | ExprKind::Cast(a) => search(graph, a, wanted, None),
        ExprKind::Binary(_, a, b) => {
            search(graph, a, wanted, None).or_else(|| search(graph, b, wanted, None))
        }
        ExprKind::Select(c, a, b) => [c, a, b]
            .into_iter()
            .find_map(|e| search(graph, e, wanted, None)),
        ExprKind::Call(_, args) => args.iter().find_map(|e| search(graph, e, wanted, None)),
    }
}

/// `a op b op c`
pub(super) fn chain(op: BinaryOp, operands: Vec<Expr>) -> Option<Expr> {
    operands.into_iter().reduce(|a, b| Expr {
        ty: a.ty,
        span: a.span.to(b.span),
        kind: ExprKind::Binary(op, Box::new(a), Box::new(b)),
    })
}
