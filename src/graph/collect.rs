//! What no order of loops computes in the order in which a sparse result is appended.
//!
//! Where another order walks all operands, the result's elements are collected as they come, sorted
//! and combined (see [`Graph::collected`]), and the result is read from them: `C(i,j) = A(i,k) *
//! B(k,j)` of matrices by rows, `B(i,j) = A(j,i)`. Where no order does, the operands that stand in
//! the way of the result's own order are brought into it first, in the same manner: `C(i,j) =
//! A(i,j) + A(j,i)`. Both cost what is stored, whatever the extents are.

mod listed;
mod operands;
pub(super) mod remarks;
mod rows;

use super::Graph;
use super::build::{Piece, lhs_first, not_orderable};
use super::distance::can_walk;
use super::fold::{as_literal, fold, is_fill};
use super::order::{choose, choose_behind, is_concordant, sparse_accesses};
use super::terms::{index, reads, reduces, replace, root_reduction};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::performance;
use crate::format::{TensorFormat, builtin};
use crate::program::ir::{
    Access, Expr, ExprKind, ReduceOp, Role, Statement, Tensor, TensorId, VarId,
};
use crate::scalar::{Literal, ScalarType};
use remarks::{is_term, unless_dense};

impl Graph {
    /// Whether the loops of a sparse result, in an order in which it can be appended, find all
    /// operands: by walking them, or by search where others say which elements are asked for.
    pub(super) fn is_in_order(&self, piece: &Piece, vars: &[VarId]) -> bool {
        let simple = piece.root_reduction() || reduces(&piece.rhs).is_empty();
        let order = match simple {
            true => choose(self, piece.tensor, &piece.lhs, &piece.rhs, vars),
            false => lhs_first(self, piece, vars),
        };
        let accesses = sparse_accesses(self, &piece.rhs);
        let ascending = self.ascending(piece);
        let any_order =
            |access: &Access| self.is_in_any_order(access, &order, piece, ascending.as_deref());
        let in_order = accesses.iter().all(any_order);
        let (walked, searched): (Vec<Access>, Vec<Access>) = accesses
            .into_iter()
            .partition(|access| is_concordant(self, access, &order));
        let is_searchable = |access: &Access| {
            let format = &self.tensor(access.tensor).format;
            format.levels.iter().all(|level| level.is_searchable())
        };
        order.len() == vars.len()
            && in_order
            && searched.iter().all(is_searchable)
            && !self.tries_rows(piece, vars)
            && (searched.is_empty()
                || (reduces(&piece.rhs).is_empty() && self.is_found_by(piece, &walked)))
    }

    /// Whether nothing is stored where all of these operands are absent, and they say which
    /// coordinates of the result's levels there are.
    fn is_found_by(&self, piece: &Piece, walked: &[Access]) -> bool {
        let format = &self.tensor(piece.tensor).format;
        let told = |var: VarId| {
            walked.iter().any(|access| {
                let format = &self.tensor(access.tensor).format;
                let mut levels = format.levels.iter().zip(&format.modes);
                levels.any(|(&level, &mode)| {
                    !level.is_full() && can_walk(level, &access.subscripts[mode], var)
                })
            })
        };
        let mut levels = format.levels.iter().zip(&format.modes);
        if !levels.all(|(level, &mode)| level.is_placed() || told(piece.lhs[mode])) {
            return false;
        }
        is_fill(&self.without(&piece.rhs, walked), self.tensor(piece.tensor))
    }

    /// The expression where the operands are absent.
    pub(crate) fn without(&self, e: &Expr, absent: &[Access]) -> Expr {
        let gone = |access: &Access| {
            let gone = absent.iter().any(|a| super::equal::same_access(a, access));
            gone.then(|| self.tensor(access.tensor).fill)
        };
        fold(e, &gone, &|access| self.exact(access))
    }

