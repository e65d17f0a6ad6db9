//! Data for a function's parameters: `A=web.mtx`, `x=random:1`, `s=2.5`.

use super::{Failure, argument};
use crate::data::values::{Number, literal};
use crate::data::{self, Coo, DataError, Dense, Tensor, Values};
use crate::diagnostic::codes::{data as data_codes, environment as codes};
use crate::diagnostic::{Diagnostic, Sources, Span};
use crate::program::ir::{Function, Role, SizeExpr, SizeId, TensorId};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What a binding says, before sizes are known.
#[derive(Clone, Debug, PartialEq)]
enum Origin {
    File(PathBuf),
    Random { seed: u64, density: Option<f64> },
    Constant(f64),
    Given(Tensor),
}

/// Data for every parameter, and every size.
#[derive(Clone, Debug)]
pub struct Bound {
    pub sizes: BTreeMap<SizeId, i64>,
    pub tensors: BTreeMap<TensorId, Tensor>,
}

impl Bound {
    /// The value of an extent.
    #[must_use]
    pub fn eval(&self, e: &SizeExpr) -> Option<i64> {
        e.eval(&|s| self.sizes.get(&s).copied(), &|p| self.scalar(p))
    }

    /// The value of a scalar integer parameter.
    #[must_use]
    pub fn scalar(&self, id: TensorId) -> Option<i64> {
        match self.tensors.get(&id)? {
            Tensor::Dense(dense) if !dense.values.is_empty() => {
                i64::try_from(dense.values.get(0).int()).ok()
            }
            Tensor::Dense(_) | Tensor::Sparse(_) => None,
        }
    }
}

/// Binds the arguments `NAME=WHAT` of the command line.
///
/// # Errors
/// Unknown or missing names, sizes that nothing fixes (exit 2); data that does not
/// fit or cannot be read (exit 3).
pub fn bind(
    function: &Function,
    bindings: &[String],
    sources: &mut Sources,
) -> Result<Bound, Failure> {
    let mut origins: BTreeMap<TensorId, (Origin, Span)> = BTreeMap::new();
    let mut errors = Vec::new();
    for text in bindings {
        let span = argument(sources, "command line", text);
        match parse_binding(function, text, span) {
            Ok((id, origin)) => {
                if origins.insert(id, (origin, span)).is_some() {
                    errors.push(
                        Diagnostic::error(
                            codes::COMMAND_LINE,
                            span,
                            "a parameter is bound twice",
                            "the second time",
                        )
                        .with_help("leave one of them out"),
                    );
                }
            }
            Err(error) => errors.push(error),
        }
    }
    for id in wanted(function) {
        if !origins.contains_key(&id) {
            let tensor = function.tensor(id);
            let what = if tensor.role == Role::InOut {
                "its content is read before it is written"
            } else {
                "no data given"
            };
            errors.push(
                Diagnostic::error(
                    codes::MISSING_INPUT,
                    tensor.span,
                    format!("`{}` has no data", tensor.name),
                    what,
                )
                .with_help(if tensor.dims.is_empty() {
                    format!("add `{}=1.0`", tensor.name)
                } else {
                    format!(
                        "add `{0}=FILE.mtx`, `{0}=random:1`, `{0}=ones` or `{0}=zeros`",
                        tensor.name
                    )
                }),
            );
        }
    }
    if !errors.is_empty() {
        return Err(errors.into());
    }
    let origins = origins.into_iter().map(|(id, (o, _))| (id, o)).collect();
    resolve(function, origins)
}

/// Binds tensors that are there already (tests and generators).
///
/// # Errors
/// As [`bind`].
pub fn bind_tensors(
    function: &Function,
    tensors: BTreeMap<TensorId, Tensor>,
) -> Result<Bound, Failure> {
    let origins = tensors
        .into_iter()
        .map(|(id, t)| (id, Origin::Given(t)))
        .collect();
    resolve(function, origins)
}

/// The tensors that a caller gives.
#[must_use]
pub fn wanted(function: &Function) -> Vec<TensorId> {
    (0..function.tensors.len())
        .filter_map(|at| u32::try_from(at).ok().map(TensorId))
        .filter(|&id| matches!(function.tensor(id).role, Role::Input | Role::InOut))
        .collect()
}

