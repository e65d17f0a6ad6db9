//! The loops around the contractions of a product, from the outermost inwards.

use super::meeting::{By, Driver, Meeting};
use super::{Contraction, Item, Point, Product, Set, has, only};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The iterations of the loops around a place.
struct Frame {
    open: Set,
    /// Those of loops over variables of sparse operands.
    points: Rc<Vec<Point>>,
    /// How often others come to each.
    times: u64,
    /// What has something at all points, in which variables.
    met: Vec<(Item, Set)>,
}

/// Contractions, by the first of them and the one behind.
type Range = (usize, usize);
/// Points, by some of their values.
pub(super) type Below = BTreeMap<Point, Vec<Point>>;
/// Where the product of some factors may not be zero, in some variables, by those that are open.
pub(super) type Patterns = BTreeMap<(Set, Set, Set), Rc<Below>>;

/// Contractions, and the frame that they stand in.
type Key = (Range, Set, Vec<(Item, Set)>);

enum Known {
    Best(u64, Rc<str>),
    AtLeast(u64),
}

pub(super) struct Search<'p> {
    product: &'p Product,
    contractions: &'p [Contraction],
    patterns: &'p mut Patterns,
    known: BTreeMap<Key, Known>,
}

impl<'p> Search<'p> {
    pub(super) fn new(
        product: &'p Product,
        contractions: &'p [Contraction],
        patterns: &'p mut Patterns,
    ) -> Self {
        Search {
            product,
            contractions,
            patterns,
            known: BTreeMap::new(),
        }
    }

    /// The cheapest loops for all contractions, if they take fewer steps than `limit`.
    pub(super) fn whole(&mut self, limit: u64) -> Option<(u64, String)> {
        let outermost = Frame {
            open: 0,
            points: Rc::new(vec![[0; 8]]),
            times: 1,
            met: Vec::new(),
        };
        let (cost, nest) = self.nest((0, self.contractions.len()), &outermost, limit)?;
        Some((cost, nest.trim().to_string()))
    }

    /// The cheapest loops for some contractions in a frame, if they take fewer steps than `limit`.
    fn nest(&mut self, range: Range, frame: &Frame, limit: u64) -> Option<(u64, Rc<str>)> {
        let (first, end) = range;
        if first == end {
            return (limit > 0).then(|| (0, "".into()));
        }
        let key = (range, frame.open, frame.met.clone());
        match self.known.get(&key) {
            Some(Known::Best(cost, nest)) => return (*cost < limit).then(|| (*cost, nest.clone())),
            Some(Known::AtLeast(least)) if *least >= limit => return None,
            Some(Known::AtLeast(_)) | None => {}
        }
        let mut best: Option<(u64, Rc<str>)> = None;
        let mut limit_left = limit;
        let own = &self.contractions[first];
        if own.vars & !frame.open == 0
            && let Some((cost, behind)) = self.nest((first + 1, end), frame, limit_left)
        {
            limit_left = cost;
            best = Some((cost, format!("{} {behind}", self.name(own.left)).into()));
        }
        for last in first + 1..=end {
            let around = &self.contractions[first..last];
            // A copy may be made again and again.
            let copies = around.iter().all(|one| one.reads.len() == 1);
            let own = around.iter().filter(|one| copies || one.reads.len() > 1);
            let shared = own.fold(!frame.open, |vars, one| vars & one.vars);
            if !self.copies_rows((first, last), end, frame.open) {
                continue;
            }
            for var in (0..self.product.extents.len()).filter(|&var| has(shared, var)) {
                let Some((cost, inner)) = self.loop_over(var, (first, last), frame, limit_left)
                else {
                    continue;
                };
                let cost = cost + self.kept((first, last), end, frame);
                let rest = limit_left.saturating_sub(cost);
                if let Some((behind, text)) = self.nest((last, end), frame, rest) {
                    limit_left = cost + behind;
                    let name = self.product.names[var];
                    best = Some((limit_left, format!("{name}{{ {inner}}} {text}").into()));
                }
            }
        }
        let known = match &best {
            Some((cost, nest)) => Known::Best(*cost, nest.clone()),
            None => Known::AtLeast(limit),
        };
        self.known.insert(key, known);
        best
    }

    fn name(&self, item: Item) -> String {
        let factors = self.product.of(item.factors);
        factors.map(|factor| factor.name.as_str()).collect()
    }