    /// Gives loops to a statement whose sparse result they cannot append in order.
    pub(super) fn collect(
        &mut self,
        piece: &Piece,
        vars: &[VarId],
        stmt: &Statement,
    ) -> Result<(), Diagnostic> {
        let sums = reduces(&piece.rhs);
        if sums.is_empty() || piece.root_reduction() {
            if let Some(by) = self.by_rows(piece, vars) {
                let mut tried = self.clone();
                if tried.through_rows(piece, &by, stmt)? {
                    *self = tried;
                    return Ok(());
                }
            }
            if self.can_collect(piece, vars) {
                return self.through_sorted(piece, stmt);
            }
        } else {
            let order = lhs_first(self, piece, vars);
            let crossed = |sum: &&Expr| {
                let accesses = sparse_accesses(self, sum);
                let ascending = self.ascending(piece);
                let walked = |a| self.walks(a, &order, piece, ascending.as_deref());
                !accesses.iter().all(walked)
            };
            if let Some(sum) = sums.iter().find(crossed).cloned() {
                return self.through_sum(piece, &sum, stmt);
            }
        }
        self.through_ordered(piece, vars, stmt)
    }

    /// Whether loops in some order walk all operands, and what is not come to is the fill.
    fn can_collect(&self, piece: &Piece, vars: &[VarId]) -> bool {
        let free = choose_behind(self, &[], &piece.lhs, &piece.rhs, vars);
        let result = self.tensor(piece.tensor);
        let accesses = sparse_accesses(self, &piece.rhs);
        let neutral = root_reduction(&piece.rhs, piece.op)
            .is_none_or(|(op, ..)| op.neutral(piece.rhs.ty.compute()).same_value(result.fill));
        free.len() == vars.len()
            && neutral
            && !reads(&piece.rhs, piece.tensor)
            && accesses.iter().all(|a| self.walks(a, &free, piece, None))
    }

    /// The result's elements as the loops come to them, sorted, then the result.
    fn through_sorted(&mut self, piece: &Piece, stmt: &Statement) -> Result<(), Diagnostic> {
        let result = self.tensor(piece.tensor).clone();
        let modes = result.format.modes.clone();
        let ty = piece.rhs.ty.compute();
        let temp = self.add_collected(Tensor {
            name: format!("{}_met", result.name),
            role: Role::Temporary,
            ty,
            format: sorted_by(modes, result.format.index_bits),
            ..result.clone()
        });
        let has_room = self.has_room_for_rows(piece);
        let remark = Diagnostic::performance(
            performance::WORKSPACE,
            stmt.span,
            format!(
                "the elements of `{}` are brought into order first",
                result.name
            ),
            match has_room {
                true => "the loops do not come to them in the order in which they are stored",
                false => "a workspace for one of its rows would take more than 64 MiB",
            },
        );
        self.remarks.push(match has_room {
            true => unless_dense(remark, self, stmt),
            false => remark,
        });
        self.add_piece(
            Piece {
                tensor: temp,
                ..piece.clone()
            },
            stmt,
        )?;
        let rhs = read(temp, &piece.lhs, ty, &piece.rhs);
        self.add_piece(
            Piece {
                op: None,
                rhs,
                ..piece.clone()
            },
            stmt,
        )
    }

