//! Equal shares of a loop over rows: `CPUThread(static)` alone gives each thread equally many rows, of
//! which the first may hold most elements. Where each iteration walks a row of an operand, threads get
//! neighbouring rows with equally many elements and rows in them: empty ones are set, too.

use super::{Inside, Loop, Node, Over, Then, Walk};
use crate::graph::access::{AccessId, has_rows};
use crate::graph::simplify::Operands;
use crate::program::ir::{Role, VarId};
use crate::units::{OmpSchedule, Unit};

/// Finds by what the shared loops of a plan are cut into equal shares.
pub(super) fn find(of: Operands, inside: &mut Inside) {
    match &mut inside.then {
        Then::One(node) => find_in(of, node),
        Then::Apart(parts) => parts.iter_mut().for_each(|part| find(of, part)),
    }
}

fn find_in(of: Operands, node: &mut Node) {
    match node {
        Node::Loop(l) => {
            l.shares = shares(of, l);
            for body in l.over.bodies_mut() {
                find(of, body);
            }
        }
        Node::Within { body, .. } => find_in(of, body),
        Node::Workspace(workspace) => {
            find_in(of, &mut workspace.producer);
            find_in(of, &mut workspace.consumer);
        }
        Node::Sequence(nodes) => nodes.iter_mut().for_each(|node| find_in(of, node)),
        Node::Guarded(_, body) => find(of, body),
        Node::Assign(..) => {}
    }
}

/// The level whose elements are shared out, if the loop is one over the rows above it.
fn shares(of: Operands, l: &Loop) -> Option<(AccessId, usize)> {
    let unit = l.tag.parallel.as_ref().map(|parallel| parallel.unit);
    let reduced = l.contest.as_ref().is_some_and(|c| !c.reduced.is_empty());
    if unit != Some(Unit::CpuThread(OmpSchedule::Static(None))) || reduced {
        return None;
    }
    if let Over::Every { root, body } = &l.over
        && *root == Some(l.var)
    {
        walked(of, body, l.var)
    } else {
        None
    }
}

/// The first level that is walked below each value of `row`. What stands in a test need not be.
fn walked(of: Operands, inside: &Inside, row: VarId) -> Option<(AccessId, usize)> {
    if inside.found.iter().any(|found| found.by.skips()) {
        return None;
    }
    match &inside.then {
        Then::One(node) => walked_in(of, node, row),
        Then::Apart(parts) => parts.iter().find_map(|part| walked(of, part, row)),
    }
}

fn walked_in(of: Operands, node: &Node, row: VarId) -> Option<(AccessId, usize)> {
    match node {
        Node::Loop(l) => {
            let levels = match &l.over {
                Over::Stored { access, level, .. } => vec![(*access, *level)],
                Over::Merge(merge) if !matches!(merge.walk, Walk::Nothing) => merge.levels.clone(),
                Over::Merge(_) | Over::Constant(..) | Over::Every { .. } | Over::Fused(_) => {
                    Vec::new()
                }
                // Its coordinates are searched, whatever row they are of.
                Over::Positions { .. } => return None,
            };
            let mut below = levels.into_iter();
            let own = below.find(|&(id, level)| {
                let access = &of.table.get(id).access;
                let tensor = of.tensor(access.tensor);
                // The positions of what is updated may be made anew.
                level == 1 && tensor.role == Role::Input && has_rows(tensor, access, row)
            });
            let mut bodies = l.over.bodies().into_iter();
            own.or_else(|| bodies.find_map(|body| walked(of, body, row)))
        }
        Node::Within { body, .. } => walked_in(of, body, row),
        Node::Workspace(workspace) => walked_in(of, &workspace.producer, row)
            .or_else(|| walked_in(of, &workspace.consumer, row)),
        Node::Sequence(nodes) => nodes.iter().find_map(|node| walked_in(of, node, row)),
        // There may be no such row.
        Node::Guarded(..) => None,
        Node::Assign(..) => None,
    }
}
