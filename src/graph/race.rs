//! Which loops have iterations that write the same elements.

use super::terms::reduces;
use super::{Graph, Nest};
use crate::program::ir::{ExprKind, VarId};

/// Whether iterations of a loop over `var` write the same elements of the nest's result:
/// it takes part in a reduction, or in no subscript of the left side.
#[must_use]
pub fn races(graph: &Graph, nest: &Nest, var: VarId) -> bool {
    let from = graph.provenance.ancestors(var);
    let left = from.iter().any(|v| nest.lhs.contains(v));
    let reduced = reduces(&nest.rhs).iter().any(|sum| {
        matches!(&sum.kind, ExprKind::Reduce { vars, .. } if vars.iter().any(|v| from.contains(v)))
    });
    reduced || !left
}
