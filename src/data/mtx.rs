//! Matrix Market: coordinate and array files of every field and symmetry.

use super::scan::{Scanner, show};
use super::tensor::{Coo, Dense, Tensor};
use super::values::Values;
use super::whole::Whole;
use super::{DataError, codes};
use num_complex::Complex;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Real,
    Integer,
    /// What SciPy writes of `uint64`.
    Unsigned,
    Complex,
    Pattern,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
    Hermitian,
}

struct Banner {
    coordinate: bool,
    field: Field,
    symmetry: Symmetry,
}

/// Parses a Matrix Market file. Symmetric entries are expanded; an entry above the
/// diagonal of a symmetric matrix is refused.
///
/// # Errors
/// The line and the reason.
pub fn parse(bytes: &[u8]) -> Result<Tensor, DataError> {
    parse_watched(bytes, &mut |_, _| {})
}

/// As [`parse`]; `seen` is told the position of each element among all of the tensor, and its line.
pub(super) fn parse_watched(
    bytes: &[u8],
    seen: &mut impl FnMut(usize, u64),
) -> Result<Tensor, DataError> {
    let mut scan = Scanner::new(bytes);
    let banner = banner(&mut scan)?;
    scan.next_line();
    scan.skip_lines(b'%');
    if scan.at_end() {
        return Err(scan.error("the size line is missing"));
    }
    let rows = scan.count("the number of rows")?;
    let cols = scan.count("the number of columns")?;
    let elements = rows.checked_mul(cols);
    if !banner.coordinate && elements.is_none_or(|n| i64::try_from(n).is_err()) {
        return Err(scan.error(format!("{rows} times {cols} does not fit 64 bits")));
    }
    if banner.symmetry != Symmetry::General && rows != cols {
        return Err(scan.error(format!(
            "a symmetric matrix must be square, not {rows} by {cols}"
        )));
    }
    if banner.coordinate {
        coordinate(&mut scan, &banner, (rows, cols), seen)
    } else {
        array(&mut scan, &banner, (rows, cols), seen)
    }
}

fn banner(scan: &mut Scanner) -> Result<Banner, DataError> {
    let line = scan.rest_of_line();
    if line.is_empty() {
        return Err(scan.error("the banner `%%MatrixMarket matrix ...` is missing"));
    }
    let mut word = || scan.token().map(<[u8]>::to_ascii_lowercase);
    let (magic, object, format, field, symmetry) = (word(), word(), word(), word(), word());
    let unknown = |what: &str, found: &Option<Vec<u8>>, known: &str| {
        let wrong = match found.as_deref() {
            Some(found) => format!("unknown {what} {}", show(found)),
            None => format!("the banner's {what} is missing"),
        };
        Err(DataError::at(1, format!("{wrong}, expected {known}")))
    };
    if magic.as_deref() != Some(b"%%matrixmarket") {
        return unknown("banner", &magic, "%%MatrixMarket");
    }
    if object.as_deref() != Some(b"matrix") {
        return unknown("object", &object, "matrix");
    }
    let coordinate = match format.as_deref() {
        Some(b"coordinate") => true,
        Some(b"array") => false,
        _ => return unknown("format", &format, "coordinate or array"),
    };
    let field = match field.as_deref() {
        Some(b"real" | b"double") => Field::Real,
        Some(b"integer") => Field::Integer,
        Some(b"unsigned-integer") => Field::Unsigned,
        Some(b"complex") => Field::Complex,
        Some(b"pattern") => Field::Pattern,
        _ => {
            return unknown(
                "field",
                &field,
                "real, integer, unsigned-integer, complex or pattern",
            );
        }
    };
    let symmetry = match symmetry.as_deref() {
        Some(b"general") => Symmetry::General,
        Some(b"symmetric") => Symmetry::Symmetric,
        Some(b"skew-symmetric") => Symmetry::Skew,
        Some(b"hermitian") => Symmetry::Hermitian,
        _ => {
            return unknown(
                "symmetry",
                &symmetry,
                "general, symmetric, skew-symmetric or hermitian",
            );
        }
    };
    if !scan.line_done() {
        return Err(scan.error("the banner has more words than it should"));
    }
    if field == Field::Pattern && !coordinate {
        return Err(scan.error("an array has values, so its field cannot be pattern"));
    }
    if symmetry == Symmetry::Hermitian && field != Field::Complex {
        return Err(scan.error("only complex matrices can be hermitian"));
    }
    if symmetry == Symmetry::Skew && field == Field::Pattern {
        return Err(scan.error("a pattern has no signs, so it cannot be skew-symmetric"));
    }
    if symmetry == Symmetry::Skew && field == Field::Unsigned {
        return Err(scan.error("unsigned integers cannot be skew-symmetric"));
    }
    Ok(Banner {
        coordinate,
        field,
        symmetry,
    })
}

