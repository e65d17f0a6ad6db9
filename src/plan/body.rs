//! What is done, step by step: the loops of a plan, where operands stand in them, and where results go.

use super::exits::{Exit, Parts};
use crate::graph::access::AccessId;
use crate::graph::{Assign, Guard, Stmt, Tag};
use crate::program::ir::{ReduceOp, TensorId, VarId};
use crate::scalar::Literal;
use crate::units::Unit;
use std::collections::BTreeSet;
use std::convert::Infallible;

/// What is done where coordinates became known.
#[derive(Clone, Debug)]
pub struct Inside {
    /// What is left of the statement here.
    pub left: Stmt,
    /// Levels whose positions are found here, in this order.
    pub found: Vec<Found>,
    /// Levels of appended results whose coordinate is the one that became known.
    pub opened: Vec<Opened>,
    pub then: Then,
}

#[derive(Clone, Debug)]
pub enum Then {
    One(Node),
    /// Statements that share loops, one after the other, each where it finds its operands: what
    /// those before have stored can be found.
    Apart(Vec<Inside>),
}

/// A level of an operand of which the coordinate is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    pub access: AccessId,
    pub level: usize,
    pub by: By,
}

/// How the position of a coordinate is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Computed: there is an element at every coordinate.
    Arithmetic,
    /// Computed; whether there is an element is asked.
    Probe(Absent),
    /// Binary search.
    Search(Absent),
}

/// What is done where there is no element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// Nothing: all that follows stands behind a test.
    Skip,
    /// The statement goes on with the fill.
    Fill,
}

/// A level of an appended result whose coordinate became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    pub tensor: TensorId,
    pub level: usize,
    /// Of the innermost level: all sums in the element may be empty, and without them nothing is
    /// stored, so a flag says whether they were.
    pub vacuous: bool,
}

#[derive(Clone, Debug)]
pub enum Node {
    Loop(Box<Loop>),
    /// The loops inside stay within the positions or fused values that `var` runs over; the first
    /// `skipped` of their levels have none.
    Within {
        var: VarId,
        skipped: usize,
        body: Box<Node>,
    },
    Workspace(Box<Workspace>),
    Sequence(Vec<Node>),
    /// Where all of the guards hold; operands are found behind them.
    Guarded(Vec<Guard>, Box<Inside>),
    Assign(Assign, Write),
}

/// `producer` computes `temp`, then `consumer` reads it.
#[derive(Clone, Debug)]
pub struct Workspace {
    pub temp: TensorId,
    /// A scalar starts from this one's neutral element; an array is set up by its producer.
    pub init: Option<ReduceOp>,
    pub keeps: Keeps,
    /// Inside loops that threads or blocks share.
    pub threaded: bool,
    pub producer: Node,
    pub consumer: Node,
}

/// How the array of a workspace knows its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// Its producer sets all of them.
    All,
    /// It holds its fill before: its producer does not set all of it.
    Fill,
    /// It gets elements in any order, each at its first value, and is sorted behind its producer
    /// unless its level is in no order.
    Row,
    /// As [`Keeps::Row`], where all elements come or none: it holds its fill from the first loop that
    /// [completes](Loop::completes) it.
    Whole,
    /// As [`Keeps::Row`], and each element is found by hashing its coordinate: nothing is as long as a row.
    Hashed,
    /// As [`Keeps::Row`] by threads of a block together, through a table in which each element is found. Its consumer
    /// does no more than store it.
    Shared,
    /// As [`Keeps::Whole`] by threads of a block together; its consumer stores it as well.
    SharedWhole,
    /// It is the row of this result, whose coordinates are there: values are put where it has them.
    Put(TensorId),
    /// As [`Keeps::Put`] by threads of a block together, each of which looks up where.
    Found(TensorId),
    /// It says of each place whether an element is there, and forgets it behind its consumer.
    Noted,
}

impl Keeps {
    /// Whether elements are collected as they come, so that which there are is counted.
    #[must_use]
    pub fn is_row(self) -> bool {
        match self {
            Keeps::Row | Keeps::Whole | Keeps::Hashed | Keeps::Shared | Keeps::SharedWhole => true,
            Keeps::All | Keeps::Fill | Keeps::Put(_) | Keeps::Found(_) | Keeps::Noted => false,
        }
    }
}

impl Inside {
    /// Shows all that is done here to `f`, outer parts first, with the units around it.
    ///
    /// # Errors
    /// The first that `f` gives.
    pub fn visit<E>(&self, f: &mut impl FnMut(&Node, &[Unit]) -> Result<(), E>) -> Result<(), E> {
        self.visit_within(&mut Vec::new(), f)
    }

