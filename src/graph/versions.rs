//! Sparse results that several statements write: their stored elements cannot grow where they stand, so
//! each statement but the last makes a version of the result, a temporary tensor, which those behind
//! read. `C(i,j) += e` becomes `C(i,j) = C1(i,j) + e`.

use super::terms::{binary, index, reads, replace};
use super::{Graph, visit};
use crate::operators::Func;
use crate::program::ir::{
    Access, BinaryOp, Bound, Expr, ExprKind, Function, ReduceOp, Role, Statement, Tensor, TensorId,
};
use std::collections::BTreeMap;

/// Which tensor holds the content of a sparse result that several statements write.
#[derive(Default)]
pub(super) struct Versions(BTreeMap<TensorId, TensorId>);

impl Versions {
    /// The tensor that statement number `at` writes, and what: with the newest versions of what it
    /// reads, its own result's too where it adds to that. `None` if it cannot be written so: it
    /// leaves elements as they were, or adds to what the caller has.
    pub fn next(
        &mut self,
        graph: &mut Graph,
        function: &Function,
        at: usize,
    ) -> Option<(TensorId, Option<ReduceOp>, Expr)> {
        let stmt = &function.stmts[at];
        let mut rhs = stmt.rhs.clone();
        for (&tensor, &version) in self.0.iter().filter(|(tensor, version)| tensor != version) {
            for access in accesses(&rhs, tensor) {
                let mut read = access.clone();
                if let ExprKind::Access(own) = &mut read.kind {
                    own.tensor = version;
                }
                replace(&mut rhs, &access, &read);
            }
            if reads(&rhs, tensor) || is_read_by_ranges(graph, stmt, tensor) {
                return None;
            }
        }
        let tensor = graph.tensor(stmt.tensor).clone();
        let others = function.stmts.iter().enumerate();
        let others: Vec<usize> = others
            .filter(|(n, other)| *n != at && other.tensor == stmt.tensor)
            .map(|(n, _)| n)
            .collect();
        if !tensor.is_sparse()
            || (others.is_empty() && stmt.op.is_none() && tensor.role != Role::InOut)
        {
            return Some((stmt.tensor, stmt.op, rhs));
        }
        let mut modes = stmt.lhs.iter().zip(&tensor.dims);
        if tensor.role == Role::InOut || !modes.all(|(&var, dim)| graph.covers(var, dim)) {
            return None;
        }
        let mut op = stmt.op;
        if let Some(reduced) = op {
            let before = *self.0.get(&stmt.tensor)?;
            let own = Expr {
                kind: ExprKind::Access(Access {
                    tensor: before,
                    subscripts: stmt.lhs.iter().map(|&var| index(var, &rhs)).collect(),
                }),
                ty: tensor.ty.compute(),
                span: rhs.span,
            };
            rhs = combined(reduced, own, rhs);
            op = None;
        }
        let target = match others.iter().any(|&other| other > at) {
            false => stmt.tensor,
            true => graph.add_tensor(Tensor {
                name: format!("{}_{}", tensor.name, at + 1),
                role: Role::Temporary,
                ..tensor
            }),
        };
        self.0.insert(stmt.tensor, target);
        Some((target, op, rhs))
    }
}

/// The accesses of the tensor that stand in the expression, but not those in subscripts of others.
fn accesses(e: &Expr, tensor: TensorId) -> Vec<Expr> {
    let mut found = Vec::new();
    visit(e, &mut |node| {
        if let ExprKind::Access(access) = &node.kind
            && access.tensor == tensor
        {
            found.push(node.clone());
        }
    });
    found
}

fn is_read_by_ranges(graph: &Graph, stmt: &Statement, tensor: TensorId) -> bool {
    stmt.vars.iter().any(|&var| {
        let range = &graph.var(var).range;
        [&range.lo, &range.hi].into_iter().any(|bound| match bound {
            Bound::Static(_) => false,
            Bound::Dynamic(e) => reads(e, tensor),
        })
    })
}

/// `a op b`, as values of the type of `a`.
fn combined(op: ReduceOp, a: Expr, b: Expr) -> Expr {
    let (ty, span) = (a.ty, a.span);
    let b = match b.ty == ty {
        true => b,
        false => Expr {
            kind: ExprKind::Cast(Box::new(b)),
            ty,
            span,
        },
    };
    let call = |func, a, b| Expr {
        kind: ExprKind::Call(func, vec![a, b]),
        ty,
        span,
    };
    match op {
        ReduceOp::Add => binary(BinaryOp::Add, a, b),
        ReduceOp::Mul => binary(BinaryOp::Mul, a, b),
        ReduceOp::And => binary(BinaryOp::And, a, b),
        ReduceOp::Or => binary(BinaryOp::Or, a, b),
        ReduceOp::Min => call(Func::Min, a, b),
        ReduceOp::Max => call(Func::Max, a, b),
    }
}
