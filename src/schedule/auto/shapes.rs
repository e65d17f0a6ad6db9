//! Which loops of a nest may be cut into tiles whose sums stay in vector registers, and how long
//! the tiles are: a row of the result (SpMM, TTM, MTTKRP), rows and columns of a dense product
//! (GEMM, convolutions), the lanes of a sum (SDDMM) or of what rows store (SpMV). None of them
//! changes the order of loops that read sparse operands. [`super::tiles`] writes them.

use super::estimate::Loops;
use super::factors::loops;
use super::plan::{Best, Split};
use super::profile::Cpu;
use super::{Asked, Question, Range, Statistics, Writer};
use crate::program::ir::{Expr, ExprKind, SizeExpr};

/// Loops by their places in the nest.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// The result's row in registers.
    Row(usize),
    /// Several rows (the first) and columns (the second) of the result.
    Block(usize, usize),
    /// A sum, each lane its own.
    Lanes(usize),
    /// A sum over what an operand stores, each lane its own.
    Stored(usize),
}

/// A nest, as tiles see it.
pub(super) struct Tiles<'b, 'g> {
    pub(super) writer: &'b Writer<'g>,
    pub(super) best: &'b Best,
    statistics: &'b Statistics,
    /// The loops in order, and the workspaces among them.
    order: Vec<usize>,
    pub(super) splits: &'b [Split],
}

/// The size that decides how a nest is cut, where it is not known.
pub(super) fn asked(writer: &Writer, best: &Best, statistics: &Statistics) -> Option<Asked> {
    let tiles = Tiles::of(writer, best, statistics)?;
    let (at, ranges) = match tiles.shape()? {
        Shape::Row(at) => (
            at,
            vec![
                Range::From(elements(writer, writer.profile.cpu.row_bytes)),
                Range::From(writer.profile.cpu.short_row),
            ],
        ),
        // Short sums of vectors cost little in any way.
        Shape::Lanes(_) if best.product.vars.len() == 1 => return None,
        Shape::Lanes(at) => (at, sums(writer)),
        Shape::Stored(at) => return tiles.asked_of_rows(at),
        Shape::Block(_, at) => {
            let columns = elements(writer, writer.profile.cpu.block_bytes);
            (
                at,
                vec![
                    Range::From(writer.profile.cpu.passes * columns),
                    Range::From(columns),
                ],
            )
        }
    };
    let range = writer.graph.static_range(best.product.vars[at]);
    match (tiles.extent(at), range) {
        (None, Some((SizeExpr::Const(0), SizeExpr::Size(size)))) => Some(Asked {
            question: Question::Size(*size),
            ranges,
        }),
        (Some(_) | None, _) => None,
    }
}

impl<'b, 'g> Tiles<'b, 'g> {
    pub(super) fn of(
        writer: &'b Writer<'g>,
        best: &'b Best,
        statistics: &'b Statistics,
    ) -> Option<Self> {
        let row = best.product.result.along;
        let in_row = |split: &Split| !split.over.is_empty() && loops(&split.over) == row;
        // Workspaces of a row that nothing is computed again for, as its loops stand, cost less in
        // registers than their estimate.
        let others = best.product.result.vars & !row;
        let is_sum = |&at: &usize| best.product.result.vars >> at & 1 == 0;
        let inside = best.order.iter().skip_while(|at| !is_sum(at));
        let stay = inside.fold(0, |set, at| set | 1 << at) & others == 0;
        let planned = best.plan.splits.as_slice();
        let is_tile = |split: &Split| {
            planned.len() == 1 && in_row(split) && best.product.holds_all_sums(split)
        };
        let mut order = best.order.clone();
        let splits = if planned.is_empty() || (stay && planned.iter().all(is_tile)) {
            &[]
        } else if stay && planned.iter().all(in_row) {
            planned
        } else if best.pays() {
            return None;
        } else {
            order.sort_unstable();
            &[]
        };
        Some(Tiles {
            writer,
            best,
            statistics,
            order,
            splits,
        })
    }

    /// How long a loop is, where that is known.
    pub(super) fn extent(&self, at: usize) -> Option<i64> {
        let var = self.best.product.vars[at];
        self.statistics.extent(self.writer.graph, var)
    }

    /// The loops of the result.
    pub(super) fn result(&self) -> Loops {
        self.best.product.result.vars
    }

    /// The loops of the order that are among these.
    pub(super) fn among(&self, of: Loops) -> Vec<usize> {
        let order = self.order.iter().copied();
        order.filter(|at| of >> at & 1 == 1).collect()
    }

