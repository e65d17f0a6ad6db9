//! `reorder(i, j, ...)`: the named loops in this order (000, 5.3 and chapter 7).
//!
//! before: `forall(i, forall(j, ...))`
//! after `reorder(j, i)`: `forall(j, forall(i, ...))`
//!
//! The named loops take the places that they have between them; the others stay.
//! Refused: a level would be walked before its parent; a reduction would be left
//! that the operation around it does not distribute over; a data-dependent range
//! would lose the variable it depends on; the loops are of different statements.

use super::arguments::{Arguments, loop_var};
use super::join::dependence;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::concretize::{accumulates, around};
use crate::graph::order::{is_concordant, range_vars, sparse_accesses, vars_in};
use crate::graph::pattern;
use crate::graph::{BoundKind, Graph, Nest, Relation};
use crate::program::ir::VarId;
use crate::syntax::ast::{Arg, Expr};

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    let mut named: Vec<&Expr> = Vec::new();
    for arg in arguments.args {
        match arg {
            Arg::Expr(e) => named.push(e),
            Arg::Vars(list, _) => named.extend(list),
        }
    }
    if named.len() < 2 {
        return Err(arguments.wrong(
            arguments.span,
            "`reorder` takes at least two variables".to_string(),
            "reorder(i, j)",
        ));
    }
    let mut vars = Vec::new();
    for e in &named {
        let var = loop_var(&graph, e)?;
        if vars.contains(&var) {
            return Err(arguments.wrong(
                e.span,
                format!("`{}` is named twice", graph.var(var).name),
                "reorder(i, j)",
            ));
        }
        arguments.expect_open(&graph, var)?;
        vars.push(var);
    }
    reorder(&mut graph, &vars, arguments)?;
    let names: Vec<String> = vars
        .iter()
        .map(|&v| crate::graph::print::var_text(&graph, v))
        .collect();
    graph.script.push(format!("reorder({})", names.join(", ")));
    Ok(graph)
}

/// Brings the loops over `vars` into that order, in every nest that has them all.
///
/// # Errors
/// No nest has them all, or an order that cannot be.
pub fn reorder(graph: &mut Graph, vars: &[VarId], arguments: &Arguments) -> Result<(), Diagnostic> {
    let mut changed = false;
    let before = graph.clone();
    for nest in &mut graph.nests {
        nest.visit_mut(&mut |part| {
            if !vars.iter().all(|v| part.loops.iter().any(|l| l.var == *v)) {
                return;
            }
            let order = permuted(part, vars);
            part.loops
                .sort_by_key(|l| order.iter().position(|v| *v == l.var).unwrap_or(usize::MAX));
            changed = true;
        });
    }
    if !changed {
        return Err(Diagnostic::error(
            codes::NOT_NESTED,
            arguments.span,
            "the variables are loops of different statements",
            "not all in one nest",
        )
        .with_help("reorder the loops of one statement at a time"));
    }
    check_shared(&before, graph, arguments)?;
    for (was, is) in before.nests.iter().zip(&graph.nests) {
        let mut parts = Vec::new();
        was.visit(&mut |part| parts.push(part.clone()));
        let mut at = 0;
        let mut error = None;
        is.visit(&mut |part| {
            if error.is_none() {
                error = check(graph, &parts[at], part, arguments).err();
            }
            at += 1;
        });
        if let Some(error) = error {
            return Err(error);
        }
    }
    check_all(graph, arguments)
}

/// What must hold of every nest after a command, whatever it was before.
///
/// # Errors
/// Positions would be counted before the row they lie in is known, or a range before the
/// data it depends on; a reduction could not accumulate.
pub fn check_all(graph: &Graph, arguments: &Arguments) -> Result<(), Diagnostic> {
    for nest in &graph.nests {
        check_positions(graph, nest, &[], arguments)?;
        check_extents(graph, nest, arguments)?;
        check_appended(graph, nest, arguments)?;
        let order = nest.loop_vars();
        if !accumulates(graph, nest, &order) {
            return Err(Diagnostic::error(
                codes::REDUCTION_ORDER,
                arguments.span,
                "a reduction would stand outside a loop of the result",
                "the operation around it does not distribute over it",
            )
            .with_help("keep the loops of the result outside"));
        }
    }
    Ok(())
}

