//! What a workspace must not forget: that an element is absent.
//!
//! A workspace holds a zero where the expression that it keeps is absent, and a stored zero is a number like any
//! other. What it is a factor of is zero still, of finite numbers; but an absent dividend makes nothing of any
//! divisor, and a stored zero no number of a divisor that is zero.

use crate::diagnostic::codes::schedule as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::Graph;
use crate::graph::fold::as_literal;
use crate::graph::order::sparse_accesses;
use crate::program::ir::{Access, BinaryOp, Expr, ExprKind, TensorId};
use crate::scalar::ScalarType;

/// Checks that no division asks whether elements of a workspace are there, which keeps the expression `e` and is read in `rest`.
///
/// # Errors
/// One does, the workspace has a place for each element, and some may be absent.
pub(super) fn check(
    graph: &Graph,
    (rest, e): (&Expr, &Expr),
    workspace: TensorId,
    span: Span,
) -> Result<(), Diagnostic> {
    let kept = graph.tensor(workspace);
    if kept.is_sparse() || !is_absent(graph, e, &sparse_accesses(graph, e)) {
        return Ok(());
    }
    let reads = rest.accesses().into_iter();
    let own: Vec<Access> = reads.filter(|a| a.tensor == workspace).cloned().collect();
    let others = sparse_accesses(graph, rest);
    let all: Vec<Access> = own.iter().chain(&others).cloned().collect();
    let asks = |node: &Expr| {
        if let ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, dividend, _) = &node.kind {
            // Whole numbers make 0 of 0 / 0.
            let is_float = !node.ty.is_integer() && node.ty != ScalarType::Bool;
            is_float && is_absent(graph, dividend, &all) && !is_absent(graph, dividend, &others)
        } else {
            false
        }
    };
    if rest.any(&asks) {
        return Err(Diagnostic::error(
            codes::FORGETS_ABSENT,
            span,
            format!("`{}` would forget which elements are absent", kept.name),
            "holds zeros there, which are divided",
        )
        .with_label(e.span, "may be absent")
        .with_help("keep the quotient as a whole"));
    }
    Ok(())
}

/// Whether nothing is left of an expression where these operands are absent.
fn is_absent(graph: &Graph, e: &Expr, absent: &[Access]) -> bool {
    as_literal(&graph.without(e, absent)).is_some_and(|value| value.is_zero())
}
