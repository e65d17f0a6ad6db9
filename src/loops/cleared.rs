//! Arrays that begin with zero and are set element by element need not be cleared.
//!
//! before: `alloc pos[N + 1] zeroed; ... for i in 0..N: ..., pos[i + 1] = count`
//! after:  `alloc pos[N + 1]; pos[0] = 0; ... for i in 0..N: ..., pos[i + 1] = count`

use super::build as b;
use super::ir::{ArrayId, Expr, ExprKind, Kernel, Literal, ScalarType, Stmt, VarId};
use super::visit;

/// Clears no array of which a loop sets all elements but the first before anything else comes to them.
#[must_use]
pub fn set_first(mut kernel: Kernel) -> Kernel {
    let mut body = std::mem::take(&mut kernel.body);
    in_body(&kernel, &mut body);
    kernel.body = body;
    kernel
}

/// Behind a body that is one of several nothing comes to the arrays that it makes.
fn in_body(kernel: &Kernel, body: &mut Vec<Stmt>) {
    let mut at = 0;
    while let Some(stmt) = body.get_mut(at) {
        at += 1;
        if let Stmt::If {
            then, otherwise, ..
        } = stmt
        {
            in_body(kernel, then);
            in_body(kernel, otherwise);
            continue;
        }
        let Stmt::Alloc {
            array,
            count,
            zeroed: true,
        } = stmt
        else {
            continue;
        };
        let (array, count) = (*array, count.clone());
        if !is_set_by(&body[at..], array, &count).unwrap_or(false) {
            continue;
        }
        let elem = kernel.array(array).elem;
        body[at - 1] = Stmt::Alloc {
            array,
            count,
            zeroed: false,
        };
        let first = b::store(array, b::int(0), b::literal(Literal::Int(0), elem));
        body.insert(at, first);
    }
}

/// Whether the first statement that comes to the array is such a loop; `None` if none does.
fn is_set_by(body: &[Stmt], array: ArrayId, count: &Expr) -> Option<bool> {
    body.iter().find_map(|stmt| {
        if !comes_to(stmt, array) {
            return None;
        }
        if let Stmt::Append { rooms, body } = stmt
            && rooms.iter().all(|room| !room.arrays.contains(&array))
        {
            return is_set_by(body, array, count);
        }
        Some(sets(stmt, array, count))
    })
}

fn comes_to(stmt: &Stmt, array: ArrayId) -> bool {
    visit::any(std::slice::from_ref(stmt), &|inner| {
        visit::arrays(inner).contains(&array)
    })
}

/// Whether this is a loop over all but the first element, which sets one in each iteration and at most reads the one
/// before it.
fn sets(stmt: &Stmt, array: ArrayId, count: &Expr) -> bool {
    let Stmt::For {
        var,
        lo,
        hi,
        step: 1,
        tag,
        body,
        ..
    } = stmt
    else {
        return false;
    };
    let at = b::var(*var, ScalarType::I64);
    let next = b::add(at.clone(), b::int(1));
    let whole = b::as_int(lo) == Some(0) && b::add(hi.clone(), b::int(1)) == *count;
    let is_store = |stmt: &Stmt| {
        matches!(stmt, Stmt::Store { array: own, index, op: None, value, .. }
            if *own == array && *index == next && !loads(value, array))
    };
    let others = || body.iter().filter(|stmt| !is_store(stmt));
    whole
        && body.iter().filter(|stmt| is_store(stmt)).count() == 1
        && others()
            .all(|stmt| !comes_to(stmt, array) || (tag.is_serial() && reads_own(stmt, array, *var)))
}

fn loads(e: &Expr, array: ArrayId) -> bool {
    e.any(|node| matches!(node.kind, ExprKind::Load { array: own, .. } if own == array))
}

/// Whether a statement comes to the array only to read the element of the variable.
fn reads_own(stmt: &Stmt, array: ArrayId, var: VarId) -> bool {
    let mut only = true;
    visit::stmts(std::slice::from_ref(stmt), &mut |inner| {
        let mut named = visit::arrays(inner)
            .iter()
            .filter(|own| **own == array)
            .count();
        visit::own_exprs(inner, &mut |e| {
            visit::expr(e, &mut |node| {
                if let ExprKind::Load { array: own, index } = &node.kind
                    && *own == array
                {
                    named -= 1;
                    only &= index.kind == ExprKind::Var(var);
                }
            });
        });
        only &= named == 0;
    });
    only
}
