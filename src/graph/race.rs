//! Which loops have iterations that write the same elements.

use super::{Graph, Nest};
use crate::program::ir::{TensorId, VarId};

/// Whether iterations of a loop over `var` may write the same elements of the nest's result:
/// unless the coordinates of the element tell which iteration writes it.
#[must_use]
pub fn races(graph: &Graph, nest: &Nest, var: VarId) -> bool {
    !told(graph, &nest.lhs, var)
}

/// Whether iterations of a loop over `var` may write the same elements of the tensor, in any of
/// the nests.
#[must_use]
pub fn competed<'n>(
    graph: &Graph,
    nests: impl IntoIterator<Item = &'n Nest>,
    tensor: TensorId,
    var: VarId,
) -> bool {
    let mut found = false;
    for nest in nests {
        nest.visit(&mut |part| found |= part.tensor == tensor && races(graph, part, var));
    }
    found
}

/// Whether coordinates, such as the left side's, determine the value of the variable: it is one of
/// them, or all that it was made of are determined. (A part of a whole, a fused pair and a position
/// have one value for each value of what they were made of.)
#[must_use]
pub fn told(graph: &Graph, lhs: &[VarId], var: VarId) -> bool {
    let made = graph.provenance.producer(var).map(|r| r.told_by(var));
    let all = made.is_some_and(|parents| parents.into_iter().all(|v| told(graph, lhs, v)));
    lhs.contains(&var) || all
}
