//! What threads wrote since the last barrier, and whether others read it.
//!
//! Two accesses of an array need no barrier between them if the same thread does both:
//! because one thread stores for all, or because the same loop over threads, with the same
//! index, leads to both.

use super::ir::{Device, GpuLevel};
use super::shape::Shape;
use super::{Definitions, inlined};
use crate::loops::ir::{ArrayId, Axis, Expr, ExprKind, Kernel, Stmt, Storage, VarId};
use crate::loops::{build as b, linear, visit};
use std::collections::BTreeSet;

/// A loop over a unit: its first value, and its variable.
pub(super) type Around = (GpuLevel, Axis, Expr, VarId);

/// An access of an array that several threads see.
#[derive(Clone, Debug)]
pub(super) struct Access {
    array: ArrayId,
    index: Option<Expr>,
    write: bool,
    atomic: bool,
    /// The loops over units around it.
    units: Vec<Around>,
    /// Other loops inside the outermost of those.
    serial: Vec<VarId>,
    /// They tell all threads of the block apart.
    apart: bool,
    /// Of an iteration before, of a loop around both.
    earlier: bool,
    /// The loops over units begin at the same values in all iterations of loops around.
    fixed: bool,
}

/// Accesses since the last barrier.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    accesses: Vec<Access>,
    /// Arrays of which each thread has its own.
    own: BTreeSet<ArrayId>,
    /// Arrays that are accessed as a whole, too, where threads have parts of their own.
    whole: BTreeSet<ArrayId>,
}

impl Pending {
    pub(super) fn new(own: BTreeSet<ArrayId>, body: &[Stmt]) -> Pending {
        let mut whole = BTreeSet::new();
        visit::stmts(body, &mut |stmt| {
            let mut named = visit::arrays(stmt);
            if let Stmt::Slice { of, .. } = stmt {
                named.retain(|array| array != of);
            }
            whole.extend(named);
        });
        Pending {
            accesses: Vec::new(),
            own,
            whole,
        }
    }

    /// Of the same launch, before anything was accessed.
    pub(super) fn empty(&self) -> Pending {
        Pending {
            accesses: Vec::new(),
            own: self.own.clone(),
            whole: self.whole.clone(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.accesses.clear();
    }

    pub(super) fn add(&mut self, accesses: Vec<Access>) {
        for access in accesses {
            let known = self.accesses.iter().any(|a| {
                a.array == access.array
                    && a.index == access.index
                    && a.write == access.write
                    && a.units == access.units
                    && a.earlier == access.earlier
            });
            if !known {
                self.accesses.push(access);
            }
        }
    }

    /// As [`Pending::add`], of the iteration before.
    pub(super) fn add_earlier(&mut self, mut accesses: Vec<Access>) {
        for access in &mut accesses {
            access.earlier = true;
        }
        self.add(accesses);
    }

    pub(super) fn join(&mut self, other: Pending) {
        self.add(other.accesses);
    }

    /// The accesses of a statement.
    pub(super) fn accesses(
        &self,
        kernel: &Kernel,
        shape: &Shape,
        around: &[Around],
        definitions: &Definitions,
        local: &BTreeSet<VarId>,
        stmt: &Stmt,
    ) -> Vec<Access> {
        let mut found = Vec::new();
        let mut private = self.own.clone();
        let mut walk = Walk {
            kernel,
            shape,
            definitions,
            whole: &self.whole,
            private: &mut private,
            found: &mut found,
        };
        walk.collect(stmt, &mut around.to_vec(), &mut Vec::new());
        for access in &mut found {
            access.fixed = access.units.iter().all(|unit| {
                let mut fixed = true;
                visit::expr(&unit.2, &mut |node| match &node.kind {
                    ExprKind::Var(v) => fixed &= !local.contains(v),
                    ExprKind::Load { .. } => fixed = false,
                    ExprKind::Literal(_)
                    | ExprKind::Unary(..)
                    | ExprKind::Binary(..)
                    | ExprKind::Call(..)
                    | ExprKind::Cast(_)
                    | ExprKind::Locate(..)
                    | ExprKind::Select(..)
                    | ExprKind::Place(_) => {}
                });
                fixed
            });
            access.apart = apart(&access.units, shape);
        }
        found
    }

    /// Whether one of the accesses meets another thread's.
    pub(super) fn conflicts(&self, accesses: &[Access], definitions: &Definitions) -> bool {
        accesses.iter().any(|new| {
            self.accesses
                .iter()
                .any(|old| conflict(old, new, definitions))
        })
    }
}

/// Whether the loops tell all threads of the block apart.
fn apart(units: &[Around], shape: &Shape) -> bool {
    Axis::ALL.into_iter().all(|axis| {
        let threads = units.iter().any(|u| u.0 == GpuLevel::Thread && u.1 == axis);
        let warps = units.iter().any(|u| u.0 == GpuLevel::Warp);
        let single = warps && shape.warps.is_some_and(|(lanes, _)| lanes == 1);
        threads || shape.threads[axis as usize] == 1 || (axis == Axis::X && single)
    })
}

/// Collects the accesses of statements.
struct Walk<'a> {
    kernel: &'a Kernel,
    shape: &'a Shape,
    definitions: &'a Definitions,
    whole: &'a BTreeSet<ArrayId>,
    private: &'a mut BTreeSet<ArrayId>,
    found: &'a mut Vec<Access>,
}

impl Walk<'_> {
    fn shared(&self, array: ArrayId) -> bool {
        self.kernel.array(array).storage != Storage::Input && !self.private.contains(&array)
    }

