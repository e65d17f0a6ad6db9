//! Sums that go by the rows of their result: which do, and the workspace that collects a row.

use super::operands::occurrence;
use super::remarks::unless_dense;
use super::{read, sorted_by};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::performance;
use crate::format::{Level, TensorFormat};
use crate::graph::build::Piece;
use crate::graph::distance::{can_walk, carried, stride};
use crate::graph::fold::as_literal;
use crate::graph::order::{
    choose_behind, is_concordant, is_sparse_driven, sparse_accesses, vars_in,
};
use crate::graph::terms::{reads, rename_expr, replace, root_reduction};
use crate::graph::{Graph, Loop, Nest};
use crate::program::ir::{Access, Expr, IndexVar, Role, Statement, Tensor, VarId};

/// Bytes of the largest workspace of a row, as far as sizes tell.
const MOST_ROW: i64 = 64 << 20;

/// Loops that come to each row of a result once.
pub(super) struct ByRows {
    loops: Vec<VarId>,
    /// How many of them are around its rows.
    outer: usize,
    /// Why no array is as long as a row, if so: elements are then found by hashing.
    hashed: Option<&'static str>,
}

impl ByRows {
    /// Those around its rows.
    fn around(&self) -> &[VarId] {
        &self.loops[..self.outer]
    }

    /// Those that come to the elements of a row.
    fn inside(&self) -> &[VarId] {
        &self.loops[self.outer..]
    }
}

impl Graph {
    /// The loops of a sum that come to each row of the result once: around them are those of its
    /// outer levels (Gustavson's order; 000, chapter 7). Operands that they cannot walk can be sorted.
    pub(super) fn by_rows(&self, piece: &Piece, vars: &[VarId]) -> Option<ByRows> {
        root_reduction(&piece.rhs, piece.op)?;
        if self.whole.contains(&piece.stmt) {
            return None;
        }
        let format = &self.tensor(piece.tensor).format;
        let rows = format.order().checked_sub(1)?;
        let outer = format.modes[..rows].iter().map(|&mode| piece.lhs[mode]);
        let mut order: Vec<VarId> = outer.collect();
        let last = piece.lhs[format.modes[rows]];
        let summed = vars.iter().filter(|v| !order.contains(v) && **v != last);
        let summed: Vec<VarId> = summed.copied().collect();
        order.extend(choose_behind(self, &[], &piece.lhs, &piece.rhs, &summed));
        order.push(last);
        let accesses = sparse_accesses(self, &piece.rhs);
        let hashed = self.is_hashed(piece);
        let fits = rows > 0
            && (hashed.is_none() || self.is_told_by_walks(piece, (&order, rows)))
            && !format.levels[rows].is_placed()
            && order.len() == vars.len()
            && order.iter().all(|&var| self.static_range(var).is_some())
            && self.is_sum_of_products(piece)
            && accesses.iter().all(|a| {
                let ascending = self.ascending_rows(piece, rows);
                self.walks(a, &order, piece, Some(&ascending)) || self.sortable(a).is_some()
            });
        fits.then_some(ByRows {
            loops: order,
            outer: rows,
            hashed,
        })
    }

