//! Measurements against older ones.
//!
//! A row is slower if it is so beyond the noise of both measurements: its quartiles lie above the
//! old ones, and its median and its minimum are more than [`MARGIN`] larger. Other work on the
//! machine makes quartiles and medians of several threads twice as large and leaves the minimum,
//! which is what a call takes that nobody disturbs; the minimum alone hangs on one sample. Where
//! the machine itself could do much more or less ([`UNSTEADY`]), times say nothing of the
//! candidate.

use super::report::{DataSet, Report, SCHEMA, Times};
use super::statistics::Quartiles;
use serde::{Deserialize, Serialize};

/// Part of the old time by which another one has to differ.
pub const MARGIN: f64 = 0.05;

/// How much what the machine can do may differ, as a factor.
pub const UNSTEADY: f64 = 1.5;

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Slower,
    Same,
    Faster,
    /// The machine was another one, or too busy.
    Unsteady,
    /// The old report has no such row.
    New,
}

/// A row against the old one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    pub data: String,
    pub candidate: String,
    pub threads: u32,
    /// Medians in seconds.
    pub old: Option<f64>,
    pub new: f64,
    pub verdict: Verdict,
}

/// Reads a report.
///
/// # Errors
/// It is none, with the line.
pub fn read(text: &str) -> Result<Report, (u64, String)> {
    #[derive(Deserialize)]
    struct Form {
        schema: String,
    }
    let wrong = |error: &serde_json::Error| (error.line() as u64, error.to_string());
    let form: Form = serde_json::from_str(text).map_err(|e| wrong(&e))?;
    if form.schema != SCHEMA {
        let reason = format!("its form is `{}`, not `{SCHEMA}`", form.schema);
        return Err((1, reason));
    }
    serde_json::from_str(text).map_err(|e| wrong(&e))
}

/// Compares all rows.
///
/// # Errors
/// The reports are of different things.
pub fn compare(old: &Report, new: &Report) -> Result<Vec<Compared>, String> {
    if old.program != new.program {
        return Err(format!(
            "it is of another program, or of other formats or sizes:\n{}",
            old.program.trim_end()
        ));
    }
    for (what, before, now) in [
        ("target", &old.target, &new.target),
        ("device", &old.device, &new.device),
        ("clock", &old.clock, &new.clock),
    ] {
        if before != now {
            return Err(format!("its {what} is {before}, not {now}"));
        }
    }
    let mut all = Vec::new();
    for set in &new.data {
        let Some(before) = old.data.iter().find(|other| same(other, set)) else {
            return Err(format!("it has no times of the data {}", set.name));
        };
        for row in &set.times {
            let own =
                |other: &&Times| other.candidate == row.candidate && other.threads == row.threads;
            let other = before.times.iter().find(own);
            all.push(Compared {
                data: set.name.clone(),
                candidate: row.candidate.clone(),
                threads: row.threads,
                old: other.map(|o| o.seconds.median),
                new: row.seconds.median,
                verdict: match other {
                    None => Verdict::New,
                    Some(_) if !is_steady(before, set, row.threads) => Verdict::Unsteady,
                    Some(other) => verdict(other, row),
                },
            });
        }
    }
    if all.iter().all(|row| row.verdict == Verdict::New) {
        return Err("it has none of these candidates with these numbers of threads".to_string());
    }
    Ok(all)
}

fn verdict(old: &Times, new: &Times) -> Verdict {
    let (old, new) = (old.seconds, new.seconds);
    if is_beyond(old, new) {
        Verdict::Slower
    } else if is_beyond(new, old) {
        Verdict::Faster
    } else {
        Verdict::Same
    }
}

/// Whether the machine could do about the same for both, as far as it was asked.
fn is_steady(old: &DataSet, new: &DataSet, threads: u32) -> bool {
    let of = |set: &DataSet| set.limits.iter().find(|l| l.threads == threads).copied();
    let (Some(old), Some(new)) = (of(old), of(new)) else {
        return true;
    };
    let near = |a: f64, b: f64| a <= b * UNSTEADY && b <= a * UNSTEADY;
    let peaks = old.operations_per_second.zip(new.operations_per_second);
    near(old.bytes_per_second, new.bytes_per_second) && peaks.is_none_or(|(a, b)| near(a, b))
}

/// Whether what took `less` is faster than what took `more`, whatever the noise.
fn is_beyond(less: Quartiles, more: Quartiles) -> bool {
    let larger = |a: f64, b: f64| b > a * (1.0 + MARGIN);
    more.q1 > less.q3 && larger(less.median, more.median) && larger(less.min, more.min)
}

