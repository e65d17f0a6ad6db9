//! Data for a function's parameters: `A=web.mtx`, `x=random:1`, `s=2.5`.

use super::binding::{self, Origin};
use super::loaded::{check_dims, converted, grown, load, scalar, signed};
use super::memory::Budget;
use super::{Failure, argument};
use crate::data::values::{Number, literal};
use crate::data::{self, DataError, Tensor};
use crate::diagnostic::codes::{data as data_codes, environment as codes};
use crate::diagnostic::{Diagnostic, Sources};
use crate::program::ir::{self, Function, Role, Size, SizeExpr, SizeId, TensorId};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Data for every parameter, and every size.
#[derive(Clone, Debug)]
pub struct Bound {
    pub sizes: BTreeMap<SizeId, i64>,
    pub tensors: BTreeMap<TensorId, Tensor>,
    /// Where those that are not generated come from, for messages.
    pub files: BTreeMap<TensorId, PathBuf>,
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
    let wanted = wanted(function);
    let mut origins: BTreeMap<TensorId, Origin> = BTreeMap::new();
    let mut named: BTreeSet<TensorId> = BTreeSet::new();
    let mut errors = Vec::new();
    for text in bindings {
        let span = argument(sources, "command line", text);
        let again = binding::named(function, text).is_some_and(|id| !named.insert(id));
        match binding::parse(function, &wanted, text, span) {
            Ok(_) if again => errors.push(
                Diagnostic::error(
                    codes::COMMAND_LINE,
                    span,
                    "a parameter is bound twice",
                    "the second time",
                )
                .with_help("leave one of them out"),
            ),
            Ok((id, origin)) => {
                origins.insert(id, origin);
            }
            Err(error) => errors.push(error),
        }
    }
    let missing = wanted.iter().filter(|id| !named.contains(id));
    errors.extend(missing.map(|&id| no_data(function.tensor(id))));
    if !errors.is_empty() {
        return Err(errors.into());
    }
    resolve(function, &origins, sources)
}

/// An input that no binding names.
fn no_data(tensor: &ir::Tensor) -> Diagnostic {
    let name = &tensor.name;
    let label = if tensor.role == Role::InOut {
        "no statement writes all of it before it is read: the rest is what the caller gives"
    } else {
        "no data given"
    };
    let help = if tensor.dims.is_empty() {
        format!("add `{name}=1`")
    } else {
        format!("add `{name}=FILE.mtx`, `{name}=random:1`, `{name}=ones` or `{name}=zeros`")
    };
    Diagnostic::error(
        codes::MISSING_INPUT,
        tensor.span,
        format!("`{name}` has no data"),
        label,
    )
    .with_help(help)
}

/// A size that nothing fixes; `-e` names most sizes after variables.
fn unknown_size(function: &Function, size: &Size, sources: &Sources) -> Diagnostic {
    let label = "no input that is read from a file has it";
    let name = &size.name;
    let is_variable = |name: &&str| function.vars.iter().any(|var| var.name == **name);
    let variable = name
        .strip_suffix("_size")
        .filter(|_| sources.get(size.span.file).name == "-e")
        .filter(is_variable);
    let (message, help) = match variable {
        Some(v) => (
            format!("nothing fixes the range of {v}"),
            format!("add `-d {v}:128`"),
        ),
        None => (
            format!("nothing fixes the size {name}"),
            format!("add `--size {name}=128`"),
        ),
    };
    Diagnostic::error(codes::UNKNOWN_SIZE, size.span, message, label).with_help(help)
}

/// The tensors that a caller gives.
#[must_use]
pub fn wanted(function: &Function) -> Vec<TensorId> {
    (0..function.tensors.len())
        .filter_map(|at| u32::try_from(at).ok().map(TensorId))
        .filter(|&id| matches!(function.tensor(id).role, Role::Input | Role::InOut))
        .collect()
}

/// A size as the data fixes it.
struct Fixed {
    value: u64,
    /// The tensor and the dimension that it comes from.
    tensor: TensorId,
    mode: usize,
    /// From a file that states its extents (`.tns` does not).
    exact: bool,
}

/// The file of a tensor that has one.
fn file(origins: &BTreeMap<TensorId, Origin>, id: TensorId) -> Option<&Path> {
    match origins.get(&id)? {
        Origin::File(path) => Some(path),
        Origin::Random { .. } | Origin::Constant(_) => None,
    }
}

