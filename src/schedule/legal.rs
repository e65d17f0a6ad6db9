//! What must hold of every nest after a command, whatever it was before: positions, tiles and
//! data-dependent ranges are known where their loops begin, coordinates of a result that is
//! appended ascend, reductions can accumulate.

use super::arguments::Arguments;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::concretize::concretize_numbered;
use crate::graph::known::Known;
use crate::graph::order::{range_vars, vars_in};
use crate::graph::pattern;
use crate::graph::print::var_text;
use crate::graph::producers::around;
use crate::graph::relation::{Relation, Values};
use crate::graph::{Graph, Nest, Stmt};
use crate::program::ir::{Expr, ExprKind, TensorId, VarId};

/// What must hold of every nest after a command, whatever it was before.
///
/// # Errors
/// Positions would be counted before the row they lie in is known, or a range before the
/// data it depends on; a reduction could not accumulate.
pub fn check_all(graph: &Graph, arguments: &Arguments) -> Result<(), Diagnostic> {
    check_ways(graph, arguments)?;
    // Sums get variables of their own there, which are of no use behind it.
    let mut tensors = graph.tensors.clone();
    for (at, nest) in graph.nests.iter().enumerate() {
        check_positions(graph, nest, &[], arguments)?;
        check_extents(graph, nest, arguments)?;
        check_appended(graph, nest, arguments)?;
        tensors.truncate(graph.tensors.len());
        let Some(tree) = concretize_numbered(graph, at, &mut tensors) else {
            return Err(cannot_accumulate(graph, at, arguments));
        };
        if let Some((workspace, var)) = unknown_read(graph, &tree, &mut Vec::new()) {
            let name = &graph.var(var).name;
            return Err(Diagnostic::error(
                codes::NOT_NESTED,
                arguments.span,
                format!(
                    "`{}` would be read where `{name}` is not known",
                    graph.tensor(workspace).name
                ),
                format!("a part of the statement has no loop over `{name}`"),
            )
            .with_help(format!("leave `{name}` out of the workspace")));
        }
        if let Some((tensor, var)) = untold(graph, &tree, &mut Vec::new()) {
            return Err(not_told(graph, (tensor, var), &nest.loop_vars(), arguments));
        }
    }
    Ok(())
}

/// How often parts may be fused and taken apart again: what tells a value stays of a size that can be
/// read, and compiled.
const MOST_WAYS: u64 = 1 << 8;

fn check_ways(graph: &Graph, arguments: &Arguments) -> Result<(), Diagnostic> {
    let ways = graph.provenance.ways();
    match ways.into_iter().max_by_key(|(_, ways)| *ways) {
        Some((var, ways)) if ways > MOST_WAYS => Err(Diagnostic::error(
            codes::BAD_NUMBER,
            arguments.span,
            "parts are fused and taken apart again too often",
            format!(
                "the loops would tell `{}` on {ways} ways, more than {MOST_WAYS}",
                graph.var(var).name
            ),
        )
        .with_help("`split` once by what the splits come to")),
        Some(_) | None => Ok(()),
    }
}

/// Why a reduction of a nest cannot accumulate in the order of its loops.
fn cannot_accumulate(graph: &Graph, at: usize, arguments: &Arguments) -> Diagnostic {
    let error = |label: String| {
        Diagnostic::error(
            codes::REDUCTION_ORDER,
            arguments.span,
            "a reduction would stand outside a loop of the result",
            label,
        )
    };
    let result = graph.tensor(graph.nests[at].tensor);
    let wide = result.ty.compute();
    // With elements as wide as what is computed it could.
    let mut tensors = graph.tensors.clone();
    tensors[graph.nests[at].tensor.index()].ty = wide;
    if wide != result.ty && concretize_numbered(graph, at, &mut tensors).is_some() {
        let (name, narrow) = (&result.name, result.ty);
        let label = format!("each step of `{name}` would be rounded to `{narrow}`");
        return error(label).with_help(format!(
            "keep the loops of the result outside, or sum in a temporary of type `{wide}` and convert it in another statement"
        ));
    }
    error("the operation around it does not distribute over it".to_string())
        .with_help("keep the loops of the result outside")
}

