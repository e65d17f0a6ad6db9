//! The offset of a variable as a sum of the loops that it was taken apart into.

use crate::graph::Graph;
use crate::graph::relation::{Cut, Partition, Quantity, Values};
use crate::program::ir::{SizeExpr, VarId};
use crate::sums::Sum;

/// A sum of multiples of loop variables, in the order of the parts.
pub(super) type Steps = Sum<VarId>;

impl Steps {
    /// The offset of `var` as such a sum. `None` if it is none.
    pub fn of(graph: &Graph, var: VarId, loops: &[VarId]) -> Option<Steps> {
        Loops { graph, loops }.by_parts(var)?
    }
}

/// `None` is what is no such sum.
impl Quantity for Option<Steps> {
    fn int(constant: i64) -> Self {
        Some(Sum::number(constant))
    }

    fn as_int(&self) -> Option<i64> {
        self.as_ref()?.as_constant()
    }

    fn add(self, other: Self) -> Self {
        let mut sum = self?;
        sum.add_sum(other?, 1)?;
        Some(sum)
    }

    fn sub(self, other: Self) -> Self {
        let mut sum = self?;
        sum.add_sum(other?, -1)?;
        Some(sum)
    }

    fn mul(self, other: Self) -> Self {
        let mut product = Sum::default();
        match (self.as_int(), other.as_int()) {
            (_, Some(n)) => product.add_sum(self?, n)?,
            (Some(n), None) => product.add_sum(other?, n)?,
            (None, None) => return None,
        }
        Some(product)
    }

    fn floor_div(self, by: Self) -> Self {
        let constant = self.as_int()?.checked_div_euclid(by.as_int()?)?;
        Self::int(constant)
    }

    fn at_least(self, other: Self) -> Self {
        Self::int(self.as_int()?.max(other.as_int()?))
    }
}

/// What loops say of the variables that they were made of.
struct Loops<'a, 'g> {
    graph: &'g Graph,
    loops: &'a [VarId],
}

impl<'g> Values<'g> for Loops<'_, 'g> {
    type Quantity = Option<Steps>;

    fn graph(&self) -> &'g Graph {
        self.graph
    }

    fn range(&mut self, root: VarId) -> Option<(Option<Steps>, Option<Steps>)> {
        let constant = |e: &SizeExpr| e.as_int().and_then(Quantity::int);
        let (lo, hi) = self.graph.static_range(root)?;
        Some((constant(lo), constant(hi)))
    }

    fn own(&mut self, var: VarId) -> Option<Option<Steps>> {
        self.loops.contains(&var).then(|| {
            let mut own = Sum::default();
            own.add(var, 1)?;
            Some(own)
        })
    }

    fn count(&mut self, _: VarId) -> Option<Option<Steps>> {
        None
    }

    fn position(&mut self, _: VarId) -> Option<Option<Steps>> {
        None
    }

    fn cut(&mut self, _: VarId) -> Option<Cut<Option<Steps>>> {
        None
    }

    fn begin(&mut self, _: &Partition, _: Option<Steps>) -> Option<Option<Steps>> {
        None
    }

    fn value_at(&mut self, _: &Partition, _: Option<Steps>) -> Option<Option<Steps>> {
        None
    }

    fn size(&mut self, e: &SizeExpr) -> Option<Option<Steps>> {
        e.as_int().map(Quantity::int)
    }
}
