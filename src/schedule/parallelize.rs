//! `parallelize(i, unit, race)`: iterations shared out to units (000, 5.7).
//!
//! before: `forall(i, ...)`
//! after:  `forall(i, ..., CPUThread, NoRaces)`
//!
//! Units: `CPUThread`, `CPUThread(static|dynamic|guided[, chunk])`, `CPUVector`; for CUDA
//! `GPUBlock`, `GPUWarp` (a tile of threads) and `GPUThread`, each along an axis (`GPUBlockY`), and
//! `GPUGroup(r)`, threads that reduce in groups of r by `Segment` or `ParallelReduction` (001,
//! 5.1). Race strategies as in 000, figure 7-2: `NoRaces` (checked), `IgnoreRaces` (taken on the
//! user's word), `Atomics`, `Temporary` (a copy for each thread), `ParallelReduction`. Refused: a
//! unit that the target does not have; `NoRaces` where iterations write the same element or depend
//! on each other; `Atomics` on vector lanes; threads inside threads or lanes, blocks inside warps
//! or threads; a second unit for a loop; a group whose loop reduces nothing, or is not as long as the group of a
//! `ParallelReduction` (001, 3.3); a nest that appends to a sparse result; a coiterated loop
//! ([`super::tree`]). Afterwards only `unroll` and `parallelize` may follow on the nest.

use super::arguments::Arguments;
use super::join::dependence;
use super::units::{group_race, race, unit};
use crate::diagnostic::codes::{lower, schedule as codes};
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::pattern;
use crate::graph::race::races;
use crate::graph::relation::Quantity;
use crate::graph::tree::{concretize, groups};
use crate::graph::{Graph, Nest, Parallel, Race, Stmt, Unit};
use crate::plan;
use crate::program::ir::VarId;
use crate::units::{Axis, GpuLevel, GpuUnit, Group, Strategy};
use crate::units::{race_text, unit_text};

const USAGE: &str = "parallelize(i, CPUThread, NoRaces)";

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    arguments.expect_count(3, USAGE)?;
    let var = arguments.loop_var(&graph, 0)?;
    let unit_expr = arguments.expr(1)?;
    let mut unit = unit(arguments, unit_expr)?;
    let group = match &unit {
        Unit::Gpu(unit) => unit.group,
        Unit::CpuThread(_) | Unit::CpuVector => None,
    };
    let race = match group {
        Some(group) => {
            let race = group_race(arguments.expr(2)?)?;
            let strategy = if race == Race::ParallelReduction {
                Strategy::Parallel
            } else {
                Strategy::Segment
            };
            unit = Unit::Gpu(GpuUnit {
                level: GpuLevel::Thread,
                axis: axis_of(&graph, var),
                group: Some(Group { strategy, ..group }),
            });
            check_group(&graph, var, Group { strategy, ..group }, arguments)?;
            race
        }
        None => race(arguments.expr(2)?, unit)?,
    };
    if unit == Unit::CpuVector && race == Race::Atomics {
        let here = arguments.expr(2)?.span;
        return Err(lanes_of_atomics(graph, var, here, arguments));
    }
    check_serial(&graph, var, unit, arguments)?;
    check_iterations(&graph, var, (unit, race), arguments)?;
    share_out(&mut graph, var, (unit, race), arguments);
    check_places(&graph, arguments)?;
    let line = format!(
        "parallelize({}, {}, {})",
        crate::graph::print::var_text(&graph, var),
        unit_text(unit),
        race_text(race)
    );
    graph.script.push(line);
    Ok(graph)
}

/// A loop runs on one kind of unit: another command would silently take back what the first one said. Only
/// threads may be told to reduce in groups.
fn check_serial(
    graph: &Graph,
    var: VarId,
    unit: Unit,
    arguments: &Arguments,
) -> Result<(), Diagnostic> {
    let Some(first) = shared_out(graph, var) else {
        return Ok(());
    };
    if let (Unit::Gpu(before), Unit::Gpu(now)) = (first.unit, unit)
        && before.level == now.level
        && before.group.is_none()
        && now.group.is_some()
    {
        return Ok(());
    }
    let name = crate::graph::print::var_text(graph, var);
    let has = format!("{}, {}", unit_text(first.unit), race_text(first.race));
    let error = Diagnostic::error(
        codes::BAD_UNIT,
        arguments.span,
        format!("the loop over `{name}` is parallel already"),
        "a loop has one unit and one race strategy",
    )
    .with_label(
        first.span,
        format!("`parallelize({name}, {has})` comes first"),
    );
    Err(error.with_help(if may_stand_inside(unit, first.unit) {
        format!(
            "leave one of them out, or `split` the loop first: its outer part for {}, its inner part for {}",
            unit_text(first.unit),
            unit_text(unit)
        )
    } else {
        "leave one of them out".to_string()
    }))
}

/// What runs the iterations of a loop, if it is parallel.
fn shared_out(graph: &Graph, var: VarId) -> Option<Parallel> {
    let mut found = None;
    graph.visit_nests(&mut |nest| {
        let mut loops = nest.loops.iter().filter(|l| l.var == var);
        found = found
            .take()
            .or_else(|| loops.find_map(|l| l.tag.parallel.clone()));
    });
    found
}