    /// A loop around some contractions, with what stands inside.
    fn loop_over(
        &mut self,
        var: usize,
        range: Range,
        frame: &Frame,
        limit: u64,
    ) -> Option<(u64, Rc<str>)> {
        let open = frame.open | 1 << var;
        let is_innermost = self.contractions[range.0..range.1]
            .iter()
            .all(|s| s.vars & !open == 0);
        let is_stored = has(self.product.sparse(self.product.all()), var);
        let meeting = Meeting {
            drivers: self.drivers(var, range, frame),
            extent: self.product.extents[var],
            var,
        };
        let merges = meeting.merges();
        let mut counted = self.collected(var, range, frame.open);
        let mut iterations = 0;
        let mut points = Vec::new();
        for point in frame.points.iter() {
            let met = meeting.at(point);
            iterations += met.iterations * frame.times;
            counted += met.searched * frame.times;
            if iterations + counted >= limit {
                return None;
            }
            if is_stored && !is_innermost {
                points.extend(met.values.iter().map(|&value| {
                    let mut inside = *point;
                    inside[var] = value;
                    inside
                }));
            }
        }
        if is_innermost {
            let contractions = self.contractions[range.0..range.1].iter();
            let names: String = contractions.map(|one| self.name(one.left) + " ").collect();
            return Some((iterations + counted, names.into()));
        }
        if merges {
            counted += iterations;
        }
        let mut met = frame.met.clone();
        for driver in &meeting.drivers {
            met.retain(|(item, _)| *item != driver.item);
            met.push((driver.item, self.product.vars(driver.item) & open));
        }
        met.sort_unstable();
        let inside = match is_stored {
            true => Frame {
                open,
                points: Rc::new(points),
                times: frame.times,
                met,
            },
            false => Frame {
                open,
                points: frame.points.clone(),
                times: frame.times * self.product.extents[var],
                met,
            },
        };
        let (cost, nest) = self.nest(range, &inside, limit.saturating_sub(counted))?;
        // An iteration in which no loop runs is a step, too.
        Some(((cost + counted).max(iterations), nest))
    }

    /// What the product of some factors has in these variables, by those that are open.
    fn below(&mut self, factors: Set, vars: Set, open: Set) -> Rc<Below> {
        let product = self.product;
        let stored = self.patterns.entry((factors, vars, open));
        let stored = stored.or_insert_with(|| {
            let mut below = Below::new();
            for point in product.pattern(factors, vars) {
                below.entry(only(&point, open)).or_default().push(point);
            }
            Rc::new(below)
        });
        stored.clone()
    }

    /// Whether some contractions copy no more than a row for those behind.
    fn copies_rows(&self, (first, last): Range, end: usize, open: Set) -> bool {
        let mut copies = self.contractions[first..last]
            .iter()
            .filter(|one| one.reads.len() == 1);
        copies.all(|one| {
            let is_kept =
                (self.contractions[last..end].iter()).any(|s| s.reads.contains(&one.left));
            !is_kept || (one.vars & !open).count_ones() <= 1
        })
    }

    /// The elements that some contractions leave for those behind in more than a row.
    fn kept(&mut self, (first, last): Range, end: usize, frame: &Frame) -> u64 {
        let mut elements = 0;
        for one in &self.contractions[first..last] {
            let left = one.left;
            let is_kept =
                (self.contractions[last..end].iter()).any(|other| other.reads.contains(&left));
            let vars = self.product.vars(left);
            let sparse = vars & self.product.sparse(left.factors);
            if !is_kept || (sparse & !frame.open).count_ones() <= 1 {
                continue;
            }
            let open = sparse & frame.open;
            let below = self.below(left.factors, sparse, open);
            let dense = (0..self.product.extents.len())
                .filter(|&var| has(vars & !sparse & !frame.open, var))
                .map(|var| self.product.extents[var]);
            let each = (frame.points.iter()).map(|point| below.get(&only(point, open)));
            let stored: usize = each.flatten().map(Vec::len).sum();
            elements += stored as u64 * dense.product::<u64>() * frame.times;
        }
        elements
    }

    /// The steps that a sparse result's elements take if its rows are not computed in their order.
    fn collected(&mut self, var: usize, range: Range, open: Set) -> u64 {
        let (product, last) = (self.product, self.contractions.len());
        if range.1 < last || product.row != Some(var) {
            return 0;
        }
        let sums = self.contractions[last - 1].vars & !product.result;
        let rows = product.result & !(1 << var);
        if sums & open == 0 && rows & !open == 0 {
            return 0;
        }
        let elements = self.below(product.all(), product.result, 0);
        2 * elements.values().map(Vec::len).sum::<usize>() as u64
    }

    /// What a loop around some contractions walks or asks: operands whose next level it is, and what those before have
    /// left.
    fn drivers(&mut self, var: usize, (first, last): Range, frame: &Frame) -> Vec<Driver<'p>> {
        let product = self.product;
        let around = &self.contractions[first..last];
        let read: BTreeSet<Item> = around
            .iter()
            .flat_map(|s| s.reads.iter().copied())
            .collect();
        let before = read
            .into_iter()
            .filter(|item| around.iter().all(|s| s.left != *item));
        let mut found = Vec::new();
        for item in before.filter(|&item| has(product.vars(item), var)) {
            let sparse = product.sparse(item.factors);
            if item.is_left && has(sparse, var) {
                let open = product.vars(item) & sparse & frame.open;
                let below = self.below(item.factors, open | 1 << var, open);
                found.push(Driver {
                    item,
                    by: By::Asking(below, open),
                });
            } else if !item.is_left {
                let factor = &product.factors[item.factors.trailing_zeros() as usize];
                let open = frame.open | 1 << var;
                let reached = factor.vars.iter().take_while(|&&v| has(open, v)).count();
                let depth = factor.vars.iter().position(|&v| v == var);
                if let (Some(stored), Some(depth)) = (&factor.stored, depth)
                    && depth < reached
                {
                    found.push(Driver {
                        item,
                        by: By::Walking(factor, stored, depth..reached),
                    });
                }
            }
        }
        found
    }
}
