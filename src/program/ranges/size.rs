//! Simplification of [`SizeExpr`]: a canonical sum of products, so that equal
//! extents compare equal and emitted code reads well (`M - 1 + 1` is `M`).

use std::collections::BTreeMap;

use crate::program::ir::SizeExpr;

/// `a + b`, simplified.
pub(crate) fn add(a: SizeExpr, b: SizeExpr) -> SizeExpr {
    simplify(&SizeExpr::Add(Box::new(a), Box::new(b)))
}

/// `a - b`, simplified.
pub(crate) fn sub(a: SizeExpr, b: SizeExpr) -> SizeExpr {
    simplify(&SizeExpr::Sub(Box::new(a), Box::new(b)))
}

/// `a * b`, simplified.
pub(crate) fn mul(a: SizeExpr, b: SizeExpr) -> SizeExpr {
    simplify(&SizeExpr::Mul(Box::new(a), Box::new(b)))
}

/// `a / b` rounded towards minus infinity, simplified.
pub(crate) fn floor_div(a: SizeExpr, b: SizeExpr) -> SizeExpr {
    simplify(&SizeExpr::FloorDiv(Box::new(a), Box::new(b)))
}

/// The smaller of both, simplified.
pub(crate) fn min(a: SizeExpr, b: SizeExpr) -> SizeExpr {
    simplify(&SizeExpr::Min(Box::new(a), Box::new(b)))
}

/// The larger of both, simplified.
pub(crate) fn max(a: SizeExpr, b: SizeExpr) -> SizeExpr {
    simplify(&SizeExpr::Max(Box::new(a), Box::new(b)))
}

/// Whether the value is positive, zero or negative for all sizes, where that is
/// plain. Sizes and parameters that stand as coefficients (strides) count as positive.
pub(crate) fn sign(expr: &SizeExpr) -> Option<std::cmp::Ordering> {
    let poly = Poly::of(&simplify(expr))?;
    if poly.0.values().all(|c| *c == 0) {
        Some(std::cmp::Ordering::Equal)
    } else if poly.0.values().all(|c| *c > 0) {
        Some(std::cmp::Ordering::Greater)
    } else if poly.0.values().all(|c| *c < 0) {
        Some(std::cmp::Ordering::Less)
    } else {
        None
    }
}

/// Whether the value is plainly at least zero for all sizes; parameters may be anything,
/// except that divisors are positive.
pub(crate) fn never_negative(expr: &SizeExpr) -> bool {
    Poly::of(expr).is_some_and(|poly| poly.never_negative_within(8))
}

/// The value of a simplified constant.
pub(crate) fn constant(expr: &SizeExpr) -> Option<i64> {
    if let SizeExpr::Const(value) = expr {
        Some(*value)
    } else {
        None
    }
}

/// What a sum has beside its constant, and the constant.
pub(crate) fn split_constant(expr: &SizeExpr) -> (SizeExpr, i64) {
    let Some(mut poly) = Poly::of(expr) else {
        return (expr.clone(), 0);
    };
    let constant = poly.0.remove(&Vec::new()).unwrap_or(0);
    (poly.into_expr(), constant)
}

/// An equal expression in canonical form; on an overflow, or if
/// it would get too large, the expression as it is.
pub(crate) fn simplify(expr: &SizeExpr) -> SizeExpr {
    Poly::of(expr).map_or_else(|| expr.clone(), Poly::into_expr)
}

/// Larger sums stay as they are written.
const MOST_PRODUCTS: usize = 100;

/// A sum of products: each product of atoms (sorted; empty for the constant) with
/// its coefficient, which is never zero. An atom is a size, a parameter, or a
/// division, minimum or maximum with simplified operands.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Poly(BTreeMap<Vec<SizeExpr>, i64>);

impl Poly {
    fn constant(value: i64) -> Self {
        let mut terms = BTreeMap::new();
        if value != 0 {
            terms.insert(Vec::new(), value);
        }
        Poly(terms)
    }

    fn atom(atom: SizeExpr) -> Self {
        Poly(BTreeMap::from([(vec![atom], 1)]))
    }

    /// `None` on an overflow, or if the sum gets too large.
    fn of(expr: &SizeExpr) -> Option<Self> {
        match expr {
            SizeExpr::Const(value) => Some(Self::constant(*value)),
            SizeExpr::Size(_) | SizeExpr::Param(_) => Some(Self::atom(expr.clone())),
            SizeExpr::Add(a, b) => Self::of(a)?.plus(&Self::of(b)?, 1),
            SizeExpr::Sub(a, b) => Self::of(a)?.plus(&Self::of(b)?, -1),
            SizeExpr::Mul(a, b) => Self::of(a)?.times(&Self::of(b)?),
            SizeExpr::FloorDiv(a, b) => Self::of(a)?.divided(Self::of(b)?),
            SizeExpr::Min(..) => Self::extreme(expr, true),
            SizeExpr::Max(..) => Self::extreme(expr, false),
        }
    }