fn resolve(
    function: &Function,
    origins: &BTreeMap<TensorId, Origin>,
    sources: &Sources,
) -> Result<Bound, Failure> {
    let mut loaded = load(function, origins)?;
    let mut bound = Bound {
        sizes: sizes(function, &loaded, origins, sources)?,
        tensors: BTreeMap::new(),
        files: BTreeMap::new(),
    };
    let mut budget = Budget::of_this_machine();
    // Scalars first: extents may depend on them.
    let mut ids: Vec<TensorId> = origins.keys().copied().collect();
    ids.sort_by_key(|&id| function.tensor(id).order());
    for id in ids {
        let tensor = function.tensor(id);
        let dims = extents(tensor, &bound)?;
        let value = match &origins[&id] {
            Origin::File(path) => match loaded.remove(&id) {
                Some((value, exact)) => {
                    bound.files.insert(id, path.clone());
                    let fits = check_dims(&tensor.name, value.dims(), &dims, exact)
                        .and_then(|()| budget.pack(tensor, &dims, count(value.stored())));
                    fits.map_err(|error| error.in_file(path))?;
                    grown(value, &dims)
                }
                None => continue,
            },
            Origin::Random { seed, density } => {
                let default = if tensor.is_sparse() { 0.01 } else { 1.0 };
                let density = density.unwrap_or(default);
                let stored = if tensor.is_sparse() {
                    density * elements(&dims)
                } else {
                    elements(&dims)
                };
                budget.generate(tensor, &dims, stored)?;
                let value = data::random(*seed, density, &dims, tensor.ty);
                if tensor.is_sparse() {
                    value
                } else {
                    Tensor::Dense(data::write::densify(&value, tensor.fill)?)
                }
            }
            Origin::Constant(n) => {
                if tensor.is_sparse() && literal(tensor.fill).complex() == n.complex() {
                    budget.pack(tensor, &dims, 0.0)?;
                    data::generate::empty(&dims, tensor.ty)
                } else {
                    budget.generate(tensor, &dims, elements(&dims))?;
                    constant(*n, &dims, tensor)?
                }
            }
        };
        let own = file(origins, id);
        let in_own = |error: DataError| match own {
            Some(path) => error.in_file(path),
            None => error,
        };
        let signed = match own {
            Some(path) => signed(value, path, (&tensor.name, tensor.ty)),
            None => Ok(value),
        };
        let fitting = signed.and_then(|value| converted(value, tensor, own));
        let value = scalar(fitting.map_err(in_own)?, tensor);
        if let Some(&size) = function.slots.get(&id) {
            let slots = slots(function, (id, size), &value).map_err(in_own)?;
            bound
                .sizes
                .insert(size, i64::try_from(slots).unwrap_or(i64::MAX));
        }
        if tensor.format.pads() {
            let positions = data::level_counts(&value, &tensor.format);
            budget.padded(tensor, &positions).map_err(in_own)?;
        }
        bound.tensors.insert(id, value);
    }
    for tensor in &function.tensors {
        let made = matches!(tensor.role, Role::Result | Role::Temporary);
        // Extents that are wrong are the kernel's to refuse.
        if made && let Ok(dims) = extents(tensor, &bound) {
            budget.make(tensor, &dims)?;
        }
    }
    Ok(bound)
}

/// How many elements a dense tensor has.
#[expect(clippy::cast_precision_loss)]
fn elements(dims: &[u64]) -> f64 {
    dims.iter().map(|&d| d as f64).product()
}

#[expect(clippy::cast_precision_loss)]
fn count(n: usize) -> f64 {
    n as f64
}

/// A tensor's extents, once the sizes and scalars in them are known.
fn extents(tensor: &ir::Tensor, bound: &Bound) -> Result<Vec<u64>, DataError> {
    let one = |dim: &SizeExpr| bound.eval(dim).and_then(|d| u64::try_from(d).ok());
    let dims: Option<Vec<u64>> = tensor.dims.iter().map(one).collect();
    dims.ok_or_else(|| {
        DataError::new(
            data_codes::SHAPE,
            format!(
                "`{}` would have a negative or too large extent",
                tensor.name
            ),
        )
    })
}

/// Every size: as given by `--size`, which the data must fit, or as the data say.
fn sizes(
    function: &Function,
    loaded: &BTreeMap<TensorId, (Tensor, bool)>,
    origins: &BTreeMap<TensorId, Origin>,
    sources: &Sources,
) -> Result<BTreeMap<SizeId, i64>, Failure> {
    let mut sizes = BTreeMap::new();
    for (at, size) in function.sizes.iter().enumerate() {
        let id = SizeId::at(at);
        if function.slots.values().any(|slots| *slots == id) {
            continue;
        }
        let value = match (size.value, size_value(function, id, loaded, origins)?) {
            (Some(given), Some(found)) => {
                if found.value > given || (found.exact && found.value != given) {
                    let reason = format!(
                        "size {} is given as {given}, but `{}` has {}",
                        size.name,
                        function.tensor(found.tensor).name,
                        found.value
                    );
                    let error = DataError::new(data_codes::SHAPE, reason);
                    let file = file(origins, found.tensor);
                    return Err(file
                        .map_or(error.clone(), |path| error.in_file(path))
                        .into());
                }
                given
            }
            (Some(given), None) => given,
            (None, Some(found)) => found.value,
            (None, None) => {
                let unknown = unknown_size(function, size, sources);
                return Err(match without_entries(function, id, loaded, origins) {
                    Some((path, name)) => {
                        let help = unknown.help.unwrap_or_default();
                        let reason =
                            format!("`{name}` has no entries that say how large it is: {help}");
                        DataError::new(data_codes::SHAPE, reason)
                            .in_file(path)
                            .into()
                    }
                    None => unknown.into(),
                });
            }
        };
        sizes.insert(id, i64::try_from(value).unwrap_or(i64::MAX));
    }
    Ok(sizes)
}

