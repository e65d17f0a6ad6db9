//! How many iterations loops have.
//!
//! Whoever makes a loop knows more of its ends than can be read from them later: a tile of
//! 32 whose end has a name has 32 elements at most. Loops carry what is known ([`Bounds`],
//! `most` of a loop).

use super::build as b;
use super::ir::{BinaryOp, Expr, ExprKind, LoopTag, Stmt, VarId};
use super::linear::{self, Linear};

/// From where to where a loop runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    pub lo: Expr,
    pub hi: Expr,
    /// What `hi - lo` does not exceed, if a constant says so.
    pub most: Option<i64>,
}

impl Bounds {
    /// Bounds of which no more is known than what its ends say.
    #[must_use]
    pub fn of(lo: Expr, hi: Expr) -> Bounds {
        let most = Trips::of(&lo, &hi).most;
        Bounds { lo, hi, most }
    }

    /// The same, where it is known to have at most so many elements.
    #[must_use]
    pub fn at_most(mut self, most: Option<i64>) -> Bounds {
        self.most = fewer(self.most, most);
        self
    }

    /// The loop over a variable, an iteration for each element.
    #[must_use]
    pub fn each(self, var: VarId, tag: LoopTag, body: Vec<Stmt>) -> Stmt {
        self.every(1, var, tag, body)
    }

    /// The loop over a variable, an iteration for every so many elements.
    #[must_use]
    pub fn every(self, step: i64, var: VarId, tag: LoopTag, body: Vec<Stmt>) -> Stmt {
        let Bounds { lo, hi, most } = self;
        Stmt::For {
            var,
            lo,
            hi,
            // A range may end before it begins.
            most: most.map(|most| most.max(0)),
            step,
            tag,
            body,
        }
    }
}

/// The smaller of two bounds, of which each may be unknown.
#[must_use]
pub fn fewer(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.into_iter().chain(b).min()
}

/// `hi - lo`, if it is a constant.
#[must_use]
pub fn constant(lo: &Expr, hi: &Expr) -> Option<i64> {
    Linear::of(&linear::sub(hi, lo))?.as_constant()
}

/// A loop's end `min(lo + most, rests ..)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Trips {
    /// At most so many iterations, if a constant says so.
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
        match constant(lo, hi) {
            Some(n) => self.most = fewer(self.most, Some(n)),
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

    #[test]
    fn the_smallest_bound_counts() {
        let n = b::var(VarId(0), ScalarType::I64);
        let bounds = Bounds::of(b::int(0), n.clone()).at_most(Some(8));
        assert_eq!(bounds.at_most(None).at_most(Some(9)).most, Some(8));
        assert_eq!(Bounds::of(n.clone(), b::add(n, b::int(4))).most, Some(4));
    }
}
