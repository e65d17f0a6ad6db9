//! Truths that a loop does not change are asked before it.
//!
//! before: `for p in pos[i]..pos[i + 1]: g[crd[p]] ||= f[i] && x[p]`
//! after:  `if f[i]: for p in pos[i]..pos[i + 1]: g[crd[p]] ||= x[p]`
//!
//! A step of a breadth-first search so walks the rows of the vertices that it has reached, and no others.

use super::build as b;
use super::ir::{BinaryOp, Expr, ExprKind, Kernel, ReduceOp, ScalarType, Stmt, VarId};
use super::visit;

/// Takes the conditions of a disjunction that stay the same out of its loop.
#[must_use]
pub fn ask_before(mut kernel: Kernel) -> Kernel {
    within(&mut kernel.body);
    kernel
}

fn within(body: &mut [Stmt]) {
    for stmt in body {
        for inner in visit::bodies_mut(stmt) {
            within(inner);
        }
        let Stmt::For { var, tag, body, .. } = stmt else {
            continue;
        };
        if tag.is_inside_block()
            && let Some(cond) = taken(body, *var)
        {
            let own = std::mem::replace(stmt, Stmt::Comment(String::new()));
            *stmt = b::if_then(cond, vec![own]);
        }
    }
}

/// Takes what is the same in each iteration out of what a body does, if that is no more than
/// to combine something by `||`.
fn taken(body: &mut [Stmt], var: VarId) -> Option<Expr> {
    let mut moving = visit::declared(body);
    moving.insert(var);
    moving.extend(visit::changed(body));
    let (last, before) = body.split_last_mut()?;
    let mut set = None;
    if let Stmt::Store { array, .. } = last {
        set = Some(*array);
    }
    let (Stmt::Assign { op, value, .. } | Stmt::Store { op, value, .. }) = last else {
        return None;
    };
    let binds = |stmt: &Stmt| matches!(stmt, Stmt::Let { .. });
    if *op != Some(ReduceOp::Or) || value.ty != ScalarType::Bool || !before.iter().all(binds) {
        return None;
    }
    // What is asked where there may be no iteration must be there: data say no place of it.
    let is_same = |e: &Expr| {
        !e.any(|node| {
            if let ExprKind::Load { array, index } = &node.kind {
                Some(*array) == set || index.loads()
            } else {
                matches!(node.kind, ExprKind::Var(own) if moving.contains(&own))
            }
        })
    };
    let (same, rest): (Vec<Expr>, Vec<Expr>) = conditions(value).into_iter().partition(is_same);
    if same.is_empty() {
        return None;
    }
    *value = b::all(rest);
    Some(b::all(same))
}

/// The operands of nested conjunctions.
fn conditions(e: &Expr) -> Vec<Expr> {
    if let ExprKind::Binary(BinaryOp::And, x, y) = &e.kind {
        [conditions(x), conditions(y)].concat()
    } else {
        vec![e.clone()]
    }
}
