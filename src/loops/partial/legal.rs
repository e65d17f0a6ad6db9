//! What the statements of a tile must be so that a few vectors at a time may run them.

use super::super::ir::{ArrayId, ExprKind, Stmt, VarId};
use super::super::trips::Trips;
use super::super::visit;
use std::collections::BTreeSet;

/// The most iterations of a loop over another part of a tile.
const PART: i64 = 64;

/// The variable of a serial loop over another part of the tile, which a constant bounds, and whether the loop
/// is known to have an iteration.
pub(super) fn is_part(stmt: &Stmt) -> Option<(VarId, bool)> {
    let Stmt::For {
        var, lo, hi, tag, ..
    } = stmt
    else {
        return None;
    };
    let trips = Trips::of(lo, hi);
    let short = trips.most.is_some_and(|most| most <= PART);
    let runs = trips.constant().is_some_and(|count| count > 0);
    (tag.is_serial() && short).then_some((*var, runs))
}

/// Whether no array is both loaded and stored, but for the workspaces declared here. Vector by vector, the stores of one
/// come before the loads of the next, which would load what the tile as a whole had not stored yet.
pub(super) fn apart(body: &[Stmt], declared: &BTreeSet<ArrayId>) -> bool {
    let mut stored = BTreeSet::new();
    visit::stmts(body, &mut |stmt| stored.extend(stmt.writes()));
    stored.retain(|array| !declared.contains(array));
    let mut loaded = false;
    visit::stmts(body, &mut |stmt| {
        visit::own_exprs(stmt, &mut |e| {
            loaded |= e.any(
                |node| matches!(node.kind, ExprKind::Load { array, .. } if stored.contains(&array)),
            );
        });
    });
    !loaded
}

/// Whether a statement may run again for each vector: outside of vector loops it changes only
/// variables that are declared inside, the `inner` ones.
pub(super) fn repeats(stmt: &Stmt, inner: &BTreeSet<VarId>) -> bool {
    if let Stmt::For { tag, .. } = stmt
        && tag.is_vector()
    {
        return true;
    }
    let own = match stmt {
        Stmt::Let { .. } | Stmt::If { .. } | Stmt::While { .. } | Stmt::Declare { .. } => true,
        Stmt::For { tag, .. } => tag.is_serial(),
        Stmt::Assign { var, .. } => inner.contains(var),
        Stmt::Comment(_) | Stmt::Prefetch { .. } => true,
        Stmt::Search { .. } => true,
        Stmt::Store { .. }
        | Stmt::Alloc { .. }
        | Stmt::Append { .. }
        | Stmt::Grow { .. }
        | Stmt::Trim { .. }
        | Stmt::Slice { .. }
        | Stmt::Assume { .. }
        | Stmt::Free { .. }
        | Stmt::Fill { .. }
        | Stmt::Enter { .. }
        | Stmt::Take { .. }
        | Stmt::Sort { .. }
        | Stmt::Scan { .. }
        | Stmt::FailIf { .. }
        | Stmt::Device(_) => false,
    };
    let below = visit::bodies(stmt);
    own && below.into_iter().flatten().all(|stmt| repeats(stmt, inner))
}
