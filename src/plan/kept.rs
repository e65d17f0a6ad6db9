//! Rows of results whose coordinates are there: where a row is collected in any order and stored as it
//! is, each value can be put where the result has its coordinate, and nothing is listed or sorted.

use super::results::Results;
use super::{Inside, Made, Node, Over, Then, Walk};
use crate::graph::Assign;
use crate::graph::simplify::Operands;
use crate::program::ir::{ExprKind, TensorId};

/// The result in whose row the values of a workspace can be put as they come: its consumer stores
/// each as it is, in a row that keeps its coordinates, and an element without terms is what an
/// element is before its first one.
pub(super) fn row_of(
    operands: Operands,
    results: &Results,
    temp: TensorId,
    (producer, consumer): (&Node, &Node),
) -> Option<TensorId> {
    let (assign, level) = copied(consumer)?;
    let ExprKind::Access(access) = &assign.rhs.kind else {
        return None;
    };
    let kept = (assign.tensor, Made::Kept);
    let (own, row) = (operands.tensor(assign.tensor), operands.tensor(temp));
    let levels = &own.format.levels;
    // Runs of equal coordinates belong to the level below.
    let alone =
        level + 1 == levels.len() && level.checked_sub(1).is_none_or(|at| levels[at].unique);
    let mut neutral = true;
    terms(producer, &mut |assign| {
        if let (true, Some(op)) = (assign.tensor == temp, assign.op) {
            neutral &= op.neutral(row.ty.compute()).same_value(own.fill);
        }
    });
    let same = access.tensor == temp && assign.op.is_none() && own.ty == row.ty;
    (results.made.contains(&kept) && alone && neutral && same).then_some(assign.tensor)
}

/// The result that keeps its coordinates in which the elements of a workspace are stored as they are.
pub(super) fn stored_in(results: &Results, consumer: &Node) -> Option<TensorId> {
    let (assign, _) = copied(consumer)?;
    let kept = (assign.tensor, Made::Kept);
    results.made.contains(&kept).then_some(assign.tensor)
}

/// The assignment of a loop that does nothing but store an element for each of one row, and the
/// level of the result that it opens.
fn copied(consumer: &Node) -> Option<(&Assign, usize)> {
    let Node::Loop(l) = consumer else { return None };
    let Over::Merge(merge) = &l.over else {
        return None;
    };
    let Walk::One(_, inside) = &merge.walk else {
        return None;
    };
    let Inside {
        opened,
        then: Then::One(Node::Assign(assign, _)),
        ..
    } = inside
    else {
        return None;
    };
    let [opened] = opened.as_slice() else {
        return None;
    };
    (opened.tensor == assign.tensor && !opened.vacuous).then_some((assign, opened.level))
}

/// Shows all assignments to `f`.
fn terms(node: &Node, f: &mut impl FnMut(&Assign)) {
    let all = node.visit(&mut |node, _| {
        if let Node::Assign(assign, _) = node {
            f(assign);
        }
        Ok::<(), ()>(())
    });
    debug_assert!(all.is_ok(), "nothing is refused");
}