/// Loops that joined statements share must stay the same ones; where one statement needs
/// what the other wrote in other iterations, in the same order.
fn check_shared(before: &Graph, graph: &Graph, arguments: &Arguments) -> Result<(), Diagnostic> {
    let refused = |message: &str, help: &str| {
        Err(Diagnostic::error(
            codes::NOT_NESTED,
            arguments.span,
            message,
            "statements joined before",
        )
        .with_help(help))
    };
    for (first, second, depth) in dependence::sharing(graph) {
        let shared = |nest: &Nest| nest.loop_vars()[..depth].to_vec();
        let now = shared(&graph.nests[first]);
        if now != shared(&graph.nests[second]) {
            return refused(
                "the loops that the statements share would change places with others",
                "reorder first, then `join`",
            );
        }
        let carried: Vec<VarId> = now
            .iter()
            .copied()
            .filter(|&var| {
                let roots = graph.provenance.roots(var);
                let carries = |&root: &VarId| dependence::carried(graph, (first, second), root);
                roots.iter().any(carries)
            })
            .collect();
        let order = |loops: Vec<VarId>| -> Vec<VarId> {
            loops.into_iter().filter(|v| carried.contains(v)).collect()
        };
        if order(now) != order(shared(&before.nests[first])) {
            return refused(
                "iterations would come before others whose results they need",
                "keep these loops in their order, or leave the statements apart",
            );
        }
    }
    Ok(())
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
        let Some(Relation::Pos { parent, access, .. }) = graph.provenance.position_of(var) else {
            continue;
        };
        // Of a tile: which tile it is.
        for tile in super::pos::tiles_around(graph, *parent) {
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
        let format = &graph.tensor(access.tensor).format;
        let first = super::pos::first_level(graph, *parent, access);
        for &mode in &format.modes[..first] {
            let Some(above) = access.subscripts.get(mode) else {
                continue;
            };
            for needed in vars_in(above) {
                let known = graph
                    .provenance
                    .leaves(needed, &order)
                    .iter()
                    .all(|leaf| order[..at].contains(leaf));
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
                            graph.tensor(access.tensor).name
                        ),
                    )
                    .with_help("keep the loops of the outer levels outside"));
                }
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
        let mut needed = Vec::new();
        let mut at = part;
        while let Some(relation) = graph.provenance.producer(at) {
            match relation {
                Relation::Split { parent, outer, .. } | Relation::Divide { parent, outer, .. } => {
                    needed.push(*outer);
                    at = *parent;
                }
                Relation::Bound { parent, .. }
                | Relation::Inspect { parent, .. }
                | Relation::Precompute { parent, .. } => at = *parent,
                Relation::Pos { parent, access, .. } => {
                    needed.extend(super::pos::tiles_around(graph, *parent));
                    let first = super::pos::first_level(graph, *parent, access);
                    let modes = &graph.tensor(access.tensor).format.modes;
                    let above = modes[..first]
                        .iter()
                        .filter_map(|&m| access.subscripts.get(m));
                    needed.extend(above.flat_map(vars_in));
                    break;
                }
                Relation::Fuse { .. } | Relation::Coord { .. } => break,
            }
        }
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

/// The nest's order with `vars` in their new order among the places they have.
fn permuted(nest: &Nest, vars: &[VarId]) -> Vec<VarId> {
    let mut next = vars.iter();
    nest.loops
        .iter()
        .map(|l| {
            if vars.contains(&l.var) {
                next.next().copied().unwrap_or(l.var)
            } else {
                l.var
            }
        })
        .collect()
}