/// What no integer type of 64 bits holds.
const MIXED: &str = "with this value, neither int64 nor uint64 holds all of the file's values";

/// Values of a file's field as they are read.
enum Column {
    Real(Vec<f64>),
    Integer(Whole),
    Unsigned(Whole),
    Complex(Vec<Complex<f64>>),
    Pattern(usize),
}

impl Column {
    fn new(field: Field, room: usize) -> Self {
        match field {
            Field::Real => Column::Real(Vec::with_capacity(room)),
            Field::Integer => Column::Integer(Whole::with_capacity(room)),
            Field::Unsigned => Column::Unsigned(Whole::with_capacity(room)),
            Field::Complex => Column::Complex(Vec::with_capacity(room)),
            Field::Pattern => Column::Pattern(0),
        }
    }

    /// Reads the value of an element, of the diagonal if so said.
    fn read(
        &mut self,
        scan: &mut Scanner,
        symmetry: Symmetry,
        diagonal: bool,
    ) -> Result<(), DataError> {
        match self {
            Column::Real(v) => v.push(scan.real()?),
            Column::Integer(v) => {
                if !v.push(scan.integer()?) {
                    return Err(scan.error(MIXED));
                }
            }
            Column::Unsigned(v) => {
                let n = scan.integer()?;
                if n < 0 || !v.push(n) {
                    return Err(scan.error(format!("{n} is negative, the field is unsigned")));
                }
            }
            Column::Complex(v) => {
                let (re, im) = (scan.real()?, scan.real()?);
                if symmetry == Symmetry::Hermitian && diagonal && im != 0.0 {
                    return Err(scan.error("the diagonal of a hermitian matrix is real"));
                }
                v.push(Complex::new(re, im));
            }
            Column::Pattern(n) => *n += 1,
        }
        Ok(())
    }

    /// Adds the mirror image of the element at `at`, the last one read.
    fn mirror(&mut self, scan: &Scanner, at: usize, symmetry: Symmetry) -> Result<(), DataError> {
        match self {
            Column::Real(v) => {
                let x = v[at];
                v.push(if symmetry == Symmetry::Skew { -x } else { x });
            }
            Column::Integer(v) | Column::Unsigned(v) => {
                let x = v.get(at);
                if !v.push(if symmetry == Symmetry::Skew { -x } else { x }) {
                    return Err(scan.error(MIXED));
                }
            }
            Column::Complex(v) => {
                let x = v[at];
                v.push(match symmetry {
                    Symmetry::Skew => -x,
                    Symmetry::Hermitian => x.conj(),
                    Symmetry::General | Symmetry::Symmetric => x,
                });
            }
            Column::Pattern(n) => *n += 1,
        }
        Ok(())
    }

    fn finish(self) -> Values {
        match self {
            Column::Real(v) => Values::F64(v),
            Column::Integer(v) | Column::Unsigned(v) => v.finish(),
            Column::Complex(v) => Values::C128(v),
            Column::Pattern(n) => Values::F64(vec![1.0; n]),
        }
    }
}

fn end_of_size_line(scan: &mut Scanner) -> Result<(), DataError> {
    if scan.line_done() {
        scan.next_line();
        Ok(())
    } else {
        Err(scan.error("the size line has more numbers than it should"))
    }
}

