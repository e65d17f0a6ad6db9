//! The text of statements, on the host's C or inside a kernel of the device.

use super::kernel::{Dialect, Part, Printer};
use super::loops::atomic_pragma;
use super::memory::Sorts;
use super::operators;
use super::types::{c_type, half, is_lane, lane_type};
use super::wrap::wrapped;
use crate::loops::build as b;
use crate::loops::ir::{
    ArrayId, BinaryOp, ErrorCode, Expr, ExprKind, Look, ReduceOp, ScalarType, Stmt, Storage, VarId,
};

/// What a statement updates.
#[derive(Clone, Copy)]
enum Updated {
    Var(VarId),
    Array(ArrayId),
}

impl Printer<'_> {
    pub(super) fn line(&mut self, text: &str) {
        let text = &*self.marked(text);
        self.out += &wrapped(text, 4 * self.indent);
        self.out.push('\n');
    }

    pub(super) fn block(&mut self, body: &[Stmt]) {
        self.scopes.open();
        self.indent += 1;
        self.stmts(body);
        self.indent -= 1;
        self.scopes.close();
    }

    pub(super) fn stmts(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.begin_watching(stmt);
            self.stmt(stmt);
        }
    }

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
            Stmt::Let { var, init } => {
                let ty = self.kernel.var(*var).ty;
                let ty = match &self.lanes {
                    Some(lanes) if lanes.is_wide(init) && is_lane(ty) => lane_type(ty, lanes.count),
                    // Each lane's own, in the subscripts that need it.
                    Some(lanes) if lanes.is_wide(init) => return,
                    Some(_) | None => c_type(ty).to_string(),
                };
                let settled = self.lanes.as_ref().map(|lanes| lanes.settled(init));
                let init = self.expr(settled.as_ref().unwrap_or(init));
                let name = self.declare(*var);
                let born = self.born_var(*var);
                self.line(&format!("{ty} {name} = {init};{born}"));
            }
            Stmt::Assign { var, op, value } => {
                let target = self.watched_var(*var, false);
                let ty = self.kernel.var(*var).ty;
                let text = self.update(&target, ty, *op, value, Updated::Var(*var));
                self.line(&text);
            }
            Stmt::Store {
                array,
                index,
                op,
                value,
                atomic,
            } => {
                if *atomic && self.dialect == Dialect::Device {
                    let text = self.atomic_update(*array, index, *op, value);
                    return self.line(&text);
                }
                if *atomic {
                    let elem = self.kernel.array(*array).elem;
                    self.pragma(atomic_pragma(elem, *op));
                    if let (Some(ReduceOp::Add), true) = (op, elem.is_integer() && elem.size() < 4)
                    {
                        let target = self.element(*array, index, false);
                        let text = format!("{target} += {};", self.expr(value));
                        return self.line(&text);
                    }
                }
                let target = self.element(*array, index, false);
                let elem = self.kernel.array(*array).elem;
                if let (Some(lanes), None) = (&self.lanes, op)
                    && !lanes.is_wide(value)
                {
                    let ty = lane_type(elem, lanes.count);
                    let zero = matches!(value.kind, ExprKind::Literal(l) if l.is_zero());
                    let more = if zero {
                        String::new()
                    } else {
                        format!(" + {}", self.compared(value))
                    };
                    return self.line(&format!("{target} = ({ty}){{0}}{more};"));
                }
                if let Some(text) = self.tested(value) {
                    return self.line(&format!("{target} += {text};"));
                }
                // An element that data choose is not read for what it becomes anyway.
                if *op == Some(ReduceOp::Or)
                    && elem == ScalarType::Bool
                    && !*atomic
                    && index.loads()
                {
                    let text = self.expr(value);
                    return self.line(&format!("if ({text}) {target} = true;"));
                }
                // A half-width element is read, combined in float and rounded.
                let combined = || match op {
                    Some(op) => {
                        let old = b::load(*array, elem, index.clone());
                        self.expr(&b::combine(*op, old, value.clone()))
                    }
                    None => self.expr(value),
                };
                let text = match half(elem) {
                    Some(half) => format!("{target} = sparsec_float_to_{half}({});", combined()),
                    None => self.update(&target, elem, *op, value, Updated::Array(*array)),
                };
                self.line(&text);
            }
            Stmt::For { .. } => self.for_loop(stmt),
            Stmt::While { cond, body } => {
                let cond = self.expr(cond);
                self.line(&format!("while ({cond}) {{"));
                self.block(body);
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
            Stmt::Declare { array, count } => {
                self.declare_array(*array);
                let elem = self.kernel.array(*array);
                let shared = if elem.storage == Storage::Shared {
                    "__shared__ "
                } else {
                    ""
                };
                let text = format!(
                    "{shared}{} {}[{count}];{}",
                    c_type(elem.elem),
                    self.array(*array),
                    self.born(*array)
                );
                self.line(&text);
            }
            Stmt::Slice { array, of, offset } => {
                let ty = c_type(self.kernel.array(*array).elem);
                let offset = self.compared(offset);
                self.declare_array(*array);
                // Threads of a block may share a part: see `device::kernel_function`.
                let restrict = match self.dialect {
                    Dialect::Device => "",
                    Dialect::C => "SPARSEC_RESTRICT ",
                };
                let text = format!(
                    "{ty} *{restrict}{} = {} + {};{}",
                    self.array(*array),
                    self.array(*of),
                    offset,
                    self.born(*array)
                );
                self.line(&text);
            }
            Stmt::Assume { cond, text, found } => {
                let (cond, found) = (self.expr(cond), self.expr(found));
                self.line(&format!("SPARSEC_ASSUME({cond}, \"{text}\", {found});"));
            }
            Stmt::Free { array } => {
                let name = self.array(*array).to_string();
                self.line(&format!("sparsec_release({name});"));
                // What fails behind it releases all arrays.
                if !self.ends {
                    self.line(&format!("{name} = NULL;"));
                }
            }
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
            } => {
                let width = self.kernel.array(*array).elem.name();
                let (lo, hi) = (self.expr(lo), self.expr(hi));
                let count = format!("({hi}) - ({lo})");
                let mut read = match by {
                    Look::Bisect | Look::Gallop | Look::Table(_) => {
                        self.watched_range(*array, true, &lo, &count)
                    }
                    // Whoever sets a slot has set the coordinate that it leads to.
                    Look::Slot(table) => self.watched_range(*table, true, &lo, &count),
                };
                let how = match by {
                    Look::Bisect => format!("lower_bound_{width}("),
                    Look::Gallop => format!("gallop_{width}("),
                    Look::Table(table) => {
                        let (first, count) =
                            (format!("2 * ({lo})"), format!("2 * (({hi}) - ({lo}))"));
                        read += &self.watched_range(*table, true, &first, &count);
                        format!("look_up_{width}({}, ", self.array(*table))
                    }
                    Look::Slot(table) => format!("place_{width}({}, ", self.array(*table)),
                };
                let call = format!(
                    "sparsec_{how}{}, {lo}, {hi}, {})",
                    self.array(*array),
                    self.expr(key)
                );
                let name = self.declare(*var);
                self.line(&format!("{read}int64_t {name} = {call};"));
            }
            Stmt::Enter {
                table,
                coordinates,
                lo,
                hi,
            } => {
                let width = self.kernel.array(*table).elem.name();
                let (lo, hi) = (self.expr(lo), self.expr(hi));
                let read = self.watched_range(*coordinates, true, &lo, &format!("({hi}) - ({lo})"));
                let (first, count) = (format!("2 * ({lo})"), format!("2 * (({hi}) - ({lo}))"));
                let written = self.watched_range(*table, false, &first, &count);
                let arrays = format!("{}, {}", self.array(*table), self.array(*coordinates));
                self.line(&format!(
                    "{read}{written}sparsec_enter_{width}({arrays}, {lo}, {hi});"
                ));
            }
            Stmt::Take { var, array, index } => {
                let element = self.element(*array, index, false);
                let name = self.declare(*var);
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
            Stmt::FailIf { cond, code } => {
                // A number that tests make smaller has a name.
                let cond = if let ExprKind::Binary(BinaryOp::Lt, most, count) = &cond.kind
                    && b::as_int(most) == Some(i64::from(i32::MAX))
                {
                    format!("{} > SPARSEC_INDEX_MAX", self.compared(count))
                } else {
                    self.expr(cond)
                };
                self.fail_if(&cond, error_name(*code));
            }
            // Loops since `scans`, launches since `device`; what was left would not compile.
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

    fn fail_if(&mut self, cond: &str, code: &str) {
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

    /// `target op= value;` in the shortest form that C has.
    fn update(
        &self,
        target: &str,
        ty: ScalarType,
        op: Option<ReduceOp>,
        value: &Expr,
        into: Updated,
    ) -> String {
        let text = self.expr(value);
        let var = match into {
            Updated::Var(var) => Some(var),
            Updated::Array(_) => None,
        };
        let narrow = ty.is_integer() && ty.size() < 4;
        // Of an element of an array, what is skipped may be its store.
        let flag = |symbol: char| {
            let own = var.and(Some(value)).filter(|_| ty == ScalarType::Bool);
            own.and_then(|value| self.gathered(target, symbol, value))
        };
        match op {
            None => {
                if let (Some(var), ExprKind::Binary(crate::loops::ir::BinaryOp::Add, a, b)) =
                    (var, &value.kind)
                    && a.kind == ExprKind::Var(var)
                {
                    let one =
                        matches!(b.kind, ExprKind::Literal(crate::loops::ir::Literal::Int(1)));
                    return if one {
                        format!("{target}++;")
                    } else {
                        format!("{target} += {};", self.expr(b))
                    };
                }
                format!("{target} = {text};")
            }
            Some(ReduceOp::Add) if !narrow && ty != ScalarType::Bool => {
                if let ExprKind::Unary(crate::loops::ir::UnaryOp::Neg, a) = &value.kind {
                    return format!("{target} -= {};", self.expr(a));
                }
                format!("{target} += {text};")
            }
            Some(ReduceOp::Mul) if !narrow && ty != ScalarType::Bool => {
                format!("{target} *= {text};")
            }
            Some(ReduceOp::Add) if ty == ScalarType::Bool => {
                flag('|').unwrap_or_else(|| format!("{target} = {target} || ({text});"))
            }
            Some(ReduceOp::Mul) if ty == ScalarType::Bool => {
                flag('&').unwrap_or_else(|| format!("{target} = {target} && ({text});"))
            }
            Some(ReduceOp::Add) => {
                format!("{target} = ({})({target} + ({text}));", c_type(ty))
            }
            Some(ReduceOp::Mul) => {
                format!("{target} = ({})({target} * ({text}));", c_type(ty))
            }
            Some(op @ (ReduceOp::Min | ReduceOp::Max)) => {
                let min = op == ReduceOp::Min;
                let is_number = match into {
                    Updated::Var(var) => self.numbers.contains(&var),
                    Updated::Array(array) => self.number_arrays.contains(&array),
                };
                let name = match (min, is_number) {
                    (true, true) => "lowered",
                    (false, true) => "raised",
                    (true, false) => "min",
                    (false, false) => "max",
                };
                if let (Updated::Array(_), Some(text)) =
                    (into, self.combined_lanes(name, target, value))
                {
                    return format!("{target} = {text};");
                }
                let call = if ty == ScalarType::Bool {
                    let symbol = if min { '&' } else { '|' };
                    let skips = || format!("{target} = {target} {symbol}{symbol} ({text});");
                    return flag(symbol).unwrap_or_else(skips);
                } else if ty.is_integer() || self.dialect == Dialect::C {
                    format!("sparsec_{name}_{}", ty.name())
                } else {
                    let name = if min { "fmin" } else { "fmax" };
                    let suffix = if ty == ScalarType::F32 { "f" } else { "" };
                    format!("{name}{suffix}")
                };
                format!("{target} = {call}({target}, {text});")
            }
            Some(ReduceOp::And) => {
                flag('&').unwrap_or_else(|| format!("{target} = {target} && ({text});"))
            }
            Some(ReduceOp::Or) => {
                flag('|').unwrap_or_else(|| format!("{target} = {target} || ({text});"))
            }
            Some(ReduceOp::Own(own)) => {
                format!(
                    "{target} = {}({target}, {text});",
                    operators::function(own, ty)
                )
            }
        }
    }

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
