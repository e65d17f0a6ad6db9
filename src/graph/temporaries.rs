//! Sums that are computed into a temporary tensor first.

use super::Graph;
use super::build::{Piece, not_orderable};
use super::order::sparse_accesses;
use super::terms::{converted_sum, index, reduces, replace, root_reduction};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::performance;
use crate::format::TensorFormat;
use crate::program::ir::{Access, Bound, Expr, ExprKind, Role, Statement, Tensor};
use crate::scalar::Literal;

impl Graph {
    /// Computes every sum of the piece that its own loops cannot hold into a
    /// dense temporary first.
    pub(super) fn through_temporary(
        &mut self,
        piece: &Piece,
        stmt: &Statement,
    ) -> Result<(), Diagnostic> {
        if piece.lhs.iter().any(|&v| self.is_told_by_sum(piece, v)) {
            return self.through_wide(piece, stmt);
        }
        let mut rhs = piece.rhs.clone();
        for sum in reduces(&piece.rhs) {
            let used = self.used_by(&sum, &piece.lhs);
            let mut dims = Vec::new();
            for &var in &used {
                let Bound::Static(hi) = &self.var(var).range.hi else {
                    return Err(not_orderable(self, piece, stmt));
                };
                dims.push(hi.clone());
            }
            let name = format!("{}_sum", self.tensor(piece.tensor).name);
            let temp = self.add_tensor(Tensor {
                name,
                span: sum.span,
                role: Role::Temporary,
                ty: sum.ty,
                format: TensorFormat::dense(dims.len()),
                dims,
                fill: Literal::ZERO,
            });
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
            let read = Expr {
                kind: ExprKind::Access(Access {
                    tensor: temp,
                    subscripts: used.iter().map(|&v| index(v, &sum)).collect(),
                }),
                ty: sum.ty.compute(),
                span: sum.span,
            };
            replace(&mut rhs, &sum, &read);
        }
        if !sparse_accesses(self, &piece.rhs).is_empty() {
            self.remarks.push(Diagnostic::performance(
                performance::WORKSPACE,
                stmt.span,
                "a sum is computed into a temporary tensor first",
                "its loops cannot stand inside those of the result",
            ));
        }
        self.add_piece(
            Piece {
                rhs,
                ..piece.clone()
            },
            stmt,
        )
    }

    /// Computes sums that go where data say in the type in which terms are added: their result
    /// converts what it stores, and would do so for each term.
    pub(super) fn through_wide(
        &mut self,
        piece: &Piece,
        stmt: &Statement,
    ) -> Result<(), Diagnostic> {
        let result = self.tensor(piece.tensor).clone();
        let (Some(op), Some(sum)) = (piece.op, converted_sum(&piece.rhs)) else {
            return Err(not_orderable(self, piece, stmt));
        };
        let (sum, ty) = (sum.clone(), sum.ty);
        if root_reduction(&sum, piece.op).is_none() || ty != ty.compute() {
            return Err(not_orderable(self, piece, stmt));
        }
        self.remarks.push(Diagnostic::performance(
            performance::WORKSPACE,
            stmt.span,
            format!(
                "the sums of `{}` are computed into a temporary tensor first",
                result.name
            ),
            format!(
                "each term would be converted to {} where it is added",
                result.ty
            ),
        ));
        let whole = self.whole_vars(&piece.lhs, &result.dims);
        let all = Statement {
            lhs: whole.clone(),
            vars: whole.clone(),
            ..stmt.clone()
        };
        let temp = self.add_tensor(Tensor {
            name: format!("{}_sum", result.name),
            role: Role::Temporary,
            ty,
            format: TensorFormat::dense(result.order()),
            ..result
        });
        let literal = |value| Expr {
            kind: ExprKind::Literal(value),
            ty,
            span: piece.rhs.span,
        };
        let sums = Expr {
            kind: ExprKind::Access(Access {
                tensor: temp,
                subscripts: whole.iter().map(|&v| index(v, &piece.rhs)).collect(),
            }),
            ty,
            span: piece.rhs.span,
        };
        let over_all = |tensor, op, rhs| Piece {
            stmt: piece.stmt,
            tensor,
            lhs: whole.clone(),
            op,
            rhs,
        };
        self.add_piece(over_all(temp, None, literal(op.neutral(ty))), &all)?;
        self.add_piece(
            Piece {
                tensor: temp,
                rhs: sum.clone(),
                ..piece.clone()
            },
            stmt,
        )?;
        let mut rhs = piece.rhs.clone();
        replace(&mut rhs, &sum, &sums);
        self.add_piece(over_all(piece.tensor, Some(op), rhs), &all)
    }
}
