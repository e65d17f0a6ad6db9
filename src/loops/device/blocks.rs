//! What may stand beside a loop over blocks inside another one.
//!
//! The blocks of both loops are there at once: a statement beside the inner loop is run by
//! each of its blocks. That is right where they make memory of their own, wrong where they
//! store results, or need what the blocks of the inner loop made. Nor do blocks wait for each
//! other: what one of them made, another one may not use, be it in a loop beside or in another
//! iteration of a serial loop around.

use super::segments::has_blocks;
use super::spmd::nested::inside;
use super::{Definitions, Refusal};
use crate::loops::effects::{Around, Facts, Homes, Touch, Who, meet, touches};
use crate::loops::ir::{ArrayId, ExprKind, Kernel, Stmt, Storage, VarId};
use crate::loops::uniform::{Uniform, Units};
use crate::loops::visit;
use crate::units::GpuLevel;
use std::collections::BTreeSet;

/// Checks the body of a launch.
///
/// # Errors
/// A statement beside a loop over blocks would be run by all of its blocks, or blocks would
/// use what others make.
pub(super) fn check(kernel: &Kernel, known: &Definitions, body: &[Stmt]) -> Result<(), Refusal> {
    list(kernel, body, &mut BTreeSet::new(), true)?;
    let launch = Launch {
        kernel,
        known,
        uniform: Uniform::of(&BTreeSet::new(), body),
    };
    launch.exchange(body, &mut Vec::new(), &mut Homes::default())
}

struct Launch<'a> {
    kernel: &'a Kernel,
    known: &'a Definitions,
    uniform: Uniform,
}

impl Launch<'_> {
    /// Refuses what blocks of loops beside each other, or in iterations of one around, exchange.
    fn exchange(
        &self,
        body: &[Stmt],
        around: &mut Vec<Around>,
        homes: &mut Homes,
    ) -> Result<(), Refusal> {
        let mut before: Vec<Touch> = Vec::new();
        for stmt in body {
            homes.declare(stmt, around.len());
            if !has_blocks(stmt) {
                continue;
            }
            let entered = Around::of(stmt, self.known);
            let in_blocks = |touch: &Touch| touch.around[around.len()..].iter().any(is_block);
            let mut own = touches([stmt], around, &mut homes.clone(), self.known);
            own.retain(in_blocks);
            // Iterations of a serial loop around blocks follow one another, blocks do not.
            let serial = entered.as_ref().is_some_and(|own| !is_block(own));
            let again = serial || matches!(stmt, Stmt::While { .. });
            let fresh = if again {
                let var = entered.as_ref().map(|around| around.var);
                inside(std::slice::from_ref(stmt), var)
            } else {
                BTreeSet::new()
            };
            let nothing = BTreeSet::new();
            let meets = own.iter().find(|new| {
                before.iter().any(|old| self.meet(old, new, &nothing))
                    || (again && own.iter().any(|old| self.meet(old, new, &fresh)))
            });
            if let Some(touch) = meets {
                return Err(Refusal::new(
                    format!(
                        "blocks of an inner loop would use what others make of `{}`",
                        self.kernel.array(touch.array).name
                    ),
                    "blocks do not wait for each other: share the inner loop out to threads, or \
                     the outer one not to blocks",
                ));
            }
            before.append(&mut own);
            let depth = around.len();
            around.extend(entered);
            for inner in visit::bodies(stmt) {
                self.exchange(inner, around, homes)?;
            }
            around.truncate(depth);
        }
        Ok(())
    }

    /// Whether a block may come to an element that another one comes to; the variables `fresh`
    /// have other values then.
    fn meet(&self, old: &Touch, new: &Touch, fresh: &BTreeSet<VarId>) -> bool {
        let same = |v: VarId| {
            !self.kernel.var(v).mutable
                && !fresh.contains(&v)
                && !self.uniform.of_var(v, Units::NONE).meets(Units::BLOCKS)
        };
        let facts = Facts {
            same: &same,
            fixed: &|array| self.kernel.array(array).storage == Storage::Input,
            together: 0,
        };
        meet(old, new, &Who::Block, facts)
    }
}

fn is_block(around: &Around) -> bool {
    around
        .unit
        .is_some_and(|unit| unit.level == GpuLevel::Block)
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
            if let Stmt::Declare { array, .. } | Stmt::Slice { array, .. } = s {
                own.insert(*array);
            } else if let Stmt::Store { array, .. } = s
                && !own.contains(array)
            {
                wrong = Some(*array);
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
