//! A sum that is set, `s(j) +=! A(i,j) * r(i)`, has no loop around all of it but those of the result. To share
//! another one it becomes two: what sets the result stands before all that shares the loop, what adds to it inside.
//!
//! before: `forall(i, S1)  forall(j, s(j) = sum(i, ..))`
//! after:  `forall(j_set, s(j_set) = 0)  forall(i, sequence(S1, forall(j, s(j) += ..)))`

use super::dependence;
use crate::graph::terms::root_reduction;
use crate::graph::{Graph, Loop, Nest};
use crate::program::ir::{Expr, ExprKind, IndexVar};

/// Takes apart the nest `at` or the one behind it where one of its outermost loops, `depth` of them, is of its sum,
/// unless what runs between notices when the result is set. Gives the place of the first nest then.
pub(super) fn set_apart(graph: &mut Graph, at: usize, depth: usize) -> usize {
    let mut first = at;
    for behind in [0, 1] {
        let begin = begin_of_sharing(graph, first);
        if let Some(set) = taken_apart(graph, begin, first + behind, depth) {
            graph.nests.insert(begin, set);
            first += 1;
        }
    }
    first
}

/// The first of the nests that share loops with this one.
fn begin_of_sharing(graph: &Graph, at: usize) -> usize {
    let before = graph.nests[..=at].iter().rev();
    at - before.take_while(|nest| nest.joined > 0).count()
}

/// Makes the nest one that adds to its result, and gives one that sets it, for a place before `begin`.
fn taken_apart(graph: &mut Graph, begin: usize, at: usize, depth: usize) -> Option<Nest> {
    let nest = &graph.nests[at];
    let result = graph.tensor(nest.tensor);
    let outer = nest.loops.get(..depth)?;
    let (op, ..) = root_reduction(&nest.rhs, nest.op)?;
    let notices = |other: &Nest| {
        let tensor = nest.tensor;
        other.tensor == tensor || other.reads(tensor) || dependence::decides(graph, other, nest)
    };
    let apart = nest.op.is_none()
        && outer.iter().any(|l| !nest.lhs.contains(&l.var))
        && !result.is_appended()
        && result.ty == result.ty.compute()
        && !graph.nests[begin..at].iter().any(notices)
        && nest
            .lhs
            .iter()
            .all(|&var| graph.static_range(var).is_some());
    if !apart {
        return None;
    }
    let neutral = Expr {
        kind: ExprKind::Literal(op.neutral(nest.rhs.ty)),
        ..nest.rhs.clone()
    };
    let mut set = Nest {
        op: None,
        rhs: neutral,
        loops: Vec::new(),
        producers: Vec::new(),
        joined: 0,
        guards: Vec::new(),
        ..nest.clone()
    };
    for var in &mut set.lhs {
        let like = graph.var(*var).clone();
        let name = graph.fresh_name(&format!("{}_set", like.name));
        *var = graph.add_var(IndexVar { name, ..like });
        set.loops.push(Loop::serial(*var));
    }
    graph.nests[at].op = Some(op);
    Some(set)
}
