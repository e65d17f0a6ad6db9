//! Operators, reductions and functions: what the language, the graph and loops have in common.

pub mod constants;
mod own;

use crate::scalar::{Literal, ScalarType};
pub use own::{Definition, Own, Term, constant};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnaryOp {
    Neg,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
}

impl BinaryOp {
    /// Whether it gives a truth, whatever its operands are.
    #[must_use]
    pub fn is_truth(self) -> bool {
        match self {
            Self::Add | Self::Sub | Self::Mul | Self::Div | Self::Rem => false,
            Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge => true,
            Self::And | Self::Or => true,
        }
    }

    /// Its value at two real numbers; a truth is 1 or 0.
    #[must_use]
    pub fn at(self, x: f64, y: f64) -> f64 {
        let truth = |holds: bool| f64::from(u8::from(holds));
        match self {
            Self::Add => x + y,
            Self::Sub => x - y,
            Self::Mul => x * y,
            Self::Div => x / y,
            Self::Rem => x % y,
            Self::Eq => truth(x == y),
            Self::Ne => truth(x != y),
            Self::Lt => truth(x < y),
            Self::Le => truth(x <= y),
            Self::Gt => truth(x > y),
            Self::Ge => truth(x >= y),
            Self::And => truth(x != 0.0 && y != 0.0),
            Self::Or => truth(x != 0.0 || y != 0.0),
        }
    }
}

/// An associative and commutative reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReduceOp {
    Add,
    Mul,
    Min,
    Max,
    And,
    Or,
    /// One that the program declares.
    Own(Own),
}

impl ReduceOp {
    /// Those of the language.
    pub const BUILTIN: [ReduceOp; 6] = [
        ReduceOp::Add,
        ReduceOp::Mul,
        ReduceOp::Min,
        ReduceOp::Max,
        ReduceOp::And,
        ReduceOp::Or,
    ];

    /// Whether combining a value twice is as combining it once, of built-in ones: of others nobody says so.
    #[must_use]
    pub fn is_idempotent(self) -> bool {
        match self {
            ReduceOp::Min | ReduceOp::Max | ReduceOp::And | ReduceOp::Or => true,
            ReduceOp::Add | ReduceOp::Mul | ReduceOp::Own(_) => false,
        }
    }

    /// The value that changes nothing: what a reduction over nothing gives.
    /// For `min` and `max` of integers it is the type's largest or smallest value.
    #[must_use]
    pub fn neutral(self, ty: ScalarType) -> Literal {
        // The largest number of 64 bits without a sign: all ones, as a pattern.
        #[expect(clippy::cast_possible_truncation)]
        let whole = |end: i128| Literal::Int(end as i64);
        let bools = ty == ScalarType::Bool;
        match self {
            ReduceOp::Add => Literal::Int(0),
            ReduceOp::Mul => Literal::Int(1),
            ReduceOp::And => Literal::Bool(true),
            ReduceOp::Or => Literal::Bool(false),
            ReduceOp::Own(own) => own.neutral(ty),
            ReduceOp::Min | ReduceOp::Max if bools => Literal::Bool(self == ReduceOp::Min),
            ReduceOp::Min => ty
                .ends()
                .map_or(Literal::Float(f64::INFINITY), |(_, most)| whole(most)),
            ReduceOp::Max => ty
                .ends()
                .map_or(Literal::Float(f64::NEG_INFINITY), |(least, _)| whole(least)),
        }
    }

    /// One that a value changes nothing in, where values are of this type.
    #[must_use]
    pub fn with_neutral(value: Literal, ty: ScalarType) -> Option<ReduceOp> {
        let all: &[ReduceOp] = if ty == ScalarType::Bool {
            &[ReduceOp::Or, ReduceOp::And]
        } else if ty.is_complex() {
            &[ReduceOp::Add, ReduceOp::Mul]
        } else {
            &[ReduceOp::Add, ReduceOp::Mul, ReduceOp::Min, ReduceOp::Max]
        };
        let mut all = all.iter().copied();
        all.find(|op| op.neutral(ty).same_value(value))
    }

