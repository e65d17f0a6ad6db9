//! Running a kernel on data, timing it, and comparing it with the judge.

use super::bind::Bound;
use super::blame::outside;
use super::build::{DeviceTime, Library};
use super::call::{Arguments, Calls, Taken, pack};
use super::{Failure, count};
use crate::data::{self, DataError, Packed};
use crate::diagnostic::codes::data as data_codes;
use crate::loops::ir::Kernel;
use crate::program::ir::{Function, Role, TensorId};
use crate::reference;
use std::collections::BTreeMap;

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub results: BTreeMap<TensorId, Packed>,
    /// Where calls behind the first compute values alone: what that one made.
    pub first: Option<BTreeMap<TensorId, Packed>>,
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
    let mut arguments = Arguments::pack(&kernel.interface, function, bound)?;
    let mut calls = Calls::new(library, at, &arguments);
    let mut taken = Vec::new();
    let mut first = None;
    let keeps = kernel.keeping.is_some();
    let warm_up = u64::from(rounds.is_some());
    for round in 0..warm_up + u64::from(rounds.unwrap_or(1)) {
        let called = calls.call(&mut arguments, function, 1);
        let one = called.map_err(|failure| named(failure, function, bound))?;
        if round >= warm_up {
            taken.push(one);
        }
        if keeps && round == 0 {
            first = Some(calls.results(&arguments, function)?);
            calls.call_values(&mut arguments, function)?;
        }
    }
    let (clock, seconds) = timed(&taken);
    let results = calls.results(&arguments, function)?;
    let made: usize = results.values().map(count::bytes).sum();
    Ok(Outcome {
        results,
        first,
        seconds,
        clock,
        operations: count::operations(function, bound, &arguments.stored),
        bytes: (arguments.bytes + made) as f64,
    })
}

/// The judge looks at elements one by one; of more the kernel's own words are enough.
const MOST_LOOKED_AT: usize = 1 << 20;

/// A kernel says that a subscript from data lies outside, the judge says which one.
pub(super) fn named(failure: Failure, function: &Function, bound: &Bound) -> Failure {
    let stored = |tensor: &data::Tensor| match tensor {
        data::Tensor::Dense(dense) => dense.values.len(),
        data::Tensor::Sparse(coo) => coo.values.len(),
    };
    let elements: usize = bound.tensors.values().map(stored).sum();
    match &failure {
        Failure::Data(error)
            if error.code == data_codes::BAD_SUBSCRIPT && elements <= MOST_LOOKED_AT =>
        {
            match inputs(function, bound).map(|inputs| judged(function, &inputs, bound)) {
                Ok(Some(blame)) => blame.into(),
                Ok(None) | Err(_) => failure,
            }
        }
        Failure::Data(_) | Failure::Program(_) | Failure::Environment(_) | Failure::Check(_) => {
            failure
        }
    }
}

/// The clock that timed all calls, and their seconds. Times of two clocks do not compare: events
/// count if they timed every one.
pub(super) fn timed(taken: &[Taken]) -> (Clock, Vec<f64>) {
    let device: Vec<DeviceTime> = taken.iter().filter_map(|one| one.device).collect();
    match device.last() {
        Some(last) if device.len() == taken.len() => {
            let intervals = last.intervals;
            let seconds = device.iter().map(|time| time.seconds).collect();
            (Clock::Events { intervals }, seconds)
        }
        Some(_) | None => (Clock::Host, taken.iter().map(|one| one.seconds).collect()),
    }
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
    outcome: &Outcome,
) -> Result<Vec<Difference>, Failure> {
    let expected = expected(function, bound)?;
    let all = outcome.first.iter().chain([&outcome.results]);
    Ok(all
        .flat_map(|results| differences(function, &expected, results))
        .collect())
}

/// The reference evaluator's results.
///
/// # Errors
/// The judge finds the data wrong.
pub fn expected(function: &Function, bound: &Bound) -> Result<reference::Outputs, Failure> {
    let inputs = inputs(function, bound)?;
    let outputs = reference::evaluate(function, &inputs);
    Ok(outputs.map_err(|error| outside(&error, function, bound))?)
}

/// What is wrong with data that a kernel refused: where the results need it, or else where the kernel looked ahead.
fn judged(function: &Function, inputs: &reference::Inputs, bound: &Bound) -> Option<DataError> {
    let evaluated = reference::evaluate(function, inputs).err();
    let blamed = evaluated.or_else(|| reference::blamed(function, inputs));
    blamed.map(|error| outside(&error, function, bound))
}

/// What the judge is given.
fn inputs(function: &Function, bound: &Bound) -> Result<reference::Inputs, Failure> {
    let mut tensors = bound.tensors.clone();
    for (&id, tensor) in &mut tensors {
        let format = &function.tensor(id).format;
        let levels = &format.levels;
        let compressed = levels.iter().position(|level| !level.is_full());
        let padded = compressed.is_some_and(|at| levels[at..].iter().any(|l| l.is_full()));
        // What fills a dense level below a compressed one, or slots, is stored: a number, not absent.
        if (padded || format.slots().is_some()) && function.tensor(id).role == Role::Input {
            *tensor = data::unpack(&pack(function, id, bound)?);
        }
    }
    Ok(reference::Inputs {
        sizes: bound.sizes.clone(),
        tensors,
    })
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
