//! Whether results are counted before they are stored: where a schedule says so, and where
//! iterations that append are shared out, so that each finds room of its own.

use super::{Counted, Inside, Loop, Node, Over, Then, Tree, counting};
use crate::diagnostic::codes::lower as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::race::told;
use crate::graph::{Assembly, Graph, Nest, pattern};
use crate::program::ir::VarId;
use crate::units::Unit;

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
    let shared = shared(graph, &appended);
    let said = |how| {
        let mut tensors = appended.iter().map(|nest| nest.tensor);
        tensors.any(|tensor| graph.assembly(tensor) == Some(how))
    };
    if shared.is_none() && !said(Assembly::TwoPhase) {
        return Ok(None);
    }
    let refused = |nest: &Nest, message: String, help: String| {
        let name = &graph.tensor(nest.tensor).name;
        Err(Diagnostic::error(
            codes::PARALLEL_APPEND,
            span,
            message,
            format!("appends to `{name}`"),
        )
        .with_help(help))
    };
    let read = |nest: &&&Nest| tree.nests.iter().any(|other| other.reads(nest.tensor));
    if let Some(nest) = appended.iter().find(read) {
        let name = &graph.tensor(nest.tensor).name;
        return refused(
            nest,
            format!("`{name}` cannot be counted where the same loops read it"),
            "leave the statements apart".to_string(),
        );
    }
    let Some(var) = shared else {
        return Ok(Some(Box::new(Counted {
            tree: counting::counted(tree),
            shared: None,
        })));
    };
    let name = &graph.var(var).name;
    if said(Assembly::Append) {
        return refused(
            appended[0],
            format!("iterations of `{name}` cannot append in order at the same time"),
            "`assemble(.., two_phase)` counts first; or leave the loop serial".to_string(),
        );
    }
    let Some(outermost) = outermost(body).filter(|l| l.var == var) else {
        return refused(
            appended[0],
            format!("`{name}` is not the outermost loop"),
            "only the outermost loop of what appends can be shared out".to_string(),
        );
    };
    if searches(&outermost.over) {
        return refused(
            appended[0],
            format!("iterations of `{name}` search their coordinates one by one"),
            "share out a loop over coordinates, or over what a level stores".to_string(),
        );
    }
    let first = |nest: &Nest| {
        let format = &graph.tensor(nest.tensor).format;
        nest.lhs[format.modes[0]]
    };
    let in_order = |nest: &&&Nest| !graph.collected.contains(&nest.tensor);
    let mut in_order = appended.iter().filter(in_order);
    if let Some(nest) = in_order.find(|n| !told(graph, &[first(n)], var)) {
        let row = &graph.var(first(nest)).name;
        return refused(
            nest,
            format!("iterations of `{name}` would append elements of one `{row}`"),
            format!("share out the loop over `{row}`, or an outer part of it"),
        );
    }
    Ok(Some(Box::new(Counted {
        tree: counting::counted(tree),
        shared: Some(var),
    })))
}

/// The outermost loop that threads share and in which something is appended.
fn shared(graph: &Graph, nests: &[&Nest]) -> Option<VarId> {
    let mut found = None;
    for nest in nests {
        let loops = nest.loop_vars();
        let appended = pattern::appended(graph, nest).into_iter();
        let appended: Vec<VarId> = appended
            .flat_map(|var| graph.provenance.leaves(var, &loops))
            .collect();
        let threads = nest.loops.iter().position(|l| {
            let unit = l.tag.parallel.as_ref().map(|p| p.unit);
            matches!(unit, Some(Unit::CpuThread(_)))
        });
        let around = threads.filter(|&at| loops[at..].iter().any(|var| appended.contains(var)));
        found = found.or(around.map(|at| loops[at]));
    }
    found
}

fn outermost(body: &Inside) -> Option<&Loop> {
    let Then::One(node) = &body.then else {
        return None;
    };
    match node {
        Node::Loop(l) => Some(l),
        Node::Within { .. } | Node::Workspace(_) | Node::Sequence(_) | Node::Assign(..) => None,
    }
}

/// Whether no level is walked, so that none of a result is opened either.
fn searches(over: &Over) -> bool {
    match over {
        Over::Positions { .. } | Over::Fused(_) => true,
        Over::Constant(..) | Over::Every { .. } | Over::Stored { .. } | Over::Merge(_) => false,
    }
}
