//! Arrays that grow: the device cannot allocate, so what does not fit is counted.
//!
//! A result that is appended runs twice at most: the first launch fills the room there
//! is and counts on; if it was too small, the host makes as much as was counted and the
//! launch runs again. Nothing that it computes depends on what did not fit: coordinates
//! and values of a result are written, never read to decide.

use super::ir::Retry;
use super::{Refusal, segments};
use crate::loops::build as b;
use crate::loops::ir::{
    ArrayId, Expr, ExprKind, Kernel, ReduceOp, ScalarType, Stmt, Storage, VarId,
};
use crate::loops::visit;
use std::collections::BTreeMap;

/// Elements that an array has room for at first.
const FIRST_ROOM: i64 = 1024;

/// The arrays that grow, and the statements that fill them.
#[derive(Clone, Debug, Default)]
pub(super) struct Growth {
    groups: Vec<(VarId, Vec<ArrayId>)>,
    pub body: Vec<Stmt>,
}

/// Whether a statement makes room.
pub(super) fn grows(body: &[Stmt]) -> bool {
    visit::any(body, &|s| matches!(s, Stmt::Grow { .. }))
}

/// Whether the statements have begun to fill an array that grows.
pub(super) fn appends(body: &[Stmt], growth: &Growth) -> bool {
    body.iter().any(|stmt| growth.belongs(stmt))
}

/// Whether the statement needs what the ones before it have begun.
pub(super) fn continues(body: &[Stmt], growth: &Growth, stmt: &Stmt) -> bool {
    let read = visit::read_vars(std::slice::from_ref(stmt));
    let uses = body.iter().any(
        |s| matches!(s, Stmt::Let { var, .. } | Stmt::Search { var, .. } if read.contains(var)),
    );
    uses || growth.belongs(stmt)
}

impl Growth {
    /// Of a whole body.
    pub(super) fn of(body: &[Stmt]) -> Self {
        let mut growth = Growth::default();
        visit::stmts(body, &mut |stmt| {
            if let Stmt::Grow {
                arrays, capacity, ..
            } = stmt
            {
                let group = match growth.groups.iter().position(|(c, _)| c == capacity) {
                    Some(at) => at,
                    None => {
                        growth.groups.push((*capacity, Vec::new()));
                        growth.groups.len() - 1
                    }
                };
                for array in arrays {
                    if !growth.groups[group].1.contains(array) {
                        growth.groups[group].1.push(*array);
                    }
                }
            }
        });
        growth
    }

    fn arrays(&self) -> impl Iterator<Item = &ArrayId> {
        self.groups.iter().flat_map(|(_, arrays)| arrays)
    }

    /// Whether the statement declares a capacity or allocates up to one: that becomes
    /// the host's.
    pub(super) fn take_room(&self, stmt: &Stmt) -> bool {
        if let Stmt::Let { var, .. } = stmt {
            return self.groups.iter().any(|(c, _)| c == var);
        }
        matches!(stmt, Stmt::Alloc { array, .. } if self.arrays().any(|a| a == array))
    }

    /// Whether the statement declares a capacity: the first of what appends.
    pub(super) fn begins(&self, stmt: &Stmt) -> bool {
        matches!(stmt, Stmt::Let { .. }) && self.take_room(stmt)
    }

    /// Whether the statement names an array that grows, or can only follow one.
    pub(super) fn belongs(&self, stmt: &Stmt) -> bool {
        if matches!(stmt, Stmt::Alloc { .. } | Stmt::Free { .. }) {
            return true;
        }
        let own = |a: &ArrayId| self.arrays().any(|own| own == a);
        visit::any(std::slice::from_ref(stmt), &|s| {
            visit::arrays(s).iter().any(own)
        })
    }

    /// The growth of what `body` appends to.
    pub(super) fn take(&self, body: Vec<Stmt>) -> Growth {
        let own = Growth::of(&body);
        Growth {
            groups: own.groups,
            body,
        }
    }

    /// The launches, and the host's declarations before them.
    ///
    /// # Errors
    /// As for any launch.
    pub(super) fn place(
        self,
        kernel: &mut Kernel,
        rooms: &mut BTreeMap<ArrayId, Expr>,
        before: &[Stmt],
    ) -> Result<(Retry, Vec<Stmt>), Refusal> {
        let needs = kernel.fresh_array("needs", ScalarType::I64, Storage::Local);
        let slots = i64::try_from(self.groups.len()).unwrap_or(0) + 1;
        let mut prelude = vec![Stmt::Alloc {
            array: needs,
            count: b::int(slots),
            zeroed: false,
        }];
        for (capacity, _) in &self.groups {
            prelude.push(Stmt::Let {
                var: *capacity,
                init: b::int(FIRST_ROOM),
            });
        }
        let mut body = self.body;
        guard(&mut body, &self.groups, needs);
        let fail = slots - 1;
        let mut all: Vec<Stmt> = (0..slots).map(|at| note(needs, at, b::int(0))).collect();
        all.append(&mut body);
        failures(&mut all, needs, fail);
        let launch = segments::launch(kernel, all, before, rooms)?;
        let retry = Retry {
            groups: self.groups,
            needs,
            body: vec![launch],
        };
        Ok((retry, prelude))
    }
}

fn note(needs: ArrayId, at: i64, value: Expr) -> Stmt {
    Stmt::Store {
        array: needs,
        index: b::int(at),
        op: None,
        value,
        atomic: false,
    }
}

/// Stores and loads stay inside what there is room for; needs are noted.
fn guard(body: &mut [Stmt], groups: &[(VarId, Vec<ArrayId>)], needs: ArrayId) {
    let capacity = |array: ArrayId| {
        groups
            .iter()
            .find(|(_, arrays)| arrays.contains(&array))
            .map(|(capacity, _)| b::var(*capacity, ScalarType::I64))
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
            guard(inner, groups, needs);
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
            *stmt = Stmt::If {
                cond,
                then: vec![inner],
                otherwise: Vec::new(),
            };
        } else if let Stmt::Grow {
            capacity, needed, ..
        } = stmt
        {
            let at = groups.iter().position(|(c, _)| c == capacity).unwrap_or(0);
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
            *stmt = Stmt::If {
                cond: cond.clone(),
                then: vec![note(needs, at, b::int(code.number()))],
                otherwise: Vec::new(),
            };
        }
    }
}
