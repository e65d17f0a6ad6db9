//! What relations answer: variables, offsets, and steps from loops up to what they derive from.

use super::Quantity;
use crate::program::ir::VarId;

/// The variables on one side of a relation: one or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vars(pub VarId, pub Option<VarId>);

impl Vars {
    /// One variable.
    #[must_use]
    pub fn one(var: VarId) -> Vars {
        Vars(var, None)
    }

    /// An outer and an inner one.
    #[must_use]
    pub fn two(outer: VarId, inner: VarId) -> Vars {
        Vars(outer, Some(inner))
    }

    #[must_use]
    pub fn contains(self, var: VarId) -> bool {
        self.0 == var || self.1 == Some(var)
    }
}

impl IntoIterator for Vars {
    type Item = VarId;
    type IntoIter = std::iter::Chain<std::iter::Once<VarId>, std::option::IntoIter<VarId>>;

    fn into_iter(self) -> Self::IntoIter {
        std::iter::once(self.0).chain(self.1)
    }
}

/// An offset as `base + stride * v` for the variable v of the loop at hand.
#[derive(Clone, Debug)]
pub struct Affine<Q> {
    pub base: Q,
    pub stride: Q,
}

/// The variable furthest up that a loop determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Top {
    /// None: other parts of its variable are still to come.
    Nothing,
    /// A variable of the program.
    Root(VarId),
    /// What counts positions.
    Position(VarId),
    /// What was fused.
    Fused(VarId),
}

/// What a loop determines of the variables that its own derives from.
#[derive(Clone, Debug)]
pub struct Climb<Q> {
    /// Where the loop begins besides zero: other loops may leave it values from further on. The
    /// last to come counts.
    pub begins: Vec<Q>,
    /// Where the loop ends besides its own extent: what may overshoot is bounded by the loop that
    /// completes it. The first to come counts.
    pub ends: Vec<Q>,
    /// Whether the loop's own number of values says something besides.
    pub own: bool,
    pub top: Top,
    /// The offset of the top; `None` if the loop comes to its values in no such order.
    pub affine: Option<Affine<Q>>,
    /// Whether the top has no other values than the loop: it was only renamed.
    pub whole: bool,
}

impl<Q: Quantity> Climb<Q> {
    pub(super) fn at(var: VarId) -> Self {
        Climb {
            begins: Vec::new(),
            ends: Vec::new(),
            own: true,
            top: Top::Root(var),
            affine: Some(Affine {
                base: Q::int(0),
                stride: Q::int(1),
            }),
            whole: true,
        }
    }
}

/// The values of a variable that others leave it: offsets from the last of the begins to the first
/// of the ends.
#[derive(Clone, Debug)]
pub struct Left<Q> {
    pub begins: Vec<Q>,
    pub ends: Vec<Q>,
    /// Whether the child, too, has those values and no others.
    pub all: bool,
}

/// One step of a climb: from a child, whose offset is affine in the loop at hand, to its parent.
#[derive(Clone, Debug)]
pub enum Lift<Q> {
    /// Other parts are still to come, or what a bound comes from; the loop ends here
    /// nevertheless, if at all.
    Open { end: Option<Q> },
    /// The parent's offset. Where it overshoots, the parent's extent ends the loop.
    Whole {
        whole: VarId,
        affine: Affine<Q>,
        overshoots: bool,
        left: Option<Left<Q>>,
    },
    /// The child is the last one whose offset is affine.
    Top(Top),
    /// The loop tells the value of this variable of the program, and comes to its values in any order.
    Scattered(VarId),
}
