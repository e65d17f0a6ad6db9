//! Sums that are taken before other factors are met: `y(i) = A(i,j) * B(j,k) * x(k)` in one nest
//! multiplies the matrices; with `B(j,k) * x(k)` in a workspace it takes as many steps as they
//! store elements.
//!
//! A product is planned recursively, after SparseLNR's and SpTTN-Cyclops' trees of loops: inside
//! some loops, the factors that alone have some of the summed variables become a workspace over
//! the other variables that they have, and both nests are planned on. Orders of loops in which
//! no sparse operand has to be searched are tried, and all such sets of factors, within the
//! limits here and in [`super::factors`]; the cost is steps, reads at the innermost loop, and what
//! is cleared, by [`super::estimate`]. Plans that win little are left to measurement.

use super::estimate::{Around, Factor, Loops, Stored};
use super::factors::{Product, loops};
use super::plan::{ABOUT, Best, Lanes, Of, Plan, Split};
use super::profile::Estimate;
use super::{Statistics, Writer};
use crate::graph::{Graph, Nest};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Parts that are planned before no more orders are tried.
const MOST_TASKS: usize = 3_000;

/// The loops of a nest's product, some sums taken before others if that costs less than one nest.
pub(super) fn best(writer: &Writer, statistics: &Statistics) -> Option<Best> {
    let product = Product::of(writer.graph, writer.nest, statistics)?;
    Some(search(writer, product, false))
}

/// The same of a result whose rows its nest collects. Workspaces list what they hold, as such rows do
/// ([`Graph::with_list`]).
pub(super) fn best_of_rows(writer: &Writer, statistics: &Statistics) -> Option<Best> {
    let product = Product::of_rows(writer.graph, writer.nest, statistics)?;
    Some(search(writer, product, true))
}

/// The loops of this product.
pub(super) fn search(writer: &Writer, product: Product, lists: bool) -> Best {
    let written: Vec<usize> = (0..product.vars.len()).collect();
    let all: Vec<usize> = (0..product.factors.len()).collect();
    let mut search = Search {
        profile: &writer.profile.estimate,
        extents: &product.extents,
        left: product.result.vars,
        in_parts: product.in_parts,
        lists,
        factors: product.factors.clone(),
        known: BTreeMap::new(),
    };
    let one_nest = search.one_nest((&all, &product.result), &written, 0);
    let mut best: Option<(Rc<Plan>, Vec<usize>)> = None;
    for order in product.orders() {
        if search.known.len() > MOST_TASKS {
            break;
        }
        let limit = match &best {
            Some((plan, _)) => plan.cost * ABOUT,
            None => one_nest / ABOUT,
        };
        let Some(plan) = search.plan((&all, &product.result), &order, 0, limit) else {
            continue;
        };
        // Of those that cost the same, the first: the program's order, if it may be kept.
        if best.as_ref().is_none_or(|(b, _)| plan.is_better(b)) {
            best = Some((plan, order));
        }
    }
    let (plan, order) = best.unwrap_or((Rc::new(Plan::of_one_nest(one_nest)), written));
    let gain = one_nest / plan.cost;
    Best {
        product,
        plan,
        order,
        gain,
        least_gain: writer.profile.estimate.gain,
    }
}

/// Whether sizes and what operands store may decide how the nest is planned: some of the factors
/// have a sum of their own.
pub(super) fn asks(graph: &Graph, nest: &Nest) -> bool {
    let unknown = Statistics::default();
    let own = Product::of(graph, nest, &unknown);
    let Some(product) = own.or_else(|| Product::of_rows(graph, nest, &unknown)) else {
        return false;
    };
    let of = |chosen: usize, taken: bool| {
        let factors = product.factors.iter().enumerate();
        let own = factors.filter(|(n, _)| (chosen >> n & 1 == 1) == taken);
        own.fold(0, |set, (_, factor)| set | factor.vars)
    };
    let mut parts = 1..(1_usize << product.factors.len()) - 1;
    product.in_parts
        && parts.any(|part| of(part, true) & !of(part, false) & !product.result.vars != 0)
}

struct Search<'p> {
    profile: &'p Estimate,
    extents: &'p [f64],
    /// The loops of the left side.
    left: Loops,
    /// Some factors may be summed before others are met.
    in_parts: bool,
    /// Workspaces list what they hold.
    lists: bool,
    /// Those of the program, and workspaces: each once.
    factors: Vec<Factor>,
    known: BTreeMap<Task, Known>,
}

/// What a plan is for: factors, the result's loops, the loops in their order, those that are open.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Task {
    factors: Vec<usize>,
    result: (Loops, Loops),
    order: Vec<usize>,
    open: Loops,
}

#[derive(Clone)]
enum Known {
    Best(Rc<Plan>),
    /// Nothing costs less.
    AtLeast(f64),
}

/// Factors and what becomes of their product.
type Goal<'t> = (&'t [usize], &'t Factor);