fn check(graph: &Graph, was: &Nest, nest: &Nest, arguments: &Arguments) -> Result<(), Diagnostic> {
    let order = nest.loop_vars();
    // A variable of the program is known at the innermost of its parts.
    let known = known_order(graph, nest, &order);
    let before = known_order(graph, was, &was.loop_vars());
    for access in sparse_accesses(graph, &nest.rhs) {
        if is_concordant(graph, &access, &before) && !is_concordant(graph, &access, &known) {
            let name = &graph.tensor(access.tensor).name;
            return Err(Diagnostic::error(
                codes::LEVEL_ORDER,
                arguments.span,
                format!("a level of `{name}` would be visited before its parent"),
                format!("`{name}` stores its levels in the order of the loops as they are"),
            )
            .with_help(format!(
                "store `{name}` with its levels in the new order, or leave the loops"
            )));
        }
    }
    for (at, var) in known.iter().enumerate() {
        // With an upper bound the loop may run before its end is known, and be left
        // where it is.
        let bounded = graph.provenance.consumers(*var).any(|r| match r {
            Relation::Inspect { .. } => true,
            Relation::Bound { kind, .. } => {
                matches!(kind, BoundKind::MaxExact | BoundKind::MaxConstraint)
            }
            Relation::Split { .. }
            | Relation::Divide { .. }
            | Relation::Fuse { .. }
            | Relation::Pos { .. }
            | Relation::Coord { .. }
            | Relation::Precompute { .. } => false,
        });
        if !bounded
            && range_vars(graph, *var)
                .iter()
                .any(|v| known[at..].contains(v))
        {
            return Err(unknown_range(graph, *var, arguments));
        }
    }
    Ok(())
}

/// Coordinates of an appended result come in ascending order.
fn check_appended(graph: &Graph, nest: &Nest, arguments: &Arguments) -> Result<(), Diagnostic> {
    let order = nest.loop_vars();
    let result = graph.tensor(nest.tensor);
    let appended = pattern::appended(graph, nest);
    // Coordinates must come in ascending order, so the parts of each of its variables
    // stand together, outer ones first.
    let ascending: Vec<VarId> = appended
        .iter()
        .flat_map(|&var| graph.provenance.leaves(var, &order))
        .collect();
    if !order.starts_with(&ascending) {
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
            .any(|l| nest.lhs[format.modes[l]] == root && !format.levels[l].is_full())
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
        let unknown = extent_needs(graph, var).into_iter().any(|needed| {
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

fn unknown_range(graph: &Graph, var: VarId, arguments: &Arguments) -> Diagnostic {
    let name = &graph.var(var).name;
    Diagnostic::error(
        codes::LEVEL_ORDER,
        arguments.span,
        format!("the range of `{name}` would not be known yet"),
        "it depends on data at a variable that would not come outside",
    )
    .with_help(format!(
        "keep `{name}` inside the variables its range names, or give it a static upper \
         bound: `bound(v, b, N, MaxConstraint)` or `inspect(v, u)`"
    ))
}

/// The variables that the number of iterations of a loop depends on.
fn extent_needs(graph: &Graph, var: VarId) -> Vec<VarId> {
    match graph.provenance.producer(var) {
        None => range_vars(graph, var),
        Some(Relation::Split { parent, outer, .. }) => {
            if *outer == var {
                extent_needs(graph, *parent)
            } else {
                Vec::new()
            }
        }
        Some(Relation::Divide { parent, .. } | Relation::Precompute { parent, .. }) => {
            extent_needs(graph, *parent)
        }
        Some(Relation::Fuse { outer, inner, .. }) => {
            [extent_needs(graph, *outer), extent_needs(graph, *inner)].concat()
        }
        Some(Relation::Bound { parent, kind, .. }) => match kind {
            BoundKind::MaxExact | BoundKind::MaxConstraint => Vec::new(),
            BoundKind::MinExact | BoundKind::MinConstraint | BoundKind::Multiple => {
                extent_needs(graph, *parent)
            }
        },
        Some(Relation::Pos { .. } | Relation::Coord { .. } | Relation::Inspect { .. }) => {
            Vec::new()
        }
    }
}

/// The variables of the program in the order in which loops complete them.
fn known_order(graph: &Graph, nest: &Nest, order: &[VarId]) -> Vec<VarId> {
    let mut roots: Vec<VarId> = Vec::new();
    for l in &nest.loops {
        for root in graph.provenance.roots(l.var) {
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
    }
    roots.sort_by_key(|&root| {
        graph
            .provenance
            .leaves(root, order)
            .iter()
            .filter_map(|leaf| order.iter().position(|v| v == leaf))
            .max()
    });
    roots
}
