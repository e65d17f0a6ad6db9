//! The text of statements, on the host's C or inside a kernel of the device.

use super::kernel::{Dialect, Part, Printer};
use super::types::{c_type, is_lane, lane_type};
use crate::loops::build as b;
use crate::loops::ir::{
    ArrayId, ErrorCode, Expr, ExprKind, LoopTag, OmpSchedule, ReduceOp, ScalarType, Stmt, Storage,
    VarId,
};
use crate::loops::lanes::Lanes;
use std::fmt::Write as _;

impl Printer<'_> {
    pub(super) fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
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
            self.stmt(stmt);
        }
    }

    pub(super) fn declare(&mut self, var: VarId) -> String {
        let kernel = self.kernel;
        let name = self.scopes.fresh(&kernel.var(var).name);
        self.names[var.0 as usize].clone_from(&name);
        name
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
                let init = self.expr(init);
                let name = self.declare(*var);
                self.line(&format!("{ty} {name} = {init};"));
            }
            Stmt::Assign { var, op, value } => {
                let target = self.var(*var).to_string();
                let ty = self.kernel.var(*var).ty;
                let text = self.update(&target, ty, *op, value, Some(*var));
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
                        let text = format!(
                            "{}[{}] += {};",
                            self.array(*array),
                            self.expr(index),
                            self.expr(value)
                        );
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
                // A half-width element is read, combined in float and rounded.
                let combined = || match op {
                    Some(op) => {
                        let old = b::load(*array, elem, index.clone());
                        self.expr(&b::combine(*op, old, value.clone()))
                    }
                    None => self.expr(value),
                };
                let text = match elem {
                    ScalarType::F16 => {
                        format!("{target} = sparsec_float_to_half({});", combined())
                    }
                    ScalarType::BF16 => {
                        format!("{target} = sparsec_float_to_bfloat16({});", combined())
                    }
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
                    | ScalarType::C128 => self.update(&target, elem, *op, value, None),
                };
                self.line(&text);
            }
            Stmt::For {
                var,
                lo,
                hi,
                step,
                tag,
                body,
            } => {
                let (lo, hi) = (self.expr(lo), self.compared(hi));
                let sums = self.open_sums(tag);
                self.scopes.open();
                let name = self.declare(*var);
                let before = self.lanes.take();
                self.lanes = tag.lanes.map(|count| Lanes::of(*var, count, body));
                let once = tag
                    .lanes
                    .is_some_and(|count| tag.unroll == Some(1) && count > 1);
                let step = tag.lanes.map_or(*step, i64::from);
                if once {
                    self.line(&format!(
                        "{{\n{}int64_t {name} = {lo};",
                        "    ".repeat(self.indent + 1)
                    ));
                } else {
                    self.loop_pragmas(tag);
                    let next = if step == 1 {
                        format!("{name}++")
                    } else {
                        format!("{name} += {step}")
                    };
                    self.line(&format!(
                        "for (int64_t {name} = {lo}; {name} < {hi}; {next}) {{"
                    ));
                }
                self.block(body);
                self.lanes = before;
                self.scopes.close();
                self.line("}");
                self.close_sums(tag, sums);
            }
            Stmt::While { cond, body } => {
                let cond = self.expr(cond);
                self.line(&format!("while ({cond}) {{"));
                self.block(body);
                self.line("}");
            }
            Stmt::If { .. } => self.if_chain(stmt),
            Stmt::Alloc {
                array,
                count,
                zeroed,
            } => {
                let name = self.array(*array).to_string();
                let count = self.expr(count);
                let call = if *zeroed {
                    format!("sparsec_zeroed({count}, sizeof *{name})")
                } else {
                    format!("sparsec_resize(NULL, {count}, sizeof *{name})")
                };
                self.line(&format!("{name} = {call};"));
                self.line(&format!("SPARSEC_NEED({name});"));
            }
            Stmt::Grow {
                arrays,
                capacity,
                needed,
            } => self.grow(arrays, *capacity, needed),
            Stmt::Declare { array, count } => {
                let elem = self.kernel.array(*array);
                let shared = if elem.storage == Storage::Shared {
                    "__shared__ "
                } else {
                    ""
                };
                let text = format!(
                    "{shared}{} {}[{count}];",
                    c_type(elem.elem),
                    self.array(*array)
                );
                self.line(&text);
            }
            Stmt::Slice { array, of, offset } => {
                let ty = c_type(self.kernel.array(*array).elem);
                let text = format!(
                    "{ty} *SPARSEC_RESTRICT {} = {} + {};",
                    self.array(*array),
                    self.array(*of),
                    self.compared(offset)
                );
                self.line(&text);
            }
            Stmt::Assume { cond, text } => {
                let text = format!("SPARSEC_ASSUME({}, \"{text}\");", self.expr(cond));
                self.line(&text);
            }
            Stmt::Free { array } => {
                let name = self.array(*array).to_string();
                self.line(&format!("sparsec_release({name});"));
                self.line(&format!("{name} = NULL;"));
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
                gallop,
            } => {
                let width = self.kernel.array(*array).elem.name();
                let how = if *gallop { "gallop" } else { "lower_bound" };
                let call = format!(
                    "sparsec_{how}_{width}({}, {}, {}, {})",
                    self.array(*array),
                    self.expr(lo),
                    self.expr(hi),
                    self.expr(key)
                );
                let name = self.declare(*var);
                self.line(&format!("int64_t {name} = {call};"));
            }
            Stmt::FailIf { cond, code } => {
                let code = match code {
                    ErrorCode::OutOfMemory => "SPARSEC_OUT_OF_MEMORY",
                    ErrorCode::IndexOutOfRange => "SPARSEC_INDEX_OUT_OF_RANGE",
                    ErrorCode::IndexOverflow => "SPARSEC_INDEX_OVERFLOW",
                };
                let cond = self.expr(cond);
                self.fail_if(&cond, code);
            }
            Stmt::Device(device) => self.device(device),
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
        var: Option<VarId>,
    ) -> String {
        let text = self.expr(value);
        let narrow = ty.is_integer() && ty.size() < 4;
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
                format!("{target} = {target} || ({text});")
            }
            Some(ReduceOp::Mul) if ty == ScalarType::Bool => {
                format!("{target} = {target} && ({text});")
            }
            Some(ReduceOp::Add) => {
                format!("{target} = ({})({target} + ({text}));", c_type(ty))
            }
            Some(ReduceOp::Mul) => {
                format!("{target} = ({})({target} * ({text}));", c_type(ty))
            }
            Some(op @ (ReduceOp::Min | ReduceOp::Max)) => {
                let min = op == ReduceOp::Min;
                let call = if ty == ScalarType::Bool {
                    let symbol = if min { "&&" } else { "||" };
                    return format!("{target} = {target} {symbol} ({text});");
                } else if ty.is_integer() {
                    let name = if min { "min" } else { "max" };
                    format!("sparsec_{name}_{}", ty.name())
                } else {
                    let name = if min { "fmin" } else { "fmax" };
                    let suffix = if ty == ScalarType::F32 { "f" } else { "" };
                    format!("{name}{suffix}")
                };
                format!("{target} = {call}({target}, {text});")
            }
            Some(ReduceOp::And) => format!("{target} = {target} && ({text});"),
            Some(ReduceOp::Or) => format!("{target} = {target} || ({text});"),
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

    fn grow(&mut self, arrays: &[ArrayId], capacity: VarId, needed: &Expr) {
        let room = self.var(capacity).to_string();
        let full = match &needed.kind {
            // `p + 1 > capacity` as one writes it.
            ExprKind::Binary(crate::loops::ir::BinaryOp::Add, p, one)
                if one.kind == ExprKind::Literal(crate::loops::ir::Literal::Int(1)) =>
            {
                format!("{} >= {room}", self.compared(p))
            }
            ExprKind::Literal(_)
            | ExprKind::Var(_)
            | ExprKind::Load { .. }
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Call(..)
            | ExprKind::Cast(_)
            | ExprKind::Select(..)
            | ExprKind::Place(_) => format!("{} > {room}", self.compared(needed)),
        };
        let needed = self.expr(needed);
        self.line(&format!("if ({full}) {{"));
        self.indent += 1;
        self.line(&format!(
            "{room} = sparsec_next_capacity({room}, {needed});"
        ));
        for &array in arrays {
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
            self.line(&format!(
                "memset({from}, 0, (size_t)({count}) * sizeof *{name});"
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
        self.line(&format!("{name}[{at}] = {stored};"));
        self.indent -= 1;
        self.line("}");
        self.scopes.close();
    }

    /// What each lane has of a value that it tests for itself.
    fn tested(&mut self, value: &Expr) -> Option<String> {
        let ExprKind::Select(cond, ..) = &value.kind else {
            return None;
        };
        if !self.lanes.as_ref()?.varies(cond) {
            return None;
        }
        let lanes = self.lanes.take()?;
        let each: Vec<String> = (0..lanes.count)
            .map(|lane| self.expr(&lanes.at(value, lane)))
            .collect();
        let ty = lane_type(value.ty, lanes.count);
        self.lanes = Some(lanes);
        Some(self.lane_values(&ty, each))
    }

    /// Declares a sum for each lane in the place of those that a loop in lanes makes; returns
    /// the names of these.
    fn open_sums(&mut self, tag: &LoopTag) -> Vec<String> {
        let Some(count) = tag.lanes else {
            return Vec::new();
        };
        let mut names = Vec::new();
        for (_, var) in &tag.reductions {
            let ty = lane_type(self.kernel.var(*var).ty, count);
            let lanes = self.scopes.fresh(&format!("{}_lanes", self.var(*var)));
            self.line(&format!("{ty} {lanes} = {{0}};"));
            names.push(std::mem::replace(&mut self.names[var.0 as usize], lanes));
        }
        names
    }

    /// Adds up the lanes that [`Self::open_sums`] declared.
    fn close_sums(&mut self, tag: &LoopTag, names: Vec<String>) {
        for ((_, var), name) in tag.reductions.iter().zip(names) {
            let ty = self.kernel.var(*var).ty;
            let sum = lane_type(ty, tag.lanes.unwrap_or(1)).replacen("sparsec", "sparsec_sum", 1);
            let lanes = std::mem::replace(&mut self.names[var.0 as usize], name);
            self.line(&format!("{} += {sum}({lanes});", self.var(*var)));
        }
    }

    /// A pragma that compilers without OpenMP do not see.
    fn pragma(&mut self, text: &str) {
        let _ = writeln!(self.out, "#ifdef _OPENMP");
        self.line(&format!("#pragma {text}"));
        let _ = writeln!(self.out, "#endif");
    }

    fn loop_pragmas(&mut self, tag: &LoopTag) {
        let mut clauses = String::new();
        for (op, var) in &tag.reductions {
            let ty = self.kernel.var(*var).ty;
            clauses += &format!(" reduction({}:{})", reduction(*op, ty), self.var(*var));
        }
        let clause = |kind: &str, chunk: Option<u32>| match chunk {
            Some(chunk) => format!(" schedule({kind}, {chunk})"),
            None => format!(" schedule({kind})"),
        };
        if let Some(parallel) = tag.parallel {
            let schedule = match parallel.schedule {
                OmpSchedule::Default => String::new(),
                OmpSchedule::Static(chunk) => clause("static", chunk),
                OmpSchedule::Dynamic(chunk) => clause("dynamic", chunk),
                OmpSchedule::Guided(chunk) => clause("guided", chunk),
            };
            self.pragma(&format!("omp parallel for{schedule}{clauses}"));
        } else if tag.vector && tag.lanes.is_none() {
            self.pragma(&format!("omp simd{clauses}"));
        } else if let Some(n) = tag.unroll {
            self.line(&format!("SPARSEC_UNROLL({n})"));
        }
    }
}

/// The pragma that makes an update atomic: OpenMP's `atomic` knows sums and products of
/// numbers; whatever else there is takes turns.
fn atomic_pragma(elem: ScalarType, op: Option<ReduceOp>) -> &'static str {
    let number = !elem.is_complex() && elem != ScalarType::Bool && elem.compute() == elem;
    let narrow = elem.is_integer() && elem.size() < 4;
    match op {
        Some(ReduceOp::Add) if number => "omp atomic",
        Some(ReduceOp::Mul) if number && !narrow => "omp atomic",
        Some(
            ReduceOp::Add
            | ReduceOp::Mul
            | ReduceOp::Min
            | ReduceOp::Max
            | ReduceOp::And
            | ReduceOp::Or,
        )
        | None => "omp critical",
    }
}

/// OpenMP's name of a reduction.
fn reduction(op: ReduceOp, ty: ScalarType) -> &'static str {
    let logical = ty == ScalarType::Bool;
    match op {
        ReduceOp::Add if logical => "||",
        ReduceOp::Mul | ReduceOp::Min if logical => "&&",
        ReduceOp::Max if logical => "||",
        ReduceOp::Add => "+",
        ReduceOp::Mul => "*",
        ReduceOp::Min => "min",
        ReduceOp::Max => "max",
        ReduceOp::And => "&&",
        ReduceOp::Or => "||",
    }
}
