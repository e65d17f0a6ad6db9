//! NumPy `.npy`: one dense array.

use super::tensor::{Dense, Tensor};
use super::values::Values;
use super::{DataError, codes};
use crate::scalar::ScalarType;

fn malformed(reason: impl Into<String>) -> DataError {
    DataError::new(codes::MALFORMED, reason)
}

/// Parses an `.npy` file of version 1 to 3.
///
/// # Errors
/// The reason; the format has no lines.
pub fn parse(bytes: &[u8]) -> Result<Tensor, DataError> {
    if bytes.get(..6) != Some(b"\x93NUMPY") {
        return Err(malformed("not an .npy file: the magic bytes are missing"));
    }
    let (Some(&major), true) = (bytes.get(6), bytes.len() >= 10) else {
        return Err(malformed("the header is cut"));
    };
    let minor = bytes[7];
    if !matches!((major, minor), (1..=3, 0)) {
        return Err(malformed(format!(
            "version {major}.{minor} of the format is not known; 1.0, 2.0 and 3.0 are"
        )));
    }
    let (start, length): (usize, usize) = if major == 1 {
        (10, usize::from(u16::from_le_bytes([bytes[8], bytes[9]])))
    } else {
        let Some(&[a, b, c, d]) = bytes.get(8..12).and_then(|b| <&[u8; 4]>::try_from(b).ok())
        else {
            return Err(malformed("the header is cut"));
        };
        (12, u32::from_le_bytes([a, b, c, d]) as usize)
    };
    let Some(header) = start
        .checked_add(length)
        .and_then(|end| bytes.get(start..end))
    else {
        return Err(malformed("the header is cut"));
    };
    let header = String::from_utf8_lossy(header);
    let descr = field(&header, "descr").ok_or_else(|| malformed("the header has no descr"))?;
    let descr = descr.trim().trim_matches(['\'', '"']);
    let fortran = match field(&header, "fortran_order").as_deref().map(str::trim) {
        Some("True") => true,
        Some("False") => false,
        Some(_) | None => {
            return Err(malformed(
                "the header's fortran_order is neither True nor False",
            ));
        }
    };
    let shape = field(&header, "shape").ok_or_else(|| malformed("the header has no shape"))?;
    let dims = shape_of(&shape)?;
    let (ty, big_endian) = element_type(descr)
        .ok_or_else(|| malformed(format!("the element type {descr} is not supported")))?;
    let count = dims
        .iter()
        .try_fold(1u64, |n, d| n.checked_mul(*d))
        .and_then(|n| usize::try_from(n).ok())
        .ok_or_else(|| malformed("the shape's product does not fit"))?;
    let data = &bytes[start + length..];
    let needed = count.checked_mul(ty.size());
    if needed != Some(data.len()) {
        return Err(malformed(format!(
            "{count} elements of {} bytes announced, {} bytes present",
            ty.size(),
            data.len()
        )));
    }
    let mut values = if big_endian {
        let width = if ty.is_complex() {
            ty.size() / 2
        } else {
            ty.size()
        };
        let mut swapped = data.to_vec();
        swapped.chunks_mut(width.max(1)).for_each(<[u8]>::reverse);
        Values::from_bytes(ty, &swapped)
    } else {
        Values::from_bytes(ty, data)
    };
    if fortran {
        values = row_major(&values, &dims);
    }
    Ok(Tensor::Dense(Dense { dims, values }))
}

/// The text of a field of the header's dictionary.
fn field(header: &str, name: &str) -> Option<String> {
    let at = header.find(&format!("'{name}'"))?;
    let rest = &header[at + name.len() + 2..];
    let rest = &rest[rest.find(':')? + 1..];
    let mut depth = 0i32;
    let end = rest
        .char_indices()
        .find(|&(_, c)| {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                _ => {}
            }
            depth == 0 && (c == ',' || c == '}')
        })
        .map_or(rest.len(), |(at, _)| at);
    Some(rest[..end].to_string())
}