    pub(super) fn all(&self) -> Loops {
        loops(&self.order)
    }

    /// Whether each loop stands inside those that it needs. A workspace takes what is added to a
    /// sum out of its way.
    fn is_order(&self, order: &[usize]) -> bool {
        let product = &self.best.product;
        let row = match self.adds_in_place() {
            true => 0,
            false => product.result.along,
        };
        let needs = |at: usize| product.outside[at] & !row;
        let mut placed = order.iter().enumerate();
        placed.all(|(n, &at)| needs(at) & !loops(&order[..n]) == 0)
    }

    /// Whether the loops of a sum may stand outside those of the result: it is all that the
    /// statement computes, and the result holds partial sums as they are. One that rounds them
    /// (halves are summed as floats) has a sum that every loop of it stands inside of.
    pub(super) fn adds_in_place(&self) -> bool {
        let ty = self.writer.graph.tensor(self.writer.nest.tensor).ty;
        self.best.product.is_whole && ty == ty.compute()
    }

    /// The first of the shapes that the nest has.
    pub(super) fn shape(&self) -> Option<Shape> {
        let sums = self.all() & !self.result();
        if sums == 0 {
            return None;
        }
        let (graph, nest) = (self.writer.graph, self.writer.nest);
        let row = self.best.product.result.along;
        if self.has_few_terms(sums) {
            return None;
        }
        let last = graph.tensor(nest.tensor).format.levels.last();
        if row.count_ones() == 1 && last.is_some_and(|level| level.is_full()) {
            let at = row.trailing_zeros() as usize;
            let around = [self.among(self.result() & !row), self.among(sums)].concat();
            let rows = self.rows(at);
            // What is packed stands side by side there.
            let packed = rows.is_some_and(|rows| self.packed(rows, at).is_some());
            let once = self
                .extent(at)
                .is_some_and(|extent| extent <= elements(self.writer, self.cpu().row_bytes));
            if !once && self.merges(sums) {
                return None;
            }
            if (packed || self.best.product.is_along(at))
                && self.is_order(&[&around[..], &[at]].concat())
            {
                return Some(rows.map_or(Shape::Row(at), |rows| Shape::Block(rows, at)));
            }
        }
        let found = self.lanes_along(sums).map(Shape::Lanes);
        found
            .or_else(|| self.stored_sum(sums).map(Shape::Stored))
            .filter(|_| self.splits.is_empty())
    }

    /// Whether each element of a vector is a sum of a few dense terms: compilers write them out, and take several
    /// elements at a time, with what is the same for all in registers.
    fn has_few_terms(&self, sums: Loops) -> bool {
        let product = &self.best.product;
        let extents = self.among(sums).into_iter().map(|at| self.extent(at));
        let terms = extents.reduce(|all, own| all?.checked_mul(own?)).flatten();
        let is_dense = product.factors.iter().all(|f| f.levels.is_empty());
        product.result.vars.count_ones() == 1
            && is_dense
            && product.is_whole
            && terms.is_some_and(|terms| terms <= self.cpu().few_terms)
    }

    /// The innermost sum whose products stand side by side.
    fn lanes_along(&self, sums: Loops) -> Option<usize> {
        self.among(sums).into_iter().rev().find(|&at| {
            let others = self.among(self.all() & !(1 << at));
            self.best.product.in_lanes
                && self.best.product.is_along(at)
                && self.is_order(&[&others[..], &[at]].concat())
        })
    }

    /// The innermost loop, if it is a sum over what one operand stores.
    fn stored_sum(&self, sums: Loops) -> Option<usize> {
        let last = self.order.last().filter(|&&at| sums >> at & 1 == 1);
        last.copied().filter(|&at| self.driver(at).is_some())
    }

    /// The only factor that drives a loop, and the depth of its level.
    fn driver(&self, at: usize) -> Option<(usize, usize)> {
        let factors = self.best.product.factors.iter().enumerate();
        let mut driving = factors.filter_map(|(n, factor)| {
            let mut levels = factor.levels.iter();
            let depth = levels.position(|level| level.at == at && level.children.is_some())?;
            Some((n, depth))
        });
        let only = driving.next();
        only.filter(|_| driving.next().is_none())
    }

