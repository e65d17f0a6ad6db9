//! Scans where one thread runs them: a loop over the elements.
//!
//! before: `scan pos[N] by + to count`
//! after:  `count = 0; for k in 0..N: count += pos[k + 1], pos[k + 1] = count`

use super::build as b;
use super::ir::{ArrayId, Expr, Kernel, LoopTag, ReduceOp, ScalarType, Stmt, VarId};
use super::trips::Bounds;
use super::visit;

/// Writes scans as loops.
#[must_use]
pub fn scan_in_loops(mut kernel: Kernel) -> Kernel {
    let mut body = std::mem::take(&mut kernel.body);
    in_loops(&mut kernel, &mut body);
    kernel.body = body;
    kernel
}

/// Writes the scans among the statements as loops.
pub(super) fn in_loops(kernel: &mut Kernel, body: &mut Vec<Stmt>) {
    for mut stmt in std::mem::take(body) {
        for inner in visit::bodies_mut(&mut stmt) {
            in_loops(kernel, inner);
        }
        if let Stmt::Scan {
            array,
            count,
            op,
            total,
        } = stmt
        {
            let adds = op != ReduceOp::Max;
            let total = total.or_else(|| adds.then(|| fresh(kernel, "total", true)));
            body.extend(scanned(kernel, (array, count), total));
        } else {
            body.push(stmt);
        }
    }
}

/// The loop over the elements, which adds up in `total`, or carries the largest on.
fn scanned(
    kernel: &mut Kernel,
    (array, count): (ArrayId, Expr),
    total: Option<VarId>,
) -> Vec<Stmt> {
    let elem = kernel.array(array).elem;
    let k = fresh(kernel, "k", false);
    let at = b::var(k, ScalarType::I64);
    let next = b::add(at.clone(), b::int(1));
    let load = |index| b::load(array, elem, index);
    let store = |index, value| b::store(array, index, value);
    let all = Bounds::of(b::int(0), count);
    let Some(total) = total else {
        let larger = b::if_then(
            b::lt(load(next.clone()), load(at.clone())),
            vec![store(next, load(at))],
        );
        return vec![all.each(k, LoopTag::default(), vec![larger])];
    };
    let zero = b::bind(total, b::int(0));
    let added = b::update(
        total,
        ReduceOp::Add,
        b::cast(ScalarType::I64, load(next.clone())),
    );
    let sum = b::cast(elem, b::var(total, ScalarType::I64));
    vec![
        zero,
        all.each(k, LoopTag::default(), vec![added, store(next, sum)]),
    ]
}

fn fresh(kernel: &mut Kernel, name: &str, mutable: bool) -> VarId {
    kernel.fresh_var(name, ScalarType::I64, mutable)
}
