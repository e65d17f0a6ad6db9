//! Reductions and built-in functions: what the language, the graph and loops have in common.

use crate::scalar::{Literal, ScalarType};

/// An associative and commutative reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReduceOp {
    Add,
    Mul,
    Min,
    Max,
    And,
    Or,
}

impl ReduceOp {
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
            ReduceOp::Min | ReduceOp::Max if bools => Literal::Bool(self == ReduceOp::Min),
            ReduceOp::Min => ty
                .ends()
                .map_or(Literal::Float(f64::INFINITY), |(_, most)| whole(most)),
            ReduceOp::Max => ty
                .ends()
                .map_or(Literal::Float(f64::NEG_INFINITY), |(least, _)| whole(least)),
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
        Some(ReduceOp::Min | ReduceOp::Max | ReduceOp::And | ReduceOp::Or) => false,
    }
}
