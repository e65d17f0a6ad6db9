//! Packed storage back into coordinates, and the check of its promises.

use super::pack::order_of;
use super::tensor::{Coo, Dense, Packed, Tensor};
use crate::level::Sizes;

impl Tensor {
    #[must_use]
    pub fn dims(&self) -> &[u64] {
        match self {
            Tensor::Sparse(coo) => &coo.dims,
            Tensor::Dense(dense) => &dense.dims,
        }
    }

    /// The number of stored elements.
    #[must_use]
    pub fn stored(&self) -> usize {
        match self {
            Tensor::Sparse(coo) => coo.values.len(),
            Tensor::Dense(dense) => dense.values.len(),
        }
    }
}

/// The stored elements: dense if every level is, else exactly those that are stored,
/// in storage order. Call [`validate`] first on arrays that are not trusted.
#[must_use]
pub fn unpack(packed: &Packed) -> Tensor {
    let format = &packed.format;
    if format.is_plain() {
        return Tensor::Dense(Dense {
            dims: packed.dims.clone(),
            values: packed.values.clone(),
        });
    }
    let mut coo = Coo {
        dims: packed.dims.clone(),
        coords: vec![Vec::new(); packed.dims.len()],
        values: packed.values.zeros(0),
    };
    let mut coordinate = vec![0u64; packed.dims.len()];
    walk(packed, 0, 0, &mut coordinate, &mut coo);
    if format.is_dense() {
        return Tensor::Dense(scatter(&coo, packed));
    }
    Tensor::Sparse(match format.slots() {
        Some(_) => combined(coo),
        None => coo,
    })
}

/// The elements in order, those of one place added up: slots that are not needed hold zeros anywhere.
fn combined(coo: Coo) -> Coo {
    let columns: Vec<&[u64]> = coo.coords.iter().map(Vec::as_slice).collect();
    let count = coo.values.len();
    let order = order_of(&columns, count).unwrap_or_else(|| (0..count).collect());
    let mut coords: Vec<Vec<u64>> = vec![Vec::new(); columns.len()];
    let mut places: Vec<u64> = Vec::new();
    for (at, &own) in order.iter().enumerate() {
        let same = |before: &usize| columns.iter().all(|c| c[*before] == c[own]);
        let before = at.checked_sub(1).map(|at| order[at]);
        if !before.as_ref().is_some_and(same) {
            for (column, from) in coords.iter_mut().zip(&columns) {
                column.push(from[own]);
            }
        }
        places.push(coords[0].len() as u64 - 1);
    }
    let mut values = coo.values.zeros(coords[0].len());
    values.place(&places, &coo.values, |k| order[k]);
    Coo {
        dims: coo.dims,
        coords,
        values,
    }
}

fn scatter(coo: &Coo, packed: &Packed) -> Dense {
    let all: u64 = packed.dims.iter().product();
    let mut values = packed.values.zeros(usize::try_from(all).unwrap_or(0));
    for k in 0..coo.values.len() {
        let at = coo
            .coords
            .iter()
            .zip(&coo.dims)
            .fold(0u64, |at, (c, d)| at * d + c[k]);
        if let Ok(at) = usize::try_from(at) {
            values.set_from(at, &coo.values, k);
        }
    }
    Dense {
        dims: packed.dims.clone(),
        values,
    }
}

/// Visits the position `at` of the level above `l`, and all that is stored below it.
fn walk(packed: &Packed, l: usize, at: u64, coordinate: &mut [u64], coo: &mut Coo) {
    let Some(arrays) = packed.levels.get(l) else {
        // The last blocks may reach beyond the tensor, and diagonals do.
        if let Ok(at) = usize::try_from(at)
            && at < packed.values.len()
            && let Some(inside) = packed.format.off_diagonals(coordinate, &packed.dims)
        {
            for (column, c) in coo.coords.iter_mut().zip(inside) {
                column.push(c);
            }
            coo.values.push(packed.values.get(at));
        }
        return;
    };
    let (mode, part) = (packed.format.modes[l], packed.format.parts[l]);
    let ty = packed.format.levels[l].ty();
    let extent = packed.format.extent(l, &packed.dims, packed.slots);
    let outer = coordinate[mode];
    ty.each(arrays, at, extent, &mut |c, position| {
        coordinate[mode] = part.join(outer, c);
        walk(packed, l + 1, position, coordinate, coo);
    });
    coordinate[mode] = outer;
}

/// The coordinates of a stored element by its position among the values.
#[must_use]
pub fn coordinates_at(packed: &Packed, mut at: u64) -> Option<Vec<u64>> {
    let mut out = vec![0; packed.dims.len()];
    for (l, arrays) in packed.levels.iter().enumerate().rev() {
        let (mode, part) = (packed.format.modes[l], packed.format.parts[l]);
        let ty = packed.format.levels[l].ty();
        let stored;
        (stored, at) = ty.find(
            arrays,
            at,
            packed.format.extent(l, &packed.dims, packed.slots),
        )?;
        out[mode] += part.join(0, stored);
    }
    packed.format.off_diagonals(&out, &packed.dims)
}

/// Checks what the format promises of the arrays.
///
/// # Errors
/// What does not hold, and where.
pub fn validate(packed: &Packed) -> Result<(), String> {
    let mut parents: u64 = 1;
    for (l, arrays) in packed.levels.iter().enumerate() {
        let level = packed.format.levels[l];
        let extent = packed.format.extent(l, &packed.dims, packed.slots);
        let name = format!("level {l}");
        let ty = level.ty();
        parents = ty.check(level, arrays, Sizes { extent, parents }, &name)?;
    }
    if packed.values.len() as u64 != parents {
        return Err(format!("{} values, not {parents}", packed.values.len()));
    }
    Ok(())
}
