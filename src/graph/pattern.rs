//! Sparse results that store what one operand stores.
//!
//! `C(i,j) = A(i,j) * B(i,k) * D(j,k)` with dense B and D stores an element of C for each
//! of A's. Where C has the levels of A, its coordinates are A's and each value stands at
//! the position of A's: nothing is appended, the arrays have their size from the start,
//! and iterations of any loop over coordinates may run at once.

use super::equal::same_access;
use super::fold::{as_literal, fold};
use super::order::{appended_vars, sparse_accesses};
use super::terms::{reduces, replace};
use super::{Assign, Graph, Loop, Nest, Stmt};
use crate::program::ir::{Access, Expr, ExprKind, ReduceOp, TensorId, VarId};
use crate::scalar::Literal;
use std::collections::BTreeMap;

/// The operand that a sparse result follows.
#[derive(Clone, Debug)]
pub struct Source {
    pub access: Access,
    /// How many levels of the operand, outermost first, are the result's first levels;
    /// dense ones follow them.
    pub levels: usize,
}

/// The operand whose outer levels are those of the nest's sparse result, position for
/// position; `None` if there is none, or the result is dense.
#[must_use]
pub fn source(graph: &Graph, nest: &Nest) -> Option<Source> {
    let result = graph.tensor(nest.tensor);
    let collected = graph.collected.contains(&nest.tensor);
    if !result.is_appended() || collected || nest.op.is_some() || graph.is_kept(nest.tensor) {
        return None;
    }
    let mut accesses: Vec<Access> = Vec::new();
    nest.visit(&mut |part| {
        for access in sparse_accesses(graph, &part.rhs) {
            if !accesses.iter().any(|known| same_access(known, &access)) {
                accesses.push(access);
            }
        }
    });
    let access = accesses.pop()?;
    if access.tensor == nest.tensor || is_appended_here(graph, nest, access.tensor) {
        return None;
    }
    let operand = graph.tensor(access.tensor);
    let levels = &result.format.levels;
    let last = levels.iter().rposition(|level| !level.is_full())?;
    let only = accesses.is_empty();
    let same_levels = operand.format.levels.get(..=last) == Some(&levels[..=last])
        && operand.format.index_bits == result.format.index_bits
        && access.tensor != nest.tensor
        && operand.format.modes[..=last]
            .iter()
            .zip(&result.format.modes)
            .all(|(&own, &mode)| {
                let var = nest.lhs[mode];
                access.subscripts[own].as_var() == Some(var)
                    && operand.dims[own] == result.dims[mode]
            });
    let whole = graph.covers_all(&nest.lhs, &result.dims);
    // A run of equal coordinates belongs to the level below.
    let plain = levels[..=last]
        .windows(2)
        .all(|pair| pair[0].unique || pair[1].is_branchless())
        && levels[last].unique;
    let outer: Vec<VarId> = result.format.modes[..=last]
        .iter()
        .map(|&mode| nest.lhs[mode])
        .collect();
    (only
        && same_levels
        && whole
        && plain
        && stands_inside(graph, nest, &access, &outer)
        && vanishes_without(graph, nest, &access))
    .then_some(Source {
        access,
        levels: last + 1,
    })
}

/// Whether the kernel appends to the tensor where its coordinates are not there in time: in
/// loops that `nest` shares, or anywhere if sizes must be known before the kernel runs.
fn is_appended_here(graph: &Graph, nest: &Nest, tensor: TensorId) -> bool {
    let nests = &graph.nests;
    let own = nests
        .iter()
        .position(|other| other.stmt == nest.stmt && other.tensor == nest.tensor);
    // Those that share loops with the first nest of a group say that they are joined.
    let group = own.map(|own| {
        let first = (0..=own).rev().find(|&at| nests[at].joined == 0);
        first.unwrap_or(0)..own
    });
    nests.iter().enumerate().any(|(at, other)| {
        let beside = group.as_ref().is_some_and(|group| group.contains(&at));
        other.tensor == tensor
            && (beside || !graph.follows_appended)
            && source(graph, other).is_none()
    })
}

