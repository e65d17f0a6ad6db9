//! Packing: coordinates into the levels of any format.

use super::tensor::{Coo, Dense, Packed, Tensor};
use super::values::{Values, literal};
use super::{DataError, codes, slots};
use crate::format::{Part, TensorFormat};
use crate::level::memory::{LIMIT, index};
use crate::level::{ArrayRole, Elements, IndexArray, Sizes, TooLarge, Width};
use crate::scalar::{Literal, ScalarType};
use std::cmp::Ordering;

/// Packs `tensor` with the extents `dims` (at least its own) into `format`:
/// elements are sorted, duplicates summed, values converted to `ty`. A level of slots has as many as are
/// needed, and `slots` at least.
///
/// # Errors
/// A shape that does not fit, counts beyond the index width, too little memory.
pub fn pack(
    tensor: &Tensor,
    ty: ScalarType,
    (dims, slots): (&[u64], u64),
    format: &TensorFormat,
    fill: Literal,
) -> Result<Packed, DataError> {
    let own = tensor.dims();
    if own.len() != dims.len() || dims.len() != format.dimensions() {
        return Err(DataError::new(
            codes::SHAPE,
            format!("the data has order {}, not {}", own.len(), dims.len()),
        ));
    }
    for (mode, (has, wants)) in own.iter().zip(dims).enumerate() {
        if has > wants {
            return Err(DataError::new(
                codes::SHAPE,
                format!("dimension {mode} of the data is {has}, larger than the size {wants}"),
            ));
        }
    }
    if let Tensor::Dense(dense) = tensor
        && format.is_plain()
        && dense.dims == dims
    {
        return Ok(Packed {
            dims: dims.to_vec(),
            slots: 0,
            format: format.clone(),
            fill,
            levels: vec![Vec::new(); format.order()],
            values: dense.values.convert(ty),
        });
    }
    let dense_coo;
    let coo = match tensor {
        Tensor::Sparse(coo) => coo,
        Tensor::Dense(dense) => {
            dense_coo = coordinates(dense);
            &dense_coo
        }
    };
    let numbers = slots::numbers(coo, format);
    let needed = slots::count(&numbers);
    Packer {
        coo,
        format,
        dims,
        slots: slots.max(needed),
        numbers,
        fill,
        ty,
    }
    .run()
}

/// Every element of a dense tensor with its coordinates.
#[must_use]
pub fn coordinates(dense: &Dense) -> Coo {
    let count = dense.values.len();
    let mut coords: Vec<Vec<u64>> = vec![Vec::with_capacity(count); dense.dims.len()];
    let mut at = vec![0u64; dense.dims.len()];
    for _ in 0..count {
        for (column, c) in coords.iter_mut().zip(&at) {
            column.push(*c);
        }
        for (c, d) in at.iter_mut().zip(&dense.dims).rev() {
            *c += 1;
            if *c < *d {
                break;
            }
            *c = 0;
        }
    }
    Coo {
        dims: dense.dims.clone(),
        coords,
        values: dense.values.clone(),
    }
}

struct Packer<'a> {
    coo: &'a Coo,
    format: &'a TensorFormat,
    dims: &'a [u64],
    slots: u64,
    /// The slot of each element.
    numbers: Vec<u64>,
    fill: Literal,
    ty: ScalarType,
}

