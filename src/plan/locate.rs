//! Where operands stand: levels whose coordinates are known.
//!
//! A level that is located by arithmetic is so as far out as possible. One that could be walked and
//! whose coordinate is known before it is (a diagonal, a gather, an operand stored in another order)
//! is searched; where there is no element, what is left of the statement without the operand says
//! what is done.

use super::around::Around;
use super::results::Results;
use super::{Absent, By, Found};
use crate::graph::Stmt;
use crate::graph::access::AccessId;
use crate::graph::simplify::Operands;
use crate::level::ArrayRole;
use crate::program::ir::TensorId;
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
    used.extend(operands.table.in_stmt(operands.graph, stmt, true));
    let values = operands.table.in_stmt(operands.graph, stmt, false);
    let made: BTreeSet<TensorId> = stmt.assigns().iter().map(|made| made.tensor).collect();
    // Elements of which a part of the same statement is to say first whether they are there.
    let to_come = |around: &Around, id: AccessId| {
        let tensor = operands.table.get(id).access.tensor;
        let level = operands.tensor(tensor).format.levels[around.level(id)];
        made.contains(&tensor) && results.is_noted(tensor) && !level.is_full()
    };
    let next =
        |around: &Around, id: AccessId| around.next_is_known(operands, id) && !to_come(around, id);
    let mut found = Vec::new();
    while let Some(&id) = used.iter().find(|&&id| next(around, id)) {
        let entry = operands.table.get(id);
        let level = around.level(id);
        let stored = operands.tensor(entry.access.tensor).format.levels[level];
        around.advance(id);
        let absent = || {
            let nothing = values.contains(&id)
                && !entry.nested
                && operands
                    .simplify(stmt, &BTreeSet::from([id]), &mut BTreeSet::new())
                    .is_none();
            if nothing { Absent::Skip } else { Absent::Fill }
        };
        let by = if stored.is_walked() {
            By::Search(absent())
        } else if stored.has(ArrayRole::Presence) {
            By::Probe(absent())
        } else {
            By::Arithmetic
        };
        found.push(Found {
            access: id,
            level,
            by,
        });
    }
    found
}

impl By {
    /// Whether all that follows stands behind a test.
    pub(super) fn skips(self) -> bool {
        matches!(self, By::Probe(Absent::Skip) | By::Search(Absent::Skip))
    }
}