fn share_out(graph: &mut Graph, var: VarId, (unit, race): (Unit, Race), arguments: &Arguments) {
    let span = arguments.span;
    for nest in &mut graph.nests {
        nest.visit_mut(&mut |part| {
            for l in part.loops.iter_mut().filter(|l| l.var == var) {
                l.tag.parallel = Some(Parallel { unit, race, span });
            }
        });
    }
}

/// Lanes cannot write atomically: how they can add up what iterations come to, if they can.
fn lanes_of_atomics(mut graph: Graph, var: VarId, here: Span, arguments: &Arguments) -> Diagnostic {
    let name = crate::graph::print::var_text(&graph, var);
    let lanes = (Unit::CpuVector, Race::ParallelReduction);
    let checked = check_iterations(&graph, var, lanes, arguments);
    share_out(&mut graph, var, lanes, arguments);
    let legal = checked
        .and_then(|()| check_places(&graph, arguments))
        .and_then(|()| super::tree::check(&graph, arguments, false));
    Diagnostic::error(
        codes::BAD_UNIT,
        here,
        "lanes of a vector cannot write atomically",
        "here",
    )
    .with_help(match legal {
        Ok(()) => format!("write `parallelize({name}, CPUVector, ParallelReduction)`"),
        Err(_) => format!(
            "bring the loop over `{name}` innermost and write `parallelize({name}, CPUVector, ParallelReduction)`, or share out a loop of the result"
        ),
    })
}

/// What `parallelize` asks of a loop, asked of the innermost part of one that was taken apart
/// behind it, which runs as the whole did. Nothing where that was serial.
///
/// # Errors
/// The part cannot run so.
pub fn check_parts(graph: &Graph, part: VarId, arguments: &Arguments) -> Result<(), Diagnostic> {
    let Some(Parallel { unit, race, .. }) = shared_out(graph, part) else {
        return Ok(());
    };
    let group = match unit {
        Unit::Gpu(unit) => unit.group,
        Unit::CpuThread(_) | Unit::CpuVector => None,
    };
    if let Some(group) = group {
        check_group(graph, part, group, arguments)?;
    }
    check_iterations(graph, part, (unit, race), arguments)?;
    check_places(graph, arguments)
}

/// Whether iterations of a loop may run at once.
fn check_iterations(
    graph: &Graph,
    var: VarId,
    (unit, race): (Unit, Race),
    arguments: &Arguments,
) -> Result<(), Diagnostic> {
    let mut error = None;
    graph.visit_nests(&mut |nest| {
        if error.is_none() && nest.loops.iter().any(|l| l.var == var) {
            error = check(graph, nest, var, (unit, race), arguments).err();
        }
    });
    for (first, second, depth) in dependence::sharing(graph) {
        if error.is_none()
            && race != Race::IgnoreRaces
            && graph.nests[first].loop_vars()[..depth].contains(&var)
            && graph
                .provenance
                .roots(var)
                .iter()
                .any(|&root| dependence::carried(graph, (first, second), root))
        {
            error = Some(
                Diagnostic::error(
                    codes::PARALLEL_REDUCTION,
                    arguments.span,
                    format!(
                        "iterations of `{}` need what other iterations wrote",
                        graph.var(var).name
                    ),
                    "a race",
                )
                .with_help("parallelize another loop, or leave the statements apart"),
            );
        }
    }
    error.map_or(Ok(()), Err)
}

/// Whether every unit of the graph stands where it may: where the loops of workspaces are follows from what they read.
fn check_places(graph: &Graph, arguments: &Arguments) -> Result<(), Diagnostic> {
    let stmts = concretize(graph).map_or(Vec::new(), |tree| tree.stmts);
    let groups = groups(graph);
    for (at, stmt) in stmts.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| groups.get(at..));
        if before.is_some_and(|nests| plan::is_spread(graph, nests)) {
            continue;
        }
        check_units(graph, stmt, &mut Vec::new(), arguments)?;
    }
    Ok(())
}

fn check(
    graph: &Graph,
    nest: &Nest,
    var: VarId,
    (unit, race): (Unit, Race),
    arguments: &Arguments,
) -> Result<(), Diagnostic> {
    let result = graph.tensor(nest.tensor);
    let appended: Vec<VarId> = pattern::appended(graph, nest)
        .into_iter()
        .flat_map(|v| graph.provenance.leaves(v, &nest.loop_vars()))
        .collect();
    let inside = nest.loops.iter().skip_while(|l| l.var != var);
    // What threads and blocks append they count first, see `plan::phases`.
    let lanes = unit == Unit::CpuVector;
    if lanes && inside.into_iter().any(|l| appended.contains(&l.var)) {
        return Err(Diagnostic::error(
            lower::PARALLEL_APPEND,
            arguments.span,
            format!(
                "`{}` is appended in order, one element after another",
                result.name
            ),
            "cannot be shared out",
        )
        .with_help("leave the loop serial, or let threads count first"));
    }
    let is_row = graph.workspaces.contains(&nest.tensor) && graph.collected.contains(&nest.tensor);
    let in_order = match unit {
        Unit::CpuThread(_) | Unit::CpuVector => true,
        // Threads of a block claim places, see `plan::shared`; a row is of one block.
        Unit::Gpu(unit) => unit.level == GpuLevel::Block,
    };
    if is_row && in_order {
        return Err(Diagnostic::error(
            lower::PARALLEL_APPEND,
            arguments.span,
            format!("`{}` lists one element after another", result.name),
            "cannot be shared out",
        )
        .with_help("share out a loop around the row: each has one of its own"));
    }
    if races(graph, nest, var) && race == Race::NoRaces {
        return Err(Diagnostic::error(
            codes::PARALLEL_REDUCTION,
            arguments.span,
            format!(
                "iterations of `{}` write the same elements of `{}`",
                graph.var(var).name,
                result.name
            ),
            "a race",
        )
        .with_help(
            "parallelize a loop of the result, or say how to resolve the race: Atomics, \
             Temporary or ParallelReduction",
        ));
    }
    Ok(())
}