impl Packer<'_> {
    fn run(self) -> Result<Packed, DataError> {
        let in_parts = self.in_parts();
        let mut columns: Vec<&[u64]> = self
            .format
            .modes
            .iter()
            .zip(&in_parts)
            .map(|(&mode, own)| own.as_deref().unwrap_or(&self.coo.coords[mode]))
            .collect();
        let count = self.coo.values.len();
        let order = self.order(&columns, count);
        let moved: Option<Vec<Vec<u64>>> = order.as_ref().map(|order| {
            let column = |c: &&[u64]| order.iter().map(|&k| c[k]).collect();
            columns.iter().map(column).collect()
        });
        if let Some(moved) = &moved {
            columns = moved.iter().map(Vec::as_slice).collect();
        }
        // The position of each element, level by level.
        let mut at: Vec<u64> = vec![0; count];
        let mut parents: u64 = 1;
        let mut levels = Vec::new();
        for (l, level) in self.format.levels.iter().enumerate() {
            let extent = self.format.extent(l, self.dims, self.slots);
            let below = &self.format.levels[l + 1..];
            let chain = below
                .iter()
                .take_while(|level| level.is_branchless())
                .count();
            let mut elements = Elements {
                columns: &columns[l..=l + chain],
                at: &mut at,
            };
            let ty = level.ty();
            let stored = ty.pack(level.unique, Sizes { extent, parents }, &mut elements)?;
            parents = stored.positions;
            let arrays = ty.roles().iter().zip(stored.arrays);
            let arrays = arrays.map(|(&role, array)| self.index(role, array));
            levels.push(arrays.collect::<Result<_, _>>()?);
        }
        let bytes = parents.checked_mul(self.ty.size() as u64);
        if bytes.is_none_or(|b| b > LIMIT) {
            return Err(TooLarge("the values").into());
        }
        let mut values = Values::filled(self.ty, index(parents)?, literal(self.fill));
        let converted = (self.coo.values.ty() != self.ty).then(|| self.coo.values.convert(self.ty));
        let given = converted.as_ref().unwrap_or(&self.coo.values);
        match &order {
            Some(order) => values.place(&at, given, |k| order[k]),
            None => values.place(&at, given, |k| k),
        }
        Ok(Packed {
            dims: self.dims.to_vec(),
            slots: self.slots,
            format: self.format.clone(),
            fill: self.fill,
            levels,
            values,
        })
    }

    /// For each level that stores a part of coordinates, those parts.
    fn in_parts(&self) -> Vec<Option<Vec<u64>>> {
        let of = |(level, part): (usize, &Part)| match part {
            Part::Whole => None,
            Part::Block(_) | Part::Within(_) | Part::Diagonal(_) => {
                Some(self.coo.stored_by(self.format, level, self.dims))
            }
            Part::Slot => Some(self.numbers.clone()),
        };
        self.format.parts.iter().enumerate().map(of).collect()
    }

    /// The order in which the elements are stored; `None` if they are in it. Coordinates of levels
    /// that are in no order descend in their bits from the last one on, so that nothing that
    /// needs them in order goes unnoticed.
    fn order(&self, columns: &[&[u64]], count: usize) -> Option<Vec<usize>> {
        let levels = &self.format.levels;
        if levels.iter().all(|level| level.ordered) {
            return order_of(columns, count);
        }
        let mut keys: Vec<Vec<u64>> = Vec::new();
        for (level, column) in levels.iter().zip(columns) {
            keys.push(match level.ordered {
                true => column.to_vec(),
                false => reversed(column),
            });
        }
        // Where equal coordinates may stand apart, those below decide first.
        let apart = levels
            .iter()
            .position(|level| !level.unique && !level.ordered);
        if let Some(first) = apart
            && levels[first..].iter().all(|level| !level.ordered)
        {
            keys[first..].reverse();
        }
        let keys: Vec<&[u64]> = keys.iter().map(Vec::as_slice).collect();
        order_of(&keys, count)
    }

    /// An array in the width of its role.
    fn index(&self, role: ArrayRole, values: Vec<u64>) -> Result<IndexArray, DataError> {
        let wide = |v: u64| {
            DataError::new(
                codes::TOO_LARGE,
                format!("{v} does not fit 32-bit coordinates; use `--index 64`"),
            )
        };
        let values = values.into_iter();
        Ok(match role.width(self.format.index_bits) {
            Width::Byte => {
                let bytes = values.map(|v| u8::try_from(v).map_err(|_| wide(v)));
                IndexArray::U8(bytes.collect::<Result<_, _>>()?)
            }
            Width::Narrow => {
                let indices = values.map(|v| i32::try_from(v).map_err(|_| wide(v)));
                IndexArray::I32(indices.collect::<Result<_, _>>()?)
            }
            Width::Wide => {
                let fits = |v| i64::try_from(v).map_err(|_| TooLarge("a coordinate"));
                IndexArray::I64(values.map(fits).collect::<Result<_, _>>()?)
            }
        })
    }
}

impl From<TooLarge> for DataError {
    fn from(TooLarge(what): TooLarge) -> Self {
        DataError::new(codes::TOO_LARGE, format!("{what} would not fit memory"))
    }
}