/// Whether two data sets are the same tensors. A norm that was written and read again may
/// differ in its last digit, and is one or none.
fn same(a: &DataSet, b: &DataSet) -> bool {
    let near = |x: f64, y: f64| match (x.is_finite(), y.is_finite()) {
        (true, true) => x == y || (x - y).abs() <= 1e-12 * x.abs().max(y.abs()),
        (one, other) => one == other,
    };
    a.tensors.len() == b.tensors.len()
        && a.tensors.iter().zip(&b.tensors).all(|(a, b)| {
            a.name == b.name
                && a.summary.shape == b.summary.shape
                && a.summary.stored == b.summary.stored
                && near(a.summary.norm, b.summary.norm)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Summary;
    use crate::driver::bench::report::{Limit, Measured, TensorData};
    use crate::driver::run::Clock;

    /// A report of one candidate with these samples.
    fn report(samples: &[f64]) -> Report {
        let measured = Measured {
            candidate: "default".to_string(),
            threads: 1,
            clock: Clock::Host,
            calls: 1,
            seconds: samples.to_vec(),
        };
        let mut set = DataSet {
            name: "x=ones".to_string(),
            tensors: vec![TensorData {
                name: "x".to_string(),
                summary: Summary {
                    shape: vec![3],
                    stored: 3,
                    norm: 3f64.sqrt(),
                },
            }],
            ..DataSet::default()
        };
        set.times = vec![Times::of(&measured, &measured, &set)];
        Report {
            schema: SCHEMA.to_string(),
            program: "function f\n".to_string(),
            clock: "host".to_string(),
            data: vec![set],
            ..Report::default()
        }
    }

    fn verdict_of(old: &[f64], new: &[f64]) -> Verdict {
        compare(&report(old), &report(new)).unwrap()[0].verdict
    }

    #[test]
    fn slower_is_beyond_the_noise_of_both() {
        let quiet = [1.0, 1.01, 1.02, 1.03, 1.04];
        let times = |factor: f64| quiet.map(|x| x * factor);
        assert_eq!(verdict_of(&quiet, &times(1.2)), Verdict::Slower);
        assert_eq!(verdict_of(&quiet, &times(0.8)), Verdict::Faster);
        assert_eq!(verdict_of(&quiet, &quiet), Verdict::Same);
        // Apart, but by less than the margin.
        let still = [1.0; 5];
        assert_eq!(verdict_of(&still, &[1.04; 5]), Verdict::Same);
        assert_eq!(verdict_of(&still, &[1.06; 5]), Verdict::Slower);
        assert_eq!(verdict_of(&still, &[0.96; 5]), Verdict::Same);
        // More than the margin, within the noise.
        let noisy = [0.5, 0.9, 1.0, 1.3, 2.0];
        assert_eq!(verdict_of(&noisy, &[1.2; 5]), Verdict::Same);
        assert_eq!(verdict_of(&[1.2; 5], &noisy), Verdict::Same);
        // A machine that does something else, too: only the undisturbed call is as it was.
        let busy = [1.0, 2.0, 2.1, 2.2, 2.3];
        assert_eq!(verdict_of(&quiet, &busy), Verdict::Same);
        assert_eq!(verdict_of(&busy, &quiet), Verdict::Same);
    }

    #[test]
    fn another_machine_says_nothing_of_a_candidate() {
        let limited = |samples: &[f64], bytes: f64, operations: f64| {
            let mut report = report(samples);
            report.data[0].limits = vec![Limit {
                threads: 1,
                bytes_per_second: bytes,
                operations_per_second: Some(operations),
            }];
            report
        };
        let old = limited(&[1.0], 1e10, 1e11);
        let verdict = |bytes: f64, operations: f64| {
            let new = limited(&[2.0], bytes, operations);
            compare(&old, &new).unwrap()[0].verdict
        };
        assert_eq!(verdict(0.8e10, 0.9e11), Verdict::Slower);
        assert_eq!(verdict(0.5e10, 1e11), Verdict::Unsteady);
        assert_eq!(verdict(1e10, 2e11), Verdict::Unsteady);
    }

    #[test]
    fn other_things_are_not_compared() {
        let new = report(&[1.0]);
        let refused = |change: &dyn Fn(&mut Report)| {
            let mut old = report(&[1.0]);
            change(&mut old);
            compare(&old, &new).unwrap_err()
        };
        assert!(refused(&|r| r.program += "x").contains("another program"));
        assert!(refused(&|r| r.clock = "events".to_string()).contains("clock"));
        assert!(refused(&|r| r.device = "gpu".to_string()).contains("device"));
        assert!(refused(&|r| r.data.clear()).contains("x=ones"));
        let norm = |r: &mut Report| r.data[0].tensors[0].summary.norm = 2.0;
        assert!(refused(&norm).contains("x=ones"));
        let name = |r: &mut Report| r.data[0].times[0].candidate = "b.sched".to_string();
        assert!(refused(&name).contains("candidates"));
    }

    /// Where a file lies is not what it is.
    #[test]
    fn names_of_data_do_not_count() {
        let mut old = report(&[1.0]);
        old.data[0].name = "x=elsewhere.npy".to_string();
        let new = report(&[1.0]);
        assert!(compare(&old, &new).is_ok());
    }

    #[test]
    fn reports_are_read_as_they_are_written() {
        let text = serde_json::to_string(&report(&[1.0, 2.0])).unwrap();
        let back = read(&text).unwrap();
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
        assert_eq!(read("{\n  3").unwrap_err().0, 2);
        let other = text.replace(SCHEMA, "other");
        assert!(read(&other).unwrap_err().1.contains("other"));
    }
}
