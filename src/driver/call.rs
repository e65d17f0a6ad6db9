//! Calls of kernels: arguments that are packed once for all kernels of a function, and the memory
//! of each kernel's results.

use super::abi::{Argument, CTensor, copy_out};
use super::bind::Bound;
use super::build::{DeviceTime, Entry, Library};
use super::{Failure, count};
use crate::data::values::{Number, Values};
use crate::data::{self, DataError, Packed, Tensor};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::{data as data_codes, environment};
use crate::format::TensorFormat;
use crate::loops::build::as_int;
use crate::loops::interface::{Arg, Direction, Interface, TensorArg};
use crate::program::ir::{Function, TensorId};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::time::Instant;

/// One argument of a call.
enum Slot {
    Scalar(Values),
    Input(Box<Argument>),
    /// Its content is restored before each call.
    InOut(Box<Argument>, Values, TensorId),
    /// A sparse one, whose content each call replaces.
    Renewed(Box<Argument>, TensorId),
    Output(TensorId),
}

/// What calls of a function take, whatever its schedule.
pub struct Arguments {
    slots: Vec<Slot>,
    /// How many elements each tensor stores that is given.
    pub stored: BTreeMap<TensorId, usize>,
    /// Bytes of the arrays that are given.
    pub bytes: usize,
}

impl Arguments {
    /// Packs the inputs into their formats.
    ///
    /// # Errors
    /// The data does not fit.
    pub fn pack(
        interface: &Interface,
        function: &Function,
        bound: &Bound,
    ) -> Result<Self, DataError> {
        let mut slots = Vec::new();
        let mut stored = BTreeMap::new();
        let mut bytes = 0;
        for arg in &interface.args {
            let slot = match arg {
                Arg::Scalar { name, ty, .. } => {
                    let value = function
                        .tensor_named(name)
                        .and_then(|id| bound.tensors.get(&id))
                        .and_then(scalar)
                        .ok_or_else(|| {
                            DataError::new(data_codes::INVALID, format!("`{name}` has no value"))
                        })?;
                    Slot::Scalar(Values::filled(ty.compute(), 1, value))
                }
                Arg::Tensor(t) if interface.is_renewed(&t.name) => continue,
                Arg::Tensor(t) => {
                    let id = function.tensor_named(t.shown()).ok_or_else(|| {
                        DataError::new(data_codes::INVALID, format!("`{}` is unknown", t.name))
                    })?;
                    if t.direction == Direction::Out {
                        Slot::Output(id)
                    } else {
                        let slots = fixed_slots(t, &function.tensor(id).format);
                        let packed = pack_in(function, id, bound, slots)?;
                        stored.insert(id, packed.values.len());
                        bytes += count::bytes(&packed);
                        if t.before.is_some() {
                            Slot::Renewed(Box::new(Argument::new(packed)), id)
                        } else if t.direction == Direction::In {
                            Slot::Input(Box::new(Argument::new(packed)))
                        } else {
                            let values = packed.values.clone();
                            Slot::InOut(Box::new(Argument::new(packed)), values, id)
                        }
                    }
                }
            };
            slots.push(slot);
        }
        Ok(Arguments {
            slots,
            stored,
            bytes,
        })
    }

    /// Whether calls leave what they are given as it is, so that one may follow another.
    #[must_use]
    pub fn are_kept(&self) -> bool {
        !(self.slots.iter()).any(|slot| matches!(slot, Slot::InOut(..) | Slot::Renewed(..)))
    }

    fn restore(&mut self) {
        for slot in &mut self.slots {
            if let Slot::InOut(argument, before, _) = slot {
                argument.packed.values.clone_from(before);
                **argument = Argument::new(argument.packed.clone());
            }
        }
    }
}

/// What calls took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    /// By this machine's clock.
    pub seconds: f64,
    /// The device's part, where the library has a clock of it.
    pub device: Option<DeviceTime>,
}

/// Calls of one kernel of a library. Results stay in their memory from call to call.
pub struct Calls<'l> {
    library: &'l Library,
    at: usize,
    results: Vec<(Box<CTensor>, TensorId)>,
}

impl<'l> Calls<'l> {
    /// Of the library's kernel at `at`.
    #[must_use]
    pub fn new(library: &'l Library, at: usize, arguments: &Arguments) -> Self {
        let outputs = arguments.slots.iter().filter_map(|slot| match slot {
            Slot::Output(id) | Slot::Renewed(_, id) => Some((Box::new(CTensor::zeroed()), *id)),
            Slot::Scalar(_) | Slot::Input(_) | Slot::InOut(..) => None,
        });
        Calls {
            library,
            at,
            results: outputs.collect(),
        }
    }