    /// One of several sums as a tensor of its own, which stores what the sum comes to.
    fn through_sum(
        &mut self,
        piece: &Piece,
        sum: &Expr,
        stmt: &Statement,
    ) -> Result<(), Diagnostic> {
        let used = self.used_by(sum, &piece.lhs);
        let ExprKind::Reduce { op, body, .. } = &sum.kind else {
            return Err(not_orderable(self, piece, stmt));
        };
        let result = self.tensor(piece.tensor).clone();
        let dims: Option<Vec<_>> = used
            .iter()
            .map(|&var| Some(self.static_range(var)?.1.clone()))
            .collect();
        let Some(dims) = dims else {
            return Err(not_orderable(self, piece, stmt));
        };
        let modes = result.format.modes.iter();
        let modes = modes.filter_map(|&mode| used.iter().position(|&v| v == piece.lhs[mode]));
        let sparse = !used.is_empty() && self.sum_is_sparse(*op, body);
        let format = match sparse {
            true => sorted_by(modes.collect(), result.format.index_bits),
            false => TensorFormat::dense(used.len()),
        };
        let temp = Tensor {
            name: format!("{}_sum", result.name),
            span: sum.span,
            role: Role::Temporary,
            ty: sum.ty.compute(),
            format,
            dims,
            fill: match sparse {
                true => op.neutral(sum.ty.compute()),
                false => Literal::ZERO,
            },
        };
        let remark = Diagnostic::performance(
            performance::WORKSPACE,
            stmt.span,
            "a sum is computed into a temporary tensor first",
            "its loops cannot stand inside those of the result",
        );
        // A dense result gets its terms one after the other.
        self.remarks.push(match is_term(sum, &piece.rhs) {
            true => unless_dense(remark, self, stmt),
            false => remark,
        });
        let temp = self.add_tensor(temp);
        self.add_piece(
            Piece {
                stmt: piece.stmt,
                tensor: temp,
                lhs: used.clone(),
                op: None,
                rhs: sum.clone(),
            },
            stmt,
        )?;
        let mut rhs = piece.rhs.clone();
        replace(&mut rhs, sum, &read(temp, &used, sum.ty.compute(), sum));
        self.add_piece(
            Piece {
                rhs,
                ..piece.clone()
            },
            stmt,
        )
    }

    /// Whether a sum comes to nothing where all of its sparse operands are absent.
    fn sum_is_sparse(&self, op: ReduceOp, body: &Expr) -> bool {
        let rest = self.without(body, &sparse_accesses(self, body));
        as_literal(&rest).is_some_and(|value| value.same_value(op.neutral(body.ty.compute())))
    }

    /// Operands that the loops cannot walk in the result's order, brought into it first.
    fn through_ordered(
        &mut self,
        piece: &Piece,
        vars: &[VarId],
        stmt: &Statement,
    ) -> Result<(), Diagnostic> {
        let order = match piece.root_reduction() || reduces(&piece.rhs).is_empty() {
            true => choose(self, piece.tensor, &piece.lhs, &piece.rhs, vars),
            false => lhs_first(self, piece, vars),
        };
        if order.len() < vars.len() {
            return Err(not_orderable(self, piece, stmt));
        }
        let ascending = self.ascending(piece);
        let rhs = self.walked_in(&order, (piece, ascending.as_deref()), stmt)?;
        let accesses = sparse_accesses(self, &rhs);
        let walked = accesses.iter().all(|a| is_concordant(self, a, &order));
        let piece = Piece {
            rhs,
            ..piece.clone()
        };
        if !walked {
            self.push_nest(piece, &order, stmt);
            return Ok(());
        }
        self.add_piece(piece, stmt)
    }

    pub(super) fn add_collected(&mut self, tensor: Tensor) -> TensorId {
        let id = self.add_tensor(tensor);
        self.collected.push(id);
        id
    }
}

/// Coordinates beside each other, sorted by the modes in this order.
pub(super) fn sorted_by(modes: Vec<usize>, index_bits: u8) -> TensorFormat {
    TensorFormat {
        index_bits,
        ..TensorFormat::whole(builtin::coordinates(modes.len()), modes)
    }
}

/// `tensor(vars)`, where `near` stands.
fn read(tensor: TensorId, vars: &[VarId], ty: ScalarType, near: &Expr) -> Expr {
    let subscripts = vars.iter().map(|&var| index(var, near)).collect();
    read_at(Access { tensor, subscripts }, ty, near)
}

/// The access, where `near` stands.
fn read_at(access: Access, ty: ScalarType, near: &Expr) -> Expr {
    Expr {
        kind: ExprKind::Access(access),
        ty,
        span: near.span,
    }
}
