//! Workspaces of a block of which each thread uses only elements of its own: they become
//! the thread's, in registers where the loops over them are unrolled (002, 5.5: private
//! memory).
//!
//! before: `__shared__ float sums[1024]; ... sums[(ty * 4 + r) * 64 + c * 16 + tx] += x`
//! after:  `float sums[16]; ... sums[r * 4 + c] += x`

use super::Definitions;
use super::shape::Shape;
use super::subscripts::{Dim, Scan, of_block, start, uses};
use crate::loops::build as b;
use crate::loops::effects::{Facts, Homes, Who, meet, touches};
use crate::loops::ir::{
    ArrayId, BinaryOp, Expr, ExprKind, Kernel, Literal, LoopTag, ReduceOp, ScalarType, Stmt,
    Storage, VarId,
};
use crate::loops::trips::{Bounds, Trips};
use crate::loops::{linear, visit};
use std::collections::BTreeSet;

/// Bytes of registers that a thread may spend on one workspace.
const MOST_REGISTERS: i64 = 512;

/// Moves workspaces of the launch's block to its threads where each uses its own elements.
/// Returns the arrays among them, of which each thread has one now.
pub(super) fn privatise(
    kernel: &mut Kernel,
    shape: &Shape,
    known: &Definitions,
    body: &mut Vec<Stmt>,
) -> BTreeSet<ArrayId> {
    let mut own_arrays = BTreeSet::new();
    if shape.total() == 1 || shape.warps.is_some() {
        return own_arrays;
    }
    for array in of_block(body) {
        let Some(uses) = uses(shape, known, array, body) else {
            continue;
        };
        if !is_own(kernel, (shape, known), array, body) {
            continue;
        }
        let Some(layout) = layout(&uses) else {
            continue;
        };
        let count: i64 = layout.iter().map(|(extent, _)| extent).product();
        let elem = kernel.array(array).elem;
        if count.saturating_mul(elem.size() as i64) > MOST_REGISTERS {
            continue;
        }
        let mut rewrite = Rewrite {
            scan: Scan::new(shape, known, array),
            layout: &layout,
            scalar: None,
        };
        if count == 1 && elem.compute() == elem {
            let name = kernel.array(array).name.clone();
            let name = name.strip_suffix("_vals").unwrap_or(&name);
            rewrite.scalar = Some(kernel.fresh_var(name, elem, true));
        }
        rewrite.list(body);
        let own = uses.iter().flatten().filter(|dim| dim.axis.is_none());
        let own: Vec<(VarId, i64)> = own.map(|dim| (dim.var, dim.extent)).collect();
        unroll_fully(body, &mut Scan::new(shape, known, array), &own);
        let scalar = rewrite.scalar;
        declare(kernel, body, (array, count), scalar);
        if scalar.is_none() {
            own_arrays.insert(array);
        }
    }
    own_arrays
}

/// Declares the thread's own elements in the place of the block's, with what they are set
/// to first; a single one as the variable `scalar`.
fn declare(
    kernel: &mut Kernel,
    body: &mut Vec<Stmt>,
    (array, count): (ArrayId, i64),
    scalar: Option<VarId>,
) {
    for stmt in body.iter_mut() {
        for inner in visit::bodies_mut(stmt) {
            declare(kernel, inner, (array, count), scalar);
        }
    }
    let here = |s: &Stmt| matches!(s, Stmt::Declare { array: a, .. } if *a == array);
    let Some(at) = body.iter().position(here) else {
        return;
    };
    let first = start(body, array).map(|(_, value)| value);
    if let Some(var) = scalar {
        let ty = kernel.var(var).ty;
        let neutral = || b::literal(ReduceOp::Add.neutral(ty), ty);
        let init = first.clone().unwrap_or_else(neutral);
        body[at] = b::bind(var, init);
        if first.is_some() {
            body.remove(at + 1);
        }
        return;
    }
    body[at] = Stmt::Declare {
        array,
        count: u64::try_from(count).unwrap_or(u64::MAX),
    };
    if let Some(value) = first {
        let e = kernel.fresh_var("e", ScalarType::I64, false);
        let store = b::store(array, b::var(e, ScalarType::I64), value);
        let tag = LoopTag::unrolled(u32::try_from(count).ok());
        body[at + 1] = Bounds::of(b::int(0), b::int(count)).each(e, tag, vec![store]);
    }
}

/// Whether no thread comes to an element of the workspace that another one comes to, but to
/// start with: what is set to one value for all elements is set by each for its own.
fn is_own(
    kernel: &Kernel,
    (shape, known): (&Shape, &Definitions),
    array: ArrayId,
    body: &[Stmt],
) -> bool {
    let mut later = body.to_vec();
    without_start(&mut later, array);
    let mut touches = touches(&later, &[], &mut Homes::default(), known);
    touches.retain(|touch| touch.array == array);
    let facts = Facts {
        // It may be another iteration of loops around.
        same: &|_| false,
        fixed: &|a| kernel.array(a).storage == Storage::Input,
        together: 0,
    };
    let who = Who::Thread(shape.all_threads());
    touches
        .iter()
        .all(|a| touches.iter().all(|b| !meet(a, b, &who, facts)))
}

fn without_start(body: &mut Vec<Stmt>, array: ArrayId) {
    if let Some((at, _)) = start(body, array) {
        body.remove(at);
    }
    for inner in body.iter_mut().flat_map(visit::bodies_mut) {
        without_start(inner, array);
    }
}

