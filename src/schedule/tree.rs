//! What must hold of the tree that the loops of a graph make, once units and merges are said: there
//! is a plan for it, hints are left for some loop, tiles stand where their memory is.

use super::arguments::Arguments;
use crate::diagnostic::codes::schedule as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::{Graph, Relation, Space, Tag, Unit};
use crate::plan::{self, Node, Plan};
use crate::units::GpuLevel;

/// What must hold of the trees of the graph after each command, and behind the last one.
///
/// # Errors
/// The command makes a loop, a write or a tile that no code could be given to.
pub fn check(graph: &Graph, arguments: &Arguments, last: bool) -> Result<(), Diagnostic> {
    let mut tagged = false;
    graph.visit_nests(&mut |nest| {
        let mut tags = nest.loops.iter().map(|l| &l.tag);
        tagged |= tags.any(|tag| tag.parallel.is_some() || tag.gallop);
    });
    let counted = |r: &Relation| r.counts().is_some();
    if !last && !tagged && !graph.provenance.relations.iter().any(counted) {
        return Ok(());
    }
    check_fetches(graph, arguments)?;
    // Where coordinates are there, loops may have less to do, never more: but iterations that are
    // shared out must find them.
    for graph in std::iter::once(graph).chain(graph.keeping().as_ref()) {
        if let Some(plan) = plan::plan(graph, arguments.span)?
            && last
        {
            finish(graph, &plan, arguments.span)?;
        }
    }
    Ok(())
}

/// What must hold of the plan behind the last command: loops are written for all of it, and a tile
/// of a thread's own stands inside a loop over threads, which may be said after the one over
/// blocks.
fn finish(graph: &Graph, plan: &Plan, span: Span) -> Result<(), Diagnostic> {
    for tree in &plan.trees {
        if let Some(refused) = &tree.refused {
            return Err(refused.clone());
        }
        let Some(body) = &tree.body else { continue };
        body.visit(&mut |node, units| {
            let Node::Workspace(workspace) = node else {
                return Ok(());
            };
            let local = graph.spaces.contains(&(workspace.temp, Space::Local));
            let levels = units.iter().filter_map(|unit| match unit {
                Unit::Gpu(unit) => Some(unit.level),
                Unit::CpuThread(_) | Unit::CpuVector => None,
            });
            let levels: Vec<GpuLevel> = levels.collect();
            if !local || levels.is_empty() || levels.contains(&GpuLevel::Thread) {
                return Ok(());
            }
            let name = &graph.tensor(workspace.temp).name;
            let message =
                format!("`{name}` stands outside of the loops over threads: it cannot be local");
            Err(
                Diagnostic::error(codes::NO_TILE, span, message, "with this schedule")
                    .with_help("promote at a loop inside, or to shared"),
            )
        })?;
    }
    Ok(())
}

/// Lanes of a vector do not fetch one by one: another loop must be left for each hint.
fn check_fetches(graph: &Graph, arguments: &Arguments) -> Result<(), Diagnostic> {
    let mut tags = Vec::new();
    graph.visit_nests(&mut |nest| tags.extend(nest.loops.iter().map(|l| l.tag.clone())));
    let in_lanes = |tag: &Tag| {
        let unit = tag.parallel.as_ref().map(|p| p.unit);
        unit == Some(Unit::CpuVector)
    };
    let lost = tags.iter().flat_map(|tag| &tag.fetches).find(|fetch| {
        let mut with = tags.iter().filter(|tag| tag.fetches.contains(fetch));
        with.all(in_lanes)
    });
    let Some(fetch) = lost else {
        return Ok(());
    };
    Err(Diagnostic::error(
        codes::PREFETCH,
        arguments.span,
        format!(
            "lanes of a vector cannot fetch `{}` one by one",
            graph.tensor(fetch.tensor).name
        ),
        "cannot be fetched ahead",
    )
    .with_help("name another loop; `sparsec explain E0424` says which can"))
}
