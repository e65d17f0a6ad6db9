//! Collected rows of which all elements come, or none: `C(i,k) = A(i,j) * B(j,k)` with a dense B
//! comes to each coordinate k as soon as row i of A has an element.
//!
//! Such a row is an array that holds its fill from the first loop over all coordinates on; nothing
//! says at which place an element is, and nothing is sorted.

use super::coverage::{Coverage, Covers};
use super::results::Results;
use super::{Inside, Keeps, Node, Then};
use crate::graph::simplify::Operands;
use crate::program::ir::{TensorId, VarId};
use std::collections::BTreeSet;

/// The producer of a collected row with each loop that comes to all of its coordinates marked;
/// `None` where some do not.
pub(super) fn completed(
    (operands, results): (Operands, &Results),
    row: TensorId,
    producer: &Node,
) -> Option<Node> {
    let mut lhs = None;
    producer.each(&mut |node| {
        if let Node::Assign(assign, _) = node
            && assign.tensor == row
        {
            lhs = Some(assign.lhs.clone());
        }
    });
    let lhs = lhs?;
    let dims = &operands.tensor(row).dims;
    let root = lhs
        .first()
        .filter(|_| operands.graph.covers_all(&lhs, dims))?;
    let covers = Covers {
        combined: true,
        ..Covers::of(operands, results, row)
    };
    let mut marked = producer.clone();
    let row = Row {
        covers,
        root: *root,
    };
    row.mark(&mut marked).then_some(marked)
}

/// Rows of which all elements come in some cases of what is absent, and only some in others.
pub(super) fn mixed(body: Option<&Inside>) -> BTreeSet<TensorId> {
    let (mut whole, mut parts) = (BTreeSet::new(), BTreeSet::new());
    if let Some(body) = body {
        body.each(&mut |node| {
            if let Node::Workspace(workspace) = node {
                match workspace.keeps {
                    Keeps::Whole | Keeps::SharedWhole => whole.insert(workspace.temp),
                    Keeps::Row | Keeps::Shared => parts.insert(workspace.temp),
                    Keeps::Put(_)
                    | Keeps::Found(_)
                    | Keeps::Hashed
                    | Keeps::Noted
                    | Keeps::Fill
                    | Keeps::All => false,
                };
            }
        });
    }
    whole.intersection(&parts).copied().collect()
}

struct Row<'a> {
    covers: Covers<'a>,
    /// What its coordinate is in the producer.
    root: VarId,
}

impl Row<'_> {
    /// Whether all that is added stands in a loop over all coordinates.
    fn mark(&self, node: &mut Node) -> bool {
        let covered = self.covers.node(node);
        if covered.is_none() {
            return true;
        }
        let provenance = &self.covers.operands.graph.provenance;
        match node {
            Node::Loop(l) if covered == Some(Coverage::Whole) => {
                l.completes = Some(self.covers.tensor);
                true
            }
            // A loop over parts of the coordinates: those inside come to a part.
            Node::Loop(l) if provenance.roots(l.var).contains(&self.root) => false,
            Node::Loop(l) => l
                .over
                .bodies_mut()
                .into_iter()
                .all(|body| self.inside(body)),
            Node::Sequence(nodes) => nodes.iter_mut().all(|node| self.mark(node)),
            Node::Guarded(_, body) => self.inside(body),
            Node::Within { .. } | Node::Workspace(_) | Node::Assign(..) => false,
        }
    }

    fn inside(&self, body: &mut Inside) -> bool {
        match &mut body.then {
            Then::One(node) => self.mark(node),
            Then::Apart(parts) => parts.iter_mut().all(|part| self.inside(part)),
        }
    }
}
