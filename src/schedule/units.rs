//! How schedules spell units and race strategies.

use super::arguments::Arguments;
use crate::diagnostic::codes::schedule as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::{Race, Unit};
use crate::syntax::ast::{Expr, ExprKind};
use crate::units::{Axis, GpuLevel, GpuUnit, Group, OmpSchedule, Strategy, race_text, unit_text};

const USAGE: &str = "parallelize(i, CPUThread, NoRaces)";
const GPU_USAGE: &str = "parallelize(i, GPUBlock, NoRaces)";
const GROUP_USAGE: &str = "parallelize(i, GPUGroup(32), Segment)";

pub(super) fn unit(arguments: &Arguments, e: &Expr) -> Result<Unit, Diagnostic> {
    let (name, args): (&str, &[Expr]) = if let ExprKind::Name(name) = &e.kind {
        (name, &[])
    } else if let ExprKind::Apply { callee, args } = &e.kind {
        (&callee.name, args)
    } else {
        return Err(refuse(e.span, "expected a unit".to_string()));
    };
    let lower = name.to_ascii_lowercase();
    if let Some(gpu) = lower.strip_prefix("gpu") {
        return gpu_unit(arguments, e.span, name, gpu, args);
    }
    if arguments.target.properties().has_blocks && lower.starts_with("cpu") {
        return Err(refuse_with(
            e.span,
            format!("`{name}` is out of place: the target is a GPU"),
            GPU_USAGE,
        ));
    }
    match lower.as_str() {
        "cputhread" => {}
        "cpuvector" if args.is_empty() => return Ok(Unit::CpuVector),
        "cpuvector" => {
            return Err(refuse(e.span, "CPUVector takes no arguments".to_string()));
        }
        _ => {
            let usage = match arguments.target.properties().has_blocks {
                true => GPU_USAGE,
                false => USAGE,
            };
            return Err(refuse_with(e.span, format!("unknown unit `{name}`"), usage));
        }
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
    if !arguments.target.properties().has_blocks {
        return Err(refuse(
            span,
            format!("`{name}` is out of place: the target is a CPU"),
        ));
    }
    if kind == "group" {
        let usage = GROUP_USAGE;
        let [size] = args else {
            return Err(refuse_with(
                span,
                "GPUGroup takes a size".to_string(),
                usage,
            ));
        };
        let value = arguments.constants.eval(size)?;
        let lanes = arguments.target.properties().lanes;
        let size = match u32::try_from(value) {
            Ok(size) if (2..=lanes).contains(&size) && size.is_power_of_two() => size,
            Ok(_) | Err(_) => {
                let sizes = (1..lanes.ilog2()).map(|bits| (1_u32 << bits).to_string());
                let smaller: Vec<String> = sizes.collect();
                return Err(Diagnostic::error(
                    codes::GROUP,
                    size.span,
                    format!("{value} threads are no group"),
                    format!("{} or {lanes}", smaller.join(", ")),
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
    let unknown = || refuse_with(span, format!("unknown unit `{name}`"), GPU_USAGE);
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
            GPU_USAGE,
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

/// The strategy of a segment group.
pub(super) fn group_race(e: &Expr) -> Result<Race, Diagnostic> {
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
        GROUP_USAGE,
    ))
}

/// The strategy of any other unit.
pub(super) fn race(e: &Expr, unit: Unit) -> Result<Race, Diagnostic> {
    let usage = format!("parallelize(i, {}, NoRaces)", unit_text(unit));
    let ExprKind::Name(name) = &e.kind else {
        let message = "expected a race strategy".to_string();
        return Err(refuse_with(e.span, message, &usage));
    };
    let all = [
        Race::NoRaces,
        Race::IgnoreRaces,
        Race::Atomics,
        Race::Temporary,
        Race::ParallelReduction,
    ];
    let found = all
        .into_iter()
        .find(|race| race_text(*race).eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        if name.eq_ignore_ascii_case(race_text(Race::Group)) {
            let message = format!("`{name}` is a strategy of segment groups alone");
            return refuse_with(e.span, message, GROUP_USAGE);
        }
        let names = all.map(race_text).join(", ");
        refuse_with(e.span, format!("unknown race strategy `{name}`"), &usage)
            .with_note(format!("the strategies are {names}"))
    })
}

pub(super) fn refuse(span: Span, message: String) -> Diagnostic {
    Diagnostic::error(codes::BAD_UNIT, span, message, "here").with_help(format!("write `{USAGE}`"))
}

fn refuse_with(span: Span, message: String, usage: &str) -> Diagnostic {
    Diagnostic::error(codes::BAD_UNIT, span, message, "here").with_help(format!("write `{usage}`"))
}
