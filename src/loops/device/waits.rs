//! Where the threads of a block wait for each other.

use super::Refusal;
use super::barriers::Pending;
use super::ir::{Device, Scope};
use super::spmd::nested::inside;
use super::spmd::{Site, Spmd};
use crate::loops::build as b;
use crate::loops::ir::{Axis, Expr, Stmt};
use crate::loops::visit;
use crate::units::GpuLevel;

impl Spmd<'_> {
    /// Notes what bounds and conditions read.
    pub(super) fn note(&self, exprs: &[&Expr], place: &Site, pending: &mut Pending) {
        if self.alike(place) == 1 {
            return;
        }
        for e in exprs {
            let test = b::if_then((*e).clone(), Vec::new());
            let read = pending.accesses(self.launch(), &place.around, &test);
            pending.add(read);
        }
    }

    /// Whether the statement is a loop that waits, in each iteration, before the first
    /// statement that would have to wait for what came before the loop.
    pub(super) fn waits_inside(&self, stmt: &Stmt, place: &Site, pending: &Pending) -> bool {
        let (body, var) = if let Stmt::For { var, tag, body, .. } = stmt
            && tag.gpu().is_none_or(|unit| unit.level == GpuLevel::Block)
        {
            (body, Some(*var))
        } else if let Stmt::While { body, .. } = stmt {
            (body, None)
        } else {
            return false;
        };
        let accesses = |s: &Stmt| pending.accesses(self.launch(), &place.around, s);
        // Where it begins and ends is read before anything inside waits.
        let mut bounds = false;
        visit::own_exprs(stmt, &mut |e| {
            let test = b::if_then(e.clone(), Vec::new());
            bounds |= pending.conflicts(self.launch(), &place.around, &accesses(&test));
        });
        if bounds {
            return false;
        }
        let mut earlier = pending.empty();
        earlier.add_earlier(body.iter().flat_map(accesses).collect(), &inside(body, var));
        for inner in body {
            let own = accesses(inner);
            if pending.conflicts(self.launch(), &place.around, &own) {
                return earlier.conflicts(self.launch(), &place.around, &own);
            }
            earlier.add(own);
        }
        false
    }

    pub(super) fn barrier(&self, place: &Site) -> Result<Stmt, Refusal> {
        // Rows of threads that are alike wait for each other, too.
        let one_row = [Axis::Y, Axis::Z]
            .into_iter()
            .all(|axis| place.axes.contains(&axis) || self.shape.threads[axis as usize] == 1);
        let scope = match (place.warp, self.shape.warps) {
            (true, Some((lanes, _)))
                if one_row && lanes <= self.shape.lanes && lanes.is_power_of_two() =>
            {
                Scope::Lanes(lanes)
            }
            (true, Some((_, 1))) | (false, _) if !place.partial => Scope::Block,
            (_, _) => {
                return Err(Refusal::new(
                    "threads of one warp or row of a block would wait for others that never come",
                    "let the loop over units that shares the workspace be the outer one",
                ));
            }
        };
        Ok(Stmt::Device(Device::Barrier(scope)))
    }
}
