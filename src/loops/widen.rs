//! Vector loops over workspaces of constant size take several iterations at a time, as
//! values of a vector type.
//!
//! before: `simd for j in 0 .. 16: w[j] += x[p] * B[k * N + j]`
//! after:  `for j in 0 .. 16, 8 at a time: w[j .. j+8] += x[p] * B[k * N + j ..]`
//!
//! A sum of the loop becomes one for each lane, which are added up behind it.
//!
//! gcc keeps an array that a vectorised loop indexes in memory; accessed in whole vectors by
//! unrolled loops it becomes registers. MTTKRP of order 4 with three such workspaces gains a
//! factor of two by it (`BENCHMARKS.md`).

use super::device::{Definitions, inlined};
use super::ir::{
    ArrayId, BinaryOp, Expr, ExprKind, Kernel, Literal, ReduceOp, ScalarType, Stmt, UnaryOp, VarId,
};
use super::linear::Linear;
use super::visit;
use std::collections::BTreeSet;

/// Bytes of the widest vectors; processors with narrower ones take several.
const WIDEST: i64 = 64;
/// Bytes of the narrowest that are worth it.
const NARROWEST: i64 = 16;

/// What a loop whose iterations run several at a time is about.
#[derive(Clone, Debug)]
pub struct Lanes {
    pub var: VarId,
    pub count: u32,
    /// What the body's variables are.
    pub known: Definitions,
}

impl Lanes {
    /// The loop over `var` with this body.
    #[must_use]
    pub fn of(var: VarId, count: u32, body: &[Stmt]) -> Self {
        Lanes {
            var,
            count,
            known: super::device::definitions(body, &|_| false),
        }
    }

    /// How far the index advances from one iteration to the next.
    #[must_use]
    pub fn stride(&self, index: &Expr) -> Option<i64> {
        let (factor, _) = Linear::of(&inlined(index, &self.known))?.split(self.var)?;
        Some(factor)
    }

    /// Whether the expression has a value for each lane.
    #[must_use]
    pub fn is_wide(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Load { index, .. } => self.stride(index) == Some(1),
            ExprKind::Var(v) => self.known.get(v).is_some_and(|init| self.is_wide(init)),
            ExprKind::Unary(_, a) | ExprKind::Cast(a) => self.is_wide(a),
            ExprKind::Binary(_, a, b) => self.is_wide(a) || self.is_wide(b),
            ExprKind::Call(_, args) => args.iter().any(|a| self.is_wide(a)),
            ExprKind::Select(c, a, b) => self.is_wide(c) || self.is_wide(a) || self.is_wide(b),
            ExprKind::Literal(_) | ExprKind::Place(_) => false,
        }
    }
}

/// Marks the loops that can run so.
#[must_use]
pub fn widen(mut kernel: Kernel) -> Kernel {
    let mut fixed = BTreeSet::new();
    visit::stmts(&kernel.body, &mut |stmt| {
        if let Stmt::Declare { array, .. } = stmt {
            fixed.insert(*array);
        }
    });
    let mut body = std::mem::take(&mut kernel.body);
    list(&kernel, &fixed, &mut body);
    kernel.body = body;
    kernel
}

fn list(kernel: &Kernel, fixed: &BTreeSet<ArrayId>, body: &mut [Stmt]) {
    for stmt in body {
        if let Stmt::For {
            var,
            lo,
            hi,
            step: 1,
            tag,
            body,
        } = stmt
            && tag.vector
            && tag.parallel.is_none()
            && let ExprKind::Literal(Literal::Int(count)) = super::linear::sub(hi, lo).kind
        {
            tag.lanes = lanes(kernel, fixed, (*var, count, body), &tag.reductions);
            if let Some(lanes) = tag.lanes {
                tag.unroll = u32::try_from(count / i64::from(lanes)).ok();
            }
        }
        for inner in visit::bodies_mut(stmt) {
            list(kernel, fixed, inner);
        }
    }
}

