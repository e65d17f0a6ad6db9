//! The search itself, generation by generation: a first look drops the slow schedules, rungs of more samples drop
//! half of the others again and again (successive halving), and the rest race in pairs with the best one
//! ([`super::turns`]). At the end the fastest race once more (`race/last.rs`).

mod last;

#[cfg(test)]
pub(super) use self::last::is_ahead;
use super::search::{Candidate, Kind, Search};
use super::space::{Genome, Space};
use super::turns::{AHEAD, duel, rung};
use super::worker::Outcome;
use crate::driver::bench::statistics::Quartiles;

/// What measures schedules.
pub trait Runner {
    /// Compiles schedules that are going to run.
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
    /// Only what was searched is an answer, not what sparsec chooses by itself.
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

/// A schedule that failed on a data set, and how.
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
/// A schedule is dropped at the first look if it takes this many times as long as the best one.
const HOPELESS: f64 = 1.5;
/// How many of a generation race in pairs with the best one, until the standard error decides.
const PAIRS: usize = 2;
/// A schedule that was measured.
struct Known {
    candidate: Candidate,
    seconds: f64,
}

/// What a tuning knows as it goes on. Schedules are numbers of `all`.
struct Race<'r> {
    space: &'r Space,
    plan: &'r Plan,
    search: Search<'r>,
    runner: &'r mut dyn Runner,
    tell: &'r mut dyn FnMut(f64, Option<f64>, usize),
    all: Vec<Known>,
    best: Option<usize>,
    faults: Vec<Fault>,
    curve: Vec<(f64, f64)>,
    measured: usize,
}

/// Searches from `starts`; `automatic` is what the best one is compared with at the end. `tell` is
/// told the seconds that went by, those of the best schedule and how many were measured.
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
    let mut race = Race {
        space,
        plan,
        search: Search::new(space, (plan.kind, plan.seed), starts),
        runner,
        tell,
        all: Vec::new(),
        best: None,
        faults: Vec::new(),
        curve: Vec::new(),
        measured: 0,
    };
    let mut best_start: Option<usize> = None;
    while !race.is_over() {
        let room = plan.trials.map_or(GENERATION, |most| most - race.measured);
        let generation = race.search.generation(room.min(GENERATION));
        if generation.is_empty() {
            break;
        }
        let looked = race.first_looks(generation);
        let hopeful = race.rungs(looked);
        race.pairs(hopeful);
        if best_start.is_none() && race.measured >= known_starts {
            best_start = race.best;
        }
        if let Some(best) = race.best {
            let seconds = race.all[best].seconds;
            race.curve.push((race.runner.elapsed(), seconds));
        }
    }
    race.decided(best_start, automatic)
}

impl Race<'_> {
    fn is_over(&self) -> bool {
        let most = self.plan.trials;
        self.runner.elapsed() >= self.plan.budget || most.is_some_and(|most| self.measured >= most)
    }

    fn script(&self, at: usize) -> Vec<String> {
        self.all[at].candidate.script.clone()
    }

    fn by_seconds(&self, some: &mut [usize]) {
        some.sort_by(|&a, &b| self.all[a].seconds.total_cmp(&self.all[b].seconds));
    }

    /// How long a schedule takes, given how much longer that is than what the best one takes.
    fn rate(&mut self, at: usize, best: usize, ratio: f64) {
        let seconds = self.all[best].seconds * ratio;
        let known = &mut self.all[at];
        known.seconds = seconds;
        self.search.score(&known.candidate.genome, seconds);
    }

    fn tell_best(&mut self) {
        let best = self.best.map(|at| self.all[at].seconds);
        (self.tell)(self.runner.elapsed(), best, self.measured);
    }

    /// Measures the schedules of a generation with a few samples each; those that ran.
    fn first_looks(&mut self, generation: Vec<Candidate>) -> Vec<usize> {
        let scripts: Vec<Vec<String>> = generation.iter().map(|c| c.script.clone()).collect();
        self.runner.prepare(&scripts);
        let mut looked: Vec<usize> = Vec::new();
        for candidate in generation {
            if self.is_over() {
                break;
            }
            self.measured += 1;
            match look(&candidate, self.plan, self.runner) {
                Ok(seconds) => {
                    self.search.score(&candidate.genome, seconds);
                    let at = self.all.len();
                    self.all.push(Known { candidate, seconds });
                    looked.push(at);
                    self.best.get_or_insert(at);
                }
                Err(fault) => self.faults.push(fault),
            }
            self.tell_best();
        }
        looked
    }

    /// The most hopeful ones in turns with the best, half of them after each rung, until pairs are left.
    fn rungs(&mut self, looked: Vec<usize>) -> Vec<usize> {
        let mut hopeful = looked;
        self.by_seconds(&mut hopeful);
        if let Some(best) = self.best {
            let least = self.all[best].seconds;
            hopeful.retain(|&at| at != best && self.all[at].seconds <= HOPELESS * least);
            hopeful.truncate(GENERATION / 2);
            while hopeful.len() > PAIRS && self.runner.elapsed() < self.plan.budget {
                let contestants = || [best].into_iter().chain(hopeful.clone());
                let scripts: Vec<Vec<String>> = contestants().map(|at| self.script(at)).collect();
                let seconds = contestants().map(|at| self.all[at].seconds).sum();
                let Some(ratios) = rung(&scripts, seconds, self.plan.sets, self.runner) else {
                    break;
                };
                for (&at, ratio) in hopeful.iter().zip(&ratios[1..]) {
                    self.rate(at, best, *ratio);
                }
                self.by_seconds(&mut hopeful);
                hopeful.truncate(hopeful.len().div_ceil(2));
            }
        }
        hopeful.truncate(PAIRS);
        hopeful
    }

    /// Each of these against the best one, which it replaces where it is ahead.
    fn pairs(&mut self, hopeful: Vec<usize>) {
        for at in hopeful {
            let Some(best) = self.best.filter(|&best| best != at) else {
                continue;
            };
            let hopeless = self.all[at].seconds > HOPELESS * self.all[best].seconds;
            if hopeless || self.runner.elapsed() >= self.plan.budget {
                continue;
            }
            let pair = [best, at].map(|at| self.script(at));
            let Some(ratio) = duel(&pair, self.plan.sets, self.runner) else {
                continue;
            };
            self.rate(at, best, ratio);
            if ratio < AHEAD {
                self.best = Some(at);
            }
            self.tell_best();
        }
    }
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
