//! Rows of results that threads of a block collect together: which are, and what they must be like.

use super::{Inside, Node, Over, Then, Walk};
use crate::graph::access::Table;
use crate::program::ir::{Expr, ExprKind, TensorId};
use crate::units::{GpuLevel, Unit};

/// Whether warps or threads share loops of a row's producer that come to its elements.
pub(super) fn is_shared(producer: &Node, row: TensorId) -> bool {
    let comes = |body: &Inside| {
        let found = body.visit(&mut |node, _| match node {
            Node::Assign(assign, _) if assign.tensor == row => Err(()),
            Node::Assign(..)
            | Node::Loop(_)
            | Node::Workspace(_)
            | Node::Within { .. }
            | Node::Guarded(..)
            | Node::Sequence(_) => Ok(()),
        });
        found.is_err()
    };
    let found = producer.visit(&mut |node, _| match node {
        Node::Loop(l) => match l.tag.parallel.as_ref().map(|p| p.unit) {
            Some(Unit::Gpu(unit)) if unit.level != GpuLevel::Block => {
                match l.over.bodies().into_iter().any(comes) {
                    true => Err(()),
                    false => Ok(()),
                }
            }
            Some(Unit::Gpu(_) | Unit::CpuThread(_) | Unit::CpuVector) | None => Ok(()),
        },
        Node::Workspace(_)
        | Node::Within { .. }
        | Node::Sequence(_)
        | Node::Guarded(..)
        | Node::Assign(..) => Ok(()),
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
    let read = |e: &Expr| matches!(&e.kind, ExprKind::Access(access) if access.tensor == row);
    let stored = matches!(&body.then, Then::One(Node::Assign(assign, _))
        if assign.op.is_none() && read(&assign.rhs));
    stored && body.found.is_empty() && table.get(*id).access.tensor == row
}
