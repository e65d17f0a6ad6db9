//! `parallelize(i, unit, race)`: iterations shared out to units (000, 5.7).
//!
//! before: `forall(i, ...)`
//! after:  `forall(i, ..., CPUThread, NoRaces)`
//!
//! Units: `CPUThread`, `CPUThread(static|dynamic|guided[, chunk])`; race strategies
//! `NoRaces` (checked) and `IgnoreRaces` (taken on the user's word). Refused: other
//! units and strategies (not supported yet); a loop of a reduction with `NoRaces`; a
//! nest that appends to a sparse result; a coiterated loop (by lowering, which knows
//! the lattice). Afterwards only `parallelize` may follow on the nest.

use super::arguments::Arguments;
use crate::diagnostic::codes::{lower, schedule as codes};
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::{Graph, Parallel, Race, Unit};
use crate::loops::ir::OmpSchedule;
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
    let race = race(arguments, arguments.expr(2)?)?;
    let roots = graph.provenance.roots(var);
    for nest in &graph.nests {
        if !nest.loops.iter().any(|l| l.var == var) {
            continue;
        }
        let result = graph.tensor(nest.tensor);
        if result.is_sparse() {
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
        let reduces = !roots.iter().all(|root| nest.lhs.contains(root));
        if reduces && race == Race::NoRaces {
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
            .with_help("parallelize a loop of the result"));
        }
    }
    let span = arguments.span;
    for l in graph.nests.iter_mut().flat_map(|nest| &mut nest.loops) {
        if l.var == var {
            l.tag.parallel = Some(Parallel { unit, race, span });
        }
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

/// The unit as a schedule writes it.
#[must_use]
pub fn unit_text(unit: Unit) -> String {
    let Unit::CpuThread(schedule) = unit;
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
        "cpuvector" => {
            return Err(refuse(
                e.span,
                "`CPUVector` is not supported yet".to_string(),
            ));
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

fn race(_arguments: &Arguments, e: &Expr) -> Result<Race, Diagnostic> {
    let ExprKind::Name(name) = &e.kind else {
        return Err(refuse(e.span, "expected a race strategy".to_string()));
    };
    match name.to_ascii_lowercase().as_str() {
        "noraces" => Ok(Race::NoRaces),
        "ignoreraces" => Ok(Race::IgnoreRaces),
        "atomics" | "temporary" | "parallelreduction" => Err(refuse(
            e.span,
            format!("the race strategy `{name}` is not supported yet"),
        )),
        _ => Err(refuse(e.span, format!("unknown race strategy `{name}`"))),
    }
}
