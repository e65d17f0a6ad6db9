//! The search itself: generations of schedules, of which a few samples drop the slow ones, rungs of more samples
//! half of the others (successive halving), and pairs with the best one decide ([`super::turns`]). At the end the
//! last ones race again.

use super::search::{Candidate, Kind, Search};
use super::space::{Genome, Space};
use super::turns::{AHEAD, duel, rung, samples};
use super::worker::Outcome;
use crate::driver::bench::statistics::Quartiles;

/// What measures schedules.
pub trait Runner {
    /// Has schedules compiled that are going to run.
    fn prepare(&mut self, scripts: &[Vec<String>]);
    /// Samples of schedules on a data set, in turn, in one process.
    fn run(&mut self, scripts: &[Vec<String>], set: usize, rounds: u32, compare: bool) -> Outcome;
    /// Seconds since the tuning began.
    fn elapsed(&self) -> f64;
}

/// How long, and how.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub kind: Kind,
    pub seed: u64,
    /// Seconds.
    pub budget: f64,
    /// Schedules at most.
    pub trials: Option<usize>,
    pub sets: usize,
    /// What sparsec chooses by itself is no answer: nothing that is known is.
    pub scratch: bool,
}

/// A schedule with its times.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    pub script: Vec<String>,
    /// What it is, for people.
    pub text: String,
    /// Medians of a call on each data set.
    pub seconds: Vec<f64>,
}

/// A schedule that is not what it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    pub script: Vec<String>,
    pub set: usize,
    pub outcome: Outcome,
}

/// What a tuning gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The fastest, if it is ahead; else what sparsec chooses by itself, or from scratch the fastest that was
    /// searched.
    pub best: Timed,
    /// What sparsec chooses by itself.
    pub automatic: Timed,
    /// Whether the best one is ahead of it beyond the noise.
    pub ahead: bool,
    /// The last ones, the best first.
    pub last: Vec<Timed>,
    pub faults: Vec<Fault>,
    /// How many schedules were measured.
    pub measured: usize,
    /// Seconds of tuning, and those of the best schedule by then.
    pub curve: Vec<(f64, f64)>,
}

/// Schedules of a generation.
const GENERATION: usize = 8;
/// Samples of a first look.
const LOOK: u32 = 3;
/// How much slower than the best one what is dropped at the first look is.
const HOPELESS: f64 = 1.5;
/// Those of a generation that race against the best one until the standard error tells.
const PAIRS: usize = 2;
/// Schedules of the last race, and its samples.
const LAST: usize = 5;
const LAST_ROUNDS: u32 = 21;
const LEAST_ROUNDS: u32 = 9;
/// Seconds that it may take, if that is enough for the least samples.
const LAST_SECONDS: f64 = 10.0;

/// A schedule that was measured.
struct Known {
    candidate: Candidate,
    seconds: f64,
}

