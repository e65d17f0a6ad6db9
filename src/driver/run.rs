//! Running a kernel on data, timing it, and comparing it with the judge.

use super::abi::{Argument, CTensor, copy_out};
use super::bind::Bound;
use super::build::Library;
use super::{Failure, count};
use crate::data::values::{Number, Values};
use crate::data::{self, DataError, Packed, Tensor};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::{data as data_codes, environment};
use crate::loops::interface::{Arg, Direction};
use crate::loops::ir::Kernel;
use crate::program::ir::{Function, Role, TensorId};
use crate::reference;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::time::Instant;

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub results: BTreeMap<TensorId, Packed>,
    /// Seconds of each timed run; of the only run without `--time`.
    pub seconds: Vec<f64>,
    pub clock: Clock,
    pub operations: f64,
    pub bytes: f64,
}

/// What the seconds of an [`Outcome`] are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The whole call, by this machine's clock.
    Host,
    /// The device's part, by events: what the last call did between waiting for its results.
    Events { intervals: u32 },
}

/// One argument of a call.
enum Slot {
    Scalar(Values),
    Input(Box<Argument>),
    /// Its content is restored before each run.
    InOut(Box<Argument>, Values, TensorId),
    Output(Box<CTensor>, TensorId),
}

/// Packs the inputs and calls the kernel: once, or `rounds` timed times after a
/// warm-up.
///
/// # Errors
/// The data does not fit, or the kernel refuses it.
#[expect(clippy::cast_precision_loss)]
pub fn run(
    library: &Library,
    at: usize,
    kernel: &Kernel,
    function: &Function,
    bound: &Bound,
    rounds: Option<u32>,
) -> Result<Outcome, Failure> {
    let mut slots = Vec::new();
    let mut stored = BTreeMap::new();
    let mut bytes = 0;
    for arg in &kernel.interface.args {
        let slot = match arg {
            Arg::Scalar { name, ty, .. } => {
                let value = function
                    .tensor_named(name)
                    .and_then(|id| bound.tensors.get(&id))
                    .map_or(Number::Int(0), first);
                Slot::Scalar(Values::filled(ty.compute(), 1, value))
            }
            Arg::Tensor(t) => {
                let id = function.tensor_named(&t.name).ok_or_else(|| {
                    DataError::new(data_codes::INVALID, format!("`{}` is unknown", t.name))
                })?;
                if t.direction == Direction::Out {
                    Slot::Output(Box::new(CTensor::zeroed()), id)
                } else {
                    let packed = pack(function, id, bound)?;
                    stored.insert(id, packed.values.len());
                    bytes += count::bytes(&packed);
                    if t.direction == Direction::In {
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
    let mut seconds = Vec::new();
    let mut device = Vec::new();
    let warm_up = u32::from(rounds.is_some());
    for round in 0..warm_up + rounds.unwrap_or(1) {
        for slot in &mut slots {
            if let Slot::InOut(argument, before, _) = slot {
                argument.packed.values.clone_from(before);
                **argument = Argument::new(argument.packed.clone());
            }
        }
        let mut pointers: Vec<*mut c_void> = slots.iter_mut().map(pointer).collect();
        let start = Instant::now();
        // SAFETY: the slots were made from the kernel's own interface.
        let called = unsafe { library.call(at, &mut pointers) };
        let elapsed = start.elapsed().as_secs_f64();
        let on_device = library.device_time();
        if let Err((status, reason)) = called {
            release(library, &mut slots);
            if status == DEVICE_FAILED {
                return Err(Failure::Environment(
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
                ));
            }
            if status == PROMISE_BROKEN {
                return Err(Failure::Check(
                    Diagnostic::error(
                        environment::PROMISE_BROKEN,
                        function.span,
                        format!("a promise is broken: {reason}"),
                        "of a loop of this function",
                    )
                    .with_help("promise what all data keep, or leave the command out"),
                ));
            }
            let code = if status == 2 {
                data_codes::BAD_SUBSCRIPT
            } else if status == 1 || status == 3 {
                data_codes::TOO_LARGE
            } else {
                data_codes::SHAPE
            };
            return Err(DataError::new(code, reason).into());
        }
        if round >= warm_up {
            seconds.push(elapsed);
            device.extend(on_device);
        }
    }
    // Times of two clocks do not compare: events count if they timed every run.
    let clock = match device.last() {
        Some(last) if device.len() == seconds.len() => {
            seconds = device.iter().map(|time| time.seconds).collect();
            Clock::Events {
                intervals: last.intervals,
            }
        }
        Some(_) | None => Clock::Host,
    };
    let results = collect(&slots, function);
    release(library, &mut slots);
    let results = results?;
    for packed in results.values() {
        bytes += count::bytes(packed);
    }
    Ok(Outcome {
        results,
        seconds,
        clock,
        operations: count::operations(function, bound, &stored),
        bytes: bytes as f64,
    })
}

/// `SPARSEC_DEVICE_FAILED` of the runtime header.
const DEVICE_FAILED: i32 = 5;
/// `SPARSEC_PROMISE_BROKEN` of the runtime header.
const PROMISE_BROKEN: i32 = 6;

fn first(tensor: &Tensor) -> Number {
    match tensor {
        Tensor::Dense(dense) if !dense.values.is_empty() => dense.values.get(0),
        Tensor::Dense(_) | Tensor::Sparse(_) => Number::Int(0),
    }
}

fn pointer(slot: &mut Slot) -> *mut c_void {
    match slot {
        Slot::Scalar(values) => values.as_mut_ptr(),
        Slot::Input(argument) | Slot::InOut(argument, ..) => argument.pointer(),
        Slot::Output(view, _) => std::ptr::from_mut(&mut **view).cast(),
    }
}

fn release(library: &Library, slots: &mut [Slot]) {
    for slot in slots {
        if let Slot::Output(view, _) = slot {
            // SAFETY: the kernel made it, or it is still zeroed.
            unsafe { library.free(std::ptr::from_mut(&mut **view).cast()) };
        }
    }
}

fn collect(slots: &[Slot], function: &Function) -> Result<BTreeMap<TensorId, Packed>, DataError> {
    let mut results = BTreeMap::new();
    for slot in slots {
        match slot {
            Slot::Scalar(_) | Slot::Input(_) => {}
            Slot::InOut(argument, _, id) => {
                results.insert(*id, argument.packed.clone());
            }
            Slot::Output(view, id) => {
                let tensor = function.tensor(*id);
                // SAFETY: the kernel was compiled for this type and format.
                let packed = unsafe { copy_out(view, tensor.ty, &tensor.format, tensor.fill) }
                    .and_then(|packed| data::validate(&packed).map(|()| packed))
                    .map_err(|reason| {
                        DataError::new(data_codes::INVALID, format!("`{}`: {reason}", tensor.name))
                    })?;
                results.insert(*id, packed);
            }
        }
    }
    Ok(results)
}

fn pack(function: &Function, id: TensorId, bound: &Bound) -> Result<Packed, DataError> {
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
    data::pack(value, tensor.ty, &dims, &tensor.format, tensor.fill).map_err(|mut e| {
        e.reason = format!("`{}`: {}", tensor.name, e.reason);
        e
    })
}

/// Where a result differs from the judge's.
#[derive(Clone, Debug)]
pub struct Difference {
    pub tensor: String,
    pub reason: String,
}

/// Compares every result with the reference evaluator's.
///
/// # Errors
/// The judge finds the data wrong.
pub fn verify(
    function: &Function,
    bound: &Bound,
    results: &BTreeMap<TensorId, Packed>,
) -> Result<Vec<Difference>, Failure> {
    Ok(differences(function, &expected(function, bound)?, results))
}

/// The reference evaluator's results.
///
/// # Errors
/// The judge finds the data wrong.
pub fn expected(function: &Function, bound: &Bound) -> Result<reference::Outputs, Failure> {
    let mut tensors = bound.tensors.clone();
    for (&id, tensor) in &mut tensors {
        let levels = &function.tensor(id).format.levels;
        let compressed = levels.iter().position(|level| !level.is_full());
        let padded = compressed.is_some_and(|at| levels[at..].iter().any(|l| l.is_full()));
        // What fills a dense level below a compressed one is stored: a number, not absent.
        if padded && function.tensor(id).role == Role::Input {
            *tensor = data::unpack(&pack(function, id, bound)?);
        }
    }
    let inputs = reference::Inputs {
        sizes: bound.sizes.clone(),
        tensors,
    };
    let outputs = reference::evaluate(function, &inputs)
        .map_err(|e| DataError::new(data_codes::BAD_SUBSCRIPT, e.to_string()))?;
    Ok(outputs)
}

/// Where results differ from those expected.
#[must_use]
pub fn differences(
    function: &Function,
    wanted: &reference::Outputs,
    results: &BTreeMap<TensorId, Packed>,
) -> Vec<Difference> {
    let mut differences = Vec::new();
    for (id, packed) in results {
        let tensor = function.tensor(*id);
        if tensor.role == Role::Temporary {
            continue;
        }
        let got = data::unpack(packed);
        let Some(want) = wanted.results.get(id) else {
            continue;
        };
        if let Err(mismatch) = reference::compare(&got, want, tensor.fill) {
            differences.push(Difference {
                tensor: tensor.name.clone(),
                reason: mismatch.to_string(),
            });
        }
    }
    differences
}
