//! Packing: coordinates into the levels of any format.

use super::tensor::{Coo, Dense, Packed, Tensor};
use super::values::{Values, literal};
use super::{DataError, codes};
use crate::format::TensorFormat;
use crate::level::memory::{LIMIT, index};
use crate::level::{ArrayRole, Elements, IndexArray, Sizes, TooLarge, Width};
use crate::scalar::{Literal, ScalarType};

/// Packs `tensor` with the extents `dims` (at least its own) into `format`:
/// elements are sorted, duplicates summed, values converted to `ty`.
///
/// # Errors
/// A shape that does not fit, counts beyond the index width, too little memory.
pub fn pack(
    tensor: &Tensor,
    ty: ScalarType,
    dims: &[u64],
    format: &TensorFormat,
    fill: Literal,
) -> Result<Packed, DataError> {
    let own = tensor.dims();
    if own.len() != dims.len() || dims.len() != format.order() {
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
        && format.is_dense()
        && dense.dims == dims
        && format.modes.iter().copied().eq(0..format.order())
    {
        return Ok(Packed {
            dims: dims.to_vec(),
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
    Packer {
        coo,
        format,
        dims,
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
    fill: Literal,
    ty: ScalarType,
}

impl Packer<'_> {
    fn run(self) -> Result<Packed, DataError> {
        let columns: Vec<&[u64]> = self
            .format
            .modes
            .iter()
            .map(|&mode| self.coo.coords[mode].as_slice())
            .collect();
        let order = sorted(&columns, self.coo.values.len());
        // The position of each element, level by level.
        let mut at: Vec<u64> = vec![0; order.len()];
        let mut parents: u64 = 1;
        let mut levels = Vec::new();
        for (l, level) in self.format.levels.iter().enumerate() {
            let extent = self.dims[self.format.modes[l]];
            let mut elements = Elements {
                columns: &columns[l..],
                order: &order,
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
        let converted = self.coo.values.convert(self.ty);
        let mut values = Values::filled(self.ty, index(parents)?, literal(self.fill));
        let mut last = None;
        for (&p, &e) in at.iter().zip(&order) {
            let p = index(p)?;
            if last == Some(p) {
                values.add_from(p, &converted, e);
            } else {
                values.set_from(p, &converted, e);
            }
            last = Some(p);
        }
        Ok(Packed {
            dims: self.dims.to_vec(),
            format: self.format.clone(),
            fill: self.fill,
            levels,
            values,
        })
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

/// The order of the elements that sorts them by the columns, the first one most
/// significant. Equal elements keep their order.
fn sorted(columns: &[&[u64]], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let compare = |a: usize, b: usize| {
        columns
            .iter()
            .map(|c| c[a].cmp(&c[b]))
            .find(|o| o.is_ne())
            .unwrap_or(std::cmp::Ordering::Equal)
    };
    if (1..count).all(|k| compare(k - 1, k).is_le()) {
        return order;
    }
    match columns {
        // Two columns of 32 bits make one key: sorting them is several times faster.
        [a, b] if a.iter().chain(b.iter()).all(|&c| u32::try_from(c).is_ok()) => {
            let mut keyed: Vec<(u64, usize)> =
                order.iter().map(|&k| ((a[k] << 32) | b[k], k)).collect();
            keyed.sort_unstable();
            keyed.into_iter().map(|(_, k)| k).collect()
        }
        _ => {
            order.sort_by(|&a, &b| compare(a, b));
            order
        }
    }
}