fn coordinate(
    scan: &mut Scanner,
    banner: &Banner,
    (rows, cols): (u64, u64),
    seen: &mut impl FnMut(usize, u64),
) -> Result<Tensor, DataError> {
    let announced = scan.count("the number of entries")?;
    let size_line = scan.line();
    end_of_size_line(scan)?;
    // An entry takes four bytes at least: no announcement makes us reserve more.
    let room = usize::try_from(announced)
        .unwrap_or(usize::MAX)
        .min(scan.left() / 4 + 1);
    let expanded = if banner.symmetry == Symmetry::General {
        room
    } else {
        2 * room
    };
    let mut values = Column::new(banner.field, expanded);
    let (mut is, mut js) = (Vec::with_capacity(expanded), Vec::with_capacity(expanded));
    for read in 0..announced {
        scan.skip_lines(b'%');
        if scan.at_end() {
            return Err(DataError::at(
                scan.line(),
                format!("{announced} entries announced on line {size_line}, {read} present"),
            ));
        }
        let i = index(scan, "the row", rows)?;
        let j = index(scan, "the column", cols)?;
        let at = is.len();
        values.read(scan, banner.symmetry, i == j)?;
        seen(at, scan.line());
        if !scan.line_done() {
            return Err(scan.error("more on the line than an entry has"));
        }
        is.push(i);
        js.push(j);
        if banner.symmetry != Symmetry::General {
            if i < j {
                return Err(scan.error(format!(
                    "entry ({}, {}) lies above the diagonal; of a symmetric matrix only the lower part is stored",
                    i + 1,
                    j + 1
                )));
            }
            if i == j && banner.symmetry == Symmetry::Skew {
                return Err(
                    scan.error("the diagonal of a skew-symmetric matrix is zero and not stored")
                );
            }
            if i != j {
                seen(is.len(), scan.line());
                values.mirror(scan, at, banner.symmetry)?;
                is.push(j);
                js.push(i);
            }
        }
        scan.next_line();
    }
    scan.skip_lines(b'%');
    if !scan.at_end() {
        return Err(scan.error(format!("more than the {announced} entries announced")));
    }
    Ok(Tensor::Sparse(Coo {
        dims: vec![rows, cols],
        coords: vec![is, js],
        values: values.finish(),
    }))
}

fn index(scan: &mut Scanner, what: &str, extent: u64) -> Result<u64, DataError> {
    let value = scan.count(what)?;
    if value == 0 {
        return Err(scan.error(format!("{what} 0: indices start at 1")));
    }
    if value > extent {
        return Err(scan.error(format!("{what} {value} of a matrix with {extent}")));
    }
    Ok(value - 1)
}

fn array(
    scan: &mut Scanner,
    banner: &Banner,
    (rows, cols): (u64, u64),
    seen: &mut impl FnMut(usize, u64),
) -> Result<Tensor, DataError> {
    end_of_size_line(scan)?;
    let stored = match banner.symmetry {
        Symmetry::General => rows * cols,
        Symmetry::Symmetric | Symmetry::Hermitian => rows * (rows + 1) / 2,
        Symmetry::Skew => rows * rows.saturating_sub(1) / 2,
    };
    if usize::try_from(stored).is_ok_and(|n| n / 2 > scan.left() + 1) {
        return Err(scan.error(format!(
            "{rows} by {cols} values announced, but the file is shorter"
        )));
    }
    let room = usize::try_from(stored).unwrap_or(0);
    let mut values = Column::new(banner.field, room);
    let (mut is, mut js) = (Vec::with_capacity(room), Vec::with_capacity(room));
    let position = |i: u64, j: u64| usize::try_from(i * cols + j).unwrap_or(usize::MAX);
    scan.skip_lines(b'%');
    // Columns without rows hold nothing, however many are announced.
    for j in 0..if rows == 0 { 0 } else { cols } {
        let first = match banner.symmetry {
            Symmetry::General => 0,
            Symmetry::Symmetric | Symmetry::Hermitian => j,
            Symmetry::Skew => j + 1,
        };
        for i in first..rows {
            while scan.line_done() && !scan.at_end() {
                scan.next_line();
                scan.skip_lines(b'%');
            }
            if scan.at_end() {
                return Err(scan.error(format!("{stored} values announced, {} present", is.len())));
            }
            let at = is.len();
            values.read(scan, banner.symmetry, i == j)?;
            seen(position(i, j), scan.line());
            is.push(i);
            js.push(j);
            if i != j && banner.symmetry != Symmetry::General {
                values.mirror(scan, at, banner.symmetry)?;
                seen(position(j, i), scan.line());
                is.push(j);
                js.push(i);
            }
        }
    }
    scan.skip_lines(b'%');
    if !scan.at_end() {
        return Err(scan.error(format!("more than the {stored} values announced")));
    }
    let coo = Coo {
        dims: vec![rows, cols],
        coords: vec![is, js],
        values: values.finish(),
    };
    dense(&coo)
}

/// A dense tensor from all of its coordinates.
fn dense(coo: &Coo) -> Result<Tensor, DataError> {
    let count = usize::try_from(coo.dims[0] * coo.dims[1])
        .map_err(|_| DataError::new(codes::TOO_LARGE, "the array does not fit memory"))?;
    let mut filled = coo.values.zeros(count);
    let cols = coo.dims[1];
    for (k, (i, j)) in coo.coords[0].iter().zip(&coo.coords[1]).enumerate() {
        if let Ok(at) = usize::try_from(i * cols + j) {
            filled.set_from(at, &coo.values, k);
        }
    }
    Ok(Tensor::Dense(Dense {
        dims: coo.dims.clone(),
        values: filled,
    }))
}
