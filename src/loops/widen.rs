//! Vector loops over workspaces of constant size take several iterations at a time, as
//! values of a vector type.
//!
//! before: `simd for j in 0 .. 16: w[j] += x[p] * B[k * N + j]`
//! after:  `for j in 0 .. 16, 8 at a time: w[j .. j+8] += x[p] * B[k * N + j ..]`
//!
//! A sum over any number of iterations is taken in vectors as far as they are full, and
//! element by element behind:
//!
//! before: `simd for p in lo .. hi: sum += A[p] * x[crd[p]]`
//! after:  `for p in lo .. full, 4 at a time: ...; for p in full .. hi: ...`
//!
//! A sum of the loop becomes one for each lane, which are added up behind it. Elements that
//! coordinates name are loaded one by one; where fewer than a vector's are left, each lane of
//! such a sum tests whether it has one. (The processor's own gathers and masked loads are
//! slower: 0.9 and 0.6 of the plain loop for SpMV where this is 1.4.)
//!
//! gcc keeps an array that a vectorised loop indexes in memory; accessed in whole vectors by
//! unrolled loops it becomes registers. MTTKRP of order 4 with three such workspaces gains a
//! factor of two by it (`BENCHMARKS.md`).

use super::build as b;
use super::copy::{copied, end_of_full};
use super::device::inlined;
use super::ir::{
    ArrayId, BinaryOp, Expr, ExprKind, Func, Kernel, Literal, LoopTag, ReduceOp, Run, ScalarType,
    Stmt, UnaryOp, VarId,
};
use super::lanes::Lanes;
use super::trips::{Bounds, Trips};
use super::visit;
use std::collections::{BTreeMap, BTreeSet};

/// The arrays of constant size, and how many elements they have.
type Rooms = BTreeMap<ArrayId, u64>;

/// Bytes of the widest vectors; processors with narrower ones take several.
const WIDEST: i64 = 64;
/// Bytes of the narrowest that are worth it.
const NARROWEST: i64 = 16;

/// Bytes of the vectors of a loop with any number of iterations: wider ones leave more of a
/// short row to the elements behind.
const OPEN: usize = 32;

/// Marks the loops that can run so.
#[must_use]
pub fn widen(mut kernel: Kernel) -> Kernel {
    let fixed = visit::rooms(&kernel.body);
    let mut body = std::mem::take(&mut kernel.body);
    list(&mut kernel, &fixed, &mut body);
    kernel.body = body;
    kernel
}

fn list(kernel: &mut Kernel, fixed: &Rooms, body: &mut Vec<Stmt>) {
    let mut at = 0;
    while at < body.len() {
        if let Some(parts) = open(kernel, &body[at]) {
            let count = parts.len();
            body.splice(at..=at, parts);
            at += count;
            continue;
        }
        let stmt = &mut body[at];
        at += 1;
        if let Stmt::For {
            var,
            lo,
            hi,
            most,
            step: 1,
            tag,
            body,
        } = stmt
            && let Run::Lanes {
                count: at_once,
                reductions,
            } = &mut tag.run
        {
            let trips = Trips::of(lo, hi);
            if let Some(count) = trips.constant() {
                *at_once = lanes(kernel, Some(fixed), (*var, count, body), reductions);
                if let Some(lanes) = *at_once {
                    tag.unroll = u32::try_from(count / i64::from(lanes)).ok();
                }
            } else if let (Some(count), Some(end)) = (trips.most, trips.rest())
                && lanes(kernel, Some(fixed), (*var, count, body), reductions)
                    .is_some_and(|lanes| i64::from(lanes) == count)
                && tested(*var, &end, body, fixed)
            {
                *hi = b::add(lo.clone(), b::int(count));
                *most = Some(count);
                *at_once = u32::try_from(count).ok();
                tag.unroll = Some(1);
            }
        }
        for inner in visit::bodies_mut(stmt) {
            list(kernel, fixed, inner);
        }
    }
}

