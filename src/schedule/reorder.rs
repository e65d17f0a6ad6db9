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
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::concretize::accumulates;
use crate::graph::order::{appended_vars, is_concordant, range_vars, sparse_accesses};
use crate::graph::{Graph, Nest};
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
    let mut changed = false;
    for at in 0..graph.nests.len() {
        let nest = &graph.nests[at];
        if !vars.iter().all(|v| nest.loops.iter().any(|l| l.var == *v)) {
            continue;
        }
        let order = permuted(nest, &vars);
        check(&graph, nest, &order, arguments)?;
        let nest = &mut graph.nests[at];
        nest.loops
            .sort_by_key(|l| order.iter().position(|v| *v == l.var).unwrap_or(usize::MAX));
        changed = true;
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
    let names: Vec<String> = vars.iter().map(|&v| graph.var(v).name.clone()).collect();
    graph.script.push(format!("reorder({})", names.join(", ")));
    Ok(graph)
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

fn check(
    graph: &Graph,
    nest: &Nest,
    order: &[VarId],
    arguments: &Arguments,
) -> Result<(), Diagnostic> {
    // A variable of the program is known at the innermost of its parts.
    let known = known_order(graph, nest, order);
    let before = known_order(graph, nest, &loop_vars(nest));
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
    let result = graph.tensor(nest.tensor);
    let appended = appended_vars(&result.format, &nest.lhs);
    // Coordinates must come in ascending order, so the parts of each of its variables
    // stand together, outer ones first.
    let ascending: Vec<VarId> = appended
        .iter()
        .flat_map(|&var| graph.provenance.leaves(var))
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
    for (at, var) in known.iter().enumerate() {
        if range_vars(graph, *var)
            .iter()
            .any(|v| known[at..].contains(v))
        {
            let name = &graph.var(*var).name;
            return Err(Diagnostic::error(
                codes::LEVEL_ORDER,
                arguments.span,
                format!("the range of `{name}` would not be known yet"),
                "it depends on data at a variable that would come inside",
            )
            .with_help(format!(
                "keep `{name}` inside the variables its range names"
            )));
        }
    }
    if !accumulates(graph, nest, order) {
        return Err(Diagnostic::error(
            codes::REDUCTION_ORDER,
            arguments.span,
            "a reduction would stand outside a loop of the result",
            "the operation around it does not distribute over it",
        )
        .with_help("keep the loops of the result outside"));
    }
    Ok(())
}

fn loop_vars(nest: &Nest) -> Vec<VarId> {
    nest.loops.iter().map(|l| l.var).collect()
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
            .leaves(root)
            .iter()
            .filter_map(|leaf| order.iter().position(|v| v == leaf))
            .max()
    });
    roots
}
