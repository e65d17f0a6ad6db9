//! What iterations of a shared loop compete for, and what settles it (000, 6.5 and figure 7-2).
//!
//! A scalar that accumulates becomes a reduction of the loop, whatever the strategy. An array's
//! elements are written in turns, or in a copy for each unit, which are added up afterwards.

use super::around::Around;
use super::refusal::Refusal;
use super::results::Results;
use super::{Contest, Write};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::{lower, schedule as codes};
use crate::graph::race::{competed, told};
use crate::graph::simplify::Operands;
use crate::graph::{Assign, Graph, Nest, Parallel, Race, Stmt, Unit};
use crate::level::ArrayRole;
use crate::operators::is_atomic;
use crate::program::ir::{ReduceOp, Role, TensorId, VarId};
use crate::units::{GpuLevel, Strategy};
use std::collections::BTreeSet;

/// What iterations of the loop over `var` compete for: what is said of the loops inside goes into
/// `around`, results that must hold their fill for copies to be added up into `filled`.
pub(super) fn share_out(
    (operands, results): (Operands, &Results),
    (var, parallel): (VarId, &Parallel),
    body: &Stmt,
    around: &mut Around,
    filled: &mut BTreeSet<TensorId>,
    refusal: Refusal,
) -> Result<Contest, Diagnostic> {
    let graph = operands.graph;
    let gpu = match parallel.unit {
        Unit::Gpu(unit) => Some(unit),
        Unit::CpuThread(_) | Unit::CpuVector => None,
    };
    around.units.push((var, parallel.unit));
    let in_turn = matches!(parallel.race, Race::Atomics | Race::Group);
    // Blocks and threads are all there at once: what one of them writes in turn must be so against
    // the units around it, too.
    let own = around.units.len() - 1;
    let from = if gpu.is_some() && in_turn { 0 } else { own };
    let workspaces = body.workspaces();
    let is_variable = |t: TensorId| graph.is_variable(t, operands.tensor(t));
    let mut contest = Contest::default();
    let mut rivals: BTreeSet<VarId> = BTreeSet::new();
    for assign in body.assigns() {
        let tensor = assign.tensor;
        contest.adds |= is_variable(tensor) || graph.workspaces.contains(&tensor);
        if workspaces.contains(&tensor) {
            continue;
        }
        if is_variable(tensor) {
            let reduced = (assign.op.unwrap_or(ReduceOp::Add), tensor);
            if !contest.reduced.contains(&reduced) {
                contest.reduced.push(reduced);
            }
            continue;
        }
        if parallel.race != Race::IgnoreRaces {
            unless_told((operands, results), assign, var, refusal)?;
        }
        let outside = around.owned.get(&tensor).copied().unwrap_or(0);
        let units = around.units.iter().skip(from.max(outside)).map(|u| u.0);
        let nests = || results.nests.iter().copied();
        let met: Vec<VarId> = units
            .filter(|&unit| competed(graph, nests(), tensor, unit))
            .collect();
        if !met.is_empty() {
            contest.arrays.insert(tensor);
        }
        rivals.extend(met);
    }
    contest.rivals = rivals.into_iter().collect();
    let Some(&first) = contest.arrays.first() else {
        return Ok(contest);
    };
    let copied = matches!(parallel.race, Race::Temporary | Race::ParallelReduction);
    refuse(
        (operands, results),
        (&contest.arrays, first),
        (parallel, copied, around.units.len()),
        refusal,
    )?;
    if copied {
        for &tensor in &contest.arrays {
            let assigns = body.assigns();
            let first = assigns.iter().find(|assign| assign.tensor == tensor);
            let op = first.and_then(|assign| assign.op).unwrap_or(ReduceOp::Add);
            contest.copies.push((tensor, op));
            if begins((operands, results), tensor, around) {
                filled.insert(tensor);
            }
        }
    }
    if in_turn {
        around.segment = gpu
            .and_then(|unit| unit.group)
            .filter(|group| group.strategy == Strategy::Segment)
            .map(|group| group.size);
        around.contested = contest.arrays.clone();
        around.rivals = contest.rivals.clone();
    }
    Ok(contest)
}

/// Refuses that iterations read whether anything stands at outer coordinates of a tensor that others of them
/// note: each has elements of its own there, but the byte is everybody's.
fn unless_told(
    (operands, results): (Operands, &Results),
    assign: &Assign,
    var: VarId,
    refusal: Refusal,
) -> Result<(), Diagnostic> {
    let tensor = operands.tensor(assign.tensor);
    let noted =
        results.is_noted(assign.tensor) && !operands.graph.workspaces.contains(&assign.tensor);
    if !noted || !results.nests.iter().any(|nest| nest.reads(assign.tensor)) {
        return Ok(());
    }
    let format = &tensor.format;
    let shared = |level: usize| {
        let known = format.modes[..=level].iter().map(|&mode| assign.lhs[mode]);
        let known: Vec<VarId> = known.collect();
        format.levels[level].has(ArrayRole::Presence) && !told(operands.graph, &known, var)
    };
    if !(0..format.order()).any(shared) || !told(operands.graph, &assign.lhs, var) {
        return Ok(());
    }
    let name = &tensor.name;
    let error = refusal.of(
        codes::PARALLEL_REDUCTION,
        format!("iterations note in `{name}` for others what they read themselves"),
        "a race",
    );
    let help = format!(
        "store `{name}` with this loop's level first, or dense, or leave the statements apart"
    );
    Err(error.with_help(help))
}