    fn plus(mut self, other: &Poly, factor: i64) -> Option<Self> {
        for (product, coefficient) in &other.0 {
            let sum = self
                .0
                .get(product)
                .copied()
                .unwrap_or(0)
                .checked_add(coefficient.checked_mul(factor)?)?;
            if sum == 0 {
                self.0.remove(product);
            } else {
                self.0.insert(product.clone(), sum);
            }
        }
        Some(self)
    }

    fn times(&self, other: &Poly) -> Option<Self> {
        let mut result = Self::constant(0);
        for (left, a) in &self.0 {
            for (right, b) in &other.0 {
                let mut product: Vec<SizeExpr> = left.iter().chain(right).cloned().collect();
                product.sort();
                let term = Poly(BTreeMap::from([(product, a.checked_mul(*b)?)]));
                result = result.plus(&term, 1)?;
                if result.0.len() > MOST_PRODUCTS {
                    return None;
                }
            }
        }
        Some(result)
    }

    /// Whole multiples of a constant divisor leave the division:
    /// `(H - 2) / 2` is `H/2 - 1`.
    fn divided(self, by: Poly) -> Option<Self> {
        let divisor = by.as_constant();
        let Some(divisor) = divisor.filter(|d| *d > 0) else {
            let whole = Box::new(self.into_expr());
            return Some(Self::atom(SizeExpr::FloorDiv(
                whole,
                Box::new(by.into_expr()),
            )));
        };
        let mut whole = Self::constant(0);
        let mut rest = Self::constant(0);
        for (product, coefficient) in self.0 {
            let quotient = coefficient.div_euclid(divisor);
            let remainder = coefficient.rem_euclid(divisor);
            let split = remainder == 0 || product.is_empty();
            let (out, kept) = if split {
                (quotient, remainder)
            } else {
                (0, coefficient)
            };
            whole = whole.plus(&Poly(BTreeMap::from([(product.clone(), out)])), 1)?;
            rest = rest.plus(&Poly(BTreeMap::from([(product, kept)])), 1)?;
        }
        if rest.as_constant().is_some() {
            return Some(whole);
        }
        let atom = SizeExpr::FloorDiv(
            Box::new(rest.into_expr()),
            Box::new(SizeExpr::Const(divisor)),
        );
        whole.plus(&Self::atom(atom), 1)
    }

    /// A minimum or maximum without the operands that another one always beats.
    fn extreme(expr: &SizeExpr, smallest: bool) -> Option<Self> {
        let mut operands: Vec<Poly> = Vec::new();
        collect(expr, smallest, &mut operands)?;
        let mut kept: Vec<Poly> = Vec::new();
        for operand in operands {
            let beats = |a: &Poly, b: &Poly| {
                let (low, high) = if smallest { (a, b) } else { (b, a) };
                high.clone()
                    .plus(low, -1)
                    .is_some_and(|d| d.never_negative())
            };
            if kept.iter().any(|other| beats(other, &operand)) {
                continue;
            }
            kept.retain(|other| !beats(&operand, other));
            kept.push(operand);
        }
        let mut exprs: Vec<SizeExpr> = kept.into_iter().map(Poly::into_expr).collect();
        exprs.sort();
        let mut exprs = exprs.into_iter();
        let first = exprs.next()?;
        let Some(second) = exprs.next() else {
            return Self::of_simplified(first);
        };
        let join = |a, b| {
            let (a, b) = (Box::new(a), Box::new(b));
            if smallest {
                SizeExpr::Min(a, b)
            } else {
                SizeExpr::Max(a, b)
            }
        };
        Some(Self::atom(exprs.fold(join(first, second), join)))
    }

    /// Of an expression that is simplified already: its minima are atoms.
    fn of_simplified(expr: SizeExpr) -> Option<Self> {
        if matches!(expr, SizeExpr::Min(..) | SizeExpr::Max(..)) {
            Some(Self::atom(expr))
        } else {
            Self::of(&expr)
        }
    }

    fn as_constant(&self) -> Option<i64> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// The atom, if the sum is nothing else.
    fn as_atom(&self) -> Option<&SizeExpr> {
        let (product, coefficient) = self.0.first_key_value()?;
        let [atom] = product.as_slice() else {
            return None;
        };
        (self.0.len() == 1 && *coefficient == 1).then_some(atom)
    }

