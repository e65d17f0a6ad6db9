//! Sums of index terms in a normal form, to see what cancels.

use super::build as b;
use super::ir::{BinaryOp, Expr, ExprKind, Literal, ScalarType, VarId};
use crate::sums::Sum;

/// A sum of index terms.
pub type Linear = Sum<Expr>;

impl Linear {
    /// `None` if it is no index arithmetic or its constants leave 64 bits.
    #[must_use]
    pub fn of(e: &Expr) -> Option<Linear> {
        let mut sum = Linear::default();
        (e.ty == ScalarType::I64).then_some(())?;
        sum.collect(e, 1)?;
        Some(sum)
    }

    fn collect(&mut self, e: &Expr, factor: i64) -> Option<()> {
        if let ExprKind::Literal(Literal::Int(n)) = e.kind {
            return self.add_constant(n.checked_mul(factor)?);
        }
        if let ExprKind::Binary(BinaryOp::Add, x, y) = &e.kind {
            self.collect(x, factor)?;
            return self.collect(y, factor);
        }
        if let ExprKind::Binary(BinaryOp::Sub, x, y) = &e.kind {
            self.collect(x, factor)?;
            return self.collect(y, factor.checked_neg()?);
        }
        if let ExprKind::Binary(BinaryOp::Mul, x, y) = &e.kind {
            for (by, of) in [(x, y), (y, x)] {
                if let ExprKind::Literal(Literal::Int(n)) = by.kind {
                    return self.collect(of, factor.checked_mul(n)?);
                }
            }
        }
        if let ExprKind::Locate(parent, extent, coordinate) = &e.kind {
            return self.collect(&b::flat(parent, extent, coordinate), factor);
        }
        self.add(e.clone(), factor)
    }

    /// What `var` is multiplied by, and the rest; `None` if it stands inside a term.
    #[must_use]
    pub fn split(&self, var: VarId) -> Option<(i64, Expr)> {
        let mut rest = self.clone();
        let own = rest.take(|e| e.kind == ExprKind::Var(var));
        let factor = own.first().map_or(0, |(_, by)| *by);
        let inside = rest.terms().iter().any(|(e, _)| e.reads(var));
        (!inside).then(|| (factor, rest.to_expr()))
    }

    /// With `value` in the place of `var`; `None` if `var` stands inside a term.
    #[must_use]
    pub fn substitute(&self, var: VarId, value: &Expr) -> Option<Linear> {
        let (factor, rest) = self.split(var)?;
        Linear::of(&add(&rest, &b::mul(value.clone(), b::int(factor))))
    }

    /// As index arithmetic, what is subtracted behind what is added.
    #[must_use]
    pub fn to_expr(&self) -> Expr {
        let scaled = |(e, by): &(Expr, i64)| b::mul(e.clone(), b::int(by.saturating_abs()));
        let added = self.terms().iter().filter(|(_, by)| *by > 0).map(scaled);
        let taken = self.terms().iter().filter(|(_, by)| *by < 0).map(scaled);
        let sum = added.reduce(b::add).unwrap_or_else(|| b::int(0));
        let size = b::int(self.constant().saturating_abs());
        let terms = taken.fold(sum, b::sub);
        if self.constant() < 0 {
            b::sub(terms, size)
        } else {
            b::add(terms, size)
        }
    }
}

/// `a + b` without what cancels.
#[must_use]
pub fn add(x: &Expr, y: &Expr) -> Expr {
    normal(b::add(x.clone(), y.clone()))
}

/// `a - b` without what cancels.
#[must_use]
pub fn sub(x: &Expr, y: &Expr) -> Expr {
    normal(b::sub(x.clone(), y.clone()))
}

fn normal(e: Expr) -> Expr {
    match Linear::of(&e) {
        Some(sum) => sum.to_expr(),
        None => e,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn var(n: u32) -> Expr {
        b::var(VarId(n), ScalarType::I64)
    }

    #[test]
    fn what_cancels_is_left_out() {
        let (x, y) = (var(0), b::mul(var(1), b::int(4)));
        let rest = b::sub(b::sub(var(2), x.clone()), y.clone());
        let base = b::add(x, y);
        assert_eq!(add(&base, &rest), var(2));
        assert_eq!(sub(&b::add(base.clone(), b::int(4)), &base), b::int(4));
    }

    #[test]
    fn sums_are_flat_with_the_constant_last() {
        let (x, y) = (var(0), b::sub(var(1), b::int(1)));
        let flat = b::sub(b::add(x.clone(), var(1)), b::int(1));
        assert_eq!(add(&x, &y), flat);
    }

    #[test]
    fn a_variable_is_split_off_where_it_stands_alone() {
        let e = b::sub(var(0), b::mul(var(1), b::int(4)));
        let sum = Linear::of(&e).expect("index arithmetic");
        assert_eq!(sum.split(VarId(1)), Some((-4, var(0))));
        let inside = Linear::of(&b::mul(var(0), var(1))).expect("index arithmetic");
        assert_eq!(inside.split(VarId(1)), None);
    }
}
