//! What is left of each statement where the loops around it have come to it: the tree of loops is
//! walked as it will be lowered, without the operands that are absent in a case of a merge.

use super::access::{AccessId, Table};
use super::concretize::{concretize, groups};
use super::known::Known;
use super::lattice::{Lattice, Shape};
use super::relation::{self, Pos, Quantity, Values};
use super::simplify::{Operands, droppable};
use super::{Assign, Graph, Nest, Stmt, Tag, pattern};
use crate::diagnostic::Diagnostic;
use crate::program::ir::{Expr, TensorId, VarId};
use std::collections::BTreeSet;

/// A loop and what it runs over.
pub struct Reached<'a> {
    pub var: VarId,
    pub tag: &'a Tag,
    /// What is left of the statement at the loop.
    pub body: &'a Stmt,
    /// Operands whose stored elements alone the loop visits: it counts their positions.
    pub stored: Vec<AccessId>,
    pub merge: Option<Merge>,
}

/// The sparse levels that a loop walks.
pub struct Merge {
    pub lattice: Lattice,
    /// Whether iterations can be counted, see [`Operands::counts`].
    pub counts: bool,
    /// See [`Operands::leaps`].
    pub leaps: bool,
}

/// The nests that share a tree of loops, and their operands.
#[derive(Clone, Copy)]
pub struct Tree<'a> {
    pub nests: &'a [&'a Nest],
    pub operands: Operands<'a>,
}

/// Who looks at the places of a tree; what `State` holds is handed on inwards.
pub trait Visitor {
    type State: Clone + Default;

    /// # Errors
    /// The loop is refused.
    fn forall(
        &mut self,
        tree: Tree,
        at: &Reached,
        state: &mut Self::State,
    ) -> Result<(), Diagnostic>;

    /// # Errors
    /// The workspace is refused.
    fn workspace(
        &mut self,
        tree: Tree,
        temp: TensorId,
        state: &mut Self::State,
    ) -> Result<(), Diagnostic>;

    /// # Errors
    /// The assignment is refused.
    fn assign(
        &mut self,
        tree: Tree,
        assign: &Assign,
        state: &Self::State,
    ) -> Result<(), Diagnostic>;
}

/// Shows all places of all trees to the visitor.
///
/// # Errors
/// The first refusal of the visitor.
pub fn visit(graph: &Graph, visitor: &mut impl Visitor) -> Result<(), Diagnostic> {
    let Some(made) = concretize(graph) else {
        return Ok(());
    };
    for (nests, stmt) in groups(graph).into_iter().zip(&made.stmts) {
        let table = Table::of(graph, &made.tensors, stmt);
        let sources = nests.iter().filter_map(|nest| {
            let source = pattern::source(graph, nest)?;
            let id = table.find(&source.access)?;
            pattern::is_by_block(graph, nest, stmt).then_some((nest.tensor, id))
        });
        let blocks: Vec<(TensorId, AccessId)> = sources.collect();
        let operands = Operands {
            graph,
            tensors: &made.tensors,
            table: &table,
            droppable: &droppable(graph, &made.tensors, &nests),
            blocks: &blocks,
        };
        let tree = Tree {
            nests: &nests,
            operands,
        };
        // With nothing absent, only constants fold.
        let stmt = operands.simplify(stmt, &BTreeSet::new(), &mut BTreeSet::new());
        if let Some(stmt) = stmt {
            let mut walk = Walk { tree, visitor };
            walk.stmt(&stmt, &Place::default(), &Default::default())?;
        }
    }
    Ok(())
}

/// What is known at a place.
#[derive(Clone, Default)]
struct Place {
    /// The loops around.
    loops: Vec<VarId>,
    /// Variables whose loops walk a level of an access.
    walked: Vec<(VarId, AccessId)>,
    /// How many levels of an access positions have come through, without their coordinates.
    skipped: Vec<(AccessId, usize)>,
}

/// What a loop determines.
enum Top {
    Nothing,
    /// A variable of the program, and whether the loop visits consecutive values.
    Root(VarId, bool),
    /// A position, by the access that is counted.
    Position(Option<AccessId>),
}

struct Walk<'w, V> {
    tree: Tree<'w>,
    visitor: &'w mut V,
}

