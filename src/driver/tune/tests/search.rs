//! Steps, and children of parents.

use super::{SPMM, space};
use crate::data::generate::Random;
use crate::driver::tune::decisions::Free;
use crate::driver::tune::search::{Kind, Search};
use crate::driver::tune::space::{Decision, Genome};

/// Until there are parents, and in turns with children later, one choice of the best one is another; each choice
/// of a child is one of its three parents', or drawn.
#[test]
fn steps_come_first_and_children_have_three_parents() {
    let space = space(SPMM);
    let mut search = Search::new(&space, (Kind::Genetic, 3), vec![space.usual(0)]);
    let mut best = (f64::INFINITY, space.usual(0));
    let mut scored: Vec<Genome> = Vec::new();
    let (mut steps, mut others) = (0, 0);
    for _ in 0..8 {
        let (best_before, known) = (best.1.clone(), scored.clone());
        for candidate in search.generation(8) {
            let differs = best_before.iter().zip(&candidate.genome);
            let few = known.len() < 16;
            if differs.filter(|(a, b)| a != b).count() <= 1 {
                steps += 1;
            } else if !known.is_empty() {
                assert!(!few, "{:?}", candidate.genome);
                others += 1;
            }
            let text = candidate.script.join("\n");
            let mut random = Random::new(text.bytes().map(u64::from).sum());
            let seconds = 1.0 + random.unit();
            search.score(&candidate.genome, seconds);
            scored.push(candidate.genome.clone());
            if seconds < best.0 {
                best = (seconds, candidate.genome);
            }
        }
    }
    assert!(steps >= 16 && others >= 8, "{steps} {others}");
}

/// Numbers have the next smaller and larger ones beside them, whatever their order.
#[test]
fn near_choices_are_those_beside() {
    let space = space(SPMM);
    let split = space.genes.iter().find(|gene| gene.name == "S0.split.i");
    let split = split.unwrap();
    let Decision::Free(.., Free::Split(_, values)) = &split.what else {
        panic!("{split:?}");
    };
    for (at, own) in values.iter().enumerate() {
        let near: Vec<i64> = split.near(at).iter().map(|&n| values[n]).collect();
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let place = sorted.iter().position(|v| v == own).unwrap();
        let mut wanted = Vec::new();
        wanted.extend(place.checked_sub(1).map(|n| sorted[n]));
        wanted.extend(sorted.get(place + 1));
        assert_eq!(near, wanted, "{own} of {values:?}");
    }
    let place = space.genes.iter().find(|g| g.name.starts_with("S0.place"));
    assert!(place.unwrap().near(0).is_empty());
}
