//! The text of what makes room in arrays and fills them.

use super::kernel::{Dialect, Part, Printer};
use super::types::{c_type, half};
use crate::loops::build as b;
use crate::loops::ir::{
    ArrayId, BinaryOp, Expr, ExprKind, Kernel, Room, Run, Stmt, Storage, VarId,
};
use crate::loops::visit;
use std::collections::BTreeSet;

/// Elements that growing arrays have room for at first. They are never NULL, also where
/// nothing is ever appended.
const FIRST_ROOM: u32 = 16;

/// The rooms of a kernel whose arrays are a result's: the caller says how large they are.
pub(super) fn given_rooms(kernel: &Kernel) -> Vec<Room> {
    let mut found: Vec<Room> = Vec::new();
    let given = kernel.rooms().into_iter();
    for room in given.filter(|room| is_given(kernel, room)) {
        if found.iter().all(|own| own.capacity != room.capacity) {
            found.push(room.clone());
        }
    }
    found
}

fn is_given(kernel: &Kernel, room: &Room) -> bool {
    let returned = |array: &ArrayId| kernel.array(*array).storage == Storage::Returned;
    !room.arrays.is_empty() && room.arrays.iter().all(returned)
}

/// The rooms that a region makes where it stands, once: it knows then how much will be appended.
pub(super) fn made_once(rooms: &[Room], body: &[Stmt]) -> BTreeSet<VarId> {
    let found = rooms.iter().filter(|room| room.made_at(body).is_some());
    found.map(|room| room.capacity).collect()
}

/// A number of elements as C counts bytes.
fn size_of(count: &str) -> String {
    if count.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        format!("(size_t){count}")
    } else {
        format!("(size_t)({count})")
    }
}

fn has_product(count: &Expr) -> bool {
    let ExprKind::Binary(op, x, y) = &count.kind else {
        return false;
    };
    (*op == BinaryOp::Mul && b::as_int(count).is_none())
        || (*op == BinaryOp::Add && (has_product(x) || has_product(y)))
}

/// Who sorts what.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sorts {
    /// A thread, any elements.
    Any,
    /// A thread, elements of which no two are of one place.
    Distinct,
    /// All threads of a block, in shared memory.
    Together(ArrayId),
}

