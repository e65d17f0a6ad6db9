//! Loops whose iterations all do the same: the first one does it.
//!
//! before: `for p in pos[i]..pos[i + 1]: met[0] max= K`
//! after:  `if pos[i] < pos[i + 1]: met[0] max= K`
//!
//! A row of which all elements come or none is counted so.

use super::build as b;
use super::ir::{ArrayId, Expr, ExprKind, Kernel, ReduceOp, Stmt, VarId};
use super::visit;

/// Tests whether loops come to anything that would do the same in each iteration.
#[must_use]
pub fn once(mut kernel: Kernel) -> Kernel {
    within(&mut kernel.body);
    kernel
}

fn within(body: &mut [Stmt]) {
    for stmt in body {
        for inner in visit::bodies_mut(stmt) {
            within(inner);
        }
        if let Stmt::For {
            var,
            lo,
            hi,
            most: None,
            tag,
            body,
            ..
        } = stmt
            && tag.is_inside_block()
            && is_same(body, *var)
        {
            *stmt = b::if_then(b::lt(lo.clone(), hi.clone()), std::mem::take(body));
        }
    }
}

/// What is set.
#[derive(Clone, Copy)]
enum Place {
    Var(VarId),
    Element(ArrayId),
}

/// Whether the statements, run again with another value of the variable, change nothing more: they set one thing to
/// what is the same then, and what they test changes by that alone.
fn is_same(body: &[Stmt], var: VarId) -> bool {
    let of_loop = |e: &Expr| {
        e.any(|node| node.kind == ExprKind::Var(var) || matches!(node.kind, ExprKind::Place(_)))
    };
    if let [
        Stmt::If {
            cond,
            then,
            otherwise,
        },
    ] = body
        && otherwise.is_empty()
    {
        return !of_loop(cond) && is_same(then, var);
    }
    let Some((set, read)) = setting(body) else {
        return false;
    };
    let of_set = |e: &Expr| {
        e.any(|node| match set {
            Place::Var(set) => node.kind == ExprKind::Var(set),
            Place::Element(set) => {
                matches!(node.kind, ExprKind::Load { array, .. } if array == set)
            }
        })
    };
    !read.iter().any(|e| of_loop(e) || of_set(e))
}

/// What a single statement sets, and what it reads for it: setting it twice is as setting it once.
fn setting(body: &[Stmt]) -> Option<(Place, Vec<&Expr>)> {
    let same = |op: Option<ReduceOp>| op.is_none_or(ReduceOp::is_idempotent);
    let (op, set, read) = match body {
        [Stmt::Assign { var, op, value }] => (op, Place::Var(*var), vec![value]),
        [
            Stmt::Store {
                array,
                index,
                op,
                value,
                ..
            },
        ] => (op, Place::Element(*array), vec![index, value]),
        [..] => return None,
    };
    same(*op).then_some((set, read))
}