/// A workspace that is read where the loops around do not tell a variable in its subscripts. A sum
/// stands inside the loops that it needs only, and a workspace may be kept over more.
fn unknown_read(graph: &Graph, stmt: &Stmt, loops: &mut Vec<VarId>) -> Option<(TensorId, VarId)> {
    if graph.workspaces.is_empty() {
        return None;
    }
    let own = match stmt {
        Stmt::Forall { var, .. } => Some(*var),
        Stmt::Assign(assign) => return unknown_in(graph, &assign.rhs, loops),
        Stmt::Within { .. } | Stmt::Guarded { .. } | Stmt::Where { .. } | Stmt::Sequence(_) => None,
    };
    loops.extend(own);
    let mut parts = stmt.parts().into_iter();
    let found = parts.find_map(|part| unknown_read(graph, part, loops));
    loops.truncate(loops.len() - usize::from(own.is_some()));
    found
}

fn unknown_in(graph: &Graph, e: &Expr, loops: &[VarId]) -> Option<(TensorId, VarId)> {
    let read = e.accesses().into_iter();
    let mut kept = read.filter(|access| graph.workspaces.contains(&access.tensor));
    kept.find_map(|access| {
        let mut vars = access.subscripts.iter().flat_map(vars_in);
        let unknown = vars.find(|&v| Known::after(graph, loops).offset(v).is_none());
        unknown.map(|var| (access.tensor, var))
    })
}

/// A dense tensor that is read or written where the loops around do not tell a variable in its subscripts: which one
/// of its range it is, or where data make that begin.
fn untold(graph: &Graph, stmt: &Stmt, loops: &mut Vec<VarId>) -> Option<(TensorId, VarId)> {
    let own = match stmt {
        Stmt::Forall { var, .. } => Some(*var),
        Stmt::Assign(assign) => {
            let mut known = Known::after(graph, loops);
            // (Scalars of the tree are no tensors of the graph.)
            let is_dense = |tensor: TensorId| {
                let tensor = graph.tensors.get(tensor.index());
                tensor.is_some_and(|tensor| !tensor.is_sparse())
            };
            let written = assign.lhs.iter().filter(|_| is_dense(assign.tensor));
            let untold = written.copied().find(|&var| !known.tells(var));
            if let Some(var) = untold {
                return Some((assign.tensor, var));
            }
            let read = assign.rhs.accesses().into_iter();
            let mut read = read.filter(|access| is_dense(access.tensor));
            return read.find_map(|access| {
                let mut vars = access.subscripts.iter().flat_map(vars_in);
                let unknown = vars.find(|&var| !known.tells(var));
                unknown.map(|var| (access.tensor, var))
            });
        }
        Stmt::Within { .. } | Stmt::Guarded { .. } | Stmt::Where { .. } | Stmt::Sequence(_) => None,
    };
    loops.extend(own);
    let mut parts = stmt.parts().into_iter();
    let found = parts.find_map(|part| untold(graph, part, loops));
    loops.truncate(loops.len() - usize::from(own.is_some()));
    found
}

/// Where the loops of `order` leave open which element of a tensor it is.
fn not_told(
    graph: &Graph,
    (tensor, var): (TensorId, VarId),
    order: &[VarId],
    arguments: &Arguments,
) -> Diagnostic {
    let name = &graph.var(var).name;
    let tensor = &graph.tensor(tensor).name;
    let mut telling = graph.provenance.leaves(var, order);
    for root in graph.provenance.roots(var) {
        let needed = range_vars(graph, root).into_iter();
        telling.extend(needed.flat_map(|v| graph.provenance.leaves(v, order)));
    }
    let mut loops: Vec<String> = Vec::new();
    for v in telling {
        let name = format!("`{}`", graph.var(v).name);
        if !loops.contains(&name) {
            loops.push(name);
        }
    }
    Diagnostic::error(
        codes::LEVEL_ORDER,
        arguments.span,
        format!("an element of `{tensor}` would be needed before `{name}` is known"),
        "which element it is, loops inside would tell",
    )
    .with_help(match loops.as_slice() {
        [] => format!("leave the loops that tell `{name}` as they are"),
        loops => format!(
            "keep the loops that tell `{name}` outside those that need it: {}",
            loops.join(", ")
        ),
    })
}

