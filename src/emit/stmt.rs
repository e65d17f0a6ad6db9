//! The text of statements, on the host's C or inside a kernel of the device.

mod lookup;
mod update;

use super::kernel::{Dialect, Part, Printer};
use super::memory::Sorts;
use super::types::{c_type, is_lane, lane_type};
use super::wrap::wrapped;
use crate::loops::build as b;
use crate::loops::ir::{ArrayId, BinaryOp, ErrorCode, Expr, ExprKind, Stmt, Storage, VarId};

impl Printer<'_> {
    /// A line, broken where it is too long.
    pub(super) fn line(&mut self, text: &str) {
        let text = &*self.marked(text);
        self.out += &wrapped(text, 4 * self.indent);
        self.out.push('\n');
    }

    /// Statements between braces, with names of their own.
    pub(super) fn block(&mut self, body: &[Stmt]) {
        self.scopes.open();
        self.indent += 1;
        self.stmts(body);
        self.indent -= 1;
        self.scopes.close();
    }

    /// The block of a loop.
    pub(super) fn loop_body(&mut self, body: &[Stmt]) {
        self.loops += 1;
        self.block(body);
        self.loops -= 1;
    }

    pub(super) fn stmts(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.begin_watching(stmt);
            self.stmt(stmt);
        }
    }

    /// Names a variable in the block that declares it.
    pub(super) fn declare(&mut self, var: VarId) -> String {
        let kernel = self.kernel;
        let name = self.scopes.fresh(&kernel.var(var).name);
        self.names[var.index()].clone_from(&name);
        name
    }

    /// Names an array in the block that declares it.
    fn declare_array(&mut self, array: ArrayId) {
        let name = self.scopes.fresh(&self.kernel.array(array).name);
        self.set_array(array, name);
    }

    pub(super) fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let { var, init } => self.bind(*var, init),
            Stmt::Assign { var, op, value } => self.assign(*var, *op, value),
            Stmt::Store {
                array,
                index,
                op,
                value,
                atomic,
            } => self.store(*array, index, *op, value, *atomic),
            Stmt::For { .. } => self.for_loop(stmt),
            Stmt::While { cond, body } => {
                let cond = self.expr(cond);
                self.line(&format!("while ({cond}) {{"));
                self.loop_body(body);
                self.line("}");
            }
            Stmt::If { .. } => match self.stored_first(stmt) {
                Some(text) => self.line(&text),
                None => self.if_chain(stmt),
            },
            Stmt::Alloc {
                array,
                count,
                zeroed,
            } => {
                let count = self.number(count);
                self.alloc(*array, &count, *zeroed);
            }
            Stmt::Append { rooms, body } => {
                self.made_once = super::memory::made_once(rooms, body);
                self.first_rooms(rooms);
                // Without a block of its own: what it makes is handed over at the end.
                let around = std::mem::replace(&mut self.rooms, rooms.clone());
                self.stmts(body);
                self.rooms = around;
            }
            Stmt::Grow { capacity, needed } => self.grow(*capacity, needed),
            Stmt::Trim { capacity, count } => self.trim(*capacity, count),
            Stmt::Declare { array, count } => self.local_array(*array, *count),
            Stmt::Slice { array, of, offset } => self.slice(*array, *of, offset),
            Stmt::Assume { cond, text, found } => {
                let (cond, found) = (self.expr(cond), self.expr(found));
                self.line(&format!("SPARSEC_ASSUME({cond}, \"{text}\", {found});"));
            }
            Stmt::Free { array } => self.free(*array),
            Stmt::Fill {
                array,
                start,
                count,
                value,
            } => self.fill(*array, start, count, value),
            Stmt::Search {
                var,
                array,
                lo,
                hi,
                key,
                by,
            } => self.search(*var, *array, (lo, hi), key, *by),
            Stmt::Enter {
                table,
                coordinates,
                lo,
                hi,
            } => self.enter_table(*table, *coordinates, lo, hi),
            Stmt::Take { var, array, index } => self.take(*var, *array, index),
            Stmt::Sort {
                coordinates,
                values,
                count,
                distinct,
            } => {
                let how = match distinct {
                    true => Sorts::Distinct,
                    false => Sorts::Any,
                };
                self.sort(coordinates, *values, count, how);
            }
            Stmt::FailIf { cond, code } => self.fail_if(cond, *code),
            // `scans` made loops of these, `device` launches; one that is left must not compile.
            Stmt::Scan { .. } => {
                debug_assert!(false, "in a text: {stmt:?}");
                self.line("#error a scan is left");
            }
            Stmt::Device(device) => self.device(device),
            Stmt::Prefetch { array, index } => {
                let text = format!(
                    "SPARSEC_PREFETCH({}, {});",
                    self.array(*array),
                    self.expr(index)
                );
                self.line(&text);
            }
            Stmt::Comment(text) => self.line(&format!("/* {} */", text.replace("*/", "* /"))),
        }
    }

    /// A variable that is set once.
    fn bind(&mut self, var: VarId, init: &Expr) {
        let ty = self.kernel.var(var).ty;
        let ty = match &self.lanes {
            Some(lanes) if lanes.is_wide(init) && is_lane(ty) => lane_type(ty, lanes.count),
            // Each lane's own, in the subscripts that need it.
            Some(lanes) if lanes.is_wide(init) => return,
            Some(_) | None => c_type(ty).to_string(),
        };
        let settled = self.lanes.as_ref().map(|lanes| lanes.settled(init));
        let init = self.expr(settled.as_ref().unwrap_or(init));
        let name = self.declare(var);
        let born = self.born_var(var);
        self.line(&format!("{ty} {name} = {init};{born}"));
    }

    /// An array of the block's own, or of all threads of a GPU's block.
    fn local_array(&mut self, array: ArrayId, count: u64) {
        self.declare_array(array);
        let elem = self.kernel.array(array);
        let shared = if elem.storage == Storage::Shared {
            "__shared__ "
        } else {
            ""
        };
        let text = format!(
            "{shared}{} {}[{count}];{}",
            c_type(elem.elem),
            self.array(array),
            self.born(array)
        );
        self.line(&text);
    }

    /// A name for the part of an array from an offset on.
    fn slice(&mut self, array: ArrayId, of: ArrayId, offset: &Expr) {
        let ty = c_type(self.kernel.array(array).elem);
        let offset = self.compared(offset);
        self.declare_array(array);
        // Threads of a block may share a part: see `device::kernel_function`.
        let restrict = match self.dialect {
            Dialect::Device => "",
            Dialect::C => "SPARSEC_RESTRICT ",
        };
        let text = format!(
            "{ty} *{restrict}{} = {} + {};{}",
            self.array(array),
            self.array(of),
            offset,
            self.born(array)
        );
        self.line(&text);
    }

    /// Frees an array, and forgets it where a failure would free it again.
    fn free(&mut self, array: ArrayId) {
        let name = self.array(array).to_string();
        self.line(&format!("sparsec_release({name});"));
        // What fails later releases all arrays.
        if !self.ends {
            self.line(&format!("{name} = NULL;"));
        }
    }

    /// Leaves the function with a status where the condition holds.
    fn fail_if(&mut self, cond: &Expr, code: ErrorCode) {
        // A number that tests make smaller has a name.
        let cond = if let ExprKind::Binary(BinaryOp::Lt, most, count) = &cond.kind
            && b::as_int(most) == Some(i64::from(i32::MAX))
        {
            format!("{} > SPARSEC_INDEX_MAX", self.compared(count))
        } else {
            self.expr(cond)
        };
        let code = error_name(code);
        if self.part == Part::Checks {
            // Nothing is allocated that would have to be freed.
            return self.line(&format!("if ({cond}) return {code};"));
        }
        self.line(&format!("if ({cond}) {{"));
        self.indent += 1;
        self.line(&format!("error = {code};"));
        self.line("goto fail;");
        self.indent -= 1;
        self.line("}");
    }

    /// `if`, `else if` and `else` without more braces than C needs.
    fn if_chain(&mut self, stmt: &Stmt) {
        let mut at = stmt;
        let mut head = String::new();
        loop {
            let Stmt::If {
                cond,
                then,
                otherwise,
            } = at
            else {
                return;
            };
            let cond = self.expr(cond);
            self.line(&format!("{head}if ({cond}) {{"));
            self.block(then);
            match otherwise.as_slice() {
                [] => break,
                [next @ Stmt::If { .. }] => {
                    head = "} else ".to_string();
                    at = next;
                }
                other => {
                    self.line("} else {");
                    self.block(other);
                    break;
                }
            }
        }
        self.line("}");
    }
}

/// The runtime's name of an error.
pub(super) fn error_name(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::OutOfMemory => "SPARSEC_OUT_OF_MEMORY",
        ErrorCode::IndexOutOfRange => "SPARSEC_INDEX_OUT_OF_RANGE",
        ErrorCode::IndexOverflow => "SPARSEC_INDEX_OVERFLOW",
        ErrorCode::Changed => "SPARSEC_CHANGED",
    }
}
