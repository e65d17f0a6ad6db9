//! Sizes that have a value become numbers wherever a finished function counts with them, so that
//! whatever follows from extents follows from these. Meaning is found before, with names: equal
//! values do not tell that sizes are meant to be equal.

use super::ir::{Bound, Expr, ExprKind, Function, SizeExpr, SizeId, TensorId};
use super::ranges::size;

/// Puts the values of the function's sizes in their places.
pub(super) fn fix(function: &mut Function) {
    let values: Vec<Option<i64>> = function.sizes.iter().map(|size| size.constant()).collect();
    if values.iter().all(Option::is_none) {
        return;
    }
    let value = |id: SizeId| {
        let value = values.get(id.index()).copied().flatten();
        value.map_or(SizeExpr::Size(id), SizeExpr::Const)
    };
    for (at, tensor) in function.tensors.iter().enumerate() {
        let id = TensorId::at(at);
        for (mode, dim) in tensor.dims.iter().enumerate() {
            if let SizeExpr::Size(size) = dim
                && value(*size) != *dim
            {
                function.fixed_dims.push((id, mode, *size));
            }
        }
    }
    let fix = |e: &mut SizeExpr| *e = size::simplify(&e.with_sizes(&value));
    let inside = |e: &mut Expr| {
        e.walk_mut(&mut |e| {
            if let ExprKind::Size(extent) = &mut e.kind {
                fix(extent);
            }
        });
    };
    let dims = function.tensors.iter_mut();
    dims.flat_map(|tensor| &mut tensor.dims).for_each(fix);
    for var in &mut function.vars {
        for bound in [&mut var.range.lo, &mut var.range.hi] {
            match bound {
                Bound::Static(extent) => fix(extent),
                Bound::Dynamic(e) => inside(e),
            }
        }
    }
    let sides = function.stmts.iter_mut();
    sides.for_each(|stmt| inside(&mut stmt.rhs));
    for requirement in &mut function.requirements {
        fix(&mut requirement.slack);
    }
    let holds = |slack: &SizeExpr| matches!(slack, SizeExpr::Const(slack) if *slack >= 0);
    function.requirements.retain(|one| !holds(&one.slack));
}
