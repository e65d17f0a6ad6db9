//! What lowering decides, as data: which iteration each loop is, where operands stand, where
//! results go, what iterations compete for, what has to hold its fill before.
//!
//! A plan is made from each of the graph's trees in one walk ([`walk`]); each kind of decision is one file:
//!
//! | question | answered in |
//! |---|---|
//! | what do the loops around tell? | [`around`] |
//! | which level is found where, and how? | [`locate`] |
//! | what do iterations compete for, and what settles it? | [`contest`] |
//! | how are a result's elements made, and which rows may be skipped? | [`results`] |
//! | which elements does a statement set? | [`coverage`] |
//! | which loops try coordinates that nothing may be stored at? | [`gaps`] |
//! | where does a loop end whose end data decide? | [`exits`] |
//! | what do threads get equally much of? | [`shares`] |
//! | how much is stored at most? | [`most`] |
//! | which results get their elements row by row, in any order of rows? | [`spread`] |
//! | what is counted before it is stored, and by whom? | [`phases`] |
//! | what does a phase do that counts first? | [`counting`] |
//! | which levels in no order are asked for their order? | [`unordered`] |
//! | what can no loops be written for? | [`refusal`] |
//!
//! `schedule` makes a plan after each command and refuses the command if there is none; `lower`
//! writes the loops of a plan and decides nothing of this again. [`text`] prints it
//! (`show --stage plan`).

mod around;
mod body;
mod contest;
pub mod counting;
mod coverage;
mod exits;
mod full;
mod gaps;
mod kept;
mod locate;
mod most;
mod phases;
mod refusal;
mod results;
mod shared;
mod shares;
mod spread;
#[cfg(test)]
mod tests;
pub mod text;
mod tree;
mod unordered;
mod walk;
mod whole;

use crate::diagnostic::{Diagnostic, Span};
use crate::graph::access::{AccessId, Table};
use crate::graph::simplify::Operands;
use crate::graph::tree::{concretize, groups};
use crate::graph::{Graph, Nest, Stmt};
use crate::program::ir::{ReduceOp, Tensor, TensorId, VarId};
pub use body::{
    Absent, By, Case, Contest, Found, Inside, Keeps, Loop, Merge, Node, Opened, Over, Then, Walk,
    Workspace, Write,
};
pub use coverage::Coverage;
pub use exits::{Exit, Live, Parts};
pub use most::Most;
pub use refusal::declared_length;
pub use results::Made;
pub use spread::{Turns, is_counted, is_spread};
use std::collections::{BTreeMap, BTreeSet};

/// The plan of a function.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The graph's tensors with the scalar workspaces.
    pub tensors: Vec<Tensor>,
    /// One for each nest, or for several that share loops.
    pub trees: Vec<Tree>,
}

/// The plan of the nests that share a tree of loops.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub phase: Phase,
    pub nests: Vec<Nest>,
    /// Every access that is read.
    pub table: Table,
    /// See [`Operands`].
    pub droppable: BTreeSet<TensorId>,
    /// See [`Operands`].
    pub blocks: Vec<(TensorId, AccessId)>,
    /// How the elements of each nest's result are made, in the order of the nests.
    pub made: Vec<(TensorId, Made)>,
    /// With what sums add to the elements of results that follow an operand.
    pub accumulated: BTreeMap<TensorId, ReduceOp>,
    /// Results of which rows may be skipped: where these end is filled in behind the loops.
    pub gaps: BTreeSet<TensorId>,
    /// Which of its elements the loops set, for each result that they define.
    pub coverage: BTreeMap<TensorId, Coverage>,
    /// Results that hold their fill before the loops.
    pub filled: BTreeSet<TensorId>,
    /// How much is stored at each level of appended results, where operands say, and how much a hashed
    /// row may hold.
    pub most: BTreeMap<TensorId, Most>,
    /// What is done; `None` if nothing is.
    pub body: Option<Inside>,
    /// What is done before, if what is appended is counted first.
    pub counted: Option<Box<Counted>>,
    /// Why no loops are written for it as it is, if so. Unlike what no plan is made for, another
    /// order of the loops may help.
    pub refused: Option<Diagnostic>,
}

/// What counts the elements of results before they are stored.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The same loops without values: see [`counting`].
    pub tree: Tree,
    /// The outermost loops, if their iterations are shared out: each of the innermost counts its
    /// own elements, and has room of its own.
    pub shared: Vec<VarId>,
}

/// What loops are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// They compute and store.
    #[default]
    Filling,
    /// They count what will be stored: see [`counting`].
    Counting,
}

impl Tree {
    /// Its operands, for what folds where some of them are absent.
    #[must_use]
    pub fn operands<'a>(&'a self, graph: &'a Graph, tensors: &'a [Tensor]) -> Operands<'a> {
        Operands {
            graph,
            tensors,
            table: &self.table,
            droppable: &self.droppable,
            blocks: &self.blocks,
        }
    }
}

/// Makes the plan.
///
/// # Errors
/// What no loops can be written for, at `span`: the command that led here.
pub fn plan(graph: &Graph, span: Span) -> Result<Option<Plan>, Diagnostic> {
    let Some(made) = concretize(graph) else {
        return Ok(None);
    };
    let mut trees = Vec::new();
    let (groups, mut at) = (groups(graph), 0);
    while let (Some(nests), Some(stmt)) = (groups.get(at), made.stmts.get(at)) {
        if let Some(spread) = spread::spread(graph, &groups[at..], stmt) {
            let given = (&[&spread.nest][..], &spread.stmt);
            let turns = Some(spread.turns);
            trees.push(tree::planned(graph, &made.tensors, given, turns, span)?);
            at += 2;
            continue;
        }
        trees.push(tree(graph, &made.tensors, nests, stmt, span)?);
        at += 1;
    }
    Ok(Some(Plan {
        tensors: made.tensors,
        trees,
    }))
}

/// Makes the plan of a tree of loops, with the tensors that there are.
///
/// # Errors
/// See [`plan`].
pub fn tree(
    graph: &Graph,
    tensors: &[Tensor],
    nests: &[&Nest],
    stmt: &Stmt,
    span: Span,
) -> Result<Tree, Diagnostic> {
    tree::planned(graph, tensors, (nests, stmt), None, span)
}