/// Refuses what the strategy cannot settle.
fn refuse(
    (operands, results): (Operands, &Results),
    (arrays, first): (&BTreeSet<TensorId>, TensorId),
    (parallel, copied, units): (&Parallel, bool, usize),
    refusal: Refusal,
) -> Result<(), Diagnostic> {
    let name = |tensor: TensorId| &operands.tensor(tensor).name;
    let together = parallel.race == Race::Atomics
        && matches!(parallel.unit, Unit::Gpu(unit) if unit.level != GpuLevel::Block);
    let appended = |tensor: TensorId| {
        // Threads of a block take slots of a table in turns.
        let graph = operands.graph;
        let row = graph.workspaces.contains(&tensor) && graph.collected.contains(&tensor);
        let row = together && row;
        let fixed = row || (!copied && results.follows(tensor));
        operands.tensor(tensor).is_appended() && !fixed
    };
    if let Some(&sparse) = arrays.iter().find(|&&t| appended(t)) {
        let name = name(sparse);
        return Err(refusal
            .of(
                lower::PARALLEL_APPEND,
                format!("iterations would add to the same elements of the sparse `{name}`"),
                "its elements are made one after another",
            )
            .with_help(format!("store `{name}` dense, or bring the loop innermost")));
    }
    if copied && parallel.unit == Unit::CpuVector {
        return Err(refusal
            .of(
                codes::BAD_UNIT,
                format!(
                    "lanes of a vector would add to the same elements of `{}`",
                    name(first)
                ),
                "only a single sum can be reduced across lanes",
            )
            .with_help("bring the loop innermost, so that it sums into a scalar"));
    }
    if copied
        && let Unit::Gpu(gpu) = parallel.unit
        && units > 1
    {
        let help = match gpu.group {
            Some(_) => "`Segment`, which adds up what a group has of each element",
            None => "`Atomics`, or bring the loop innermost",
        };
        return Err(refusal
            .of(
                codes::UNSUPPORTED_COMMAND,
                format!(
                    "each unit inside of another would need a copy of all of `{}`",
                    name(first)
                ),
                "a copy for each unit",
            )
            .with_help(help));
    }
    Ok(())
}

/// Whether a tensor of which there are copies must hold its fill before: all elements of copies are
/// added up, also those that loops around have not come to, and those of a tile that stick out
/// of its tensor.
fn begins((operands, results): (Operands, &Results), tensor: TensorId, around: &Around) -> bool {
    let graph = operands.graph;
    let mut set = false;
    for nest in results.nests {
        nest.visit(&mut |part| set |= part.tensor == tensor && part.op.is_none());
    }
    let mut dims = operands.tensor(tensor).dims.iter();
    let tile = graph.workspaces.contains(&tensor)
        && dims.any(|dim| graph.function.constant(dim).is_some());
    let fillable = operands.droppable.contains(&tensor)
        || is_first_written(graph, results.nests, tensor, operands);
    set && (tile || !around.loops.is_empty()) && fillable
}

/// Whether nothing that could be lost stands in the tensor before these nests.
fn is_first_written(graph: &Graph, nests: &[&Nest], tensor: TensorId, operands: Operands) -> bool {
    let first = graph.nests.iter().find(|nest| nest.tensor == tensor);
    let here = nests.iter().find(|nest| nest.tensor == tensor);
    operands.tensor(tensor).role != Role::InOut
        && first
            .zip(here)
            .is_some_and(|(first, here)| first.span == here.span)
}

/// How an assignment writes its element.
pub(super) fn write(
    operands: Operands,
    assign: &Assign,
    around: &Around,
    refusal: Refusal,
) -> Result<Write, Diagnostic> {
    if !around.contested.contains(&assign.tensor) {
        return Ok(Write::Plain);
    }
    if let (Some(lanes), Some(_)) = (around.segment, assign.op) {
        return Ok(Write::Segment(lanes));
    }
    let tensor = operands.tensor(assign.tensor);
    let lanes = around.units.iter().any(|u| u.1 == Unit::CpuVector);
    if lanes && !is_atomic(tensor.ty, assign.op) {
        return Err(refusal
            .of(
                codes::BAD_UNIT,
                format!(
                    "lanes of a vector cannot take turns to update `{}`",
                    tensor.name
                ),
                "only sums and products of numbers are atomic without turns",
            )
            .with_help("let threads have copies (`Temporary`), or leave this loop as it is"));
    }
    Ok(Write::InTurn(around.rivals.clone()))
}
