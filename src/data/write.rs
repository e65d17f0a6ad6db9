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
    let (order, ty) = match tensor {
        Tensor::Sparse(coo) => (coo.dims.len(), coo.values.ty()),
        Tensor::Dense(dense) => (dense.dims.len(), dense.values.ty()),
    };
    holds(kind, order, ty).map_err(|reason| unwritable(reason).in_file(path))?;
    let bytes = match kind {
        FileKind::MatrixMarket => mtx(tensor),
        FileKind::Frostt => tns(tensor),
        FileKind::Numpy => {
            let dense = densify(tensor, fill).map_err(|e| e.in_file(path))?;
            npy::bytes(&dense)
        }
    };
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

/// Whether a kind of file can hold tensors of an order and a type.
///
/// # Errors
/// What it holds instead.
pub fn holds(kind: FileKind, order: usize, ty: ScalarType) -> Result<(), String> {
    match kind {
        FileKind::MatrixMarket if order > 2 => Err(format!(
            ".mtx holds matrices, not a tensor of order {order}"
        )),
        FileKind::Frostt if order == 0 || ty.is_complex() => {
            Err(".tns holds real and integer tensors of order 1 and more".to_string())
        }
        FileKind::MatrixMarket | FileKind::Frostt | FileKind::Numpy => Ok(()),
    }
}

fn unwritable(reason: impl Into<String>) -> DataError {
    DataError::new(codes::UNWRITABLE, reason)
}

/// A number as text, of floating-point types with the 17 significant digits that tell all doubles apart.
fn text(n: Number) -> String {
    let real = |x: f64| {
        if x.is_nan() {
            "nan".to_string()
        } else if x.is_infinite() {
            if x > 0.0 { "inf" } else { "-inf" }.to_string()
        } else {
            format!("{x:.16e}")
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

/// A matrix or a vector, which is one column.
fn mtx(tensor: &Tensor) -> Vec<u8> {
    let mut out = String::new();
    match tensor {
        Tensor::Sparse(coo) => {
            let [rows, cols] = extents(&coo.dims);
            let ty = coo.values.ty();
            let _ = writeln!(
                out,
                "%%MatrixMarket matrix coordinate {} general",
                field(ty)
            );
            let _ = writeln!(out, "{rows} {cols} {}", coo.values.len());
            for k in 0..coo.values.len() {
                let [i, j] = [0, 1].map(|mode| coo.coords.get(mode).map_or(0, |c| c[k]));
                let value = text(coo.values.get(k));
                let _ = writeln!(out, "{} {} {value}", i + 1, j + 1);
            }
        }
        Tensor::Dense(dense) => {
            let [rows, cols] = extents(&dense.dims);
            let ty = dense.values.ty();
            let _ = writeln!(out, "%%MatrixMarket matrix array {} general", field(ty));
            let _ = writeln!(out, "{rows} {cols}");
            for j in 0..cols {
                for i in 0..rows {
                    if let Ok(at) = usize::try_from(i * cols + j) {
                        let _ = writeln!(out, "{}", text(dense.values.get(at)));
                    }
                }
            }
        }
    }
    out.into_bytes()
}

fn tns(tensor: &Tensor) -> Vec<u8> {
    let dense_coo;
    let coo: &Coo = match tensor {
        Tensor::Sparse(coo) => coo,
        Tensor::Dense(dense) => {
            dense_coo = super::pack::coordinates(dense);
            &dense_coo
        }
    };
    let mut out = String::new();
    for k in 0..coo.values.len() {
        for column in &coo.coords {
            let _ = write!(out, "{} ", column[k] + 1);
        }
        let _ = writeln!(out, "{}", text(coo.values.get(k)));
    }
    out.into_bytes()
}

/// Rows and columns of a matrix, a vector or a scalar.
fn extents(dims: &[u64]) -> [u64; 2] {
    [0, 1].map(|mode| dims.get(mode).copied().unwrap_or(1))
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