impl<V: Visitor> Walk<'_, V> {
    fn stmt(&mut self, stmt: &Stmt, place: &Place, state: &V::State) -> Result<(), Diagnostic> {
        match stmt {
            Stmt::Forall { var, tag, body } => self.forall((*var, tag, body), place, state),
            Stmt::Within { var, skipped, body } => {
                self.stmt(body, &self.within(*var, *skipped, place), state)
            }
            Stmt::Where {
                consumer,
                producer,
                temp,
                ..
            } => {
                let mut state = state.clone();
                self.visitor.workspace(self.tree, *temp, &mut state)?;
                self.stmt(producer, place, &state)?;
                self.stmt(consumer, place, &state)
            }
            Stmt::Sequence(stmts) => stmts.iter().try_for_each(|s| self.stmt(s, place, state)),
            Stmt::Assign(assign) => self.visitor.assign(self.tree, assign, state),
        }
    }

    fn forall(
        &mut self,
        (var, tag, body): (VarId, &Tag, &Stmt),
        place: &Place,
        state: &V::State,
    ) -> Result<(), Diagnostic> {
        let operands = self.tree.operands;
        let resolved = |id| place.resolved(operands, id);
        let mut stored = Vec::new();
        let mut merge = None;
        match place.top(operands, var) {
            Top::Nothing | Top::Root(_, false) => {}
            Top::Position(access) => stored.extend(access),
            Top::Root(root, true) => {
                let walked = place.walked.iter().find(|(v, _)| *v == root);
                stored.extend(walked.map(|(_, id)| *id));
                let mut iterators = operands.iterators(body, root, &resolved);
                if stored.is_empty() && !iterators.is_empty() {
                    iterators.sort_unstable();
                    let lattice = operands.lattice(body, iterators, &resolved);
                    merge = Some(Merge {
                        counts: operands.counts(&lattice, &resolved),
                        leaps: operands.leaps(&lattice, &resolved),
                        lattice,
                    });
                }
            }
        }
        let at = Reached {
            var,
            tag,
            body,
            stored,
            merge,
        };
        let mut state = state.clone();
        self.visitor.forall(self.tree, &at, &mut state)?;
        let mut inside = place.clone();
        inside.loops.push(var);
        match at.merge.map(|merge| merge.lattice.shape) {
            None => self.stmt(body, &inside, &state),
            Some(Shape::Nothing) => Ok(()),
            Some(Shape::Sparse(points)) => {
                let mut cases = points.iter();
                cases.try_for_each(|point| self.stmt(&point.stmt, &inside, &state))
            }
            Some(Shape::Full { points, rest }) => {
                let mut cases = points.iter().map(|p| &p.stmt).chain([&rest]);
                cases.try_for_each(|stmt| self.stmt(stmt, &inside, &state))
            }
            Some(Shape::Wide { stmt, .. }) => self.stmt(&stmt, &inside, &state),
        }
    }

    /// Inside loops that stay within the positions or fused values of `var`.
    fn within(&self, var: VarId, skipped: usize, place: &Place) -> Place {
        let mut place = place.clone();
        let graph = self.tree.operands.graph;
        let top = graph.provenance.position_of(graph.provenance.top_of(var));
        if let Some(Pos { parent, access, .. }) = top
            && let Some(id) = self.tree.operands.table.find(access)
        {
            let roots = graph.provenance.roots(*parent);
            let walked = roots.into_iter().map(|root| (root, id));
            place.walked.extend(walked);
            if skipped > 0 {
                let first = graph.first_level(*parent, access);
                place.skipped.push((id, first + skipped));
            }
        }
        place
    }
}

impl Place {
    /// How many levels of the access are found or walked.
    fn resolved(&self, operands: Operands, id: AccessId) -> usize {
        let access = &operands.table.get(id).access;
        let modes = &operands.tensor(access.tensor).format.modes;
        let skipped = self.skipped.iter().filter(|s| s.0 == id).map(|s| s.1);
        let mut level = skipped.max().unwrap_or(0);
        while level < modes.len()
            && self.is_value_known(operands.graph, &access.subscripts[modes[level]])
        {
            level += 1;
        }
        level
    }

    fn is_value_known(&self, graph: &Graph, e: &Expr) -> bool {
        Known::after(graph, &self.loops).has_value(e)
    }

    /// What a loop over `var` determines here.
    fn top(&self, operands: Operands, var: VarId) -> Top {
        let graph = operands.graph;
        let Some(climb) = Known::after(graph, &self.loops).climb(var) else {
            return Top::Nothing;
        };
        match climb.top {
            relation::Top::Root(root) => Top::Root(root, climb.affine.stride.as_int() == Some(1)),
            relation::Top::Position(pos) => {
                let counted = graph.provenance.position_of(pos);
                Top::Position(counted.and_then(|pos| operands.table.find(&pos.access)))
            }
            relation::Top::Fused(_) | relation::Top::Nothing => Top::Nothing,
        }
    }
}