    /// Why an array as long as a row of the result would be more than what there is anyhow, if so:
    /// none of its outer levels is dense, the extent of a row is not known, and no operand is laid
    /// out by its rows.
    fn is_hashed(&self, piece: &Piece) -> Option<&'static str> {
        if !self.has_room_for_rows(piece) {
            return Some("an array as long as a row would take more than 64 MiB");
        }
        let last = self.tensor(piece.tensor).format.modes.last();
        let known = last.is_some_and(|&mode| self.most_extent(piece.lhs[mode]).is_some());
        let has_array = known
            || self.has_dense_rows(piece)
            || self.is_laid_out(piece)
            || last.is_some_and(|&mode| !is_sparse_driven(self, &piece.rhs, piece.lhs[mode]));
        (!has_array).then_some("nothing is laid out by its rows, which may be of any length")
    }

    /// Whether loops in this order come to the coordinates of rows by walks of inputs alone: what
    /// these store bounds how many there are, and is known before anything runs, on the host of a
    /// GPU, too.
    fn is_told_by_walks(&self, piece: &Piece, (order, rows): (&[VarId], usize)) -> bool {
        let Some((op, _, body)) = root_reduction(&piece.rhs, piece.op) else {
            return false;
        };
        let last = order.last().copied();
        let ascending = self.ascending_rows(piece, rows);
        let mut telling = sparse_accesses(self, &piece.rhs);
        telling.retain(|access| {
            let tensor = self.tensor(access.tensor);
            let mut levels = tensor.format.levels.iter().zip(&tensor.format.modes);
            tensor.role == Role::Input
                && self.walks(access, order, piece, Some(&ascending))
                && levels
                    .any(|(l, &mode)| l.is_walked() && carried(&access.subscripts[mode]) == last)
        });
        let neutral = op.neutral(body.ty.compute());
        as_literal(&self.without(body, &telling)).is_some_and(|value| value.same_value(neutral))
    }

    /// Whether a level outside of the result's rows is dense.
    fn has_dense_rows(&self, piece: &Piece) -> bool {
        let levels = &self.tensor(piece.tensor).format.levels;
        let mut outer = levels.iter().rev().skip(1);
        outer.any(|level| level.is_full())
    }

    /// Whether an operand is laid out by the coordinates of a dimension, as rows of `csr` are. Where
    /// nothing is, extents may be such that no array has them.
    fn is_laid_out(&self, piece: &Piece) -> bool {
        let accesses = sparse_accesses(self, &piece.rhs);
        let mut formats = accesses.iter().map(|a| &self.tensor(a.tensor).format);
        formats.any(|format| format.levels.first().is_some_and(|level| level.is_full()))
    }

    /// The variables whose values must ascend, though each row is collected: those outside of rows.
    pub(super) fn ascending_rows(&self, piece: &Piece, rows: usize) -> Vec<VarId> {
        let outer = self.tensor(piece.tensor).format.modes[..rows].iter();
        let outer: Vec<VarId> = outer.map(|&mode| piece.lhs[mode]).collect();
        let mut ascending = self.ascending(piece).unwrap_or_default();
        ascending.retain(|var| outer.contains(var));
        ascending
    }

    /// Whether an array as long as a row of the result is none that sizes say to be too large.
    pub(super) fn has_room_for_rows(&self, piece: &Piece) -> bool {
        let format = &self.tensor(piece.tensor).format;
        let Some(&last) = format.modes.last() else {
            return true;
        };
        let index = i64::from(format.index_bits) / 8;
        let value = i64::try_from(piece.rhs.ty.compute().size()).unwrap_or(i64::MAX);
        let bytes = self
            .most_extent(piece.lhs[last])
            .map(|extent| extent.saturating_mul(value.saturating_add(2 * index)));
        bytes.is_none_or(|bytes| bytes <= MOST_ROW)
    }

    /// Whether a sum has nothing to add where its operands are absent, and reads not what it makes.
    fn is_sum_of_products(&self, piece: &Piece) -> bool {
        let fill = self.tensor(piece.tensor).fill;
        root_reduction(&piece.rhs, piece.op).is_some_and(|(op, _, body)| {
            op.neutral(piece.rhs.ty.compute()).same_value(fill)
                && self.sum_is_sparse(op, body)
                && !reads(&piece.rhs, piece.tensor)
        })
    }

    /// Whether loops in the order of the result would try all coordinates of its last level for
    /// each of its rows, though sparse operands say which come to something: inner products. Where
    /// only dense operands have that dimension, all come to something or none, and each would walk the
    /// same row.
    pub(super) fn tries_rows(&self, piece: &Piece, vars: &[VarId]) -> bool {
        let format = &self.tensor(piece.tensor).format;
        let last = format.modes.last().map(|&mode| piece.lhs[mode]);
        let accesses = sparse_accesses(self, &piece.rhs);
        let named = |var: VarId| {
            let mut own = accesses.iter().flat_map(|access| &access.subscripts);
            own.any(|subscript| stride(subscript, var).is_some())
        };
        let told = |var: VarId| is_sparse_driven(self, &piece.rhs, var);
        let mut summed = vars.iter().filter(|var| !piece.lhs.contains(var));
        let mut tried = |var: VarId| match named(var) {
            true => self.has_dense_rows(piece),
            false => summed.any(|&var| told(var)),
        };
        last.is_some_and(|var| !told(var) && tried(var)) && self.by_rows(piece, vars).is_some()
    }

    /// Each row of the result is collected in a workspace: the first value of a coordinate gets
    /// the next place, others are combined with it. Then it is sorted and appended. Whether it can be: what
    /// a hashed row may hold must be known of the operands as they are walked in the end, where one may
    /// have been copied because another was.
    pub(super) fn through_rows(
        &mut self,
        piece: &Piece,
        by: &ByRows,
        stmt: &Statement,
    ) -> Result<bool, Diagnostic> {
        let mut piece = piece.clone();
        piece.rhs = self.brought_into(&by.loops, &piece, stmt, &|graph, access, piece| {
            is_concordant(graph, access, &by.loops) && graph.is_apart(access, piece, by.around())
        })?;
        // What is noted is not walked beside others any more.
        let mut producers = self.note_masks(&mut piece, by, stmt);
        let ascending = self.ascending_rows(&piece, by.outer);
        piece.rhs = self.walked_in(&by.loops, (&piece, Some(&ascending)), stmt)?;
        if by.hashed.is_some() && !self.is_told_by_walks(&piece, (&by.loops, by.outer)) {
            return Ok(false);
        }
        producers.extend(self.note_masks(&mut piece, by, stmt));
        self.push_rows(&piece, by, producers, stmt);
        Ok(true)
    }

    /// Whether no level in any order is walked beside others by the loops around rows: what is noted is still
    /// walked by these.
    fn is_apart(&self, access: &Access, piece: &Piece, outer: &[VarId]) -> bool {
        let format = &self.tensor(access.tensor).format;
        let mut levels = format.levels.iter().zip(&format.modes);
        levels.all(|(level, &mode)| {
            let var = access.subscripts[mode].as_var();
            let var = var.filter(|var| outer.contains(var));
            level.ordered
                || level.is_asked()
                || var.is_none_or(|var| self.is_alone(access, piece, var))
        })
    }

    /// The nests that note the piece's masks. That takes arrays as long as a row.
    fn note_masks(&mut self, piece: &mut Piece, by: &ByRows, stmt: &Statement) -> Vec<Nest> {
        if by.hashed.is_some() {
            return Vec::new();
        }
        let masks = self.walked_again(piece, by).into_iter();
        let noted = masks.filter_map(|mask| self.noted(&mask, &by.loops, piece, stmt));
        noted.collect()
    }

    /// The nests of a result whose rows are collected.
    fn push_rows(&mut self, piece: &Piece, by: &ByRows, producers: Vec<Nest>, stmt: &Statement) {
        let result = self.tensor(piece.tensor).clone();
        let mode = result.format.modes[by.outer];
        let (var, ty) = (piece.lhs[mode], piece.rhs.ty.compute());
        // What is stored in any order need not be sorted.
        let ordered = result.format.levels[by.outer].ordered;
        let mut format = sorted_by(vec![0], result.format.index_bits);
        for level in &mut format.levels {
            level.ordered = ordered;
        }
        let row = self.add_collected(Tensor {
            name: format!("{}_row", result.name),
            role: Role::Temporary,
            ty,
            dims: vec![result.dims[mode].clone()],
            format,
            ..result.clone()
        });
        self.workspaces.push(row);
        // All coordinates, if only dense operands have the dimension, come in order.
        let told = is_sparse_driven(self, &piece.rhs, var);
        let sorted = match ordered && told {
            true => " and sorted",
            false => "",
        };
        let hashed = match by.hashed {
            Some(_) => ", hashed by their coordinates",
            None => "",
        };
        let remark = Diagnostic::performance(
            performance::WORKSPACE,
            stmt.span,
            format!(
                "the rows of `{}` are collected{sorted} first{hashed}",
                result.name
            ),
            "the loops do not come to their elements in the order in which they are stored",
        );
        // A copy is said to be one already.
        if self.copied(piece.tensor).is_none() {
            self.remarks.push(match by.hashed {
                Some(why) => remark.with_note(why),
                None => unless_dense(remark, self, stmt),
            });
        }
        self.hashed.extend(by.hashed.map(|_| row));
        let serial = |vars: &[VarId]| vars.iter().map(|&v| Loop::serial(v)).collect();
        let mut all = by.around().to_vec();
        all.push(var);
        let producer = Nest {
            stmt: piece.stmt,
            tensor: row,
            lhs: vec![var],
            op: None,
            rhs: piece.rhs.clone(),
            loops: serial(by.inside()),
            producers,
            joined: 0,
            guards: Vec::new(),
            span: stmt.span,
        };
        self.nests.push(Nest {
            stmt: piece.stmt,
            tensor: piece.tensor,
            lhs: piece.lhs.clone(),
            op: None,
            rhs: read(row, &[var], ty, &piece.rhs),
            loops: serial(&all),
            producers: vec![producer],
            joined: 0,
            guards: Vec::new(),
            span: stmt.span,
        });
    }

    /// Operands that say which elements of a row are asked for at all (masks): the loops would walk them
    /// again for each value of the summed variables, beside others that store the same coordinates.
    fn walked_again(&self, piece: &Piece, by: &ByRows) -> Vec<Access> {
        let Some((op, _, body)) = root_reduction(&piece.rhs, piece.op) else {
            return Vec::new();
        };
        let Some((&last, summed)) = by.inside().split_last() else {
            return Vec::new();
        };
        let accesses = sparse_accesses(self, &piece.rhs);
        let has = |access: &Access, vars: &[VarId]| {
            let mut own = access.subscripts.iter().flat_map(vars_in);
            own.any(|var| vars.contains(&var))
        };
        let stores_last = |access: &Access| {
            let format = &self.tensor(access.tensor).format;
            let mut levels = format.levels.iter().zip(&format.modes);
            levels.any(|(&l, &mode)| l.is_walked() && can_walk(l, &access.subscripts[mode], last))
        };
        let is_mask = |access: &Access| {
            let tensor = self.tensor(access.tensor);
            let (Some((level, above)), Some(&mode)) = (
                tensor.format.levels.split_last(),
                tensor.format.modes.last(),
            ) else {
                return false;
            };
            let (own, outer): (Vec<_>, Vec<_>) = access
                .subscripts
                .iter()
                .partition(|s| s.as_var() == Some(last));
            let rest = self.without(body, std::slice::from_ref(access));
            let neutral = op.neutral(body.ty.compute());
            own.len() == 1
                && access.subscripts[mode].as_var() == Some(last)
                && (level.is_walked() && level.unique && above.iter().all(|l| l.ordered))
                && outer.iter().all(|s| s.as_var().is_some())
                && !has(access, summed)
                && is_concordant(self, access, &by.loops)
                && as_literal(&rest).is_some_and(|value| value.same_value(neutral))
        };
        let others = accesses.iter().any(|a| stores_last(a) && has(a, summed));
        let masks = accesses.iter().filter(|a| others && is_mask(a));
        masks.cloned().collect()
    }

    /// The elements of one row of an operand, noted where they are, so that the loops inside find any
    /// at once; the piece reads them there.
    fn noted(
        &mut self,
        operand: &Access,
        loops: &[VarId],
        piece: &mut Piece,
        stmt: &Statement,
    ) -> Option<Nest> {
        let last = *loops.last()?;
        let mut element = occurrence(&piece.rhs, operand)?;
        let tensor = self.tensor(operand.tensor).clone();
        let of_row = |subscript: &Expr| subscript.as_var() == Some(last);
        let mode = operand.subscripts.iter().position(of_row).unwrap_or(0);
        let row = self.add_tensor(Tensor {
            name: format!("{}_row", tensor.name),
            role: Role::Temporary,
            dims: vec![tensor.dims[mode].clone()],
            format: TensorFormat {
                index_bits: tensor.format.index_bits,
                ..TensorFormat::whole(vec![Level::BITMAP], vec![0])
            },
            ..tensor.clone()
        });
        self.workspaces.push(row);
        let own = self.var(last).clone();
        let name = self.fresh_name(&own.name);
        let var = self.add_var(IndexVar { name, ..own });
        let noted = read(row, &[last], element.ty, &element);
        replace(&mut piece.rhs, &element, &noted);
        rename_expr(&mut element, &|v| if v == last { var } else { v });
        Some(Nest {
            stmt: piece.stmt,
            tensor: row,
            lhs: vec![var],
            op: None,
            rhs: element,
            loops: vec![Loop::serial(var)],
            producers: Vec::new(),
            joined: 0,
            guards: Vec::new(),
            span: stmt.span,
        })
    }
}
