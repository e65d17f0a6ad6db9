//! Loops that do one thing to all that they come to.

use crate::graph::Stmt;
use crate::graph::fold::as_literal;
use crate::graph::simplify::Operands;
use crate::program::ir::TensorId;
use crate::scalar::Literal;

/// Loops that set every element of a dense tensor to one constant.
pub(super) fn constant(operands: Operands, stmt: &Stmt) -> Option<(TensorId, Literal)> {
    let mut at = stmt;
    let mut vars = Vec::new();
    while let Stmt::Forall { var, tag, body } = at {
        if tag.parallel.is_some() {
            return None;
        }
        vars.push(*var);
        at = body;
    }
    let Stmt::Assign(assign) = at else {
        return None;
    };
    let tensor = operands.tensor(assign.tensor);
    let value = as_literal(&assign.rhs)?;
    let mut modes = assign.lhs.iter().zip(&tensor.dims);
    let whole = modes.all(|(&v, dim)| vars.contains(&v) && operands.graph.covers(v, dim));
    let array = !operands.graph.is_variable(assign.tensor, tensor);
    (whole && array && assign.op.is_none() && !tensor.is_sparse() && vars.len() == assign.lhs.len())
        .then_some((assign.tensor, value))
}

/// Whether all that loops do is to add to a workspace.
pub(super) fn adds_to_workspace(operands: Operands, stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Forall { body, .. } | Stmt::Within { body, .. } | Stmt::Guarded { body, .. } => {
            adds_to_workspace(operands, body)
        }
        Stmt::Assign(assign) => {
            as_literal(&assign.rhs).is_none() && operands.graph.workspaces.contains(&assign.tensor)
        }
        Stmt::Sequence(_) | Stmt::Where { .. } => false,
    }
}
