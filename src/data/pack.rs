//! Packing: coordinates into the levels of any format.

use super::tensor::{Coo, Dense, IndexArray, LevelData, Packed, Tensor};
use super::values::{Values, literal};
use super::{DataError, codes};
use crate::format::{LevelKind, TensorFormat};
use crate::scalar::{Literal, ScalarType};

/// Memory beyond which a dense array is refused rather than tried, in bytes.
const MEMORY_LIMIT: u64 = 1 << 36;

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
            levels: vec![LevelData::Dense; format.order()],
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
            let column = columns[l];
            match level.kind {
                LevelKind::Dense => {
                    parents = parents
                        .checked_mul(extent)
                        .ok_or_else(|| too_large("the dense levels"))?;
                    for (p, &e) in at.iter_mut().zip(&order) {
                        *p = *p * extent + column[e];
                    }
                    levels.push(LevelData::Dense);
                }
                LevelKind::Compressed => {
                    let (pos, crd, count) =
                        self.compress(level.unique, &columns, l, &order, &mut at, parents)?;
                    parents = count;
                    levels.push(LevelData::Compressed { pos, crd });
                }
                LevelKind::Singleton => {
                    let mut crd = vec![0u64; to_usize(parents)?];
                    for (&p, &e) in at.iter().zip(&order) {
                        crd[to_usize(p)?] = column[e];
                    }
                    levels.push(LevelData::Singleton {
                        crd: self.index(crd)?,
                    });
                }
                LevelKind::Hashed | LevelKind::Bitmap | LevelKind::Range => {
                    return Err(DataError::new(
                        codes::INVALID,
                        "this level type cannot be packed yet",
                    ));
                }
            }
        }
        let bytes = parents.checked_mul(self.ty.size() as u64);
        if bytes.is_none_or(|b| b > MEMORY_LIMIT) {
            return Err(too_large("the values"));
        }
        let converted = self.coo.values.convert(self.ty);
        let mut values = Values::filled(self.ty, to_usize(parents)?, literal(self.fill));
        let mut last = None;
        for (&p, &e) in at.iter().zip(&order) {
            let p = to_usize(p)?;
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

    /// One compressed level: moves `at` to its positions.
    fn compress(
        &self,
        unique: bool,
        columns: &[&[u64]],
        l: usize,
        order: &[usize],
        at: &mut [u64],
        parents: u64,
    ) -> Result<(IndexArray, IndexArray, u64), DataError> {
        if parents > MEMORY_LIMIT / 8 {
            return Err(too_large("the positions of a compressed level"));
        }
        let mut pos = vec![0u64; to_usize(parents)? + 1];
        let mut crd: Vec<u64> = Vec::with_capacity(order.len());
        let mut before: Option<(u64, usize)> = None;
        for (p, &e) in at.iter_mut().zip(order) {
            let repeated = before.is_some_and(|(parent, other)| {
                parent == *p
                    && columns[l][other] == columns[l][e]
                    // A non-unique level keeps one entry for each whole coordinate.
                    && (unique || columns[l..].iter().all(|c| c[other] == c[e]))
            });
            before = Some((*p, e));
            if !repeated {
                crd.push(columns[l][e]);
                pos[to_usize(*p)? + 1] = crd.len() as u64;
            }
            *p = crd.len() as u64 - 1;
        }
        let mut last = 0;
        for p in &mut pos {
            last = last.max(*p);
            *p = last;
        }
        let count = crd.len() as u64;
        Ok((self.index(pos)?, self.index(crd)?, count))
    }

    fn index(&self, values: Vec<u64>) -> Result<IndexArray, DataError> {
        if self.format.index_bits == 64 {
            return values
                .into_iter()
                .map(|v| i64::try_from(v).map_err(|_| too_large("a coordinate")))
                .collect::<Result<_, _>>()
                .map(IndexArray::I64);
        }
        values
            .into_iter()
            .map(|v| {
                i32::try_from(v).map_err(|_| {
                    DataError::new(
                        codes::TOO_LARGE,
                        format!("{v} does not fit 32-bit coordinates; use `--index 64`"),
                    )
                })
            })
            .collect::<Result<_, _>>()
            .map(IndexArray::I32)
    }
}

fn too_large(what: &str) -> DataError {
    DataError::new(codes::TOO_LARGE, format!("{what} would not fit memory"))
}

fn to_usize(n: u64) -> Result<usize, DataError> {
    usize::try_from(n).map_err(|_| too_large("the tensor"))
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
