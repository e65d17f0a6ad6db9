//! What relations are asked with while loops are lowered: expressions of the kernel, from what the
//! scope at hand knows.

use super::{Lowerer, Scope};
use crate::graph::Graph;
use crate::graph::relation::{Cut, Partition, Quantity, Values};
use crate::loops::build as b;
use crate::loops::ir::{BinaryOp, Expr};
use crate::program::ir::{SizeExpr, VarId};

impl Quantity for Expr {
    fn int(n: i64) -> Self {
        b::int(n)
    }

    fn as_int(&self) -> Option<i64> {
        b::as_int(self)
    }

    fn add(self, other: Self) -> Self {
        b::add(self, other)
    }

    fn sub(self, other: Self) -> Self {
        b::sub(self, other)
    }

    fn mul(self, other: Self) -> Self {
        b::mul(self, other)
    }

    fn floor_div(self, by: Self) -> Self {
        b::binary(BinaryOp::FloorDiv, self, by)
    }

    fn at_least(self, other: Self) -> Self {
        b::max(self, other)
    }
}

/// A place in the loops.
pub(super) struct Here<'a, 'g> {
    lowerer: &'a Lowerer<'g>,
    scope: &'a Scope,
}

impl<'g> Lowerer<'g> {
    /// What the relations say at this place.
    pub(super) fn here<'a>(&'a self, scope: &'a Scope) -> Here<'a, 'g> {
        Here {
            lowerer: self,
            scope,
        }
    }
}

impl<'g> Values<'g> for Here<'_, 'g> {
    type Quantity = Expr;

    fn graph(&self) -> &'g Graph {
        self.lowerer.graph
    }

    fn range(&mut self, root: VarId) -> Option<(Expr, Expr)> {
        if !self.lowerer.range_is_known(root, self.scope) {
            return None;
        }
        self.lowerer.range(root, self.scope).ok()
    }

    fn own(&mut self, var: VarId) -> Option<Expr> {
        if let Some((id, level, begin)) = self.scope.spans.get(&var)
            && let Some(at) = self.scope.cursors[id.0].passed.get(level)
        {
            return Some(b::sub(at.clone(), begin.clone()));
        }
        let value = self.scope.coords.get(&var)?.clone();
        let origin = self.origin(var)?;
        Some(b::sub(value, origin))
    }

    fn count(&mut self, pos: VarId) -> Option<Expr> {
        self.lowerer.position_count(pos, self.scope)
    }

    fn position(&mut self, pos: VarId) -> Option<Expr> {
        self.lowerer.position_offset(pos, self.scope)
    }

    fn cut(&mut self, coord: VarId) -> Option<Cut<Expr>> {
        self.scope.cuts.get(&coord).cloned()
    }

    fn most(&mut self, bounded: VarId) -> Option<Expr> {
        // An inspected range is itself known where it ends. What a schedule promised is asked
        // besides: data may break it.
        let provenance = &self.graph().provenance;
        if provenance.is_measured(bounded) {
            return None;
        }
        let inspected = provenance
            .producer(bounded)
            .filter(|r| r.is_bounded() && r.promise().is_none());
        if let Some(parent) = inspected.map(|r| r.parents().0)
            && let Some(extent) = self.extent(parent)
        {
            return Some(extent);
        }
        self.scope.most.get(&bounded).cloned()
    }

    fn begin(&mut self, partition: &Partition, part: Expr) -> Option<Expr> {
        let begins = *self.scope.begins.get(&partition.part)?;
        Some(self.lowerer.load_index(begins, part))
    }

    fn value_at(&mut self, partition: &Partition, at: Expr) -> Option<Expr> {
        let listed = *self.scope.listed.get(&partition.part)?;
        Some(self.lowerer.load_index(listed, at))
    }

    fn size(&mut self, e: &SizeExpr) -> Option<Expr> {
        Some(self.lowerer.size_expr(e))
    }
}
