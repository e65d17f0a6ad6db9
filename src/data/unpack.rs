//! Packed storage back into coordinates, and the check of its promises.

use super::tensor::{Coo, Dense, IndexArray, LevelData, Packed, Tensor};
use crate::format::LevelKind;

impl IndexArray {
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::I32(v) => v.len(),
            Self::I64(v) => v.len(),
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at `at`; `None` out of range or if it is negative.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<u64> {
        match self {
            Self::I32(v) => v.get(at).and_then(|&x| u64::try_from(x).ok()),
            Self::I64(v) => v.get(at).and_then(|&x| u64::try_from(x).ok()),
        }
    }
}

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
    if format.is_dense() && format.modes.iter().copied().eq(0..format.order()) {
        return Tensor::Dense(Dense {
            dims: packed.dims.clone(),
            values: packed.values.clone(),
        });
    }
    let mut coo = Coo {
        dims: packed.dims.clone(),
        coords: vec![Vec::new(); format.order()],
        values: packed.values.zeros(0),
    };
    let mut coordinate = vec![0u64; format.order()];
    walk(packed, 0, 0, 1, &mut coordinate, &mut coo);
    if format.is_dense() {
        return Tensor::Dense(scatter(&coo, packed));
    }
    Tensor::Sparse(coo)
}

fn scatter(coo: &Coo, packed: &Packed) -> Dense {
    let mut values = packed.values.zeros(packed.values.len());
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

/// Visits the positions `begin..end` of level `l`'s parents.
fn walk(packed: &Packed, l: usize, begin: u64, end: u64, coordinate: &mut [u64], coo: &mut Coo) {
    if l == packed.levels.len() {
        for p in begin..end {
            if let Ok(p) = usize::try_from(p)
                && p < packed.values.len()
            {
                for (column, c) in coo.coords.iter_mut().zip(&*coordinate) {
                    column.push(*c);
                }
                coo.values.push(packed.values.get(p));
            }
        }
        return;
    }
    let mode = packed.format.modes[l];
    for parent in begin..end {
        let at = usize::try_from(parent).unwrap_or(usize::MAX);
        match &packed.levels[l] {
            LevelData::Dense => {
                let extent = packed.dims[mode];
                for c in 0..extent {
                    coordinate[mode] = c;
                    let p = parent * extent + c;
                    walk(packed, l + 1, p, p + 1, coordinate, coo);
                }
            }
            LevelData::Compressed { pos, crd } => {
                let from = pos.get(at).unwrap_or(0);
                let to = pos.get(at.saturating_add(1)).unwrap_or(0);
                for p in from..to {
                    let Some(c) = usize::try_from(p).ok().and_then(|p| crd.get(p)) else {
                        continue;
                    };
                    coordinate[mode] = c;
                    walk(packed, l + 1, p, p + 1, coordinate, coo);
                }
            }
            LevelData::Singleton { crd } => {
                if let Some(c) = crd.get(at) {
                    coordinate[mode] = c;
                    walk(packed, l + 1, parent, parent + 1, coordinate, coo);
                }
            }
        }
    }
}

/// Checks what the format promises of the arrays.
///
/// # Errors
/// What does not hold, and where.
pub fn validate(packed: &Packed) -> Result<(), String> {
    let mut parents: u64 = 1;
    for (l, data) in packed.levels.iter().enumerate() {
        let level = packed.format.levels[l];
        let extent = packed.dims[packed.format.modes[l]];
        match data {
            LevelData::Dense => {
                if level.kind != LevelKind::Dense {
                    return Err(format!("level {l} has no arrays"));
                }
                parents = parents.checked_mul(extent).ok_or("the extents overflow")?;
            }
            LevelData::Compressed { pos, crd } => {
                if pos.len() as u64 != parents + 1 {
                    return Err(format!(
                        "pos of level {l} has {} elements, not {}",
                        pos.len(),
                        parents + 1
                    ));
                }
                if pos.get(0) != Some(0) {
                    return Err(format!("pos of level {l} does not begin with 0"));
                }
                for k in 1..pos.len() {
                    let (from, to) = (pos.get(k - 1), pos.get(k));
                    let (Some(from), Some(to)) = (from, to) else {
                        return Err(format!("pos of level {l} is negative at {k}"));
                    };
                    if from > to {
                        return Err(format!("pos of level {l} descends at {k}"));
                    }
                    for p in from + 1..to {
                        let at = |p: u64| usize::try_from(p).ok().and_then(|p| crd.get(p));
                        let (a, b) = (at(p - 1), at(p));
                        if a > b || (a == b && level.unique) {
                            return Err(format!("crd of level {l} is not ascending at {p}"));
                        }
                    }
                }
                let stored = pos.get(pos.len() - 1).unwrap_or(0);
                if stored != crd.len() as u64 {
                    return Err(format!(
                        "crd of level {l} has {} elements, pos says {stored}",
                        crd.len()
                    ));
                }
                in_range(crd, extent, l)?;
                parents = stored;
            }
            LevelData::Singleton { crd } => {
                if crd.len() as u64 != parents {
                    return Err(format!(
                        "crd of level {l} has {} elements, not {parents}",
                        crd.len()
                    ));
                }
                in_range(crd, extent, l)?;
            }
        }
    }
    if packed.values.len() as u64 != parents {
        return Err(format!("{} values, not {parents}", packed.values.len()));
    }
    Ok(())
}

fn in_range(crd: &IndexArray, extent: u64, l: usize) -> Result<(), String> {
    for p in 0..crd.len() {
        if crd.get(p).is_none_or(|c| c >= extent) {
            return Err(format!(
                "a coordinate of level {l} is outside 0..{extent} at {p}"
            ));
        }
    }
    Ok(())
}
