//! Workspaces of `precompute` that list what they hold: an array has a place for each coordinate, so that
//! what reads it would walk, and a sparse result store, all of them.

use super::sorted_by;
use crate::graph::fold::{as_literal, is_fill};
use crate::graph::order::{is_sparse_driven, sparse_accesses};
use crate::graph::terms::root_reduction;
use crate::graph::{Graph, Nest};
use crate::program::ir::{Access, TensorId, VarId};
use crate::scalar::Literal;

impl Graph {
    /// The graph with a workspace, which a schedule put between a sparse result, or a row of one, and what it is of,
    /// that lists what it holds: where it is such a row, or a factor of sums that it holds products for.
    #[must_use]
    pub fn with_list(&self, nest: &Nest, workspace: TensorId) -> Option<Graph> {
        let producer = nest.producers.iter().find(|p| {
            let mut tags = p.loops.iter().map(|l| &l.tag.parallel);
            p.tensor == workspace && tags.all(Option::is_none)
        })?;
        let written = self.tensor(nest.tensor);
        let fill = self.unlisted(producer).filter(|_| written.is_appended())?;
        let mut listed = self.clone();
        let tensor = &mut listed.tensors[workspace.index()];
        tensor.format = sorted_by(vec![0], written.format.index_bits);
        tensor.fill = fill;
        let row = listed.as_row(nest, workspace);
        let ordered = match row {
            Some(ordered) => ordered,
            None if self.arrays => return None,
            None => listed.as_factor(nest, producer, workspace)?,
        };
        for level in &mut listed.tensors[workspace.index()].format.levels {
            level.ordered = ordered;
        }
        listed.collected.push(workspace);
        Some(listed)
    }

    /// Whether a listed workspace is a row of what the nest writes, and if so, whether in the order of its
    /// coordinates.
    fn as_row(&self, nest: &Nest, workspace: TensorId) -> Option<bool> {
        let written = self.tensor(nest.tensor);
        let (level, &mode) = (written.format.levels.last()?, written.format.modes.last()?);
        let (var, ordered) = (nest.lhs[mode], level.ordered);
        let accesses = sparse_accesses(self, &nest.rhs);
        let is_row = !level.is_placed()
            && nest.loop_vars().last() == Some(&var)
            && is_read_at(&accesses, workspace, var)
            && is_fill(&self.without(&nest.rhs, &accesses), written);
        // What is walked alone into what has no order needs none.
        let alone = accesses.len() == 1 && (!ordered || self.collected.contains(&nest.tensor));
        is_row.then_some(!alone)
    }

    /// Whether a listed workspace is a factor of what the nest adds up over its variable, and if so, whether it is
    /// walked beside others there, in the order of its coordinates.
    fn as_factor(&self, nest: &Nest, producer: &Nest, workspace: TensorId) -> Option<bool> {
        let (op, summed, body) = root_reduction(&nest.rhs, nest.op)?;
        let accesses = sparse_accesses(self, body);
        let (own, others): (Vec<Access>, Vec<Access>) = accesses
            .into_iter()
            .partition(|access| access.tensor == workspace);
        let var = own.first()?.subscripts.first()?.as_var()?;
        let of_sum = summed.contains(&var) && nest.loop_vars().contains(&var);
        // What is full is no longer in a list.
        let is_sparse = is_sparse_driven(self, &producer.rhs, *producer.lhs.first()?);
        let neutral = op.neutral(body.ty.compute());
        let rest = as_literal(&self.without(body, &own));
        let is_neutral = rest.is_some_and(|value| value.same_value(neutral));
        let beside = others.iter().any(|access| {
            let level = self.level_of(access, var);
            level.is_some_and(|at| !self.tensor(access.tensor).format.levels[at].is_full())
        });
        let fits = of_sum && is_sparse && is_neutral && is_read_at(&own, workspace, var);
        fits.then_some(beside)
    }

    /// What a workspace is worth where its nest comes to nothing, if it can list the rest.
    fn unlisted(&self, producer: &Nest) -> Option<Literal> {
        let sum = root_reduction(&producer.rhs, producer.op);
        let body = sum.map_or(&producer.rhs, |(_, _, body)| body);
        let absent = as_literal(&self.without(body, &sparse_accesses(self, body)))?;
        let neutral = sum.map(|(op, ..)| op.neutral(body.ty.compute()));
        let is_neutral = neutral.is_none_or(|neutral| neutral.same_value(absent));
        (is_neutral && producer.lhs.len() == 1).then_some(absent)
    }
}

/// Whether a workspace is read at this variable alone.
fn is_read_at(accesses: &[Access], workspace: TensorId, var: VarId) -> bool {
    let mut reads = accesses.iter().filter(|a| a.tensor == workspace);
    reads.all(|a| a.subscripts.len() == 1 && a.subscripts[0].as_var() == Some(var))
}
