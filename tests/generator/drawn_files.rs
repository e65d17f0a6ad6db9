//! Draws data files for parameters.

use crate::datafile::{DataFile, Field, Kind, Quarters, Symmetry, range};
use crate::maker::Maker;
use crate::numpy::Layout;
use sparsec::scalar::ScalarType;

impl Maker {
    /// A file for a parameter of this type and these extents. Of an index tensor each element
    /// is stored, once: larger sums would lead out of what it subscripts.
    pub fn data_file(&mut self, ty: ScalarType, dims: &[u64], index: bool) -> DataFile {
        let whole = range(ty);
        let kind = self.kind(ty, dims.len(), whole.is_some());
        let array = match &kind {
            Kind::Matrix { array, .. } => *array,
            Kind::Tns => false,
            Kind::Npy(_) => true,
        };
        let all: u64 = dims.iter().product();
        let mut entries: Vec<(Vec<u64>, Quarters)> = Vec::new();
        if index || (array && self.chance(70)) {
            for k in 0..all {
                let mut rest = k;
                let mut at = vec![0; dims.len()];
                for (c, d) in at.iter_mut().zip(dims).rev() {
                    (*c, rest) = (rest % d, rest / d);
                }
                let value = self.value(ty, whole);
                entries.push((at, value));
            }
            if !array {
                entries = self.subset(&entries, entries.len());
            }
        } else if all > 0 {
            let most = usize::try_from(all).unwrap().min(12);
            for _ in 0..self.below(most + 1) + self.below(most + 1) {
                let at = match self.below(6) {
                    0 if !entries.is_empty() => entries[self.below(entries.len())].0.clone(),
                    _ => dims
                        .iter()
                        .map(|d| self.below(*d as usize) as u64)
                        .collect(),
                };
                let value = self.value(ty, whole);
                entries.push((at, value));
            }
            if self.chance(30) {
                entries.sort_by(|a, b| a.0.cmp(&b.0));
            }
        }
        DataFile {
            kind,
            entries,
            spelling: self.below(1 << 30) as u64,
            compressed: self.chance(10),
        }
    }

    fn kind(&mut self, ty: ScalarType, order: usize, whole: bool) -> Kind {
        let matrix = (1..=2).contains(&order);
        match self.below(10) {
            0..=4 if matrix => {
                let fields: &[Field] = if ty.is_complex() {
                    &[Field::Complex, Field::Complex, Field::Real, Field::Integer]
                } else if whole {
                    &[Field::Integer, Field::Integer, Field::Real, Field::Pattern]
                } else {
                    &[Field::Real, Field::Real, Field::Integer, Field::Pattern]
                };
                let field = self.pick(fields);
                let array = field != Field::Pattern && self.chance(30);
                let symmetry = match self.below(10) {
                    0..=2 => Symmetry::Symmetric,
                    3 if field != Field::Pattern && !ty.is_unsigned() && ty != ScalarType::Bool => {
                        Symmetry::Skew
                    }
                    4..=5 if field == Field::Complex => Symmetry::Hermitian,
                    _ => Symmetry::General,
                };
                Kind::Matrix {
                    array,
                    field,
                    symmetry,
                    row: self.chance(50),
                }
            }
            0..=6 if !ty.is_complex() => Kind::Tns,
            _ => Kind::Npy(self.layout(ty)),
        }
    }

