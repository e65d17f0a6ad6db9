//! Expressions in C, with as few parentheses as its precedences need.

use super::kernel::{Dialect, Printer};
use super::types::{c_type, half, helper_suffix, is_lane, lane_type};
use super::width::Meeting;
use super::{literal, operators};
use crate::loops::build::as_int;
use crate::loops::ir::{
    ArrayId, Axis, BinaryOp, Expr, ExprKind, Func, Literal, Place, ScalarType, UnaryOp,
};

/// How tightly C's operators bind.
const TERNARY: u8 = 1;
const OR: u8 = 2;
const AND: u8 = 3;
const EQUALITY: u8 = 4;
const RELATION: u8 = 5;
const SUM: u8 = 6;
const PRODUCT: u8 = 7;
const PREFIX: u8 = 8;
const PRIMARY: u8 = 9;

impl Printer<'_> {
    /// The text of an expression that stands alone.
    pub(super) fn expr(&self, e: &Expr) -> String {
        self.at(e, 0)
    }

    /// The text of an expression that is compared with another.
    pub(super) fn compared(&self, e: &Expr) -> String {
        self.at(e, SUM)
    }

    /// The text of an expression as an operand of an operator that binds at `outer`.
    fn at(&self, e: &Expr, outer: u8) -> String {
        let (text, level) = self.text(e);
        if level < outer {
            format!("({text})")
        } else {
            text
        }
    }

    fn text(&self, e: &Expr) -> (String, u8) {
        match &e.kind {
            ExprKind::Literal(l) => {
                let text = literal::text(*l, e.ty, self.dialect);
                let level = if text.starts_with('-') {
                    PREFIX
                } else {
                    PRIMARY
                };
                (text, level)
            }
            ExprKind::Var(v) => (self.watched_var(*v, true), PRIMARY),
            ExprKind::Place(place) => (place_text(*place), PRIMARY),
            ExprKind::Load { array, index } => {
                let element = self.element(*array, index, true);
                let text = match half(self.kernel.array(*array).elem) {
                    Some(half) => format!("sparsec_{half}_to_float({element})"),
                    None => element,
                };
                let level = if text.starts_with('*') {
                    PREFIX
                } else {
                    PRIMARY
                };
                (text, level)
            }
            ExprKind::Unary(UnaryOp::Not, a) => (format!("!{}", self.at(a, PREFIX)), PREFIX),
            ExprKind::Unary(UnaryOp::Neg, a) => {
                let mut inner = self.at(a, PREFIX);
                if self.negation_wraps(a) {
                    inner = format!("(int64_t){inner}");
                }
                // `--x` would be a decrement.
                let text = if inner.starts_with('-') {
                    format!("-({inner})")
                } else {
                    format!("-{inner}")
                };
                self.negated(e.ty, (text, PREFIX))
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, e.ty),
            ExprKind::Call(func, args) => self.call(*func, args, e.ty),
            ExprKind::Cast(a) => self.cast(e.ty, a),
            ExprKind::Locate(parent, extent, coordinate) => {
                self.text(&crate::loops::build::flat(parent, extent, coordinate))
            }
            ExprKind::Select(c, a, b) => {
                if let Some(text) = self.first(e) {
                    return (text, PRIMARY);
                }
                let chosen = self.chosen(a, b);
                let (left, right) = self.operands(chosen, (a, TERNARY), (b, TERNARY));
                (format!("{} ? {left} : {right}", self.at(c, OR)), TERNARY)
            }
        }
    }

    /// `array[index]`, or as many elements as run at a time: from there on, or each where
    /// its lane finds it; `read` only.
    pub(super) fn element(&self, array: ArrayId, index: &Expr, read: bool) -> String {
        let one = |index: &Expr| {
            let settled = self.lanes.as_ref().map(|lanes| lanes.settled(index));
            let at = self.watched(array, read, self.expr(settled.as_ref().unwrap_or(index)));
            format!("{}[{at}]", self.array(array))
        };
        let elem = self.kernel.array(array).elem;
        let wide = self.lanes.as_ref().filter(|_| is_lane(elem));
        let Some(lanes) = wide else {
            return one(index);
        };
        let ty = lane_type(elem, lanes.count);
        match lanes.stride(index) {
            Some(0) => one(index),
            Some(1) => {
                let constant = if read { "const " } else { "" };
                format!("*({constant}{ty} *)&{}", one(index))
            }
            Some(_) | None => {
                let each = (0..lanes.count).map(|lane| one(&lanes.at(index, lane)));
                self.lane_values(&ty, each.collect())
            }
        }
    }

    /// A vector of one value for each lane, on lines of their own if they are long.
    pub(super) fn lane_values(&self, ty: &str, each: Vec<String>) -> String {
        const SHORT: usize = 60;
        let line = each.join(", ");
        if line.len() <= SHORT {
            return format!("({ty}){{{line}}}");
        }
        let indent = "    ".repeat(self.indent + 1);
        let lines: String = each.iter().map(|e| format!("\n{indent}{e},")).collect();
        format!("({ty}){{{lines}\n{}}}", "    ".repeat(self.indent))
    }

    /// C computes narrow integers as `int`: the result is brought back to its width.
    fn brought_back(&self, ty: ScalarType, (text, level): (String, u8)) -> (String, u8) {
        if ty.is_integer() && ty.size() < 4 {
            (format!("({})({text})", c_type(ty)), PREFIX)
        } else {
            (text, level)
        }
    }

    /// What is taken from zero: ptxas takes it for wider than 16 bits, see `SPARSEC_APART`.
    fn negated(&self, ty: ScalarType, (text, level): (String, u8)) -> (String, u8) {
        if self.dialect == Dialect::Device && ty == ScalarType::I16 {
            (format!("SPARSEC_APART(int16_t, {text})"), PRIMARY)
        } else {
            self.brought_back(ty, (text, level))
        }
    }

    fn binary(&self, op: BinaryOp, a: &Expr, b: &Expr, ty: ScalarType) -> (String, u8) {
        let operands =
            |left: u8, right: u8| self.operands(self.meeting(op, a, b), (a, left), (b, right));
        let infix = |symbol: &str, level: u8| {
            let (left, right) = operands(level, level + 1);
            (format!("{left} {symbol} {right}"), level)
        };
        // Compilers ask for parentheses where one comparison is compared by another.
        let comparison = |symbol: &str, level: u8| {
            // They take `!a > b` for a slip, too.
            let (mut left, right) = operands(SUM, SUM);
            if left.starts_with('!') {
                left = format!("({left})");
            }
            (format!("{left} {symbol} {right}"), level)
        };
        let helper = |name: &str| {
            let text = format!(
                "sparsec_{name}_{}({}, {})",
                helper_suffix(a.ty),
                self.expr(a),
                self.expr(b)
            );
            (text, PRIMARY)
        };
        let math = |name: &str| {
            let suffix = if ty == ScalarType::F32 { "f" } else { "" };
            (
                format!("{name}{suffix}({}, {})", self.expr(a), self.expr(b)),
                PRIMARY,
            )
        };
        if let (BinaryOp::Min | BinaryOp::Max, Some(lanes)) = (op, self.wide_type(ty, &[a, b])) {
            let name = if op == BinaryOp::Min { "min" } else { "max" };
            let text = lanes_of(name, &lanes, [a, b].map(|e| self.wide(e, &lanes)));
            return (text, PRIMARY);
        }
        match op {
            BinaryOp::Add => self.brought_back(ty, infix("+", SUM)),
            BinaryOp::Sub if is_zero(a) => self.negated(ty, infix("-", SUM)),
            BinaryOp::Sub => self.brought_back(ty, infix("-", SUM)),
            BinaryOp::Mul => self.brought_back(ty, infix("*", PRODUCT)),
            BinaryOp::Div if ty.is_integer() && !is_positive(b) => helper("div"),
            BinaryOp::Div => infix("/", PRODUCT),
            BinaryOp::Rem if ty.is_integer() && !is_positive(b) => helper("rem"),
            BinaryOp::Rem if ty.is_integer() => infix("%", PRODUCT),
            BinaryOp::Rem => math("fmod"),
            BinaryOp::FloorDiv => (
                format!("sparsec_floordiv({}, {})", self.expr(a), self.expr(b)),
                PRIMARY,
            ),
            BinaryOp::Min if ty == ScalarType::Bool => infix("&&", AND),
            BinaryOp::Max if ty == ScalarType::Bool => self.either(a, b),
            // A GPU has an instruction for those of floats.
            BinaryOp::Min if ty.is_integer() || self.dialect == Dialect::C => helper("min"),
            BinaryOp::Max if ty.is_integer() || self.dialect == Dialect::C => helper("max"),
            BinaryOp::Min => math("fmin"),
            BinaryOp::Max => math("fmax"),
            BinaryOp::Eq => comparison("==", EQUALITY),
            BinaryOp::Ne => comparison("!=", EQUALITY),
            BinaryOp::Lt => comparison("<", RELATION),
            BinaryOp::Le => comparison("<=", RELATION),
            BinaryOp::Gt => comparison(">", RELATION),
            BinaryOp::Ge => comparison(">=", RELATION),
            BinaryOp::And => infix("&&", AND),
            BinaryOp::Or => self.either(a, b),
        }
    }

    /// The two operands of an operator, one of them widened where C would wrap.
    fn operands(&self, meeting: Meeting, a: (&Expr, u8), b: (&Expr, u8)) -> (String, String) {
        let plain = |(e, level): (&Expr, u8)| self.at(e, level);
        let widened = |(e, _): (&Expr, u8)| format!("(int64_t){}", self.at(e, PREFIX));
        match (meeting, as_int(a.0)) {
            (Meeting::Wide | Meeting::Narrow(_), _) => (plain(a), plain(b)),
            (Meeting::Wraps, None) => (widened(a), plain(b)),
            (Meeting::Wraps, Some(_)) => (plain(a), widened(b)),
        }
    }

    /// `a || b`; gcc and clang ask for parentheses where && and || meet.
    fn either(&self, a: &Expr, b: &Expr) -> (String, u8) {
        let chained = matches!(a.kind, ExprKind::Binary(BinaryOp::Or, ..))
            || (a.ty == ScalarType::Bool && matches!(a.kind, ExprKind::Binary(BinaryOp::Max, ..)));
        let left = self.at(a, if chained { OR } else { EQUALITY });
        (format!("{left} || {}", self.at(b, EQUALITY)), OR)
    }

    fn cast(&self, ty: ScalarType, a: &Expr) -> (String, u8) {
        // Widening an index happens by itself; so does a condition used as a number.
        let plain = matches!(a.kind, ExprKind::Load { .. } | ExprKind::Var(_));
        let widening = ty == ScalarType::I64 && a.ty == ScalarType::I32 && plain;
        let counted = ty == ScalarType::I64 && a.ty == ScalarType::Bool;
        if widening || counted {
            return self.text(a);
        }
        if ty == ScalarType::Bool {
            let zero = literal::text(Literal::Int(0), a.ty, self.dialect);
            return (format!("{} != {zero}", self.compared(a)), EQUALITY);
        }
        let real = if !a.ty.is_complex() || ty.is_complex() {
            None
        } else if self.dialect == Dialect::Device {
            Some(format!("({}).re", self.as_complex(a)))
        } else {
            let part = if a.ty == ScalarType::C64 {
                "crealf"
            } else {
                "creal"
            };
            Some(format!("{part}({})", self.expr(a)))
        };
        // C leaves open what a negative float is as an unsigned number, and what a large one
        // is as a narrow one: all go through 64 bits, and wrap as whole numbers do.
        if ty.is_integer() && (a.ty.is_float() || real.is_some()) {
            let by = if ty == ScalarType::U64 {
                "uint64"
            } else {
                "int64"
            };
            let wide = format!("sparsec_to_{by}({})", real.unwrap_or_else(|| self.expr(a)));
            return if let ScalarType::I64 | ScalarType::U64 = ty {
                (wide, PRIMARY)
            } else {
                (format!("({}){wide}", c_type(ty)), PREFIX)
            };
        }
        let text = real.unwrap_or_else(|| self.at(a, PREFIX));
        (format!("({}){text}", c_type(ty)), PREFIX)
    }

    /// A complex number where C++ would not make one of a literal by itself: what an absent
    /// element left is written as a real number.
    fn as_complex(&self, e: &Expr) -> String {
        let text = self.expr(e);
        let made = |node: &Expr| {
            let plain = matches!(
                node.kind,
                ExprKind::Literal(_)
                    | ExprKind::Unary(..)
                    | ExprKind::Binary(..)
                    | ExprKind::Select(..)
            );
            node.ty.is_complex() && !plain
        };
        if e.any(made) {
            text
        } else {
            format!("{}({text})", c_type(e.ty))
        }
    }

    /// The vector type of a function of these operands, if iterations run several at a time and
    /// each has its own.
    fn wide_type(&self, ty: ScalarType, operands: &[&Expr]) -> Option<String> {
        let lanes = self.lanes.as_ref().filter(|_| is_lane(ty))?;
        let wide = operands.iter().any(|e| lanes.is_wide(e));
        wide.then(|| lane_type(ty, lanes.count))
    }

    /// An operand as a vector.
    pub(super) fn wide(&self, e: &Expr, ty: &str) -> String {
        match self.lanes.as_ref().is_some_and(|lanes| lanes.is_wide(e)) {
            true => self.expr(e),
            false => format!("{} - ({ty}){{0}}", self.at(e, SUM)),
        }
    }

    /// A function of each element of a target and of a value, if several are computed together.
    pub(super) fn combined_lanes(&self, name: &str, target: &str, value: &Expr) -> Option<String> {
        let lanes = self.lanes.as_ref().filter(|_| is_lane(value.ty))?;
        let ty = lane_type(value.ty, lanes.count);
        let operands = [target.to_string(), self.wide(value, &ty)];
        Some(lanes_of(name, &ty, operands))
    }

    fn call(&self, func: Func, args: &[Expr], ty: ScalarType) -> (String, u8) {
        if let (Func::Abs, [of]) = (func, args)
            && let Some(lanes) = self.wide_type(ty, &[of])
        {
            let of = argument(self.expr(of));
            return (format!("SPARSEC_LANES_ABS({lanes}, {of})"), PRIMARY);
        }
        let list: Vec<String> = args.iter().map(|a| self.expr(a)).collect();
        if let Func::Own(own) = func {
            let name = operators::function(own, ty);
            return (format!("{name}({})", list.join(", ")), PRIMARY);
        }
        let half = [(Func::ToHalf, "half"), (Func::ToBfloat16, "bfloat16")];
        if let Some((_, half)) = half.iter().find(|(known, _)| *known == func) {
            let list = list.join(", ");
            let text = format!("sparsec_{half}_to_float(sparsec_float_to_{half}({list}))");
            return (text, PRIMARY);
        }
        let of = args.first().map_or(ty, |a| a.ty);
        if func == Func::Mod && ty.is_integer() && list.len() == 2 {
            return (
                format!("sparsec_rem_{}({})", helper_suffix(ty), list.join(", ")),
                PRIMARY,
            );
        }
        if func == Func::Abs && (of.is_unsigned() || of == ScalarType::Bool) {
            return (list.join(", "), TERNARY);
        }
        if func == Func::Abs && of.is_integer() {
            let text = format!("sparsec_abs_int64({})", list.join(", "));
            return (format!("({}){text}", c_type(ty)), PREFIX);
        }
        if of.is_complex() && self.dialect == Dialect::Device {
            let name = complex_name(func);
            let list: Vec<String> = args.iter().map(|a| self.as_complex(a)).collect();
            return (format!("sparsec_c{name}({})", list.join(", ")), PRIMARY);
        }
        let narrow = of == ScalarType::F32 || of == ScalarType::C64;
        let suffix = if narrow { "f" } else { "" };
        let prefix = match (of.is_complex(), func == Func::Pow) {
            (false, _) => "",
            (true, true) => "sparsec_c",
            (true, false) => "c",
        };
        let name = if of.is_complex() {
            complex_name(func)
        } else {
            real_name(func)
        };
        (
            format!("{prefix}{name}{suffix}({})", list.join(", ")),
            PRIMARY,
        )
    }
}

