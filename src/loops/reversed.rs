//! Sums that gcc 11 and 12 get wrong.
//!
//! They add up `sum += x * a[c * 2 + 1 - d]` for `d` in `0..2`, unrolled, in vectors of which
//! each is reversed, and add some elements twice and others never (without
//! `-fassociative-math`, on x86-64 from `-O2`; gcc 13 and clang are right). Loops that may
//! become so are marked: the runtime header keeps those compilers from making vectors of them.

use super::device::{Definitions, definitions, inlined};
use super::ir::{Expr, ExprKind, Kernel, Stmt, VarId};
use super::linear::Linear;
use super::visit;

/// gcc unrolls loops of so many iterations wholly on its own.
const UNROLLED: i64 = 16;

/// Marks the loops whose own statements add up elements in falling order.
#[must_use]
pub fn mark_reversed(mut kernel: Kernel) -> Kernel {
    let known = definitions(&kernel.body, &|v| kernel.var(v).mutable);
    let mut body = std::mem::take(&mut kernel.body);
    list(&kernel, &known, &mut Vec::new(), &mut body);
    kernel.body = body;
    kernel
}

/// `unrolled` are the loops around that may be unrolled wholly. Whether one of the statements
/// sums in falling order, those in loops of their own apart.
fn list(
    kernel: &Kernel,
    known: &Definitions,
    unrolled: &mut Vec<VarId>,
    body: &mut [Stmt],
) -> bool {
    let mut found = false;
    for stmt in body {
        found |=
            sum(kernel, stmt).is_some_and(|value| unrolled.iter().any(|&v| falls(value, v, known)));
        if let Stmt::For {
            var,
            most,
            tag,
            body,
            ..
        } = stmt
        {
            // Lanes of a vector add up in any order.
            if tag.is_vector() {
                continue;
            }
            let short = tag.unroll.is_some() || most.is_some_and(|n| n <= UNROLLED);
            if short {
                unrolled.push(*var);
            }
            tag.reversed = list(kernel, known, unrolled, body);
            if short {
                unrolled.pop();
            }
            continue;
        }
        for inner in visit::bodies_mut(stmt) {
            found |= list(kernel, known, unrolled, inner);
        }
    }
    found
}

/// What a statement adds to a float, wherever that is.
fn sum<'a>(kernel: &Kernel, stmt: &'a Stmt) -> Option<&'a Expr> {
    let (ty, op, value) = if let Stmt::Assign { var, op, value } = stmt {
        (kernel.var(*var).ty, op, value)
    } else if let Stmt::Store {
        array, op, value, ..
    } = stmt
    {
        (kernel.array(*array).elem, op, value)
    } else {
        return None;
    };
    op.as_ref()?;
    (ty.is_float() || ty.is_complex()).then_some(value)
}

/// Whether the expression loads elements that come before one another as `var` rises.
fn falls(e: &Expr, var: VarId, known: &Definitions) -> bool {
    let mut found = false;
    visit::expr(&inlined(e, known), &mut |node| {
        if let ExprKind::Load { index, .. } = &node.kind {
            let stride = Linear::of(index).and_then(|sum| sum.split(var));
            found |= stride.is_some_and(|(factor, _)| factor < 0);
        }
    });
    found
}
