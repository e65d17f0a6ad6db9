//! The order of a nest's loops before any schedule.
//!
//! A sparse tensor must be walked outer level first, so each access orders its
//! variables. Those orders are merged access by access, the result's first; an
//! access that would close a cycle (a transposed operand) gives way and is
//! located by search instead. Among what is left free, variables of the left
//! side come first in the order they were written, then the others by first
//! appearance; but where a reduction walks a sparse operand into a dense result,
//! variables that drive no sparse level go innermost, so that `C(i,j) = A(i,k) * B(k,j)`
//! with sparse A runs i, k, j and walks rows of B and C. Where data decide what is written, so do
//! variables that do not tell where: `C(to(i),k) += A(i,k)` runs over the rows of A once.

use super::Graph;
use super::distance::can_walk;
use crate::format::TensorFormat;
use crate::program::ir::{Access, Expr, ExprKind, TensorId, VarId};
use std::collections::BTreeSet;

/// a before b.
type Edge = (VarId, VarId);

/// The order of the loops over `vars` for `tensor(lhs) = rhs`.
#[must_use]
pub fn choose(
    graph: &Graph,
    tensor: TensorId,
    lhs: &[VarId],
    rhs: &Expr,
    vars: &[VarId],
) -> Vec<VarId> {
    let appended = match graph.collected.contains(&tensor) {
        true => Vec::new(),
        false => appended_vars(&graph.tensor(tensor).format, lhs),
    };
    choose_behind(graph, &appended, lhs, rhs, vars)
}

/// As [`choose`], with the loops over `appended` first, in this order.
#[must_use]
pub fn choose_behind(
    graph: &Graph,
    appended: &[VarId],
    lhs: &[VarId],
    rhs: &Expr,
    vars: &[VarId],
) -> Vec<VarId> {
    let mut edges: BTreeSet<Edge> = BTreeSet::new();
    add_chain(&mut edges, appended);
    for &first in appended {
        for &later in vars {
            if !appended.contains(&later) {
                edges.insert((first, later));
            }
        }
    }
    for &var in vars {
        for outer in range_vars(graph, var) {
            add_chain(&mut edges, &[outer, var]);
        }
    }
    let accesses = sparse_accesses(graph, rhs);
    for access in &accesses {
        add_access(&mut edges, graph, access);
    }
    let driven: BTreeSet<VarId> = accesses
        .iter()
        .flat_map(|access| driving_vars(graph, access))
        .collect();
    let reduces = vars.iter().any(|v| !lhs.contains(v) && driven.contains(v));
    let tells = told_by_sum(graph, lhs);
    let rank = |var: VarId| -> (bool, usize) {
        let at = vars.iter().position(|&v| v == var).unwrap_or(usize::MAX);
        let first = driven.contains(&var) || tells.contains(&var);
        ((reduces || !tells.is_empty()) && !first, at)
    };
    topological(vars, &edges, rank)
}

/// The variables of `lhs` whose values summed ones tell, with all that tell them.
fn told_by_sum(graph: &Graph, lhs: &[VarId]) -> Vec<VarId> {
    let mut all = Vec::new();
    for &var in lhs {
        let mut chain = vec![var];
        let mut at = 0;
        while at < chain.len() {
            let outer = range_vars(graph, chain[at]).into_iter();
            let new: Vec<VarId> = outer.filter(|v| !chain.contains(v)).collect();
            chain.extend(new);
            at += 1;
        }
        if chain.iter().any(|v| !lhs.contains(v)) {
            all.extend(chain);
        }
    }
    all
}

/// Whether the access's sparse levels can be walked with the loops in this order.
#[must_use]
pub fn is_concordant(graph: &Graph, access: &Access, order: &[VarId]) -> bool {
    let at = |var: VarId| order.iter().position(|&v| v == var);
    access_edges(graph, access)
        .iter()
        .all(|&(a, b)| match (at(a), at(b)) {
            (Some(a), Some(b)) => a < b,
            _ => true,
        })
}

/// The variables of the levels down to the last one that appends: their loops
/// must be outermost and in this order.
#[must_use]
pub fn appended_vars(format: &TensorFormat, lhs: &[VarId]) -> Vec<VarId> {
    let count = format
        .levels
        .iter()
        .rposition(|level| !level.is_placed())
        .map_or(0, |last| last + 1);
    format.modes[..count]
        .iter()
        .filter_map(|&mode| lhs.get(mode).copied())
        .collect()
}

/// Accesses to sparse tensors in value position (not inside subscripts), each once.
#[must_use]
pub fn sparse_accesses(graph: &Graph, e: &Expr) -> Vec<Access> {
    let mut found: Vec<Access> = Vec::new();
    for access in e.accesses() {
        if graph.tensor(access.tensor).is_sparse()
            && !found.iter().any(|a| super::equal::same_access(a, access))
        {
            found.push(access.clone());
        }
    }
    found
}

