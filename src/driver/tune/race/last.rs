//! The last race: the fastest schedules again, with what sparsec chooses by itself, which decides what a tuning finds.

use super::super::search::Candidate;
use super::super::space::Genome;
use super::super::turns::{AHEAD, samples};
use super::{Fault, Found, Known, Plan, Race, Runner, Timed, look, mean};
use crate::driver::bench::statistics::Quartiles;

/// Schedules of the last race, and its samples.
const LAST: usize = 5;
const LAST_ROUNDS: u32 = 21;
const LEAST_ROUNDS: u32 = 9;
/// Seconds that it may take, if that is enough for the least samples.
const LAST_SECONDS: f64 = 10.0;

impl Race<'_> {
    /// What the last race says, in which the best of the first schedules takes part.
    ///
    /// # Errors
    /// Nothing ran.
    pub(super) fn decided(
        mut self,
        best_start: Option<usize>,
        automatic: &[String],
    ) -> Result<Found, Vec<Fault>> {
        let Some(best) = self.best else {
            return Err(self.faults);
        };
        let searched = self.has_run(automatic);
        let mut scripts = self.contestants(&[Some(best), best_start], automatic);
        self.runner.prepare(&scripts);
        let rounds = rounds(&scripts, &self.all);
        let samples = loop {
            match samples(&scripts, (rounds, true), self.plan.sets, self.runner) {
                Some(samples) => break samples,
                None => drop_faults(&mut scripts, &mut self.faults, self.plan, self.runner),
            }
            if scripts.is_empty() {
                return Err(self.faults);
            }
        };
        let timed = |at: usize| self.timed(&scripts[at], samples.iter().map(|set| &set[at]));
        let mut order: Vec<usize> = (0..scripts.len()).collect();
        order.sort_by(|&a, &b| mean(&timed(a).seconds).total_cmp(&mean(&timed(b).seconds)));
        let first = order[0];
        let ahead = first != 0 && is_ahead(&samples, first, 0);
        let others = |at: &usize| *at != 0 || searched;
        let fastest = order.iter().copied().find(others).unwrap_or(0);
        Ok(Found {
            best: timed(match ahead || self.plan.scratch {
                true => fastest,
                false => 0,
            }),
            automatic: timed(0),
            ahead,
            last: order.into_iter().map(timed).collect(),
            faults: self.faults,
            measured: self.measured,
            curve: self.curve,
        })
    }

    fn has_run(&self, script: &[String]) -> bool {
        self.all.iter().any(|k| k.candidate.script == script)
    }

    /// What sparsec chooses by itself, or plain loops where that does not run, and behind it the fastest ones
    /// and those that take part in any case.
    fn contestants(&mut self, always: &[Option<usize>], automatic: &[String]) -> Vec<Vec<String>> {
        let mut last: Vec<usize> = (0..self.all.len()).collect();
        self.by_seconds(&mut last);
        last.truncate(LAST);
        for &one in always.iter().flatten() {
            if !last.contains(&one) {
                last.push(one);
            }
        }
        // Plain loops, which ran, stand in for what does not.
        let first = match self.has_run(automatic) || self.runs(automatic) {
            true => automatic,
            false => &[],
        };
        let mut scripts = vec![first.to_vec()];
        let others = last.iter().map(|&at| self.script(at));
        scripts.extend(others.filter(|script| script != first));
        scripts
    }

    /// Whether a schedule that was not searched runs.
    fn runs(&mut self, script: &[String]) -> bool {
        let unknown = Candidate {
            genome: Genome::new(),
            script: script.to_vec(),
        };
        let Err(fault) = look(&unknown, self.plan, self.runner) else {
            return true;
        };
        // Where it was a start, the fault is known.
        let is_known = |other: &Fault| other.script == fault.script;
        if !self.faults.iter().any(is_known) {
            self.faults.push(fault);
        }
        false
    }

    /// A schedule with its samples of each data set.
    fn timed<'s>(&self, script: &[String], samples: impl Iterator<Item = &'s Vec<f64>>) -> Timed {
        let of = self.all.iter().find(|k| k.candidate.script == script);
        Timed {
            script: script.to_vec(),
            text: match of {
                Some(known) => self.space.text(&known.candidate.genome),
                None if script.is_empty() => "plain".to_string(),
                None => "auto".to_string(),
            },
            seconds: samples.map(|own| Quartiles::of(own).median).collect(),
        }
    }
}

/// How many samples of each schedule are taken: fewer where they take long.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn rounds(scripts: &[Vec<String>], all: &[Known]) -> u32 {
    let known = |script: &Vec<String>| all.iter().find(|k| k.candidate.script == *script);
    // What sparsec chooses by itself may not have been searched: it counts as the slowest.
    let slowest = all.iter().map(|k| k.seconds).fold(0.0, f64::max);
    let each = scripts
        .iter()
        .map(|script| known(script).map_or(slowest, |k| k.seconds));
    let round: f64 = each.sum();
    ((LAST_SECONDS / round.max(1e-9)) as u32).clamp(LEAST_ROUNDS, LAST_ROUNDS)
}

/// Drops one of the schedules, which all ran before but do not now: the first that fails by itself, or else the last.
/// What sparsec chooses by itself, the first, leaves its place to plain loops.
fn drop_faults(
    scripts: &mut Vec<Vec<String>>,
    faults: &mut Vec<Fault>,
    plan: &Plan,
    runner: &mut dyn Runner,
) {
    let mut found = None;
    for (at, script) in scripts.iter().enumerate() {
        let again = Candidate {
            genome: Genome::new(),
            script: script.clone(),
        };
        if let Err(fault) = look(&again, plan, runner) {
            faults.push(fault);
            found = Some(at);
            break;
        }
    }
    match found {
        Some(0) if !scripts[0].is_empty() => {
            scripts.retain(|script| !script.is_empty());
            scripts[0] = Vec::new();
        }
        Some(0) => scripts.clear(),
        Some(at) => drop(scripts.remove(at)),
        None => drop(scripts.pop()),
    }
}

/// Whether a schedule is ahead of another one beyond the noise: by the mean over the data sets, and
/// in four of five rounds.
pub(in crate::driver::tune) fn is_ahead(
    samples: &[Vec<Vec<f64>>],
    one: usize,
    other: usize,
) -> bool {
    let ratio = |set: &Vec<Vec<f64>>| {
        Quartiles::of(&set[one]).median / Quartiles::of(&set[other]).median.max(1e-12)
    };
    let ratios: Vec<f64> = samples.iter().map(ratio).collect();
    let pairs = samples
        .iter()
        .flat_map(|set| set[one].iter().zip(&set[other]));
    let (won, all) = pairs.fold((0, 0), |(won, all), (a, b)| {
        (won + usize::from(a < b), all + 1)
    });
    mean(&ratios) < AHEAD && won * 5 >= all * 4
}
