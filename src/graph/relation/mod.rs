//! How the variables of loops derive from one another: one file for each command that makes some.
//!
//! A relation ties *parents*, which it took apart or renamed, to *children*, which have loops
//! instead. What it says of them it says in terms of [`Quantity`], for any [`Values`] that are
//! known at a place: lowering asks with expressions of the kernel, `schedule` with the variables
//! that such an expression would depend on, `promote` with affine sums of loops, tests with
//! numbers. Nobody asks which relation it is: a new one is a file here and a line in the list
//! below (after TACO's `IndexVarRelNode`, 000 chapter 6, which answers with C expressions only).

mod answers;
mod bound;
mod coord;
mod divide;
mod fuse;
mod inspect;
mod partition;
mod pos;
mod precompute;
mod shift;
mod skew;
mod split;
#[cfg(test)]
mod tests;
mod tiles;
mod values;

pub use answers::{Affine, Climb, Left, Lift, Top, Vars};
pub use bound::{Bound, BoundKind};
pub use coord::Coord;
pub use divide::Divide;
pub use fuse::Fuse;
pub use inspect::Inspect;
pub use partition::{By, Partition};
pub use pos::Pos;
pub use precompute::Precompute;
pub use shift::Shift;
pub use skew::Skew;
pub use split::Split;
pub use tiles::Tiles;
pub use values::{Cut, Quantity, Sizes, Values};

use super::{Graph, Provenance};
use crate::program::ir::{TensorId, VarId};

/// What a command says about the variables it made.
pub trait RelationType {
    /// The command.
    fn name(&self) -> &'static str;
    fn parents(&self) -> Vars;
    fn children(&self) -> Vars;
    /// The arguments of the command, as schedules write them.
    fn arguments(&self, graph: &Graph) -> String;

    /// The children that together tell the value of a parent.
    fn parts(&self, _: VarId) -> Vars {
        self.children()
    }

    /// The parents that a child is made of.
    fn made_of(&self, _: VarId) -> Vars {
        self.parents()
    }

    /// The parents that tell the value of a child.
    fn told_by(&self, child: VarId) -> Vars {
        self.made_of(child)
    }

    // What follows is said as of a renaming: the child has the parent's values again.

    /// The number of values of a child.
    fn extent<'g, V: Values<'g> + ?Sized>(&self, _: VarId, v: &mut V) -> Option<V::Quantity> {
        v.extent(self.parents().0)
    }

    /// A parent's offset, from those of the children.
    fn parent_offset<'g, V: Values<'g> + ?Sized>(
        &self,
        _: VarId,
        v: &mut V,
    ) -> Option<V::Quantity> {
        v.by_parts(self.children().0)
    }

    /// A child's offset, from those of the parents.
    fn child_offset<'g, V: Values<'g> + ?Sized>(&self, _: VarId, v: &mut V) -> Option<V::Quantity> {
        v.offset(self.parents().0)
    }

    /// The parent's offset, where the child's is affine in the loop at hand; `None` if a number
    /// of values in it is not known.
    fn lift<'g, V: Values<'g> + ?Sized>(
        &self,
        _: VarId,
        affine: Affine<V::Quantity>,
        v: &mut V,
    ) -> Option<Lift<V::Quantity>> {
        let whole = self.parents().0;
        // The loop may run before the end that data decide is known, and is left there.
        if self.is_bounded() && v.graph().data_decides(whole) && !v.has_range(whole) {
            return Some(Lift::Open { end: None });
        }
        Some(Lift::Whole {
            whole,
            affine,
            overshoots: self.overshoots(v),
            left: None,
        })
    }

    /// Whether the children have values beyond the parent's.
    fn overshoots<'g, V: Values<'g> + ?Sized>(&self, _: &mut V) -> bool {
        false
    }

    /// The variable of the loop over a child where its offset is zero: parts count from zero.
    fn origin<'g, V: Values<'g> + ?Sized>(&self, _: VarId, _: &mut V) -> Option<V::Quantity> {
        Some(V::Quantity::int(0))
    }

