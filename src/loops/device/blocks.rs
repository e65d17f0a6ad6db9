//! What may stand beside a loop over blocks inside another one.
//!
//! The blocks of both loops are there at once: a statement beside the inner loop is run by
//! each of its blocks. That is right where they make memory of their own, wrong where they
//! store results, or need what the blocks of the inner loop made.

use super::Refusal;
use super::segments::has_blocks;
use crate::loops::ir::{ArrayId, ExprKind, Kernel, Stmt};
use crate::loops::visit;
use std::collections::BTreeSet;

/// Checks the body of a launch.
///
/// # Errors
/// A statement beside a loop over blocks would be run by all of its blocks.
pub(super) fn check(kernel: &Kernel, body: &[Stmt]) -> Result<(), Refusal> {
    list(kernel, body, &mut BTreeSet::new(), true)
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
