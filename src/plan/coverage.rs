//! Which elements of a tensor a statement sets: all, those that an operand stores, or some.
//!
//! What is not known to be whole holds its fill before, so the answer is whole only where each loop
//! that comes to the tensor's assignments visits all of its values, and nothing is left out where
//! operands are absent.

use super::results::Results;
use super::{Absent, By, Inside, Loop, Node, Over, Then, Walk};
use crate::graph::Nest;
use crate::graph::access::AccessId;
use crate::graph::simplify::Operands;
use crate::program::ir::{TensorId, VarId};
use std::collections::{BTreeMap, BTreeSet};

/// The elements that are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    Whole,
    /// Those at whose coordinates the access stores something.
    Stored(AccessId),
    /// Nothing is known of the others.
    Part,
}

impl Coverage {
    /// Inside of what is come to only where `by` says.
    fn within(self, by: Coverage) -> Coverage {
        match (self, by) {
            (own, Coverage::Whole) => own,
            (Coverage::Whole, by) => by,
            (own, by) if own == by => own,
            (_, _) => Coverage::Part,
        }
    }
}

/// The coverage of what the nests define, and what is to be filled before: what is `filled` for
/// other reasons, and what may be and is not set as a whole.
pub(super) fn fills(
    (operands, results): (Operands, &Results),
    nests: &[&Nest],
    body: Option<&Inside>,
    mut filled: BTreeSet<TensorId>,
) -> (BTreeMap<TensorId, Coverage>, BTreeSet<TensorId>) {
    let graph = operands.graph;
    let mut all = BTreeMap::new();
    // What workspaces hold is said where they are.
    filled.retain(|tensor| !graph.workspaces.contains(tensor));
    for nest in nests.iter().filter(|nest| nest.op.is_none()) {
        let tensor = nest.tensor;
        let is_array = !graph.is_variable(tensor, operands.tensor(tensor));
        if !is_array || operands.tensor(tensor).is_appended() {
            continue;
        }
        let whole = graph.covers_all(&nest.lhs, &operands.tensor(tensor).dims);
        let covered = body.filter(|_| whole);
        let covered = covered.and_then(|body| Covers::of(operands, results, tensor).inside(body));
        let covered = covered.unwrap_or(Coverage::Part);
        if covered != Coverage::Whole && operands.droppable.contains(&tensor) {
            filled.insert(tensor);
        }
        all.insert(tensor, covered);
    }
    (all, filled)
}

/// Asks what is set of one tensor.
pub(super) struct Covers<'a> {
    pub operands: Operands<'a>,
    pub tensor: TensorId,
    /// What counts the positions that its elements have in place of coordinates.
    pub counted: Vec<VarId>,
    /// Whether what is combined with an element sets it, too.
    pub combined: bool,
}

impl<'a> Covers<'a> {
    pub fn of(operands: Operands<'a>, results: &Results, tensor: TensorId) -> Self {
        let graph = operands.graph;
        let mut counted = Vec::new();
        for nest in results.nests {
            nest.visit(&mut |part| {
                let own = part.lhs.iter().filter(|_| part.tensor == tensor);
                let positions = own.filter_map(|&var| graph.provenance.position_of(var));
                counted.extend(positions.map(|p| p.pos));
            });
        }
        Covers {
            operands,
            tensor,
            counted,
            combined: false,
        }
    }

    /// `None` if nothing sets the tensor.
    pub fn inside(&self, inside: &Inside) -> Option<Coverage> {
        let own = match &inside.then {
            Then::One(node) => self.node(node),
            Then::Apart(parts) => any(parts.iter().map(|part| self.inside(part))),
        };
        let found = inside.found.iter().map(|found| match found.by {
            By::Probe(Absent::Skip) | By::Search(Absent::Skip) => Coverage::Stored(found.access),
            By::Arithmetic | By::Probe(Absent::Fill) | By::Search(Absent::Fill) => Coverage::Whole,
        });
        found.fold(own, |own, by| own.map(|own| own.within(by)))
    }

