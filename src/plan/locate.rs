//! Where operands stand: levels whose coordinates are known.
//!
//! A level that is located by arithmetic is so as far out as possible. One that could be walked and
//! whose coordinate is known before it is (a diagonal, a gather, an operand stored in another
//! order) is searched; where there is no element, what is left of the statement without the operand
//! says what is done.

use super::around::Around;
use super::results::Results;
use super::{Absent, By, Found};
use crate::graph::Stmt;
use crate::graph::access::{AccessId, may_lie_outside};
use crate::graph::simplify::Operands;
use crate::level::ArrayRole;
use std::collections::BTreeSet;

/// Finds all levels that can be found at a place where `stmt` is to be done.
pub(super) fn locate(
    operands: Operands,
    results: &Results,
    stmt: &Stmt,
    around: &mut Around,
) -> Vec<Found> {
    // What walks positions tells parts of them, which subscripts of workspaces may be.
    let mut used: Vec<AccessId> = around.walked.values().map(|(id, _)| *id).collect();
    // What is read behind a guard may be nowhere in front of it.
    used.extend(operands.table.unguarded(operands.graph, stmt));
    // Elements of which a part of the same statement is to say first whether they are there.
    let to_come = |around: &Around, id: AccessId| {
        let tensor = operands.table.get(id).access.tensor;
        let level = operands.tensor(tensor).format.levels[around.level(id)];
        let made = || stmt.assigns().iter().any(|made| made.tensor == tensor);
        !level.is_full() && results.is_noted(tensor) && made()
    };
    let next =
        |around: &Around, id: AccessId| around.next_is_known(operands, id) && !to_come(around, id);
    let mut found = Vec::new();
    while let Some(&id) = used.iter().find(|&&id| next(around, id)) {
        let entry = operands.table.get(id);
        let level = around.level(id);
        let stored = operands.tensor(entry.access.tensor).format.levels[level];
        around.progress[id.0].level += 1;
        let absent = || {
            let values = || operands.table.in_stmt(operands.graph, stmt, false);
            let nothing = !entry.nested
                && values().contains(&id)
                && operands.simplify(stmt, &BTreeSet::from([id])).is_none();
            if nothing { Absent::Skip } else { Absent::Fill }
        };
        let by = if stored.is_walked() {
            By::Search(absent())
        } else if stored.has(ArrayRole::Presence) || has_none_below(operands, id, level) {
            By::Probe(absent())
        } else {
            By::Arithmetic
        };
        match by {
            By::Arithmetic => {}
            By::Probe(absent) | By::Search(absent) => {
                around.progress[id.0].maybe = absent == Absent::Fill;
            }
        }
        found.push(Found {
            access: id,
            level,
            by,
        });
    }
    found
}

/// Whether there may be no position to read below a coordinate.
fn has_none_below(operands: Operands, id: AccessId, level: usize) -> bool {
    let entry = operands.table.get(id);
    let format = &operands.tensor(entry.access.tensor).format;
    let read = format.levels[level + 1..]
        .iter()
        .any(|below| !below.is_full());
    read && may_lie_outside(operands.graph, operands.tensors, entry, level)
}

impl By {
    /// Whether all that follows stands behind a test.
    pub(super) fn skips(self) -> bool {
        matches!(self, By::Probe(Absent::Skip) | By::Search(Absent::Skip))
    }
}
