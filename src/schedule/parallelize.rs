//! `parallelize(i, unit, race)`: iterations shared out to units (000, 5.7).
//!
//! before: `forall(i, ...)`
//! after:  `forall(i, ..., CPUThread, NoRaces)`
//!
//! Units: `CPUThread`, `CPUThread(static|dynamic|guided[, chunk])`, `CPUVector`; for CUDA
//! `GPUBlock`, `GPUWarp` (a tile of threads) and `GPUThread`, each along an axis
//! (`GPUBlockY`), and `GPUGroup(r)`, threads that reduce in groups of r by `Segment` or
//! `ParallelReduction` (001, 5.1). Race strategies as in 000, figure 7-2: `NoRaces`
//! (checked), `IgnoreRaces` (taken on the user's word), `Atomics`, `Temporary` (a copy for
//! each thread), `ParallelReduction`.
//! Refused: a unit that the target does not have; `NoRaces` where iterations write the
//! same element or depend on each other; `Atomics` on vector lanes; threads inside
//! threads or lanes, blocks inside warps or threads; a group whose loop reduces nothing,
//! or is not as long as the group of a `ParallelReduction` (001, 3.3); a nest that appends to a sparse result; a coiterated loop (by
//! lowering, which knows the lattice). Afterwards only `unroll` and `parallelize` may
//! follow on the nest.

use super::arguments::Arguments;
use super::join::dependence;
use crate::diagnostic::codes::{lower, schedule as codes};
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::concretize::concretize;
use crate::graph::pattern;
use crate::graph::race::races;
use crate::graph::{Graph, Nest, Parallel, Race, Stmt, Unit};
use crate::loops::ir::{Axis, GpuLevel, GpuUnit, Group, OmpSchedule, Strategy};
use crate::program::ir::{SizeExpr, VarId};
use crate::schedule::Target;
use crate::syntax::ast::{Expr, ExprKind};

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
            let strategy = match race {
                Race::ParallelReduction => Strategy::Parallel,
                Race::NoRaces
                | Race::IgnoreRaces
                | Race::Atomics
                | Race::Temporary
                | Race::Group => Strategy::Segment,
            };
            unit = Unit::Gpu(GpuUnit {
                level: GpuLevel::Thread,
                axis: axis_of(&graph, var),
                group: Some(Group { strategy, ..group }),
            });
            check_group(&graph, var, Group { strategy, ..group }, arguments)?;
            race
        }
        None => race(arguments.expr(2)?)?,
    };
    if unit == Unit::CpuVector && race == Race::Atomics {
        return Err(refuse(
            arguments.expr(2)?.span,
            "lanes of a vector cannot write atomically; use ParallelReduction".to_string(),
        ));
    }
    let mut error = None;
    graph.visit_nests(&mut |nest| {
        if error.is_none() && nest.loops.iter().any(|l| l.var == var) {
            error = check(&graph, nest, var, race, arguments).err();
        }
    });
    for (first, second, depth) in dependence::sharing(&graph) {
        if error.is_none()
            && race != Race::IgnoreRaces
            && graph.nests[first].loop_vars()[..depth].contains(&var)
            && graph
                .provenance
                .roots(var)
                .iter()
                .any(|&root| dependence::carried(&graph, (first, second), root))
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
    if let Some(error) = error {
        return Err(error);
    }
    let span = arguments.span;
    for nest in &mut graph.nests {
        nest.visit_mut(&mut |part| {
            for l in part.loops.iter_mut().filter(|l| l.var == var) {
                l.tag.parallel = Some(Parallel { unit, race, span });
            }
        });
    }
    // Where the loops of workspaces stand follows from what they read.
    for stmt in concretize(&graph).map_or(Vec::new(), |tree| tree.stmts) {
        check_units(&graph, &stmt, &mut Vec::new(), arguments)?;
    }
    let line = format!(
        "parallelize({}, {}, {})",
        crate::graph::print::var_text(&graph, var),
        unit_text(unit),
        race_text(race)
    );
    graph.script.push(line);
    Ok(graph)
}