    fn collect(&mut self, stmt: &Stmt, units: &mut Vec<Around>, serial: &mut Vec<VarId>) {
        let access = |array: ArrayId, index: Option<Expr>, write: bool, atomic: bool| Access {
            array,
            index,
            write,
            atomic,
            units: units.clone(),
            serial: serial.clone(),
            apart: false,
            earlier: false,
            fixed: false,
        };
        match stmt {
            // Declared inside all loops over threads: nobody else sees it.
            Stmt::Declare { array, .. }
                if units.iter().any(|u| u.0 == GpuLevel::Thread) && apart(units, self.shape) =>
            {
                self.private.insert(*array);
            }
            Stmt::Slice { array, offset, of } if units.iter().any(|u| u.0 == GpuLevel::Thread) => {
                let mut own = false;
                visit::expr(offset, &mut |e| {
                    own |= e.kind == ExprKind::Place(crate::loops::ir::Place::Thread);
                });
                if own {
                    self.private.insert(*array);
                    // A copy is set up and added up as a whole, by whatever threads.
                    if self.whole.contains(of) {
                        let part = access(*of, Some(offset.clone()), true, false);
                        self.found.push(part);
                    }
                }
            }
            Stmt::Store {
                array,
                index,
                atomic,
                ..
            } if self.shared(*array) => {
                self.found
                    .push(access(*array, Some(index.clone()), true, *atomic));
            }
            Stmt::Device(Device::SegmentStore { array, index, .. }) => {
                self.found
                    .push(access(*array, Some(index.clone()), true, true));
            }
            Stmt::Fill { array, .. } if self.shared(*array) => {
                self.found.push(access(*array, None, true, false));
            }
            Stmt::Search { array, .. } if self.shared(*array) => {
                self.found.push(access(*array, None, false, false));
            }
            Stmt::Let { .. }
            | Stmt::Assign { .. }
            | Stmt::Store { .. }
            | Stmt::For { .. }
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Alloc { .. }
            | Stmt::Grow { .. }
            | Stmt::Declare { .. }
            | Stmt::Slice { .. }
            | Stmt::Assume { .. }
            | Stmt::Free { .. }
            | Stmt::Fill { .. }
            | Stmt::Search { .. }
            | Stmt::FailIf { .. }
            | Stmt::Device(_)
            | Stmt::Prefetch { .. }
            | Stmt::Comment(_) => {}
        }
        let mut loads = Vec::new();
        visit::own_exprs(stmt, &mut |e| {
            visit::expr(e, &mut |node| {
                if let ExprKind::Load { array, index } = &node.kind
                    && self.shared(*array)
                {
                    loads.push(access(*array, Some((**index).clone()), false, false));
                }
            });
        });
        self.found.append(&mut loads);
        let mut entered = false;
        if let Stmt::For { var, lo, tag, .. } = stmt
            && let Some(unit) = tag.gpu()
            && unit.level != GpuLevel::Block
        {
            units.push((unit.level, unit.axis, inlined(lo, self.definitions), *var));
            entered = true;
        }
        let mut counted = false;
        if let Stmt::For { var, .. } = stmt
            && !entered
            && !units.is_empty()
        {
            serial.push(*var);
            counted = true;
        }
        for inner in visit::bodies(stmt).into_iter().flatten() {
            self.collect(inner, units, serial);
        }
        if counted {
            serial.pop();
        }
        if entered {
            units.pop();
        }
    }
}