    /// Plainly at least zero: sizes are, and nothing is subtracted.
    fn never_negative(&self) -> bool {
        self.0.iter().all(|(product, coefficient)| {
            *coefficient >= 0 && product.iter().all(|atom| matches!(atom, SizeExpr::Size(_)))
        })
    }

    /// Replaces minima, maxima and divisions by what they are bounded by, `fuel` deep:
    /// `-min(a, b)` is at least `-a`, and `-d * (a / d)` is at least `-a`.
    fn never_negative_within(&self, fuel: u32) -> bool {
        let natural = |e: &SizeExpr| Self::of(e).is_some_and(|e| e.never_negative_within(fuel - 1));
        let sized = |atom: &SizeExpr| {
            matches!(atom, SizeExpr::Size(_))
                || matches!(atom, SizeExpr::FloorDiv(a, _) if fuel > 0 && natural(a))
        };
        if self
            .0
            .iter()
            .all(|(product, c)| *c >= 0 && product.iter().all(sized))
        {
            return true;
        }
        let Some(fuel) = fuel.checked_sub(1) else {
            return false;
        };
        self.0.iter().any(|(product, coefficient)| {
            let mut rest = self.clone();
            rest.0.remove(product);
            let with = |value: &SizeExpr, factor: i64| {
                let sum = Self::of(value).and_then(|value| rest.clone().plus(&value, factor));
                sum.is_some_and(|sum| sum.never_negative_within(fuel))
            };
            match (product.as_slice(), *coefficient) {
                ([SizeExpr::Min(a, b)], c @ ..0) | ([SizeExpr::Max(a, b)], c @ 1..) => {
                    with(a, c) || with(b, c)
                }
                ([SizeExpr::Min(a, b)], c) | ([SizeExpr::Max(a, b)], c) => with(a, c) && with(b, c),
                ([SizeExpr::FloorDiv(a, d)], c @ ..0) => constant(d)
                    .is_some_and(|d| d > 0 && c.checked_rem(d) == Some(0) && with(a, c / d)),
                ([d, SizeExpr::FloorDiv(a, by)], -1) if d == &**by => with(a, -1),
                _ => false,
            }
        })
    }

    /// Positive products first, the constant last (first if all else is subtracted).
    fn into_expr(self) -> SizeExpr {
        let constant = self.0.get(&Vec::new()).copied().unwrap_or(0);
        let products = || self.0.iter().filter(|(product, _)| !product.is_empty());
        let mut sum: Option<SizeExpr> = None;
        for (product, coefficient) in products().filter(|(_, c)| **c > 0) {
            let term = scaled(*coefficient, product);
            sum = Some(match sum {
                None => term,
                Some(sum) => SizeExpr::Add(Box::new(sum), Box::new(term)),
            });
        }
        let mut rest = constant;
        let mut sum = sum.unwrap_or_else(|| SizeExpr::Const(std::mem::take(&mut rest)));
        for (product, coefficient) in products().filter(|(_, c)| **c < 0) {
            // -(i64::MIN) does not exist: such a coefficient stays a negative factor.
            sum = match coefficient.checked_neg() {
                Some(positive) => SizeExpr::Sub(Box::new(sum), Box::new(scaled(positive, product))),
                None => SizeExpr::Add(Box::new(sum), Box::new(scaled(*coefficient, product))),
            };
        }
        match rest {
            0 => sum,
            1.. => SizeExpr::Add(Box::new(sum), Box::new(SizeExpr::Const(rest))),
            _ => match rest.checked_neg() {
                Some(positive) => SizeExpr::Sub(Box::new(sum), Box::new(SizeExpr::Const(positive))),
                None => SizeExpr::Add(Box::new(sum), Box::new(SizeExpr::Const(rest))),
            },
        }
    }
}

fn collect(expr: &SizeExpr, smallest: bool, out: &mut Vec<Poly>) -> Option<()> {
    match (expr, smallest) {
        (SizeExpr::Min(a, b), true) | (SizeExpr::Max(a, b), false) => {
            collect(a, smallest, out)?;
            collect(b, smallest, out)
        }
        _ => {
            let operand = Poly::of(expr)?;
            // Simplifying can bring out another minimum of the same kind.
            match operand.as_atom() {
                Some(inner @ SizeExpr::Min(..)) if smallest => {
                    collect(&inner.clone(), smallest, out)
                }
                Some(inner @ SizeExpr::Max(..)) if !smallest => {
                    collect(&inner.clone(), smallest, out)
                }
                _ => {
                    out.push(operand);
                    Some(())
                }
            }
        }
    }
}

