//! How large a workspace is.

use crate::diagnostic::codes::schedule as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::Graph;
use crate::program::ir::{SizeExpr, VarId};
use crate::program::ranges::size;

/// The extents of a workspace over these variables.
///
/// # Errors
/// One of them has no number of values before the function runs, or begins below zero.
pub(super) fn dims(graph: &Graph, vars: &[VarId], span: Span) -> Result<Vec<SizeExpr>, Diagnostic> {
    let mut dims = Vec::new();
    for &var in vars {
        // Variables of the program keep their values as subscripts, which begin at zero.
        if graph.provenance.producer(var).is_none()
            && let Some((lo, _)) = graph.static_range(var)
            && !size::never_negative(lo)
        {
            return Err(begins_below(graph, var, lo, span));
        }
        let extent = match graph.provenance.producer(var) {
            None => graph.static_range(var).map(|(_, hi)| hi.clone()),
            Some(_) => graph.extent(var),
        };
        let Some(extent) = extent else {
            let name = &graph.var(var).name;
            return Err(Diagnostic::error(
                codes::NO_SIZE,
                span,
                format!("how many values `{name}` has is known only when it runs"),
                "the workspace would have no size",
            )
            .with_help(format!(
                "`split` it and use the inner part, or `bound` it (`bound({name}, b, 64, MaxConstraint)`)"
            )));
        };
        dims.push(natural(extent));
    }
    Ok(dims)
}

fn begins_below(graph: &Graph, var: VarId, lo: &SizeExpr, span: Span) -> Diagnostic {
    let name = &graph.var(var).name;
    let help = if let SizeExpr::Const(lo) = lo {
        format!(
            "count from zero: `shift({name}, {})` before",
            lo.saturating_neg()
        )
    } else {
        format!("`split` `{name}` and use the inner part")
    };
    Diagnostic::error(
        codes::NO_SIZE,
        span,
        format!("`{name}` may begin below zero, where a workspace has no elements"),
        "values of this variable would be its subscripts",
    )
    .with_help(help)
}

/// An empty range may count below zero; a workspace has no fewer than no elements.
fn natural(extent: SizeExpr) -> SizeExpr {
    if let SizeExpr::Const(c) = extent {
        SizeExpr::Const(c.max(0))
    } else if let SizeExpr::Size(_) | SizeExpr::Param(_) | SizeExpr::Max(..) = extent {
        extent
    } else {
        SizeExpr::Max(Box::new(SizeExpr::Const(0)), Box::new(extent))
    }
}
