//! The best nest of a product: brute force over all of them, on the coordinates themselves.
//!
//! A nest takes a product apart into contractions of two operands or more. What one leaves for another is a scalar, a
//! row, or more; it holds what may not be zero, like a sparse operand, and can be asked for a coordinate. A row of one
//! operand may be copied first, so that others ask it and are not merged with it; a copy of more would be the operand in
//! another format. Each loop stands around some contractions that follow one another and all have its variable; all
//! orders are tried, also those in which coordinates are searched. This is the recursion that the fact sheet on finding
//! schedules proposes (section 8, steps 5 and 6), with what is there in the place of estimates, and no bound on memory.
//!
//! What counts is what the interpreter counts: iterations of innermost loops and of merges (of two fingers), and
//! comparisons of searches. A row that is kept may be dense, and is set to zero by one call, for nothing. Where more is
//! kept of what is sparse, an element costs a step: it is put where it belongs. One of a sparse result that is not
//! computed in its order costs two: its mark is cleared, and it is appended.

mod meeting;
mod search;

use search::Search;
use std::collections::{BTreeMap, BTreeSet};

/// Variables, or factors, by their numbers.
type Set = u16;
/// The value of each variable; 0 of one whose loop is not open, or that no sparse operand has.
type Point = [u16; 8];

/// A product of operands whose variables are numbers.
pub struct Product {
    pub names: Vec<char>,
    pub extents: Vec<u64>,
    pub result: Set,
    /// The variable along the result's rows, if they are sparse.
    pub row: Option<usize>,
    pub factors: Vec<Factor>,
}

pub struct Factor {
    pub name: String,
    /// Of its levels, outermost first.
    pub vars: Vec<usize>,
    /// What is stored, if it is sparse.
    pub stored: Option<Stored>,
}

/// The coordinates of a sparse operand.
pub struct Stored {
    /// The outermost level has every coordinate.
    is_full: bool,
    /// The coordinates below each prefix of others.
    below: BTreeMap<Vec<u16>, Vec<u16>>,
}

impl Stored {
    pub fn of(elements: &BTreeSet<Vec<u64>>, is_full: bool) -> Self {
        let mut below: BTreeMap<Vec<u16>, Vec<u16>> = BTreeMap::new();
        for element in elements {
            let narrow = |&c: &u64| u16::try_from(c).expect("the data are small");
            let element: Vec<u16> = element.iter().map(narrow).collect();
            for depth in 0..element.len() {
                let coordinates = below.entry(element[..depth].to_vec()).or_default();
                if coordinates.last() != Some(&element[depth]) {
                    coordinates.push(element[depth]);
                }
            }
        }
        Stored { is_full, below }
    }

    fn at(&self, prefix: &[u16]) -> &[u16] {
        self.below.get(prefix).map_or(&[], Vec::as_slice)
    }
}

impl Factor {
    /// The coordinates of a level, in those of the levels above that a point has.
    fn level<'s>(&self, stored: &'s Stored, depth: usize, point: &Point) -> &'s [u16] {
        let prefix: Vec<u16> = self.vars[..depth].iter().map(|&var| point[var]).collect();
        stored.at(&prefix)
    }
}

pub fn set(vars: &[usize]) -> Set {
    vars.iter().fold(0, |set, var| set | 1 << var)
}

fn has(set: Set, var: usize) -> bool {
    set >> var & 1 == 1
}

/// A point's values of these variables.
fn only(point: &Point, vars: Set) -> Point {
    std::array::from_fn(|var| if has(vars, var) { point[var] } else { 0 })
}

/// What a contraction reads: an operand, or what another one has left of some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    factors: Set,
    is_left: bool,
}

/// A product of some items, or a copy of one.
#[derive(Clone)]
struct Contraction {
    reads: Vec<Item>,
    vars: Set,
    left: Item,
}

