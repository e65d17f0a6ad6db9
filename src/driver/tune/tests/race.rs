//! The search against a machine that is made up: the same seed leads to the same schedule, and a tuning that was
//! ended to where it would have ended.

use super::{SPMM, space};
use crate::data::generate::Random;
use crate::driver::tune::log::{self, Logged};
use crate::driver::tune::race::{Plan, Runner, is_ahead, race};
use crate::driver::tune::search::Kind;
use crate::driver::tune::turns::{duel, rung};
use crate::driver::tune::worker::Outcome;

/// A machine on which schedules take what their text says, and a clock that measurements move.
struct Fake {
    clock: f64,
    runs: usize,
    /// Runs until it is ended.
    left: usize,
}

impl Fake {
    fn new(left: usize) -> Self {
        Fake {
            clock: 0.0,
            runs: 0,
            left,
        }
    }

    fn seconds(script: &[String]) -> f64 {
        let text = script.join("\n");
        let sum: u64 = text.bytes().map(u64::from).sum();
        let mut random = Random::new(sum);
        let tiled = if text.contains("precompute") {
            1.0
        } else {
            2.0
        };
        tiled * (1.0 + random.unit())
    }
}

impl Runner for Fake {
    fn prepare(&mut self, _: &[Vec<String>]) {}

    fn run(&mut self, scripts: &[Vec<String>], _: usize, rounds: u32, _: bool) -> Outcome {
        assert!(self.left > 0, "killed");
        self.left -= 1;
        self.runs += 1;
        self.clock += 1.0;
        let one = |script: &Vec<String>| vec![Fake::seconds(script); rounds as usize];
        Outcome::Measured(scripts.iter().map(one).collect())
    }

    fn elapsed(&self) -> f64 {
        self.clock
    }
}

fn plan(kind: Kind, seed: u64) -> Plan {
    Plan {
        kind,
        seed,
        budget: 60.0,
        trials: None,
        sets: 1,
        scratch: false,
    }
}

#[test]
fn a_tuning_that_was_killed_ends_as_if_it_was_not() {
    let space = space(SPMM);
    let folder = tempfile::tempdir().unwrap();
    let tune = |path: &std::path::Path, left: usize, budget: f64| {
        let (mut file, lines) = log::open(path, "me").unwrap();
        let fake = Fake::new(left);
        let mut runner = Logged::new(fake, &lines, Some(&mut file));
        let plan = Plan {
            budget,
            ..plan(Kind::Genetic, 7)
        };
        let starts = vec![space.usual(0)];
        race(&space, &plan, starts, &[], &mut runner, &mut |_, _, _| {})
    };
    let whole = folder.path().join("whole");
    let wanted = tune(&whole, usize::MAX, 60.0).unwrap();
    assert!(wanted.ahead && wanted.measured > 20);
    for killed_after in [1, 5, 30] {
        let log = folder.path().join(format!("log{killed_after}"));
        let killed = std::panic::catch_unwind(|| tune(&log, killed_after, 60.0));
        assert!(killed.is_err());
        // In the middle of a line.
        let text = std::fs::read_to_string(&log).unwrap();
        std::fs::write(&log, text.clone() + &text[text.len() / 2..][..9]).unwrap();
        assert_eq!(tune(&log, usize::MAX, 60.0).as_ref(), Ok(&wanted));
        // All of it is there now.
        assert_eq!(tune(&log, 0, 60.0).as_ref(), Ok(&wanted));
    }
    // With more time it goes on where the budget was over; what follows is read again, too.
    let longer = tune(&folder.path().join("longer"), usize::MAX, 90.0).unwrap();
    assert!(longer.measured > wanted.measured);
    assert_eq!(tune(&whole, usize::MAX, 90.0).as_ref(), Ok(&longer));
    assert_eq!(tune(&whole, 0, 90.0).as_ref(), Ok(&longer));
}