/// Searches from `starts`; `automatic` is what the best one is compared with at the end. `tell` is
/// told the seconds that went by and those of the best schedule.
///
/// # Errors
/// Nothing ran: what became of all that was tried.
pub fn race(
    space: &Space,
    plan: &Plan,
    starts: Vec<Genome>,
    automatic: &[String],
    runner: &mut dyn Runner,
    tell: &mut dyn FnMut(f64, Option<f64>, usize),
) -> Result<Found, Vec<Fault>> {
    let known_starts = starts.len();
    let mut search = Search::new(space, (plan.kind, plan.seed), starts);
    let mut all: Vec<Known> = Vec::new();
    let mut best: Option<usize> = None;
    let mut faults = Vec::new();
    let mut curve = Vec::new();
    let mut measured = 0;
    let over = |runner: &dyn Runner, measured: usize| {
        runner.elapsed() >= plan.budget || plan.trials.is_some_and(|most| measured >= most)
    };
    let mut best_start: Option<usize> = None;
    while !over(runner, measured) {
        let room = plan.trials.map_or(GENERATION, |most| most - measured);
        let generation = search.generation(room.min(GENERATION));
        if generation.is_empty() {
            break;
        }
        let scripts: Vec<Vec<String>> = generation.iter().map(|c| c.script.clone()).collect();
        runner.prepare(&scripts);
        let mut looked: Vec<usize> = Vec::new();
        for candidate in generation {
            if over(runner, measured) {
                break;
            }
            measured += 1;
            match look(&candidate, plan, runner) {
                Ok(seconds) => {
                    search.score(&candidate.genome, seconds);
                    all.push(Known { candidate, seconds });
                    looked.push(all.len() - 1);
                    best.get_or_insert(all.len() - 1);
                }
                Err(fault) => faults.push(fault),
            }
            tell(runner.elapsed(), best.map(|at| all[at].seconds), measured);
        }
        // The most hopeful ones in turns with the best, half of them after each rung, until pairs are left.
        let mut hopeful = looked;
        let by_seconds = |all: &[Known], some: &mut Vec<usize>| {
            some.sort_by(|&a, &b| all[a].seconds.total_cmp(&all[b].seconds));
        };
        by_seconds(&all, &mut hopeful);
        if let Some(holds) = best {
            let least = all[holds].seconds;
            hopeful.retain(|&at| at != holds && all[at].seconds <= HOPELESS * least);
            hopeful.truncate(GENERATION / 2);
            while hopeful.len() > PAIRS && runner.elapsed() < plan.budget {
                let contestants = || [holds].into_iter().chain(hopeful.clone());
                let scripts = contestants().map(|at| all[at].candidate.script.clone());
                let scripts: Vec<Vec<String>> = scripts.collect();
                let seconds = contestants().map(|at| all[at].seconds).sum();
                let Some(ratios) = rung(&scripts, seconds, plan.sets, runner) else {
                    break;
                };
                for (&at, ratio) in hopeful.iter().zip(&ratios[1..]) {
                    all[at].seconds = all[holds].seconds * ratio;
                    search.score(&all[at].candidate.genome, all[at].seconds);
                }
                by_seconds(&all, &mut hopeful);
                hopeful.truncate(hopeful.len().div_ceil(2));
            }
        }
        hopeful.truncate(PAIRS);
        for at in hopeful {
            let Some(holds) = best.filter(|&holds| holds != at) else {
                continue;
            };
            if all[at].seconds > HOPELESS * all[holds].seconds || runner.elapsed() >= plan.budget {
                continue;
            }
            let pair = [holds, at].map(|k| all[k].candidate.script.clone());
            let Some(ratio) = duel(&pair, plan.sets, runner) else {
                continue;
            };
            all[at].seconds = all[holds].seconds * ratio;
            search.score(&all[at].candidate.genome, all[at].seconds);
            if ratio < AHEAD {
                best = Some(at);
            }
            tell(runner.elapsed(), best.map(|at| all[at].seconds), measured);
        }
        if best_start.is_none() && measured >= known_starts {
            best_start = best;
        }
        if let Some(best) = best {
            curve.push((runner.elapsed(), all[best].seconds));
        }
    }
    let Some(best) = best else {
        return Err(faults);
    };
    let mut last: Vec<usize> = (0..all.len()).collect();
    last.sort_by(|&a, &b| all[a].seconds.total_cmp(&all[b].seconds));
    last.truncate(LAST);
    for one in [Some(best), best_start].into_iter().flatten() {
        if !last.contains(&one) {
            last.push(one);
        }
    }
    // What sparsec chooses may be what does not run: plain loops did.
    let runs = |script: &[String]| all.iter().any(|k| k.candidate.script == script);
    let unknown = Candidate {
        genome: Genome::new(),
        script: automatic.to_vec(),
    };
    let searched = runs(automatic);
    let first: &[String] = if searched {
        automatic
    } else {
        match look(&unknown, plan, runner) {
            Ok(_) => automatic,
            Err(fault) => {
                // As a start it was told already.
                let is_known = |other: &Fault| other.script == fault.script;
                if !faults.iter().any(is_known) {
                    faults.push(fault);
                }
                &[]
            }
        }
    };
    let mut scripts = vec![first.to_vec()];
    let others = last.iter().map(|&at| all[at].candidate.script.clone());
    scripts.extend(others.filter(|script| script != first));
    runner.prepare(&scripts);
    let rounds = rounds(&scripts, &all);
    let samples = loop {
        match samples(&scripts, (rounds, true), plan.sets, runner) {
            Some(samples) => break samples,
            None => drop_faults(&mut scripts, &mut faults, plan, runner),
        }
        if scripts.is_empty() {
            return Err(faults);
        }
    };
    let timed = |at: usize| {
        let script = &scripts[at];
        let of = all.iter().find(|k| k.candidate.script == *script);
        Timed {
            script: script.clone(),
            text: match of {
                Some(known) => space.text(&known.candidate.genome),
                None if script.is_empty() => "plain".to_string(),
                None => "auto".to_string(),
            },
            seconds: samples
                .iter()
                .map(|set| Quartiles::of(&set[at]).median)
                .collect(),
        }
    };
    let mut order: Vec<usize> = (0..scripts.len()).collect();
    order.sort_by(|&a, &b| mean(&timed(a).seconds).total_cmp(&mean(&timed(b).seconds)));
    let first = order[0];
    let ahead = first != 0 && is_ahead(&samples, first, 0);
    let others = |at: &usize| *at != 0 || searched;
    let fastest = order.iter().copied().find(others).unwrap_or(0);
    let found = Found {
        best: timed(match ahead || plan.scratch {
            true => fastest,
            false => 0,
        }),
        automatic: timed(0),
        ahead,
        last: order.into_iter().map(timed).collect(),
        faults,
        measured,
        curve,
    };
    Ok(found)
}