    /// Whether an operand stores so many elements in a row that lanes pay; `None` if nobody knows.
    pub(super) fn has_long_rows(&self, at: usize) -> Option<bool> {
        let (factor, depth) = self.driver(at)?;
        let ExprKind::Access(access) = &self.best.product.exprs[factor].kind else {
            return None;
        };
        let stored = self
            .statistics
            .children(self.writer.graph, access.tensor, depth);
        #[allow(clippy::cast_precision_loss, reason = "a bound of a few elements")]
        stored.map(|elements| elements >= self.cpu().long_row as f64)
    }

    /// The question of how long a matrix' rows are.
    fn asked_of_rows(&self, at: usize) -> Option<Asked> {
        let (factor, depth) = self.driver(at)?;
        let ExprKind::Access(access) = &self.best.product.exprs[factor].kind else {
            return None;
        };
        let format = &self.writer.graph.tensor(access.tensor).format;
        let by_rows = format.levels.len() == 2 && format.modes == [0, 1];
        let is_open = by_rows && depth == 1 && format.levels[0].is_full();
        (is_open && self.has_long_rows(at).is_none()).then(|| Asked {
            question: Question::MeanRow(access.tensor),
            ranges: vec![Range::From(self.cpu().long_row)],
        })
    }

    /// Whether several operands are walked together in one of these loops: each tile would walk
    /// them all to meet few elements.
    fn merges(&self, sums: Loops) -> bool {
        let drives = |at: usize| {
            let factors = self.best.product.factors.iter();
            let levels = factors.flat_map(|factor| &factor.levels);
            let driving = levels.filter(|level| level.at == at && level.children.is_some());
            driving.count() > 1
        };
        self.among(sums).into_iter().any(drives)
    }

    /// The result's rows that a tile of a dense product may have several of: what is read along the
    /// columns is the same for them.
    fn rows(&self, column: usize) -> Option<usize> {
        let factors = &self.best.product.factors;
        let format = &self.writer.graph.tensor(self.writer.nest.tensor).format;
        let dense = factors.iter().all(|f| f.levels.is_empty())
            && format.levels.iter().all(|level| level.is_full());
        let read = self.best.product.reads.iter();
        let read: Vec<Loops> = read.copied().filter(|of| of >> column & 1 == 1).collect();
        let mut rows = self.among(self.result() & !(1 << column)).into_iter().rev();
        let sums = self.among(self.all() & !self.result());
        let ends_sums = |row: &usize| {
            sums.iter()
                .any(|&at| self.best.product.outside[at] >> row & 1 == 1)
        };
        let ends_columns = |row: &usize| self.best.product.outside[column] >> row & 1 == 1;
        let reused = |row: &usize| {
            read.iter().all(|of| of >> row & 1 == 0) && !ends_sums(row) && !ends_columns(row)
        };
        let long = |at: usize| {
            self.extent(at)
                .is_none_or(|extent| extent >= self.cpu().least_tile)
        };
        let fits = dense && self.splits.is_empty() && long(column);
        rows.find(|row| fits && reused(row) && long(*row))
    }

    fn cpu(&self) -> &Cpu {
        &self.writer.profile.cpu
    }

    /// How long tiles of the result's row are. A row of less than two tiles that only short ones leave nothing of is one:
    /// operands are walked once for each.
    pub(super) fn row_length(&self, at: usize) -> Option<i64> {
        let most = elements(self.writer, self.cpu().row_bytes);
        let length = self.length(at, most)?;
        let whole = self.extent(at).filter(|extent| {
            let is_cut = 2 * length <= *extent && length < most;
            is_cut && *extent < 2 * most && extent % self.cpu().short_row == 0
        });
        Some(whole.unwrap_or(length))
    }

    /// How many rows a tile has.
    pub(super) fn row_count(&self, at: usize) -> i64 {
        let most = self.cpu().block_rows;
        let counts = [most, 8, 5, 4].into_iter().filter(|&n| n <= most);
        let whole = |extent: i64| counts.clone().find(|n| extent % n == 0);
        match self.extent(at) {
            Some(extent) if extent <= most => extent,
            Some(extent) => whole(extent).unwrap_or(most),
            None => most,
        }
    }

    /// The longest tile of a row with nothing left over, if there is a long one.
    fn length(&self, at: usize, most: i64) -> Option<i64> {
        let Some(extent) = self.extent(at) else {
            return Some(most);
        };
        let mut lengths = std::iter::successors(Some(most), |length| Some(length / 2));
        let longest = lengths.find(|&length| length <= extent.max(1))?;
        let halves = [longest, longest / 2, longest / 4];
        let whole = halves
            .into_iter()
            .find(|&n| n >= self.cpu().short_row && extent % n == 0);
        (longest >= self.cpu().least_tile).then(|| whole.unwrap_or(longest))
    }