/// The least steps of a nest that takes fewer than `limit`, and this nest.
pub fn best(product: &Product, limit: u64) -> Option<(u64, String)> {
    let mut patterns = BTreeMap::new();
    let mut best: Option<(u64, String)> = None;
    for contractions in product.sequences() {
        let limit = best.as_ref().map_or(limit, |(cost, _)| *cost);
        let found = Search::new(product, &contractions, &mut patterns).whole(limit);
        best = found.or(best);
    }
    best
}

impl Product {
    fn all(&self) -> Set {
        (1 << self.factors.len()) - 1
    }

    fn of(&self, factors: Set) -> impl Iterator<Item = &Factor> {
        let numbered = self.factors.iter().enumerate();
        let own = numbered.filter(move |(at, _)| has(factors, *at));
        own.map(|(_, factor)| factor)
    }

    fn all_vars(&self, factors: Set) -> Set {
        self.of(factors).fold(0, |vars, f| vars | set(&f.vars))
    }

    fn vars(&self, item: Item) -> Set {
        let own = self.all_vars(item.factors);
        match item.is_left {
            true => own & (self.all_vars(self.all() & !item.factors) | self.result),
            false => own,
        }
    }

    /// The variables of the sparse operands among some.
    fn sparse(&self, factors: Set) -> Set {
        let sparse = self.of(factors).filter(|f| f.stored.is_some());
        sparse.fold(0, |vars, factor| vars | set(&factor.vars))
    }

    /// All ways to take the product apart.
    fn sequences(&self) -> Vec<Vec<Contraction>> {
        let given = (0..self.factors.len()).map(|at| Item {
            factors: 1 << at,
            is_left: false,
        });
        let mut all = Vec::new();
        self.complete(&given.collect::<Vec<_>>(), &mut Vec::new(), &mut all);
        all
    }

    fn complete(
        &self,
        items: &[Item],
        contractions: &mut Vec<Contraction>,
        all: &mut Vec<Vec<Contraction>>,
    ) {
        if items.len() == 1 {
            return all.push(contractions.clone());
        }
        let chosen = |of: usize| {
            let own = items.iter().enumerate();
            own.filter(move |(at, _)| of >> at & 1 == 1)
                .map(|(_, item)| *item)
        };
        let subsets = (1_usize..1 << items.len()).map(|of| chosen(of).collect::<Vec<_>>());
        let has_copied = contractions.iter().any(|one| one.reads.len() == 1);
        let mut choices: Vec<_> = subsets
            .filter(|reads| match reads.as_slice() {
                [only] => !only.is_left && !has_copied && self.sparse(only.factors) != 0,
                [..] => true,
            })
            .collect();
        // Of nests that cost the same, the one with the fewest contractions.
        choices.sort_by_key(|reads| std::cmp::Reverse(reads.len()));
        for reads in choices {
            let left = Item {
                factors: reads.iter().fold(0, |set, item| set | item.factors),
                is_left: true,
            };
            let others = items.iter().copied().filter(|item| !reads.contains(item));
            let next: Vec<Item> = others.chain([left]).collect();
            let vars = reads.iter().fold(0, |vars, &item| vars | self.vars(item));
            contractions.push(Contraction { reads, vars, left });
            self.complete(&next, contractions, all);
            contractions.pop();
        }
    }

    /// Where the product of some factors may not be zero, in these variables.
    fn pattern(&self, factors: Set, vars: Set) -> BTreeSet<Point> {
        let mut points = vec![[0; 8]];
        let mut open: Set = 0;
        for factor in self.of(factors) {
            let Some(stored) = &factor.stored else {
                continue;
            };
            for (depth, &var) in factor.vars.iter().enumerate() {
                let mut next = Vec::new();
                for point in points {
                    let coordinates = factor.level(stored, depth, &point);
                    if !has(open, var) {
                        next.extend(coordinates.iter().map(|&c| {
                            let mut inside = point;
                            inside[var] = c;
                            inside
                        }));
                    } else if coordinates.binary_search(&point[var]).is_ok() {
                        next.push(point);
                    }
                }
                points = next;
                open |= 1 << var;
            }
        }
        points.iter().map(|point| only(point, vars)).collect()
    }
}
