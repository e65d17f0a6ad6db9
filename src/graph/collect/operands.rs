//! Operands that loops cannot walk, brought into an order in which they can.

use super::remarks::Sorted;
use super::{Piece, read, read_at, sorted_by};
use crate::diagnostic::Diagnostic;
use crate::format::{Level, TensorFormat};
use crate::graph::Graph;
use crate::graph::build::search_remark;
use crate::graph::equal::{same, same_access};
use crate::graph::order::{sparse_accesses, vars_in};
use crate::graph::terms::index;
use crate::program::ir::{
    Access, Expr, ExprKind, Role, SizeExpr, Statement, Tensor, TensorId, VarId,
};

/// An operand that can be brought into another order, as a tensor of `dims`.
pub(super) struct Sortable {
    dims: Vec<SizeExpr>,
    /// The variables of the access that are its coordinates; `None` where all of a dimension is
    /// copied.
    vars: Vec<Option<VarId>>,
    /// How the statement reads it.
    subscripts: Vec<Expr>,
    /// Whether its elements are what the access reads, not those of the operand.
    computed: bool,
}

impl Graph {
    /// How the elements that an access reads can be brought into another order. `None` if data
    /// decide how far a variable runs that a subscript computes with.
    pub(super) fn sortable(&self, access: &Access) -> Option<Sortable> {
        let tensor = self.tensor(access.tensor);
        let ordered = tensor.format.levels.iter().all(|level| level.ordered);
        let plain: Option<Vec<VarId>> = access.subscripts.iter().map(Expr::as_var).collect();
        let plain = plain.filter(|vars| (1..vars.len()).all(|at| !vars[..at].contains(&vars[at])));
        if plain.is_some() || !ordered {
            let vars = match plain {
                Some(vars) => vars.into_iter().map(Some).collect(),
                None => vec![None; access.subscripts.len()],
            };
            // All of a dimension is copied where data decide the range of a variable, or where the operand
            // is stored in no order.
            let covers = |(var, dim): (&Option<VarId>, _)| var.is_some_and(|v| self.covers(v, dim));
            let part = |var: &Option<VarId>| var.is_some_and(|v| self.static_range(v).is_none());
            let whole = vars.iter().any(part) || !ordered;
            // What is copied as a whole has loops of its own, which no command for the statement's reaches.
            let all = vars.iter().zip(&tensor.dims).all(covers);
            let own =
                vars.iter()
                    .zip(&tensor.dims)
                    .map(|pair| match all || (whole && !covers(pair)) {
                        true => None,
                        false => *pair.0,
                    });
            return Some(Sortable {
                vars: own.collect(),
                dims: tensor.dims.clone(),
                subscripts: access.subscripts.clone(),
                computed: false,
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
        let near = access.subscripts.first()?;
        Some(Sortable {
            dims: dims?,
            subscripts: vars.iter().map(|&var| index(var, near)).collect(),
            vars: vars.into_iter().map(Some).collect(),
            computed: true,
        })
    }

    /// The right side for loops in this order, with sorted copies of the operands that such loops cannot walk, where
    /// copies are possible. The result gets the values of `ascending` in order.
    pub(super) fn walked_in(
        &mut self,
        order: &[VarId],
        (piece, ascending): (&Piece, Option<&[VarId]>),
        stmt: &Statement,
    ) -> Result<Expr, Diagnostic> {
        self.brought_into(order, piece, stmt, &|graph, access, piece| {
            graph.walks(access, order, piece, ascending)
        })
    }

    /// The right side with operands brought into this order, except for those that stay as they are and those
    /// that cannot be. `stays` is asked with the others as they are by then.
    pub(in crate::graph) fn brought_into(
        &mut self,
        order: &[VarId],
        piece: &Piece,
        stmt: &Statement,
        stays: &dyn Fn(&Graph, &Access, &Piece) -> bool,
    ) -> Result<Expr, Diagnostic> {
        let mut left = piece.clone();
        let mut done: Vec<Access> = Vec::new();
        loop {
            // Each round asks anew: a sorted copy may store what before only another operand did.
            let mut accesses = sparse_accesses(self, &left.rhs).into_iter();
            let is_done = |a: &Access| done.iter().any(|own| same_access(own, a));
            let Some(access) = accesses.find(|a| !is_done(a) && !stays(self, a, &left)) else {
                return Ok(left.rhs);
            };
            let (Some(sortable), Some(near)) =
                (self.sortable(&access), occurrence(&left.rhs, &access))
            else {
                let remark = search_remark(self, &access, stmt);
                self.remarks.push(remark);
                done.push(access);
                continue;
            };
            let access = self.sorted_copy(order, (piece, stmt), &access, sortable, &near)?;
            let own = read_at(access.clone(), near.ty, &near);
            // In subscripts, too.
            left.rhs.walk_mut(&mut |node| {
                if same(node, &near) {
                    *node = own.clone();
                }
            });
            done.push(access);
        }
    }

    /// A copy of an operand, sorted by this order of loops, that a statement of its own makes; how it is read.
    fn sorted_copy(
        &mut self,
        order: &[VarId],
        (piece, stmt): (&Piece, &Statement),
        access: &Access,
        sortable: Sortable,
        near: &Expr,
    ) -> Result<Access, Diagnostic> {
        let Sortable {
            dims,
            vars,
            subscripts,
            computed,
        } = sortable;
        let operand = self.tensor(access.tensor).clone();
        let place = |mode: usize| {
            let at = order
                .iter()
                .position(|&v| subscripts[mode].as_var() == Some(v));
            at.unwrap_or(order.len())
        };
        let mut modes: Vec<usize> = (0..dims.len()).collect();
        modes.sort_by_key(|&mode| place(mode));
        let sorted = Sorted {
            access,
            order,
            modes: if computed { &[] } else { &modes },
        };
        let remark = sorted.remark(self, piece, stmt);
        self.remarks.push(remark);
        let temp = self.add_collected(Tensor {
            name: self.fresh_name(&format!("{}_sorted", operand.name)),
            role: Role::Temporary,
            format: sorted_by(modes.clone(), operand.format.index_bits),
            dims: dims.clone(),
            ..operand
        });
        if !computed {
            self.copies.push((temp, access.tensor));
        }
        let whole = vars.iter().any(Option::is_none);
        let lhs = vars.iter().zip(&subscripts).zip(&dims);
        let lhs: Vec<VarId> = lhs
            .map(|((var, subscript), dim)| match var {
                Some(var) => *var,
                None => {
                    let near = vars_in(subscript)
                        .first()
                        .map(|&v| self.var(v).name.clone());
                    let near = near.unwrap_or_else(|| "i".to_string());
                    self.whole_var(&near, dim, (stmt.span, piece.stmt))
                }
            })
            .collect();
        let element = match computed {
            true => near.clone(),
            false => read(access.tensor, &lhs, near.ty, near),
        };
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
        let found = match modes.first() {
            // Inner loops find any row at once; and rows of a matrix are counted, not sorted.
            Some(&mode)
                if place(mode) > 0 || self.has_rows_of(piece, &subscripts[mode], lhs.len()) =>
            {
                self.with_rows(temp, piece, &lhs, &copied)?
            }
            Some(_) | None => temp,
        };
        Ok(Access {
            tensor: found,
            subscripts,
        })
    }

    /// Whether the result has a place for each row of a sorted matrix.
    fn has_rows_of(&self, piece: &Piece, row: &Expr, order: usize) -> bool {
        let format = &self.tensor(piece.tensor).format;
        let outer = format.levels.first().zip(format.modes.first());
        order == 2
            && outer.is_some_and(|(level, &mode)| {
                level.is_full() && row.as_var() == Some(piece.lhs[mode])
            })
    }

    /// The elements of a sorted operand by rows, any of which inner loops find at once. The dense level of the rows
    /// takes no more memory than that of the result.
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
            name: self.fresh_name(&format!("{}_rows", tensor.name)),
            format: TensorFormat {
                levels,
                ..tensor.format.clone()
            },
            ..tensor
        });
        self.copies.push((rows, sorted));
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
pub(super) fn occurrence(e: &Expr, access: &Access) -> Option<Expr> {
    let mut found = None;
    e.walk(&mut |node| {
        if let ExprKind::Access(own) = &node.kind
            && found.is_none()
            && same_access(own, access)
        {
            found = Some(node.clone());
        }
    });
    found
}
