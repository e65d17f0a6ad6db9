//! What is kept of the merge lattices of loops ([`crate::graph::lattice`]) for people.

use super::access::AccessId;
use super::{Lowerer, Scope};
use crate::graph::Stmt;
pub use crate::graph::lattice::{Lattice, MAX_POINTS, Point, Shape, point_at};
use crate::graph::simplify::Operands;
use crate::program::ir::{TensorId, VarId};
use std::collections::BTreeSet;

/// A lattice in words, for people.
#[derive(Clone, Debug)]
pub struct Report {
    /// The loop's variable.
    pub variable: String,
    /// What kind of loop it becomes.
    pub shape: String,
    pub points: Vec<ReportedPoint>,
}

/// The operands that are present at a point, and what is left of the statement.
#[derive(Clone, Debug)]
pub struct ReportedPoint {
    pub present: Vec<String>,
    pub statement: String,
}

impl Lowerer<'_> {
    pub(super) fn operands(&self) -> Operands<'_> {
        Operands {
            graph: self.graph,
            tensors: &self.tensors,
            table: &self.table,
            droppable: &self.droppable,
            blocks: &self.blocks,
        }
    }

    /// See [`Operands::simplify`].
    pub(super) fn simplify(
        &self,
        stmt: &Stmt,
        absent: &BTreeSet<AccessId>,
        dropped: &mut BTreeSet<TensorId>,
    ) -> Option<Stmt> {
        self.operands().simplify(stmt, absent, dropped)
    }

    /// See [`Operands::iterators`].
    pub(super) fn iterators(&self, stmt: &Stmt, root: VarId, scope: &Scope) -> Vec<AccessId> {
        let level = |id| self.cursor(scope, id).level;
        self.operands().iterators(stmt, root, &level)
    }

    /// See [`Operands::lattice`].
    pub(super) fn lattice(&self, stmt: &Stmt, iterators: Vec<AccessId>, scope: &Scope) -> Lattice {
        let level = |id| self.cursor(scope, id).level;
        self.operands().lattice(stmt, iterators, &level)
    }

    /// Keeps a lattice for `show --stage lattice`.
    pub(super) fn report(&mut self, var: VarId, lattice: &Lattice) {
        let name = |id: &AccessId| self.tensor(self.table.get(*id).access.tensor).name.clone();
        let text = |stmt: &Stmt| crate::graph::print::stmt_text(self.graph, &self.tensors, stmt);
        let point = |p: &Point| ReportedPoint {
            present: p.present.iter().map(name).collect(),
            statement: text(&p.stmt),
        };
        let (shape, points) = match &lattice.shape {
            Shape::Nothing => ("nothing is ever done".to_string(), Vec::new()),
            Shape::Sparse(points) => (
                "only where some point holds".to_string(),
                points.iter().map(point).collect(),
            ),
            Shape::Full { points, rest } => {
                let mut all: Vec<ReportedPoint> = points.iter().map(point).collect();
                all.push(ReportedPoint {
                    present: Vec::new(),
                    statement: text(rest),
                });
                ("every coordinate".to_string(), all)
            }
            Shape::Wide { stmt, required, .. } => (
                "too many points: one loop over the smallest coordinate, absent operands \
                 give their fill"
                    .to_string(),
                vec![ReportedPoint {
                    present: required.iter().map(name).collect(),
                    statement: text(stmt),
                }],
            ),
        };
        let variable = self.graph.var(var).name.clone();
        self.reports.push(Report {
            variable,
            shape,
            points,
        });
    }
}
