//! The judge: evaluates a program on data by its definition, coordinate by coordinate.
//!
//! It shares nothing with lowering. Each reduction becomes a table over the variables
//! of the left side that it uses; the table is filled by visiting every coordinate at
//! which the reduced expression may differ from the operator's neutral element.
//! Where a sparse operand must be present for that, only its stored elements are
//! visited ([`enumerate`]); that is a way to visit fewer coordinates, never another
//! meaning, and what may be skipped is decided by evaluating the expression with that
//! operand absent ([`exact`]).
//!
//! Floats are computed in double precision whatever their type: the judge is the more
//! exact side. With each value goes a bound of what a kernel may differ by
//! ([`rounding`]); numbers that a type cannot hold overflow as they do in a kernel.

mod assign;
mod blame;
mod compare;
mod enumerate;
mod evaluate;
mod exact;
mod functions;
mod leaves;
mod load;
mod node;
mod own;
mod partial;
mod rounding;
mod table;
mod value;
mod visit;

pub use blame::blamed;
pub use compare::{Mismatch, compare};
pub use evaluate::evaluate;
pub use rounding::epsilon;

use crate::data::Tensor;
use crate::program::ir::{SizeId, TensorId};
use std::collections::BTreeMap;

/// Sizes and the content of every input and in-out tensor; scalars are dense tensors
/// of order 0.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    pub sizes: BTreeMap<SizeId, i64>,
    pub tensors: BTreeMap<TensorId, Tensor>,
}

/// The results as they should be.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    pub results: BTreeMap<TensorId, Expected>,
}

/// A tensor with the difference that rounding may make.
#[derive(Clone, Debug)]
pub struct Expected {
    pub tensor: Tensor,
    /// For each stored element of `tensor`: what a kernel may differ by, given the size of
    /// all that was rounded on the way. 0 for what was only read and for integers; infinite
    /// where rounding leaves everything open.
    pub tolerance: Vec<f64>,
}

/// Why a program cannot be evaluated on its data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    #[error("subscript {value} of `{tensor}` is outside 0..{extent}")]
    OutOfRange {
        tensor: String,
        value: i128,
        extent: u64,
    },
    #[error("a subscript of `{tensor}` divides by 0")]
    NoQuotient { tensor: String },
    #[error("`{0}` has no data")]
    Missing(String),
    #[error("a size is not known")]
    UnknownSize,
    #[error("`{0}` is too large to be evaluated densely")]
    TooLarge(String),
    #[error("`{0}` has more dimensions than the reference looks up")]
    Order(String),
}