/// Extents and strides of the part of one thread, where all accesses take the elements
/// apart alike: digits of a mixed radix, some of which are the thread.
fn layout(uses: &[Vec<Dim>]) -> Option<Vec<(i64, i64)>> {
    let first = uses.first()?;
    let same = |other: &Vec<Dim>| {
        other.len() == first.len()
            && other
                .iter()
                .zip(first)
                .all(|(x, y)| (x.stride, x.extent, x.axis) == (y.stride, y.extent, y.axis))
    };
    let mut below = 1;
    for dim in first {
        (dim.stride >= below).then_some(())?;
        below = dim.stride.checked_mul(dim.extent)?;
    }
    // A thread with several iterations has several of each element.
    let single = first.iter().all(|dim| dim.single);
    (single && uses.iter().all(same)).then_some(())?;
    let mut next = 1;
    let own = first.iter().filter(|dim| dim.axis.is_none());
    Some(
        own.map(|dim| {
            let stride = next;
            next *= dim.extent;
            (dim.extent, stride)
        })
        .collect(),
    )
}

/// Iterations of a loop over registers: more are left rolled, in memory of the thread.
const MOST_UNROLLED: i64 = 16;

/// Gives loops over elements in registers a constant number of iterations, each behind a
/// test: an unrolled loop names each register, one that ends early would have to index them.
fn unroll_fully(body: &mut [Stmt], scan: &mut Scan, vars: &[(VarId, i64)]) {
    for stmt in body {
        let entered = scan.enter(stmt);
        for inner in visit::bodies_mut(stmt) {
            unroll_fully(inner, scan, vars);
        }
        if entered {
            scan.leave();
        }
        if !scan.of_thread() {
            continue;
        }
        let Stmt::For {
            var,
            lo,
            hi,
            most,
            tag,
            body,
            ..
        } = stmt
        else {
            continue;
        };
        let known = vars.iter().find(|(v, _)| v == var);
        let (Some((_, extent)), None, true) = (known, tag.gpu(), *lo == b::int(0)) else {
            continue;
        };
        if *extent > MOST_UNROLLED {
            continue;
        }
        let whole = b::int(*extent);
        if *hi != whole {
            let cond = below(&b::var(*var, ScalarType::I64), hi, *extent);
            *body = vec![b::if_then(cond, std::mem::take(body))];
            *hi = whole;
            *most = Some(*extent);
        }
        *tag = LoopTag::unrolled(u32::try_from(*extent).ok());
    }
}

/// `value < hi`, where `value < extent` holds, without a division.
fn below(value: &Expr, hi: &Expr, extent: i64) -> Expr {
    let trips = Trips::of(&b::int(0), hi);
    let short = trips.most.is_some_and(|most| most < extent);
    let rest = trips.rest().filter(|_| !short);
    let hi = rest.as_ref().unwrap_or(hi);
    // v < floor(x / n) if and only if n v < x - (n - 1)
    if let ExprKind::Binary(BinaryOp::FloorDiv, x, y) = &hi.kind
        && let ExprKind::Literal(Literal::Int(n)) = y.kind
        && n > 0
    {
        let scaled = b::mul(value.clone(), b::int(n));
        return b::lt(scaled, linear::sub(x, &b::int(n - 1)));
    }
    b::lt(value.clone(), hi.clone())
}

struct Rewrite<'a> {
    scan: Scan<'a>,
    layout: &'a [(i64, i64)],
    /// In the place of a single element.
    scalar: Option<VarId>,
}

impl Rewrite<'_> {
    fn index(&self, index: &Expr) -> Option<Expr> {
        let dims = self.scan.dims(index)?;
        let own = dims.iter().filter(|dim| dim.axis.is_none());
        let terms = own
            .zip(self.layout)
            .map(|(dim, (_, stride))| b::mul(b::var(dim.var, ScalarType::I64), b::int(*stride)));
        // Outer loops first, as subscripts are written.
        Some(
            terms
                .collect::<Vec<Expr>>()
                .into_iter()
                .rev()
                .reduce(b::add)
                .unwrap_or_else(|| b::int(0)),
        )
    }

    fn list(&mut self, body: &mut [Stmt]) {
        let first = start(body, self.scan.array).map(|(at, _)| at);
        for (at, stmt) in body.iter_mut().enumerate() {
            if Some(at) != first {
                self.stmt(stmt);
            }
        }
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        let entered = self.scan.enter(stmt);
        for inner in visit::bodies_mut(stmt) {
            self.list(inner);
        }
        if entered {
            self.scan.leave();
        }
        for e in visit::own_exprs_mut(stmt) {
            visit::replace_expr(e, &mut |node| {
                let ExprKind::Load { array, index } = &node.kind else {
                    return None;
                };
                (*array == self.scan.array).then_some(())?;
                Some(match self.scalar {
                    Some(var) => b::var(var, node.ty),
                    None => Expr {
                        kind: ExprKind::Load {
                            array: *array,
                            index: Box::new(self.index(index)?),
                        },
                        ty: node.ty,
                    },
                })
            });
        }
        if let Stmt::Store {
            array,
            index,
            op,
            value,
            ..
        } = stmt
            && *array == self.scan.array
        {
            if let Some(var) = self.scalar {
                *stmt = Stmt::Assign {
                    var,
                    op: *op,
                    value: value.clone(),
                };
            } else if let Some(own) = self.index(index) {
                *index = own;
            }
        }
    }
}