fn scaled(coefficient: i64, product: &[SizeExpr]) -> SizeExpr {
    let mut factors = product.iter().cloned();
    let Some(first) = factors.next() else {
        return SizeExpr::Const(coefficient);
    };
    let start = if coefficient == 1 {
        first
    } else {
        SizeExpr::Mul(Box::new(SizeExpr::Const(coefficient)), Box::new(first))
    };
    factors.fold(start, |all, factor| {
        SizeExpr::Mul(Box::new(all), Box::new(factor))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::ir::SizeId;
    use proptest::prelude::*;

    fn size(id: u32) -> SizeExpr {
        SizeExpr::Size(SizeId(id))
    }

    fn number(value: i64) -> SizeExpr {
        SizeExpr::Const(value)
    }

    #[test]
    fn sums_cancel() {
        assert_eq!(add(sub(size(0), number(1)), number(1)), size(0));
        assert_eq!(sub(size(0), size(0)), number(0));
        assert_eq!(
            add(sub(size(0), size(1)), number(1)),
            SizeExpr::Add(
                Box::new(SizeExpr::Sub(Box::new(size(0)), Box::new(size(1)))),
                Box::new(number(1))
            )
        );
    }

    #[test]
    fn whole_multiples_leave_a_division() {
        let half = SizeExpr::FloorDiv(Box::new(size(0)), Box::new(number(2)));
        let shifted = floor_div(sub(size(0), number(2)), number(2));
        assert_eq!(add(shifted, number(1)), half);
        assert_eq!(floor_div(number(-3), number(2)), number(-2));
    }

    #[test]
    fn beaten_operands_are_dropped() {
        assert_eq!(
            min(size(0), sub(size(0), number(1))),
            sub(size(0), number(1))
        );
        assert_eq!(min(size(0), add(size(0), size(1))), size(0));
        assert_eq!(max(number(3), number(4)), number(4));
        assert_eq!(min(min(size(1), size(0)), size(1)), min(size(0), size(1)));
    }

    #[test]
    fn what_is_never_negative() {
        let small = min(size(0), size(1));
        assert!(never_negative(&sub(size(0), small.clone())));
        assert!(!never_negative(&sub(small, size(0))));
        assert!(!never_negative(&sub(size(0), number(1))));
        let half = floor_div(size(0), number(2));
        assert!(never_negative(&sub(size(0), mul(number(2), half))));
        let strides = floor_div(sub(size(0), size(1)), size(2));
        let slack = sub(sub(size(0), size(1)), mul(size(2), strides));
        assert!(never_negative(&slack));
    }

    fn any_expr() -> impl Strategy<Value = SizeExpr> {
        let leaf = prop_oneof![
            (-9i64..9).prop_map(SizeExpr::Const),
            (0u32..3).prop_map(|id| SizeExpr::Size(SizeId(id))),
        ];
        leaf.prop_recursive(4, 24, 2, |inner| {
            (0u8..6, inner.clone(), inner).prop_map(|(op, a, b)| {
                let (a, b) = (Box::new(a), Box::new(b));
                match op {
                    0 => SizeExpr::Add(a, b),
                    1 => SizeExpr::Sub(a, b),
                    2 => SizeExpr::Mul(a, b),
                    3 => SizeExpr::FloorDiv(a, b),
                    4 => SizeExpr::Min(a, b),
                    _ => SizeExpr::Max(a, b),
                }
            })
        })
    }

    /// Divisors are positive where `never_negative` is asked.
    fn positive(expr: &SizeExpr, value: &impl Fn(&SizeExpr) -> Option<i64>) -> bool {
        if let SizeExpr::FloorDiv(_, b) = expr
            && value(b).is_none_or(|b| b <= 0)
        {
            return false;
        }
        expr.parts().into_iter().all(|part| positive(part, value))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn simplifying_keeps_the_value_and_is_idempotent(
            expr in any_expr(),
            sizes in [0i64..7, 0i64..7, 0i64..7],
        ) {
            let value = |e: &SizeExpr| e.eval(&|s| sizes.get(s.index()).copied(), &|_| None);
            let simple = simplify(&expr);
            if let Some(before) = value(&expr) {
                prop_assert_eq!(value(&simple), Some(before));
                prop_assert!(before >= 0 || !never_negative(&expr) || !positive(&expr, &value));
            }
            prop_assert_eq!(simplify(&simple), simple);
        }
    }
}
