//! How many iterations loops have.

use super::build as b;
use super::device::{Definitions, inlined};
use super::ir::{BinaryOp, Expr, ExprKind};
use super::linear::{self, Linear};

/// How many iterations a loop has whose bound is `min(lo + most, rests ..)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Trips {
    /// At most so many, if a constant says so.
    pub most: Option<i64>,
    /// Other ends, of which the first to come cuts the loop short.
    pub rests: Vec<Expr>,
}

impl Trips {
    /// Of a loop from `lo` to `hi`, as its bound is written.
    #[must_use]
    pub fn of(lo: &Expr, hi: &Expr) -> Self {
        let mut trips = Trips {
            most: None,
            rests: Vec::new(),
        };
        trips.collect(lo, hi);
        trips
    }

    fn collect(&mut self, lo: &Expr, hi: &Expr) {
        if let ExprKind::Binary(BinaryOp::Min, x, y) = &hi.kind {
            self.collect(lo, x);
            self.collect(lo, y);
            return;
        }
        match b::as_int(&linear::sub(hi, lo)) {
            Some(n) => self.most = Some(self.most.map_or(n, |most| most.min(n))),
            None => self.rests.push(hi.clone()),
        }
    }

    /// The number of iterations, if it is a constant.
    #[must_use]
    pub fn constant(&self) -> Option<i64> {
        self.most.filter(|_| self.rests.is_empty())
    }

    /// Where the loop ends if not after its most iterations.
    #[must_use]
    pub fn rest(&self) -> Option<Expr> {
        self.rests.iter().cloned().reduce(b::min)
    }
}

/// A constant that `hi - lo` does not exceed, for whoever knows what names stand for.
#[must_use]
pub fn most(hi: &Expr, lo: &Expr, known: &Definitions) -> Option<i64> {
    let either = |a: Option<i64>, b: Option<i64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, None) | (None, one) => one,
    };
    let plain = linear::sub(&inlined(hi, known), &inlined(lo, known));
    if let Some(n) = Linear::of(&plain).and_then(|sum| sum.as_constant()) {
        return Some(n);
    }
    match (&hi.kind, &lo.kind) {
        (ExprKind::Binary(BinaryOp::Min, x, y), _) => {
            either(most(x, lo, known), most(y, lo, known))
        }
        (_, ExprKind::Binary(BinaryOp::Max, x, y)) => {
            either(most(hi, x, known), most(hi, y, known))
        }
        (ExprKind::Binary(BinaryOp::Add, x, y), _) => {
            // base + min(n, rest), as bounds of tiles are written
            let through = |term: &Expr, base: &Expr| {
                let ExprKind::Binary(BinaryOp::Min, p, q) = &term.kind else {
                    return None;
                };
                either(
                    most(&b::add(base.clone(), (**p).clone()), lo, known),
                    most(&b::add(base.clone(), (**q).clone()), lo, known),
                )
            };
            either(through(y, x), through(x, y))
        }
        (ExprKind::Var(v), _) if known.contains_key(v) => most(&known[v], lo, known),
        (_, ExprKind::Var(v)) if known.contains_key(v) => most(hi, &known[v], known),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::ir::{ScalarType, VarId};

    #[test]
    fn tiles_end_after_their_size_or_with_the_range() {
        let var = |n| b::var(VarId(n), ScalarType::I64);
        let (lo, end) = (b::mul(var(0), b::int(32)), var(1));
        let full = b::add(lo.clone(), b::int(32));
        let whole = Trips::of(&lo, &full);
        assert_eq!((whole.constant(), whole.rest()), (Some(32), None));
        let cut = Trips::of(&lo, &b::min(b::min(full, end.clone()), var(2)));
        assert_eq!((cut.constant(), cut.most), (None, Some(32)));
        assert_eq!(cut.rest(), Some(b::min(end.clone(), var(2))));
        assert_eq!(Trips::of(&lo, &end).most, None);
    }
}