fn parse_binding(
    function: &Function,
    text: &str,
    span: Span,
) -> Result<(TensorId, Origin), Diagnostic> {
    let wrong = |message: String, label: &str| {
        Diagnostic::error(codes::COMMAND_LINE, span, message, label).with_help(
            "write NAME=FILE, NAME=random:SEED[:DENSITY], NAME=ones, NAME=zeros or NAME=NUMBER",
        )
    };
    let Some((name, what)) = text.split_once('=') else {
        return Err(wrong(format!("`{text}` binds nothing"), "no `=` here"));
    };
    let Some(id) = function.tensor_named(name) else {
        let known: Vec<&str> = wanted(function)
            .into_iter()
            .map(|id| function.tensor(id).name.as_str())
            .collect();
        return Err(Diagnostic::error(
            codes::COMMAND_LINE,
            span,
            format!("`{}` has no parameter `{name}`", function.name),
            "not a parameter",
        )
        .with_help(format!("its parameters are {}", known.join(", "))));
    };
    let tensor = function.tensor(id);
    if matches!(tensor.role, Role::Result | Role::Temporary) {
        return Err(wrong(
            format!("`{name}` is computed by `{}`", function.name),
            "takes no data",
        ));
    }
    if let Some(rest) = what.strip_prefix("random:") {
        let (seed, density) = match rest.split_once(':') {
            Some((seed, density)) => (seed, Some(density)),
            None => (rest, None),
        };
        let Ok(seed) = seed.parse::<u64>() else {
            return Err(wrong(
                format!("`{seed}` is no seed"),
                "a whole number is due",
            ));
        };
        let density = match density.map(str::parse::<f64>) {
            None => None,
            Some(Ok(d)) if (0.0..=1.0).contains(&d) => Some(d),
            Some(_) => {
                return Err(wrong(
                    format!("`{rest}`: the density must be between 0 and 1"),
                    "not a density",
                ));
            }
        };
        return Ok((id, Origin::Random { seed, density }));
    }
    match what {
        "ones" => return Ok((id, Origin::Constant(1.0))),
        "zeros" => return Ok((id, Origin::Constant(0.0))),
        "random" => {
            return Err(wrong("`random` needs a seed".to_string(), "write random:1"));
        }
        _ => {}
    }
    if let Ok(value) = what.parse::<f64>() {
        if !tensor.dims.is_empty() {
            return Err(wrong(
                format!("`{name}` is no scalar"),
                "a number fits scalars only",
            ));
        }
        return Ok((id, Origin::Constant(value)));
    }
    if tensor.dims.is_empty() {
        return Err(wrong(format!("`{what}` is no number"), "a scalar is due"));
    }
    Ok((id, Origin::File(PathBuf::from(what))))
}

/// A size as the data fixes it.
struct Fixed {
    value: u64,
    /// The tensor it comes from.
    tensor: String,
    /// From a file that states its extents (`.tns` does not).
    exact: bool,
}

fn resolve(function: &Function, origins: BTreeMap<TensorId, Origin>) -> Result<Bound, Failure> {
    let mut loaded: BTreeMap<TensorId, (Tensor, bool)> = BTreeMap::new();
    for (&id, origin) in &origins {
        let (tensor, exact) = match origin {
            Origin::File(path) => {
                let exact = data::file_kind(path).is_none_or(|(k, _)| k != data::FileKind::Frostt);
                (data::read(path)?, exact)
            }
            Origin::Given(tensor) => (tensor.clone(), true),
            Origin::Random { .. } | Origin::Constant(_) => continue,
        };
        let order = function.tensor(id).order();
        loaded.insert(
            id,
            (as_order(tensor, order, &function.tensor(id).name)?, exact),
        );
    }
    let mut bound = Bound {
        sizes: BTreeMap::new(),
        tensors: BTreeMap::new(),
    };
    for (at, size) in function.sizes.iter().enumerate() {
        let id = SizeId(u32::try_from(at).unwrap_or(u32::MAX));
        let value = size_value(function, id, &loaded)?;
        let value = match (size.value, value) {
            (Some(given), Some(found)) => {
                if found.value > given || (found.exact && found.value != given) {
                    return Err(DataError::new(
                        data_codes::SHAPE,
                        format!(
                            "size {} is given as {given}, but {} has {}",
                            size.name, found.tensor, found.value
                        ),
                    )
                    .into());
                }
                given
            }
            (Some(given), None) => given,
            (None, Some(found)) => found.value,
            (None, None) => {
                return Err(Diagnostic::error(
                    codes::UNKNOWN_SIZE,
                    size.span,
                    format!("nothing fixes the size {}", size.name),
                    "no input that is read from a file has it",
                )
                .with_help(format!("add `--size {}=128`", size.name))
                .into());
            }
        };
        bound
            .sizes
            .insert(id, i64::try_from(value).unwrap_or(i64::MAX));
    }
    // Scalars first: extents may depend on them.
    let mut ids: Vec<TensorId> = origins.keys().copied().collect();
    ids.sort_by_key(|&id| function.tensor(id).order());
    for id in ids {
        let tensor = function.tensor(id);
        let mut dims = Vec::new();
        for dim in &tensor.dims {
            let extent = bound.eval(dim).and_then(|d| u64::try_from(d).ok());
            let Some(extent) = extent else {
                return Err(DataError::new(
                    data_codes::SHAPE,
                    format!("`{}` would have a negative extent", tensor.name),
                )
                .into());
            };
            dims.push(extent);
        }
        let value = match &origins[&id] {
            Origin::File(_) | Origin::Given(_) => match loaded.remove(&id) {
                Some((value, exact)) => {
                    check_dims(&tensor.name, value.dims(), &dims, exact)?;
                    grown(value, &dims)
                }
                None => continue,
            },
            Origin::Random { seed, density } => {
                let default = if tensor.is_sparse() { 0.01 } else { 1.0 };
                let density = density.unwrap_or(default);
                let value = data::random(*seed, density, &dims, tensor.ty);
                if tensor.is_sparse() {
                    value
                } else {
                    Tensor::Dense(data::write::densify(&value, tensor.fill)?)
                }
            }
            Origin::Constant(x) => constant(*x, &dims, tensor)?,
        };
        bound.tensors.insert(id, converted(value, tensor.ty));
    }
    Ok(bound)
}