    /// The variable some of whose values a child has: a part, or all of them again. `None` for
    /// what counts something else.
    fn part_of(&self, _: VarId, _: &Provenance) -> Option<VarId> {
        Some(self.parents().0)
    }

    /// The variable over consecutive values of which a child runs.
    fn consecutive_in(&self, _: VarId, _: &Provenance) -> Option<VarId> {
        Some(self.parents().0)
    }

    /// Whether the parent's values ascend with those of the children's loops, one inside the other.
    fn ascends(&self) -> bool {
        true
    }

    // What else a relation may be:

    /// What takes a variable apart into tiles.
    fn tiles(&self) -> Option<Tiles> {
        None
    }

    /// The variables that are one now, the outer one first.
    fn fuses(&self) -> Option<(VarId, VarId)> {
        None
    }

    /// Whether its variables are counted by how many values a parent has: that number is the same
    /// wherever it is asked.
    fn measures(&self) -> bool {
        false
    }

    /// The scalar that an inspector computes.
    fn inspected(&self) -> Option<TensorId> {
        None
    }

    /// The variable that has values of others added.
    fn skews(&self) -> Option<VarId> {
        None
    }

    /// Which positions its child counts.
    fn counts(&self) -> Option<&Pos> {
        None
    }

    /// The same, to change it.
    fn counts_mut(&mut self) -> Option<&mut Pos> {
        None
    }

    /// Parts that data decide.
    fn partition(&self) -> Option<&Partition> {
        None
    }

    /// The coordinates of which positions its child runs over.
    fn coordinates(&self) -> Option<Coord> {
        None
    }

    /// What the user says about the range of its parent.
    fn promise(&self) -> Option<&Bound> {
        None
    }

    /// Whether the child's loop may run before the range of the parent is known.
    fn is_bounded(&self) -> bool {
        false
    }

    /// Whether the child has all values of the parent, one for one, whatever the data say.
    fn is_renaming(&self, _: &Provenance) -> bool {
        false
    }
}

/// One transformation of variables.
#[derive(Clone, Debug)]
pub enum Relation {
    Split(Split),
    Divide(Divide),
    Fuse(Fuse),
    Pos(Pos),
    Coord(Coord),
    Bound(Bound),
    Inspect(Inspect),
    Precompute(Precompute),
    Shift(Shift),
    Skew(Skew),
    Partition(Partition),
}

/// The list of relations: asks the one at hand.
macro_rules! ask {
    ($relation:expr, $r:ident => $answer:expr) => {
        match $relation {
            Relation::Split($r) => $answer,
            Relation::Divide($r) => $answer,
            Relation::Fuse($r) => $answer,
            Relation::Pos($r) => $answer,
            Relation::Coord($r) => $answer,
            Relation::Bound($r) => $answer,
            Relation::Inspect($r) => $answer,
            Relation::Precompute($r) => $answer,
            Relation::Shift($r) => $answer,
            Relation::Skew($r) => $answer,
            Relation::Partition($r) => $answer,
        }
    };
}

