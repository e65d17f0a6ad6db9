//! Arrays that grow: the device cannot allocate, so what does not fit is counted.
//!
//! A result that is appended runs twice at most: the first launch fills the room there
//! is and counts on; if it was too small, the host makes as much as was counted and the
//! launch runs again. Nothing that it computes depends on what did not fit: coordinates
//! and values of a result are written, never read to decide. What else it changes it sets up
//! itself: schedules for GPUs join nothing with what appends (`schedule/join.rs`).

use super::ir::Retry;
use super::{Refusal, segments};
use crate::loops::build as b;
use crate::loops::ir::{
    ArrayId, Expr, ExprKind, Kernel, ReduceOp, Room, ScalarType, Stmt, Storage,
};
use crate::loops::operands::{ArrayUse, Operand};
use crate::loops::visit;
use std::collections::BTreeSet;

/// Elements that an array has room for at first.
const FIRST_ROOM: i64 = 1024;

/// A region that appends, or one without rooms that may fail and runs once.
#[derive(Clone, Debug)]
pub(super) struct Growth {
    pub rooms: Vec<Room>,
    pub body: Vec<Stmt>,
}

/// Whether a launch of its own comes before the statements `kept`, behind which it stands, and
/// once where they are tried again with what else writes the arrays `own`.
pub(super) fn comes_first(stmt: &Stmt, kept: &[Stmt], own: &BTreeSet<ArrayId>) -> bool {
    let stmt = std::slice::from_ref(stmt);
    let (writes, changes) = (written(stmt), visit::changed(stmt));
    let mut named = visit::read_vars(stmt);
    named.extend(&changes);
    writes.is_disjoint(own)
        && writes.is_disjoint(&touched(kept))
        && touched(stmt).is_disjoint(&written(kept))
        && named.is_disjoint(&visit::declared(kept))
        && named.is_disjoint(&visit::changed(kept))
        && changes.is_disjoint(&visit::read_vars(kept))
}

/// The arrays that the statements name.
pub(super) fn touched(body: &[Stmt]) -> BTreeSet<ArrayId> {
    let mut arrays = BTreeSet::new();
    visit::stmts(body, &mut |stmt| arrays.extend(visit::arrays(stmt)));
    arrays
}

/// The arrays that the statements do more to than read them.
pub(super) fn written(body: &[Stmt]) -> BTreeSet<ArrayId> {
    let mut arrays = BTreeSet::new();
    visit::stmts(body, &mut |stmt| {
        stmt.operands(&mut |operand| {
            if let Operand::Array(array, how) = operand
                && how != ArrayUse::Read
            {
                arrays.insert(*array);
            }
        });
    });
    arrays
}

impl Growth {
    /// The launches, and the host's declarations before them.
    ///
    /// # Errors
    /// As for any launch.
    pub(super) fn place(
        self,
        kernel: &mut Kernel,
        launches: &mut segments::Launches,
        before: &[Stmt],
    ) -> Result<(Retry, Vec<Stmt>), Refusal> {
        let needs = kernel.fresh_array("needs", ScalarType::I64, Storage::Local);
        let slots = i64::try_from(self.rooms.len()).unwrap_or(0) + 1;
        let mut prelude = vec![Stmt::Alloc {
            array: needs,
            count: b::int(slots),
            zeroed: false,
        }];
        for room in &self.rooms {
            prelude.push(b::bind(room.capacity, b::int(FIRST_ROOM)));
        }
        let mut body = self.body;
        crate::loops::scans::in_loops(kernel, &mut body);
        guard(&mut body, &self.rooms, needs);
        let fail = slots - 1;
        let mut all: Vec<Stmt> = (0..slots).map(|at| note(needs, at, b::int(0))).collect();
        all.append(&mut body);
        failures(&mut all, needs, fail);
        let launch = segments::launch(kernel, all, before, launches)?;
        let retry = Retry {
            rooms: self.rooms,
            needs,
            body: vec![launch],
        };
        Ok((retry, prelude))
    }
}

fn note(needs: ArrayId, at: i64, value: Expr) -> Stmt {
    b::store(needs, b::int(at), value)
}

/// Stores and loads stay inside what there is room for; needs are noted.
fn guard(body: &mut [Stmt], rooms: &[Room], needs: ArrayId) {
    let capacity = |array: ArrayId| {
        rooms
            .iter()
            .find(|room| room.arrays.contains(&array))
            .map(|room| b::var(room.capacity, ScalarType::I64))
    };
    for stmt in body.iter_mut() {
        for e in visit::own_exprs_mut(stmt) {
            visit::replace_expr(e, &mut |node| {
                let ExprKind::Load { array, index } = &node.kind else {
                    return None;
                };
                let room = capacity(*array)?;
                let zero = b::cast(node.ty, b::int(0));
                Some(b::select(
                    b::lt((**index).clone(), room),
                    node.clone(),
                    zero,
                ))
            });
        }
        for inner in visit::bodies_mut(stmt) {
            guard(inner, rooms, needs);
        }
        if let Stmt::Fill {
            array,
            start,
            count,
            ..
        } = stmt
            && let Some(room) = capacity(*array)
        {
            *count = b::min(count.clone(), b::sub(room, start.clone()));
        }
        if let Stmt::Store { array, index, .. } = stmt
            && let Some(room) = capacity(*array)
        {
            let cond = b::lt(index.clone(), room);
            let inner = std::mem::replace(stmt, Stmt::Comment(String::new()));
            *stmt = b::if_then(cond, vec![inner]);
        } else if let Stmt::Grow { capacity, needed } = stmt {
            let at = rooms
                .iter()
                .position(|room| room.capacity == *capacity)
                .unwrap_or(0);
            *stmt = Stmt::Store {
                array: needs,
                index: b::int(i64::try_from(at).unwrap_or(0)),
                op: Some(ReduceOp::Max),
                value: needed.clone(),
                atomic: false,
            };
        }
    }
}

/// Failures are noted for the host.
fn failures(body: &mut [Stmt], needs: ArrayId, at: i64) {
    for stmt in body {
        for inner in visit::bodies_mut(stmt) {
            failures(inner, needs, at);
        }
        if let Stmt::FailIf { cond, code } = stmt {
            *stmt = b::if_then(cond.clone(), vec![note(needs, at, b::int(code.number()))]);
        }
    }
}
