//! Data files as the generator writes them: the formats' rare but legal forms, with what they
//! mean known beforehand, so that reading them can be judged without the reader's help.

use crate::numpy;
use crate::spelling::PLAIN;
use flate2::Compression;
use flate2::write::GzEncoder;
use num_complex::Complex;
use sparsec::data::values::Number;
use sparsec::data::{Tensor, read};
use sparsec::scalar::ScalarType;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

/// A number in quarters, real and imaginary part: what binary floating point holds, sums
/// included, even in 16 bits.
pub type Quarters = (i128, i128);

/// What a file means: each element once, those that are stored as zeros too.
pub type Content = BTreeMap<Vec<u64>, Quarters>;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Symmetry {
    General,
    Symmetric,
    Skew,
    Hermitian,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Field {
    Real,
    Integer,
    Complex,
    Pattern,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Matrix {
        array: bool,
        field: Field,
        symmetry: Symmetry,
        /// A vector is a row, not a column.
        row: bool,
    },
    Tns,
    Npy(numpy::Layout),
}

#[derive(Clone, Debug, PartialEq)]
pub struct DataFile {
    pub kind: Kind,
    /// In the order of the file; of arrays the first one of each coordinate counts.
    pub entries: Vec<(Vec<u64>, Quarters)>,
    /// Bits that say how numbers and lines are spelt.
    pub spelling: u64,
    pub compressed: bool,
}

impl DataFile {
    pub fn ending(&self) -> &'static str {
        match (&self.kind, self.compressed) {
            (Kind::Matrix { .. }, false) => "mtx",
            (Kind::Matrix { .. }, true) => "mtx.gz",
            (Kind::Tns, false) => "tns",
            (Kind::Tns, true) => "tns.gz",
            (Kind::Npy(_), false) => "npy",
            (Kind::Npy(_), true) => "npy.gz",
        }
    }

    /// One step simpler.
    pub fn smaller(&self) -> Vec<DataFile> {
        let mut out = vec![
            DataFile {
                compressed: false,
                ..self.clone()
            },
            DataFile {
                spelling: PLAIN,
                ..self.clone()
            },
        ];
        for count in [self.entries.len() / 2, self.entries.len().saturating_sub(1)] {
            let mut next = self.clone();
            next.entries.truncate(count);
            out.push(next);
        }
        for at in 0..self.entries.len() {
            let mut next = self.clone();
            next.entries.remove(at);
            out.push(next);
        }
        out
    }

    /// The symmetry that the extents allow.
    pub fn symmetry(&self, dims: &[u64]) -> Symmetry {
        match self.kind {
            Kind::Matrix { symmetry, .. } if dims.len() == 2 && dims[0] == dims[1] => symmetry,
            Kind::Matrix { .. } | Kind::Tns | Kind::Npy(_) => Symmetry::General,
        }
    }

    /// The entries that the extents and the format leave, as they stand in the file.
    pub fn written(&self, dims: &[u64]) -> Vec<(Vec<u64>, Quarters)> {
        let inside = |at: &[u64]| at.iter().zip(dims).all(|(c, d)| c < d);
        let symmetry = self.symmetry(dims);
        let mut out: Vec<(Vec<u64>, Quarters)> = Vec::new();
        for (at, value) in self.entries.iter().filter(|(at, _)| inside(at)) {
            let (mut at, mut value) = (at.clone(), *value);
            if symmetry != Symmetry::General {
                at.sort_unstable_by(|a, b| b.cmp(a));
                let diagonal = at[0] == at[1];
                if diagonal && symmetry == Symmetry::Skew {
                    continue;
                }
                if diagonal && symmetry == Symmetry::Hermitian {
                    value.1 = 0;
                }
            }
            if let Kind::Matrix { field, .. } = self.kind {
                match field {
                    Field::Pattern => value = (4, 0),
                    Field::Real => value.1 = 0,
                    Field::Integer => value = (value.0 / 4 * 4, 0),
                    Field::Complex => {}
                }
            }
            let array = match &self.kind {
                Kind::Matrix { array, .. } => *array,
                Kind::Tns => false,
                Kind::Npy(_) => true,
            };
            if !array || out.iter().all(|(other, _)| *other != at) {
                out.push((at, value));
            }
        }
        out
    }

    /// What the file means.
    pub fn content(&self, dims: &[u64]) -> Content {
        let mut content = Content::new();
        let mut add = |at: Vec<u64>, value: Quarters| {
            let sum = content.entry(at).or_default();
            *sum = (sum.0 + value.0, sum.1 + value.1);
        };
        for (at, (re, im)) in self.written(dims) {
            let mirrored = match self.symmetry(dims) {
                Symmetry::General => None,
                Symmetry::Symmetric => Some((re, im)),
                Symmetry::Skew => Some((-re, -im)),
                Symmetry::Hermitian => Some((re, -im)),
            };
            if let Some(value) = mirrored
                && at[0] != at[1]
            {
                add(vec![at[1], at[0]], value);
            }
            add(at, (re, im));
        }
        content
    }

    pub fn bytes(&self, dims: &[u64]) -> Vec<u8> {
        let bytes = match &self.kind {
            Kind::Matrix {
                array, field, row, ..
            } => {
                let shape = match dims {
                    [n] if *row => [1, *n],
                    [n] => [*n, 1],
                    _ => [dims[0], dims[1]],
                };
                let place = |at: &[u64]| match at {
                    [c] if *row => [0, *c],
                    [c] => [*c, 0],
                    _ => [at[0], at[1]],
                };
                let written = self.written(dims).into_iter();
                let entries = written.map(|(at, value)| (place(&at), value)).collect();
                self.matrix(*array, *field, self.symmetry(dims), shape, entries)
            }
            Kind::Tns => self.tns(dims),
            Kind::Npy(layout) => layout.bytes(dims, &self.content(dims)),
        };
        if !self.compressed {
            return bytes;
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Writes the file and reads it again.
    ///
    /// # Errors
    /// What the reader made of it, if it is not what was written.
    pub fn write(&self, path: &Path, dims: &[u64]) -> Result<(), String> {
        std::fs::write(path, self.bytes(dims)).unwrap();
        let found = read(path).map_err(|e| e.to_string())?;
        let wanted = self.content(dims);
        let name = path.display();
        let extents: Vec<u64> = match (&self.kind, dims) {
            (Kind::Matrix { row: true, .. }, [n]) => vec![1, *n],
            (Kind::Matrix { row: false, .. }, [n]) => vec![*n, 1],
            (Kind::Matrix { .. } | Kind::Npy(_), _) => dims.to_vec(),
            (Kind::Tns, _) if wanted.is_empty() => Vec::new(),
            (Kind::Tns, _) => (0..dims.len())
                .map(|mode| wanted.keys().map(|at| at[mode] + 1).max().unwrap_or(0))
                .collect(),
        };
        if found.dims() != extents {
            return Err(format!(
                "{name}: read as {:?}, not {extents:?}",
                found.dims()
            ));
        }
        let values = match &found {
            Tensor::Sparse(coo) => &coo.values,
            Tensor::Dense(dense) => &dense.values,
        };
        if let Kind::Npy(layout) = &self.kind
            && values.ty() != layout.ty
        {
            return Err(format!(
                "{name}: read as {}, not {}",
                values.ty(),
                layout.ty
            ));
        }
        let vector = dims.len() == 1 && extents.len() == 2;
        let place = |at: Vec<u64>| match vector {
            true => vec![at.iter().sum()],
            false => at,
        };
        compare(
            &read_content(&found, place),
            &wanted,
            dims,
            matches!(found, Tensor::Dense(_)),
        )
        .map_err(|e| format!("{name}: {e}"))
    }
}

/// Compares elements; those that a dense array holds beside the wanted ones are zero.
pub fn compare(found: &Content, wanted: &Content, dims: &[u64], dense: bool) -> Result<(), String> {
    for (at, value) in wanted {
        if found.get(at) != Some(value) {
            return Err(format!("{:?} at {at:?}, not {value:?}", found.get(at)));
        }
    }
    let others = found.iter().filter(|(at, _)| !wanted.contains_key(*at));
    for (at, value) in others {
        if !dense || *value != (0, 0) {
            return Err(format!("{value:?} at {at:?}, where nothing was written"));
        }
    }
    let all: u64 = dims.iter().product();
    if dense && found.len() as u64 != all {
        return Err(format!("{} elements, not {all}", found.len()));
    }
    Ok(())
}

/// The elements of a tensor, duplicates summed.
pub fn read_content(tensor: &Tensor, place: impl Fn(Vec<u64>) -> Vec<u64>) -> Content {
    let mut content = Content::new();
    let mut add = |at: Vec<u64>, n: Number| {
        let (re, im) = quarters(n);
        let sum = content.entry(place(at)).or_default();
        *sum = (sum.0 + re, sum.1 + im);
    };
    match tensor {
        Tensor::Sparse(coo) => {
            for k in 0..coo.values.len() {
                let at = coo.coords.iter().map(|c| c[k]).collect();
                add(at, coo.values.get(k));
            }
        }
        Tensor::Dense(dense) => {
            for k in 0..dense.values.len() {
                let mut rest = k as u64;
                let mut at = vec![0; dense.dims.len()];
                for (c, d) in at.iter_mut().zip(&dense.dims).rev() {
                    (*c, rest) = (rest % d, rest / d);
                }
                add(at, dense.values.get(k));
            }
        }
    }
    content
}

/// A number that was written, in quarters; any other one gives one that was not.
#[expect(clippy::cast_possible_truncation)]
fn quarters(n: Number) -> Quarters {
    let real = |x: f64| match 4.0 * x {
        x if x.fract() == 0.0 && x.is_finite() => x as i128,
        _ => i128::MAX / 2,
    };
    match n {
        Number::Int(i) => (4 * i, 0),
        Number::Real(x) => (real(x), 0),
        Number::Complex(Complex { re, im }) => (real(re), real(im)),
    }
}

/// Whether files for such a parameter hold whole numbers, and from where to where.
pub fn range(ty: ScalarType) -> Option<(i128, i128)> {
    if ty == ScalarType::Bool {
        Some((0, 1))
    } else if ty.is_unsigned() {
        Some((0, 9))
    } else if ty.is_integer() {
        Some((-9, 9))
    } else {
        None
    }
}
