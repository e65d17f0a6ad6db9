//! Loops that append one element in each iteration make room once, before they begin.
//!
//! before: `for k in lo..hi { grow c to n + 1; ...; n += 1 }`
//! after:  `grow c to n + (hi - lo); for k in lo..hi { ...; n += 1 }`
//!
//! Only serial loops append so. What is left copies from array to array, which compilers make vectors of.

use super::build as b;
use super::ir::{BinaryOp, Expr, ExprKind, Kernel, ReduceOp, ScalarType, Stmt, VarId};
use super::visit;

/// Moves room out of loops whose iterations append one element each.
#[must_use]
pub fn make_room_ahead(mut kernel: Kernel) -> Kernel {
    in_body(&mut kernel.body);
    kernel
}

fn in_body(body: &mut Vec<Stmt>) {
    for mut stmt in std::mem::take(body) {
        for inner in visit::bodies_mut(&mut stmt) {
            in_body(inner);
        }
        body.extend(ahead(&mut stmt));
        body.push(stmt);
    }
}

/// The room that a loop needs in all, if it is moved before it.
fn ahead(stmt: &mut Stmt) -> Option<Stmt> {
    let Stmt::For {
        lo,
        hi,
        step: 1,
        body,
        ..
    } = stmt
    else {
        return None;
    };
    let at = body.iter().position(|s| matches!(s, Stmt::Grow { .. }))?;
    let Stmt::Grow { capacity, needed } = &body[at] else {
        return None;
    };
    let (capacity, counter) = (*capacity, one_before(needed)?);
    let (mut grown, mut counted) = (0, 0);
    visit::stmts(body, &mut |s| {
        grown += usize::from(matches!(s, Stmt::Grow { .. }));
        counted += usize::from(matches!(s, Stmt::Assign { var, .. } if *var == counter));
    });
    // What is appended behind a test may be far less than there are iterations.
    let always = body[at..].iter().any(|s| counts_one(s, counter));
    if grown != 1 || counted != 1 || !always {
        return None;
    }
    let all = b::sub(hi.clone(), lo.clone());
    body.remove(at);
    Some(Stmt::Grow {
        capacity,
        needed: b::add(b::var(counter, ScalarType::I64), all),
    })
}

/// Of `n + 1` the variable n.
fn one_before(e: &Expr) -> Option<VarId> {
    if let ExprKind::Binary(BinaryOp::Add, n, one) = &e.kind
        && let ExprKind::Var(counter) = n.kind
        && **one == b::int(1)
    {
        return Some(counter);
    }
    None
}

/// `n += 1`
fn counts_one(stmt: &Stmt, counter: VarId) -> bool {
    if let Stmt::Assign { var, op, value } = stmt {
        let by_one = match op {
            Some(op) => *op == ReduceOp::Add && *value == b::int(1),
            None => one_before(value) == Some(counter),
        };
        return *var == counter && by_one;
    }
    false
}
