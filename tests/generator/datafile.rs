//! Data files as the generator writes them: the formats' rare but legal forms, with what they
//! mean known beforehand, so that reading them can be judged without the reader's help.

use crate::numpy;
use flate2::Compression;
use flate2::write::GzEncoder;
use num_complex::Complex;
use sparsec::data::values::Number;
use sparsec::data::{Tensor, read};
use sparsec::scalar::ScalarType;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// A number in quarters, real and imaginary part: what binary floating point holds, sums
/// included, even in 16 bits.
pub type Quarters = (i128, i128);

/// What a file means: each element once, those that are stored as zeros too.
pub type Content = BTreeMap<Vec<u64>, Quarters>;

/// The spelling of files that are easy to read.
const PLAIN: u64 = u64::MAX;

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
    fn symmetry(&self, dims: &[u64]) -> Symmetry {
        match self.kind {
            Kind::Matrix { symmetry, .. } if dims.len() == 2 && dims[0] == dims[1] => symmetry,
            Kind::Matrix { .. } | Kind::Tns | Kind::Npy(_) => Symmetry::General,
        }
    }

    /// The entries that the extents and the format leave, as they stand in the file.
    fn written(&self, dims: &[u64]) -> Vec<(Vec<u64>, Quarters)> {
        let inside = |at: &[u64]| at.iter().zip(dims).all(|(c, d)| c < d);
        let symmetry = self.symmetry(dims);
        let mut out: Vec<(Vec<u64>, Quarters)> = Vec::new();
        for (at, value) in self.entries.iter().filter(|(at, _)| inside(at)) {
            let (mut at, mut value) = (at.clone(), *value);
            if symmetry != Symmetry::General {
                at.sort_unstable_by(|a, b| b.cmp(a));
                match symmetry {
                    Symmetry::Skew if at[0] == at[1] => continue,
                    Symmetry::Hermitian if at[0] == at[1] => value.1 = 0,
                    _ => {}
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

    fn matrix(
        &self,
        array: bool,
        field: Field,
        symmetry: Symmetry,
        shape: [u64; 2],
        entries: Vec<([u64; 2], Quarters)>,
    ) -> Vec<u8> {
        let field_name = match field {
            Field::Real if self.spelled(6, 4) => "double",
            Field::Real => "real",
            Field::Integer => "integer",
            Field::Complex => "complex",
            Field::Pattern => "pattern",
        };
        let symmetry_name = match symmetry {
            Symmetry::General => "general",
            Symmetry::Symmetric => "symmetric",
            Symmetry::Skew => "skew-symmetric",
            Symmetry::Hermitian => "hermitian",
        };
        let form = if array { "array" } else { "coordinate" };
        let mut words = format!("matrix {form} {field_name} {symmetry_name}");
        if self.spelled(7, 3) {
            words = words.to_uppercase();
        }
        let [rows, cols] = shape;
        let numbers = |n: usize, (re, im): Quarters| match field {
            Field::Pattern => String::new(),
            Field::Integer => whole(re),
            Field::Real => self.decimal(n, re),
            Field::Complex => format!("{} {}", self.decimal(n, re), self.decimal(n + 1, im)),
        };
        let mut lines = Vec::new();
        if array {
            lines.push(format!("{rows} {cols}"));
            let known: BTreeMap<[u64; 2], Quarters> = entries.into_iter().collect();
            for j in 0..cols {
                let first = match symmetry {
                    Symmetry::General => 0,
                    Symmetry::Symmetric | Symmetry::Hermitian => j,
                    Symmetry::Skew => j + 1,
                };
                for i in first..rows {
                    let value = known.get(&[i, j]).copied().unwrap_or_default();
                    lines.push(numbers(lines.len(), value));
                }
            }
        } else {
            lines.push(format!("{rows} {cols} {}", entries.len()));
            for (n, ([i, j], value)) in entries.into_iter().enumerate() {
                lines.push(format!("{} {} {}", i + 1, j + 1, numbers(n, value)));
            }
        }
        let banner = format!("%%MatrixMarket {words}");
        self.lines(Some(banner), '%', &lines)
    }

    fn tns(&self, dims: &[u64]) -> Vec<u8> {
        let mut lines = Vec::new();
        for (n, (at, value)) in self.written(dims).into_iter().enumerate() {
            let mut line = String::new();
            for c in at {
                let _ = write!(line, "{} ", c + 1);
            }
            lines.push(line + &self.decimal(n, value.0));
        }
        self.lines(None, '#', &lines)
    }

    /// Lines with what may stand between them.
    fn lines(&self, banner: Option<String>, comment: char, lines: &[String]) -> Vec<u8> {
        let end = if self.spelled(0, 4) { "\r\n" } else { "\n" };
        let mut out = String::new();
        if let Some(banner) = banner {
            out += &(banner + end);
        }
        for (n, line) in lines.iter().enumerate() {
            if self.spelled(11 + n, 9) {
                let _ = write!(out, "{comment} 1 1 1{end}");
            }
            if self.spelled(23 + n, 11) {
                out += end;
            }
            let line = match self.pick(31 + n, 8) {
                0 => format!("  {line}"),
                1 => format!("{line} \t"),
                2 => line.replace(' ', " \t "),
                _ => line.clone(),
            };
            out += &(line + end);
        }
        if self.spelled(3, 4) {
            out.truncate(out.trim_end_matches(['\r', '\n']).len());
        }
        out.into_bytes()
    }

    /// One of `count` ways to spell what stands at `at`.
    fn pick(&self, at: usize, count: u64) -> u64 {
        if self.spelling == PLAIN {
            return count - 1;
        }
        let mut bits = (self.spelling ^ (at as u64)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        bits = (bits ^ (bits >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (bits >> 33) % count
    }

    fn spelled(&self, at: usize, one_in: u64) -> bool {
        self.pick(at, one_in) == 0
    }

    /// A real number in one of its spellings.
    fn decimal(&self, at: usize, quarters: i128) -> String {
        let sign = if quarters < 0 { "-" } else { "" };
        let magnitude = quarters.unsigned_abs();
        let (units, rest) = (magnitude / 4, magnitude % 4 * 25);
        if rest == 0 {
            return match self.pick(at, 8) {
                0 => format!("{sign}{units}."),
                1 => format!("{sign}{units}.000"),
                2 => format!("{sign}{units}e0"),
                3 if sign.is_empty() => format!("+{units}"),
                4 if units == 0 => "-0".to_string(),
                5 => format!("{sign}{units}0E-01"),
                _ => format!("{sign}{units}"),
            };
        }
        match self.pick(at, 6) {
            0 if units == 0 => format!("{sign}.{rest:02}"),
            1 => format!("{sign}{units}{rest:02}e-2"),
            2 => format!("{sign}{units}.{rest:02}000D+00"),
            3 => format!("{sign}0.{units}{rest:02}e{}", units.to_string().len()),
            _ => format!("{sign}{units}.{rest:02}"),
        }
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

fn whole(quarters: i128) -> String {
    (quarters / 4).to_string()
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