/// The variables that subscripts of a sparse tensor's access move with.
fn driving_vars(graph: &Graph, access: &Access) -> Vec<VarId> {
    let format = &graph.tensor(access.tensor).format;
    let last = format.levels.iter().rposition(|level| !level.is_full());
    let count = last.map_or(0, |last| last + 1);
    let mut found = Vec::new();
    for (&level, &mode) in format.levels.iter().zip(&format.modes).take(count) {
        let Some(subscript) = access.subscripts.get(mode) else {
            continue;
        };
        let vars = vars_in(subscript).into_iter();
        found.extend(vars.filter(|&var| can_walk(level, subscript, var)));
    }
    found
}

/// Whether `var` walks coordinates that a level of some access stores, so that
/// its loop may skip some.
#[must_use]
pub fn is_sparse_driven(graph: &Graph, rhs: &Expr, var: VarId) -> bool {
    sparse_accesses(graph, rhs).iter().any(|access| {
        let format = &graph.tensor(access.tensor).format;
        format
            .levels
            .iter()
            .zip(&format.modes)
            .any(|(&level, &mode)| {
                let subscript = access.subscripts.get(mode);
                !level.is_full() && subscript.is_some_and(|e| can_walk(level, e, var))
            })
    })
}

fn access_edges(graph: &Graph, access: &Access) -> Vec<Edge> {
    let format = &graph.tensor(access.tensor).format;
    let mut before: Vec<VarId> = Vec::new();
    let mut edges = Vec::new();
    for (level, &mode) in format.levels.iter().zip(&format.modes) {
        let Some(subscript) = access.subscripts.get(mode) else {
            continue;
        };
        let own = vars_in(subscript);
        if level.is_walked() {
            for &outer in &before {
                for &var in &own {
                    if outer != var {
                        edges.push((outer, var));
                    }
                }
            }
        }
        before.extend(own);
    }
    edges
}

fn add_access(edges: &mut BTreeSet<Edge>, graph: &Graph, access: &Access) {
    let new = access_edges(graph, access);
    let mut trial = edges.clone();
    trial.extend(new);
    if !has_cycle(&trial) {
        *edges = trial;
    }
}

fn add_chain(edges: &mut BTreeSet<Edge>, chain: &[VarId]) {
    for pair in chain.windows(2) {
        edges.insert((pair[0], pair[1]));
    }
}

/// All variables of an expression, each once, by first appearance.
#[must_use]
pub fn vars_in(e: &Expr) -> Vec<VarId> {
    let mut found = Vec::new();
    e.walk(&mut |node| {
        if let ExprKind::Index(var) = node.kind
            && !found.contains(&var)
        {
            found.push(var);
        }
    });
    found
}

/// The variables that the bounds of `var` depend on.
#[must_use]
pub fn range_vars(graph: &Graph, var: VarId) -> Vec<VarId> {
    let range = &graph.var(var).range;
    range.reads().flat_map(vars_in).collect()
}

/// The variables, and those that the bounds of any of them depend on, each once.
#[must_use]
pub fn with_range_vars(graph: &Graph, vars: Vec<VarId>) -> Vec<VarId> {
    let mut found: Vec<VarId> = Vec::new();
    let mut next = vars;
    while !next.is_empty() {
        let mut inside = Vec::new();
        for var in next {
            if !found.contains(&var) {
                found.push(var);
                inside.extend(range_vars(graph, var));
            }
        }
        next = inside;
    }
    found
}

/// All that the bounds of `var` depend on: what they read, and what those variables' own bounds do.
#[must_use]
pub fn all_range_vars(graph: &Graph, var: VarId) -> Vec<VarId> {
    with_range_vars(graph, range_vars(graph, var))
}

fn has_cycle(edges: &BTreeSet<Edge>) -> bool {
    let nodes: BTreeSet<VarId> = edges.iter().flat_map(|&(a, b)| [a, b]).collect();
    let nodes: Vec<VarId> = nodes.into_iter().collect();
    topological(&nodes, edges, |v| (false, v.index())).len() < nodes.len()
}

/// Kahn's algorithm, least rank first. Nodes on a cycle are left out.
fn topological(
    nodes: &[VarId],
    edges: &BTreeSet<Edge>,
    rank: impl Fn(VarId) -> (bool, usize),
) -> Vec<VarId> {
    let mut left: Vec<VarId> = nodes.to_vec();
    let mut order = Vec::with_capacity(nodes.len());
    loop {
        let next = left
            .iter()
            .copied()
            .filter(|&v| {
                !edges
                    .iter()
                    .any(|&(a, b)| b == v && a != v && left.contains(&a))
            })
            .min_by_key(|&v| rank(v));
        let Some(next) = next else { break };
        left.retain(|&v| v != next);
        order.push(next);
    }
    order
}
