//! Operands that are stored by diagonals.
//!
//! Such an operand is a tensor of diagonals: what the program calls A(i,j) is the element (j - i + M - 1, i) of a matrix
//! of M rows that is stored as `dia`. Where the result adds up what loops come to, i and j are skewed as by
//! `skew(i, j, -1)` before a command comes, counted from zero, and the skewed variable walks the diagonals. Which
//! rows a diagonal has, or diagonals a row, follows from that relation. Everywhere else the diagonal of each element is
//! searched.

use super::blocks::subscripts_as_stored;
use super::equal::same;
use super::order::sparse_accesses;
use super::relation::{Relation, Skew};
use super::terms::index;
use super::{Graph, Loop, Nest};
use crate::format::Part;
use crate::program::ir::{
    Access, BinaryOp, Bound, Expr, ExprKind, Function, IndexVar, Literal, Range, Shared, SizeExpr,
    VarId,
};
use crate::program::ranges::size;
use crate::scalar::ScalarType;

/// Reads elements of diagonals where the function's expressions read elements of operands that are stored so,
/// and not in slots, too.
pub fn read_diagonals(function: &Function, e: &mut Expr) {
    e.walk_mut(&mut |node| {
        if let ExprKind::Access(access) = &mut node.kind
            && let Some(tensor) = function.tensors.get(access.tensor.index())
            && tensor.format.has_diagonals()
            && tensor.format.slots().is_none()
        {
            let given = std::mem::take(&mut access.subscripts);
            let stored = (&tensor.format, tensor.dims.as_slice());
            access.subscripts = subscripts_as_stored(stored, &given, None);
        }
    });
}

/// How many diagonals a matrix has.
pub(super) fn diagonals(across: &SizeExpr, along: &SizeExpr) -> SizeExpr {
    let both = SizeExpr::Add(Box::new(across.clone()), Box::new(along.clone()));
    size::simplify(&SizeExpr::Sub(Box::new(both), Box::new(SizeExpr::Const(1))))
}

/// The diagonal of an element, from the lowest one on.
pub(super) fn diagonal(across: &Expr, along: &Expr, rows: &SizeExpr) -> Expr {
    let whole = |kind| Expr {
        kind,
        ty: ScalarType::I64,
        span: across.span,
    };
    let last = SizeExpr::Sub(Box::new(rows.clone()), Box::new(SizeExpr::Const(1)));
    let last = size::simplify(&last);
    let last = if let SizeExpr::Const(n) = last {
        ExprKind::Literal(Literal::Int(n))
    } else {
        ExprKind::Size(last)
    };
    let offset = ExprKind::Binary(
        BinaryOp::Sub,
        Shared::new(across.clone()),
        Shared::new(along.clone()),
    );
    whole(ExprKind::Binary(
        BinaryOp::Add,
        Shared::new(whole(offset)),
        Shared::new(whole(last)),
    ))
}

/// The variables j and i of the diagonal of an element (i,j).
pub(super) fn on_diagonal(e: &Expr) -> Option<(VarId, VarId)> {
    if let ExprKind::Binary(BinaryOp::Add, offset, _) = &e.kind
        && let ExprKind::Binary(BinaryOp::Sub, across, along) = &offset.kind
    {
        return across.as_var().zip(along.as_var());
    }
    None
}

impl Graph {
    /// Whether an operand is stored by diagonals.
    pub(super) fn is_on_diagonals(&self, access: &Access) -> bool {
        let declared = self.function.tensors.get(access.tensor.index());
        declared.is_some_and(|t| t.format.has_diagonals())
    }

    /// Gives a nest loops over the diagonals of an operand that is stored by them, and the places on each.
    pub(super) fn follow_diagonals(&mut self, nest: &mut Nest) {
        let accesses = sparse_accesses(self, &nest.rhs);
        let found = accesses.iter().find_map(|access| {
            let declared = self.function.tensors.get(access.tensor.index())?;
            let mut parts = declared.format.modes.iter().zip(&declared.format.parts);
            parts.find_map(|(&mode, part)| {
                let Part::Diagonal(along) = *part else {
                    return None;
                };
                let (j, i) = on_diagonal(&access.subscripts[mode])?;
                let whole = |var: VarId, mode: usize| self.covers(var, &declared.dims[mode]);
                let own = access.subscripts[along].as_var() == Some(i);
                let free = |var| self.is_free(nest, &accesses, var);
                let plain =
                    own && i != j && whole(j, mode) && whole(i, along) && free(i) && free(j);
                plain.then(|| (i, j, access.subscripts[mode].clone()))
            })
        });
        let Some((outer, inner, diagonal)) = found else {
            return;
        };
        let appended = super::pattern::appended(self, nest);
        let apart = Skew::is_between(&self.provenance, outer, inner);
        if !apart || !self.adds_up(nest) || appended.contains(&inner) || appended.contains(&outer) {
            return;
        }
        let skew = self.skew_of(outer, inner);
        nest.rhs.walk_mut(&mut |node| {
            let ExprKind::Access(access) = &mut node.kind else {
                return;
            };
            for subscript in &mut access.subscripts {
                if same(subscript, &diagonal) {
                    *subscript = index(skew.skewed, subscript);
                }
            }
        });
        // Both stand where the first of the two loops stood, as they are stored.
        let at = |l: &Loop| l.var == outer || l.var == inner;
        let first = nest.loops.iter().position(at).unwrap_or_default();
        nest.loops.retain(|l| !at(l));
        let own = [skew.skewed, skew.kept].map(Loop::serial);
        nest.loops.splice(first..first, own);
    }

    /// The diagonals of two variables, those of another nest if it follows the same.
    fn skew_of(&mut self, outer: VarId, inner: VarId) -> Skew {
        let known = self.provenance.consumers(inner).find_map(|relation| {
            let Relation::Skew(skew) = relation else {
                return None;
            };
            (skew.outer == outer && skew.from_zero).then_some(*skew)
        });
        if let Some(skew) = known {
            return skew;
        }
        let (along, across) = (self.var(outer).clone(), self.var(inner).clone());
        let part = |graph: &mut Graph, of: &IndexVar, name: String, extent: SizeExpr| {
            let name = graph.fresh_name(&name);
            let range = Range {
                lo: Bound::Static(SizeExpr::Const(0)),
                hi: Bound::Static(extent),
            };
            graph.add_var(IndexVar {
                name,
                range,
                ..of.clone()
            })
        };
        let extent = |of: &IndexVar| match &of.range.hi {
            Bound::Static(hi) => hi.clone(),
            Bound::Dynamic(_) => SizeExpr::Const(0),
        };
        let all = diagonals(&extent(&across), &extent(&along));
        let (i, j) = (&along.name, &across.name);
        let skew = Skew {
            outer,
            inner,
            kept: part(self, &along, format!("{i}_d"), extent(&along)),
            skewed: part(self, &across, format!("{j}_{i}"), all),
            factor: -1,
            from_zero: true,
        };
        self.provenance.relations.push(Relation::Skew(skew));
        self.provenance.stored.push(skew.skewed);
        skew
    }
}
