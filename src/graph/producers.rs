//! Where workspaces stand among the loops of a nest.

use super::concretize::Concretizer;
use super::order::{range_vars, vars_in};
use super::terms::{reads, root_reduction};
use super::{Graph, Nest, Stmt};
use crate::program::ir::{Expr, ReduceOp, VarId};

impl Concretizer<'_> {
    /// `where(consumer, producer)` for each workspace at a depth from `lo` to `hi` that
    /// `reader` reads; one that reads another stands inside it.
    pub(super) fn produce(
        &mut self,
        lo: usize,
        hi: usize,
        consumer: Stmt,
        reader: &Expr,
    ) -> Option<Stmt> {
        let mut stmt = consumer;
        let nest = self.nest;
        for at in readers_first(nest) {
            let producer = &nest.producers[at];
            let (depth, outer) = self.depths[at].clone();
            let read = reads(reader, producer.tensor) || read_by_others(nest, at);
            if !(lo..=hi).contains(&depth) || !read {
                continue;
            }
            let tree = Concretizer::new(self.graph, producer, &outer, self.tensors).run()?;
            stmt = Stmt::Where {
                consumer: Box::new(stmt),
                producer: Box::new(tree),
                temp: producer.tensor,
                init: scalar_sum(producer),
            };
        }
        Some(stmt)
    }
}

/// How a workspace of one value gathers it, if it is a sum: in the variable that holds it.
pub(super) fn scalar_sum(producer: &Nest) -> Option<ReduceOp> {
    let (op, ..) = root_reduction(&producer.rhs, producer.op)?;
    (producer.lhs.is_empty() && producer.op.is_none()).then_some(op)
}

/// The workspaces of a nest by number, each behind those that read it: the last one is
/// computed first.
fn readers_first(nest: &Nest) -> Vec<usize> {
    let mut left: Vec<usize> = (0..nest.producers.len()).collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        let is_read = |&at: &usize| left.iter().any(|&by| reads_other(nest, by, at));
        // (No workspace reads itself, not even by others.)
        let next = left.iter().position(|at| !is_read(at)).unwrap_or(0);
        order.push(left.remove(next));
    }
    order
}

/// Whether another workspace of the nest reads workspace number `at`.
fn read_by_others(nest: &Nest, at: usize) -> bool {
    (0..nest.producers.len()).any(|by| reads_other(nest, by, at))
}

/// Whether workspace number `by` of the nest reads workspace number `at`, another one.
fn reads_other(nest: &Nest, by: usize, at: usize) -> bool {
    let mut read = false;
    nest.producers[by].visit(&mut |part| read |= reads(&part.rhs, nest.producers[at].tensor));
    by != at && read
}

/// The outer loops of `nest` inside which the nest of a workspace stands: down to the
/// innermost one that it needs, or that another workspace needs that it reads.
#[must_use]
pub fn around(graph: &Graph, nest: &Nest, producer: &Nest) -> Vec<VarId> {
    let is_read = |other: &Nest| {
        let mut read = false;
        producer.visit(&mut |part| read |= reads(&part.rhs, other.tensor));
        read && other.tensor != producer.tensor
    };
    let others = nest.producers.iter().filter(|other| is_read(other));
    others
        .map(|other| around(graph, nest, other))
        .chain([needed_by(graph, nest, producer)])
        .max_by_key(Vec::len)
        .unwrap_or_default()
}

fn needed_by(graph: &Graph, nest: &Nest, producer: &Nest) -> Vec<VarId> {
    let mut needed = Vec::new();
    let mut own = Vec::new();
    producer.visit(&mut |p| {
        needed.extend(vars_in(&p.rhs));
        needed.extend(p.lhs.iter().copied());
        own.extend(p.loop_vars());
    });
    let mut at = 0;
    while let Some(&var) = needed.get(at) {
        for root in graph.provenance.roots(var) {
            for outer in range_vars(graph, root) {
                if !needed.contains(&outer) {
                    needed.push(outer);
                }
            }
        }
        at += 1;
    }
    // A loop of its own stands for the one that it is a copy of.
    let copied: Vec<VarId> = own
        .iter()
        .flat_map(|&v| graph.provenance.ancestors(v))
        .collect();
    let around: Vec<VarId> = nest
        .loop_vars()
        .into_iter()
        .filter(|v| !copied.contains(v))
        .collect();
    let all: Vec<VarId> = around.iter().copied().chain(own.iter().copied()).collect();
    let leaves: Vec<VarId> = needed
        .iter()
        .flat_map(|&var| graph.provenance.leaves(var, &all))
        .collect();
    let last = nest
        .loops
        .iter()
        .rposition(|l| around.contains(&l.var) && leaves.contains(&l.var));
    nest.loops[..last.map_or(0, |last| last + 1)]
        .iter()
        .map(|l| l.var)
        .collect()
}
