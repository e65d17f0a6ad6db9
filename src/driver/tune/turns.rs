//! Schedules in turns, so that what disturbs a machine disturbs all of them: pairs until the standard error tells
//! who is ahead, and rungs of several.

use super::race::{Runner, mean};
use super::worker::Outcome;
use crate::driver::bench::statistics::Quartiles;

/// The part of the other's time that is ahead of it.
pub(super) const AHEAD: f64 = 0.98;
/// Samples of a pair, as many again and again until it is told who is ahead, or that neither is.
const PAIR: u32 = 5;
const MOST_PAIRS: usize = 4;
/// Standard errors that a ratio must be away from [`AHEAD`], and how small they may be for nothing more to be learnt.
const ERRORS: f64 = 2.5;
const SMALL_ERROR: f64 = 0.002;
/// Samples of a rung, seconds that it is worth (whatever the budget: a tuning that goes on with a longer one asks
/// for the same), and calls that are no samples.
const RUNG: u32 = 5;
const LEAST_RUNG: u32 = 2;
const RUNG_SECONDS: f64 = 1.5;
const CALLS: f64 = 2.0;

/// Samples by data set, schedule and round; `None` if one did not run, or is to compute something and does not.
pub(super) fn samples(
    scripts: &[Vec<String>],
    (rounds, compare): (u32, bool),
    sets: usize,
    runner: &mut dyn Runner,
) -> Option<Vec<Vec<Vec<f64>>>> {
    let mut all = Vec::new();
    for set in 0..sets {
        let Outcome::Measured(samples) = runner.run(scripts, set, rounds, compare) else {
            return None;
        };
        if samples.len() != scripts.len() || samples.iter().any(Vec::is_empty) {
            return None;
        }
        all.push(samples);
    }
    Some(all)
}

/// How much longer the second schedule takes than the first, in turns until the standard error tells; `None` if
/// one did not run.
pub(super) fn duel(pair: &[Vec<String>], sets: usize, runner: &mut dyn Runner) -> Option<f64> {
    // Of each round, the mean over the data sets.
    let mut logs: Vec<f64> = Vec::new();
    for _ in 0..MOST_PAIRS {
        let samples = samples(pair, (PAIR, false), sets, runner)?;
        // (A log that somebody has changed may have fewer of one.)
        let rounds = samples.iter().map(|set| set[0].len().min(set[1].len()));
        for round in 0..rounds.min()? {
            let ratios = samples.iter().map(|set| set[1][round] / set[0][round]);
            logs.push(mean(&ratios.collect::<Vec<_>>()).ln());
        }
        let (mean, error) = mean_and_error(&logs);
        let is_told = (mean - AHEAD.ln()).abs() > ERRORS * error;
        if is_told || error < SMALL_ERROR {
            break;
        }
    }
    Some(Quartiles::of(&logs).median.exp())
}

/// The mean and its standard error.
#[expect(clippy::cast_precision_loss)]
fn mean_and_error(all: &[f64]) -> (f64, f64) {
    let n = all.len() as f64;
    let mean = all.iter().sum::<f64>() / n;
    let squares: f64 = all.iter().map(|x| (x - mean) * (x - mean)).sum();
    (mean, (squares / (n - 1.0).max(1.0) / n).sqrt())
}

/// How much longer schedules take than the first of them, whose calls together take so many seconds; `None` if
/// one did not run, or that is more than it is worth.
pub(super) fn rung(
    scripts: &[Vec<String>],
    seconds: f64,
    sets: usize,
    runner: &mut dyn Runner,
) -> Option<Vec<f64>> {
    #[expect(clippy::cast_precision_loss)]
    let rounds = RUNG_SECONDS / (seconds * sets as f64) - CALLS;
    if rounds < f64::from(LEAST_RUNG) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let rounds = rounds.min(f64::from(RUNG)) as u32;
    let samples = samples(scripts, (rounds, false), sets, runner)?;
    let ratios = (0..scripts.len()).map(|at| {
        let of = |set: &Vec<Vec<f64>>| {
            let pairs = set[at].iter().zip(&set[0]);
            let ratios: Vec<f64> = pairs.map(|(own, first)| own / first).collect();
            Quartiles::of(&ratios).median
        };
        mean(&samples.iter().map(of).collect::<Vec<_>>())
    });
    Some(ratios.collect())
}
