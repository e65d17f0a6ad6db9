//! How loop variables derive from those of the program, as a diagram.

use super::{Diagram, Kind};
use crate::graph::Graph;
use crate::program::ir::VarId;
use std::collections::BTreeMap;

/// The provenance graph: variables, and the relations between them.
#[must_use]
pub fn diagram(graph: &Graph) -> Diagram {
    let mut diagram = Diagram::default();
    let mut nodes: BTreeMap<VarId, usize> = BTreeMap::new();
    let mut loops: Vec<VarId> = Vec::new();
    graph.visit_nests(&mut |nest| loops.extend(nest.loop_vars()));
    let mut variable = |diagram: &mut Diagram, var: VarId| -> usize {
        *nodes.entry(var).or_insert_with(|| {
            let kind = if loops.contains(&var) {
                Kind::Loop
            } else {
                Kind::Variable
            };
            diagram.node(kind, vec![graph.var(var).name.clone()])
        })
    };
    for nest in &graph.nests {
        for &root in &nest.lhs {
            variable(&mut diagram, root);
        }
    }
    for r in graph.provenance.relations.iter() {
        let at = diagram.node(Kind::Relation, vec![r.text(graph)]);
        for parent in r.parents() {
            let parent = variable(&mut diagram, parent);
            diagram.edge(parent, at, "");
        }
        for child in r.children() {
            let child = variable(&mut diagram, child);
            diagram.edge(at, child, "");
        }
    }
    for &var in &loops {
        variable(&mut diagram, var);
    }
    diagram
}