/// A sum over any number of iterations, the full vectors apart from the rest. Only sums of
/// elements that are loaded one by one: a compiler does the others by itself.
fn open(kernel: &mut Kernel, stmt: &Stmt) -> Option<[Stmt; 3]> {
    let Stmt::For {
        var,
        lo,
        hi,
        most,
        step: 1,
        tag,
        body,
    } = stmt
    else {
        return None;
    };
    let (_, sum) = tag.reductions().first()?;
    let count = i64::try_from(OPEN / kernel.var(*sum).ty.size()).ok()?;
    let plan = Lanes::of(*var, 1, body);
    let sums = body.iter().all(|s| !matches!(s, Stmt::Store { .. }));
    let fits = tag.is_vector()
        && Trips::of(lo, hi).constant().is_none()
        && sums
        && body
            .iter()
            .any(|s| matches!(s, Stmt::Assign { value, .. } if plan.scatters(value)))
        && lanes(kernel, None, (*var, count, body), tag.reductions())
            .is_some_and(|lanes| i64::from(lanes) == count);
    if !fits {
        return None;
    }
    let (id, end) = end_of_full(kernel, *var);
    let vectors = b::binary(
        BinaryOp::Div,
        b::max(b::int(0), b::sub(hi.clone(), lo.clone())),
        b::int(count),
    );
    let wide = LoopTag {
        run: Run::Lanes {
            count: u32::try_from(count).ok(),
            reductions: tag.reductions().to_vec(),
        },
        ..LoopTag::default()
    };
    let full = Bounds::of(lo.clone(), end.clone())
        .at_most(*most)
        .each(*var, wide, body.clone());
    let rest = Bounds::of(end, hi.clone()).at_most(Some(count - 1)).each(
        *var,
        LoopTag::default(),
        body.clone(),
    );
    let rest = copied(kernel, &[rest]).into_iter().next()?;
    let end = b::bind(id, b::add(lo.clone(), b::mul(vectors, b::int(count))));
    Some([end, full, rest])
}

/// Lets all lanes add to a workspace, which has room for them, those from `end` on zeros. Only sums of
/// elements that are loaded one by one: a compiler does the others in vectors with a mask.
fn tested(var: VarId, end: &Expr, body: &mut Vec<Stmt>, fixed: &Rooms) -> bool {
    let plan = Lanes::of(var, 1, body);
    let [
        before @ ..,
        Stmt::Store {
            array, op, value, ..
        },
    ] = body.as_mut_slice()
    else {
        return false;
    };
    if !fixed.contains_key(array) {
        return false;
    }
    let scattered = plan.scatters(value);
    let subscripts = before
        .iter()
        .all(|s| matches!(s, Stmt::Let { init, .. } if init.ty == ScalarType::I64));
    if *op != Some(ReduceOp::Add) || !scattered || !subscripts {
        return false;
    }
    // What is loaded only where the test holds stands behind it.
    let mut loaded = plan.known.clone();
    loaded.retain(|_, init| plan.is_wide(init));
    *value = b::select(
        b::lt(b::var(var, ScalarType::I64), end.clone()),
        inlined(value, &loaded),
        b::literal(Literal::Int(0), value.ty),
    );
    body.retain(|s| !matches!(s, Stmt::Let { var, .. } if loaded.contains_key(var)));
    true
}

/// How many iterations run at a time. Where `fixed` is given, only in a loop that uses one of
/// these arrays.
pub(super) fn lanes(
    kernel: &Kernel,
    fixed: Option<&Rooms>,
    (var, count, body): (VarId, i64, &[Stmt]),
    reductions: &[(ReduceOp, VarId)],
) -> Option<u32> {
    let plan = Lanes::of(var, 1, body);
    let mut ty = None;
    let is_fixed = |array: &ArrayId| fixed.is_some_and(|fixed| fixed.contains_key(array));
    let mut local = fixed.is_none();
    let mut stored: Vec<(ArrayId, Expr)> = Vec::new();
    let mut summed = BTreeSet::new();
    for stmt in body {
        // All lanes compute what the first ones store: nothing that only these may load.
        let stmt = match plan.stored_first(stmt) {
            Some(store @ Stmt::Store { value, .. }) if loads_whole(&plan, fixed, value) => store,
            Some(_) | None => stmt,
        };
        if let Stmt::Assign { var, op, value: e } = stmt {
            // A sum for each lane, which are added up after the loop.
            let sum = (ReduceOp::Add, *var);
            (*op == Some(sum.0) && reductions.contains(&sum)).then_some(())?;
            same(&mut ty, kernel.var(*var).ty)?;
            value(kernel, &plan, e, &mut ty)?;
            plan.is_wide(e).then_some(())?;
            summed.insert(*var);
        } else if let Stmt::Let { var, init } = stmt {
            // Only subscripts know which lane it is.
            if kernel.var(*var).ty == ScalarType::I64 {
                (!plan.is_wide(init) || told(&plan, init)).then_some(())?;
            } else {
                value(kernel, &plan, init, &mut ty)?;
            }
        } else if let Stmt::Store {
            array,
            index,
            op: None | Some(ReduceOp::Add | ReduceOp::Mul | ReduceOp::Min | ReduceOp::Max),
            value: e,
            atomic: false,
        } = stmt
        {
            (plan.stride(index)? == 1).then_some(())?;
            same(&mut ty, kernel.array(*array).elem)?;
            value(kernel, &plan, e, &mut ty)?;
            local |= is_fixed(array);
            stored.push((*array, inlined(index, &plan.known)));
        } else {
            return None;
        }
    }
    reductions
        .iter()
        .all(|(_, sum)| summed.contains(sum))
        .then_some(())?;
    // What one lane stores no other reads or stores.
    let mut apart = true;
    for stmt in body
        .iter()
        .map(|stmt| plan.stored_first(stmt).unwrap_or(stmt))
    {
        visit::own_exprs(stmt, &mut |e| {
            visit::expr(e, &mut |node| {
                apart &= !matches!(node.kind, ExprKind::Var(v) if summed.contains(&v));
                if let ExprKind::Load { array, index } = &node.kind {
                    local |= is_fixed(array);
                    let index = inlined(index, &plan.known);
                    apart &= stored.iter().all(|(a, at)| a != array || *at == index);
                }
            });
        });
    }
    apart &= stored
        .iter()
        .all(|(array, at)| stored.iter().all(|(a, other)| a != array || at == other));
    (local && apart && !(stored.is_empty() && summed.is_empty())).then_some(())?;
    u32::try_from(width(ty?, count)?).ok()
}

