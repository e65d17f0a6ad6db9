//! What relations compute with: numbers of values, offsets, what is known of them.

use super::{Climb, Partition, Top};
use crate::graph::Graph;
use crate::program::ir::{SizeExpr, VarId};

/// A number of values, or an offset among them. A relation says by it what follows from what, and
/// does not ask which form it has: an expression of a kernel, of sizes, an affine sum over loops,
/// the variables that it depends on, a number.
pub trait Quantity: Clone {
    fn int(n: i64) -> Self;
    /// Its value, if it is a constant.
    fn as_int(&self) -> Option<i64>;
    #[must_use]
    fn add(self, other: Self) -> Self;
    #[must_use]
    fn sub(self, other: Self) -> Self;
    #[must_use]
    fn mul(self, other: Self) -> Self;
    /// Rounded down; `by` is at least 1.
    #[must_use]
    fn floor_div(self, by: Self) -> Self;
    #[must_use]
    fn at_least(self, other: Self) -> Self;

    /// Rounded up; `by` is at least 1.
    #[must_use]
    fn ceil_div(self, by: &Self) -> Self {
        if by.as_int() == Some(1) {
            return self;
        }
        let up = match by.as_int() {
            Some(n) => self.add(Self::int(n - 1)),
            None => self.add(by.clone()).sub(Self::int(1)),
        };
        up.floor_div(by.clone())
    }
}

/// The coordinates from the first element of a tile of positions to its last.
#[derive(Clone, Debug)]
pub struct Cut<Q> {
    /// The offset of the first one, in the variable whose positions are counted.
    pub first: Q,
    /// How many there are from there to the last one.
    pub count: Q,
}

/// What is known of variables at a place in the loops. Whoever implements it says what loops and
/// data give; what follows from that by the relations is provided.
///
/// A variable of the program counts from where its range begins: its *offset* is what relations
/// take apart and put together.
pub trait Values<'g> {
    type Quantity: Quantity;

    fn graph(&self) -> &'g Graph;
    /// Where the range of a variable of the program begins and ends.
    fn range(&mut self, root: VarId) -> Option<(Self::Quantity, Self::Quantity)>;
    /// The offset of a variable that a loop around gives.
    fn own(&mut self, var: VarId) -> Option<Self::Quantity>;
    /// How many positions `pos` counts.
    fn count(&mut self, pos: VarId) -> Option<Self::Quantity>;
    /// The offset of the position at hand among those that `pos` counts.
    fn position(&mut self, pos: VarId) -> Option<Self::Quantity>;
    /// The tile of positions over whose coordinates `coord` runs.
    fn cut(&mut self, coord: VarId) -> Option<Cut<Self::Quantity>>;
    /// The offset of the parent at which a part begins, of the number that the part has.
    fn begin(&mut self, partition: &Partition, part: Self::Quantity) -> Option<Self::Quantity>;
    /// The offset of the parent that stands at a place of the list that a partition made of its values.
    fn value_at(&mut self, partition: &Partition, at: Self::Quantity) -> Option<Self::Quantity>;
    /// A number that sizes decide, or that is computed before the loops.
    fn size(&mut self, e: &SizeExpr) -> Option<Self::Quantity>;

    /// The most values that a bounded variable has at this place, if it is less than the bound.
    fn most(&mut self, _bounded: VarId) -> Option<Self::Quantity> {
        None
    }

    /// The number of values of a variable, as far as its own relation says.
    fn extent(&mut self, var: VarId) -> Option<Self::Quantity> {
        if let Some(most) = self.most(var) {
            return Some(most);
        }
        match self.graph().provenance.producer(var) {
            None => {
                let (lo, hi) = self.range(var)?;
                Some(hi.sub(lo))
            }
            Some(relation) => relation.extent(var, self),
        }
    }

    /// The offset of a variable, if the loops around tell it.
    fn offset(&mut self, var: VarId) -> Option<Self::Quantity> {
        self.by_parts(var).or_else(|| self.by_whole(var))
    }

    /// From its own loop, or the parts that it was taken apart into.
    fn by_parts(&mut self, var: VarId) -> Option<Self::Quantity> {
        if let Some(own) = self.own(var) {
            return Some(own);
        }
        let graph = self.graph();
        let mut consumers = graph.provenance.consumers(var);
        consumers.find_map(|relation| relation.parent_offset(var, self))
    }

    /// From the variables that it was made of.
    fn by_whole(&mut self, var: VarId) -> Option<Self::Quantity> {
        let relation = self.graph().provenance.producer(var)?;
        relation.child_offset(var, self)
    }

    /// Whether what the ranges read that `var` derives from is known.
    fn has_range(&mut self, var: VarId) -> bool {
        let roots = self.graph().provenance.roots(var);
        roots.into_iter().all(|root| self.range(root).is_some())
    }

    /// Where the values of a variable begin and end.
    fn bounds(&mut self, var: VarId) -> Option<(Self::Quantity, Self::Quantity)> {
        if self.graph().provenance.producer(var).is_none() {
            return self.range(var);
        }
        let lo = self.origin(var)?;
        Some((lo.clone(), lo.add(self.extent(var)?)))
    }

    /// The value of a variable where its offset is zero.
    fn origin(&mut self, var: VarId) -> Option<Self::Quantity> {
        match self.graph().provenance.producer(var) {
            None => Some(self.range(var)?.0),
            Some(relation) => relation.origin(var, self),
        }
    }

    /// What the loop over `var` determines of the variables that `var` derives from, as far up as
    /// it goes; `None` if a number of values on the way is not known.
    fn climb(&mut self, var: VarId) -> Option<Climb<Self::Quantity>> {
        let mut climb = Climb::at(var);
        let mut at = var;
        while let (Some(relation), Some(own)) =
            (self.graph().provenance.producer(at), climb.affine.clone())
        {
            match relation.lift(at, own, self)? {
                super::Lift::Open { end } => {
                    climb.ends.extend(end);
                    climb.top = match self.graph().provenance.is_stored(at) {
                        true => Top::Root(at),
                        false => Top::Nothing,
                    };
                    return Some(climb);
                }
                super::Lift::Top(top) => {
                    climb.top = top;
                    return Some(climb);
                }
                super::Lift::Scattered(root) => {
                    climb.top = Top::Root(root);
                    climb.affine = None;
                    climb.whole = false;
                    return Some(climb);
                }
                super::Lift::Whole {
                    whole,
                    affine,
                    overshoots,
                    left,
                } => {
                    let mut renamed = relation.is_renaming(&self.graph().provenance);
                    if let Some(left) = left {
                        climb.own &= !(left.all && at == var);
                        renamed |= left.all && at == var;
                        let offset = |end: Self::Quantity| {
                            end.sub(affine.base.clone()).ceil_div(&affine.stride)
                        };
                        climb.begins.extend(left.begins.into_iter().map(offset));
                        climb.ends.extend(left.ends.into_iter().map(offset));
                    }
                    if overshoots {
                        let left = self.extent(whole)?.sub(affine.base.clone());
                        climb.ends.push(left.ceil_div(&affine.stride));
                    }
                    // Levels store it: its loop goes through these, as far as the loops around leave.
                    if self.graph().provenance.is_stored(at) {
                        climb.whole = false;
                        climb.top = Top::Root(at);
                        return Some(climb);
                    }
                    climb.affine = Some(affine);
                    climb.whole &= renamed;
                    at = whole;
                }
            }
        }
        climb.top = Top::Root(at);
        Some(climb)
    }
}

