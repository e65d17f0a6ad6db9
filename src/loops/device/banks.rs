//! Tiles in shared memory that threads read by columns get a gap behind each row.
//!
//! Shared memory has 32 banks of four bytes; of threads whose elements lie a multiple of 32
//! bytes apart at most four find a bank of their own, the others wait. With rows one element
//! longer they do not (002, A.4.1 has `shared_B[32][33]`).

use super::Definitions;
use super::shape::Shape;
use super::subscripts::{Dim, Scan, of_block, start, uses};
use crate::loops::build as b;
use crate::loops::ir::{ArrayId, Axis, Expr, ExprKind, Kernel, ScalarType, Stmt};
use crate::loops::visit;

/// Elements these bytes apart, or a multiple, share few banks.
const APART: i64 = 32;

/// Bytes of shared memory that a padded tile may take.
const MOST: i64 = 24 * 1024;

/// Lengthens the rows of such tiles of the launch's block.
pub(super) fn pad(kernel: &Kernel, shape: &Shape, known: &Definitions, body: &mut [Stmt]) {
    for array in of_block(body) {
        let Some(uses) = uses(shape, known, array, body) else {
            continue;
        };
        let size = kernel.array(array).elem.size() as i64;
        let Some(row) = row(&uses, size) else {
            continue;
        };
        if !fits(body, (array, row), size) {
            continue;
        }
        let mut scan = Scan::new(shape, known, array);
        lengthen(body, &mut scan, row);
    }
}

/// The length of the rows, in elements, whose columns threads along x access.
fn row(uses: &[Vec<Dim>], size: i64) -> Option<i64> {
    let columns = |dim: &&Dim| {
        dim.axis == Some(Axis::X) && dim.extent > 1 && dim.stride.saturating_mul(size) % APART == 0
    };
    let row = uses
        .iter()
        .flatten()
        .filter(columns)
        .map(|dim| dim.stride)
        .min()?;
    let rows_apart = uses.iter().all(|dims| {
        let within = dims.iter().filter(|dim| dim.stride < row);
        let last: i64 = within
            .map(|dim| dim.stride.saturating_mul(dim.extent - 1))
            .fold(0, i64::saturating_add);
        last < row
            && dims
                .iter()
                .all(|dim| dim.stride < row || dim.stride % row == 0)
    });
    rows_apart.then_some(row)
}

/// Whether the padded tile is small enough, and no statement sets all of it at once.
fn fits(body: &[Stmt], (array, row): (ArrayId, i64), size: i64) -> bool {
    let mut good = true;
    if start(body, array).is_some() {
        return false;
    }
    visit::stmts(body, &mut |stmt| {
        for inner in visit::bodies(stmt) {
            good &= start(inner, array).is_none();
        }
        if let Stmt::Declare { array: a, count } = stmt
            && *a == array
        {
            good &= padded(*count, row).saturating_mul(size) <= MOST;
        }
    });
    good
}

fn padded(count: u64, row: i64) -> i64 {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    count.saturating_add(count / row)
}

/// Makes the rows of the tile one element longer.
fn lengthen(body: &mut [Stmt], scan: &mut Scan, row: i64) {
    for stmt in body {
        let entered = scan.enter(stmt);
        for inner in visit::bodies_mut(stmt) {
            lengthen(inner, scan, row);
        }
        if entered {
            scan.leave();
        }
        for e in visit::own_exprs_mut(stmt) {
            visit::replace_expr(e, &mut |node| {
                let ExprKind::Load { array, index } = &node.kind else {
                    return None;
                };
                (*array == scan.array).then_some(())?;
                Some(Expr {
                    kind: ExprKind::Load {
                        array: *array,
                        index: Box::new(lengthened(scan, index, row)?),
                    },
                    ty: node.ty,
                })
            });
        }
        if let Stmt::Store { array, index, .. } = stmt
            && *array == scan.array
            && let Some(longer) = lengthened(scan, index, row)
        {
            *index = longer;
        }
        if let Stmt::Declare { array, count } = stmt
            && *array == scan.array
        {
            *count = u64::try_from(padded(*count, row)).unwrap_or(u64::MAX);
        }
    }
}

fn lengthened(scan: &Scan, index: &Expr, row: i64) -> Option<Expr> {
    let dims = scan.dims(index)?;
    let (rows, within): (Vec<Dim>, Vec<Dim>) =
        dims.into_iter().rev().partition(|dim| dim.stride >= row);
    let sum = |dims: &[Dim], unit: i64| {
        let terms = dims
            .iter()
            .map(|dim| b::mul(b::var(dim.var, ScalarType::I64), b::int(dim.stride / unit)));
        terms.reduce(b::add).unwrap_or_else(|| b::int(0))
    };
    Some(b::add(
        b::mul(sum(&rows, row), b::int(row + 1)),
        sum(&within, 1),
    ))
}
