//! What the iterations of a loop see that run several at a time (see [`super::widen`]).

use super::build as b;
use super::device::{Definitions, inlined};
use super::ir::{ArrayId, BinaryOp, Expr, ExprKind, Stmt, VarId};
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

    /// The elements that the first lanes load, zeros in the others (see [`super::partial`]): the array,
    /// where the first one lies, and the sides of the test.
    #[must_use]
    pub fn first(&self, e: &Expr) -> Option<(ArrayId, Expr, (Expr, Expr))> {
        let ExprKind::Select(cond, load, other) = &e.kind else {
            return None;
        };
        let ExprKind::Load { array, index } = &load.kind else {
            return None;
        };
        let (at, end) = self.before(cond)?;
        let tested = at == **index || at.kind == ExprKind::Var(self.var);
        let zero = matches!(other.kind, ExprKind::Literal(l) if l.is_zero());
        let lies = tested && zero && self.stride(index) == Some(1);
        lies.then(|| (*array, (**index).clone(), (at, end)))
    }

    /// What a statement stores that tests whether the lane is one of the first.
    #[must_use]
    pub fn stored_first<'s>(&self, stmt: &'s Stmt) -> Option<&'s Stmt> {
        let Stmt::If {
            cond,
            then,
            otherwise,
        } = stmt
        else {
            return None;
        };
        let [store @ Stmt::Store { op: None, .. }] = then.as_slice() else {
            return None;
        };
        let (lane, _) = self.before(cond)?;
        (otherwise.is_empty() && lane.kind == ExprKind::Var(self.var)).then_some(store)
    }

    /// Of a test that only the first lanes pass, `at < end`: its sides.
    #[must_use]
    pub fn before(&self, cond: &Expr) -> Option<(Expr, Expr)> {
        let ExprKind::Binary(BinaryOp::Lt, at, end) = &cond.kind else {
            return None;
        };
        let fits = self.stride(at) == Some(1) && !self.varies(end);
        fits.then(|| ((**at).clone(), (**end).clone()))
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
