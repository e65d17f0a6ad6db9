//! `parallelize(i, unit, race)`: iterations shared out to units (000, 5.7).
//!
//! before: `forall(i, ...)`
//! after:  `forall(i, ..., CPUThread, NoRaces)`
//!
//! Units: `CPUThread`, `CPUThread(static|dynamic|guided[, chunk])`, `CPUVector`. Race
//! strategies as in 000, figure 7-2: `NoRaces` (checked), `IgnoreRaces` (taken on the
//! user's word), `Atomics`, `Temporary` (a copy for each thread), `ParallelReduction`.
//! Refused: a unit that the target does not have; `NoRaces` where iterations write the
//! same element or depend on each other; `Atomics` on vector lanes; threads inside
//! threads or lanes; a nest that appends to a sparse result; a coiterated loop (by
//! lowering, which knows the lattice). Afterwards only `unroll` and `parallelize` may
//! follow on the nest.

use super::arguments::Arguments;
use super::join::dependence;
use crate::diagnostic::codes::{lower, schedule as codes};
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::pattern;
use crate::graph::race::races;
use crate::graph::{Graph, Nest, Parallel, Race, Unit};
use crate::loops::ir::OmpSchedule;
use crate::program::ir::VarId;
use crate::syntax::ast::{Expr, ExprKind};

const USAGE: &str = "parallelize(i, CPUThread, NoRaces)";

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    arguments.expect_count(3, USAGE)?;
    let var = arguments.loop_var(&graph, 0)?;
    let unit = unit(arguments, arguments.expr(1)?)?;
    let race = race(arguments.expr(2)?)?;
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
    for at in 0..graph.nests.len() {
        error = error.or_else(|| check_units(&graph, &graph.nests[at], &[], var, unit, arguments));
        let shared = graph.nests.get(at + 1).map_or(0, |next| next.joined);
        let joined = graph.nests[at].loops[..shared.min(graph.nests[at].loops.len())]
            .iter()
            .any(|l| l.var == var);
        if error.is_none()
            && joined
            && race == Race::NoRaces
            && graph
                .provenance
                .roots(var)
                .iter()
                .any(|&root| dependence::carried(&graph, at, root))
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
    let line = format!(
        "parallelize({}, {}, {})",
        graph.var(var).name,
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

/// Refuses threads inside threads or lanes, and lanes inside lanes.
fn check_units(
    graph: &Graph,
    nest: &Nest,
    outer: &[(VarId, Unit)],
    var: VarId,
    unit: Unit,
    arguments: &Arguments,
) -> Option<Diagnostic> {
    let mut around: Vec<(VarId, Unit)> = outer.to_vec();
    for l in &nest.loops {
        let own = if l.var == var {
            Some(unit)
        } else {
            l.tag.parallel.as_ref().map(|p| p.unit)
        };
        let Some(own) = own else { continue };
        let bad = around.iter().find(|(v, u)| {
            *v != l.var && (*u == Unit::CpuVector || !matches!(own, Unit::CpuVector))
        });
        if let Some((other, outside)) = bad {
            return Some(
                Diagnostic::error(
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
                .with_help("threads outside, vector lanes innermost, each once"),
            );
        }
        around.push((l.var, own));
    }
    nest.producers
        .iter()
        .find_map(|p| check_units(graph, p, &around, var, unit, arguments))
}

/// The unit as a schedule writes it.
#[must_use]
pub fn unit_text(unit: Unit) -> String {
    let schedule = match unit {
        Unit::CpuThread(schedule) => schedule,
        Unit::CpuVector => return "CPUVector".to_string(),
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
    match name.to_ascii_lowercase().as_str() {
        "cputhread" => {}
        "cpuvector" if args.is_empty() => return Ok(Unit::CpuVector),
        "cpuvector" => {
            return Err(refuse(e.span, "CPUVector takes no arguments".to_string()));
        }
        gpu if gpu.starts_with("gpu") => {
            return Err(refuse(
                e.span,
                format!("`{name}` is out of place: the target is a CPU"),
            ));
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
