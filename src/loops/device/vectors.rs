//! Which arrays are accessed in consecutive elements that vector loads can take together.
//!
//! nvcc joins the loads of an unrolled loop into one of 8 or 16 bytes where it can prove that
//! the first element begins at such a multiple. The subscripts tell it about elements; about
//! the array itself only a promise can.

use super::Definitions;
use super::inlined;
use super::ir::Device;
use crate::loops::build as b;
use crate::loops::ir::{ArrayId, Expr, ExprKind, Kernel, Literal, Stmt, Storage, VarId};
use crate::loops::linear::Linear;
use crate::loops::visit;
use std::collections::BTreeMap;

/// Bytes that a thread loads at once at most.
const WIDEST: i64 = 16;

/// Begins the launch's body with the promises that its unrolled loops can use.
pub(super) fn promise(kernel: &Kernel, known: &Definitions, body: &mut Vec<Stmt>) {
    let mut found: BTreeMap<ArrayId, u32> = BTreeMap::new();
    visit::stmts(body, &mut |stmt| {
        let Stmt::For {
            var,
            lo,
            hi,
            most: _,
            step: 1,
            tag,
            body,
        } = stmt
        else {
            return;
        };
        let (Some(_), ExprKind::Literal(Literal::Int(count))) = (tag.unroll, &hi.kind) else {
            return;
        };
        if *lo != b::int(0) {
            return;
        }
        let mut note = |array: ArrayId, index: &Expr| {
            let global = match kernel.array(array).storage {
                Storage::Input | Storage::Output => true,
                Storage::Returned | Storage::Local | Storage::Shared => false,
            };
            let size = kernel.array(array).elem.size() as i64;
            let width = width(&inlined(index, known), *var, *count, size);
            if let (true, Some(bytes)) = (global, width) {
                let most = found.entry(array).or_default();
                *most = bytes.max(*most);
            }
        };
        // What stands behind a condition is not done together.
        for stmt in body {
            if let Stmt::Store { array, index, .. } = stmt {
                note(*array, index);
            }
            if visit::bodies(stmt).is_empty() {
                visit::own_exprs(stmt, &mut |e| {
                    visit::expr(e, &mut |node| {
                        if let ExprKind::Load { array, index } = &node.kind {
                            note(*array, index);
                        }
                    });
                });
            }
        }
    });
    let promises = found
        .into_iter()
        .map(|(array, bytes)| Stmt::Device(Device::Aligned { array, bytes }));
    body.splice(0..0, promises);
}

/// The bytes that `count` accesses at `index`, for each value of `var`, take together.
fn width(index: &Expr, var: VarId, count: i64, size: i64) -> Option<u32> {
    let (factor, rest) = Linear::of(index)?.split(var)?;
    let rest = Linear::of(&rest)?;
    let fits = |n: &i64| count % n == 0 && rest.is_multiple_of(*n);
    let elements = [4, 2].into_iter().find(|n| n * size <= WIDEST && fits(n))?;
    (factor == 1).then(|| u32::try_from(elements * size).ok())?
}