#[test]
fn a_log_is_of_one_tuning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let (file, _) = log::open(&path, "me").unwrap();
    let again = log::open(&path, "me").unwrap_err();
    assert!(again.to_string().contains("another tuning"));
    drop(file);
    std::fs::write(&path, "{\"schema\":\"sparsec-tuning-1\",\"of\":\"you\"}\n").unwrap();
    let (_file, lines) = log::open(&path, "me").unwrap();
    assert!(lines.is_empty());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"me\""), "{text}");
    // What is none stays.
    let other = folder.path().join("other");
    std::fs::write(&other, "y(i) = x(i)\n").unwrap();
    assert!(log::open(&other, "me").is_err());
    let text = std::fs::read_to_string(&other).unwrap();
    assert_eq!(text, "y(i) = x(i)\n");
}

/// Where every schedule changes the result, all of them come back.
#[test]
fn nothing_that_is_wrong_is_lost() {
    struct Wrong(Fake);
    impl Runner for Wrong {
        fn prepare(&mut self, _: &[Vec<String>]) {}

        fn run(&mut self, scripts: &[Vec<String>], set: usize, rounds: u32, all: bool) -> Outcome {
            self.0.run(scripts, set, rounds, all);
            Outcome::Wrong("y(0)".to_string())
        }

        fn elapsed(&self) -> f64 {
            self.0.elapsed()
        }
    }
    let space = space(SPMM);
    let mut runner = Wrong(Fake::new(usize::MAX));
    let plan = plan(Kind::Genetic, 1);
    let starts = vec![space.usual(0)];
    let faults = race(&space, &plan, starts, &[], &mut runner, &mut |_, _, _| {}).unwrap_err();
    assert_eq!(faults.len(), 60);
}

/// Who is clearly ahead is told by a few samples, who is not by more.
#[test]
fn a_pair_is_sampled_until_it_is_told_apart() {
    /// The second takes as much longer as `ratio` says, give or take `noise`.
    struct Noisy(Random, f64, f64, u32);
    impl Runner for Noisy {
        fn prepare(&mut self, _: &[Vec<String>]) {}

        fn run(&mut self, _: &[Vec<String>], _: usize, rounds: u32, _: bool) -> Outcome {
            self.3 += rounds;
            let mut take = |by: f64| {
                (0..rounds)
                    .map(|_| by * (1.0 + self.2 * self.0.unit()))
                    .collect()
            };
            Outcome::Measured(vec![take(1.0), take(self.1)])
        }

        fn elapsed(&self) -> f64 {
            0.0
        }
    }
    let told = |ratio: f64, noise: f64| {
        let mut runner = Noisy(Random::new(5), ratio, noise, 0);
        let pair = vec![vec!["a".to_string()], vec!["b".to_string()]];
        let found = duel(&pair, 2, &mut runner).unwrap();
        assert!((found / ratio - 1.0).abs() < noise.max(1e-9), "{found}");
        // Of two data sets.
        runner.3 / 2
    };
    assert_eq!(told(1.0, 0.0), 5);
    assert_eq!(told(0.5, 0.3), 5);
    assert_eq!(told(2.0, 0.3), 5);
    assert_eq!(told(0.98, 0.5), 20);
}

