//! Rows that are collected where no array is as long as a row: a table leads from a coordinate to the
//! number of its element, by open addressing ([`ir::Look::Slot`]).
//!
//! Its slots are twice as many as the elements at least. A row begins with few of them, and clears these
//! alone; with each element that would make them too few they become twice as many, and all elements
//! are entered again. So a row costs what it holds, short rows stay in a small part of the table, and what
//! long rows need (see [`crate::plan::Most`]) is memory that others never touch.

use super::Lowerer;
use super::collect::ListedRow;
use super::workspace::Room;
use crate::loops::build as b;
use crate::loops::ir::{self, Expr, ScalarType};
use crate::loops::trips::Bounds;
use crate::plan::Workspace;

/// The slots with which a row begins.
const FIRST_SLOTS: i64 = 64;

impl Lowerer<'_> {
    /// How much a hashed row may hold: as many elements as the levels have positions which tell its
    /// coordinates, and no more than its extent. It is known before all loops.
    pub(super) fn row_most(&self, workspace: &Workspace) -> Expr {
        let temp = workspace.temp;
        if let Some(rooms) = self.memory.rooms((temp, workspace.threaded))
            && let Some((_, most)) = rooms.first()
        {
            return most.clone();
        }
        let levels = self.tree.most.get(&temp).map(|most| most.levels.iter());
        let told = levels.into_iter().flatten().flatten();
        let told = told.map(|&(id, level)| {
            let operand = self.tree.table.get(id).access.tensor;
            self.positions(operand, level)
        });
        let extent = self.element_count(temp);
        let most = match told.reduce(b::add) {
            Some(told) => b::min(told, extent),
            None => extent,
        };
        let name = format!("{}_most", self.tensor(temp).name);
        let mut named = Vec::new();
        let most = self.named(&name, most, &mut named);
        named.into_iter().for_each(|stmt| self.memory.first(stmt));
        most
    }

    /// Memory of the table of a row that holds so much at most: slots become twice as many only where
    /// they are less than twice the elements, so that they stay below four times as many.
    pub(super) fn table_room(&self, name: &str, elem: ScalarType, most: &Expr) -> Room {
        Room {
            own: None,
            name: format!("{name}_places"),
            elem,
            zeroed: false,
            count: b::max(b::mul(b::int(4), most.clone()), b::int(FIRST_SLOTS)),
        }
    }

    /// The table of a row without elements, if it has one.
    pub(super) fn cleared_table(&self, row: ListedRow) -> Vec<ir::Stmt> {
        let Some(slots) = row.slots else {
            return Vec::new();
        };
        vec![
            b::bind(slots, b::int(FIRST_SLOTS)),
            cleared(row, b::int(FIRST_SLOTS)),
        ]
    }

    /// Where the places of a row have that of a coordinate.
    pub(super) fn place_at(
        &self,
        row: ListedRow,
        coordinate: &Expr,
        out: &mut Vec<ir::Stmt>,
    ) -> Expr {
        let Some(slots) = row.slots else {
            return coordinate.clone();
        };
        let (var, slot) = self.fresh_index("slot", false);
        out.push(ir::Stmt::Search {
            var,
            array: row.coordinates,
            lo: b::int(0),
            hi: b::var(slots, ScalarType::I64),
            key: coordinate.clone(),
            by: ir::Look::Slot(row.places),
        });
        slot
    }

    /// Twice as many slots, where a row has got so many elements that they are too few.
    pub(super) fn widened_table(&self, row: ListedRow) -> Option<ir::Stmt> {
        let slots = row.slots?;
        let all = b::var(slots, ScalarType::I64);
        let count = b::var(row.count, ScalarType::I64);
        let (p, at) = self.fresh_index("p", false);
        let mut entered = Vec::new();
        let coordinate = self.load_index(row.coordinates, at.clone());
        let slot = self.place_at(row, &coordinate, &mut entered);
        entered.push(self.stored(row.places, slot, b::add(at, b::int(1))));
        let each = Bounds::of(b::int(0), count.clone());
        Some(b::if_then(
            b::lt(all.clone(), b::mul(b::int(2), count)),
            vec![
                b::set(slots, b::mul(b::int(2), all.clone())),
                cleared(row, all),
                each.each(p, ir::LoopTag::default(), entered),
            ],
        ))
    }
}

/// Clears so many slots of the table.
fn cleared(row: ListedRow, slots: Expr) -> ir::Stmt {
    ir::Stmt::Fill {
        array: row.places,
        start: b::int(0),
        count: slots,
        value: b::int(0),
    }
}
