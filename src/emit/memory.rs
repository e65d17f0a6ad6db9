//! The text of what makes room in arrays and fills them.

use super::kernel::Printer;
use crate::loops::build as b;
use crate::loops::ir::{ArrayId, BinaryOp, Expr, ExprKind, Room, ScalarType, VarId};

/// Elements that growing arrays have room for at first. They are never NULL, also where
/// nothing is ever appended.
const FIRST_ROOM: u32 = 16;

impl Printer<'_> {
    pub(super) fn alloc(&mut self, array: ArrayId, count: &str, zeroed: bool) {
        let name = self.array(array).to_string();
        let call = if zeroed {
            format!("sparsec_zeroed({count}, sizeof *{name})")
        } else {
            format!("sparsec_resize(NULL, {count}, sizeof *{name})")
        };
        self.line(&format!("{name} = {call};"));
        self.line(&format!("SPARSEC_NEED({name});"));
    }

    /// The room that there is before anything is appended.
    pub(super) fn first_rooms(&mut self, rooms: &[Room]) {
        for room in rooms {
            let capacity = self.declare(room.capacity);
            let born = self.born_var(room.capacity);
            self.line(&format!("int64_t {capacity} = {FIRST_ROOM};{born}"));
            for &array in &room.arrays {
                self.alloc(array, &capacity, false);
            }
        }
    }

    pub(super) fn grow(&mut self, capacity: VarId, needed: &Expr) {
        let grown = self.rooms.iter().find(|room| room.capacity == capacity);
        let arrays = grown.map_or(Vec::new(), |room| room.arrays.clone());
        let room = self.var(capacity).to_string();
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

    pub(super) fn fill(&mut self, array: ArrayId, start: &Expr, count: &Expr, value: &Expr) {
        let name = self.array(array).to_string();
        let zero = |e: &Expr| matches!(e.kind, ExprKind::Literal(l) if l.is_zero());
        if zero(value) {
            let from = if zero(start) {
                name.clone()
            } else {
                format!("{name} + {}", self.expr(start))
            };
            let count = self.expr(count);
            let written = self.watched_range(array, false, &self.expr(start), &count);
            self.line(&format!(
                "{written}memset({from}, 0, (size_t)({count}) * sizeof *{name});"
            ));
            return;
        }
        self.scopes.open();
        let k = self.scopes.fresh("k");
        let (start_text, count_text) = (self.compared(start), self.compared(count));
        let stored = match self.kernel.array(array).elem {
            ScalarType::F16 => format!("sparsec_float_to_half({})", self.expr(value)),
            ScalarType::BF16 => format!("sparsec_float_to_bfloat16({})", self.expr(value)),
            ScalarType::Bool
            | ScalarType::I8
            | ScalarType::I16
            | ScalarType::I32
            | ScalarType::I64
            | ScalarType::U8
            | ScalarType::U16
            | ScalarType::U32
            | ScalarType::U64
            | ScalarType::F32
            | ScalarType::F64
            | ScalarType::C64
            | ScalarType::C128 => self.expr(value),
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
