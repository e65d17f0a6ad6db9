//! `reorder(i, j, ...)`: the named loops in this order (000, 5.3 and chapter 7).
//!
//! before: `forall(i, forall(j, ...))`
//! after `reorder(j, i)`: `forall(j, forall(i, ...))`
//!
//! The named loops take the places that they have between them; the others stay. Loops of a workspace
//! stand inside those that it needs of its reader: `reorder(i, k, j)` of `forall(i, where(.., forall(j,
//! forall(k, ..))))` says the order of all three, and changes the inner two.
//! A loop whose range data decide, or other loops, may come outside of what decides it: it gets a bound first ([`synthesized`]).
//! Refused: a level would be walked before its parent; a reduction would be left
//! that the operation around it does not distribute over; the loops are of different statements.

use super::arguments::{Arguments, loop_var};
use super::join::dependence;
use super::synthesized;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::order::{is_concordant, range_vars, sparse_accesses};
use crate::graph::{Graph, Nest, Relation, print, producers};
use crate::program::ir::{TensorId, VarId};
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
    let written = graph.clone();
    match reorder(&mut graph, &vars, arguments) {
        Ok(()) => Ok(graph),
        Err(refused) => bounded(written, vars, arguments)?.ok_or(refused),
    }
}

/// The same with bounds for the loops that come outside of what decides their ranges; `None` where there is
/// no such loop, or where these are not enough.
fn bounded(
    mut graph: Graph,
    mut vars: Vec<VarId>,
    arguments: &Arguments,
) -> Result<Option<Graph>, Diagnostic> {
    let written = vars.clone();
    for at in 0..vars.len() {
        let (_, inside) = vars.split_at(at + 1);
        let inside = inside.to_vec();
        (graph, vars[at]) = synthesized::bounded(graph, vars[at], &inside, arguments)?;
    }
    let has_bounds = vars != written;
    Ok((has_bounds && reorder(&mut graph, &vars, arguments).is_ok()).then_some(graph))
}

/// Brings the loops over `vars` into that order, in every nest that has them all.
///
/// # Errors
/// No nest has them all, or an order that cannot be.
pub fn reorder(graph: &mut Graph, vars: &[VarId], arguments: &Arguments) -> Result<(), Diagnostic> {
    let before = graph.clone();
    let mut changed = false;
    for nest in &mut graph.nests {
        nest.visit_mut(&mut |part| {
            if vars.iter().all(|v| has_loop(part, *v)) {
                permute(part, vars);
                changed = true;
            }
        });
    }
    if !changed {
        let mut crossed = None;
        for nest in &mut graph.nests {
            changed |= permute_path(&before, nest, &[], vars, &mut crossed);
        }
        if !changed {
            return Err(not_nested(&before, crossed, arguments));
        }
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

/// Loops of a workspace's nest and of those around it, all that are named of each in this order: where the
/// named ones that stand around it come first. Whether there is such a nest; `crossed` becomes a workspace
/// whose loops would change places with those around it.
fn permute_path(
    graph: &Graph,
    nest: &mut Nest,
    outer: &[VarId],
    vars: &[VarId],
    crossed: &mut Option<TensorId>,
) -> bool {
    let mut found = false;
    let mut producers = std::mem::take(&mut nest.producers);
    for producer in &mut producers {
        let around = producers::around(graph, nest, producer);
        let around: Vec<VarId> = outer.iter().copied().chain(around).collect();
        found |= permute_path(graph, producer, &around, vars, crossed);
        let (own, others): (Vec<VarId>, Vec<VarId>) =
            vars.iter().partition(|v| has_loop(producer, **v));
        if own.is_empty() || !others.iter().all(|v| around.contains(v)) {
            continue;
        }
        if vars.ends_with(&own) {
            permute(producer, vars);
            found = true;
        } else {
            *crossed = Some(producer.tensor);
        }
    }
    nest.producers = producers;
    if found {
        permute(nest, vars);
    }
    found
}

fn has_loop(nest: &Nest, var: VarId) -> bool {
    nest.loops.iter().any(|l| l.var == var)
}

/// The named loops that the nest has, in their new order among the places that they have.
fn permute(nest: &mut Nest, vars: &[VarId]) {
    let mut next = vars.iter().filter(|v| has_loop(nest, **v));
    let order: Vec<VarId> = nest
        .loops
        .iter()
        .map(|l| match vars.contains(&l.var) {
            true => next.next().copied().unwrap_or(l.var),
            false => l.var,
        })
        .collect();
    nest.loops
        .sort_by_key(|l| order.iter().position(|v| *v == l.var));
}

/// No nest has all of the loops; those of this workspace and around it would change places.
fn not_nested(graph: &Graph, crossed: Option<TensorId>, arguments: &Arguments) -> Diagnostic {
    let refused = |message: String, label: &str, help: &str| {
        Diagnostic::error(codes::NOT_NESTED, arguments.span, message, label).with_help(help)
    };
    match crossed {
        Some(workspace) => refused(
            format!(
                "loops of the workspace `{}` would change places with those around it",
                graph.tensor(workspace).name
            ),
            "not in this order",
            "name the loops around a workspace first (`sparsec show --stage graph` shows both)",
        ),
        None => refused(
            "the variables are loops of different statements".to_string(),
            "not all in one nest",
            "reorder the loops of one statement at a time",
        ),
    }
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
