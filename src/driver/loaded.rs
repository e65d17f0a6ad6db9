//! Tensors from files, in the program's order and extents.

use super::binding::Origin;
use crate::data::fit::{self, Summed, fits};
use crate::data::values::{Number, literal};
use crate::data::{self, Coo, DataError, Dense, FileKind, Tensor, Values};
use crate::diagnostic::codes::data as codes;
use crate::program::ir::{self, Function, TensorId};
use crate::scalar::ScalarType;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads the files that are bound; with whether each states its extents (`.tns` does
/// not).
pub(super) fn load(
    function: &Function,
    origins: &BTreeMap<TensorId, Origin>,
) -> Result<BTreeMap<TensorId, (Tensor, bool)>, DataError> {
    let mut loaded = BTreeMap::new();
    for (&id, origin) in origins {
        if let Origin::File(path) = origin {
            let tensor = function.tensor(id);
            let value = as_order(data::read(path)?, tensor.order(), path, &tensor.name)?;
            let exact = kind(path) != Some(FileKind::Frostt);
            loaded.insert(id, (value, exact));
        }
    }
    Ok(loaded)
}

fn kind(path: &Path) -> Option<FileKind> {
    data::file_kind(path).map(|(kind, _)| kind)
}

/// A file's tensor in the program's order. Matrix Market has nothing but matrices, so a row or
/// a column may be a vector; a `.tns` file without elements has any order; one element alone is a scalar.
fn as_order(tensor: Tensor, order: usize, path: &Path, name: &str) -> Result<Tensor, DataError> {
    let has = tensor.dims().len();
    if has == order {
        return Ok(tensor);
    }
    let wrong = || {
        let reason = format!("the data of `{name}` has order {has}, the program says {order}");
        Err(DataError::new(codes::SHAPE, reason).in_file(path))
    };
    match kind(path) {
        Some(FileKind::Frostt) if has == 0 => return Ok(without_elements(tensor, order)),
        Some(FileKind::MatrixMarket) => {}
        Some(FileKind::Numpy) if order == 0 => {}
        Some(FileKind::Frostt | FileKind::Numpy) | None => return wrong(),
    }
    let mut keep: Vec<usize> = (0..has).collect();
    while keep.len() > order {
        let Some(at) = keep.iter().rposition(|&m| tensor.dims()[m] == 1) else {
            break;
        };
        keep.remove(at);
    }
    if keep.len() != order {
        return wrong();
    }
    let dims: Vec<u64> = keep.iter().map(|&m| tensor.dims()[m]).collect();
    Ok(match tensor {
        Tensor::Sparse(coo) => Tensor::Sparse(Coo {
            dims,
            coords: keep.iter().map(|&m| coo.coords[m].clone()).collect(),
            values: coo.values,
        }),
        Tensor::Dense(dense) => Tensor::Dense(Dense {
            dims,
            values: dense.values,
        }),
    })
}

fn without_elements(tensor: Tensor, order: usize) -> Tensor {
    match tensor {
        Tensor::Sparse(coo) => Tensor::Sparse(Coo {
            dims: vec![0; order],
            coords: vec![Vec::new(); order],
            values: coo.values,
        }),
        Tensor::Dense(_) => tensor,
    }
}

/// Whether the extents of a file are the program's; `exact` if the file states them.
pub(super) fn check_dims(
    name: &str,
    has: &[u64],
    wants: &[u64],
    exact: bool,
) -> Result<(), DataError> {
    for (mode, (h, w)) in has.iter().zip(wants).enumerate() {
        if h > w || (exact && h != w) {
            return Err(DataError::new(
                codes::SHAPE,
                format!("dimension {mode} of `{name}` is {h} in the data, but {w} in the program"),
            ));
        }
    }
    Ok(())
}

/// The same elements in a larger tensor.
pub(super) fn grown(tensor: Tensor, dims: &[u64]) -> Tensor {
    match tensor {
        Tensor::Sparse(coo) => Tensor::Sparse(Coo {
            dims: dims.to_vec(),
            ..coo
        }),
        Tensor::Dense(dense) => Tensor::Dense(dense),
    }
}

/// The data of a Matrix Market file, whose `integer` means 64 bits with a sign: what needs all 64 of
/// them is for a type that has them alone.
///
/// # Errors
/// There are larger numbers for another type.
pub(super) fn signed(
    value: Tensor,
    path: &Path,
    (name, ty): (&str, ScalarType),
) -> Result<Tensor, DataError> {
    let values = match &value {
        Tensor::Sparse(coo) => &coo.values,
        Tensor::Dense(dense) => &dense.values,
    };
    let is_matrix_market =
        data::file_kind(path).is_some_and(|(kind, _)| kind == FileKind::MatrixMarket);
    if !is_matrix_market || values.ty() != ScalarType::U64 || ty == ScalarType::U64 {
        return Ok(value);
    }
    let large = |at: &usize| fits(values.get(*at), ScalarType::I64).is_err();
    let Some(at) = (0..values.len()).find(large) else {
        return Ok(value);
    };
    let element = element(&value, at, name);
    let n = text(values.get(at));
    Err(DataError {
        line: data::line_of(path, at),
        ..DataError::new(
            codes::OF_ANOTHER_TYPE,
            format!(
                "{element} = {n} does not fit 64 bits with a sign, and is for uint64 elements alone"
            ),
        )
    })
}

/// Values in the program's element type: what the kernel and the judge both get. Of data from a file
/// errors have its line.
///
/// # Errors
/// The first element that the type does not hold, alone or as the sum of its entries.
pub(super) fn converted(
    value: Tensor,
    tensor: &ir::Tensor,
    file: Option<&Path>,
) -> Result<Tensor, DataError> {
    let refuse = |at: usize, reason: String| DataError {
        line: file.and_then(|path| data::line_of(path, at)),
        ..DataError::new(codes::OF_ANOTHER_TYPE, reason)
    };
    let values = match &value {
        Tensor::Sparse(coo) => &coo.values,
        Tensor::Dense(dense) => &dense.values,
    };
    let values = fit::convert(values, tensor.ty).map_err(|(at, n, reason)| {
        let element = element(&value, at, &tensor.name);
        refuse(at, format!("{element} = {} {reason}", text(n)))
    })?;
    Ok(match value {
        Tensor::Sparse(coo) => {
            let coo = Coo { values, ..coo };
            if file.is_some()
                && let Err(Summed {
                    last,
                    count,
                    sum,
                    reason,
                }) = fit::sums(&coo)
            {
                let element = element(&Tensor::Sparse(coo), last, &tensor.name);
                let sum = text(sum);
                let reason = format!("{element} = {sum}, the sum of {count} entries, {reason}");
                return Err(refuse(last, reason));
            }
            Tensor::Sparse(coo)
        }
        Tensor::Dense(dense) => Tensor::Dense(Dense { values, ..dense }),
    })
}

/// A scalar as all that ask for its value expect it: a coordinate file may hold it as several entries, which
/// are added up as those of any element, or as none. Other tensors stay as they are.
pub(super) fn scalar(value: Tensor, tensor: &ir::Tensor) -> Tensor {
    match value {
        Tensor::Sparse(coo) if tensor.dims.is_empty() => {
            let stored = &coo.values;
            let mut values = match stored.is_empty() {
                true => Values::filled(stored.ty(), 1, literal(tensor.fill)),
                false => stored.zeros(1),
            };
            (0..stored.len()).for_each(|at| values.add_from(0, stored, at));
            Tensor::Dense(Dense {
                dims: Vec::new(),
                values,
            })
        }
        Tensor::Dense(_) | Tensor::Sparse(_) => value,
    }
}

fn text(n: Number) -> String {
    match n {
        Number::Int(i) => i.to_string(),
        Number::Real(x) => x.to_string(),
        Number::Complex(z) => z.to_string(),
    }
}

/// The element at a position, as programs write it.
fn element(tensor: &Tensor, at: usize, name: &str) -> String {
    let coordinates: Vec<String> = match tensor {
        Tensor::Sparse(coo) => coo.coords.iter().map(|c| c[at].to_string()).collect(),
        Tensor::Dense(dense) => {
            let mut rest = at as u64;
            let mut reversed: Vec<String> = Vec::new();
            for extent in dense.dims.iter().rev() {
                reversed.push((rest % extent).to_string());
                rest /= extent;
            }
            reversed.into_iter().rev().collect()
        }
    };
    match coordinates.is_empty() {
        true => name.to_string(),
        false => format!("{name}({})", coordinates.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_of_matrix_market_have_a_sign() {
        let of = |ending: &str, values: Values, ty| {
            let dims = vec![1];
            let value = Tensor::Dense(Dense { dims, values });
            signed(value, Path::new(&format!("x.{ending}")), ("x", ty)).is_ok()
        };
        let large = || Values::U64(vec![1 << 63]);
        assert!(!of("mtx", large(), ScalarType::F64) && !of("mtx.gz", large(), ScalarType::F64));
        assert!(of("mtx", large(), ScalarType::U64) && of("npy", large(), ScalarType::F64));
        assert!(of("mtx", Values::I64(vec![7]), ScalarType::F64));
    }

    #[test]
    fn scalars_are_the_sum_of_their_entries() {
        let mut sources = crate::diagnostic::Sources::default();
        let request = crate::driver::Request::new(crate::driver::Source::Text {
            name: "f".to_string(),
            text: "def f(int64 s, int64(N) x) -> (y) { y(i) = s * x(i) }\n".to_string(),
        });
        let compiled = crate::driver::compile(&request, &mut sources).unwrap();
        let tensors = &compiled.program.functions[0].tensors;
        let sparse = |order: usize, values: &[i64]| {
            Tensor::Sparse(Coo {
                dims: vec![1; order],
                coords: vec![vec![0; values.len()]; order],
                values: Values::I64(values.to_vec()),
            })
        };
        for (entries, sum) in [(vec![], 0), (vec![7], 7), (vec![7, -2, 4], 9)] {
            let Tensor::Dense(dense) = scalar(sparse(0, &entries), &tensors[0]) else {
                panic!("{entries:?}")
            };
            assert_eq!(dense.values, Values::I64(vec![sum]), "{entries:?}");
        }
        let vector = sparse(1, &[7]);
        assert_eq!(scalar(vector.clone(), &tensors[1]), vector);
    }
}
