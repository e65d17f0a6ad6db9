//! What `sparsec run` says of a tensor.

use super::tensor::Tensor;

/// Shape, stored elements and the Frobenius norm of those.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Summary {
    pub shape: Vec<u64>,
    pub stored: usize,
    /// In JSON, which has no other numbers, `null` where it is none or infinite.
    #[serde(deserialize_with = "number")]
    pub norm: f64,
}

fn number<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let read: Option<f64> = serde::Deserialize::deserialize(from)?;
    Ok(read.unwrap_or(f64::NAN))
}

/// Summarises a tensor.
#[must_use]
pub fn summarize(tensor: &Tensor) -> Summary {
    let values = match tensor {
        Tensor::Sparse(coo) => &coo.values,
        Tensor::Dense(dense) => &dense.values,
    };
    let all = || (0..values.len()).map(|at| values.get(at).complex());
    Summary {
        shape: tensor.dims().to_vec(),
        stored: values.len(),
        norm: norm(all),
    }
}

/// The root of the sum of all squares, which may be farther from one than numbers go.
fn norm<I: Iterator<Item = num_complex::Complex<f64>>>(all: impl Fn() -> I) -> f64 {
    let parts = all().flat_map(|x| [x.re.abs(), x.im.abs()]);
    let largest = parts.fold(0.0, f64::max);
    let plain = 1e-100..1e100;
    let by = if largest == 0.0 || !largest.is_finite() || plain.contains(&largest) {
        1.0
    } else {
        largest
    };
    // An empty sum would be minus zero.
    let squares = all()
        .map(|x| (x / by).norm_sqr())
        .fold(0.0, |sum, x| sum + x);
    squares.sqrt() * by
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;

    fn of(values: &[f64]) -> f64 {
        norm(|| values.iter().map(|&x| Complex::new(x, 0.0)))
    }

    #[test]
    fn norms_are_as_far_from_one_as_their_elements() {
        assert_eq!(of(&[3.0, -4.0]), 5.0);
        assert!((of(&[3e200, -4e200]) / 5e200 - 1.0).abs() < 1e-15);
        assert!((of(&[3e-200, 4e-200]) / 5e-200 - 1.0).abs() < 1e-15);
        assert_eq!(of(&[]), 0.0);
        assert!(of(&[]).is_sign_positive());
        assert_eq!(of(&[1.0, f64::NEG_INFINITY]), f64::INFINITY);
        assert!(of(&[1.0, f64::NAN]).is_nan());
    }
}
