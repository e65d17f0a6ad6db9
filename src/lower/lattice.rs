//! What is kept of the merge lattices of loops ([`crate::graph::lattice`]) for people.

use super::Lowerer;
use crate::graph::Stmt;
use crate::graph::access::AccessId;
use crate::plan::{Case, Walk};
use crate::program::ir::VarId;
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
    /// Keeps a lattice for `show --stage lattice`.
    pub(super) fn report(&self, var: VarId, walk: &Walk) {
        let name = |id: &AccessId| {
            let tensor = self.tree.table.get(*id).access.tensor;
            self.tensor(tensor).name.clone()
        };
        let point = |present: &BTreeSet<AccessId>, left: &Stmt| ReportedPoint {
            present: present.iter().map(name).collect(),
            statement: crate::graph::print::stmt_text(self.graph, &self.tensors, left),
        };
        let all = |cases: &[Case]| -> Vec<ReportedPoint> {
            let points = cases.iter().map(|c| point(&c.present, &c.inside.left));
            points.collect()
        };
        let some = "only where some point holds";
        let (shape, points) = match walk {
            Walk::Nothing => ("nothing is ever done", Vec::new()),
            Walk::One(id, body) => (some, vec![point(&BTreeSet::from([*id]), &body.left)]),
            Walk::OneAndRest { id, body, rest } => {
                let points = vec![
                    point(&BTreeSet::from([*id]), &body.left),
                    point(&BTreeSet::new(), &rest.left),
                ];
                (
                    "only where some point holds, and once where none does",
                    points,
                )
            }
            Walk::Leap(case) => (some, all(std::slice::from_ref(case))),
            Walk::Cases(cases) => (some, all(cases)),
            Walk::Full { cases, rest } => {
                let mut points = all(cases);
                points.push(point(&BTreeSet::new(), &rest.left));
                ("every coordinate", points)
            }
            Walk::Wide { required, body, .. } => (
                "too many points: one loop over the smallest coordinate, absent operands \
                 give their fill",
                vec![point(required, &body.left)],
            ),
        };
        let variable = self.graph.var(var).name.clone();
        self.remarks.report(Report {
            variable,
            shape: shape.to_string(),
            points,
        });
    }
}
