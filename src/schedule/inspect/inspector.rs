//! The statement that finds how often a loop runs at most (003): a maximum over the loops that decide its
//! range, once for all loops of the same ranges.

use crate::diagnostic::Span;
use crate::graph::equal::{same, same_bound};
use crate::graph::order::all_range_vars;
use crate::graph::terms::reads;
use crate::graph::{Graph, Loop, Nest, Relation};
use crate::program::ir::{
    Access, BinaryOp, Bound, Expr, ExprKind, Func, ReduceOp, Shared, TensorId, VarId,
};
use crate::scalar::{Literal, ScalarType};
use crate::schedule::join::rename_expr;

/// `u = max(0, max over the loops outside of hi - lo)`, or `u = v` where an inspector before found that one. It
/// will stand before the nest `first`.
pub(super) fn nest(
    graph: &mut Graph,
    (at, first): (usize, usize),
    parent: VarId,
    name: &str,
    bound: TensorId,
) -> Nest {
    let span = graph.nests[at].span;
    let mut count = length(graph, parent, span);
    let outer = outside(graph, at, parent);
    let (rhs, vars) = match known(graph, first, &count, &outer) {
        Some(known) => (known, Vec::new()),
        None => {
            let vars = loops_like(graph, &outer, name);
            rename_expr(&mut count, &|v| to(&outer, &vars, v));
            (largest(count, &vars), vars)
        }
    };
    Nest {
        stmt: graph.nests[at].stmt,
        tensor: bound,
        lhs: vec![],
        op: None,
        rhs,
        loops: vars.into_iter().map(Loop::serial).collect(),
        producers: Vec::new(),
        joined: 0,
        guards: Vec::new(),
        span,
    }
}

/// How often a loop runs: `hi - lo`.
fn length(graph: &Graph, var: VarId, span: Span) -> Expr {
    let end = |bound: &Bound| match bound {
        Bound::Static(e) => whole(ExprKind::Size(e.clone()), span),
        Bound::Dynamic(e) => e.clone(),
    };
    let range = &graph.var(var).range;
    let (hi, lo) = (Shared::new(end(&range.hi)), Shared::new(end(&range.lo)));
    whole(ExprKind::Binary(BinaryOp::Sub, hi, lo), span)
}

fn whole(kind: ExprKind, span: Span) -> Expr {
    Expr {
        kind,
        ty: ScalarType::I64,
        span,
    }
}

/// The variables that decide a range, whatever they need themselves among them, in the statement's order.
fn outside(graph: &Graph, at: usize, parent: VarId) -> Vec<VarId> {
    let needed = all_range_vars(graph, parent);
    // After `join` it may run over variables of another statement.
    let mut order = graph.statement(&graph.nests[at]).vars.clone();
    for &var in &needed {
        if !order.contains(&var) {
            order.push(var);
        }
    }
    order.retain(|v| needed.contains(v));
    order
}

/// Loops like those over `outer`, of an inspector's own: the schedule of the statement leaves them alone.
fn loops_like(graph: &mut Graph, outer: &[VarId], name: &str) -> Vec<VarId> {
    let mut own: Vec<VarId> = Vec::new();
    for &var in outer {
        let mut copy = graph.var(var).clone();
        copy.name = format!("{}_{name}", copy.name);
        for e in copy.range.reads_mut() {
            rename_expr(e, &|v| to(outer, &own, v));
        }
        own.push(graph.add_var(copy));
    }
    own
}

/// The largest number of iterations, 0 if there are none.
fn largest(count: Expr, vars: &[VarId]) -> Expr {
    let span = count.span;
    let most = if vars.is_empty() {
        count
    } else {
        let reduce = ExprKind::Reduce {
            op: ReduceOp::Max,
            vars: vars.to_vec(),
            body: Shared::new(count),
        };
        whole(reduce, span)
    };
    let zero = whole(ExprKind::Literal(Literal::ZERO), span);
    whole(ExprKind::Call(Func::Max, vec![most, zero]), span)
}

/// What an inspector before the nest `first` found for loops of the same ranges, which nothing behind it changes.
fn known(graph: &Graph, first: usize, count: &Expr, outer: &[VarId]) -> Option<Expr> {
    let relations = graph.provenance.relations.iter();
    let mut bounds = relations.filter_map(Relation::inspected);
    let tensor = bounds.find(|&bound| {
        let own = graph.nests.iter().position(|nest| nest.tensor == bound);
        own.is_some_and(|own| own < first && holds(graph, own..first, count, outer))
    })?;
    let subscripts = Vec::new();
    Some(whole(
        ExprKind::Access(Access { tensor, subscripts }),
        count.span,
    ))
}

/// Whether the first of these nests looks for the largest `count` in loops like those over `outer`, and none
/// writes what it reads.
fn holds(graph: &Graph, mut nests: std::ops::Range<usize>, count: &Expr, outer: &[VarId]) -> bool {
    let Some((vars, body)) = inspected(&graph.nests[nests.start].rhs) else {
        return false;
    };
    if vars.len() != outer.len() {
        return false;
    }
    let mut read = vec![body];
    for (&var, &own) in outer.iter().zip(vars) {
        let (mut range, known) = (graph.var(var).range.clone(), &graph.var(own).range);
        for e in range.reads_mut() {
            rename_expr(e, &|v| to(outer, vars, v));
        }
        if !same_bound(&range.lo, &known.lo) || !same_bound(&range.hi, &known.hi) {
            return false;
        }
        read.extend(known.reads());
    }
    let mut count = count.clone();
    rename_expr(&mut count, &|v| to(outer, vars, v));
    let writes = |at: usize| read.iter().any(|e| reads(e, graph.nests[at].tensor));
    same(&count, body) && !nests.any(writes)
}

/// The loops of an inspector, and what it takes the maximum of.
fn inspected(rhs: &Expr) -> Option<(&[VarId], &Expr)> {
    let ExprKind::Call(Func::Max, parts) = &rhs.kind else {
        return None;
    };
    let ExprKind::Reduce { vars, body, .. } = &parts.first()?.kind else {
        return None;
    };
    Some((vars, body))
}

/// The variable that stands in the place of another.
fn to(from: &[VarId], own: &[VarId], var: VarId) -> VarId {
    let mut pairs = from.iter().zip(own);
    pairs.find(|(from, _)| **from == var).map_or(var, |p| *p.1)
}
