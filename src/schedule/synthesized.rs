//! Static upper bounds of ranges that data decide, for commands that run their loops outside of
//! what decides them (003, "synthesize static upper bounds").
//!
//! `bound` by a dimension that the variable subscripts where its range begins at a constant, else
//! `inspect`; a remark says which command was added.

use super::arguments::{Arguments, new_var, replace_loops};
use super::inspect;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::performance;
use crate::graph::order::all_range_vars;
use crate::graph::relation::Bound;
use crate::graph::{BoundKind, Graph, Relation};
use crate::program::ir::{self, SizeExpr, VarId};
use crate::syntax::ast::Ident;
use std::collections::BTreeSet;

/// A bound for a variable of the program whose range depends on data at one of `others`, or a part
/// of theirs, or on the value of a variable whose own does; the variable that has it then, the same one where it needs none.
///
/// # Errors
/// Those of `inspect`.
pub(super) fn bounded(
    mut graph: Graph,
    var: VarId,
    others: &[VarId],
    arguments: &Arguments,
) -> Result<(Graph, VarId), Diagnostic> {
    let roots = others.iter().flat_map(|&v| graph.provenance.roots(v));
    let roots: Vec<VarId> = roots.collect();
    let needed = all_range_vars(&graph, var);
    if graph.provenance.producer(var).is_some() || !needed.iter().any(|v| roots.contains(v)) {
        return Ok((graph, var));
    }
    let name = graph.var(var).name.clone();
    let deciding = needed.iter().filter(|v| roots.contains(v));
    let deciding: BTreeSet<&str> = deciding.map(|v| graph.var(*v).name.as_str()).collect();
    let deciding: Vec<&str> = deciding.into_iter().collect();
    let label = format!(
        "how many values `{name}` has differs with `{}`",
        deciding.join("`, `")
    );
    let new = |graph: &Graph, end: &str| Ident {
        name: inspect::new_name(graph, &format!("{name}_{end}")),
        span: arguments.span,
    };
    let (command, bounded) = match dimension(&graph, var) {
        Some(value) => {
            let bounded = new(&graph, "b");
            let child = new_var(&mut graph, &bounded)?;
            replace_loops(&mut graph, var, &[child]);
            graph.relate(Relation::Bound(Bound {
                parent: var,
                child,
                value,
                kind: BoundKind::MaxConstraint,
                span: arguments.span,
            }));
            (graph.script.last().cloned(), child)
        }
        None => {
            let most = new(&graph, "most");
            let child;
            (graph, child) = inspect::inspect(graph, var, &most, arguments)?;
            (graph.script.last().cloned(), child)
        }
    };
    graph.remarks.push(
        Diagnostic::performance(
            performance::BOUNDED,
            arguments.span,
            format!("`{}` was added", command.unwrap_or_default()),
            label,
        )
        .with_help("write the command yourself to choose another bound"),
    );
    Ok((graph, bounded))
}

/// The size of a dimension that the variable subscripts, from a constant on: it has no more values.
fn dimension(graph: &Graph, var: VarId) -> Option<SizeExpr> {
    let ir::Bound::Static(_) = graph.var(var).range.lo else {
        return None;
    };
    // What is guarded has fewer values than the loop.
    let mut guards = graph.nests.iter().flat_map(|nest| &nest.guards);
    if guards.any(|guard| guard.var == var) {
        return None;
    }
    let mut found = None;
    graph.visit_nests(&mut |nest| {
        for access in nest.rhs.accesses() {
            let mut subscripts = access.subscripts.iter();
            if let Some(mode) = subscripts.position(|s| s.as_var() == Some(var)) {
                let dims = &graph.tensor(access.tensor).dims;
                found = found.take().or_else(|| dims.get(mode).cloned());
            }
        }
    });
    found
}
