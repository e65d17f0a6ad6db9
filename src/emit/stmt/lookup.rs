//! Positions that are looked for among sorted coordinates, in hash tables, or taken one after another.

use super::super::kernel::{Dialect, Printer};
use crate::loops::ir::{ArrayId, Expr, Look, VarId};

impl Printer<'_> {
    /// The position of a coordinate among those from `lo` to `hi`.
    pub(super) fn search(
        &mut self,
        var: VarId,
        array: ArrayId,
        (lo, hi): (&Expr, &Expr),
        key: &Expr,
        by: Look,
    ) {
        let width = self.kernel.array(array).elem.name();
        let (lo, hi) = (self.expr(lo), self.expr(hi));
        let count = format!("({hi}) - ({lo})");
        let mut read = match by {
            Look::Bisect | Look::Gallop | Look::Table(_) => {
                self.watched_range(array, true, &lo, &count)
            }
            // Whoever sets a slot has set the coordinate that it leads to.
            Look::Slot(table) => self.watched_range(table, true, &lo, &count),
        };
        let how = match by {
            Look::Bisect => format!("lower_bound_{width}("),
            Look::Gallop => format!("gallop_{width}("),
            Look::Table(table) => {
                let (first, count) = (format!("2 * ({lo})"), format!("2 * (({hi}) - ({lo}))"));
                read += &self.watched_range(table, true, &first, &count);
                format!("look_up_{width}({}, ", self.array(table))
            }
            Look::Slot(table) => format!("place_{width}({}, ", self.array(table)),
        };
        let call = format!(
            "sparsec_{how}{}, {lo}, {hi}, {})",
            self.array(array),
            self.expr(key)
        );
        let name = self.declare(var);
        self.line(&format!("{read}int64_t {name} = {call};"));
    }

    /// Enters coordinates into a hash table.
    pub(super) fn enter_table(
        &mut self,
        table: ArrayId,
        coordinates: ArrayId,
        lo: &Expr,
        hi: &Expr,
    ) {
        let width = self.kernel.array(table).elem.name();
        let (lo, hi) = (self.expr(lo), self.expr(hi));
        let read = self.watched_range(coordinates, true, &lo, &format!("({hi}) - ({lo})"));
        let (first, count) = (format!("2 * ({lo})"), format!("2 * (({hi}) - ({lo}))"));
        let written = self.watched_range(table, false, &first, &count);
        let arrays = format!("{}, {}", self.array(table), self.array(coordinates));
        self.line(&format!(
            "{read}{written}sparsec_enter_{width}({arrays}, {lo}, {hi});"
        ));
    }

    /// The number that a counter has, which others find raised by one.
    pub(super) fn take(&mut self, var: VarId, array: ArrayId, index: &Expr) {
        let element = self.element(array, index, false);
        let name = self.declare(var);
        match self.dialect {
            Dialect::Device => {
                self.line(&format!("int64_t {name} = sparsec_next(&{element});"));
            }
            Dialect::C => {
                self.line(&format!("int64_t {name};"));
                self.pragma("omp atomic capture");
                self.line(&format!("{name} = {element}++;"));
            }
        }
    }
}
