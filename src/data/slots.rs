//! Slots: numbers of the elements that share all coordinates but those of singletons.

use super::pack::{coordinates, order_of};
use super::tensor::{Coo, Tensor};
use crate::format::{Part, TensorFormat};

/// The slot of each element, in the order of what singletons store; nothing if the format has no slots.
#[must_use]
pub fn numbers(coo: &Coo, format: &TensorFormat) -> Vec<u64> {
    if format.slots().is_none() {
        return Vec::new();
    }
    let mut rows: Vec<Vec<u64>> = Vec::new();
    let mut columns: Vec<Vec<u64>> = Vec::new();
    for (at, level) in format.levels.iter().enumerate() {
        if format.parts[at] == Part::Slot {
            continue;
        }
        let stored = coo.stored_by(format, at, &coo.dims);
        match level.is_branchless() {
            true => columns.push(stored),
            false => rows.push(stored),
        }
    }
    let count = coo.values.len();
    let keys: Vec<&[u64]> = rows.iter().chain(&columns).map(Vec::as_slice).collect();
    let order = order_of(&keys, count).unwrap_or_else(|| (0..count).collect());
    let mut numbers = vec![0; count];
    for pair in order.windows(2) {
        let same = |keys: &[Vec<u64>]| keys.iter().all(|key| key[pair[0]] == key[pair[1]]);
        if same(&rows) {
            // What is given of one place several times is added up there.
            let next = u64::from(!same(&columns));
            numbers[pair[1]] = numbers[pair[0]] + next;
        }
    }
    numbers
}

/// How many slots there are of these numbers.
pub(super) fn count(numbers: &[u64]) -> u64 {
    numbers.iter().max().map_or(0, |most| most + 1)
}

/// How many slots the data needs in a format: as many as the longest row has elements.
#[must_use]
pub fn needed(data: &Tensor, format: &TensorFormat) -> u64 {
    if format.slots().is_none() {
        return 0;
    }
    let numbers = match data {
        Tensor::Sparse(coo) => numbers(coo, format),
        Tensor::Dense(dense) => numbers(&coordinates(dense), format),
    };
    count(&numbers)
}