impl Printer<'_> {
    /// A number of elements, or one below zero if it is larger than any array: extents are checked
    /// one by one, their products are not.
    pub(super) fn number(&self, count: &Expr) -> String {
        if let ExprKind::Binary(op, x, y) = &count.kind
            && has_product(count)
        {
            if *op == BinaryOp::Mul {
                return format!("sparsec_times({}, {})", self.number(x), self.number(y));
            }
            if [x, y].iter().all(|e| b::as_int(e).is_none_or(|n| n >= 0)) {
                return format!("sparsec_plus({}, {})", self.number(x), self.number(y));
            }
        }
        self.expr(count)
    }

    pub(super) fn alloc(&mut self, array: ArrayId, count: &str, zeroed: bool) {
        let name = self.array(array).to_string();
        if self.kernel.array(array).storage == Storage::Returned {
            // The caller may have brought memory along.
            self.line(&format!("SPARSEC_RESIZE({name}, {count});"));
            if zeroed {
                let size = size_of(count);
                self.line(&format!("memset({name}, 0, {size} * sizeof *{name});"));
            }
            return;
        }
        let call = if zeroed {
            format!("sparsec_zeroed({count}, sizeof *{name})")
        } else {
            format!("sparsec_resize(NULL, {count}, sizeof *{name})")
        };
        self.line(&format!("{name} = {call};"));
        self.line(&format!("SPARSEC_NEED({name});"));
    }

    /// Elements in the order of their coordinates, in memory of its own on a CPU and where they
    /// stand on a GPU, which cannot allocate.
    pub(super) fn sort(
        &mut self,
        coordinates: &[ArrayId],
        values: ArrayId,
        count: &Expr,
        how: Sorts,
    ) {
        let names: Vec<&str> = coordinates.iter().map(|&c| self.array(c)).collect();
        let (by, order, first) = (names.join(", "), names.len(), names[0].to_string());
        let (count, values) = (self.expr(count), self.array(values).to_string());
        let ty = match self.dialect {
            Dialect::Device => format!("{} *const", c_type(self.kernel.array(coordinates[0]).elem)),
            Dialect::C => "void *const".to_string(),
        };
        let elements = format!("sparsec_by, sizeof *{first}, {values}, sizeof *{values}");
        let call = match (self.dialect, how) {
            (_, Sorts::Together(scratch)) => {
                let scratch = self.array(scratch);
                let scratch = format!("{scratch}, sizeof {scratch}");
                format!("sparsec_sort_together({count}, {order}, sparsec_by, {values}, {scratch});")
            }
            (Dialect::Device, _) => {
                format!("sparsec_sort_in_place({count}, {order}, sparsec_by, {values});")
            }
            (Dialect::C, Sorts::Distinct) => {
                format!("sparsec_sort_distinct({count}, {order}, {elements});")
            }
            (Dialect::C, Sorts::Any) => {
                format!("const bool sorted = sparsec_sort_elements({count}, {order}, {elements});")
            }
        };
        self.line("{");
        self.line(&format!("    {ty} sparsec_by[] = {{{by}}};"));
        self.line(&format!("    {call}"));
        if how == Sorts::Any && self.dialect == Dialect::C {
            self.line("    SPARSEC_NEED(sorted);");
        }
        self.line("}");
    }

    /// The room that there is before anything is appended, where it is not known how much that will be.
    pub(super) fn first_rooms(&mut self, rooms: &[Room]) {
        for room in rooms {
            if self.made_once.contains(&room.capacity) {
                continue;
            }
            let first = match &room.first {
                Some(first) => self.expr(first),
                None => FIRST_ROOM.to_string(),
            };
            if is_given(self.kernel, room) {
                let capacity = self.var(room.capacity).to_string();
                self.line(&format!(
                    "{capacity} = sparsec_max_int64({capacity}, {first});"
                ));
                for &array in &room.arrays {
                    self.alloc(array, &capacity, false);
                }
                continue;
            }
            let capacity = self.declare(room.capacity);
            let born = self.born_var(room.capacity);
            self.line(&format!("int64_t {capacity} = {first};{born}"));
            for &array in &room.arrays {
                self.alloc(array, &capacity, false);
            }
        }
    }

    pub(super) fn grow(&mut self, capacity: VarId, needed: &Expr) {
        let grown = self.rooms.iter().find(|room| room.capacity == capacity);
        let arrays = grown.map_or(Vec::new(), |room| room.arrays.clone());
        let room = self.var(capacity).to_string();
        if self.made_once.contains(&capacity) {
            self.once(capacity, needed);
            return;
        }
        // `p + 1 > capacity` as one writes it.
        let full = if let ExprKind::Binary(BinaryOp::Add, p, one) = &needed.kind
            && b::as_int(one) == Some(1)
        {
            format!("{} >= {room}", self.compared(p))
        } else {
            format!("{} > {room}", self.compared(needed))
        };
        let needed = self.expr(needed);
        self.line(&format!("if ({full}) {{"));
        self.indent += 1;
        self.line(&format!(
            "{room} = sparsec_next_capacity({room}, {needed});"
        ));
        for array in arrays {
            let name = self.array(array).to_string();
            self.line(&format!("SPARSEC_RESIZE({name}, {room});"));
        }
        self.indent -= 1;
        self.line("}");
    }

    /// Room for all that will be appended.
    fn once(&mut self, capacity: VarId, needed: &Expr) {
        let Some(room) = self.rooms.iter().find(|room| room.capacity == capacity) else {
            return;
        };
        let room = room.clone();
        let needed = self.expr(needed);
        let name = if is_given(self.kernel, &room) {
            let name = self.var(capacity).to_string();
            self.line(&format!("{name} = sparsec_max_int64({name}, {needed});"));
            name
        } else {
            let name = self.declare(capacity);
            let born = self.born_var(capacity);
            self.line(&format!("int64_t {name} = {needed};{born}"));
            name
        };
        for array in room.arrays {
            self.alloc(array, &name, false);
        }
    }

    /// Results give back what is more than half empty; what is less the next call finds again.
    /// Workspaces go soon.
    pub(super) fn trim(&mut self, capacity: VarId, count: &Expr) {
        let trimmed = self.rooms.iter().find(|room| room.capacity == capacity);
        let returned = |array: &ArrayId| self.kernel.array(*array).storage == Storage::Returned;
        let arrays = trimmed.map_or(Vec::new(), |room| room.arrays.clone());
        let arrays: Vec<ArrayId> = arrays.into_iter().filter(returned).collect();
        if arrays.is_empty() {
            return;
        }
        let (room, least) = (self.var(capacity).to_string(), self.compared(count));
        let count = self.expr(count);
        self.line(&format!("if ({least} < {room} / 2) {{"));
        self.indent += 1;
        for array in arrays {
            let name = self.array(array).to_string();
            self.line(&format!("SPARSEC_TRIM({name}, {count});"));
        }
        self.indent -= 1;
        self.line("}");
    }

    /// Outside of all loops, in a kernel that shares loops out to threads.
    fn has_idle_threads(&self) -> bool {
        let shared = |stmt: &Stmt| matches!(stmt, Stmt::For { tag, .. } if matches!(tag.run, Run::Threads { .. }));
        self.dialect == Dialect::C
            && self.part == Part::Body
            && self.loops == 0
            && visit::any(&self.kernel.body, &shared)
    }

    pub(super) fn fill(&mut self, array: ArrayId, start: &Expr, count: &Expr, value: &Expr) {
        let name = self.array(array).to_string();
        let zero = |e: &Expr| matches!(e.kind, ExprKind::Literal(l) if l.is_zero());
        if zero(value) {
            let from = if zero(start) {
                name.clone()
            } else {
                format!("{name} + {}", self.compared(start))
            };
            let count = self.expr(count);
            let written = self.watched_range(array, false, &self.expr(start), &count);
            self.line(&if self.has_idle_threads() {
                format!("{written}sparsec_clear({from}, {count}, sizeof *{name});")
            } else {
                let size = size_of(&count);
                format!("{written}memset({from}, 0, {size} * sizeof *{name});")
            });
            return;
        }
        self.scopes.open();
        let k = self.scopes.fresh("k");
        let (start_text, count_text) = (self.compared(start), self.compared(count));
        let value = self.expr(value);
        let stored = match half(self.kernel.array(array).elem) {
            Some(half) => format!("sparsec_float_to_{half}({value})"),
            None => value,
        };
        let at = if zero(start) {
            k.clone()
        } else {
            format!("{start_text} + {k}")
        };
        self.line(&format!(
            "for (int64_t {k} = 0; {k} < {count_text}; {k}++) {{"
        ));
        self.indent += 1;
        let at = self.watched(array, false, at);
        self.line(&format!("{name}[{at}] = {stored};"));
        self.indent -= 1;
        self.line("}");
        self.scopes.close();
    }
}