/// How many iterations run at a time.
fn lanes(
    kernel: &Kernel,
    fixed: &BTreeSet<ArrayId>,
    (var, count, body): (VarId, i64, &[Stmt]),
    reductions: &[(ReduceOp, VarId)],
) -> Option<u32> {
    let plan = Lanes::of(var, 1, body);
    let mut ty = None;
    let mut local = false;
    let mut stored: Vec<(ArrayId, Expr)> = Vec::new();
    let mut summed = BTreeSet::new();
    for stmt in body {
        match stmt {
            // A sum for each lane, which are added up after the loop.
            Stmt::Assign {
                var: sum,
                op: Some(ReduceOp::Add),
                value: e,
            } if reductions.contains(&(ReduceOp::Add, *sum)) => {
                same(&mut ty, kernel.var(*sum).ty)?;
                value(kernel, &plan, e, &mut ty)?;
                plan.is_wide(e).then_some(())?;
                summed.insert(*sum);
            }
            Stmt::Let { var, init } if kernel.var(*var).ty == ScalarType::I64 => {
                // Only subscripts may know which lane it is.
                let loads = {
                    let mut any = false;
                    visit::expr(init, &mut |e| {
                        any |= matches!(e.kind, ExprKind::Load { .. })
                    });
                    any
                };
                (!loads || !plan.is_wide(init)).then_some(())?;
            }
            Stmt::Let { init, .. } => value(kernel, &plan, init, &mut ty)?,
            Stmt::Store {
                array,
                index,
                op,
                value: e,
                atomic: false,
            } => {
                (plan.stride(index)? == 1).then_some(())?;
                matches!(op, None | Some(ReduceOp::Add | ReduceOp::Mul)).then_some(())?;
                same(&mut ty, kernel.array(*array).elem)?;
                value(kernel, &plan, e, &mut ty)?;
                local |= fixed.contains(array);
                stored.push((*array, inlined(index, &plan.known)));
            }
            Stmt::Assign { .. }
            | Stmt::Store { .. }
            | Stmt::For { .. }
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Alloc { .. }
            | Stmt::Grow { .. }
            | Stmt::Declare { .. }
            | Stmt::Slice { .. }
            | Stmt::Assume { .. }
            | Stmt::Free { .. }
            | Stmt::Fill { .. }
            | Stmt::Search { .. }
            | Stmt::FailIf { .. }
            | Stmt::Device(_)
            | Stmt::Comment(_) => return None,
        }
    }
    reductions
        .iter()
        .all(|(_, sum)| summed.contains(sum))
        .then_some(())?;
    // What one lane stores no other reads or stores.
    let mut apart = true;
    for stmt in body {
        visit::own_exprs(stmt, &mut |e| {
            visit::expr(e, &mut |node| {
                apart &= !matches!(node.kind, ExprKind::Var(v) if summed.contains(&v));
                if let ExprKind::Load { array, index } = &node.kind {
                    local |= fixed.contains(array);
                    let index = inlined(index, &plan.known);
                    apart &= stored.iter().all(|(a, at)| a != array || *at == index);
                }
            });
        });
    }
    apart &= stored
        .iter()
        .all(|(array, at)| stored.iter().all(|(a, other)| a != array || at == other));
    let size = ty?.size() as i64;
    (local && apart && !(stored.is_empty() && summed.is_empty())).then_some(())?;
    let widths = [WIDEST, WIDEST / 2, NARROWEST]
        .into_iter()
        .map(|w| w / size);
    widths
        .filter(|n| *n >= 2 && count % n == 0 && count >= *n)
        .find_map(|n| u32::try_from(n).ok())
}

/// One floating-point type for all values.
fn same(ty: &mut Option<ScalarType>, other: ScalarType) -> Option<()> {
    matches!(other, ScalarType::F32 | ScalarType::F64).then_some(())?;
    (*ty.get_or_insert(other) == other).then_some(())
}

/// Sums and products of loads, and of what is the same in all lanes.
fn value(kernel: &Kernel, plan: &Lanes, e: &Expr, ty: &mut Option<ScalarType>) -> Option<()> {
    same(ty, e.ty)?;
    match &e.kind {
        ExprKind::Load { array, index } => {
            same(ty, kernel.array(*array).elem)?;
            matches!(plan.stride(index)?, 0 | 1).then_some(())
        }
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div, x, y) => {
            value(kernel, plan, x, ty)?;
            value(kernel, plan, y, ty)
        }
        ExprKind::Unary(UnaryOp::Neg, x) => value(kernel, plan, x, ty),
        // Declared here as a value, or outside: the same in all lanes.
        ExprKind::Var(v) => (*v != plan.var).then_some(()),
        ExprKind::Literal(_) => Some(()),
        ExprKind::Unary(UnaryOp::Not, _)
        | ExprKind::Binary(..)
        | ExprKind::Call(..)
        | ExprKind::Cast(_)
        | ExprKind::Select(..)
        | ExprKind::Place(_) => {
            // Of no lane in particular.
            let mut own = plan.is_wide(e);
            visit::expr(&inlined(e, &plan.known), &mut |node| {
                own |= node.kind == ExprKind::Var(plan.var);
            });
            (!own).then_some(())
        }
    }
}
