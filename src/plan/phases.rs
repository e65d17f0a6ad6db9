//! Whether results are counted before they are stored: where a schedule says so, and where
//! iterations that append are shared out, so that each finds room of its own.

use super::{Counted, Inside, Keeps, Loop, Node, Over, Then, Tree, counting};
use crate::diagnostic::codes::lower as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::race::told;
use crate::graph::{self, Assembly, Graph, Nest, pattern};
use crate::program::ir::{TensorId, VarId};
use crate::units::{GpuLevel, Unit};

/// What counts what the tree appends, if anything does.
///
/// # Errors
/// Iterations are shared out that cannot be told where their elements begin.
pub(super) fn counted(
    graph: &Graph,
    tree: &Tree,
    span: Span,
) -> Result<Option<Box<Counted>>, Diagnostic> {
    let nests = tree.nests.iter().zip(&tree.made);
    let appended = nests.filter(|(_, (_, made))| made.is_appended());
    let appended: Vec<&Nest> = appended.map(|(nest, _)| nest).collect();
    let Some(body) = tree.body.as_ref().filter(|_| !appended.is_empty()) else {
        return Ok(None);
    };
    // What threads collect together they store at numbers of their own, which need their room before.
    let rows = collected_together(body);
    let refused = |nest: &Nest, message: String, help: String| {
        let result = graph.tensor(nest.tensor);
        let does = match result.is_appended() {
            true => "appends to",
            false => "stores",
        };
        Err(Diagnostic::error(
            codes::PARALLEL_APPEND,
            span,
            message,
            format!("{does} `{}`", result.name),
        )
        .with_help(help))
    };
    // `parallelize` has seen a result that follows an operand, whose elements have places before.
    let is_lane = |l: &graph::Loop| unit(l) == Some(Unit::CpuVector);
    let mut kept = appended.iter().filter(|nest| graph.is_kept(nest.tensor));
    if let Some(nest) = kept.find(|nest| !appending(nest, graph, is_lane).is_empty()) {
        let name = &graph.tensor(nest.tensor).name;
        return refused(
            nest,
            format!("lanes cannot look for the elements that `{name}` has, one after another"),
            "share the loop out to threads, or leave it serial".to_string(),
        );
    }
    let shared = shared(&appended, graph, &rows);
    let kept = appended.iter().filter(|nest| graph.is_kept(nest.tensor));
    let kept = kept.count();
    // Where elements are is known: nothing is counted, but iterations must not meet.
    let counts = kept < appended.len();
    let said = |how| {
        let mut tensors = appended.iter().map(|nest| nest.tensor);
        tensors.any(|tensor| graph.assembly(tensor) == Some(how))
    };
    let spread = tree.made.iter().any(|(_, made)| made.turns().is_some());
    let together = !rows.is_empty();
    if shared.is_empty() && !said(Assembly::TwoPhase) && !spread && !together {
        return Ok(None);
    }
    if let Some(nest) = appended.iter().find(|nest| graph.is_kept(nest.tensor))
        && counts
    {
        let name = &graph.tensor(nest.tensor).name;
        return refused(
            nest,
            format!("`{name}` keeps its coordinates in loops that count those of others"),
            "assemble all results of these loops once, or leave the statements apart".to_string(),
        );
    }
    // What is counted stores nothing: not what others find of it, either.
    let is_read = |nest: &&Nest| {
        graph.tensor(nest.tensor).is_sparse()
            && tree.nests.iter().any(|other| other.reads(nest.tensor))
    };
    if let Some(nest) = tree.nests.iter().find(is_read)
        && counts
    {
        let name = &graph.tensor(nest.tensor).name;
        return refused(
            nest,
            format!("`{name}` cannot be counted where the same loops read it"),
            "leave the statements apart".to_string(),
        );
    }
    let vars: Vec<VarId> = shared.iter().map(|l| l.var).collect();
    let count = |shared| {
        counts.then(|| {
            let tree = counting::counted(tree);
            Box::new(Counted { tree, shared })
        })
    };
    // Iterations come to any rows, whoever runs them.
    if spread {
        return Ok(count(Vec::new()));
    }
    if together && said(Assembly::Append) {
        return refused(
            appended[0],
            "threads cannot append a row in order at the same time".to_string(),
            "`assemble(.., two_phase)` counts first; or leave the loops of the row serial"
                .to_string(),
        );
    }
    let Some(&var) = vars.first() else {
        return Ok(count(vars));
    };
    let name = |var: VarId| &graph.var(var).name;
    if said(Assembly::Append) {
        let name = name(var);
        return refused(
            appended[0],
            format!("iterations of `{name}` cannot append in order at the same time"),
            "`assemble(.., two_phase)` counts first; or leave the loop serial".to_string(),
        );
    }
    let outermost = outermost(body, vars.len());
    if let Some(at) = (0..vars.len()).find(|&at| outermost.get(at).map(|l| l.var) != Some(vars[at]))
    {
        return refused(
            appended[0],
            match at {
                0 => match outermost.first() {
                    Some(first) => format!(
                        "`{}` is not the outermost loop, which is `{}`",
                        name(vars[at]),
                        name(first.var)
                    ),
                    None => format!("`{}` is not the outermost loop", name(vars[at])),
                },
                _ => format!(
                    "`{}` does not stand directly inside the loop over `{}`",
                    name(vars[at]),
                    name(vars[at - 1])
                ),
            },
            "only the outermost loops of what appends can be shared out, the outer ones first"
                .to_string(),
        );
    }
    if let Some(l) = outermost.iter().find(|l| searches(&l.over)) {
        return refused(
            appended[0],
            format!(
                "iterations of `{}` search their coordinates one by one",
                name(l.var)
            ),
            "share out a loop over coordinates, or over what a level stores".to_string(),
        );
    }
    let small = shared.iter().find(|l| is_small(l));
    if let Some(l) = small.filter(|_| collects(body)) {
        return refused(
            appended[0],
            format!(
                "each thread of `{}` would need memory for a row",
                name(l.var)
            ),
            "share rows out to blocks alone: they take turns with the memory of some of them"
                .to_string(),
        );
    }
    let first = |nest: &Nest| {
        let format = &graph.tensor(nest.tensor).format;
        nest.lhs[format.modes[0]]
    };
    let in_order = appended
        .iter()
        .filter(|nest| !graph.collected.contains(&nest.tensor));
    for nest in in_order {
        if let Some(&var) = vars.iter().find(|&&var| !told(graph, &[first(nest)], var)) {
            let row = name(first(nest));
            return refused(
                nest,
                format!(
                    "iterations of `{}` would append elements of one `{row}`",
                    name(var)
                ),
                format!("share out the loop over `{row}`, or an outer part of it"),
            );
        }
    }
    Ok(count(vars))
}

