//! Tensors as data: coordinates with values, dense arrays, and packed storage.

use super::values::Values;
use crate::format::TensorFormat;
use crate::level::IndexArray;
use crate::scalar::Literal;

/// A tensor as it is meant, whatever its storage will be: what readers give,
/// packing takes and the judge evaluates.
#[derive(Clone, Debug, PartialEq)]
pub enum Tensor {
    Sparse(Coo),
    Dense(Dense),
}

/// Stored elements by coordinates, in any order; duplicates are summed by packing.
#[derive(Clone, Debug, PartialEq)]
pub struct Coo {
    pub dims: Vec<u64>,
    /// One vector for each mode, counted from 0, all as long as `values`.
    pub coords: Vec<Vec<u64>>,
    pub values: Values,
}

impl Coo {
    /// What a level that stores no slots holds of each element, for a tensor with the extents `dims`.
    #[must_use]
    pub fn stored_by(&self, format: &TensorFormat, level: usize, dims: &[u64]) -> Vec<u64> {
        let column = self.coords[format.modes[level]].iter().enumerate();
        let of =
            |(k, &c): (usize, &u64)| format.parts[level].of(c, |mode| self.coords[mode][k], dims);
        column.map(of).collect()
    }
}

/// Every element, row-major (the last mode varies fastest).
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    pub dims: Vec<u64>,
    pub values: Values,
}

/// A tensor in a format: the arrays that kernels read and write.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed {
    pub dims: Vec<u64>,
    /// How many slots a level of slots has, if there is one.
    pub slots: u64,
    pub format: TensorFormat,
    pub fill: Literal,
    /// The arrays of each level, in the order of its roles.
    pub levels: Vec<Vec<IndexArray>>,
    pub values: Values,
}
