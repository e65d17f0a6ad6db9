//! Loops over the positions below consecutive positions, where nobody asks for the upper ones.
//!
//! In `for p in 0..M: for q in pos[p]..pos[p + 1]` the inner loop goes on where it ended, so if p
//! is not named inside, both are `for q in pos[0]..pos[M]`: no branch that is missed at the end
//! of each short row, a compiler sees one long loop, and threads get equal shares of what is
//! stored. That this is so follows from what a positions array is; arrays that a program
//! subscripts itself may descend.

use super::build as b;
use super::device::{Definitions, definitions};
use super::effects::{Around, Facts, Homes, Who, meet, touches};
use super::ir::{ArrayId, Expr, ExprKind, Kernel, ReduceOp, Run, ScalarType, Stmt, VarId};
use super::trips::Bounds;
use super::visit;
use crate::units::OmpSchedule;
use std::collections::BTreeSet;

/// Makes one loop of a serial loop over positions and the loop around it, if the outer one's
/// variable is not read and its iterations run one after the other, or in equal shares on
/// threads (a share of rows is one of elements then).
#[must_use]
pub fn merge_consecutive(mut kernel: Kernel) -> Kernel {
    let mut body = std::mem::take(&mut kernel.body);
    let merge = Merge {
        positions: kernel.interface.ascending(),
        sizes: kernel.interface.sizes.iter().map(|size| size.var).collect(),
        known: definitions(&body, &|v| kernel.var(v).mutable),
    };
    merge.list(&mut body);
    kernel.body = body;
    kernel
}

struct Merge {
    /// Those of operands.
    positions: BTreeSet<ArrayId>,
    /// Never negative.
    sizes: BTreeSet<VarId>,
    known: Definitions,
}

impl Merge {
    fn list(&self, body: &mut [Stmt]) {
        for stmt in body {
            // From the inside: ends of what was merged are positions of positions.
            for inner in visit::bodies_mut(stmt) {
                self.list(inner);
            }
            if let Some(merged) = self.merged(stmt) {
                *stmt = merged;
            }
        }
    }

    /// The loop that a loop and the only one inside it are.
    fn merged(&self, stmt: &Stmt) -> Option<Stmt> {
        let Stmt::For {
            var: outer,
            lo,
            hi,
            step: 1,
            tag,
            body,
            ..
        } = stmt
        else {
            return None;
        };
        let [inner @ Stmt::For { step: 1, .. }] = body.as_slice() else {
            return None;
        };
        let Stmt::For {
            var,
            lo: from,
            hi: to,
            tag: own,
            body,
            ..
        } = inner
        else {
            return None;
        };
        let next = b::add(b::var(*outer, lo.ty), b::int(1));
        let goes_on = self.begins_at(from, *outer) && at(from, *outer, &next) == *to;
        let is_plain = tag.unroll.is_none() && own.unroll.is_none() && own.is_serial();
        if !goes_on || !is_plain || !self.ascend(lo, hi) || visit::read_vars(body).contains(outer) {
            return None;
        }
        let shared = match &tag.run {
            Run::Serial => true,
            Run::Threads {
                schedule: OmpSchedule::Default | OmpSchedule::Static(None),
                reductions,
                ..
            } => !tag.races_ignored && self.apart(inner, *var, body, reductions),
            // A number of rows says nothing of elements.
            Run::Threads { .. } | Run::Lanes { .. } | Run::Unit { .. } => false,
        };
        let bounds = Bounds::of(at(from, *outer, lo), at(from, *outer, hi));
        let mut tag = tag.clone();
        if let Run::Threads { shares, .. } = &mut tag.run {
            *shares = None;
        }
        shared.then(|| bounds.each(*var, tag, body.clone()))
    }

    /// Whether `e` is where the positions below position `var` begin, some levels down.
    fn begins_at(&self, e: &Expr, var: VarId) -> bool {
        self.below(e).is_some_and(|(_, index)| {
            matches!(index.kind, ExprKind::Var(v) if v == var) || self.begins_at(index, var)
        })
    }

    /// The positions array that `e` is an element of, and of which position.
    fn below<'e>(&self, e: &'e Expr) -> Option<(ArrayId, &'e Expr)> {
        if let ExprKind::Cast(inner) = &e.kind {
            return self.below(inner).filter(|_| e.ty == ScalarType::I64);
        }
        let ExprKind::Load { array, index } = &e.kind else {
            return None;
        };
        (self.positions.contains(array)).then_some((*array, index))
    }

    /// Whether `lo <= hi` for all data, and both are positions that there are, or the one
    /// behind the last.
    fn ascend(&self, lo: &Expr, hi: &Expr) -> bool {
        if let (Some((array, lo)), Some((other, hi))) = (self.below(lo), self.below(hi)) {
            return array == other && (b::add(lo.clone(), b::int(1)) == *hi || self.ascend(lo, hi));
        }
        let is_size = matches!(hi.kind, ExprKind::Var(v) if self.sizes.contains(&v));
        b::as_int(lo) == Some(0) && (is_size || b::as_int(hi).is_some_and(|n| n >= 0))
    }

    /// Whether threads may share the iterations of the inner loop, which ran in one iteration of
    /// the shared one.
    fn apart(
        &self,
        inner: &Stmt,
        var: VarId,
        body: &[Stmt],
        reductions: &[(ReduceOp, VarId)],
    ) -> bool {
        let declared = visit::declared(body);
        let combined = |v: &VarId| declared.contains(v) || reductions.iter().any(|(_, r)| r == v);
        if !visit::changed(body).iter().all(combined) {
            return false;
        }
        let around: Vec<Around> = Around::of(inner, &self.known).into_iter().collect();
        let touches = touches(body, &around, &mut Homes::default(), &self.known);
        let facts = Facts {
            same: &|v| !declared.contains(&v),
            fixed: &|array| {
                touches
                    .iter()
                    .all(|touch| touch.array != array || !touch.write)
            },
            together: 0,
        };
        let who = Who::Iteration(var);
        !(touches.iter()).any(|one| touches.iter().any(|other| meet(one, other, &who, facts)))
    }
}

/// `e` with a value in the place of a variable.
fn at(e: &Expr, var: VarId, value: &Expr) -> Expr {
    let mut out = e.clone();
    visit::replace_expr(&mut out, &mut |part| {
        matches!(part.kind, ExprKind::Var(v) if v == var).then(|| value.clone())
    });
    out
}
