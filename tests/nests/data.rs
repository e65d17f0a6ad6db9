//! Small data of the shapes that tell good nests from bad ones.

use sparsec::data::generate::Random;
use std::collections::BTreeSet;

/// What a tensor stores.
#[derive(Clone, Copy, Debug)]
pub enum Pattern {
    Dense,
    /// So many elements in each row, anywhere.
    Uniform(u64),
    /// So many in a row on average; rows and columns are met as often as their number to the power of -0.7.
    Power(u64),
    /// The neighbours of vertices of such a graph.
    Neighbours(u64),
    /// So many on and beside the diagonal.
    Band(u64),
    /// So many fibres of each slice, and elements of each fibre.
    Fibres(u64, u64),
    /// So many elements of a vector.
    Some(u64),
}

/// The coordinates of what is stored; none of what is dense.
pub fn coordinates(pattern: Pattern, extents: &[u64], seed: u64) -> Option<BTreeSet<Vec<u64>>> {
    let mut random = Random::new(seed);
    let rows = extents[0];
    let columns = extents.last().copied().unwrap_or(1);
    let mut stored = BTreeSet::new();
    match pattern {
        Pattern::Dense => return None,
        Pattern::Uniform(row) => {
            for i in 0..rows {
                for j in some(&mut random, row, columns) {
                    stored.insert(vec![i, j]);
                }
            }
        }
        Pattern::Power(row) => {
            for _ in 0..row * rows {
                let (i, j) = (popular(&mut random, rows), popular(&mut random, columns));
                stored.insert(vec![i, j]);
            }
        }
        Pattern::Neighbours(row) => {
            for _ in 0..row * rows / 2 {
                let (i, j) = (popular(&mut random, rows), popular(&mut random, rows));
                if i != j {
                    stored.extend([vec![i, j], vec![j, i]]);
                }
            }
        }
        Pattern::Band(row) => {
            for i in 0..rows {
                let first = i.saturating_sub(row / 2);
                stored.extend((first..(first + row).min(columns)).map(|j| vec![i, j]));
            }
        }
        Pattern::Fibres(fibres, row) => {
            for i in 0..rows {
                for j in some(&mut random, fibres, extents[1]) {
                    for k in some(&mut random, row, columns) {
                        stored.insert(vec![i, j, k]);
                    }
                }
            }
        }
        Pattern::Some(count) => {
            stored.extend(some(&mut random, count, rows).into_iter().map(|i| vec![i]));
        }
    }
    Some(stored)
}

/// So many numbers below `n`, or all.
fn some(random: &mut Random, count: u64, n: u64) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    while (found.len() as u64) < count.min(n) {
        found.insert(random.below(n));
    }
    found
}

/// A number below `n`, the first ones more often.
fn popular(random: &mut Random, n: u64) -> u64 {
    let weight = |at: u64| ((at + 1) as f64).powf(-0.7);
    let all: f64 = (0..n).map(weight).sum();
    let mut left = random.unit() * all;
    let mut numbers = 0..n - 1;
    let found = numbers.find(|&at| {
        left -= weight(at);
        left < 0.0
    });
    found.unwrap_or(n - 1)
}
