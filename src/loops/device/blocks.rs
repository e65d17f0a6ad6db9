//! What may stand beside a loop over blocks inside another one.
//!
//! The blocks of both loops are there at once: a statement beside the inner loop is run by
//! each of its blocks. That is right where they make memory of their own, wrong where they
//! store results, or need what the blocks of the inner loop made. Nor do blocks wait for each
//! other: what one of them made, another one may not use, be it in a loop beside or in another
//! iteration of a serial loop around.

use super::barriers::{Around, corresponds};
use super::ir::GpuLevel;
use super::segments::has_blocks;
use super::{Definitions, Refusal, inlined};
use crate::loops::ir::{ArrayId, Expr, ExprKind, Kernel, Stmt, Storage, VarId};
use crate::loops::visit;
use std::collections::BTreeSet;

/// Checks the body of a launch.
///
/// # Errors
/// A statement beside a loop over blocks would be run by all of its blocks, or blocks would
/// use what others make.
pub(super) fn check(kernel: &Kernel, known: &Definitions, body: &[Stmt]) -> Result<(), Refusal> {
    list(kernel, body, &mut BTreeSet::new(), true)?;
    exchange(kernel, known, body)
}

/// An access inside a loop over blocks.
struct Access {
    array: ArrayId,
    index: Option<Expr>,
    write: bool,
    atomic: bool,
    /// The loops over blocks around it, and others inside the outermost of those.
    units: Vec<Around>,
    serial: Vec<VarId>,
}

/// Refuses what blocks of loops beside each other, or in iterations of one around, exchange.
fn exchange(kernel: &Kernel, known: &Definitions, body: &[Stmt]) -> Result<(), Refusal> {
    let mut before: Vec<Access> = Vec::new();
    for stmt in body.iter().filter(|s| has_blocks(s)) {
        let mut walk = Walk {
            kernel,
            known,
            private: BTreeSet::new(),
            found: Vec::new(),
        };
        walk.collect(stmt, &mut Vec::new(), &mut Vec::new());
        let mut own = walk.found;
        let again = match stmt {
            Stmt::For { tag, .. } => tag.gpu().is_none(),
            Stmt::While { .. } => true,
            Stmt::If { .. }
            | Stmt::Let { .. }
            | Stmt::Assign { .. }
            | Stmt::Store { .. }
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
            | Stmt::Comment(_) => false,
        };
        let earlier = if again { own.as_slice() } else { &[] };
        let meets = own.iter().find(|new| {
            before.iter().any(|old| meet(old, new, false, known))
                || earlier.iter().any(|old| meet(old, new, true, known))
        });
        if let Some(access) = meets {
            return Err(Refusal::new(
                format!(
                    "blocks of an inner loop would use what others make of `{}`",
                    kernel.array(access.array).name
                ),
                "blocks do not wait for each other: share the inner loop out to threads, or the \
                 outer one not to blocks",
            ));
        }
        before.append(&mut own);
        for inner in visit::bodies(stmt) {
            exchange(kernel, known, inner)?;
        }
    }
    Ok(())
}

/// Whether a block may come to an element that another block comes to; `earlier` in another
/// iteration of a loop around.
fn meet(old: &Access, new: &Access, earlier: bool, known: &Definitions) -> bool {
    if old.array != new.array || !(old.write || new.write) || (old.atomic && new.atomic) {
        return false;
    }
    let varies = |e: &Expr| {
        let mut found = false;
        visit::expr(&inlined(e, known), &mut |node| {
            found |= matches!(node.kind, ExprKind::Load { .. });
        });
        found
    };
    let alike = old.units.len() == new.units.len()
        && old.units.iter().zip(&new.units).all(|(a, b)| {
            (a.0, a.1) == (b.0, b.1)
                && a.2 == b.2
                && !(earlier && b.2 != crate::loops::build::int(0))
        });
    let (Some(a), Some(c)) = (&old.index, &new.index) else {
        return true;
    };
    !alike
        || (earlier && (varies(a) || varies(c)))
        || !corresponds(
            (a, &old.units, &old.serial),
            (c, &new.units, &new.serial),
            known,
        )
}

/// Collects the accesses inside loops over blocks.
struct Walk<'a> {
    kernel: &'a Kernel,
    known: &'a Definitions,
    /// Declared inside loops over blocks.
    private: BTreeSet<ArrayId>,
    found: Vec<Access>,
}

