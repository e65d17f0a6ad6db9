//! What no order of loops computes in the order in which a sparse result is appended.
//!
//! Where another order walks all operands, the result's elements are collected as they come, sorted and
//! combined (see [`Graph::collected`]), and the result is read from them: `C(i,j) = A(i,k) * B(k,j)`
//! of matrices by rows, `B(i,j) = A(j,i)`. Where no order does, the operands that stand in the way of the
//! result's own order are brought into it first, in the same manner: `C(i,j) = A(i,j) + A(j,i)`. Both
//! cost what is stored, whatever the extents are.

mod rows;

use super::build::{Piece, lhs_first, not_orderable};
use super::fold::{as_literal, fold};
use super::order::{choose, choose_behind, is_concordant, sparse_accesses, vars_in};
use super::terms::{index, reads, reduces, rename_expr, replace, root_reduction};
use super::{Graph, visit};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::performance;
use crate::format::{Level, TensorFormat, builtin};
use crate::program::ir::{
    Access, Expr, ExprKind, ReduceOp, Role, SizeExpr, Statement, Tensor, TensorId, VarId,
};
use crate::scalar::{Literal, ScalarType};

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
        let (walked, searched): (Vec<Access>, Vec<Access>) = accesses
            .into_iter()
            .partition(|access| is_concordant(self, access, &order));
        order.len() == vars.len()
            && !self.tries_rows(piece, vars)
            && (searched.is_empty()
                || (reduces(&piece.rhs).is_empty() && self.is_found_by(piece, &walked)))
    }

    /// Whether nothing is stored where all of these operands are absent, and they say which
    /// coordinates of the result's levels there are.
    fn is_found_by(&self, piece: &Piece, walked: &[Access]) -> bool {
        let format = &self.tensor(piece.tensor).format;
        let told = |var: VarId| {
            let mut levels = walked.iter().map(|access| {
                let level = self.level_of(access, var)?;
                let stored = &self.tensor(access.tensor).format.levels[level];
                Some(!stored.is_full())
            });
            levels.any(|told| told == Some(true))
        };
        let mut levels = format.levels.iter().zip(&format.modes);
        if !levels.all(|(level, &mode)| level.is_placed() || told(piece.lhs[mode])) {
            return false;
        }
        let rest = self.without(&piece.rhs, walked);
        let fill = self.tensor(piece.tensor).fill;
        as_literal(&rest).is_some_and(|value| value.same_value(fill))
    }

    /// The expression where the operands are absent.
    fn without(&self, e: &Expr, absent: &[Access]) -> Expr {
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
            if let Some((loops, rows)) = self.by_rows(piece, vars) {
                let rhs = self.walked_in(&loops, piece, stmt)?;
                let piece = Piece {
                    rhs,
                    ..piece.clone()
                };
                self.through_rows(&piece, (&loops, rows), stmt);
                return Ok(());
            }
            if self.can_collect(piece, vars) {
                return self.through_sorted(piece, stmt);
            }
        } else {
            let order = lhs_first(self, piece, vars);
            let crossed = |sum: &&Expr| {
                let accesses = sparse_accesses(self, sum);
                accesses.iter().any(|a| !is_concordant(self, a, &order))
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
            && accesses.iter().all(|a| is_concordant(self, a, &free))
    }

    /// How the elements that an access reads can be brought into another order. `None` if data decide how
    /// far a variable runs that a subscript computes with.
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
        self.remarks.push(Diagnostic::performance(
            performance::WORKSPACE,
            stmt.span,
            format!(
                "the elements of `{}` are collected and sorted first",
                result.name
            ),
            "the loops do not come to them in the order in which they are stored",
        ));
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
        self.remarks.push(Diagnostic::performance(
            performance::WORKSPACE,
            stmt.span,
            "a sum is computed into a temporary tensor first",
            "its loops cannot stand inside those of the result",
        ));
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
        let rhs = self.walked_in(&order, piece, stmt)?;
        self.add_piece(
            Piece {
                rhs,
                ..piece.clone()
            },
            stmt,
        )
    }

    /// The right side with operands that loops in this order can walk: sorted ones for those that
    /// they cannot.
    fn walked_in(
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
                return Err(not_orderable(self, piece, stmt));
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

    /// The elements of a sorted operand by rows, of which inner loops find any at once: the result has a
    /// dense level, so that another does not take more.
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

    pub(super) fn add_collected(&mut self, tensor: Tensor) -> TensorId {
        let id = self.add_tensor(tensor);
        self.collected.push(id);
        id
    }
}

/// An operand that can be brought into another order, as a tensor of `dims` over the variables of its access.
pub(super) struct Sortable {
    vars: Vec<VarId>,
    dims: Vec<SizeExpr>,
    /// Whether data decide how far some of them run.
    whole: bool,
}

/// Coordinates beside each other, sorted by the modes in this order.
pub(super) fn sorted_by(modes: Vec<usize>, index_bits: u8) -> TensorFormat {
    TensorFormat {
        levels: builtin::coordinates(modes.len()),
        modes,
        index_bits,
    }
}

/// The access as it stands in the expression.
fn occurrence(e: &Expr, access: &Access) -> Option<Expr> {
    let mut found = None;
    visit(e, &mut |node| {
        if let ExprKind::Access(own) = &node.kind
            && found.is_none()
            && super::equal::same_access(own, access)
        {
            found = Some(node.clone());
        }
    });
    found
}

/// `tensor(vars)`, where `near` stands.
fn read(tensor: TensorId, vars: &[VarId], ty: ScalarType, near: &Expr) -> Expr {
    Expr {
        kind: ExprKind::Access(Access {
            tensor,
            subscripts: vars.iter().map(|&var| index(var, near)).collect(),
        }),
        ty,
        span: near.span,
    }
}