/// A file that would fix a size, if it had entries, and the tensor's name.
fn without_entries<'o>(
    function: &'o Function,
    size: SizeId,
    loaded: &BTreeMap<TensorId, (Tensor, bool)>,
    origins: &'o BTreeMap<TensorId, Origin>,
) -> Option<(&'o Path, &'o str)> {
    let mut empty = loaded
        .iter()
        .filter(|(_, (tensor, exact))| !exact && tensor.stored() == 0);
    empty.find_map(|(&id, _)| {
        let ir::Tensor { name, dims, .. } = function.tensor(id);
        let has = |(mode, dim): (usize, &SizeExpr)| {
            *dim == SizeExpr::Size(size) || function.fixed_dims.contains(&(id, mode, size))
        };
        dims.iter().enumerate().any(has).then_some(())?;
        Some((file(origins, id)?, name.as_str()))
    })
}

/// How many slots a tensor has: as given by `--size`, which must be enough, or as many as its longest row.
fn slots(
    function: &Function,
    (id, size): (TensorId, SizeId),
    value: &Tensor,
) -> Result<u64, DataError> {
    let needed = data::slots::needed(value, &function.tensor(id).format);
    let size = function.size(size);
    match size.value {
        Some(given) if given < needed => {
            let name = &function.tensor(id).name;
            let reason = format!(
                "size {} is given as {given}, but `{name}` has a row of {needed}",
                size.name
            );
            Err(DataError::new(data_codes::SHAPE, reason))
        }
        Some(given) => Ok(given),
        None => Ok(needed),
    }
}

/// Two files that give one size different values.
fn two_values(
    function: &Function,
    size: SizeId,
    (a, b): (&Fixed, &Fixed),
    origins: &BTreeMap<TensorId, Origin>,
) -> DataError {
    let name = &function.size(size).name;
    let files = [a, b].map(|fixed| file(origins, fixed.tensor));
    let place = |fixed: &Fixed| {
        let tensor = &function.tensor(fixed.tensor).name;
        if a.tensor == b.tensor {
            format!("dimension {} of `{tensor}`", fixed.mode)
        } else {
            format!("`{tensor}`")
        }
    };
    let at_least = if b.exact { "" } else { "at least " };
    let mut reason = format!(
        "size {name} is {} in {} but {at_least}{} in {}",
        a.value,
        place(a),
        b.value,
        place(b)
    );
    if let [Some(first), Some(second)] = files
        && first != second
    {
        reason += &format!(" ({})", second.display());
    }
    let error = DataError::new(data_codes::SHAPE, reason);
    match files[0] {
        Some(path) => error.in_file(path),
        None => error,
    }
}

fn constant(n: Number, dims: &[u64], tensor: &ir::Tensor) -> Result<Tensor, Failure> {
    data::constant(n, dims, tensor.ty).ok_or_else(|| {
        DataError::new(
            data_codes::TOO_LARGE,
            format!("`{}` would not fit memory", tensor.name),
        )
        .into()
    })
}

/// What the loaded data say of a size; two files that state it must agree, and no coordinate may lie beyond.
fn size_value(
    function: &Function,
    size: SizeId,
    loaded: &BTreeMap<TensorId, (Tensor, bool)>,
    origins: &BTreeMap<TensorId, Origin>,
) -> Result<Option<Fixed>, DataError> {
    let mut stated: Option<Fixed> = None;
    // A .tns file only says how large the size is at least.
    let mut least: Option<Fixed> = None;
    for (&id, (tensor, exact)) in loaded {
        // Without a coordinate, a .tns file says nothing.
        if !exact && tensor.stored() == 0 {
            continue;
        }
        let declared = function.tensor(id);
        for (mode, dim) in declared.dims.iter().enumerate() {
            let fixed = (id, mode, size);
            if *dim != SizeExpr::Size(size) && !function.fixed_dims.contains(&fixed) {
                continue;
            }
            let next = Fixed {
                value: tensor.dims()[mode],
                tensor: id,
                mode,
                exact: *exact,
            };
            if !exact {
                if least
                    .as_ref()
                    .is_none_or(|before| before.value < next.value)
                {
                    least = Some(next);
                }
                continue;
            }
            match &stated {
                Some(before) if before.value != next.value => {
                    return Err(two_values(function, size, (before, &next), origins));
                }
                Some(_) => {}
                None => stated = Some(next),
            }
        }
    }
    match (stated, least) {
        (Some(stated), Some(least)) if stated.value < least.value => {
            Err(two_values(function, size, (&stated, &least), origins))
        }
        (Some(found), _) | (None, Some(found)) => Ok(Some(found)),
        (None, None) => Ok(None),
    }
}