impl Walk<'_> {
    fn collect(&mut self, stmt: &Stmt, units: &mut Vec<Around>, serial: &mut Vec<VarId>) {
        if !units.is_empty() {
            self.accesses(stmt, units, serial);
        }
        let (outer_units, outer_serial) = (units.len(), serial.len());
        if let Stmt::For { var, lo, tag, .. } = stmt {
            match tag.gpu() {
                Some(unit) if unit.level == GpuLevel::Block => {
                    units.push((unit.level, unit.axis, inlined(lo, self.known), *var));
                }
                // What stands outside of all loops over blocks is the same for all of them.
                Some(_) | None if !units.is_empty() => serial.push(*var),
                Some(_) | None => {}
            }
        }
        for inner in visit::bodies(stmt).into_iter().flatten() {
            self.collect(inner, units, serial);
        }
        units.truncate(outer_units);
        serial.truncate(outer_serial);
    }

    fn accesses(&mut self, stmt: &Stmt, units: &[Around], serial: &[VarId]) {
        let mut add = |array: ArrayId, index: Option<&Expr>, write: bool, atomic: bool| {
            let shared = self.kernel.array(array).storage != Storage::Input;
            if shared && !self.private.contains(&array) {
                self.found.push(Access {
                    array,
                    index: index.cloned(),
                    write,
                    atomic,
                    units: units.to_vec(),
                    serial: serial.to_vec(),
                });
            }
        };
        let mut loads = Vec::new();
        visit::own_exprs(stmt, &mut |e| {
            visit::expr(e, &mut |node| {
                if let ExprKind::Load { array, index } = &node.kind {
                    loads.push((*array, (**index).clone()));
                }
            });
        });
        for (array, index) in &loads {
            add(*array, Some(index), false, false);
        }
        match stmt {
            Stmt::Store {
                array,
                index,
                atomic,
                ..
            } => add(*array, Some(index), true, *atomic),
            Stmt::Device(super::ir::Device::SegmentStore { array, index, .. }) => {
                add(*array, Some(index), true, true);
            }
            Stmt::Fill { array, .. } => add(*array, None, true, false),
            Stmt::Search { array, .. } => add(*array, None, false, false),
            Stmt::Declare { array, .. } | Stmt::Slice { array, .. } => {
                self.private.insert(*array);
            }
            Stmt::Let { .. }
            | Stmt::Assign { .. }
            | Stmt::For { .. }
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Alloc { .. }
            | Stmt::Grow { .. }
            | Stmt::Assume { .. }
            | Stmt::Free { .. }
            | Stmt::FailIf { .. }
            | Stmt::Device(_)
            | Stmt::Prefetch { .. }
            | Stmt::Comment(_) => {}
        }
    }
}

fn list(
    kernel: &Kernel,
    body: &[Stmt],
    own: &mut BTreeSet<ArrayId>,
    outermost: bool,
) -> Result<(), Refusal> {
    if !body.iter().any(has_blocks) {
        return Ok(());
    }
    let mut made = BTreeSet::new();
    for stmt in body.iter().filter(|s| has_blocks(s)) {
        visit::stmts(std::slice::from_ref(stmt), &mut |s| {
            if let Stmt::Store { array, .. } = s {
                made.insert(*array);
            }
        });
    }
    for stmt in body {
        if has_blocks(stmt) {
            for inner in visit::bodies(stmt) {
                list(kernel, inner, own, false)?;
            }
            continue;
        }
        // Beside the outermost loop each block adds to the result what it has summed up.
        if outermost && matches!(stmt, Stmt::Store { atomic: true, .. }) {
            continue;
        }
        let mut wrong = None;
        visit::stmts(std::slice::from_ref(stmt), &mut |s| {
            match s {
                Stmt::Declare { array, .. } | Stmt::Slice { array, .. } => {
                    own.insert(*array);
                }
                Stmt::Store { array, .. } if !own.contains(array) => wrong = Some(*array),
                Stmt::Store { .. }
                | Stmt::Let { .. }
                | Stmt::Assign { .. }
                | Stmt::For { .. }
                | Stmt::While { .. }
                | Stmt::If { .. }
                | Stmt::Alloc { .. }
                | Stmt::Grow { .. }
                | Stmt::Assume { .. }
                | Stmt::Free { .. }
                | Stmt::Fill { .. }
                | Stmt::Search { .. }
                | Stmt::FailIf { .. }
                | Stmt::Device(_)
                | Stmt::Prefetch { .. }
                | Stmt::Comment(_) => {}
            }
            visit::own_exprs(s, &mut |e| {
                visit::expr(e, &mut |node| {
                    if let ExprKind::Load { array, .. } = node.kind
                        && made.contains(&array)
                    {
                        wrong = Some(array);
                    }
                });
            });
        });
        if let Some(array) = wrong {
            return Err(Refusal::new(
                format!(
                    "all blocks of an inner loop would make or need `{}`, which stands outside of it",
                    kernel.array(array).name
                ),
                "let the loops over blocks stand directly inside one another, or share the inner \
                 one out to threads",
            ));
        }
    }
    Ok(())
}