/// Refuses threads inside threads or lanes, and lanes inside lanes: `around` are the units
/// of the loops around `stmt`.
fn check_units(
    graph: &Graph,
    stmt: &Stmt,
    around: &mut Vec<(VarId, Unit)>,
    arguments: &Arguments,
) -> Result<(), Diagnostic> {
    match stmt {
        Stmt::Forall { var, tag, body } => {
            let Some(own) = tag.parallel.as_ref().map(|p| p.unit) else {
                return check_units(graph, body, around, arguments);
            };
            if let Some((other, outside)) = around.iter().find(|(_, u)| !may_stand_inside(own, *u))
            {
                return Err(Diagnostic::error(
                    codes::BAD_UNIT,
                    arguments.span,
                    format!(
                        "{} would run inside {} (the loop over `{}`)",
                        unit_text(own),
                        unit_text(*outside),
                        graph.var(*other).name
                    ),
                    "units out of place",
                )
                .with_help(match own {
                    Unit::Gpu(_) => "blocks outside, then warps, threads innermost, each axis once",
                    Unit::CpuThread(_) | Unit::CpuVector => {
                        "threads outside, vector lanes innermost, each once"
                    }
                }));
            }
            around.push((*var, own));
            let below = check_units(graph, body, around, arguments);
            around.pop();
            below
        }
        Stmt::Within { body, .. } | Stmt::Guarded { body, .. } => {
            check_units(graph, body, around, arguments)
        }
        Stmt::Where {
            consumer, producer, ..
        } => {
            check_units(graph, producer, around, arguments)?;
            check_units(graph, consumer, around, arguments)
        }
        Stmt::Sequence(list) => list
            .iter()
            .try_for_each(|stmt| check_units(graph, stmt, around, arguments)),
        Stmt::Assign(_) => Ok(()),
    }
}

/// Whether a loop over `inner` may stand inside one over `outer`.
fn may_stand_inside(inner: Unit, outer: Unit) -> bool {
    match (inner, outer) {
        (Unit::CpuVector, Unit::CpuThread(_)) => true,
        (Unit::Gpu(inner), Unit::Gpu(outer)) => {
            inner.level > outer.level
                || (inner.level == outer.level
                    && inner.axis != outer.axis
                    && inner.level != GpuLevel::Warp)
        }
        (Unit::CpuThread(_) | Unit::CpuVector | Unit::Gpu(_), _) => false,
    }
}

/// The axis of the threads that already run the loop, or x.
fn axis_of(graph: &Graph, var: VarId) -> Axis {
    match shared_out(graph, var).map(|parallel| parallel.unit) {
        Some(Unit::Gpu(unit)) => unit.axis,
        Some(Unit::CpuThread(_) | Unit::CpuVector) | None => Axis::X,
    }
}

/// 001, 3.3: what a group reduces must be a sum, and whole.
fn check_group(
    graph: &Graph,
    var: VarId,
    group: Group,
    arguments: &Arguments,
) -> Result<(), Diagnostic> {
    let name = &graph.var(var).name;
    let mut reduces = false;
    graph.visit_nests(&mut |nest| {
        reduces |= nest.loops.iter().any(|l| l.var == var) && races(graph, nest, var);
    });
    let refused = |message: String, help: String| {
        Err(
            Diagnostic::error(codes::GROUP, arguments.span, message, "a segment group")
                .with_help(help),
        )
    };
    if !reduces {
        return refused(
            format!("iterations of `{name}` add to different elements: nothing to reduce"),
            format!("`parallelize({name}, GPUThread, NoRaces)`, and group the loop of the sum"),
        );
    }
    let extent = graph.extent(var).and_then(|extent| extent.as_int());
    let whole = extent == Some(i64::from(group.size));
    if group.strategy == Strategy::Parallel && !whole {
        let has = extent.map_or("no constant number of".to_string(), |n| n.to_string());
        return refused(
            format!(
                "`{name}` has {has} iterations, but the sum is reduced by {} threads, one of \
                 which writes it",
                group.size
            ),
            format!("`split` it so that the inner part has {}", group.size),
        );
    }
    Ok(())
}
