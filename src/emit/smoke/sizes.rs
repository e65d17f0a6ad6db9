//! How large the smoke test's data are: as large as the checks of a function ask, and no larger than
//! memory and patience allow.

use crate::loops::build as b;
use crate::loops::interface::{Arg, TensorArg};
use crate::loops::ir::{Expr, ExprKind, Kernel};
use crate::loops::visit::replace_expr;

/// What `make test` and `make bench` take for every size.
const USUAL: [i64; 2] = [24, 2000];

/// Elements that one tensor may have all of.
const MOST_ELEMENTS: i64 = 1 << 26;

/// Iterations of dense loops, a second or so of each round.
const MOST_ITERATIONS: i64 = 1 << 33;

/// Bounds of `n`, from which all sizes are made: the least one that the function's checks take and the largest one
/// that it should run with, where they are not met by what makefiles give.
pub(super) fn bounds(kernel: &Kernel) -> (Option<i64>, Option<i64>) {
    let [test, bench] = USUAL;
    let least = (1..=2 * bench).find(|&n| is_taken(kernel, n));
    let most = (1..=bench).rev().find(|&n| is_moderate(kernel, n));
    (
        least.filter(|&least| least > test),
        most.filter(|&most| most < bench),
    )
}

fn is_taken(kernel: &Kernel, n: i64) -> bool {
    kernel.interface.requirements.iter().all(|requirement| {
        let is_empty = |(lo, hi): &(Expr, Expr)| value(kernel, lo, n) >= value(kernel, hi, n);
        value(kernel, &requirement.slack, n) >= 0 || requirement.ranges.iter().any(is_empty)
    })
}

fn is_moderate(kernel: &Kernel, n: i64) -> bool {
    let tensors = kernel.interface.args.iter().filter_map(|arg| match arg {
        Arg::Tensor(tensor) => Some(tensor),
        Arg::Scalar { .. } => None,
    });
    let is_dense = |tensor: &TensorArg| tensor.levels.iter().all(|own| own.level.is_full());
    let all_dense = tensors.clone().all(is_dense);
    let mut elements = tensors.map(|tensor| {
        let full = tensor.levels.iter().take_while(|own| own.level.is_full());
        product(full.map(|own| value(kernel, &own.extent(&tensor.dims), n)))
    });
    let sizes = kernel.interface.sizes.iter();
    let sizes = sizes.map(|size| {
        size.fixed
            .map_or(n, |fixed| i64::try_from(fixed).unwrap_or(n))
    });
    elements.all(|count| count <= MOST_ELEMENTS)
        && (!all_dense || product(sizes) <= MOST_ITERATIONS)
}

fn product(factors: impl Iterator<Item = i64>) -> i64 {
    factors.fold(1, |all, one| all.saturating_mul(one.max(1)))
}

/// What an extent is where every size that is not fixed is `n`, and every scalar parameter 1.
fn value(kernel: &Kernel, e: &Expr, n: i64) -> i64 {
    let mut e = e.clone();
    replace_expr(&mut e, &mut |part| {
        if let ExprKind::Var(v) = &part.kind {
            let size = kernel.interface.sizes.iter().find(|size| size.var == *v);
            let fixed = size.and_then(|size| size.fixed);
            Some(b::int(
                fixed.map_or(n, |own| i64::try_from(own).unwrap_or(n)),
            ))
        } else if let ExprKind::Cast(_) | ExprKind::Load { .. } = &part.kind {
            Some(b::int(1))
        } else {
            None
        }
    });
    b::fold(&mut e);
    b::as_int(&e).unwrap_or(1)
}
