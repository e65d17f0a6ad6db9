//! What a measurement gives, as programs read it: written as JSON, and read again to compare
//! with (`--compare`).

use super::compare::Compared;
use super::machine::Description;
use super::statistics::Quartiles;
use crate::data::Summary;
use crate::driver::run::Clock;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The form of this file; readers refuse others.
pub const SCHEMA: &str = "sparsec-bench-1";

/// Everything that `sparsec bench` measures.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    pub schema: String,
    /// The version of sparsec.
    pub sparsec: String,
    pub function: String,
    /// The function as `show --stage program` prints it: what was measured.
    pub program: String,
    pub target: String,
    /// What ran the kernels.
    pub device: String,
    /// Of whole calls (`host`), or of the device's part (`events`).
    pub clock: String,
    pub machine: Description,
    pub candidates: Vec<CandidateReport>,
    pub data: Vec<DataSet>,
    /// Against an older report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Vec<Compared>>,
}

/// A schedule that was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CandidateReport {
    pub name: String,
    /// The commands as they applied, as `show --stage schedule` prints them.
    pub schedule: Vec<String>,
    /// Its `let` and `param`, `-D` applied.
    pub parameters: BTreeMap<String, i64>,
    /// What sparsec took, and the compiler behind it.
    pub compile_seconds: f64,
    pub build_seconds: f64,
}

/// Measurements on one data set.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DataSet {
    /// As the command line names it.
    pub name: String,
    /// What it is, wherever it was read from.
    pub tensors: Vec<TensorData>,
    /// Elements that the sparse inputs store.
    pub stored: usize,
    /// Counted work: of a call, and of all arrays that are read or written, once.
    pub operations: f64,
    pub bytes: f64,
    pub pack_seconds: f64,
    /// The results were compared with the reference evaluator's.
    pub verified: bool,
    pub rounds: u32,
    /// What the machine could do at the time; empty on a GPU.
    pub limits: Vec<Limit>,
    pub times: Vec<Times>,
}

/// What tells data apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TensorData {
    pub name: String,
    #[serde(flatten)]
    pub summary: Summary,
}

/// What a number of threads can do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    pub threads: u32,
    /// Through a working set as large as the data.
    pub bytes_per_second: f64,
    /// In the type of the function; `None` where none is measured.
    pub operations_per_second: Option<f64>,
}

impl Limit {
    /// Seconds that work takes at least: bytes have to pass, and operations to be done.
    #[must_use]
    pub fn seconds(&self, operations: f64, bytes: f64) -> f64 {
        let part = |work: f64, rate: f64| if rate > 0.0 { work / rate } else { 0.0 };
        let compute = self
            .operations_per_second
            .map_or(0.0, |rate| part(operations, rate));
        part(bytes, self.bytes_per_second).max(compute)
    }
}

/// Samples of a row, in seconds of one call.
#[derive(Clone, Debug)]
pub struct Measured {
    pub candidate: String,
    pub threads: u32,
    pub clock: Clock,
    /// Of each sample.
    pub calls: u32,
    pub seconds: Vec<f64>,
}

/// A row: a candidate with a number of threads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Times {
    pub candidate: String,
    pub threads: u32,
    /// Calls whose mean is a sample.
    pub calls: u32,
    /// Seconds of a call.
    pub seconds: Quartiles,
    /// The median over that of the first row: below 1 is faster.
    pub ratio: f64,
    pub gflops: f64,
    pub gbytes_per_second: f64,
    /// The time that the machine needs at least, over the median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_limit: Option<f64>,
}

impl Times {
    /// A row of a data set, beside the first one.
    #[must_use]
    pub fn of(measured: &Measured, first: &Measured, set: &DataSet) -> Self {
        let seconds = Quartiles::of(&measured.seconds);
        let rate = |work: f64| over(work, seconds.median) / 1e9;
        let limit = set.limits.iter().find(|l| l.threads == measured.threads);
        Times {
            candidate: measured.candidate.clone(),
            threads: measured.threads,
            calls: measured.calls,
            seconds,
            ratio: over(seconds.median, Quartiles::of(&first.seconds).median),
            gflops: rate(set.operations),
            gbytes_per_second: rate(set.bytes),
            of_limit: limit.map(|l| over(l.seconds(set.operations, set.bytes), seconds.median)),
        }
    }
}

/// A quotient; 0 where a clock saw nothing.
fn over(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}