/// How many elements of a type the vectors have that take so many iterations, none left over.
pub(super) fn width(ty: ScalarType, count: i64) -> Option<i64> {
    let size = i64::try_from(ty.size()).ok()?;
    let widths = [WIDEST, WIDEST / 2, NARROWEST].map(|bytes| bytes / size);
    let fits = |n: &i64| *n >= 2 && count % n == 0 && count >= *n;
    widths.into_iter().find(fits)
}

/// Whether all that lanes load of an expression lies in workspaces, or is tested where it is loaded.
fn loads_whole(plan: &Lanes, fixed: Option<&Rooms>, e: &Expr) -> bool {
    if plan.first(e).is_some() {
        return true;
    }
    if let ExprKind::Load { array, index } = &e.kind {
        let own = fixed.is_some_and(|fixed| fixed.contains_key(array));
        return own || !plan.varies(index);
    }
    let mut whole = true;
    e.parts(&mut |part| whole = whole && loads_whole(plan, fixed, part));
    whole
}

/// One floating-point type for all values.
fn same(ty: &mut Option<ScalarType>, other: ScalarType) -> Option<()> {
    matches!(other, ScalarType::F32 | ScalarType::F64).then_some(())?;
    (*ty.get_or_insert(other) == other).then_some(())
}

/// Whether stored neighbours tell the subscript of each lane, as they do the coordinates of
/// positions. What lanes load one by one otherwise gains nothing.
fn told(plan: &Lanes, index: &Expr) -> bool {
    let (mut neighbours, mut others) = (false, false);
    visit::expr(&inlined(index, &plan.known), &mut |node| {
        if let ExprKind::Load { index, .. } = &node.kind {
            let stride = plan.stride(index);
            neighbours |= stride == Some(1);
            others |= !matches!(stride, Some(0 | 1));
        }
        others |= matches!(node.kind, ExprKind::Select(..) | ExprKind::Call(..));
    });
    neighbours && !others
}

/// Sums, products, minima, maxima and magnitudes of loads, and of what is the same in all lanes.
fn value(kernel: &Kernel, plan: &Lanes, e: &Expr, ty: &mut Option<ScalarType>) -> Option<()> {
    same(ty, e.ty)?;
    if let ExprKind::Load { array, index } = &e.kind {
        same(ty, kernel.array(*array).elem)?;
        let stride = plan.stride(index);
        return (matches!(stride, Some(0 | 1)) || stride.is_none() && told(plan, index))
            .then_some(());
    }
    if let ExprKind::Binary(op, x, y) = &e.kind
        && has_lanes(*op)
    {
        value(kernel, plan, x, ty)?;
        return value(kernel, plan, y, ty);
    }
    if let ExprKind::Unary(UnaryOp::Neg, x) = &e.kind {
        return value(kernel, plan, x, ty);
    }
    if plan.first(e).is_some() {
        return Some(());
    }
    if let (ExprKind::Call(Func::Abs, args), true) = (&e.kind, plan.is_wide(e)) {
        return args.iter().try_for_each(|x| value(kernel, plan, x, ty));
    }
    if let ExprKind::Var(v) = e.kind {
        // Declared here as a value, or outside: the same in all lanes.
        return (v != plan.var).then_some(());
    }
    // Of no lane in particular.
    (!plan.is_wide(e) && !plan.varies(e)).then_some(())
}

/// Whether an operator takes vectors.
fn has_lanes(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::Div
            | BinaryOp::Min
            | BinaryOp::Max
    )
}