/// Each coordinate with its bits in reverse, as many as the largest one has.
fn reversed(column: &[u64]) -> Vec<u64> {
    let most = column.iter().fold(0, |most, &c| most | c);
    let unused = most.leading_zeros().min(u64::BITS - 1);
    let turned = column.iter().map(|&c| c.reverse_bits() >> unused);
    turned.collect()
}

/// The order of the elements that sorts them by the columns, the first one most
/// significant; `None` if they are sorted. Equal elements keep their order.
pub(super) fn order_of(columns: &[&[u64]], count: usize) -> Option<Vec<usize>> {
    let compare = |a: usize, b: usize| {
        let pairs = columns.iter().map(|c| c[a].cmp(&c[b]));
        pairs.fold(Ordering::Equal, Ordering::then)
    };
    if (1..count).all(|k| compare(k - 1, k).is_le()) {
        return None;
    }
    if let Some(order) = columns
        .split_first()
        .and_then(|(first, inner)| turned(first, inner))
    {
        return Some(order);
    }
    // One number for each element, where it has room for the largest coordinates: keys are
    // sorted digit by digit, in several times less time than by comparing.
    let most = |c: &&[u64]| c.iter().fold(0, |most, &c| most | c);
    let bits: Vec<u32> = columns
        .iter()
        .map(|c| u64::BITS - most(c).leading_zeros())
        .collect();
    let key = |k: usize| {
        let digits = columns.iter().zip(&bits);
        digits.fold(0u128, |key, (c, bits)| key << bits | u128::from(c[k]))
    };
    match bits.iter().sum::<u32>() {
        ..=64 => {
            #[expect(clippy::cast_possible_truncation)]
            let mut keyed: Vec<(u64, usize)> = (0..count).map(|k| (key(k) as u64, k)).collect();
            radsort::sort_by_key(&mut keyed, |&(key, _)| key);
            Some(keyed.into_iter().map(|(_, k)| k).collect())
        }
        65..=128 => {
            let mut keyed: Vec<(u128, usize)> = (0..count).map(|k| (key(k), k)).collect();
            radsort::sort_by_key(&mut keyed, |&(key, _)| key);
            Some(keyed.into_iter().map(|(_, k)| k).collect())
        }
        _ => {
            let mut order: Vec<usize> = (0..count).collect();
            order.sort_by(|&a, &b| compare(a, b));
            Some(order)
        }
    }
}

/// The order by the first column, counted, of elements that are in order by all the others, as those of a file
/// by columns are for rows; `None` if they are not, or if counting would take more room than they do.
fn turned(first: &[u64], inner: &[&[u64]]) -> Option<Vec<usize>> {
    let rows = usize::try_from(first.iter().max()?.checked_add(1)?).ok()?;
    let row = |k: usize| usize::try_from(first[k]).ok();
    let rises = |k: usize| {
        let pairs = inner.iter().map(|c| c[k - 1].cmp(&c[k]));
        pairs.fold(Ordering::Equal, Ordering::then).is_le()
    };
    if rows > first.len() || !(1..first.len()).all(rises) {
        return None;
    }
    let mut next = vec![0usize; rows];
    for k in 0..first.len() {
        next[row(k)?] += 1;
    }
    let mut begin = 0;
    for own in &mut next {
        begin += std::mem::replace(own, begin);
    }
    let mut order = vec![0; first.len()];
    for k in 0..first.len() {
        let own = &mut next[row(k)?];
        order[*own] = k;
        *own += 1;
    }
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::order_of;
    use proptest::prelude::*;

    proptest! {
        /// As given, by the inner columns, by the last one: the order is that of a stable sort by comparisons.
        #[test]
        fn elements_are_ordered_by_their_columns(
            mut rows in prop::collection::vec([0u64..9, 0u64..5, 0u64..4], 0..40),
            by in 0usize..4,
        ) {
            rows.sort_by(|a, b| a[by.min(3)..].cmp(&b[by.min(3)..]));
            let columns: Vec<Vec<u64>> = (0..3).map(|m| rows.iter().map(|row| row[m]).collect()).collect();
            let columns: Vec<&[u64]> = columns.iter().map(Vec::as_slice).collect();
            let mut wanted: Vec<usize> = (0..rows.len()).collect();
            wanted.sort_by(|&a, &b| rows[a].cmp(&rows[b]));
            let got = order_of(&columns, rows.len());
            prop_assert_eq!(got.unwrap_or_else(|| (0..rows.len()).collect()), wanted);
        }
    }
}