/// Samples of the last race: fewer where they take long.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn rounds(scripts: &[Vec<String>], all: &[Known]) -> u32 {
    let known = |script: &Vec<String>| all.iter().find(|k| k.candidate.script == *script);
    // What sparsec chooses by itself need not be among them, and may be as slow as any.
    let slowest = all.iter().map(|k| k.seconds).fold(0.0, f64::max);
    let each = scripts
        .iter()
        .map(|script| known(script).map_or(slowest, |k| k.seconds));
    let round: f64 = each.sum();
    ((LAST_SECONDS / round.max(1e-9)) as u32).clamp(LEAST_ROUNDS, LAST_ROUNDS)
}

/// A first look at a schedule: its best samples, their geometric mean over the data sets.
fn look(candidate: &Candidate, plan: &Plan, runner: &mut dyn Runner) -> Result<f64, Fault> {
    let mut seconds = Vec::new();
    for set in 0..plan.sets {
        let script = std::slice::from_ref(&candidate.script);
        match runner.run(script, set, LOOK, true) {
            Outcome::Measured(samples) if samples.len() == 1 && !samples[0].is_empty() => {
                seconds.push(Quartiles::of(&samples[0]).min);
            }
            outcome @ (Outcome::Measured(_)
            | Outcome::Wrong(_)
            | Outcome::Refused(_)
            | Outcome::Crashed(_)
            | Outcome::TimedOut
            | Outcome::OutOfMemory) => {
                return Err(Fault {
                    script: candidate.script.clone(),
                    set,
                    outcome,
                });
            }
        }
    }
    Ok(mean(&seconds))
}

/// One of the last ones, which ran before, ends badly now: whichever does by itself goes, or the slowest. The first
/// leaves its place to plain loops.
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
pub(super) fn is_ahead(samples: &[Vec<Vec<f64>>], one: usize, other: usize) -> bool {
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

/// The geometric mean.
#[expect(clippy::cast_precision_loss)]
#[must_use]
pub fn mean(all: &[f64]) -> f64 {
    if all.is_empty() {
        return f64::INFINITY;
    }
    let logs: f64 = all.iter().map(|x| x.max(1e-12).ln()).sum();
    (logs / all.len() as f64).exp()
}