    /// Calls the kernel `times` times; with what is updated in place as it was before the first
    /// of them.
    ///
    /// # Errors
    /// The kernel refuses the data, the device fails, or a promise is broken.
    pub fn call(
        &mut self,
        arguments: &mut Arguments,
        function: &Function,
        times: u32,
    ) -> Result<Taken, Failure> {
        self.call_entry(Entry::Whole, arguments, function, times)
    }

    /// Loses the values of results that calls have made, and computes them again where their
    /// coordinates are, with the function for that.
    ///
    /// # Errors
    /// As [`Calls::call`]; others would be stored.
    pub fn call_values(
        &mut self,
        arguments: &mut Arguments,
        function: &Function,
    ) -> Result<Taken, Failure> {
        for (view, id) in &mut self.results {
            let size = function.tensor(*id).ty.size();
            // SAFETY: a call has made it.
            unsafe { view.lose_values(size) };
        }
        self.call_entry(Entry::Values, arguments, function, 1)
    }

    fn call_entry(
        &mut self,
        entry: Entry,
        arguments: &mut Arguments,
        function: &Function,
        times: u32,
    ) -> Result<Taken, Failure> {
        arguments.restore();
        let mut results = self.results.iter_mut();
        let mut pointers: Vec<*mut c_void> = Vec::new();
        for slot in &mut arguments.slots {
            pointers.push(match slot {
                Slot::Scalar(values) => values.as_mut_ptr(),
                Slot::Input(argument) | Slot::InOut(argument, ..) => argument.pointer(),
                Slot::Output(_) | Slot::Renewed(..) => {
                    let Some((view, _)) = results.next() else {
                        continue;
                    };
                    let place = std::ptr::from_mut(&mut **view).cast();
                    if let Slot::Renewed(argument, _) = slot {
                        // SAFETY: a call made it, or it points to what its argument owns, or is
                        // zeroed.
                        unsafe { self.library.free(place) };
                        **view = argument.view();
                    }
                    place
                }
            });
        }
        let start = Instant::now();
        let mut called = Ok(());
        for _ in 0..times {
            // SAFETY: the slots were made from the kernel's own interface.
            called = unsafe { self.library.call((self.at, entry), &mut pointers) };
            if called.is_err() {
                break;
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let device = self.library.device_time();
        called.map_err(|(status, reason)| refused(function, status, reason))?;
        Ok(Taken { seconds, device })
    }

    /// Has the place of another kernel's results for its own, which are freed. Where results lie is worth as much as
    /// what separates good schedules, so that kernels that are compared take turns in one place.
    pub fn take_place(&mut self, other: &mut Calls) {
        self.free();
        std::mem::swap(&mut self.results, &mut other.results);
    }

    /// Frees what calls have made.
    fn free(&mut self) {
        for (view, _) in &mut self.results {
            // SAFETY: a kernel of this function made it, or it is still zeroed.
            unsafe { self.library.free(std::ptr::from_mut(&mut **view).cast()) };
        }
    }

    /// The results of the last call, those that it updated in place among them.
    ///
    /// # Errors
    /// The kernel made no valid tensor.
    pub fn results(
        &self,
        arguments: &Arguments,
        function: &Function,
    ) -> Result<BTreeMap<TensorId, Packed>, DataError> {
        let mut results = BTreeMap::new();
        for slot in &arguments.slots {
            if let Slot::InOut(argument, _, id) = slot {
                results.insert(*id, argument.packed.clone());
            }
        }
        for (view, id) in &self.results {
            let tensor = function.tensor(*id);
            // SAFETY: the kernel was compiled for this type and format.
            let packed = unsafe { copy_out(view, tensor.ty, &tensor.format, tensor.fill) }
                .and_then(|packed| data::validate(&packed).map(|()| packed))
                .map_err(|reason| {
                    DataError::new(data_codes::INVALID, format!("`{}`: {reason}", tensor.name))
                })?;
            results.insert(*id, packed);
        }
        Ok(results)
    }
}

impl Drop for Calls<'_> {
    fn drop(&mut self) {
        self.free();
    }
}

/// `SPARSEC_DEVICE_FAILED` of the runtime header.
const DEVICE_FAILED: i32 = 5;
/// `SPARSEC_PROMISE_BROKEN` of the runtime header.
const PROMISE_BROKEN: i32 = 6;

/// The emulator's words for a race (`emulator/shadow.h`).
const RACING: &str = "a race between ";

/// What a kernel's status means.
fn refused(function: &Function, status: i32, reason: String) -> Failure {
    if status == DEVICE_FAILED && reason.contains(RACING) {
        return Failure::Check(
            Diagnostic::error(
                environment::RACE,
                function.span,
                reason,
                "while this function ran on the emulator",
            )
            .with_help(
                "the schedule says IgnoreRaces where they matter, or the data break a promise (`bound`); else it is \
                 sparsec's fault: please report it",
            ),
        );
    }
    if status == DEVICE_FAILED {
        return Failure::Environment(
            Diagnostic::error(
                environment::DEVICE_FAILED,
                function.span,
                reason,
                "while this function ran",
            )
            .with_help(
                "SPARSEC_EMULATOR=1 checks all accesses on the emulator; what it reports breaks a \
                 promise (`bound`, IgnoreRaces), or is sparsec's fault: please report it",
            ),
        );
    }
    if status == PROMISE_BROKEN {
        return Failure::Check(
            Diagnostic::error(
                environment::PROMISE_BROKEN,
                function.span,
                format!("a promise is broken: {reason}"),
                "of a loop of this function",
            )
            .with_help("promise what all data keep, or leave the command out"),
        );
    }
    let code = if status == 2 {
        data_codes::BAD_SUBSCRIPT
    } else if status == 1 || status == 3 {
        data_codes::TOO_LARGE
    } else {
        data_codes::SHAPE
    };
    DataError::new(code, reason).into()
}

/// The value of a scalar; those that are bound are dense.
fn scalar(tensor: &Tensor) -> Option<Number> {
    match tensor {
        Tensor::Dense(dense) if !dense.values.is_empty() => Some(dense.values.get(0)),
        Tensor::Dense(_) | Tensor::Sparse(_) => None,
    }
}

/// How many slots of a tensor a kernel was made for, if it was for a number.
fn fixed_slots(arg: &TensorArg, format: &TensorFormat) -> u64 {
    let dim = format
        .slots()
        .map(|level| &arg.dims[format.seen_modes()[level]]);
    let fixed = dim.and_then(as_int).and_then(|n| u64::try_from(n).ok());
    fixed.unwrap_or(0)
}

/// A parameter's data in its format.
pub(super) fn pack(function: &Function, id: TensorId, bound: &Bound) -> Result<Packed, DataError> {
    pack_in(function, id, bound, 0)
}

/// [`pack`], with so many slots at least.
fn pack_in(
    function: &Function,
    id: TensorId,
    bound: &Bound,
    fixed: u64,
) -> Result<Packed, DataError> {
    let tensor = function.tensor(id);
    let Some(value) = bound.tensors.get(&id) else {
        return Err(DataError::new(
            data_codes::SHAPE,
            format!("`{}` has no data", tensor.name),
        ));
    };
    let mut dims = Vec::new();
    for dim in &tensor.dims {
        let extent = bound.eval(dim).and_then(|d| u64::try_from(d).ok());
        dims.push(extent.unwrap_or(0));
    }
    let slots = function
        .slots
        .get(&id)
        .and_then(|size| bound.sizes.get(size));
    let slots = slots
        .map_or(0, |&n| u64::try_from(n).unwrap_or(0))
        .max(fixed);
    data::pack(
        value,
        tensor.ty,
        (&dims, slots),
        &tensor.format,
        tensor.fill,
    )
    .map_err(|mut e| {
        e.reason = format!("`{}`: {}", tensor.name, e.reason);
        e.file = bound.files.get(&id).cloned();
        e
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::driver::bind::bind;
    use crate::driver::build::{Backend, Trust};
    use crate::driver::{Request, Source, compile};

    /// The first call of each kernel is to memory of its own, where nothing is that another one has made.
    #[test]
    fn kernels_take_turns_in_one_place() {
        let text = "def twice(double(N) x) -> (y) { y(i) = 2 * x(i) }".to_string();
        let name = "twice".to_string();
        let mut request = Request::new(Source::Text { name, text });
        request.sizes = vec![("N".to_string(), 5)];
        let mut sources = Sources::default();
        let compiled = compile(&request, &mut sources).unwrap();
        let (function, kernels) = (&compiled.program.functions[0], &compiled.kernels);
        let library = Library::build(kernels, Backend::C, Trust::Nothing, &mut sources).unwrap();
        let bound = bind(function, &["x=random:1".to_string()], &mut sources).unwrap();
        let mut arguments = Arguments::pack(&kernels[0].interface, function, &bound).unwrap();
        let mut all: Vec<Calls> = (0..3)
            .map(|_| Calls::new(&library, 0, &arguments))
            .collect();
        let place = |calls: &Calls| calls.results[0].0.place();
        for calls in &mut all {
            assert!(place(calls).is_null());
            calls.call(&mut arguments, function, 1).unwrap();
        }
        let [one, two, three] = &mut all[..] else {
            return;
        };
        let common = place(one);
        assert!(common != place(two) && common != place(three));
        let whole = one.results(&arguments, function).unwrap();
        two.take_place(one);
        three.take_place(two);
        one.take_place(three);
        for _ in 0..2 {
            two.take_place(one);
            assert!(place(one).is_null() && place(three).is_null());
            two.call(&mut arguments, function, 2).unwrap();
            assert_eq!(place(two), common);
            one.take_place(two);
        }
        assert_eq!(one.results(&arguments, function).unwrap(), whole);
    }
}