/// Half of what is hopeful stays after each rung, which all of them run in turns; what takes long has none.
#[test]
fn rungs_halve_what_is_hopeful() {
    /// Notes how many schedules ran together, and how often.
    struct Noting(Fake, Vec<(usize, u32)>);
    impl Runner for Noting {
        fn prepare(&mut self, _: &[Vec<String>]) {}

        fn run(&mut self, all: &[Vec<String>], set: usize, rounds: u32, compare: bool) -> Outcome {
            self.1.push((all.len(), rounds));
            // As fast as rungs must be.
            match self.0.run(all, set, rounds, compare) {
                Outcome::Measured(samples) => {
                    let all = samples.into_iter();
                    let faster = |of: Vec<f64>| of.iter().map(|s| s / 100.0).collect();
                    Outcome::Measured(all.map(faster).collect())
                }
                other @ (Outcome::Wrong(_)
                | Outcome::Refused(_)
                | Outcome::Crashed(_)
                | Outcome::TimedOut
                | Outcome::OutOfMemory) => other,
            }
        }

        fn elapsed(&self) -> f64 {
            self.0.elapsed()
        }
    }
    let scripts: Vec<Vec<String>> = ["a", "b", "c"].map(|s| vec![s.to_string()]).into();
    let seconds: Vec<f64> = scripts.iter().map(|s| Fake::seconds(s)).collect();
    let mut noting = Noting(Fake::new(usize::MAX), Vec::new());
    let ratios = rung(&scripts, 0.1, 1, &mut noting).unwrap();
    for (ratio, own) in ratios.iter().zip(&seconds) {
        assert!((ratio - own / seconds[0]).abs() < 1e-12, "{ratios:?}");
    }
    assert!(rung(&scripts, 0.1, 2, &mut noting).is_some());
    assert_eq!(rung(&scripts, 0.1, 4, &mut noting), None);
    assert_eq!(noting.1, [(3, 5), (3, 5), (3, 5)]);
    noting.1.clear();
    let space = space(SPMM);
    let starts = vec![space.usual(0)];
    let plan = plan(Kind::Genetic, 1);
    race(&space, &plan, starts, &[], &mut noting, &mut |_, _, _| {}).unwrap();
    // Three or four beside the best one, and pairs at last.
    let together = |n: usize| noting.1.iter().filter(|(all, _)| *all == n).count();
    assert!(together(4) + together(5) > 0 && together(2) > 0);
    let of_five = noting.1.iter().filter(|(all, _)| *all == 5);
    assert!({ of_five }.all(|(_, rounds)| *rounds == 5));
    assert!(noting.1.iter().all(|(all, _)| *all <= 8));
}

/// Another seed draws others; genetic search finds what is faster sooner than draws.
#[test]
fn seeds_and_kinds_differ() {
    let space = space(SPMM);
    let best = |kind, seed| {
        let mut fake = Fake::new(usize::MAX);
        let starts = vec![space.usual(0)];
        let plan = plan(kind, seed);
        race(&space, &plan, starts, &[], &mut fake, &mut |_, _, _| {}).unwrap()
    };
    let (one, other) = (best(Kind::Genetic, 1), best(Kind::Genetic, 2));
    assert_eq!(one, best(Kind::Genetic, 1));
    assert_ne!(one.curve, other.curve);
    assert_ne!(one.curve, best(Kind::Random, 1).curve);
}

/// A winner is faster by the mean over the data sets, beyond the noise, and in four of five rounds.
#[test]
fn who_is_ahead_wins_most_rounds() {
    let rounds = |own: [f64; 10]| vec![vec![own.to_vec(), vec![1.0; 10]]];
    let wins = |won: usize, by: f64, lost: f64| {
        let mut own = [by; 10];
        own[won..].fill(lost);
        rounds(own)
    };
    assert!(is_ahead(&wins(10, 0.9, 1.0), 0, 1));
    assert!(is_ahead(&wins(8, 0.9, 1.1), 0, 1));
    // Its median is as good as before.
    assert!(!is_ahead(&wins(7, 0.9, 1.1), 0, 1));
    // Always ahead, but by what noise may be.
    assert!(!is_ahead(&wins(10, 0.99, 1.0), 0, 1));
    assert!(!is_ahead(&wins(10, 0.9, 1.0), 1, 0));
    // Of two data sets one loses as much as the other wins, or less; rounds of both count.
    let two = |one, other| [wins(10, one, 1.0), wins(10, other, 1.0)].concat();
    assert!(!is_ahead(&two(0.8, 1.25), 0, 1));
    assert!(!is_ahead(&two(0.5, 1.25), 0, 1));
    assert!(is_ahead(&two(0.8, 0.99), 0, 1));
}