/// See [`RelationType`].
impl Relation {
    #[must_use]
    pub fn name(&self) -> &'static str {
        ask!(self, r => r.name())
    }

    #[must_use]
    pub fn parents(&self) -> Vars {
        ask!(self, r => r.parents())
    }

    #[must_use]
    pub fn children(&self) -> Vars {
        ask!(self, r => r.children())
    }

    #[must_use]
    pub fn parts(&self, parent: VarId) -> Vars {
        ask!(self, r => r.parts(parent))
    }

    #[must_use]
    pub fn made_of(&self, child: VarId) -> Vars {
        ask!(self, r => r.made_of(child))
    }

    #[must_use]
    pub fn told_by(&self, child: VarId) -> Vars {
        ask!(self, r => r.told_by(child))
    }

    #[must_use]
    pub fn arguments(&self, graph: &Graph) -> String {
        ask!(self, r => r.arguments(graph))
    }

    pub fn extent<'g, V: Values<'g> + ?Sized>(
        &self,
        child: VarId,
        v: &mut V,
    ) -> Option<V::Quantity> {
        ask!(self, r => r.extent(child, v))
    }

    pub fn parent_offset<'g, V: Values<'g> + ?Sized>(
        &self,
        parent: VarId,
        v: &mut V,
    ) -> Option<V::Quantity> {
        ask!(self, r => r.parent_offset(parent, v))
    }

    pub fn child_offset<'g, V: Values<'g> + ?Sized>(
        &self,
        child: VarId,
        v: &mut V,
    ) -> Option<V::Quantity> {
        ask!(self, r => r.child_offset(child, v))
    }

    pub fn lift<'g, V: Values<'g> + ?Sized>(
        &self,
        child: VarId,
        affine: Affine<V::Quantity>,
        v: &mut V,
    ) -> Option<Lift<V::Quantity>> {
        ask!(self, r => r.lift(child, affine, v))
    }

    pub fn overshoots<'g, V: Values<'g> + ?Sized>(&self, v: &mut V) -> bool {
        ask!(self, r => r.overshoots(v))
    }

    pub fn origin<'g, V: Values<'g> + ?Sized>(
        &self,
        child: VarId,
        v: &mut V,
    ) -> Option<V::Quantity> {
        ask!(self, r => r.origin(child, v))
    }

    #[must_use]
    pub fn part_of(&self, child: VarId, provenance: &Provenance) -> Option<VarId> {
        ask!(self, r => r.part_of(child, provenance))
    }

    #[must_use]
    pub fn consecutive_in(&self, child: VarId, provenance: &Provenance) -> Option<VarId> {
        ask!(self, r => r.consecutive_in(child, provenance))
    }

    #[must_use]
    pub fn ascends(&self) -> bool {
        ask!(self, r => r.ascends())
    }

    #[must_use]
    pub fn tiles(&self) -> Option<Tiles> {
        ask!(self, r => r.tiles())
    }

    #[must_use]
    pub fn fuses(&self) -> Option<(VarId, VarId)> {
        ask!(self, r => r.fuses())
    }

    #[must_use]
    pub fn measures(&self) -> bool {
        ask!(self, r => r.measures())
    }

    #[must_use]
    pub fn inspected(&self) -> Option<TensorId> {
        ask!(self, r => r.inspected())
    }

    #[must_use]
    pub fn skews(&self) -> Option<VarId> {
        ask!(self, r => r.skews())
    }

    #[must_use]
    pub fn partition(&self) -> Option<&Partition> {
        ask!(self, r => r.partition())
    }

    #[must_use]
    pub fn counts(&self) -> Option<&Pos> {
        ask!(self, r => r.counts())
    }

    pub fn counts_mut(&mut self) -> Option<&mut Pos> {
        ask!(self, r => r.counts_mut())
    }

    #[must_use]
    pub fn coordinates(&self) -> Option<Coord> {
        ask!(self, r => r.coordinates())
    }

    #[must_use]
    pub fn promise(&self) -> Option<&Bound> {
        ask!(self, r => r.promise())
    }

    #[must_use]
    pub fn is_bounded(&self) -> bool {
        ask!(self, r => r.is_bounded())
    }

    #[must_use]
    pub fn is_renaming(&self, provenance: &Provenance) -> bool {
        ask!(self, r => r.is_renaming(provenance))
    }

    /// The command that makes it.
    #[must_use]
    pub fn text(&self, graph: &Graph) -> String {
        format!("{}({})", self.name(), self.arguments(graph))
    }
}

/// The names of variables between commas.
fn names(graph: &Graph, vars: &[VarId]) -> String {
    let names: Vec<String> = vars
        .iter()
        .map(|&v| super::print::var_text(graph, v))
        .collect();
    names.join(", ")
}
