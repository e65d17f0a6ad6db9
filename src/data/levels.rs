//! How many positions the levels of a tensor will have, before it is packed.

use super::slots;
use super::tensor::{Coo, Tensor};
use crate::format::TensorFormat;

/// The positions of each level of the data in a format, outermost first. Elements that stand twice
/// count twice at the innermost level.
#[must_use]
pub fn level_counts(data: &Tensor, format: &TensorFormat) -> Vec<u64> {
    match data {
        Tensor::Sparse(coo) => of_coordinates(coo, format),
        Tensor::Dense(dense) => {
            let slots = slots::needed(data, format);
            let extents = (0..format.order()).map(|l| format.extent(l, &dense.dims, slots));
            let below = |count: &mut u64, extent| {
                *count = count.saturating_mul(extent);
                Some(*count)
            };
            extents.scan(1, below).collect()
        }
    }
}

fn of_coordinates(coo: &Coo, format: &TensorFormat) -> Vec<u64> {
    let slots = slots::count(&slots::numbers(coo, format));
    let mut counts = Vec::new();
    let mut above = 1_u64;
    // A number for the coordinates of each element down to the level at hand.
    let mut prefixes = vec![0_u64; coo.values.len()];
    for (at, level) in format.levels.iter().enumerate() {
        let is_last = at + 1 == format.levels.len();
        let extent = format.extent(at, &coo.dims, slots);
        above = if level.is_full() {
            above.saturating_mul(extent)
        } else if level.is_branchless() {
            above
        } else if is_last || !level.unique {
            coo.values.len() as u64
        } else {
            0
        };
        if !is_last {
            let stored = coo.stored_by(format, at, &coo.dims);
            for (prefix, coordinate) in prefixes.iter_mut().zip(stored) {
                let own = prefix.wrapping_mul(extent.max(1));
                *prefix = own.wrapping_add(coordinate);
            }
            if above == 0 {
                let mut distinct = prefixes.clone();
                distinct.sort_unstable();
                distinct.dedup();
                above = distinct.len() as u64;
            }
        }
        counts.push(above);
    }
    counts
}

/// The most elements that lie below one coordinate of the outermost level.
#[must_use]
pub fn longest_row(data: &Tensor, format: &TensorFormat) -> u64 {
    let Some(&mode) = format.modes.first() else {
        return 1;
    };
    match data {
        Tensor::Sparse(coo) => {
            let mut rows = coo.coords.get(mode).cloned().unwrap_or_default();
            // Files mostly have them in order.
            if !rows.is_sorted() {
                rows.sort_unstable();
            }
            let runs = rows.chunk_by(|a, b| a == b);
            runs.map(|run| run.len() as u64).max().unwrap_or(0)
        }
        Tensor::Dense(dense) => {
            let others = dense.dims.iter().enumerate().filter(|(at, _)| *at != mode);
            others.fold(1, |product, (_, extent)| product.saturating_mul(*extent))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Values, pack, random};
    use crate::format::builtin::{find, instantiate};
    use crate::scalar::{Literal, ScalarType};

    /// As many as the packed levels have.
    #[test]
    fn levels_are_counted_as_packing_makes_them() {
        for (name, dims) in [
            ("csr", vec![7, 9]),
            ("dcsr", vec![40, 9]),
            ("csc", vec![7, 9]),
            ("coo", vec![7, 9]),
            ("csf", vec![20, 5, 6]),
            ("bcsr", vec![7, 9]),
            ("ell", vec![7, 9]),
            ("dia", vec![7, 9]),
            ("dense", vec![3, 4]),
            ("sparse_vector", vec![30]),
        ] {
            let (entry, _) = find(name).unwrap();
            let sizes = vec![2; entry.arguments()];
            let format = instantiate(entry, &sizes, dims.len()).unwrap();
            for density in [0.0, 0.1, 0.6] {
                let data = random(5, density, &dims, ScalarType::F64);
                let packed =
                    pack(&data, ScalarType::F64, (&dims, 0), &format, Literal::ZERO).unwrap();
                let counts = level_counts(&data, &format);
                assert_eq!(counts.len(), format.order(), "{name}");
                let stored = packed.values.len() as u64;
                assert_eq!(counts.last(), Some(&stored), "{name} {density}");
                for (at, arrays) in packed.levels.iter().enumerate() {
                    if let (false, Some(crd)) = (format.levels[at].is_full(), arrays.last()) {
                        assert_eq!(counts[at], crd.len() as u64, "{name} {density} level {at}");
                    }
                }
            }
        }
    }

    /// In whichever order the elements come, and along whichever mode is outermost.
    #[test]
    fn the_longest_row_is_of_the_outermost_level() {
        let format = |name: &str| instantiate(find(name).unwrap().0, &[], 2).unwrap();
        let data = Tensor::Sparse(Coo {
            dims: vec![3, 5],
            coords: vec![vec![2, 0, 2, 0, 2], vec![1, 4, 0, 1, 3]],
            values: Values::F64(vec![1.0; 5]),
        });
        assert_eq!(longest_row(&data, &format("csr")), 3);
        assert_eq!(longest_row(&data, &format("csc")), 2);
        let dense = random(5, 1.0, &[3, 5], ScalarType::F64);
        assert_eq!(longest_row(&dense, &format("csr")), 5);
    }
}
