//! `inspect(p, u)`: a static upper bound of a dynamic counted loop, computed at run time
//! (003).
//!
//! before: `forall(i, forall(p, ...))` with `p in lo(i):hi(i)`
//! after:  `u = max(hi(i) - lo(i))`, then the same loops `suchthat inspect(p, p, u)`
//!
//! The inspector runs in all threads where the statement has some, and on all of a GPU, unless the
//! schedule shares out its loops, `i_u` and so on, itself.
//!
//! Then the loop over p can be split, reordered and fused as if it ran u times; where the
//! data say that it ends earlier, it ends. Refused: the range of p is static; p was made
//! by a command.

mod inspector;

use super::arguments::{Arguments, replace_loops, taken};
use super::split;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::format::TensorFormat;
use crate::graph::relation::Inspect;
use crate::graph::terms::reads;
use crate::graph::{Graph, Nest, Parallel, Relation, Tag, print};
use crate::program::ir::{Role, Tensor, TensorId, VarId};
use crate::scalar::{Literal, ScalarType};
use crate::syntax::ast::Ident;
use crate::units::{Axis, GpuLevel, GpuUnit, OmpSchedule, Race, Unit, race_text, unit_text};

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    arguments.expect_count(2, "inspect(p, u)")?;
    let parent = arguments.loop_var(&graph, 0)?;
    arguments.expect_open(&graph, parent)?;
    let here = arguments.expr(0)?.span;
    let var = graph.var(parent).clone();
    let producer = graph.provenance.producer(parent);
    if producer.is_some_and(|made| made.inspected().is_some()) {
        return Err(Diagnostic::error(
            codes::BAD_BOUND,
            here,
            format!("`{}` has a bound already", var.name),
            "by an `inspect` before",
        )
        .with_help("leave this `inspect` out"));
    }
    if producer.is_some() || graph.static_range(parent).is_some() {
        return Err(Diagnostic::error(
            codes::BAD_BOUND,
            here,
            format!(
                "the program gives `{}` no range that depends on data",
                var.name
            ),
            "nothing to inspect",
        )
        .with_help("`inspect` takes a dynamic counted loop, before other commands on it"));
    }
    let name = arguments.name(1)?;
    if is_taken(&graph, &name.name) {
        return Err(taken(&name));
    }
    inspect(graph, parent, &name, arguments).map(|(graph, _)| graph)
}

/// Whether the program or a command uses a name.
pub(super) fn is_taken(graph: &Graph, name: &str) -> bool {
    graph.vars.iter().any(|v| v.name == name)
        || graph.has_tensor(name)
        || graph.function.sizes.iter().any(|s| s.name == name)
}

/// Bounds a variable of the program whose range data decide by a scalar of that name, which is new;
/// the variable that has the loops then.
///
/// # Errors
/// No statement runs it, or what decides its range is computed in loops that the statement shares.
pub(super) fn inspect(
    mut graph: Graph,
    parent: VarId,
    name: &Ident,
    arguments: &Arguments,
) -> Result<(Graph, VarId), Diagnostic> {
    let here = arguments.expr(0)?.span;
    let var = graph.var(parent).clone();
    let runs = |nest: &Nest| {
        let mut found = false;
        nest.visit(&mut |part| found |= part.loops.iter().any(|l| l.var == parent));
        found
    };
    let Some(at) = graph.nests.iter().position(runs) else {
        return Err(arguments.wrong(here, "no statement runs it".to_string(), "inspect(p, u)"));
    };
    let bound = graph.add_tensor(Tensor {
        name: name.name.clone(),
        span: name.span,
        role: Role::Temporary,
        ty: ScalarType::I64,
        dims: vec![],
        format: TensorFormat::dense(0),
        fill: Literal::ZERO,
    });
    // Before the loops that the statement shares with others.
    let first = (0..=at)
        .rev()
        .find(|&k| graph.nests[k].joined == 0)
        .unwrap_or(at);
    let inspector = inspector::nest(&mut graph, (at, first), parent, &name.name, bound);
    let written = graph.nests[first..at]
        .iter()
        .find(|nest| reads(&inspector.rhs, nest.tensor));
    if let Some(written) = written {
        let other = &graph.tensor(written.tensor).name;
        return Err(Diagnostic::error(
            codes::BAD_BOUND,
            here,
            format!(
                "`{}` depends on `{other}`, which the loops it shares write",
                graph.var(parent).name
            ),
            "cannot be inspected before them",
        )
        .with_help("leave the statements apart"));
    }
    graph.nests.insert(first, inspector);
    let child = graph.add_var(var);
    replace_loops(&mut graph, parent, &[child]);
    graph.relate(Relation::Inspect(Inspect {
        parent,
        child,
        bound,
    }));
    Ok((graph, child))
}

