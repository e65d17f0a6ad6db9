//! Generated data: the same on every machine.

use super::tensor::{Coo, Dense, Tensor};
use super::values::{Number, Values};
use crate::scalar::ScalarType;
use num_complex::Complex;
use std::collections::BTreeSet;

/// SplitMix64 (Steele, Lea and Flood 2014): small, and good enough for test data.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        // One step of the generator scrambles the seed: states of seeds that follow each
        // other would otherwise be one step apart.
        Random(Random(seed).bits())
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A whole number below `n` (0 if n is 0).
    pub fn below(&mut self, n: u64) -> u64 {
        u64::try_from((u128::from(self.bits()) * u128::from(n)) >> 64).unwrap_or(0)
    }

    /// A float in [0, 1).
    #[expect(clippy::cast_precision_loss)]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn element(random: &mut Random, ty: ScalarType) -> Number {
    let signed = |random: &mut Random| 2.0 * random.unit() - 1.0;
    if ty == ScalarType::Bool {
        Number::Int(i128::from(random.below(2)))
    } else if ty.is_unsigned() {
        Number::Int(i128::from(random.below(10)))
    } else if ty.is_integer() {
        Number::Int(i128::from(random.below(19)) - 9)
    } else if ty.is_complex() {
        Number::Complex(Complex::new(signed(random), signed(random)))
    } else {
        Number::Real(signed(random))
    }
}

/// Uniform values in [-1, 1) (whole numbers of -9 to 9, or 0 to 9) at a share `density`
/// of the coordinates: dense if it is 1 or more.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
pub fn random(seed: u64, density: f64, dims: &[u64], ty: ScalarType) -> Tensor {
    let mut random = Random::new(seed);
    let total = dims
        .iter()
        .fold(1u128, |n, d| n.saturating_mul(u128::from(*d)));
    if density >= 1.0 {
        let count = usize::try_from(total).unwrap_or(0);
        let mut values = Values::filled(ty, 0, Number::Int(0));
        for _ in 0..count {
            values.push(element(&mut random, ty));
        }
        return Tensor::Dense(Dense {
            dims: dims.to_vec(),
            values,
        });
    }
    let wanted = (total as f64 * density.max(0.0)).round().min(1e9) as usize;
    let mut chosen: BTreeSet<Vec<u64>> = BTreeSet::new();
    let mut tries = 0;
    while chosen.len() < wanted && tries < 20 * wanted {
        chosen.insert(dims.iter().map(|d| random.below(*d)).collect());
        tries += 1;
    }
    let mut coo = Coo {
        dims: dims.to_vec(),
        coords: vec![Vec::with_capacity(chosen.len()); dims.len()],
        values: Values::filled(ty, 0, Number::Int(0)),
    };
    for coordinate in chosen {
        for (column, c) in coo.coords.iter_mut().zip(coordinate) {
            column.push(c);
        }
        coo.values.push(element(&mut random, ty));
    }
    Tensor::Sparse(coo)
}

/// Every element the same; `None` if that many cannot be counted.
#[must_use]
pub fn constant(n: Number, dims: &[u64], ty: ScalarType) -> Option<Tensor> {
    let count = dims.iter().try_fold(1u64, |n, d| n.checked_mul(*d))?;
    let bytes = count.checked_mul(ty.size() as u64)?;
    if bytes > 1 << 36 {
        return None;
    }
    Some(Tensor::Dense(Dense {
        dims: dims.to_vec(),
        values: Values::filled(ty, usize::try_from(count).ok()?, n),
    }))
}

/// Nothing stored.
#[must_use]
pub fn empty(dims: &[u64], ty: ScalarType) -> Tensor {
    Tensor::Sparse(Coo {
        dims: dims.to_vec(),
        coords: vec![Vec::new(); dims.len()],
        values: Values::filled(ty, 0, Number::Int(0)),
    })
}