    /// As [`Inside::visit`], where nothing stops it.
    pub fn each(&self, f: &mut impl FnMut(&Node)) {
        let done: Result<(), Infallible> = self.visit(&mut |node, _| {
            f(node);
            Ok(())
        });
        match done {
            Ok(()) => {}
        }
    }

    fn visit_within<E>(
        &self,
        units: &mut Vec<Unit>,
        f: &mut impl FnMut(&Node, &[Unit]) -> Result<(), E>,
    ) -> Result<(), E> {
        match &self.then {
            Then::One(node) => node.visit_within(units, f),
            Then::Apart(parts) => parts.iter().try_for_each(|p| p.visit_within(units, f)),
        }
    }
}

impl Node {
    /// See [`Inside::visit`].
    ///
    /// # Errors
    /// The first that `f` gives.
    pub fn visit<E>(&self, f: &mut impl FnMut(&Node, &[Unit]) -> Result<(), E>) -> Result<(), E> {
        self.visit_within(&mut Vec::new(), f)
    }

    /// As [`Node::visit`], where nothing stops it.
    pub fn each(&self, f: &mut impl FnMut(&Node)) {
        let done: Result<(), Infallible> = self.visit(&mut |node, _| {
            f(node);
            Ok(())
        });
        match done {
            Ok(()) => {}
        }
    }

    fn visit_within<E>(
        &self,
        units: &mut Vec<Unit>,
        f: &mut impl FnMut(&Node, &[Unit]) -> Result<(), E>,
    ) -> Result<(), E> {
        f(self, units)?;
        match self {
            Node::Loop(l) => {
                let unit = l.tag.parallel.as_ref().map(|p| p.unit);
                units.extend(unit);
                let mut bodies = l.over.bodies().into_iter();
                bodies.try_for_each(|body| body.visit_within(units, f))?;
                units.truncate(units.len() - usize::from(unit.is_some()));
                Ok(())
            }
            Node::Within { body, .. } => body.visit_within(units, f),
            Node::Workspace(workspace) => {
                workspace.producer.visit_within(units, f)?;
                workspace.consumer.visit_within(units, f)
            }
            Node::Sequence(nodes) => nodes.iter().try_for_each(|n| n.visit_within(units, f)),
            Node::Guarded(_, body) => body.visit_within(units, f),
            Node::Assign(..) => Ok(()),
        }
    }
}

impl Over {
    /// What is done in the loop, one for each case.
    #[must_use]
    pub fn bodies(&self) -> Vec<&Inside> {
        match self {
            Over::Constant(..) => Vec::new(),
            Over::Every { body, .. }
            | Over::Positions { body, .. }
            | Over::Fused(body)
            | Over::Stored { body, .. } => vec![body],
            Over::Merge(merge) => merge.walk.bodies(),
        }
    }
}

impl Over {
    /// See [`Over::bodies`].
    pub(super) fn bodies_mut(&mut self) -> Vec<&mut Inside> {
        match self {
            Over::Constant(..) => Vec::new(),
            Over::Every { body, .. }
            | Over::Positions { body, .. }
            | Over::Fused(body)
            | Over::Stored { body, .. } => vec![body],
            Over::Merge(merge) => merge.walk.bodies_mut(),
        }
    }
}

impl Walk {
    pub(super) fn bodies(&self) -> Vec<&Inside> {
        match self {
            Walk::Nothing => Vec::new(),
            Walk::One(_, body) | Walk::Wide { body, .. } => vec![body],
            Walk::OneAndRest { body, rest, .. } => vec![body, rest],
            Walk::Leap(case) => vec![&case.inside],
            Walk::Cases(cases) => cases.iter().map(|case| &case.inside).collect(),
            Walk::Full { cases, rest } => {
                let cases = cases.iter().map(|case| &case.inside);
                cases.chain([rest]).collect()
            }
        }
    }

    /// See [`Walk::bodies`].
    pub(super) fn bodies_mut(&mut self) -> Vec<&mut Inside> {
        match self {
            Walk::Nothing => Vec::new(),
            Walk::One(_, body) | Walk::Wide { body, .. } => vec![body],
            Walk::OneAndRest { body, rest, .. } => vec![body, rest],
            Walk::Leap(case) => vec![&mut case.inside],
            Walk::Cases(cases) => cases.iter_mut().map(|case| &mut case.inside).collect(),
            Walk::Full { cases, rest } => {
                let cases = cases.iter_mut().map(|case| &mut case.inside);
                cases.chain([rest]).collect()
            }
        }
    }
}

