//! The trees of a graph: one for each nest, or for several that share loops.

use super::concretize::concretize_numbered;
use super::{Graph, Nest, Stmt};
use crate::program::ir::Tensor;

/// The trees of all nests, and the graph's tensors with the scalar workspaces.
#[derive(Clone, Debug)]
pub struct Tree {
    pub tensors: Vec<Tensor>,
    /// One for each nest, or for several that share loops.
    pub stmts: Vec<Stmt>,
}

/// Derives the tree. `None` if some reduction cannot accumulate in the order of
/// its nest's loops (`reorder` refuses those).
#[must_use]
pub fn concretize(graph: &Graph) -> Option<Tree> {
    let mut tensors = graph.tensors.clone();
    let mut stmts: Vec<Stmt> = Vec::new();
    for (at, nest) in graph.nests.iter().enumerate() {
        let stmt = concretize_numbered(graph, at, &mut tensors)?;
        let next = graph.nests.get(at + 1).map_or(0, |next| next.joined);
        let stmt = guarded(nest, nest.joined.max(next), stmt);
        if nest.joined > 0
            && let Some(before) = stmts.pop()
        {
            stmts.push(merge(before, stmt, nest.joined));
        } else {
            stmts.push(stmt);
        }
    }
    Some(Tree { tensors, stmts })
}

/// The nests of each tree: those that share loops together.
#[must_use]
pub fn groups(graph: &Graph) -> Vec<Vec<&Nest>> {
    let mut groups: Vec<Vec<&Nest>> = Vec::new();
    for nest in &graph.nests {
        match groups.last_mut() {
            Some(group) if nest.joined > 0 => group.push(nest),
            Some(_) | None => groups.push(vec![nest]),
        }
    }
    groups
}

/// A nest's tree with its guards inside of the loops that it shares.
fn guarded(nest: &Nest, depth: usize, stmt: Stmt) -> Stmt {
    if nest.guards.is_empty() {
        return stmt;
    }
    match (depth, stmt) {
        (1.., Stmt::Forall { var, tag, body }) => Stmt::Forall {
            var,
            tag,
            body: Box::new(guarded(nest, depth - 1, *body)),
        },
        (_, stmt) => Stmt::Guarded {
            guards: nest.guards.clone(),
            body: Box::new(stmt),
        },
    }
}

/// Two trees whose `depth` outer loops are one.
fn merge(first: Stmt, second: Stmt, depth: usize) -> Stmt {
    match (depth, first, second) {
        (
            1..,
            Stmt::Forall { var, tag, body },
            Stmt::Forall {
                var: other,
                body: second,
                ..
            },
        ) if var == other => Stmt::Forall {
            var,
            tag,
            body: Box::new(merge(*body, *second, depth - 1)),
        },
        (depth, Stmt::Sequence(mut stmts), second) => {
            // The nest before may share more loops with this one than with those before it.
            let last = match (stmts.last(), &second) {
                (Some(Stmt::Forall { var, .. }), Stmt::Forall { var: other, .. })
                    if depth > 0 && var == other =>
                {
                    stmts.pop()
                }
                (_, _) => None,
            };
            stmts.push(match last {
                Some(last) => merge(last, second, depth),
                None => second,
            });
            Stmt::Sequence(stmts)
        }
        (_, first, second) => Stmt::Sequence(vec![first, second]),
    }
}
