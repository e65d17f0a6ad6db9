//! What the iterations of a loop see that run several at a time (see [`super::widen`]).

use super::build as b;
use super::device::{Definitions, inlined};
use super::ir::{Expr, ExprKind, Stmt, VarId};
use super::linear::Linear;
use super::visit;

/// What a loop whose iterations run several at a time is about.
#[derive(Clone, Debug)]
pub struct Lanes {
    pub var: VarId,
    pub count: u32,
    /// The number that the variable is, where the loop runs once.
    pub from: Option<i64>,
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
            from: None,
            known: super::device::definitions(body, &|_| false),
        }
    }

    /// An expression with the number of a variable that is only one.
    #[must_use]
    pub fn settled(&self, e: &Expr) -> Expr {
        let mut e = e.clone();
        if let Some(from) = self.from {
            visit::replace_expr(&mut e, &mut |node| {
                (node.kind == ExprKind::Var(self.var)).then(|| b::int(from))
            });
            b::fold(&mut e);
        }
        e
    }

    /// How far the index advances from one iteration to the next.
    #[must_use]
    pub fn stride(&self, index: &Expr) -> Option<i64> {
        let (factor, _) = Linear::of(&inlined(index, &self.known))?.split(self.var)?;
        Some(factor)
    }

    /// Whether the expression loads elements that do not lie at equal distances.
    #[must_use]
    pub fn scatters(&self, e: &Expr) -> bool {
        inlined(e, &self.known).any(|node| {
            matches!(&node.kind, ExprKind::Load { index, .. } if self.stride(index).is_none())
        })
    }

    /// Whether lanes have different values of a subscript or a test.
    #[must_use]
    pub fn varies(&self, index: &Expr) -> bool {
        inlined(index, &self.known).reads(self.var)
    }

    /// An expression as the lane of this number sees it, where subscripts that advance with
    /// the loop have the value of the first.
    #[must_use]
    pub fn at(&self, e: &Expr, lane: u32) -> Expr {
        let mut e = e.clone();
        visit::replace_expr(&mut e, &mut |node| {
            let ExprKind::Var(v) = node.kind else {
                return None;
            };
            match (self.stride(node), self.known.get(&v)) {
                (Some(stride), _) => Some(b::add(
                    node.clone(),
                    b::int(stride.saturating_mul(i64::from(lane))),
                )),
                (None, Some(init)) => Some(self.at(init, lane)),
                (None, None) => None,
            }
        });
        e
    }

    /// Whether the expression has a value for each lane.
    #[must_use]
    pub fn is_wide(&self, e: &Expr) -> bool {
        if let ExprKind::Load { index, .. } = &e.kind {
            return self.varies(index);
        }
        if let ExprKind::Var(v) = e.kind {
            return self.known.get(&v).is_some_and(|init| self.is_wide(init));
        }
        let mut wide = false;
        e.parts(&mut |part| wide = wide || self.is_wide(part));
        wide
    }
}
