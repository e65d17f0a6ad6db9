//! Which loops have iterations that write the same elements.

use super::known::Known;
use super::order::vars_in;
use super::{Graph, Nest};
use crate::program::ir::{self, TensorId, VarId};

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

/// Whether coordinates, such as the left side's, determine which iteration of a loop over the variable it is: it is
/// one of them, and counts from one beginning, or all that it was made of are determined. (A part of a whole, a fused
/// pair and a position have one value for each value of what they were made of.)
#[must_use]
pub fn told(graph: &Graph, lhs: &[VarId], var: VarId) -> bool {
    let told = Told {
        graph,
        lhs,
        unit: var,
    };
    told.of(var)
}

/// Which iteration of the loop over `unit` coordinates tell.
struct Told<'a> {
    graph: &'a Graph,
    lhs: &'a [VarId],
    unit: VarId,
}

impl Told<'_> {
    fn of(&self, var: VarId) -> bool {
        let made = self.graph.provenance.producer(var).map(|r| r.told_by(var));
        let all = made.is_some_and(|parents| parents.into_iter().all(|v| self.of(v)));
        (self.lhs.contains(&var) && self.has_one_beginning(var)) || all
    }

    /// Whether a coordinate tells how far it is from where its range begins: iterations of a loop that was brought
    /// outside of what decides the beginning count from other ones.
    fn has_one_beginning(&self, var: VarId) -> bool {
        let ir::Bound::Dynamic(begin) = &self.graph.var(var).range.lo else {
            return true;
        };
        let mut decides = vars_in(begin).into_iter();
        decides.all(|v| self.lhs.contains(&v) || (v != var && self.of(v)) || self.is_same(v))
    }

    /// Whether iterations of the loop have one value of the variable: loops outside tell it, wherever the loop is.
    fn is_same(&self, var: VarId) -> bool {
        let mut same = Vec::new();
        self.graph.visit_nests(&mut |nest| {
            let loops = nest.loop_vars();
            if let Some(at) = loops.iter().position(|&v| v == self.unit) {
                same.push(Known::after(self.graph, &loops[..at]).tells(var));
            }
        });
        !same.is_empty() && same.into_iter().all(|same| same)
    }
}