fn check(
    graph: &Graph,
    nest: &Nest,
    var: VarId,
    race: Race,
    arguments: &Arguments,
) -> Result<(), Diagnostic> {
    let result = graph.tensor(nest.tensor);
    let appended: Vec<VarId> = pattern::appended(graph, nest)
        .into_iter()
        .flat_map(|v| graph.provenance.leaves(v, &nest.loop_vars()))
        .collect();
    let inside = nest.loops.iter().skip_while(|l| l.var != var);
    if inside.into_iter().any(|l| appended.contains(&l.var)) {
        return Err(Diagnostic::error(
            lower::PARALLEL_APPEND,
            arguments.span,
            format!(
                "`{}` is appended in order, one element after another",
                result.name
            ),
            "cannot be shared out",
        )
        .with_help("`assemble(C, two_phase)` is not supported yet; leave the loop serial"));
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
        Stmt::Within { body, .. } => check_units(graph, body, around, arguments),
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
    let mut axis = Axis::X;
    graph.visit_nests(&mut |nest| {
        for l in nest.loops.iter().filter(|l| l.var == var) {
            if let Some(Unit::Gpu(unit)) = l.tag.parallel.as_ref().map(|p| p.unit) {
                axis = unit.axis;
            }
        }
    });
    axis
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
    let extent = match graph.extent(var) {
        Some(SizeExpr::Const(n)) => Some(n),
        Some(
            SizeExpr::Size(_)
            | SizeExpr::Param(_)
            | SizeExpr::Add(..)
            | SizeExpr::Sub(..)
            | SizeExpr::Mul(..)
            | SizeExpr::FloorDiv(..)
            | SizeExpr::Min(..)
            | SizeExpr::Max(..),
        )
        | None => None,
    };
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

/// The unit as a schedule writes it.
#[must_use]
pub fn unit_text(unit: Unit) -> String {
    let schedule = match unit {
        Unit::CpuThread(schedule) => schedule,
        Unit::CpuVector => return "CPUVector".to_string(),
        Unit::Gpu(unit) => {
            if let Some(group) = unit.group {
                return format!("GPUGroup({})", group.size);
            }
            let level = match unit.level {
                GpuLevel::Block => "GPUBlock",
                GpuLevel::Warp => "GPUWarp",
                GpuLevel::Thread => "GPUThread",
            };
            let axis = match unit.axis {
                Axis::X => "",
                Axis::Y => "Y",
                Axis::Z => "Z",
            };
            return format!("{level}{axis}");
        }
    };
    let with = |kind: &str, chunk: Option<u32>| match chunk {
        Some(chunk) => format!("CPUThread({kind}, {chunk})"),
        None => format!("CPUThread({kind})"),
    };
    match schedule {
        OmpSchedule::Default => "CPUThread".to_string(),
        OmpSchedule::Static(chunk) => with("static", chunk),
        OmpSchedule::Dynamic(chunk) => with("dynamic", chunk),
        OmpSchedule::Guided(chunk) => with("guided", chunk),
    }
}

/// The race strategy as a schedule writes it.
#[must_use]
pub fn race_text(race: Race) -> &'static str {
    match race {
        Race::NoRaces => "NoRaces",
        Race::IgnoreRaces => "IgnoreRaces",
        Race::Atomics => "Atomics",
        Race::Temporary => "Temporary",
        Race::ParallelReduction => "ParallelReduction",
        Race::Group => "Segment",
    }
}

fn refuse(span: Span, message: String) -> Diagnostic {
    Diagnostic::error(codes::BAD_UNIT, span, message, "here").with_help(format!("write `{USAGE}`"))
}

fn unit(arguments: &Arguments, e: &Expr) -> Result<Unit, Diagnostic> {
    let (name, args): (&str, &[Expr]) = match &e.kind {
        ExprKind::Name(name) => (name, &[]),
        ExprKind::Apply { callee, args } => (&callee.name, args),
        ExprKind::Number(_)
        | ExprKind::Extent { .. }
        | ExprKind::Member { .. }
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..) => return Err(refuse(e.span, "expected a unit".to_string())),
    };
    let lower = name.to_ascii_lowercase();
    if let Some(gpu) = lower.strip_prefix("gpu") {
        return gpu_unit(arguments, e.span, name, gpu, args);
    }
    if arguments.target == Target::Cuda && lower.starts_with("cpu") {
        return Err(refuse_with(
            e.span,
            format!("`{name}` is out of place: the target is a GPU"),
            "parallelize(i, GPUBlock, NoRaces)",
        ));
    }
    match lower.as_str() {
        "cputhread" => {}
        "cpuvector" if args.is_empty() => return Ok(Unit::CpuVector),
        "cpuvector" => {
            return Err(refuse(e.span, "CPUVector takes no arguments".to_string()));
        }
        _ => return Err(refuse(e.span, format!("unknown unit `{name}`"))),
    }
    if args.is_empty() {
        return Ok(Unit::CpuThread(OmpSchedule::Default));
    }
    let kind = match args.first().map(|a| &a.kind) {
        Some(ExprKind::Name(kind)) => kind.to_ascii_lowercase(),
        _ => {
            return Err(refuse(
                e.span,
                "expected static, dynamic or guided".to_string(),
            ));
        }
    };
    let chunk = match args.get(1) {
        None => None,
        Some(chunk) => {
            let value = arguments.constants.eval(chunk)?;
            match u32::try_from(value) {
                Ok(value) if value >= 1 => Some(value),
                _ => return Err(refuse(chunk.span, format!("{value} is no chunk size"))),
            }
        }
    };
    if let Some(extra) = args.get(2) {
        return Err(refuse(
            extra.span,
            "too many arguments of CPUThread".to_string(),
        ));
    }
    Ok(Unit::CpuThread(match kind.as_str() {
        "static" => OmpSchedule::Static(chunk),
        "dynamic" => OmpSchedule::Dynamic(chunk),
        "guided" => OmpSchedule::Guided(chunk),
        _ => return Err(refuse(e.span, format!("unknown loop schedule `{kind}`"))),
    }))
}