/// Positions count from where their row begins: the outer levels must be known.
fn check_positions(
    graph: &Graph,
    nest: &Nest,
    outer: &[VarId],
    arguments: &Arguments,
) -> Result<(), Diagnostic> {
    let order: Vec<VarId> = outer.iter().copied().chain(nest.loop_vars()).collect();
    for (at, &var) in order.iter().enumerate() {
        let Some(pos) = graph.provenance.position_of(var) else {
            continue;
        };
        // Of a tile: which tile it is.
        for tile in graph.tiles_around(pos.parent) {
            let leaves = graph.provenance.leaves(tile, &order);
            if !leaves.iter().all(|leaf| order[..at].contains(leaf)) {
                return Err(Diagnostic::error(
                    codes::LEVEL_ORDER,
                    arguments.span,
                    format!(
                        "positions `{}` would be counted before `{}` is known",
                        graph.var(var).name,
                        graph.var(tile).name
                    ),
                    "they lie in a tile of it",
                )
                .with_help("keep the loops over tiles outside"));
            }
        }
        for above in graph.levels_above(pos) {
            for needed in above {
                let leaves = graph.provenance.leaves(needed, &order);
                let mut known = leaves.iter().all(|leaf| order[..at].contains(leaf));
                if leaves.is_empty()
                    && let Some(tiles) = graph.provenance.tiles(needed)
                {
                    // A block that another one's loops tell, as those of T(k,k) do.
                    known = graph.provenance.is_complete(tiles.whole, &order[..at]);
                }
                if !known {
                    return Err(Diagnostic::error(
                        codes::LEVEL_ORDER,
                        arguments.span,
                        format!(
                            "positions `{}` would be counted before `{}` is known",
                            graph.var(var).name,
                            graph.var(needed).name
                        ),
                        format!(
                            "`{}` stores them below it",
                            graph.tensor(pos.access.tensor).name
                        ),
                    )
                    .with_help("keep the loops of the outer levels outside"));
                }
            }
        }
        // Positions of a range begin and end where it does.
        let known = |needed: &VarId| {
            let leaves = graph.provenance.leaves(*needed, &order);
            leaves.iter().all(|leaf| order[..at].contains(leaf))
        };
        for root in graph.provenance.roots(pos.parent) {
            if !range_vars(graph, root).iter().all(known) {
                return Err(unknown_range(graph, root, arguments));
            }
        }
    }
    for (at, &var) in order.iter().enumerate() {
        check_cuts(graph, &order[..at], var, arguments)?;
    }
    for producer in &nest.producers {
        let bound = around(graph, nest, producer).into_iter().find(|&v| {
            let from = graph.provenance.ancestors(v);
            producer.lhs.iter().any(|l| from.contains(l))
        });
        if let Some(var) = bound {
            return Err(Diagnostic::error(
                codes::NOT_NESTED,
                arguments.span,
                format!(
                    "the workspace `{}` would be computed anew inside `{}`, which reads it",
                    graph.tensor(producer.tensor).name,
                    graph.var(var).name
                ),
                "one of its loops would stand around it",
            )
            .with_help("keep the loops that the workspace needs outside those that read it"));
        }
        let around: Vec<VarId> = outer
            .iter()
            .copied()
            .chain(around(graph, nest, producer))
            .collect();
        check_positions(graph, producer, &around, arguments)?;
    }
    Ok(())
}

/// The coordinates of a tile of positions: which tile it is, and the levels above, must be known.
fn check_cuts(
    graph: &Graph,
    outside: &[VarId],
    var: VarId,
    arguments: &Arguments,
) -> Result<(), Diagnostic> {
    for (_, part) in graph.provenance.cuts(var) {
        let needed = graph.needed_by_tile(part);
        let unknown = needed.into_iter().find(|&needed| {
            let leaves = graph.provenance.leaves(needed, outside);
            leaves.is_empty() || !graph.provenance.is_complete(needed, outside)
        });
        if let Some(needed) = unknown {
            return Err(Diagnostic::error(
                codes::LEVEL_ORDER,
                arguments.span,
                format!(
                    "the coordinates `{}` would be counted before `{}` is known",
                    graph.var(var).name,
                    graph.var(needed).name
                ),
                "they are those of a tile of positions",
            )
            .with_help("keep the loops over tiles and outer levels outside"));
        }
    }
    Ok(())
}

