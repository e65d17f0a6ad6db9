//! Truths that a loop does not change are asked before it.
//!
//! before: `for p in pos[i]..pos[i + 1]: g[crd[p]] ||= f[i] && x[p]`
//! after:  `if f[i]: for p in pos[i]..pos[i + 1]: g[crd[p]] ||= x[p]`
//!
//! A step of a breadth-first search so walks the rows of the vertices that it has reached, and no others.

use super::build as b;
use super::interface::Arg;
use super::ir::{ArrayId, BinaryOp, Expr, ExprKind, Kernel, ReduceOp, ScalarType, Stmt, VarId};
use super::visit;
use std::collections::BTreeMap;

/// Takes the conditions of a disjunction that stay the same out of its loop.
#[must_use]
pub fn ask_before(mut kernel: Kernel) -> Kernel {
    let mut within = Within {
        lengths: lengths(&kernel),
        around: Vec::new(),
    };
    within.list(&mut kernel.body);
    kernel
}

/// Where loops stand.
struct Within {
    /// The extents of vectors, by their values.
    lengths: BTreeMap<ArrayId, Expr>,
    /// The loops from 0 on around a statement, and their ends.
    around: Vec<(VarId, Expr)>,
}

/// The extents of the operands that have one dimension and store all of it.
fn lengths(kernel: &Kernel) -> BTreeMap<ArrayId, Expr> {
    let args = kernel.interface.args.iter();
    let length = |arg: &Arg| match arg {
        Arg::Tensor(tensor) => match tensor.levels.as_slice() {
            [only] if only.level.is_full() => Some((tensor.values, only.extent(&tensor.dims))),
            _ => None,
        },
        Arg::Scalar { .. } => None,
    };
    args.filter_map(length).collect()
}

impl Within {
    fn list(&mut self, body: &mut [Stmt]) {
        for stmt in body {
            let depth = self.around.len();
            if let Stmt::For { var, lo, hi, .. } = stmt
                && b::as_int(lo) == Some(0)
            {
                self.around.push((*var, hi.clone()));
            }
            for inner in visit::bodies_mut(stmt) {
                self.list(inner);
            }
            self.around.truncate(depth);
            let Stmt::For { var, tag, body, .. } = stmt else {
                continue;
            };
            if tag.is_inside_block()
                && let Some(cond) = taken(body, *var, &|e| self.may_fail(e))
            {
                let own = std::mem::replace(stmt, Stmt::Comment(String::new()));
                *stmt = b::if_then(cond, vec![own]);
            }
        }
    }

    /// Whether an expression must not be computed where it is not asked for: it divides, or reads what the loops
    /// around it do not say is there.
    fn may_fail(&self, e: &Expr) -> bool {
        use BinaryOp::{Div, FloorDiv, Rem};
        e.any(|node| {
            if let ExprKind::Load { array, index } = &node.kind {
                let known = |(var, end): &(VarId, Expr)| {
                    index.kind == ExprKind::Var(*var) && self.lengths.get(array) == Some(end)
                };
                return !self.around.iter().any(known);
            }
            matches!(node.kind, ExprKind::Binary(Div | Rem | FloorDiv, ..))
        })
    }
}

/// Takes what is the same in each iteration out of what a body does, if that is no more than
/// to combine something by `||`.
fn taken(body: &mut [Stmt], var: VarId, may_fail: &dyn Fn(&Expr) -> bool) -> Option<Expr> {
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
    let (mut same, mut rest) = (Vec::new(), Vec::new());
    for condition in conditions(value) {
        // One that stays may be what says that those behind it read what is there.
        if is_same(&condition) && (rest.is_empty() || !may_fail(&condition)) {
            same.push(condition);
        } else {
            rest.push(condition);
        }
    }
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
