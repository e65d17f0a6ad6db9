//! `tile(i, j, ti, tj)`: rectangular tiles, the outer loops outside (sugar).
//!
//! before: `forall(i, forall(j, ...))`
//! after:  `forall(i_o, forall(j_o, forall(i_i, forall(j_i, ...))))`
//!
//! The same as `split(i, i_o, i_i, ti) split(j, j_o, j_i, tj) reorder(i_o, j_o, i_i, j_i)`, and
//! refused as those, but that other loops between the parts go behind them where their place is no one's; for any
//! number of variables. Where the range of one of them depends on data at
//! another, its tiles stand outside of what decides it: it gets a bound first ([`synthesized`]).

use super::arguments::Arguments;
use super::{reorder, split, synthesized};
use crate::diagnostic::Diagnostic;
use crate::graph::{Graph, Nest};
use crate::program::ir::VarId;
use crate::syntax::ast::Ident;

const USAGE: &str = "tile(i, j, 32, 32)";

/// Applies the command.
///
/// # Errors
/// Those of `split` and `reorder`.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    let count = arguments.args.len() / 2;
    if count == 0 || arguments.args.len() % 2 == 1 {
        return Err(arguments.wrong(
            arguments.span,
            "`tile` takes as many sizes as variables".to_string(),
            USAGE,
        ));
    }
    let mut vars = Vec::new();
    for at in 0..count {
        let var = arguments.loop_var(&graph, at)?;
        if vars.contains(&var) {
            return Err(arguments.named_twice(&graph, var, arguments.expr(at)?.span, USAGE));
        }
        vars.push(var);
    }
    let names: Vec<String> = vars.iter().map(|&v| graph.var(v).name.clone()).collect();
    for at in 0..count {
        arguments.expect_open(&graph, vars[at])?;
        let others = vars.iter().copied().filter(|&v| v != vars[at]);
        let others: Vec<VarId> = others.collect();
        (graph, vars[at]) = synthesized::bounded(graph, vars[at], &others, arguments)?;
    }
    let mut outer = Vec::new();
    let mut inner = Vec::new();
    for (at, (&var, name)) in vars.iter().zip(&names).enumerate() {
        let factor = arguments.positive(count + at)?;
        let part = |end: &str| Ident {
            name: format!("{name}_{end}"),
            span: arguments.span,
        };
        let (o, i) = (part("o"), part("i"));
        let (o, i) = split::split(&mut graph, var, &o, &i, factor)?;
        outer.push(o);
        inner.push(i);
    }
    outer.append(&mut inner);
    if count > 1 {
        graph = between(graph, &outer, arguments)?;
    }
    Ok(graph)
}

/// The tiles' loops in their order. Loops of the nest that would then stand between outer and inner parts, where a
/// level wants its parent's whole coordinate, go behind: that over j of `tile(i, k, ..)` where A(i,j) is sparse.
fn between(graph: Graph, parts: &[VarId], arguments: &Arguments) -> Result<Graph, Diagnostic> {
    let mut tiled = graph.clone();
    let refused = match reorder::reorder(&mut tiled, parts, arguments) {
        Ok(()) => return Ok(tiled),
        Err(refused) => refused,
    };
    let has_all = |nest: &&Nest| parts.iter().all(|part| nest.loop_vars().contains(part));
    let Some(nest) = graph.nests.iter().find(has_all) else {
        return Err(refused);
    };
    let loops = nest.loop_vars();
    let others = loops.iter().skip_while(|var| !parts.contains(var));
    let others = others.filter(|var| !parts.contains(var));
    let all: Vec<VarId> = parts.iter().chain(others).copied().collect();
    let mut behind = graph.clone();
    match reorder::reorder(&mut behind, &all, arguments) {
        Ok(()) => Ok(behind),
        Err(_) => Err(refused),
    }
}
