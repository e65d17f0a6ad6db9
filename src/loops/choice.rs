//! One kernel of several that compute the same, of which the data choose.

use super::build as b;
use super::interface::{Arg, Interface, TensorArg};
use super::ir::{ArrayId, Expr, Kernel, Room, ScalarType, Stmt, Storage, VarId};
use super::visit;
use crate::target::Target;
use std::collections::{BTreeMap, BTreeSet};

/// A kernel, and when it runs.
pub struct Choice {
    /// What finds out what the condition asks for; names of the kernel that is chosen otherwise.
    pub before: Vec<Stmt>,
    pub condition: Expr,
    pub kernel: Kernel,
}

/// Why a kernel cannot be one of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Differs {
    /// What callers see of it differs from what they see of the last one.
    Interface,
    /// It appends to a result on a device, whose memory the host makes between launches.
    Appends,
    /// It appends to a result of which it keeps the coordinates for the next call.
    Keeps,
}

/// The kernel that runs the first choice whose condition holds, and otherwise `last`. Choices may
/// have fixed sizes that `last` leaves open: they run only for these.
///
/// # Errors
/// The place of the choice that cannot be one, or of `last` behind all of them.
pub fn choose(
    choices: Vec<Choice>,
    mut last: Kernel,
    target: Target,
) -> Result<Kernel, (usize, Differs)> {
    if choices.is_empty() {
        return Ok(last);
    }
    let kernels = || choices.iter().map(|choice| &choice.kernel).chain([&last]);
    let appends = |kernel: &Kernel| !kernel.rooms().is_empty();
    let keeps = kernels().any(appends) && kernels().any(|kernel| kernel.keeping.is_some());
    if let Some(at) = kernels().position(|kernel| keeps && kernel.keeping.is_some()) {
        return Err((at, Differs::Keeps));
    }
    if target.properties().has_blocks
        && let Some(at) = kernels().position(appends)
    {
        return Err((at, Differs::Appends));
    }
    let mut all = Vec::new();
    for (at, choice) in choices.into_iter().enumerate() {
        let mut sizes = Vec::new();
        for (own, other) in last
            .interface
            .sizes
            .iter()
            .zip(&choice.kernel.interface.sizes)
        {
            match (own.fixed, other.fixed) {
                (None, Some(value)) => {
                    let value = i64::try_from(value).map_err(|_| (at, Differs::Interface))?;
                    sizes.push(b::eq(b::var(own.var, ScalarType::I64), b::int(value)));
                }
                (own, other) if own == other => {}
                (_, _) => return Err((at, Differs::Interface)),
            }
        }
        // Often the condition is what the sizes say.
        if !sizes.contains(&choice.condition) {
            sizes.push(choice.condition);
        }
        let then = absorb(&mut last, choice.kernel).ok_or((at, Differs::Interface))?;
        all.push((choice.before, b::all(sizes), then));
    }
    let mut body = std::mem::take(&mut last.body);
    for (before, cond, then) in all.into_iter().rev() {
        let choice = b::if_else(cond, then, body);
        body = before;
        body.push(choice);
    }
    last.body = body;
    Ok(last)
}

/// The body of another kernel in the names of this one; `None` if callers see a difference.
fn absorb(kernel: &mut Kernel, other: Kernel) -> Option<Vec<Stmt>> {
    let mut vars: BTreeMap<VarId, VarId> = BTreeMap::new();
    let mut arrays: BTreeMap<ArrayId, ArrayId> = BTreeMap::new();
    let (own, its) = (&kernel.interface, &other.interface);
    same_arguments(own, its, &mut vars, &mut arrays)?;
    for (id, same) in &arrays {
        let (own, its) = (kernel.array(*same), other.array(*id));
        (own.elem == its.elem && own.storage == its.storage).then_some(())?;
    }
    same_rooms(kernel, &other, &mut vars, &arrays)?;
    for (at, var) in (0..).zip(other.vars) {
        vars.entry(VarId(at)).or_insert_with(|| kernel.add_var(var));
    }
    for (at, array) in (0..).zip(other.arrays) {
        arrays
            .entry(ArrayId(at))
            .or_insert_with(|| kernel.add_array(array));
    }
    let mut body = other.body;
    visit::rename(&mut body, &|v| vars.get(&v).copied().unwrap_or(v), &|a| {
        arrays.get(&a).copied().unwrap_or(a)
    });
    Some(body)
}

/// Notes which capacities are the same: callers say how much room results have.
fn same_rooms(
    kernel: &Kernel,
    other: &Kernel,
    vars: &mut BTreeMap<VarId, VarId>,
    arrays: &BTreeMap<ArrayId, ArrayId>,
) -> Option<()> {
    let given = |kernel: &Kernel| -> Vec<Room> {
        let returned = |array: &ArrayId| kernel.array(*array).storage == Storage::Returned;
        let all = kernel.rooms().into_iter();
        all.filter(|room| room.arrays.iter().any(returned))
            .cloned()
            .collect()
    };
    let set = |arrays: Vec<ArrayId>| -> BTreeSet<ArrayId> { arrays.into_iter().collect() };
    let (own, its) = (given(kernel), given(other));
    let capacities =
        |rooms: &[Room]| -> BTreeSet<VarId> { rooms.iter().map(|room| room.capacity).collect() };
    (capacities(&own).len() == capacities(&its).len()).then_some(())?;
    for room in its {
        let named = room.arrays.iter().map(|array| arrays.get(array).copied());
        let named = set(named.collect::<Option<Vec<ArrayId>>>()?);
        let same = own.iter().find(|own| set(own.arrays.clone()) == named)?;
        vars.insert(room.capacity, same.capacity);
    }
    Some(())
}

/// Notes which variables and arrays are the same to callers.
fn same_arguments(
    own: &Interface,
    other: &Interface,
    vars: &mut BTreeMap<VarId, VarId>,
    arrays: &mut BTreeMap<ArrayId, ArrayId>,
) -> Option<()> {
    for (own, other) in own.sizes.iter().zip(&other.sizes) {
        vars.insert(other.var, own.var);
    }
    for (own, other) in own.args.iter().zip(&other.args) {
        match (own, other) {
            (Arg::Scalar { var, .. }, Arg::Scalar { var: same, .. }) => {
                vars.insert(*same, *var);
            }
            (Arg::Tensor(own), Arg::Tensor(other)) => same_tensor(own, other, arrays)?,
            (Arg::Scalar { .. }, Arg::Tensor(_)) | (Arg::Tensor(_), Arg::Scalar { .. }) => {
                return None;
            }
        }
    }
    Some(())
}

fn same_tensor(
    own: &TensorArg,
    other: &TensorArg,
    arrays: &mut BTreeMap<ArrayId, ArrayId>,
) -> Option<()> {
    let stored = |tensor: &TensorArg| -> Vec<_> {
        let levels = tensor.levels.iter();
        levels
            .map(|own| (own.level, own.mode, own.counts))
            .collect()
    };
    let same = own.index_bits == other.index_bits && stored(own) == stored(other);
    (same && own.like == other.like).then_some(())?;
    arrays.insert(other.values, own.values);
    for (own, other) in own.levels.iter().zip(&other.levels) {
        for (own, other) in own.ids().zip(other.ids()) {
            arrays.insert(other, own);
        }
    }
    Some(())
}
