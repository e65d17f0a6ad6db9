//! Levels in no order: they are walked alone and as a whole. Whoever asks for more is refused: without
//! commands, statements that need the order read a copy (`graph/unordered.rs`).

use super::refusal::Refusal;
use super::results::Results;
use super::{By, Found};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::lower as codes;
use crate::graph::Stmt;
use crate::graph::access::AccessId;
use crate::graph::lattice::{Lattice, Resolved, Shape};
use crate::graph::simplify::Operands;
use crate::program::ir::{Tensor, VarId};

/// Levels are searched only if they are in order.
pub(super) fn unless_searched(
    operands: Operands,
    refusal: Refusal,
    found: &[Found],
) -> Result<(), Diagnostic> {
    for found in found {
        let tensor = operands.tensor(operands.table.get(found.access).access.tensor);
        match found.by {
            By::Search(_) if !tensor.format.levels[found.level].is_searchable() => {
                return Err(needed(tensor, refusal));
            }
            By::Search(_) | By::Arithmetic | By::Probe(_) => {}
        }
    }
    Ok(())
}

/// A loop that merges levels has them in order. One that walks one level alone, the `whole` of
/// it, needs none; if coordinates stand in it several times, what it does must add up.
pub(super) fn unless_merged(
    (operands, results): (Operands, &Results),
    refusal: Refusal,
    (root, whole): (VarId, bool),
    (lattice, resolved): (&Lattice, Resolved),
) -> Result<(), Diagnostic> {
    let ids = &lattice.iterators;
    let alone = match &lattice.shape {
        Shape::Sparse(points) if whole && ids.len() == 1 => match points.as_slice() {
            [only] => Some(&only.stmt),
            _ => None,
        },
        Shape::Nothing | Shape::Sparse(_) | Shape::Full { .. } | Shape::Wide { .. } => None,
    };
    let stays = |id: &AccessId| {
        let tensor = operands.tensor(operands.table.get(*id).access.tensor);
        let level = tensor.format.levels[resolved(*id)];
        let any_order =
            |stmt| !results.ascend(root, stmt) && (level.unique || only_adds(results, stmt));
        let covered = is_covered(operands, (tensor, resolved(*id)), root);
        level.ordered || (covered && alone.is_some_and(any_order))
    };
    match ids.iter().find(|id| !stays(id)) {
        None => Ok(()),
        Some(&id) => {
            let tensor = operands.table.get(id).access.tensor;
            Err(needed(operands.tensor(tensor), refusal))
        }
    }
}

/// Positions that a loop walks are those of all coordinates of the level, unless it is in order: a part
/// of them would be searched for.
pub(super) fn unless_part(
    operands: Operands,
    refusal: Refusal,
    (id, level): (AccessId, usize),
) -> Result<(), Diagnostic> {
    let access = &operands.table.get(id).access;
    let tensor = operands.tensor(access.tensor);
    let var = access.subscripts[tensor.format.modes[level]].as_var();
    let covered = var.is_some_and(|var| is_covered(operands, (tensor, level), var));
    match tensor.format.levels[level].ordered || covered {
        true => Ok(()),
        false => Err(needed(tensor, refusal)),
    }
}

/// Whether a variable has all values of a level's dimension.
fn is_covered(operands: Operands, (tensor, level): (&Tensor, usize), var: VarId) -> bool {
    let dim = &tensor.dims[tensor.format.modes[level]];
    operands.graph.covers(var, dim)
}

/// Coordinates of a tile of positions are cut out of levels that are in order.
pub(super) fn unless_cut(tensor: &Tensor, refusal: Refusal) -> Result<(), Diagnostic> {
    match tensor.format.levels.iter().all(|level| level.ordered) {
        true => Ok(()),
        false => Err(needed(tensor, refusal)),
    }
}

fn needed(tensor: &Tensor, refusal: Refusal) -> Diagnostic {
    let name = &tensor.name;
    let message = format!("the coordinates of `{name}` are needed in order");
    let label = "they are merged, searched, or cut by coordinates here";
    refusal
        .of(codes::UNORDERED, message, label)
        .with_note(format!("`{name}` is stored in an `unordered` level"))
        .with_help(format!(
            "walk all of `{name}` in a loop of its own, or store it in order"
        ))
}

/// Whether all that a statement does where a coordinate is met adds to what was done where it was
/// met before.
fn only_adds(results: &Results, stmt: &Stmt) -> bool {
    let own = stmt.workspaces();
    stmt.assigns().iter().all(|assign| {
        let tensor = assign.tensor;
        assign.op.is_some() || own.contains(&tensor) || results.is_collected(tensor)
    })
}
