//! `inspect(p, u)`: a static upper bound of a dynamic counted loop, computed at run time
//! (003).
//!
//! before: `forall(i, forall(p, ...))` with `p in lo(i):hi(i)`
//! after:  `u = max(hi(i) - lo(i))`, then the same loops `suchthat inspect(p, p, u)`
//!
//! Then the loop over p can be split, reordered and fused as if it ran u times; where the
//! data say that it ends earlier, it ends. Refused: the range of p is static; p was made
//! by a command.

use super::arguments::{Arguments, replace_loops, taken};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::format::TensorFormat;
use crate::graph::order::range_vars;
use crate::graph::relation::Inspect;
use crate::graph::terms::reads;
use crate::graph::{Graph, Loop, Nest, Relation};
use crate::program::ir::{
    BinaryOp, Bound, Expr, ExprKind, Func, IndexVar, ReduceOp, Role, Tensor, VarId,
};
use crate::scalar::{Literal, ScalarType};

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    arguments.expect_count(2, "inspect(p, u)")?;
    let parent = arguments.loop_var(&graph, 0)?;
    arguments.expect_open(&graph, parent)?;
    let here = arguments.expr(0)?.span;
    let var = graph.var(parent).clone();
    if graph.provenance.producer(parent).is_some() || graph.static_range(parent).is_some() {
        return Err(Diagnostic::error(
            codes::BAD_BOUND,
            here,
            format!(
                "the program gives `{}` no range that depends on data",
                var.name
            ),
            "nothing to inspect",
        )
        .with_help("`inspect` takes a dynamic counted loop, before other commands on it"));
    }
    let name = arguments.name(1)?;
    let used = graph.vars.iter().any(|v| v.name == name.name)
        || graph.tensors.iter().any(|t| t.name == name.name)
        || graph.function.sizes.iter().any(|s| s.name == name.name);
    if used {
        return Err(taken(&name));
    }
    let runs = |nest: &Nest| {
        let mut found = false;
        nest.visit(&mut |part| found |= part.loops.iter().any(|l| l.var == parent));
        found
    };
    let Some(at) = graph.nests.iter().position(runs) else {
        return Err(arguments.wrong(here, "no statement runs it".to_string(), "inspect(p, u)"));
    };
    let bound = graph.add_tensor(Tensor {
        name: name.name.clone(),
        span: name.span,
        role: Role::Temporary,
        ty: ScalarType::I64,
        dims: vec![],
        format: TensorFormat::dense(0),
        fill: Literal::ZERO,
    });
    let inspector = inspector(&mut graph, at, parent, &var, &name.name, bound);
    // Before the loops that the statement shares with others.
    let first = (0..=at)
        .rev()
        .find(|&k| graph.nests[k].joined == 0)
        .unwrap_or(at);
    let written = graph.nests[first..at]
        .iter()
        .find(|nest| reads(&inspector.rhs, nest.tensor));
    if let Some(written) = written {
        let other = &graph.tensor(written.tensor).name;
        return Err(Diagnostic::error(
            codes::BAD_BOUND,
            here,
            format!(
                "`{}` depends on `{other}`, which the loops it shares write",
                graph.var(parent).name
            ),
            "cannot be inspected before them",
        )
        .with_help("leave the statements apart"));
    }
    graph.nests.insert(first, inspector);
    let child = graph.add_var(var);
    replace_loops(&mut graph, parent, &[child]);
    graph.relate(Relation::Inspect(Inspect {
        parent,
        child,
        bound,
    }));
    Ok(graph)
}

/// `u = max(0, max over the loops outside of hi - lo)`
fn inspector(
    graph: &mut Graph,
    at: usize,
    parent: VarId,
    var: &IndexVar,
    name: &str,
    bound: crate::program::ir::TensorId,
) -> Nest {
    let span = graph.nests[at].span;
    let node = |kind: ExprKind| Expr {
        kind,
        ty: ScalarType::I64,
        span,
    };
    let end = |bound: &Bound| match bound {
        Bound::Static(e) => node(ExprKind::Size(e.clone())),
        Bound::Dynamic(e) => e.clone(),
    };
    let mut count = node(ExprKind::Binary(
        BinaryOp::Sub,
        Box::new(end(&var.range.hi)),
        Box::new(end(&var.range.lo)),
    ));
    // Loops of its own, so that the schedule of the statement leaves them alone.
    let mut needed = range_vars(graph, parent);
    let mut next = 0;
    while next < needed.len() {
        for outer in range_vars(graph, needed[next]) {
            if !needed.contains(&outer) {
                needed.push(outer);
            }
        }
        next += 1;
    }
    // After `join` it may run over variables of another statement.
    let mut order = graph.statement(&graph.nests[at]).vars.clone();
    for &var in &needed {
        if !order.contains(&var) {
            order.push(var);
        }
    }
    let mut pairs: Vec<(VarId, VarId)> = Vec::new();
    for outer in order.into_iter().filter(|v| needed.contains(v)) {
        let mut copy = graph.var(outer).clone();
        copy.name = format!("{}_{name}", copy.name);
        for end in [&mut copy.range.lo, &mut copy.range.hi] {
            if let Bound::Dynamic(e) = end {
                super::join::rename_expr(e, &|v| to(&pairs, v));
            }
        }
        let copy = graph.add_var(copy);
        pairs.push((outer, copy));
    }
    super::join::rename_expr(&mut count, &|v| to(&pairs, v));
    let vars: Vec<VarId> = pairs.iter().map(|p| p.1).collect();
    let most = if vars.is_empty() {
        count
    } else {
        node(ExprKind::Reduce {
            op: ReduceOp::Max,
            vars: vars.clone(),
            body: Box::new(count),
        })
    };
    let zero = node(ExprKind::Literal(Literal::ZERO));
    Nest {
        stmt: graph.nests[at].stmt,
        tensor: bound,
        lhs: vec![],
        op: None,
        rhs: node(ExprKind::Call(Func::Max, vec![most, zero])),
        loops: vars.into_iter().map(Loop::serial).collect(),
        producers: Vec::new(),
        joined: 0,
        span,
    }
}

fn to(pairs: &[(VarId, VarId)], var: VarId) -> VarId {
    pairs.iter().find(|p| p.0 == var).map_or(var, |p| p.1)
}
