//! Which schedules are measured next: genetic search as in paper 002, section 6, or random draws.
//! What is drawn follows from the seed and from what was measured, from nothing else.

use super::express::express;
use super::space::{Genome, Space, choice};
use crate::data::generate::Random;
use std::collections::{BTreeSet, VecDeque};

/// How schedules are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Half of each generation are children of three parents, half are steps from the best one: one
    /// gene changed, to a value near its own first (coordinate descent, which gains most while few are measured; the
    /// first are nothing else).
    Genetic,
    /// Each gene drawn, whatever was measured.
    Random,
}

/// Parents are chosen among so many of the best.
const POPULATION: usize = 24;
/// Schedules that are measured before there are children.
const FEW: usize = 16;
/// How often a gene of a child is drawn anew: once in so many.
const MUTATION: u64 = 12;
/// Genomes that are drawn in vain before no more steps are taken, and before a generation is as small as it is.
const STUCK: usize = 50;
const VAIN: usize = 200;

/// A schedule that is to be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub genome: Genome,
    pub script: Vec<String>,
}

/// A search under way.
pub struct Search<'s> {
    space: &'s Space,
    kind: Kind,
    random: Random,
    /// What is measured first.
    starts: VecDeque<Genome>,
    seen: BTreeSet<Vec<String>>,
    /// What was measured, the best first.
    scored: Vec<(f64, Genome)>,
    /// Steps from the best one that were not tried yet.
    steps: Vec<(usize, usize)>,
}

impl<'s> Search<'s> {
    #[must_use]
    pub fn new(space: &'s Space, (kind, seed): (Kind, u64), starts: Vec<Genome>) -> Self {
        Search {
            space,
            kind,
            random: Random::new(seed),
            starts: starts.into(),
            seen: BTreeSet::new(),
            scored: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// The next schedules, none that was there before; fewer than asked for where the space has no
    /// more.
    pub fn generation(&mut self, size: usize) -> Vec<Candidate> {
        let mut all = Vec::new();
        let mut vain = 0;
        while all.len() < size && vain < VAIN {
            let genome = match self.starts.pop_front() {
                Some(start) => start,
                None => self.next(all.len(), vain > STUCK),
            };
            match express(self.space, &genome) {
                Some(script) if self.seen.insert(script.clone()) => {
                    all.push(Candidate { genome, script });
                }
                Some(_) | None => vain += 1,
            }
        }
        all
    }

    /// Tells what a schedule took.
    pub fn score(&mut self, genome: &Genome, seconds: f64) {
        self.scored.retain(|(_, other)| other != genome);
        let at = self.scored.partition_point(|(other, _)| *other <= seconds);
        self.scored.insert(at, (seconds, genome.clone()));
        if at == 0 {
            self.steps = self.all_steps(genome);
        }
    }

    /// `stuck`: steps lead to what is known.
    fn next(&mut self, nth: usize, stuck: bool) -> Genome {
        if self.kind == Kind::Random {
            return self.space.drawn(&mut self.random);
        }
        if (nth.is_multiple_of(2) || self.scored.len() < FEW)
            && !stuck
            && let Some((gene, value)) = self.steps.pop()
            && let Some((_, best)) = self.scored.first()
        {
            let mut step = best.clone();
            step[gene] = value;
            return step;
        }
        if self.scored.len() < 3 {
            return self.space.drawn(&mut self.random);
        }
        self.child()
    }

    /// Every genome that differs from this one in one gene that counts: near ones last, which is where they are
    /// taken from, each part in random order.
    fn all_steps(&mut self, genome: &Genome) -> Vec<(usize, usize)> {
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for (at, gene) in self.space.genes.iter().enumerate() {
            if !self.space.counts(genome, at) {
                continue;
            }
            let steps = gene.near(genome[at]);
            for value in (0..gene.choices).filter(|&value| value != genome[at]) {
                match steps.contains(&value) {
                    true => near.push((at, value)),
                    false => far.push((at, value)),
                }
            }
        }
        for steps in [&mut far, &mut near] {
            // Fisher and Yates.
            for last in (1..steps.len()).rev() {
                steps.swap(last, choice(&mut self.random, last + 1));
            }
        }
        far.append(&mut near);
        far
    }

    /// Each gene of one of three parents, or drawn.
    fn child(&mut self) -> Genome {
        let parents = [self.parent(), self.parent(), self.parent()];
        let mut child = Genome::new();
        for (at, gene) in self.space.genes.iter().enumerate() {
            child.push(if self.random.below(MUTATION) == 0 {
                choice(&mut self.random, gene.choices)
            } else {
                let parent = parents[choice(&mut self.random, parents.len())];
                self.scored[parent].1[at]
            });
        }
        child
    }

    /// One of the best, the more likely the faster it is.
    fn parent(&mut self) -> usize {
        let all = &self.scored[..self.scored.len().min(POPULATION)];
        let fitness = |seconds: f64| 1.0 / seconds.max(1e-12);
        let total: f64 = all.iter().map(|(seconds, _)| fitness(*seconds)).sum();
        let mut place = self.random.unit() * total;
        let reached = all.iter().position(|(seconds, _)| {
            place -= fitness(*seconds);
            place <= 0.0
        });
        reached.unwrap_or(0)
    }
}
