//! Coordinates at which a sparse result may have no element: which loops try them all, for whose
//! sake, and which would never end.

use super::around::Around;
use super::results::Results;
use crate::diagnostic::codes::{lower as codes, schedule};
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::Stmt;
use crate::graph::access::AccessId;
use crate::graph::known::Known;
use crate::graph::order::vars_in;
use crate::graph::relation::Values;
use crate::graph::simplify::Operands;
use crate::level::ArrayRole;
use crate::program::ir::{TensorId, VarId};
use std::collections::BTreeSet;

/// The operand that stores few coordinates of `root`, at a level that the order of the loops does
/// not reach yet, or at others than the loop's: a loop over all of them is owed to it. A result with a place for each coordinate
/// needs the loop anyway.
pub(super) fn tried(
    (operands, results): (Operands, &Results),
    stmt: &Stmt,
    root: VarId,
    around: &Around,
) -> Option<AccessId> {
    let has_places = results.nests.iter().any(|nest| {
        let format = &operands.tensor(nest.tensor).format;
        let mut modes = format.levels.iter().zip(&format.modes);
        modes.any(|(level, &mode)| level.is_placed() && nest.lhs.get(mode) == Some(&root))
    });
    let read = operands.table.in_stmt(operands.graph, stmt, false);
    let later = |id: &AccessId| {
        let access = &operands.table.get(*id).access;
        let format = &operands.tensor(access.tensor).format;
        let next = around.level(*id);
        // The next level would be walked, if its coordinates were the loop's.
        (next..format.order()).any(|level| {
            let subscript = &access.subscripts[format.modes[level]];
            let behind = level > next || subscript.as_var().is_none();
            behind && format.levels[level].is_walked() && vars_in(subscript).contains(&root)
        })
    };
    read.into_iter().find(|id| !has_places && later(id))
}

/// A loop over all of `root` in which an appended level is come to at every coordinate only because
/// an operand can be found by search alone: it would try every coordinate there is. Where an
/// operand notes for each of them whether it is stored, the loop goes through these notes.
pub(super) fn endless(
    (operands, results): (Operands, &Results),
    stmt: &Stmt,
    root: VarId,
    around: &Around,
    span: Span,
) -> Option<Diagnostic> {
    let appends = |tensor: TensorId, lhs: &[VarId]| {
        let format = &operands.tensor(tensor).format;
        let level = around.opened.get(&tensor).copied();
        let level = level.filter(|&level| level < format.order());
        level.is_some_and(|l| !format.levels[l].is_placed() && lhs[format.modes[l]] == root)
    };
    let mut appended = results.appended();
    let result = appended
        .find(|nest| appends(nest.tensor, &nest.lhs))?
        .tensor;
    let read = operands.table.in_stmt(operands.graph, stmt, false);
    if read.iter().any(|&id| notes(operands, id, root, around)) {
        return None;
    }
    let mut read = read.into_iter();
    let searched = read.find(|&id| is_searched(operands, id, root, around))?;
    let with_levels = |operand: &str, result: &str| {
        format!("store `{operand}` with its levels in the order of `{result}`, or `{result}` dense")
    };
    Some(every_coordinate(
        operands,
        (result, searched),
        with_levels,
        span,
    ))
}

/// A result that follows an operand, which the loops come to only at coordinates where it may store
/// nothing.
pub(super) fn unreached(
    operands: Operands,
    tensor: TensorId,
    source: AccessId,
    span: Span,
) -> Diagnostic {
    let in_order = |operand: &str, result: &str| {
        format!("leave the loops in the order of `{operand}`, or store `{result}` dense")
    };
    every_coordinate(operands, (tensor, source), in_order, span)
}

/// The refusal of a loop over all coordinates of a sparse result that an operand makes necessary.
fn every_coordinate(
    operands: Operands,
    (result, operand): (TensorId, AccessId),
    help: impl Fn(&str, &str) -> String,
    span: Span,
) -> Diagnostic {
    let result = &operands.tensor(result).name;
    let operand = operands.table.get(operand).access.tensor;
    let operand = &operands.tensor(operand).name;
    Diagnostic::error(
        codes::DENSE_RESULT,
        span,
        format!(
            "every coordinate of the sparse result `{result}` would be tried: not supported yet"
        ),
        format!("`{operand}` cannot be walked in the order of the loops"),
    )
    .with_help(help(operand, result))
}

/// Whether the next level of the access has a place for each `root` that says whether it is stored.
fn notes(operands: Operands, id: AccessId, root: VarId, around: &Around) -> bool {
    let access = &operands.table.get(id).access;
    let format = &operands.tensor(access.tensor).format;
    let level = around.level(id);
    format.levels.get(level).is_some_and(|stored| {
        let subscript = &access.subscripts[format.modes[level]];
        stored.has(ArrayRole::Presence) && subscript.as_var() == Some(root)
    })
}

/// Whether a loop over all of `root` lets the access be searched at coordinates that outer loops
/// fixed: each outer iteration would try the whole range.
fn is_searched(operands: Operands, id: AccessId, root: VarId, around: &Around) -> bool {
    let entry = operands.table.get(id);
    let format = &operands.tensor(entry.access.tensor).format;
    let mut known = Known::after(operands.graph, &around.loops);
    let mut meets_root = false;
    for level in around.level(id)..format.order() {
        let vars = vars_in(&entry.access.subscripts[format.modes[level]]);
        if !vars.iter().all(|&v| v == root || known.offset(v).is_some()) {
            return false;
        }
        if format.levels[level].is_walked() && meets_root && !vars.contains(&root) {
            return true;
        }
        meets_root |= vars.contains(&root);
    }
    false
}

/// A joined statement reads rows as they are appended: none may be skipped, for where a skipped one
/// ends is filled in behind the loops.
pub(super) fn skipped(
    (operands, results): (Operands, &Results),
    gaps: &BTreeSet<TensorId>,
    span: Span,
) -> Option<Diagnostic> {
    let is_read = |tensor| results.nests.iter().any(|nest| nest.reads(tensor));
    let tensor = gaps.iter().find(|&&tensor| is_read(tensor))?;
    let name = &operands.tensor(*tensor).name;
    Some(
        Diagnostic::error(
            schedule::NOT_NESTED,
            span,
            format!("rows of `{name}` may be skipped that a joined statement reads"),
            "where they end is not known inside the shared loops",
        )
        .with_help(format!(
            "leave the statements apart, or store `{name}` dense"
        )),
    )
}
