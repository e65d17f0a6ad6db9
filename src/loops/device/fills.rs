//! Launches that set the elements of an array, a thread for each.

use crate::loops::build as b;
use crate::loops::device::ir::Device;
use crate::loops::ir::{Axis, Expr, ExprKind, Kernel, Place, ScalarType, Stmt};

/// Threads of a block where the number is free.
const THREADS: u32 = 256;

/// The number of the thread in the whole launch, in 64 bits: CUDA's own are of 32.
fn global_index(kernel: &mut Kernel) -> (Stmt, Expr) {
    let var = kernel.fresh_var("block", ScalarType::I64, false);
    let declared = b::bind(var, b::place(Place::BlockIndex(Axis::X)));
    let index = b::add(
        b::mul(b::var(var, ScalarType::I64), b::int(i64::from(THREADS))),
        b::place(Place::ThreadIndex(Axis::X)),
    );
    (declared, index)
}

/// A loop of independent iterations by as many threads.
pub(super) fn each(kernel: &mut Kernel, stmt: Stmt) -> Option<Stmt> {
    let Stmt::For {
        var, lo, hi, body, ..
    } = stmt
    else {
        return None;
    };
    let (block, index) = global_index(kernel);
    let count = crate::loops::linear::sub(&hi, &lo);
    Some(Stmt::Device(Device::Launch {
        grid: [b::ceil_div(count, i64::from(THREADS)), b::int(1), b::int(1)],
        block: [THREADS, 1, 1],
        body: vec![
            block,
            b::bind(var, b::add(lo, index)),
            b::if_then(b::lt(b::var(var, ScalarType::I64), hi), body),
        ],
    }))
}

/// `array[start .. start + count] = value` by as many threads as elements.
pub(super) fn fill(kernel: &mut Kernel, stmt: Stmt) -> Option<Stmt> {
    let Stmt::Fill {
        array,
        start,
        count,
        value,
    } = stmt
    else {
        return None;
    };
    let zero = matches!(value.kind, ExprKind::Literal(l) if l.is_zero());
    if zero {
        // The runtime clears memory.
        return Some(Stmt::Fill {
            array,
            start,
            count,
            value,
        });
    }
    let at = kernel.fresh_var("e", ScalarType::I64, false);
    let e = b::var(at, ScalarType::I64);
    let (block, index) = global_index(kernel);
    Some(Stmt::Device(Device::Launch {
        grid: [
            b::ceil_div(count.clone(), i64::from(THREADS)),
            b::int(1),
            b::int(1),
        ],
        block: [THREADS, 1, 1],
        body: vec![
            block,
            b::bind(at, index),
            b::if_then(
                b::lt(e.clone(), count),
                vec![b::store(array, b::add(start, e), value)],
            ),
        ],
    }))
}
