//! `tile(i, j, ti, tj)`: rectangular tiles, the outer loops outside (sugar).
//!
//! before: `forall(i, forall(j, ...))`
//! after:  `forall(i_o, forall(j_o, forall(i_i, forall(j_i, ...))))`
//!
//! The same as `split(i, i_o, i_i, ti) split(j, j_o, j_i, tj) reorder(i_o, j_o, i_i, j_i)`,
//! and refused as those; for any number of variables. Where the range of one of them depends on data
//! at another, its tiles stand outside of what decides it: it gets a bound first, `bound` by a
//! dimension that it subscripts where its range begins at a constant, else `inspect`, and a remark
//! says so (003, "synthesize static upper bounds").

use super::arguments::{Arguments, new_var, replace_loops};
use super::{inspect, reorder, split};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::performance;
use crate::graph::order::range_vars;
use crate::graph::relation::Bound;
use crate::graph::{BoundKind, Graph, Relation, visit};
use crate::program::ir::{self, ExprKind, SizeExpr, VarId};
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
        let others = vars.iter().flat_map(|&v| graph.provenance.roots(v));
        let others: Vec<VarId> = others.filter(|&root| root != vars[at]).collect();
        if graph.provenance.producer(vars[at]).is_none()
            && range_vars(&graph, vars[at])
                .iter()
                .any(|v| others.contains(v))
        {
            (graph, vars[at]) = bounded(graph, vars[at], arguments)?;
        }
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
        reorder::reorder(&mut graph, &outer, arguments)?;
    }
    Ok(graph)
}

/// A bound for a variable of the program whose range data decide, and the variable that has it.
fn bounded(
    mut graph: Graph,
    var: VarId,
    arguments: &Arguments,
) -> Result<(Graph, VarId), Diagnostic> {
    let name = graph.var(var).name.clone();
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
            format!("data decide how many values `{name}` has"),
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
    let mut found = None;
    graph.visit_nests(&mut |nest| {
        visit(&nest.rhs, &mut |e| {
            if let ExprKind::Access(access) = &e.kind
                && let Some(mode) = access
                    .subscripts
                    .iter()
                    .position(|s| s.as_var() == Some(var))
            {
                let dims = &graph.tensor(access.tensor).dims;
                found = found.take().or_else(|| dims.get(mode).cloned());
            }
        });
    });
    found
}