/// The operands whose coordinates results have that follow one: what follows a result that
/// follows an operand follows that.
#[must_use]
pub fn followed(graph: &Graph) -> BTreeMap<TensorId, TensorId> {
    let mut found: BTreeMap<TensorId, (TensorId, usize)> = BTreeMap::new();
    for nest in &graph.nests {
        match source(graph, nest) {
            Some(Source { access, levels }) => {
                let operand = match found.get(&access.tensor) {
                    Some((operand, known)) if *known >= levels => *operand,
                    Some(_) | None => access.tensor,
                };
                found.insert(nest.tensor, (operand, levels));
            }
            None => {
                found.remove(&nest.tensor);
            }
        }
    }
    found
        .into_iter()
        .map(|(result, (o, _))| (result, o))
        .collect()
}

/// Whether workspaces are computed where the coordinates in `vars` are known, or by loops over the
/// positions of the innermost of them that the nest goes over once more.
fn stands_inside(graph: &Graph, nest: &Nest, access: &Access, vars: &[VarId]) -> bool {
    let walks = |part: &Nest| {
        let counted = |l: &Loop| graph.provenance.position_of(l.var);
        let mut counted = part.loops.iter().filter_map(counted);
        counted.any(|pos| {
            let innermost = graph.provenance.roots(pos.parent).pop();
            same_access(&pos.access, access) && innermost.as_ref() == vars.last()
        })
    };
    nest.producers.iter().all(|producer| {
        let mut own = Vec::new();
        producer.visit(&mut |part| own.extend(part.loop_vars()));
        let roots = own.iter().flat_map(|&v| graph.provenance.roots(v));
        (walks(nest) && walks(producer)) || !roots.into_iter().any(|root| vars.contains(&root))
    })
}

/// The variables whose loops must be outermost and in this order, because coordinates of
/// the nest's result are appended.
#[must_use]
pub fn appended(graph: &Graph, nest: &Nest) -> Vec<VarId> {
    match source(graph, nest) {
        Some(_) => Vec::new(),
        None => appended_vars(&graph.tensor(nest.tensor).format, &nest.lhs),
    }
}

/// Whether the statement would store the fill wherever `access` stores nothing.
fn vanishes_without(graph: &Graph, nest: &Nest, access: &Access) -> bool {
    let own = graph.tensor(nest.tensor).fill;
    constant(graph, nest, Some(access)).is_some_and(|l| l.same_value(own))
}

/// What a nest stores where `missing` stores nothing, if it is the same everywhere.
#[must_use]
pub fn constant(graph: &Graph, nest: &Nest, missing: Option<&Access>) -> Option<Literal> {
    let workspaces: Vec<(TensorId, Literal)> = nest
        .producers
        .iter()
        .filter_map(|p| Some((p.tensor, constant(graph, p, missing)?)))
        .collect();
    let absent = |a: &Access| {
        let workspace = workspaces.iter().find(|(tensor, _)| *tensor == a.tensor);
        match workspace {
            Some((_, value)) => Some(*value),
            None => missing
                .filter(|missing| same_access(a, missing))
                .map(|missing| graph.tensor(missing.tensor).fill),
        }
    };
    let reads = |a: &Access| graph.exact(a);
    let mut rhs = nest.rhs.clone();
    for sum in reduces(&nest.rhs) {
        let ExprKind::Reduce { op, body, .. } = &sum.kind else {
            continue;
        };
        let neutral = op.neutral(sum.ty);
        if as_literal(&fold(body, &absent, &reads)).is_some_and(|l| l.same_value(neutral)) {
            let left = Expr {
                kind: ExprKind::Literal(neutral),
                ..sum.clone()
            };
            replace(&mut rhs, &sum, &left);
        }
    }
    as_literal(&fold(&rhs, &absent, &reads))
}

/// Whether sums add to blocks of the nest's result that the loops themselves set up, each where
/// its position is known.
#[must_use]
pub fn is_by_block(graph: &Graph, nest: &Nest, stmt: &Stmt) -> bool {
    constant(graph, nest, None).is_none()
        && accumulates(stmt, nest.tensor).is_some()
        && sets(stmt, nest.tensor)
}

/// The operation with which some assignment adds to the tensor's elements.
#[must_use]
pub fn accumulates(stmt: &Stmt, tensor: TensorId) -> Option<ReduceOp> {
    let mut own = assigned(stmt, tensor);
    own.find_map(|assign| assign.op)
}

/// Whether some assignment sets the tensor's elements.
fn sets(stmt: &Stmt, tensor: TensorId) -> bool {
    assigned(stmt, tensor).any(|assign| assign.op.is_none())
}

fn assigned(stmt: &Stmt, tensor: TensorId) -> impl Iterator<Item = &Assign> {
    let all = stmt.assigns().into_iter();
    all.filter(move |assign| assign.tensor == tensor)
}
