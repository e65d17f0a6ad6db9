//! Writers, chosen by the file's ending.

use super::tensor::{Coo, Dense, Tensor};
use super::values::{Number, Values, literal};
use super::{DataError, FileKind, codes, file_kind, npy};
use crate::scalar::{Literal, ScalarType};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// The content of a file: all stored elements, with as many digits as it takes to read the
/// same numbers back. The path's ending says the format.
///
/// # Errors
/// The format cannot hold the tensor.
pub fn content(path: &Path, tensor: &Tensor, fill: Literal) -> Result<Vec<u8>, DataError> {
    let (kind, compressed) = ending(path)?;
    let bytes = match kind {
        FileKind::MatrixMarket => mtx(tensor),
        FileKind::Frostt => tns(tensor),
        FileKind::Numpy => densify(tensor, fill).map(|dense| npy::bytes(&dense)),
    }
    .map_err(|e| e.in_file(path))?;
    if !compressed {
        return Ok(bytes);
    }
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder
        .write_all(&bytes)
        .and_then(|()| encoder.finish())
        .map_err(|e| unwritable(e.to_string()).in_file(path))
}

/// The kind of file that an output's name asks for.
///
/// # Errors
/// There is none.
pub fn ending(path: &Path) -> Result<(FileKind, bool), DataError> {
    file_kind(path).ok_or_else(|| {
        unwritable("unknown ending: expected .mtx, .tns or .npy, or one of these with .gz")
            .in_file(path)
    })
}

fn unwritable(reason: impl Into<String>) -> DataError {
    DataError::new(codes::UNWRITABLE, reason)
}

/// A number as text: 17 significant digits for doubles, 9 for floats.
fn text(n: Number, ty: ScalarType) -> String {
    let real = |x: f64| {
        if x.is_nan() {
            "nan".to_string()
        } else if x.is_infinite() {
            if x > 0.0 { "inf" } else { "-inf" }.to_string()
        } else if matches!(ty, ScalarType::F64 | ScalarType::C128) {
            format!("{x:.16e}")
        } else {
            format!("{x:.8e}")
        }
    };
    match n {
        Number::Int(i) => i.to_string(),
        Number::Real(x) => real(x),
        Number::Complex(z) => format!("{} {}", real(z.re), real(z.im)),
    }
}

fn field(ty: ScalarType) -> &'static str {
    if ty.is_complex() {
        "complex"
    } else if ty.is_integer() || ty == ScalarType::Bool {
        "integer"
    } else {
        "real"
    }
}

fn mtx(tensor: &Tensor) -> Result<Vec<u8>, DataError> {
    let mut out = String::new();
    match tensor {
        Tensor::Sparse(coo) => {
            let [rows, cols] = match coo.dims.as_slice() {
                [rows, cols] => [*rows, *cols],
                [n] => [*n, 1],
                other => {
                    return Err(unwritable(format!(
                        ".mtx holds matrices, not a tensor of order {}",
                        other.len()
                    )));
                }
            };
            let ty = coo.values.ty();
            let _ = writeln!(
                out,
                "%%MatrixMarket matrix coordinate {} general",
                field(ty)
            );
            let _ = writeln!(out, "{rows} {cols} {}", coo.values.len());
            for k in 0..coo.values.len() {
                let j = coo.coords.get(1).map_or(0, |c| c[k]);
                let value = text(coo.values.get(k), ty);
                let _ = writeln!(out, "{} {} {value}", coo.coords[0][k] + 1, j + 1);
            }
        }
        Tensor::Dense(dense) => {
            let [rows, cols] = match dense.dims.as_slice() {
                [rows, cols] => [*rows, *cols],
                [n] => [*n, 1],
                [] => [1, 1],
                other => {
                    return Err(unwritable(format!(
                        ".mtx holds matrices, not a tensor of order {}",
                        other.len()
                    )));
                }
            };
            let ty = dense.values.ty();
            let _ = writeln!(out, "%%MatrixMarket matrix array {} general", field(ty));
            let _ = writeln!(out, "{rows} {cols}");
            for j in 0..cols {
                for i in 0..rows {
                    if let Ok(at) = usize::try_from(i * cols + j) {
                        let _ = writeln!(out, "{}", text(dense.values.get(at), ty));
                    }
                }
            }
        }
    }
    Ok(out.into_bytes())
}

fn tns(tensor: &Tensor) -> Result<Vec<u8>, DataError> {
    let dense_coo;
    let coo: &Coo = match tensor {
        Tensor::Sparse(coo) => coo,
        Tensor::Dense(dense) => {
            dense_coo = super::pack::coordinates(dense);
            &dense_coo
        }
    };
    let ty = coo.values.ty();
    if coo.dims.is_empty() || ty.is_complex() {
        return Err(unwritable(
            ".tns holds real and integer tensors of order 1 and more",
        ));
    }
    let mut out = String::new();
    for k in 0..coo.values.len() {
        for column in &coo.coords {
            let _ = write!(out, "{} ", column[k] + 1);
        }
        let _ = writeln!(out, "{}", text(coo.values.get(k), ty));
    }
    Ok(out.into_bytes())
}

/// All elements, the absent ones as their fill.
///
/// # Errors
/// They do not fit memory.
pub fn densify(tensor: &Tensor, fill: Literal) -> Result<Dense, DataError> {
    let coo = match tensor {
        Tensor::Dense(dense) => return Ok(dense.clone()),
        Tensor::Sparse(coo) => coo,
    };
    let ty = coo.values.ty();
    let count = coo
        .dims
        .iter()
        .try_fold(1u64, |n, d| n.checked_mul(*d))
        .filter(|n| n.saturating_mul(ty.size() as u64) <= 1 << 34)
        .and_then(|n| usize::try_from(n).ok())
        .ok_or_else(|| unwritable("the tensor is too large to be written densely"))?;
    let mut values = Values::filled(ty, count, literal(fill));
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
    Ok(Dense {
        dims: coo.dims.clone(),
        values,
    })
}