    /// Its sign before `=`, as in `y(i) min= x(i)`.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            ReduceOp::Add => "+",
            ReduceOp::Mul => "*",
            ReduceOp::Min => "min",
            ReduceOp::Max => "max",
            ReduceOp::And => "&&",
            ReduceOp::Or => "||",
            ReduceOp::Own(own) => own.name(),
        }
    }
}

/// Built-in functions. Arguments and result have the node's type, except where said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Func {
    /// Of a complex number: its magnitude (a real of the same width).
    Abs,
    Sqrt,
    Cbrt,
    Exp,
    Expm1,
    Log,
    Log1p,
    Log10,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Atan2,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    /// 1 / (1 + exp(-x))
    Sigmoid,
    Pow,
    Floor,
    Ceil,
    Round,
    /// C's `fmod`, and `%` on integers.
    Mod,
    Min,
    Max,
    /// a * b + c, rounded once
    Fma,
    /// 0 below zero, the second argument at zero, 1 above.
    Heaviside,
    /// A float rounded to half width, as a `float`: what a cast to it means inside an expression.
    ToHalf,
    ToBfloat16,
    /// An operator that the program declares, of two arguments.
    Own(Own),
}

impl Func {
    /// Its value at real numbers; `None` if they are not as many as it takes.
    #[must_use]
    pub fn at(self, args: &[f64]) -> Option<f64> {
        Some(match (self, args) {
            (Func::Atan2, [x, y]) => x.atan2(*y),
            (Func::Pow, [x, y]) => x.powf(*y),
            (Func::Mod, [x, y]) => x % y,
            (Func::Min, [x, y]) => x.min(*y),
            (Func::Max, [x, y]) => x.max(*y),
            (Func::Heaviside, [x, y]) => match x.partial_cmp(&0.0)? {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => *y,
                std::cmp::Ordering::Greater => 1.0,
            },
            (Func::Fma, [x, y, z]) => x.mul_add(*y, *z),
            (_, [x]) => self.at_one(*x)?,
            (_, _) => return None,
        })
    }

    fn at_one(self, x: f64) -> Option<f64> {
        Some(match self {
            Func::Abs => x.abs(),
            Func::Sqrt => x.sqrt(),
            Func::Cbrt => x.cbrt(),
            Func::Exp => x.exp(),
            Func::Expm1 => x.exp_m1(),
            Func::Log => x.ln(),
            Func::Log1p => x.ln_1p(),
            Func::Log10 => x.log10(),
            Func::Sin => x.sin(),
            Func::Cos => x.cos(),
            Func::Tan => x.tan(),
            Func::Asin => x.asin(),
            Func::Acos => x.acos(),
            Func::Atan => x.atan(),
            Func::Sinh => x.sinh(),
            Func::Cosh => x.cosh(),
            Func::Tanh => x.tanh(),
            Func::Asinh => x.asinh(),
            Func::Acosh => x.acosh(),
            Func::Atanh => x.atanh(),
            Func::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Func::Floor => x.floor(),
            Func::Ceil => x.ceil(),
            Func::Round => x.round(),
            Func::ToHalf => ScalarType::F16.stored(x),
            Func::ToBfloat16 => ScalarType::BF16.stored(x),
            Func::Atan2
            | Func::Pow
            | Func::Mod
            | Func::Min
            | Func::Max
            | Func::Heaviside
            | Func::Own(_)
            | Func::Fma => return None,
        })
    }
}

/// Whether OpenMP updates an element of type `elem` in one step (`omp atomic`: sums and
/// products of numbers, and what is set). Whatever else there is takes turns, which lanes of a
/// vector cannot.
#[must_use]
pub fn is_atomic(elem: ScalarType, op: Option<ReduceOp>) -> bool {
    let number = !elem.is_complex() && elem != ScalarType::Bool && elem.compute() == elem;
    let narrow = elem.is_integer() && elem.size() < 4;
    match op {
        Some(ReduceOp::Add) | None => number,
        Some(ReduceOp::Mul) => number && !narrow,
        Some(ReduceOp::Min | ReduceOp::Max | ReduceOp::And | ReduceOp::Or | ReduceOp::Own(_)) => {
            false
        }
    }
}
