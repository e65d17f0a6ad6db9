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
use crate::graph::order::{is_concordant, range_vars, sparse_accesses};
use crate::graph::{Graph, Nest, Relation, print};
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
            return Err(arguments.named_twice(&graph, var, e.span, "reorder(i, j)"));
        }
        arguments.expect_open(&graph, var)?;
        vars.push(var);
    }
    reorder(&mut graph, &vars, arguments)?;
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
    let names = vars.iter();
    let names: Vec<String> = names.map(|&v| print::var_text(graph, v)).collect();
    graph.script.push(format!("reorder({})", names.join(", ")));
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
        let mut consumers = graph.provenance.consumers(*var);
        let bounded = consumers.any(Relation::is_bounded);
        if !bounded
            && range_vars(graph, *var)
                .iter()
                .any(|v| known[at..].contains(v))
        {
            return Err(super::legal::unknown_range(graph, *var, arguments));
        }
    }
    Ok(())
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