fn constant(x: f64, dims: &[u64], tensor: &crate::program::ir::Tensor) -> Result<Tensor, Failure> {
    if tensor.is_sparse() && literal(tensor.fill).real() == x {
        return Ok(data::generate::empty(dims, tensor.ty));
    }
    data::constant(Number::Real(x), dims, tensor.ty).ok_or_else(|| {
        DataError::new(
            data_codes::TOO_LARGE,
            format!("`{}` would not fit memory", tensor.name),
        )
        .into()
    })
}

/// Values in the program's element type: what the kernel and the judge both get.
fn converted(tensor: Tensor, ty: crate::scalar::ScalarType) -> Tensor {
    match tensor {
        Tensor::Sparse(coo) => Tensor::Sparse(Coo {
            values: coo.values.convert(ty),
            ..coo
        }),
        Tensor::Dense(dense) => Tensor::Dense(Dense {
            values: dense.values.convert(ty),
            ..dense
        }),
    }
}

fn check_dims(name: &str, has: &[u64], wants: &[u64], exact: bool) -> Result<(), DataError> {
    for (mode, (h, w)) in has.iter().zip(wants).enumerate() {
        if h > w || (exact && h != w) {
            return Err(DataError::new(
                data_codes::SHAPE,
                format!("dimension {mode} of `{name}` is {h} in the data, but {w} in the program"),
            ));
        }
    }
    Ok(())
}

/// The same elements in a larger tensor.
fn grown(tensor: Tensor, dims: &[u64]) -> Tensor {
    match tensor {
        Tensor::Sparse(coo) => Tensor::Sparse(Coo {
            dims: dims.to_vec(),
            ..coo
        }),
        Tensor::Dense(dense) => Tensor::Dense(dense),
    }
}

/// A file's matrix as a tensor of another order, where only extents of 1 differ: a
/// column is a vector.
fn as_order(tensor: Tensor, order: usize, name: &str) -> Result<Tensor, DataError> {
    let has = tensor.dims().len();
    if has == order {
        return Ok(tensor);
    }
    let mut keep: Vec<usize> = (0..has).collect();
    while keep.len() > order {
        let Some(at) = keep.iter().rposition(|&m| tensor.dims()[m] == 1) else {
            break;
        };
        keep.remove(at);
    }
    if keep.len() != order {
        return Err(DataError::new(
            data_codes::SHAPE,
            format!("the data of `{name}` has order {has}, the program says {order}"),
        ));
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

/// What the loaded data say of a size; two files that state it must agree.
fn size_value(
    function: &Function,
    size: SizeId,
    loaded: &BTreeMap<TensorId, (Tensor, bool)>,
) -> Result<Option<Fixed>, DataError> {
    let mut found: Option<Fixed> = None;
    for (&id, (tensor, exact)) in loaded {
        let declared = function.tensor(id);
        for (mode, dim) in declared.dims.iter().enumerate() {
            if *dim != SizeExpr::Size(size) {
                continue;
            }
            let value = tensor.dims()[mode];
            let next = Fixed {
                value,
                tensor: format!("`{}`", declared.name),
                exact: *exact,
            };
            found = Some(match found {
                None => next,
                Some(before) if before.exact && next.exact => {
                    if before.value != next.value {
                        return Err(DataError::new(
                            data_codes::SHAPE,
                            format!(
                                "size {} is {} in {} but {} in {}",
                                function.size(size).name,
                                before.value,
                                before.tensor,
                                next.value,
                                next.tensor
                            ),
                        ));
                    }
                    before
                }
                // A .tns file only says how large the size is at least.
                Some(before) if before.exact => before,
                Some(_) if next.exact => next,
                Some(before) if before.value >= next.value => before,
                Some(_) => next,
            });
        }
    }
    Ok(found)
}

/// A scalar as a dense tensor of order 0.
#[must_use]
pub fn scalar(value: Number, ty: crate::scalar::ScalarType) -> Tensor {
    Tensor::Dense(Dense {
        dims: vec![],
        values: Values::filled(ty, 1, value),
    })
}