/// The loops that threads or blocks share and in which something is appended, outermost first.
fn shared<'n>(nests: &[&'n Nest], graph: &Graph, rows: &[TensorId]) -> Vec<&'n graph::Loop> {
    for nest in nests {
        let own = nest
            .producers
            .iter()
            .filter(|own| rows.contains(&own.tensor));
        let stored: Vec<VarId> = own.flat_map(|own| own.lhs.clone()).collect();
        let is_shared = |l: &graph::Loop| match unit(l) {
            Some(Unit::Gpu(unit)) if stored.contains(&l.var) => unit.level == GpuLevel::Block,
            Some(Unit::CpuThread(_) | Unit::Gpu(_)) => true,
            Some(Unit::CpuVector) | None => false,
        };
        let found = appending(nest, graph, is_shared);
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// Those loops of a nest in which something is appended, outermost first.
fn appending<'n>(
    nest: &'n Nest,
    graph: &Graph,
    of: impl Fn(&graph::Loop) -> bool,
) -> Vec<&'n graph::Loop> {
    let loops = nest.loop_vars();
    let appended = pattern::appended(graph, nest).into_iter();
    let appended: Vec<VarId> = appended
        .flat_map(|var| graph.provenance.leaves(var, &loops))
        .collect();
    let inside = |at: usize| loops[at..].iter().any(|var| appended.contains(var));
    let all = nest.loops.iter().enumerate();
    let found = all.filter(|&(at, l)| of(l) && inside(at));
    found.map(|(_, l)| l).collect()
}

fn unit(l: &graph::Loop) -> Option<Unit> {
    l.tag.parallel.as_ref().map(|parallel| parallel.unit)
}

/// Whether the loop's units are parts of a block.
fn is_small(l: &graph::Loop) -> bool {
    match unit(l) {
        Some(Unit::Gpu(unit)) => unit.level != GpuLevel::Block,
        Some(Unit::CpuThread(_) | Unit::CpuVector) | None => false,
    }
}

/// Whether rows are collected in workspaces.
fn collects(body: &Inside) -> bool {
    let found = body.visit(&mut |node, _| match node {
        Node::Workspace(workspace) => match workspace.keeps {
            Keeps::Row
            | Keeps::Whole
            | Keeps::Hashed
            | Keeps::Shared
            | Keeps::SharedWhole
            | Keeps::Put(_)
            | Keeps::Found(_) => Err(()),
            Keeps::All | Keeps::Fill | Keeps::Noted => Ok(()),
        },
        Node::Loop(_)
        | Node::Within { .. }
        | Node::Sequence(_)
        | Node::Guarded(..)
        | Node::Assign(..) => Ok(()),
    });
    found.is_err()
}

/// The rows that threads collect together.
fn collected_together(body: &Inside) -> Vec<TensorId> {
    let mut rows = Vec::new();
    body.each(&mut |node| {
        if let Node::Workspace(workspace) = node
            && matches!(
                workspace.keeps,
                Keeps::Shared | Keeps::SharedWhole | Keeps::Found(_)
            )
        {
            rows.push(workspace.temp);
        }
    });
    rows
}

/// The outermost loops of which each stands directly inside the one before, so many at most.
fn outermost(body: &Inside, most: usize) -> Vec<&Loop> {
    let mut found: Vec<&Loop> = Vec::new();
    let mut body = Some(body);
    while let Some(Inside {
        then: Then::One(Node::Loop(l)),
        ..
    }) = body.filter(|_| found.len() < most)
    {
        found.push(l);
        let inside = l.over.bodies();
        body = inside.first().copied().filter(|_| inside.len() == 1);
    }
    found
}

/// Whether no level is walked, so that none of a result is opened either.
fn searches(over: &Over) -> bool {
    match over {
        Over::Positions { .. } | Over::Fused(_) => true,
        Over::Constant(..) | Over::Every { .. } | Over::Stored { .. } | Over::Merge(_) => false,
    }
}