    /// Two vectors of columns; one where nothing is left over then, or two would be half empty.
    pub(super) fn columns(&self, at: usize) -> Option<i64> {
        let two = elements(self.writer, self.cpu().block_bytes);
        let one = two / 2;
        match self.extent(at) {
            None => Some(two),
            Some(extent) if extent > one => {
                let odd = extent < 2 * two && extent % two != 0 && extent % one == 0;
                Some(if odd { one } else { two })
            }
            Some(extent) if extent > one / 2 => Some(one),
            Some(_) => self.length(at, one),
        }
    }

    /// The factor whose columns are copied for all rows: it has nothing of the result but them.
    pub(super) fn packed(&self, row: usize, column: usize) -> Option<usize> {
        let few =
            |extent: Option<i64>, tile: i64| extent.is_some_and(|e| e < self.cpu().passes * tile);
        if few(self.extent(row), self.cpu().block_rows)
            || few(
                self.extent(column),
                elements(self.writer, self.cpu().block_bytes),
            )
        {
            return None;
        }
        let product = &self.best.product;
        let mut read =
            (0..product.factors.len()).filter(|&n| product.factors[n].vars >> column & 1 == 1);
        let (only, more) = (read.next()?, read.next());
        let is_var = |e: &Expr| e.as_var().is_some();
        let plain = matches!(&product.exprs[only].kind, ExprKind::Access(access)
            if access.subscripts.iter().all(is_var));
        let (vars, own) = (product.factors[only].vars, 1 << column);
        let sums = self.among(vars & !own).into_iter();
        let rows = sums
            .map(|at| self.extent(at))
            .try_fold(1_i64, |rows, extent| Some(rows.saturating_mul(extent?)));
        let near = rows.is_none_or(|rows| {
            rows.saturating_mul(self.cpu().block_bytes) <= self.cpu().near_bytes
        });
        (more.is_none() && plain && near && vars & self.result() == own).then_some(only)
    }
}

/// How long the sums are that are told apart: those that have the most lanes, few, or none.
fn sums(writer: &Writer) -> Vec<Range> {
    let long = Range::Products(writer.profile.cpu.long_sum);
    match few_lanes(writer) {
        Some(few) => vec![long, Range::Products(few)],
        None => vec![long],
    }
}

/// How many lanes a sum of so many products has: as many as leave nothing over, or, as what is left
/// is added up one after another, the most only for long sums; none if that costs more than it
/// gains.
pub(super) fn lanes(writer: &Writer, extent: Option<i64>) -> Option<i64> {
    let most = lanes_of(writer);
    let Some(extent) = extent.filter(|&extent| extent < writer.profile.cpu.long_sum) else {
        return Some(most);
    };
    let few = few_lanes(writer);
    let is_whole = writer.graph.tensor(writer.nest.tensor).ty.is_integer();
    let halves = std::iter::successors(Some(most), |lanes| Some(lanes / 2));
    let mut halves = halves.take_while(|&lanes| lanes >= writer.profile.cpu.least_tile);
    // Adding up the lanes costs as much as a few products, and fewer of them wait for one another.
    let pays = |n: i64| match few {
        Some(few) if n < few => (2 * n..4 * few).contains(&extent),
        Some(few) if n == few => true,
        Some(_) => n == most || extent >= 2 * n,
        // Compilers give lanes to whole numbers by themselves.
        None if is_whole => n == most,
        None => n == most || extent >= 2 * n,
    };
    let whole = halves.find(|&n| extent % n == 0 && pays(n));
    whole.or(few.filter(|&few| extent >= few))
}

/// How many lanes a short sum of floats has: those of one vector.
pub(super) fn few_lanes(writer: &Writer) -> Option<i64> {
    let (few, most) = (writer.profile.cpu.few_lanes, lanes_of(writer));
    let ty = writer.graph.tensor(writer.nest.tensor).ty.compute();
    (ty.is_float() && few < most).then_some(few)
}

/// How many lanes a sum has, at most.
fn lanes_of(writer: &Writer) -> i64 {
    elements(writer, writer.profile.cpu.lane_bytes)
}

/// How many elements of the result's type these bytes hold.
fn elements(writer: &Writer, bytes: i64) -> i64 {
    let ty = writer.graph.tensor(writer.nest.tensor).ty.compute();
    (bytes / i64::try_from(ty.size()).unwrap_or(1)).max(1)
}