/// Coordinates of an appended result come in ascending order.
fn check_appended(graph: &Graph, nest: &Nest, arguments: &Arguments) -> Result<(), Diagnostic> {
    // What is collected comes in any order.
    if graph.collected.contains(&nest.tensor) {
        return Ok(());
    }
    let order = nest.loop_vars();
    let result = graph.tensor(nest.tensor);
    let appended = pattern::appended(graph, nest);
    // Coordinates must come in ascending order, so the parts of each of its variables
    // stand together, outer ones first.
    let ascending: Vec<VarId> = appended
        .iter()
        .flat_map(|&var| graph.provenance.leaves(var, &order))
        .collect();
    let scatters = |relation: &&Relation| {
        let part = relation.children().0;
        let is_part = |leaf: &VarId| graph.provenance.ancestors(*leaf).contains(&part);
        !relation.ascends() && ascending.iter().any(is_part)
    };
    let scattered = graph.provenance.relations.iter().any(|r| scatters(&r));
    if scattered || !order.starts_with(&ascending) {
        return Err(Diagnostic::error(
            codes::LEVEL_ORDER,
            arguments.span,
            format!("`{}` could not be appended in order any more", result.name),
            "its levels must be the outermost loops, in their order",
        )
        .with_help(format!("store `{}` dense, or leave the loops", result.name)));
    }
    // A tile of a fused variable may end within a row: the row would be appended once in
    // each of the tiles that it meets.
    let format = &result.format;
    let appends_at = |root: VarId| {
        (0..format.order())
            .any(|l| nest.lhs[format.modes[l]] == root && !format.levels[l].is_placed())
    };
    for leaf in &ascending {
        let roots = graph.provenance.roots(*leaf);
        let parts = ascending
            .iter()
            .filter(|other| graph.provenance.roots(**other) == roots)
            .count();
        let Some((last, outer)) = roots.split_last() else {
            continue;
        };
        let cut = !appended.contains(last) || outer.iter().any(|&root| appends_at(root));
        if parts > 1 && !outer.is_empty() && cut {
            return Err(Diagnostic::error(
                codes::LEVEL_ORDER,
                arguments.span,
                format!(
                    "tiles would cut rows that are appended to `{}` whole",
                    result.name
                ),
                "its loops are fused and split",
            )
            .with_help(format!(
                "store `{}` dense, or leave the loops unfused",
                result.name
            )));
        }
    }
    Ok(())
}

/// How often a loop runs must be known where it begins.
fn check_extents(graph: &Graph, nest: &Nest, arguments: &Arguments) -> Result<(), Diagnostic> {
    let order = nest.loop_vars();
    for (at, &var) in order.iter().enumerate() {
        let unknown = graph.needed_by_extent(var).into_iter().any(|needed| {
            let leaves = graph.provenance.leaves(needed, &order);
            leaves.iter().any(|leaf| order[at..].contains(leaf))
        });
        if unknown {
            return Err(unknown_range(graph, var, arguments));
        }
    }
    nest.producers
        .iter()
        .try_for_each(|producer| check_extents(graph, producer, arguments))
}

pub(super) fn unknown_range(graph: &Graph, var: VarId, arguments: &Arguments) -> Diagnostic {
    let name = &graph.var(var).name;
    let ancestors = graph.provenance.ancestors(var);
    let relations = graph.provenance.relations.iter();
    let mut parts = relations.filter_map(Relation::partition);
    if let Some(own) = parts.find(|own| ancestors.contains(&own.inner)) {
        let part = &graph.var(own.part).name;
        return not_known(
            graph,
            var,
            "it depends on data at a variable that would not come outside",
            arguments,
        )
        .with_help(format!(
            "keep `{name}` inside `{part}`: how far it runs depends on which part it is of"
        ));
    }
    let mut roots = graph.provenance.roots(var).into_iter();
    let root = roots
        .find(|&root| !range_vars(graph, root).is_empty())
        .unwrap_or(var);
    let range = &graph.var(root).range;
    let is_read = |e: &Expr| matches!(&e.kind, ExprKind::Access(a) if !a.subscripts.is_empty());
    let reads = range.reads().any(|e| e.any(&is_read));
    let mut others: Vec<String> = Vec::new();
    for v in range_vars(graph, root) {
        let other = format!("`{}`", graph.var(v).name);
        if !others.contains(&other) {
            others.push(other);
        }
    }
    let names = others.join(" and ");
    let label = if reads {
        format!("it depends on data at {names}, which would not come outside")
    } else {
        format!("it depends on {names}, which would not come outside")
    };
    // What is skewed along its own range goes nowhere else.
    if others.as_slice() == [format!("`{name}`")] {
        let help = format!("leave the command out: what `{name}` runs over would depend on itself");
        return not_known(graph, var, &label, arguments).with_help(help);
    }
    let mut upper = "u".to_string();
    while super::inspect::is_taken(graph, &upper) {
        upper.push('u');
    }
    // Commands that took the variable apart know no range that data decide.
    let when = match graph.provenance.producer(var) {
        Some(_) => ", before other commands take it apart",
        None => "",
    };
    let inspected = format!("inspect({}, {upper})", var_text(graph, root));
    not_known(graph, var, &label, arguments).with_help(format!(
        "keep `{name}` inside {names}, or give it a static upper bound by `{inspected}`{when}"
    ))
}

fn not_known(graph: &Graph, var: VarId, label: &str, arguments: &Arguments) -> Diagnostic {
    let name = &graph.var(var).name;
    Diagnostic::error(
        codes::LEVEL_ORDER,
        arguments.span,
        format!("the range of `{name}` would not be known yet"),
        label,
    )
}
