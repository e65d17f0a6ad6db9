//! Operands that loops cannot walk, brought into an order in which they can.

use super::{Piece, read, sorted_by};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::performance;
use crate::format::{Level, TensorFormat};
use crate::graph::build::search_remark;
use crate::graph::equal::same_access;
use crate::graph::order::{is_concordant, sparse_accesses, vars_in};
use crate::graph::terms::{rename_expr, replace};
use crate::graph::{Graph, visit};
use crate::program::ir::{
    Access, Expr, ExprKind, Role, SizeExpr, Statement, Tensor, TensorId, VarId,
};

/// An operand that can be brought into another order, as a tensor of `dims` over the variables of
/// its access.
pub(super) struct Sortable {
    vars: Vec<VarId>,
    dims: Vec<SizeExpr>,
    /// Whether data decide how far some of them run.
    whole: bool,
}

impl Graph {
    /// How the elements that an access reads can be brought into another order. `None` if data
    /// decide how far a variable runs that a subscript computes with.
    pub(super) fn sortable(&self, access: &Access) -> Option<Sortable> {
        let dims = &self.tensor(access.tensor).dims;
        let plain: Option<Vec<VarId>> = access.subscripts.iter().map(Expr::as_var).collect();
        if let Some(vars) = plain
            && (1..vars.len()).all(|at| !vars[..at].contains(&vars[at]))
        {
            return Some(Sortable {
                whole: vars.iter().any(|&var| self.static_range(var).is_none()),
                dims: dims.clone(),
                vars,
            });
        }
        let mut vars = Vec::new();
        for var in access.subscripts.iter().flat_map(vars_in) {
            if !vars.contains(&var) {
                vars.push(var);
            }
        }
        let dims: Option<Vec<SizeExpr>> = vars
            .iter()
            .map(|&var| Some(self.static_range(var)?.1.clone()))
            .collect();
        Some(Sortable {
            dims: dims?,
            vars,
            whole: false,
        })
    }

    /// The right side with operands that loops in this order can walk: sorted ones for those that
    /// they cannot, but where that is not possible.
    pub(super) fn walked_in(
        &mut self,
        order: &[VarId],
        piece: &Piece,
        stmt: &Statement,
    ) -> Result<Expr, Diagnostic> {
        let mut rhs = piece.rhs.clone();
        for access in sparse_accesses(self, &piece.rhs) {
            if is_concordant(self, &access, order) {
                continue;
            }
            let (Some(sortable), Some(near)) = (self.sortable(&access), occurrence(&rhs, &access))
            else {
                let remark = search_remark(self, &access, stmt);
                self.remarks.push(remark);
                continue;
            };
            let Sortable { vars, dims, whole } = sortable;
            let operand = self.tensor(access.tensor).clone();
            let mut modes: Vec<usize> = (0..vars.len()).collect();
            modes.sort_by_key(|&mode| order.iter().position(|&var| var == vars[mode]));
            self.remarks.push(Diagnostic::performance(
                performance::WORKSPACE,
                stmt.span,
                format!("`{}` is brought into another order first", operand.name),
                format!(
                    "it cannot be walked in the order in which `{}` is appended",
                    self.tensor(piece.tensor).name
                ),
            ));
            let temp = self.add_collected(Tensor {
                name: format!("{}_sorted", operand.name),
                role: Role::Temporary,
                format: sorted_by(modes.clone(), operand.format.index_bits),
                dims: dims.clone(),
                ..operand
            });
            // All of it where the ranges of loops in the result's order are no ranges of others.
            let lhs = match whole {
                true => self.whole_vars(&vars, &dims),
                false => vars.clone(),
            };
            let mut element = near.clone();
            rename_expr(&mut element, &|var| {
                let at = vars.iter().position(|&own| own == var);
                at.map_or(var, |at| lhs[at])
            });
            let copied = Statement {
                lhs: lhs.clone(),
                vars: match whole {
                    true => lhs.clone(),
                    false => stmt.vars.clone(),
                },
                ..stmt.clone()
            };
            self.add_piece(
                Piece {
                    stmt: piece.stmt,
                    tensor: temp,
                    lhs: lhs.clone(),
                    op: None,
                    rhs: element,
                },
                &copied,
            )?;
            let outermost = |mode: usize| order.first() == Some(&vars[mode]);
            let found = match modes.first() {
                Some(&mode) if !outermost(mode) => self.with_rows(temp, piece, &lhs, &copied)?,
                Some(_) | None => temp,
            };
            replace(&mut rhs, &near, &read(found, &vars, near.ty, &near));
        }
        Ok(rhs)
    }

    /// The elements of a sorted operand by rows, of which inner loops find any at once: the result
    /// has a dense level, so that another does not take more.
    fn with_rows(
        &mut self,
        sorted: TensorId,
        piece: &Piece,
        vars: &[VarId],
        stmt: &Statement,
    ) -> Result<TensorId, Diagnostic> {
        let has_dense = |tensor: TensorId| {
            let levels = &self.tensor(tensor).format.levels;
            levels.iter().any(|level| level.is_full())
        };
        let outer = match has_dense(piece.tensor) {
            true => Level::DENSE,
            false => Level::COMPRESSED,
        };
        let tensor = self.tensor(sorted).clone();
        let mut levels = vec![Level::COMPRESSED; tensor.order()];
        levels[0] = outer;
        let ty = tensor.ty.compute();
        let rows = self.add_tensor(Tensor {
            name: format!("{}_rows", tensor.name),
            format: TensorFormat {
                levels,
                ..tensor.format.clone()
            },
            ..tensor
        });
        let near = &piece.rhs;
        self.add_piece(
            Piece {
                stmt: piece.stmt,
                tensor: rows,
                lhs: vars.to_vec(),
                op: None,
                rhs: read(sorted, vars, ty, near),
            },
            stmt,
        )?;
        Ok(rows)
    }
}

/// The access as it stands in the expression.
fn occurrence(e: &Expr, access: &Access) -> Option<Expr> {
    let mut found = None;
    visit(e, &mut |node| {
        if let ExprKind::Access(own) = &node.kind
            && found.is_none()
            && same_access(own, access)
        {
            found = Some(node.clone());
        }
    });
    found
}