/// Numbers of values that sizes and constants decide, for every place in the loops.
pub struct Sizes<'g>(pub &'g Graph);

impl<'g> Values<'g> for Sizes<'g> {
    type Quantity = SizeExpr;

    fn graph(&self) -> &'g Graph {
        self.0
    }

    fn range(&mut self, root: VarId) -> Option<(SizeExpr, SizeExpr)> {
        let (lo, hi) = self.0.static_range(root)?;
        Some((lo.clone(), hi.clone()))
    }

    fn own(&mut self, _: VarId) -> Option<SizeExpr> {
        None
    }

    fn count(&mut self, _: VarId) -> Option<SizeExpr> {
        None
    }

    fn position(&mut self, _: VarId) -> Option<SizeExpr> {
        None
    }

    fn cut(&mut self, _: VarId) -> Option<Cut<SizeExpr>> {
        None
    }

    fn begin(&mut self, _: &Partition, _: SizeExpr) -> Option<SizeExpr> {
        None
    }

    fn value_at(&mut self, _: &Partition, _: SizeExpr) -> Option<SizeExpr> {
        None
    }

    fn size(&mut self, e: &SizeExpr) -> Option<SizeExpr> {
        (!e.has_param()).then(|| e.clone())
    }
}

/// The operation, or its value where that is a constant.
fn sized(op: fn(Box<SizeExpr>, Box<SizeExpr>) -> SizeExpr, a: SizeExpr, b: SizeExpr) -> SizeExpr {
    let e = op(Box::new(a), Box::new(b));
    match e.eval(&|_| None, &|_| None) {
        Some(constant) => SizeExpr::Const(constant),
        None => e,
    }
}

impl Quantity for SizeExpr {
    fn int(n: i64) -> Self {
        SizeExpr::Const(n)
    }

    fn as_int(&self) -> Option<i64> {
        self.eval(&|_| None, &|_| None)
    }

    fn add(self, other: Self) -> Self {
        if self == SizeExpr::Const(0) {
            return other;
        }
        sized(SizeExpr::Add, self, other)
    }

    fn sub(self, other: Self) -> Self {
        if other == SizeExpr::Const(0) {
            return self;
        }
        sized(SizeExpr::Sub, self, other)
    }

    fn mul(self, other: Self) -> Self {
        sized(SizeExpr::Mul, self, other)
    }

    fn floor_div(self, by: Self) -> Self {
        sized(SizeExpr::FloorDiv, self, by)
    }

    fn at_least(self, other: Self) -> Self {
        sized(SizeExpr::Max, self, other)
    }
}