/// A workspace over these loops, outermost first.
fn workspace(over: &[usize]) -> Factor {
    Factor {
        vars: loops(over),
        along: over.last().map_or(0, |at| 1 << at),
        levels: Vec::new(),
    }
}

impl Search<'_> {
    fn vars(&self, factors: &[usize]) -> Loops {
        factors.iter().fold(0, |set, &f| set | self.factors[f].vars)
    }

    /// The number of a workspace as a factor.
    fn number_of(&mut self, held: &Factor) -> usize {
        let mut known = self.factors.iter();
        known.position(|f| f == held).unwrap_or_else(|| {
            self.factors.push(held.clone());
            self.factors.len() - 1
        })
    }

    /// Whether each of the factors shares one of these loops with others, over others. What does
    /// not would be multiplied each with each.
    fn is_connected(&self, factors: &[usize], within: Loops) -> bool {
        let vars = |&f: &usize| self.factors[f].vars & within;
        let mut left: Vec<Loops> = factors.iter().map(vars).collect();
        let mut reached = left.pop().unwrap_or(0);
        while let Some(at) = left.iter().position(|vars| vars & reached != 0) {
            reached |= left.swap_remove(at);
        }
        left.iter().all(|&vars| vars == 0)
    }

    fn walk(&self, factors: &[usize], order: &[usize], open: Loops) -> (Around, f64) {
        let factors: Vec<&Factor> = factors.iter().map(|&f| &self.factors[f]).collect();
        let mut reached = Around { open, runs: 1.0 };
        let mut cost = 0.0;
        for &at in order {
            let (inside, steps) = reached.inside(at, self.extents, &factors);
            reached = inside;
            cost += self.profile.step * steps;
        }
        (reached, cost)
    }

    /// The cost of all these loops around the product.
    fn one_nest(&self, (factors, result): Goal, order: &[usize], open: Loops) -> f64 {
        let (inside, cost) = self.walk(factors, order, open);
        let innermost = order.last().map_or(0, |at| 1 << at);
        let touched = factors.iter().map(|&f| &self.factors[f]).chain([result]);
        let price = |tensor: &Factor| match (tensor.vars & innermost, tensor.along & innermost) {
            (0, _) => self.profile.kept,
            (_, 0) => self.profile.far,
            (_, _) => self.profile.next,
        };
        cost + inside.runs * touched.map(price).sum::<f64>()
    }

    /// The cheapest way to run loops in this order around a product, if it costs less than `limit`.
    fn plan(&mut self, goal: Goal, order: &[usize], open: Loops, limit: f64) -> Option<Rc<Plan>> {
        let (factors, result) = goal;
        let task = Task {
            factors: factors.to_vec(),
            result: (result.vars, result.along),
            order: order.to_vec(),
            open,
        };
        match self.known.get(&task) {
            Some(Known::Best(plan)) => return (plan.cost < limit).then(|| plan.clone()),
            Some(Known::AtLeast(least)) if *least >= limit => return None,
            Some(Known::AtLeast(_)) | None => {}
        }
        let mut best = Plan::of_one_nest(self.one_nest(goal, order, open));
        let count = factors.len();
        let parts = match self.in_parts {
            true => (1_usize << count) - 1,
            false => 0,
        };
        for chosen in 1..parts {
            let (own, rest): (Vec<usize>, Vec<usize>) =
                (0..count).partition(|n| chosen >> n & 1 == 1);
            let numbers = |of: &[usize]| of.iter().map(|&n| factors[n]).collect::<Vec<_>>();
            let mine = self.vars(&numbers(&own));
            let others = self.vars(&numbers(&rest));
            let summed = mine & loops(order) & !others & !result.vars;
            if summed == 0 || !self.is_connected(&numbers(&own), loops(order)) {
                continue;
            }
            let first = order.iter().position(|at| summed >> at & 1 == 1);
            // Of those that cost the same, the smallest.
            for depth in (0..=first.unwrap_or(0)).rev() {
                // A workspace stands as far out as its factors allow.
                if depth == 0 || mine >> order[depth - 1] & 1 == 1 {
                    let most = limit.min(best.cost * ABOUT);
                    let parts = (own.as_slice(), rest.as_slice());
                    let plan = self.split(goal, parts, (order, depth), open, most);
                    best = plan.filter(|plan| plan.is_better(&best)).unwrap_or(best);
                }
            }
        }
        let found = Rc::new(best);
        let known = match found.cost < limit {
            true => Known::Best(found.clone()),
            false => Known::AtLeast(limit),
        };
        self.known.insert(task, known);
        (found.cost < limit).then_some(found)
    }

    /// What it costs to clear an element of a workspace of so many.
    fn clearing(&self, elements: f64) -> f64 {
        match elements <= self.profile.near_elements {
            true => self.profile.clear,
            false => self.profile.clear_far,
        }
    }

    /// A workspace that lists what these loops come to, and what it costs to look each of their products up; `None`
    /// if it would be a row of the result or full, or has more loops than a list.
    fn list(
        &self,
        factors: &[usize],
        producing: &[usize],
        (over, result): (&[usize], &Factor),
        open: Loops,
    ) -> Option<(Factor, f64)> {
        let [at] = *over else { return None };
        let stores = |&f: &usize| {
            let mut levels = self.factors[f].levels.iter();
            levels.any(|level| level.at == at && level.children.is_some())
        };
        if !factors.iter().any(stores) {
            return None;
        }
        let (inside, _) = self.walk(factors, producing, open);
        let held = (inside.runs / self.profile.merges).min(self.extents[at]);
        let levels = vec![Stored {
            at,
            children: Some(held),
        }];
        let list = Factor {
            levels,
            ..workspace(over)
        };
        (result.vars >> at & 1 == 0).then_some((list, inside.runs * self.profile.next))
    }

    /// Takes some factors into a workspace inside `depth` loops, if that costs less than `most`.
    fn split(
        &mut self,
        (factors, result): Goal,
        (own, rest): (&[usize], &[usize]),
        (order, depth): (&[usize], usize),
        open: Loops,
        most: f64,
    ) -> Option<Plan> {
        let numbers = |of: &[usize]| of.iter().map(|&n| factors[n]).collect::<Vec<_>>();
        let (outer, inner) = order.split_at(depth);
        let (mine, others) = (self.vars(&numbers(own)), self.vars(&numbers(rest)));
        let summed = mine & !others & !result.vars;
        let (producing, consuming): (Vec<usize>, Vec<usize>) = (
            inner
                .iter()
                .copied()
                .filter(|at| mine >> at & 1 == 1)
                .collect(),
            inner
                .iter()
                .copied()
                .filter(|at| summed >> at & 1 == 0)
                .collect(),
        );
        let over: Vec<usize> = (producing.iter().copied())
            .filter(|at| consuming.contains(at))
            .collect();
        let elements: f64 = over.iter().map(|&at| self.extents[at]).product();
        let (inside, cost) = self.walk(factors, outer, open);
        let (held, making) = match self.lists {
            true => self.list(&numbers(own), &producing, (&over, result), inside.open)?,
            false => (workspace(&over), elements * self.clearing(elements)),
        };
        let cost = cost + inside.runs * making;
        if elements > self.profile.most_elements || cost >= most {
            return None;
        }
        let left = (most - cost) / inside.runs;
        let produced = self.plan((&numbers(own), &held), &producing, inside.open, left)?;
        let mut read = numbers(rest);
        read.push(self.number_of(&held));
        let left = left - produced.cost;
        let consumed = self.plan((&read, result), &consuming, inside.open, left)?;
        // Those of the parts, by their numbers in the whole.
        let behind = 1 + produced.splits.len();
        let split_of = |split: &Split, given: &dyn Fn(usize) -> Of, before: usize| Split {
            factors: (split.factors.iter())
                .map(|of| match *of {
                    Of::Given(n) => given(n),
                    Of::Made(n) => Of::Made(before + n),
                })
                .collect(),
            ..split.clone()
        };
        let in_own = |n: usize| Of::Given(own[n]);
        let in_rest = |n: usize| rest.get(n).map_or(Of::Made(0), |&n| Of::Given(n));
        let below = produced.splits.iter();
        let given = below.flat_map(|split| &split.factors).map(|of| match *of {
            Of::Given(n) => self.factors[factors[own[n]]].vars,
            Of::Made(n) => loops(&produced.splits[n].over),
        });
        let named = given.fold(0, |set, vars| set | vars);
        let is_first = depth == 0 && open == 0 && named & loops(&over) == 0;
        let last = over.last();
        let is_named = last.is_some_and(|at| named >> at & 1 == 1);
        let innermost = last.is_some() && producing.last() == last;
        // Lanes do not share a sum, and a name is a loop's wherever it stands.
        let is_kept = last.is_some_and(|at| self.left >> at & 1 == 1);
        let mut splits = vec![Split {
            factors: own.iter().map(|&n| Of::Given(n)).collect(),
            is_first,
            lanes: match innermost && !self.lists {
                true if is_first && over.len() > 1 => Lanes::Own,
                true if !is_first && is_kept && consuming.last() == last => Lanes::Both,
                true if !is_first && !is_named => Lanes::Own,
                true | false => Lanes::None,
            },
            is_shared: producing.first() == over.first(),
            over,
        }];
        splits.extend(
            produced
                .splits
                .iter()
                .map(|split| split_of(split, &in_own, 1)),
        );
        splits.extend(
            consumed
                .splits
                .iter()
                .map(|split| split_of(split, &in_rest, behind)),
        );
        Some(Plan {
            cost: cost + inside.runs * (produced.cost + consumed.cost),
            elements: elements + produced.elements + consumed.elements,
            splits,
        })
    }
}