/// A loop over `var`.
#[derive(Clone, Debug)]
pub struct Loop {
    pub var: VarId,
    pub tag: Tag,
    /// It runs over coordinates of a tile of positions, or over a part of these: there may be
    /// coordinates of none.
    pub cut: bool,
    pub over: Over,
    /// What its iterations compete for, if they are shared out.
    pub contest: Option<Contest>,
    /// The operand for whose sake it tries every coordinate, since it is not walked in this order
    /// of loops.
    pub tried: Option<AccessId>,
    /// What ends it, if data decide that further inside.
    pub exit: Option<Exit>,
    /// Of a loop over parts of a bounded variable's tile, others of which are gone through inside.
    pub parts: Option<Parts>,
    /// Of a loop over rows that threads share: the level of which each gets equally many elements.
    pub shares: Option<(AccessId, usize)>,
    /// Whether it adds to a workspace at each coordinate, so that it is known outside that there
    /// was something to add.
    pub adds: bool,
    /// The row of which it comes to all coordinates, see [`Keeps::Whole`].
    pub completes: Option<TensorId>,
}

/// Which values a loop visits.
#[derive(Clone, Debug)]
pub enum Over {
    /// None: the loops set all of a dense tensor to one value.
    Constant(TensorId, Literal),
    /// All of the variable's range, or those that a window around leaves; they determine the
    /// variable `root` of the program, if any.
    Every { root: Option<VarId>, body: Inside },
    /// Positions of an access that do not follow one another: the coordinates of each are searched.
    Positions {
        access: AccessId,
        pos: VarId,
        body: Inside,
    },
    /// Fused values that are taken apart one by one.
    Fused(Inside),
    /// What a level stores, within the positions that `pos` counts.
    Stored {
        access: AccessId,
        pos: VarId,
        level: usize,
        root: VarId,
        body: Inside,
    },
    /// What sparse levels store, together.
    Merge(Merge),
}

/// The sparse levels that a loop walks (see [`crate::graph::lattice`]).
#[derive(Clone, Debug)]
pub struct Merge {
    pub root: VarId,
    /// The accesses, and which level of each.
    pub levels: Vec<(AccessId, usize)>,
    pub walk: Walk,
}

/// How levels are walked together.
#[derive(Clone, Debug)]
pub enum Walk {
    /// Nothing is done at any coordinate.
    Nothing,
    /// One level, in which coordinates do not repeat.
    One(AccessId, Inside),
    /// One level in which coordinates do not repeat; `rest` once where it does not store all, since
    /// doing it again would change nothing.
    OneAndRest {
        id: AccessId,
        body: Inside,
        rest: Box<Inside>,
    },
    /// An intersection in which each operand leaps to the largest coordinate at hand.
    Leap(Case),
    /// Where some case holds, larger ones first: one loop a case, with the smaller ones as tests.
    Cases(Vec<Case>),
    /// Every coordinate; `rest` where no case holds.
    Full { cases: Vec<Case>, rest: Inside },
    /// Too many cases: one loop over the smallest coordinate, or all if `full`, in which each
    /// operand gives its value or its fill. The `required` ones must be there.
    Wide {
        required: BTreeSet<AccessId>,
        full: bool,
        body: Inside,
    },
}

/// What is done where exactly these operands are there.
#[derive(Clone, Debug)]
pub struct Case {
    pub present: BTreeSet<AccessId>,
    pub inside: Inside,
}

/// What iterations of a shared loop compete for.
#[derive(Clone, Debug, Default)]
pub struct Contest {
    /// Scalars that the loop reduces.
    pub reduced: Vec<(ReduceOp, TensorId)>,
    /// Arrays of which iterations write the same elements, and the loops whose iterations these
    /// are.
    pub arrays: BTreeSet<TensorId>,
    pub rivals: Vec<VarId>,
    /// Arrays of which each unit has a copy, and with what these are added up behind the loop.
    pub copies: Vec<(TensorId, ReduceOp)>,
    /// Whether it adds to a scalar or a workspace.
    pub adds: bool,
}

/// How an element is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// No other iteration writes it, or it is not said to matter.
    Plain,
    /// Atomically: iterations of these loops compete for it.
    InTurn(Vec<VarId>),
    /// This many threads of a segment group add up first.
    Segment(u32),
}
