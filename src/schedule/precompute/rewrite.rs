//! The statement without the expression that moves into a workspace, and the workspace's nest.

use super::find::Found;
use super::place::Place;
use crate::graph::order::vars_in;
use crate::graph::producers::around;
use crate::graph::provenance::Provenance;
use crate::graph::terms::reads;
use crate::graph::{Graph, Loop, Nest};
use crate::program::ir::{Access, Expr, ExprKind, Shared, TensorId, VarId};
use crate::scalar::ScalarType;

/// A workspace that only the new one reads stays outside it where fewer loops determine
/// it: a packed panel of B outlasts the tiles of C that read it.
pub(super) fn hoist(graph: &mut Graph, at: &Place) {
    let nest = at.of(graph);
    let Some(new) = nest.producers.last() else {
        return;
    };
    // (Loops of the inner ones are copies of those around that the new one may need.)
    let alone = Nest {
        producers: Vec::new(),
        ..new.clone()
    };
    let [of_all, of_own] = [new, &alone].map(|new| around(graph, nest, new).len());
    let depth = of_all.max(of_own);
    let mut loops = graph.nests[at.nest].loop_vars();
    let mut outer = &graph.nests[at.nest];
    for &n in &at.path {
        outer = &outer.producers[n];
        loops.extend(outer.loop_vars());
    }
    let mut kept = Vec::new();
    for (n, inner) in new.producers.iter().enumerate() {
        // Its own loops give it the variables that it is kept over.
        let given: Vec<VarId> = inner
            .lhs
            .iter()
            .flat_map(|&v| graph.provenance.ancestors(v))
            .collect();
        let bound_by_new = new.loops.iter().any(|l| {
            let from = graph.provenance.ancestors(l.var);
            let needed = vars_in(&inner.rhs);
            needed
                .iter()
                .any(|v| from.contains(v) && !given.contains(v))
        });
        // A tile of a sum is one of the new one's loops.
        let loops: Vec<VarId> = loops.iter().copied().chain(inner.loop_vars()).collect();
        let mut needed = vars_in(&inner.rhs).into_iter();
        let is_told = needed.all(|v| graph.provenance.is_complete(v, &loops));
        if !bound_by_new && is_told && around(graph, nest, inner).len() < depth {
            kept.push(n);
        }
    }
    let nest = at.of_mut(graph);
    let Some(mut new) = nest.producers.pop() else {
        return;
    };
    for n in kept.into_iter().rev() {
        let inner = new.producers.remove(n);
        nest.producers.push(inner);
    }
    nest.producers.push(new);
}

/// The variables of a sum without those that moved: of one whose parts moved, the others.
fn remaining(
    provenance: &Provenance,
    loops: &[VarId],
    vars: &[VarId],
    moved: &[VarId],
) -> Vec<VarId> {
    let mut left = Vec::new();
    for &var in vars.iter().filter(|v| !moved.contains(v)) {
        let leaves = provenance.leaves(var, loops);
        if !leaves.iter().any(|leaf| moved.contains(leaf)) {
            left.push(var);
            continue;
        }
        for leaf in leaves {
            if !moved.contains(&leaf) && !left.contains(&leaf) {
                left.push(leaf);
            }
        }
    }
    left
}

pub(super) fn rewrite(
    graph: &mut Graph,
    at: &Place,
    found: &Found,
    pairs: &[(VarId, VarId)],
    moved: &[VarId],
    workspace: TensorId,
) {
    let provenance = graph.provenance.clone();
    let read = Expr {
        kind: ExprKind::Access(Access {
            tensor: workspace,
            subscripts: pairs
                .iter()
                .map(|&(var, _)| Expr {
                    kind: ExprKind::Index(var),
                    ty: ScalarType::I64,
                    span: found.e.span,
                })
                .collect(),
        }),
        ty: graph.tensor(workspace).ty,
        span: found.e.span,
    };
    let nest = at.of_mut(graph);
    let loops = nest.loop_vars();
    let is_moved = |var: VarId| {
        moved
            .iter()
            .any(|&sum| provenance.leaves(sum, &loops).contains(&var))
    };
    // What the workspace computes.
    let mut own_loops = Vec::new();
    for l in &nest.loops {
        if is_moved(l.var) {
            own_loops.push(l.clone());
        } else if let Some(&(_, copy)) = pairs.iter().find(|(var, _)| *var == l.var) {
            own_loops.push(Loop::serial(copy));
        }
    }
    let rhs = match &found.sum {
        Some((op, _, _)) if !moved.is_empty() => Expr {
            kind: ExprKind::Reduce {
                op: *op,
                vars: moved.to_vec(),
                body: Shared::new(found.e.clone()),
            },
            ..found.e.clone()
        },
        Some(_) | None => found.e.clone(),
    };
    // What is left of the statement.
    let (from, to) = match (&found.sum, found.with(read)) {
        (_, None) => return,
        (Some((op, vars, whole)), Some(body)) => {
            let vars = remaining(&provenance, &loops, vars, moved);
            let to = if vars.is_empty() {
                body
            } else {
                Expr {
                    kind: ExprKind::Reduce {
                        op: *op,
                        vars,
                        body: Shared::new(body),
                    },
                    ty: whole.ty,
                    span: whole.span,
                }
            };
            (whole.clone(), to)
        }
        (None, Some(body)) => (found.whole.clone(), body),
    };
    crate::graph::terms::replace(&mut nest.rhs, &from, &to);
    nest.loops.retain(|l| !is_moved(l.var));
    // Workspaces that only the expression reads stand inside it now.
    let kept = nest.rhs.clone();
    let (producers, inner) = std::mem::take(&mut nest.producers)
        .into_iter()
        .partition(|p: &Nest| reads(&kept, p.tensor));
    nest.producers = producers;
    nest.producers.push(Nest {
        stmt: nest.stmt,
        tensor: workspace,
        lhs: pairs.iter().map(|p| p.0).collect(),
        op: None,
        rhs,
        loops: own_loops,
        producers: inner,
        joined: 0,
        guards: Vec::new(),
        span: nest.span,
    });
}