fn conflict(old: &Access, new: &Access, definitions: &Definitions) -> bool {
    if old.array != new.array || !(old.write || new.write) || (old.atomic && new.atomic) {
        return false;
    }
    let same_units = old.units.len() == new.units.len()
        && old
            .units
            .iter()
            .zip(&new.units)
            .all(|(a, b)| a.0 == b.0 && a.1 == b.1 && a.2 == b.2);
    if !same_units {
        return true;
    }
    // One thread stores for all that are alike; what it stored, all read.
    let both = old.write && new.write;
    if !new.apart && !both {
        return true;
    }
    if new.units.is_empty() {
        return false;
    }
    // The same element may be another thread's in another iteration: where its loop begins
    // elsewhere, or where data say which element is whose.
    let told = |access: &Access| {
        let mut loads = false;
        if let Some(index) = &access.index {
            visit::expr(&inlined(index, definitions), &mut |e| {
                loads |= matches!(e.kind, ExprKind::Load { .. });
            });
        }
        loads
    };
    if old.earlier && (!new.fixed || told(old) || told(new)) {
        return true;
    }
    let (Some(a), Some(c)) = (&old.index, &new.index) else {
        return true;
    };
    // What is updated atomically may be any thread's; a row that lies wholly in a tile is
    // updated plainly by the same statement.
    if (old.atomic || new.atomic) && !(both && a == c) {
        return true;
    }
    if a == c {
        return false;
    }
    !corresponds(
        (a, &old.units, &old.serial),
        (c, &new.units, &new.serial),
        definitions,
    )
}

/// Whether two subscripts are the same in the same iterations of loops that correspond: of
/// those over units, and of others inside. What one iteration of a parallel loop writes, no
/// other does: the loops inside correspond, wherever they begin and end.
pub(super) fn corresponds(
    (old, old_units, old_serial): (&Expr, &[Around], &[VarId]),
    (new, new_units, new_serial): (&Expr, &[Around], &[VarId]),
    definitions: &Definitions,
) -> bool {
    let mut before = inlined(old, definitions);
    visit::replace_expr(&mut before, &mut |e| {
        let ExprKind::Var(v) = e.kind else {
            return None;
        };
        let same = match old_units.iter().position(|u| u.3 == v) {
            Some(at) => new_units.get(at)?.3,
            None => *new_serial.get(old_serial.iter().position(|s| *s == v)?)?,
        };
        Some(b::var(same, e.ty))
    });
    let after = inlined(new, definitions);
    linear::sub(&before, &after) == b::int(0) && !roles_may_change(&after, new_units, new_serial)
}

/// Whether the subscript is the same with two of the loops exchanged, one of them over a unit:
/// dimensions of one element have the stride of their neighbours, and which loop goes along
/// which the subscript does not tell.
fn roles_may_change(index: &Expr, units: &[Around], serial: &[VarId]) -> bool {
    let units: Vec<VarId> = units.iter().map(|u| u.3).collect();
    let occurs = |var: VarId| {
        let mut found = false;
        visit::expr(index, &mut |e| found |= e.kind == ExprKind::Var(var));
        found
    };
    let all: Vec<VarId> = units.iter().chain(serial).copied().collect();
    let all: Vec<VarId> = all.into_iter().filter(|&v| occurs(v)).collect();
    all.iter().enumerate().any(|(at, &v)| {
        all[at + 1..].iter().any(|&w| {
            let mut exchanged = index.clone();
            visit::replace_expr(&mut exchanged, &mut |e| {
                let ExprKind::Var(own) = e.kind else {
                    return None;
                };
                let other = [(v, w), (w, v)].into_iter().find(|pair| pair.0 == own)?.1;
                Some(b::var(other, e.ty))
            });
            (units.contains(&v) || units.contains(&w))
                && linear::sub(&exchanged, index) == b::int(0)
        })
    })
}