/// A function of each element of two vectors.
fn lanes_of(name: &str, ty: &str, [a, b]: [String; 2]) -> String {
    let (a, b) = (argument(a), argument(b));
    format!("SPARSEC_LANES_{}({ty}, {a}, {b})", name.to_uppercase())
}

/// A macro's argument: commas in braces would end it.
pub(super) fn argument(text: String) -> String {
    if text.contains('{') {
        format!("({text})")
    } else {
        text
    }
}

/// The name of a function of real numbers.
fn real_name(func: Func) -> &'static str {
    if func == Func::Abs {
        return "fabs";
    }
    let own = [
        (Func::Sigmoid, "sparsec_sigmoid"),
        (Func::Mod, "fmod"),
        (Func::Min, "fmin"),
        (Func::Max, "fmax"),
        (Func::Heaviside, "sparsec_heaviside"),
    ];
    own.iter()
        .find(|(f, _)| *f == func)
        .map_or_else(|| complex_name(func), |(_, name)| name)
}

/// The name of a function that complex numbers have too, without its prefix.
fn complex_name(func: Func) -> &'static str {
    match func {
        Func::Abs => "abs",
        Func::Sqrt => "sqrt",
        Func::Cbrt => "cbrt",
        Func::Exp => "exp",
        Func::Expm1 => "expm1",
        Func::Log => "log",
        Func::Log1p => "log1p",
        Func::Log10 => "log10",
        Func::Sin => "sin",
        Func::Cos => "cos",
        Func::Tan => "tan",
        Func::Asin => "asin",
        Func::Acos => "acos",
        Func::Atan => "atan",
        Func::Atan2 => "atan2",
        Func::Sinh => "sinh",
        Func::Cosh => "cosh",
        Func::Tanh => "tanh",
        Func::Asinh => "asinh",
        Func::Acosh => "acosh",
        Func::Atanh => "atanh",
        Func::Sigmoid => "sigmoid",
        Func::Pow => "pow",
        Func::Floor => "floor",
        Func::Ceil => "ceil",
        Func::Round => "round",
        Func::Mod => "mod",
        Func::Min => "min",
        Func::Max => "max",
        Func::Fma => "fma",
        Func::Heaviside => "heaviside",
        Func::ToHalf => "to_half",
        Func::ToBfloat16 => "to_bfloat16",
        Func::Own(own) => own.name(),
    }
}

fn place_text(place: Place) -> String {
    let axis = |axis: Axis| match axis {
        Axis::X => "x",
        Axis::Y => "y",
        Axis::Z => "z",
    };
    match place {
        Place::Thread => "sparsec_thread_index()".to_string(),
        Place::Threads => "sparsec_thread_count()".to_string(),
        Place::BlockIndex(a) => format!("blockIdx.{}", axis(a)),
        Place::ThreadIndex(a) => format!("threadIdx.{}", axis(a)),
        Place::Blocks(a) => format!("gridDim.{}", axis(a)),
    }
}

fn is_zero(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Literal(l) if l.is_zero())
}

/// A divisor that needs no care.
fn is_positive(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Literal(Literal::Int(n)) if n > 0)
}
