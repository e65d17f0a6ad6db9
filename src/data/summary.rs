//! What `sparsec run` says of a tensor.

use super::tensor::Tensor;

/// Shape, stored elements and the Frobenius norm of those.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Summary {
    pub shape: Vec<u64>,
    pub stored: usize,
    pub norm: f64,
}

/// Summarises a tensor.
#[must_use]
pub fn summarize(tensor: &Tensor) -> Summary {
    let values = match tensor {
        Tensor::Sparse(coo) => &coo.values,
        Tensor::Dense(dense) => &dense.values,
    };
    let squares: f64 = (0..values.len())
        .map(|at| values.get(at).complex().norm_sqr())
        // An empty sum would be minus zero.
        .fold(0.0, |sum, x| sum + x);
    Summary {
        shape: tensor.dims().to_vec(),
        stored: values.len(),
        norm: squares.sqrt(),
    }
}