/// `GPUBlock`, `GPUWarp`, `GPUThread` with their axes, and `GPUGroup(r)`.
fn gpu_unit(
    arguments: &Arguments,
    span: Span,
    name: &str,
    kind: &str,
    args: &[Expr],
) -> Result<Unit, Diagnostic> {
    const USAGE: &str = "parallelize(i, GPUBlock, NoRaces)";
    if arguments.target == Target::C {
        return Err(refuse(
            span,
            format!("`{name}` is out of place: the target is a CPU"),
        ));
    }
    if kind == "group" {
        let usage = "parallelize(i, GPUGroup(32), Segment)";
        let [size] = args else {
            return Err(refuse_with(
                span,
                "GPUGroup takes a size".to_string(),
                usage,
            ));
        };
        let value = arguments.constants.eval(size)?;
        let size = match u32::try_from(value) {
            Ok(size) if (2..=32).contains(&size) && size.is_power_of_two() => size,
            Ok(_) | Err(_) => {
                return Err(Diagnostic::error(
                    codes::GROUP,
                    size.span,
                    format!("{value} threads are no group"),
                    "2, 4, 8, 16 or 32",
                )
                .with_help(format!("write `{usage}`")));
            }
        };
        return Ok(Unit::Gpu(GpuUnit {
            level: GpuLevel::Thread,
            axis: Axis::X,
            group: Some(Group {
                size,
                strategy: Strategy::Segment,
            }),
        }));
    }
    let unknown = || refuse_with(span, format!("unknown unit `{name}`"), USAGE);
    let (level, axis) = [
        ("block", GpuLevel::Block),
        ("warp", GpuLevel::Warp),
        ("thread", GpuLevel::Thread),
    ]
    .into_iter()
    .find_map(|(prefix, level)| Some((level, kind.strip_prefix(prefix)?)))
    .ok_or_else(unknown)?;
    let axis = match axis {
        "" | "x" => Axis::X,
        "y" => Axis::Y,
        "z" => Axis::Z,
        _ => return Err(unknown()),
    };
    if !args.is_empty() {
        return Err(refuse_with(
            span,
            format!("{name} takes no arguments"),
            USAGE,
        ));
    }
    // A warp only tiles threads (001, 5.1): along y and z that is a loop over threads.
    let level = match (level, axis) {
        (GpuLevel::Warp, Axis::Y | Axis::Z) => GpuLevel::Thread,
        (level, _) => level,
    };
    Ok(Unit::Gpu(GpuUnit {
        level,
        axis,
        group: None,
    }))
}

fn refuse_with(span: Span, message: String, usage: &str) -> Diagnostic {
    Diagnostic::error(codes::BAD_UNIT, span, message, "here").with_help(format!("write `{usage}`"))
}

/// The strategy of a segment group.
fn group_race(e: &Expr) -> Result<Race, Diagnostic> {
    let name = if let ExprKind::Name(name) = &e.kind {
        name.as_str()
    } else {
        ""
    };
    if name.eq_ignore_ascii_case("Segment") {
        return Ok(Race::Group);
    }
    if name.eq_ignore_ascii_case("ParallelReduction") {
        return Ok(Race::ParallelReduction);
    }
    Err(refuse_with(
        e.span,
        "a segment group reduces by Segment or ParallelReduction".to_string(),
        "parallelize(i, GPUGroup(32), Segment)",
    ))
}

fn race(e: &Expr) -> Result<Race, Diagnostic> {
    let ExprKind::Name(name) = &e.kind else {
        return Err(refuse(e.span, "expected a race strategy".to_string()));
    };
    let all = [
        Race::NoRaces,
        Race::IgnoreRaces,
        Race::Atomics,
        Race::Temporary,
        Race::ParallelReduction,
    ];
    all.into_iter()
        .find(|race| race_text(*race).eq_ignore_ascii_case(name))
        .ok_or_else(|| refuse(e.span, format!("unknown race strategy `{name}`")))
}
