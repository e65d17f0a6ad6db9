//! What a workspace must not forget: that an element is absent.
//!
//! A workspace holds what the expression that it keeps is where its operands are absent, most often a zero, and a
//! stored zero is a number like any other. Of finite numbers, what it is a factor of is zero still; but an absent
//! dividend makes zero of any divisor, and a stored zero makes NaN of a divisor that is zero.

use crate::diagnostic::codes::schedule as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::fold::{as_literal, fold};
use crate::graph::order::sparse_accesses;
use crate::graph::{Graph, Nest};
use crate::operators::Func;
use crate::program::ir::{Access, BinaryOp, Expr, ExprKind, TensorId};
use crate::scalar::{Literal, ScalarType};

/// Beside an element of the workspace, so many operands of a dividend are tried as absent and as present.
const MOST_TRIED: usize = 10;

/// What an expression is where none of its operands stores anything, if that is one value.
pub(super) fn value(graph: &Graph, e: &Expr) -> Option<Literal> {
    let absent = |access: &Access| {
        let tensor = graph.tensor(access.tensor);
        tensor.is_sparse().then_some(tensor.fill)
    };
    as_literal(&fold(e, &absent, &|access| graph.exact(access)))
}

/// Checks that the nest, which reads a workspace, divides nothing by zero that is absent without the workspace; and
/// whether it divides what was a sum of quotients before.
///
/// # Errors
/// It may, where the workspace has a place for each element.
pub(super) fn check(
    graph: &Graph,
    nest: &Nest,
    (workspace, was_divided): (TensorId, bool),
    span: Span,
) -> Result<(), Diagnostic> {
    let kept = graph.tensor(workspace);
    let mut producers = nest.producers.iter();
    let Some(producer) = producers.find(|p| p.tensor == workspace) else {
        return Ok(());
    };
    // One value is set where its loops stand, and those over what is absent do not come there; a sum that was one of
    // quotients is 0, as an element is.
    let summed = if let ExprKind::Reduce { body, .. } = &producer.rhs.kind {
        Some(&**body).filter(|_| was_divided)
    } else {
        None
    };
    if (kept.dims.is_empty() && summed.is_none()) || kept.is_sparse() {
        return Ok(());
    }
    let e = summed.unwrap_or(&producer.rhs);
    if !is_absent(graph, e, &sparse_accesses(graph, e)) {
        return Ok(());
    }
    let asks = |node: &Expr| {
        let division = division(node).filter(|(_, divisor)| !is_nonzero(divisor));
        division.is_some_and(|(dividend, _)| forgets(graph, dividend, workspace))
    };
    if nest.rhs.any(&asks) {
        return Err(Diagnostic::error(
            codes::FORGETS_ABSENT,
            span,
            format!("`{}` would forget which elements are absent", kept.name),
            "holds zeros there, which are divided",
        )
        .with_label(e.span, "may be absent")
        .with_help("keep the quotient as a whole: `precompute` it, or leave the command out"));
    }
    Ok(())
}

/// Dividend and divisor of what makes NaN of two zeros. (Whole numbers make 0.)
fn division(e: &Expr) -> Option<(&Expr, &Expr)> {
    let is_float = !e.ty.is_integer() && e.ty != ScalarType::Bool;
    let operands = if let ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, a, b) = &e.kind {
        Some((&**a, &**b))
    } else if let ExprKind::Call(Func::Mod, args) = &e.kind
        && let [a, b] = args.as_slice()
    {
        Some((a, b))
    } else {
        None
    };
    operands.filter(|_| is_float)
}

/// A constant other than zero, or a size: where one is zero, there are no elements.
#[must_use]
pub(in crate::schedule) fn is_nonzero(e: &Expr) -> bool {
    match (&e.kind, as_literal(e)) {
        (ExprKind::Cast(inner), _) => is_nonzero(inner),
        (ExprKind::Size(_), _) => true,
        (_, value) => value.is_some_and(|v| !v.is_zero() && !v.as_f64().is_nan()),
    }
}

/// Whether some operands leave a dividend to the workspace alone: it is absent together with the element there, and
/// not without it.
fn forgets(graph: &Graph, dividend: &Expr, workspace: TensorId) -> bool {
    let reads = dividend.accesses().into_iter();
    let own: Vec<Access> = reads.filter(|a| a.tensor == workspace).cloned().collect();
    let mut others = sparse_accesses(graph, dividend);
    others.truncate(MOST_TRIED);
    !own.is_empty()
        && (0..1_u32 << others.len()).any(|tried| {
            let gone = others.iter().enumerate();
            let gone = gone.filter(|(at, _)| tried >> at & 1 == 1);
            let mut absent: Vec<Access> = gone.map(|(_, access)| access.clone()).collect();
            if is_absent(graph, dividend, &absent) {
                return false;
            }
            absent.extend(own.iter().cloned());
            is_absent(graph, dividend, &absent)
        })
}

/// Whether nothing is left of an expression where these operands are absent.
fn is_absent(graph: &Graph, e: &Expr, absent: &[Access]) -> bool {
    as_literal(&graph.without(e, absent)).is_some_and(|value| value.is_zero())
}
