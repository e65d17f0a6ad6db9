//! What a product is planned to be: loops, and workspaces that hold the sums of some of its
//! factors.

use super::commands::Planned;
use super::factors::Product;
use super::{Statistics, Writer};
use std::rc::Rc;

/// Costs that differ by less are the same.
pub(super) const ABOUT: f64 = 1.01;
/// The cheapest way to run the loops of a nest's product.
pub(super) struct Best {
    pub(super) product: Product,
    pub(super) plan: Rc<Plan>,
    pub(super) order: Vec<usize>,
    /// How many times dearer one nest in the program's order is, by estimate.
    pub(super) gain: f64,
    /// How many times dearer it must be.
    pub(super) least_gain: f64,
}

impl Best {
    /// The plan in commands, if it costs much less than one nest.
    pub(super) fn planned(&self, writer: &Writer, statistics: &Statistics) -> Option<Planned> {
        let product = &self.product;
        // Orders alone matter where nothing but dense rows is walked, and these are long.
        let dense = product.factors.iter().all(|f| f.levels.is_empty());
        let long = self
            .order
            .last()
            .is_some_and(|&at| product.extents[at] > writer.profile.estimate.few);
        let counts = !self.plan.splits.is_empty() || (dense && long);
        (self.pays() && counts)
            .then(|| product.planned(writer, &self.plan, &self.order, (self.gain, statistics)))
    }

    /// Whether the estimate is trusted to say that the plan costs less.
    pub(super) fn pays(&self) -> bool {
        self.gain.is_finite() && self.gain >= self.least_gain
    }
}

/// A factor of the product that a plan is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of {
    /// By its number.
    Given(usize),
    /// A workspace, by the number of its split.
    Made(usize),
}

/// Factors that a workspace holds the product of.
#[derive(Clone, Debug)]
pub(super) struct Split {
    pub(super) factors: Vec<Of>,
    /// The loops that it is kept over, outermost first.
    pub(super) over: Vec<usize>,
    /// No loop stands around it, and no workspace below names its loops: they may have names
    /// of their own, for threads.
    pub(super) is_first: bool,
    /// The outermost loop that computes it runs over its elements.
    pub(super) is_shared: bool,
    pub(super) lanes: Lanes,
}

/// Whether the innermost loops of a workspace run over elements side by side, in vector lanes. gcc
/// unrolls those of a few iterations otherwise, and then finds no vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    None,
    /// The one that computes it, which has a name of its own.
    Own,
    /// That one and the one that reads it.
    Both,
}

#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Each time that it runs.
    pub(super) cost: f64,
    /// Of all its workspaces.
    pub(super) elements: f64,
    /// In the order of their commands: what stands outside comes first.
    pub(super) splits: Vec<Split>,
}

impl Split {
    /// Whether the loop that computes it has a name of its own, for its lanes.
    pub(super) fn is_own(&self, at: usize) -> bool {
        self.lanes == Lanes::Own && self.over.last() == Some(&at)
    }
}

impl Plan {
    pub(super) fn of_one_nest(cost: f64) -> Self {
        Plan {
            cost,
            elements: 0.0,
            splits: Vec::new(),
        }
    }

    /// Of plans that cost about the same, what needs less memory is better.
    pub(super) fn is_better(&self, other: &Plan) -> bool {
        let smaller = self.elements < other.elements;
        self.cost
            < if smaller {
                other.cost * ABOUT
            } else {
                other.cost / ABOUT
            }
    }
}