/// The threads of a block that looks for a part of the maximum.
const BLOCK: i64 = 256;

/// Shares out the inspectors that a schedule leaves serial: among threads where the statement that
/// needs the bound has some, among all of a GPU.
///
/// # Errors
/// None that a user causes: the names are new.
pub(super) fn share_out(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    let relations = graph.provenance.relations.iter();
    let bounds: Vec<TensorId> = relations.filter_map(Relation::inspected).collect();
    for bound in bounds {
        let Some(at) = graph.nests.iter().position(|nest| nest.tensor == bound) else {
            continue;
        };
        let nest = &graph.nests[at];
        let serial = nest.loops.iter().all(|l| l.tag == Tag::default());
        let Some(first) = nest.loops.first().filter(|_| serial).map(|l| l.var) else {
            continue;
        };
        let mut threads = false;
        // Another inspector may have taken what this one finds.
        let needs = |n: &&Nest| n.tensor == bound || reads(&n.rhs, bound);
        let stmts: Vec<usize> = graph.nests.iter().filter(needs).map(|n| n.stmt).collect();
        let users = graph.nests.iter().filter(|n| stmts.contains(&n.stmt));
        users.for_each(|nest| {
            nest.visit(&mut |part| {
                let units = part.loops.iter().filter_map(|l| l.tag.parallel.as_ref());
                threads |= units
                    .into_iter()
                    .any(|p| matches!(p.unit, Unit::CpuThread(_)));
            });
        });
        let gpu = |level| {
            Unit::Gpu(GpuUnit {
                level,
                axis: Axis::X,
                group: None,
            })
        };
        if arguments.target.properties().has_blocks {
            let part = |end: &str| Ident {
                name: new_name(&graph, &format!("{}_{end}", graph.var(first).name)),
                span: arguments.span,
            };
            let (block, thread) = (part("b"), part("t"));
            let (block, thread) = split::split(&mut graph, first, &block, &thread, BLOCK)?;
            tag(
                &mut graph,
                block,
                (gpu(GpuLevel::Block), Race::Atomics),
                arguments,
            );
            let unit = (gpu(GpuLevel::Thread), Race::ParallelReduction);
            tag(&mut graph, thread, unit, arguments);
        } else if threads {
            let unit = Unit::CpuThread(OmpSchedule::Default);
            tag(
                &mut graph,
                first,
                (unit, Race::ParallelReduction),
                arguments,
            );
        }
    }
    Ok(graph)
}

fn tag(graph: &mut Graph, var: VarId, (unit, race): (Unit, Race), arguments: &Arguments) {
    let span = arguments.span;
    for nest in &mut graph.nests {
        for l in nest.loops.iter_mut().filter(|l| l.var == var) {
            l.tag.parallel = Some(Parallel { unit, race, span });
        }
    }
    graph.script.push(format!(
        "parallelize({}, {}, {})",
        print::var_text(graph, var),
        unit_text(unit),
        race_text(race)
    ));
}

/// The name, or one like it that is new.
pub(super) fn new_name(graph: &Graph, name: &str) -> String {
    let mut names = (0..).map(|n| match n {
        0 => name.to_string(),
        n => format!("{name}{n}"),
    });
    names
        .find(|name| !is_taken(graph, name))
        .unwrap_or_default()
}
