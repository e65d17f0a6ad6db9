//! Rows of results that threads of a block collect together: which are, and what they must be like.

use super::{Node, Over, Then, Walk};
use crate::graph::access::Table;
use crate::program::ir::TensorId;
use crate::units::{GpuLevel, Unit};

/// Whether warps or threads share loops of a row's producer.
pub(super) fn is_shared(producer: &Node) -> bool {
    let found = producer.visit(&mut |node, _| match node {
        Node::Loop(l) => match l.tag.parallel.as_ref().map(|p| p.unit) {
            Some(Unit::Gpu(unit)) if unit.level != GpuLevel::Block => Err(()),
            Some(Unit::Gpu(_) | Unit::CpuThread(_) | Unit::CpuVector) | None => Ok(()),
        },
        Node::Workspace(_) | Node::Within { .. } | Node::Sequence(_) | Node::Assign(..) => Ok(()),
    });
    found.is_err()
}

/// Whether a consumer does no more than store what the row has, each element once.
pub(super) fn is_copied(table: &Table, row: TensorId, consumer: &Node) -> bool {
    let Node::Loop(l) = consumer else {
        return false;
    };
    let Over::Merge(merge) = &l.over else {
        return false;
    };
    let Walk::One(id, body) = &merge.walk else {
        return false;
    };
    let stored = matches!(&body.then, Then::One(Node::Assign(assign, _)) if assign.op.is_none());
    stored && table.get(*id).access.tensor == row
}