    /// Of an array for such elements, in their own type or one that holds them, too.
    fn layout(&mut self, ty: ScalarType) -> Layout {
        use ScalarType::{Bool, C64, C128, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let others: &[ScalarType] = if ty.is_complex() {
            &[C64, C128]
        } else if ty == Bool {
            &[Bool, Bool, I8, U8, I64, F32]
        } else if ty.is_unsigned() {
            &[I8, I16, I32, I64, U8, U16, U32, U64, F64]
        } else if ty.is_integer() {
            &[I8, I16, I32, I64, F16, F64]
        } else {
            &[F16, F32, F64]
        };
        let own = if ty == ScalarType::BF16 { F32 } else { ty };
        Layout {
            ty: if self.chance(40) {
                own
            } else {
                self.pick(others)
            },
            big_endian: self.chance(40),
            fortran: self.chance(50),
            version: self.pick(&[1, 1, 1, 2, 3]),
            spelling: self.below(256) as u64,
        }
    }

    /// A value, zero more often than not by chance.
    fn value(&mut self, ty: ScalarType, whole: Option<(i128, i128)>) -> Quarters {
        if self.chance(12) {
            return (0, 0);
        }
        let part = |maker: &mut Maker| match whole {
            Some((lo, hi)) => 4 * (lo + maker.below(usize::try_from(hi - lo + 1).unwrap()) as i128),
            None => maker.below(9) as i128 - 4,
        };
        let re = part(self);
        let im = if ty.is_complex() { part(self) } else { 0 };
        (re, im)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datafile::{compare, read_content};
    use sparsec::data::{Tensor, pack, read, unpack, validate};
    use sparsec::format::{Level, TensorFormat};
    use sparsec::scalar::Literal;

    fn format(maker: &mut Maker, order: usize) -> TensorFormat {
        let levels = [Level::DENSE, Level::COMPRESSED];
        let mut levels: Vec<Level> = (0..order).map(|_| maker.pick(&levels)).collect();
        if order > 1 && maker.chance(30) {
            levels.fill(Level::SINGLETON.nonunique());
            levels[0] = Level::COMPRESSED.nonunique();
            levels[order - 1].unique = true;
        }
        let modes: Vec<usize> = (0..order).collect();
        let modes = maker.subset(&modes, order);
        TensorFormat {
            index_bits: maker.pick(&[32, 64]),
            ..TensorFormat::whole(levels, modes)
        }
    }

    /// Readers against what was written, packing against the readers.
    #[test]
    fn files_are_read_and_packed_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut maker = Maker::new(7, false);
        for n in 0..4000 {
            let order = 1 + maker.below(4);
            let dims: Vec<u64> = (0..order)
                .map(|_| maker.pick(&[0, 1, 2, 3, 3, 5, 8]))
                .collect();
            let dims = match maker.below(3) {
                0 => vec![dims[0]; order],
                _ => dims,
            };
            let ty = maker.pick(&ScalarType::ALL);
            let index = maker.chance(20);
            let mut file = maker.data_file(ty, &dims, index);
            // All bits of the widest types.
            if let Kind::Npy(Layout { ty: own, .. }) = &file.kind
                && own.is_integer()
                && own.size() == 8
            {
                let (lo, hi) = sparsec::data::fit::range(*own);
                let extreme = maker.pick(&[lo, hi, lo + 1, hi / 255]);
                if let Some(entry) = file.entries.first_mut() {
                    entry.1.0 = 4 * extreme;
                }
            }
            let path = folder.path().join(format!("{n}.{}", file.ending()));
            if let Err(reason) = file.write(&path, &dims) {
                panic!("{dims:?} {file:?}\n{reason}\n{}", show(&file.bytes(&dims)));
            }
            let tensor = read(&path).unwrap();
            if tensor.dims().len() != order {
                continue;
            }
            // A file of 8 bits cannot hold the sums of its elements.
            let ty = match &tensor {
                Tensor::Sparse(coo) => coo.values.ty(),
                Tensor::Dense(dense) => dense.values.ty(),
            };
            let format = format(&mut maker, order);
            let packed = pack(&tensor, ty, (&dims, 0), &format, Literal::ZERO).unwrap();
            assert_eq!(validate(&packed), Ok(()), "{file:?}");
            let back = read_content(&unpack(&packed), |at| at);
            // Dense levels and arrays hold zeros beside what was written.
            let wanted = file.content(&dims);
            let kept = back.into_iter();
            let kept = kept.filter(|(at, n)| *n != (0, 0) || wanted.contains_key(at));
            let result = compare(&kept.collect(), &wanted, &dims, false);
            assert_eq!(result, Ok(()), "{format:?} {file:?}");
        }
    }

    fn show(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }
}