fn shape_of(text: &str) -> Result<Vec<u64>, DataError> {
    let list = text.trim().strip_prefix('(');
    let Some(list) = list.and_then(|rest| rest.strip_suffix(')')) else {
        return Err(malformed(format!("the shape {} is malformed", text.trim())));
    };
    list.split(',')
        .map(str::trim)
        .filter(|t| !t.is_empty())
        .map(|t| {
            t.parse()
                .map_err(|_| malformed(format!("the shape {} is malformed", text.trim())))
        })
        .collect()
}

/// The type of a type string, and whether its bytes are swapped.
fn element_type(descr: &str) -> Option<(ScalarType, bool)> {
    let (order, name) = match descr.as_bytes().first()? {
        order @ (b'>' | b'<' | b'|' | b'=') => (Some(*order), &descr[1..]),
        _ => (None, descr),
    };
    let ty = match name {
        "b1" | "?" => ScalarType::Bool,
        "i1" => ScalarType::I8,
        "i2" => ScalarType::I16,
        "i4" => ScalarType::I32,
        "i8" => ScalarType::I64,
        "u1" => ScalarType::U8,
        "u2" => ScalarType::U16,
        "u4" => ScalarType::U32,
        "u8" => ScalarType::U64,
        "f2" => ScalarType::F16,
        "f4" => ScalarType::F32,
        "f8" => ScalarType::F64,
        "c8" => ScalarType::C64,
        "c16" => ScalarType::C128,
        _ => return None,
    };
    // `|` says that there is no order of bytes: there is one of every number of several.
    let misplaced = order == Some(b'|') && ty.size() > 1;
    (!misplaced).then_some((ty, order == Some(b'>')))
}

/// The type string of an element type; `bfloat16`, which NumPy lacks, is widened.
#[must_use]
pub fn descr(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Bool => "|b1",
        ScalarType::I8 => "|i1",
        ScalarType::I16 => "<i2",
        ScalarType::I32 => "<i4",
        ScalarType::I64 => "<i8",
        ScalarType::U8 => "|u1",
        ScalarType::U16 => "<u2",
        ScalarType::U32 => "<u4",
        ScalarType::U64 => "<u8",
        ScalarType::F16 => "<f2",
        ScalarType::BF16 | ScalarType::F32 => "<f4",
        ScalarType::F64 => "<f8",
        ScalarType::C64 => "<c8",
        ScalarType::C128 => "<c16",
    }
}

/// Column-major elements in row-major order.
fn row_major(values: &Values, dims: &[u64]) -> Values {
    let mut out = values.zeros(values.len());
    let mut coordinate = vec![0u64; dims.len()];
    for from in 0..values.len() {
        let at = coordinate
            .iter()
            .zip(dims)
            .fold(0u64, |at, (c, d)| at * d + c);
        if let Ok(at) = usize::try_from(at) {
            out.set_from(at, values, from);
        }
        for (c, d) in coordinate.iter_mut().zip(dims) {
            *c += 1;
            if *c < *d {
                break;
            }
            *c = 0;
        }
    }
    out
}

/// The bytes of an `.npy` file of version 1.
#[must_use]
pub fn bytes(dense: &Dense) -> Vec<u8> {
    let ty = dense.values.ty();
    let widened;
    let values = if ty == ScalarType::BF16 {
        widened = dense.values.convert(ScalarType::F32);
        &widened
    } else {
        &dense.values
    };
    let dims: Vec<String> = dense.dims.iter().map(|d| format!("{d},")).collect();
    let mut header = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
        descr(ty),
        dims.join(" ")
    );
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend(
        u16::try_from(header.len())
            .unwrap_or(u16::MAX)
            .to_le_bytes(),
    );
    out.extend(header.as_bytes());
    out.extend(values.bytes());
    out
}