    pub fn node(&self, node: &Node) -> Option<Coverage> {
        match node {
            Node::Loop(l) => self.of_loop(l),
            Node::Within { body, .. } => self.node(body),
            Node::Workspace(workspace) => any([
                self.node(&workspace.producer),
                self.node(&workspace.consumer),
            ]),
            Node::Sequence(nodes) => any(nodes.iter().map(|node| self.node(node))),
            // (Not known to be whole: the loop has other values than the statement.)
            Node::Guarded(_, body) => {
                let own = self.inside(body);
                own.map(|own| own.within(Coverage::Part))
            }
            Node::Assign(assign, _) => {
                let sets = self.combined || assign.op.is_none();
                (assign.tensor == self.tensor && sets).then_some(Coverage::Whole)
            }
        }
    }

    fn of_loop(&self, l: &Loop) -> Option<Coverage> {
        let (own, by) = match &l.over {
            Over::Constant(tensor, _) => (
                (*tensor == self.tensor).then_some(Coverage::Whole),
                Coverage::Whole,
            ),
            Over::Every { body, .. } | Over::Fused(body) => (self.inside(body), Coverage::Whole),
            Over::Positions { access, pos, body }
            | Over::Stored {
                access, pos, body, ..
            } => (self.inside(body), self.stored(*access, *pos)),
            Over::Merge(merge) => self.of_walk(&merge.walk),
        };
        // Between tiles of positions there may be coordinates of none.
        let by = if l.cut { by.within(Coverage::Part) } else { by };
        own.map(|own| own.within(by))
    }

    fn of_walk(&self, walk: &Walk) -> (Option<Coverage>, Coverage) {
        match walk {
            Walk::Nothing => (None, Coverage::Part),
            Walk::One(id, body) => (self.inside(body), Coverage::Stored(*id)),
            Walk::OneAndRest { body, rest, .. } => {
                let own = [self.inside(body), self.inside(rest)];
                (any(own), Coverage::Part)
            }
            Walk::Leap(case) => (self.inside(&case.inside), Coverage::Part),
            Walk::Cases(cases) => match cases.as_slice() {
                [case] if case.present.len() == 1 => {
                    let stored = case.present.first().copied();
                    let by = stored.map_or(Coverage::Part, Coverage::Stored);
                    (self.inside(&case.inside), by)
                }
                cases => (
                    any(cases.iter().map(|case| self.inside(&case.inside))),
                    Coverage::Part,
                ),
            },
            Walk::Full { cases, rest } => {
                let bodies = cases.iter().map(|case| &case.inside).chain([rest]);
                let own: Vec<Option<Coverage>> = bodies.map(|body| self.inside(body)).collect();
                // Each coordinate is of one case.
                let whole = own.iter().all(|own| *own == Some(Coverage::Whole));
                let by = if whole {
                    Coverage::Whole
                } else {
                    Coverage::Part
                };
                (any(own), by)
            }
            Walk::Wide { full, body, .. } => {
                let by = if *full {
                    Coverage::Whole
                } else {
                    Coverage::Part
                };
                (self.inside(body), by)
            }
        }
    }

    /// What loops over positions of an access come to.
    fn stored(&self, access: AccessId, pos: VarId) -> Coverage {
        let tensor = self.operands.table.get(access).access.tensor;
        let tensor = self.operands.tensor(tensor);
        // At positions of a bitmap there may be no element.
        let mut levels = tensor.format.levels.iter();
        let inhabited = levels.all(|level| level.is_full() || level.is_walked());
        let all = !tensor.is_sparse() || (inhabited && self.counted.contains(&pos));
        if all {
            Coverage::Whole
        } else {
            Coverage::Stored(access)
        }
    }
}

/// Of statements one after the other.
fn any(parts: impl IntoIterator<Item = Option<Coverage>>) -> Option<Coverage> {
    let parts: Vec<Coverage> = parts.into_iter().flatten().collect();
    match parts.as_slice() {
        [] => None,
        [only] => Some(*only),
        several if several.contains(&Coverage::Whole) => Some(Coverage::Whole),
        _ => Some(Coverage::Part),
    }
}
