//! The tree of `forall`, `where` and assignments as a diagram.

use super::{Diagram, Kind};
use crate::graph::print::{assign_text, guards_text, tag_text};
use crate::graph::tree::{Tree, concretize};
use crate::graph::{Graph, Stmt};

/// The trees of a graph, one beside the other.
#[must_use]
pub fn diagram(graph: &Graph) -> Diagram {
    let mut diagram = Diagram::default();
    if let Some(tree) = concretize(graph) {
        for stmt in &tree.stmts {
            add(&mut diagram, graph, &tree, stmt);
        }
    }
    diagram
}

fn add(diagram: &mut Diagram, graph: &Graph, tree: &Tree, stmt: &Stmt) -> usize {
    match stmt {
        Stmt::Forall { var, tag, body } => {
            let text = format!("forall {}{}", graph.var(*var).name, tag_text(graph, tag));
            let node = diagram.node(Kind::Loop, vec![text]);
            let below = add(diagram, graph, tree, body);
            diagram.edge(node, below, "");
            node
        }
        Stmt::Within { var, body, .. } => {
            let text = format!("within {}", graph.var(*var).name);
            let node = diagram.node(Kind::Structure, vec![text]);
            let below = add(diagram, graph, tree, body);
            diagram.edge(node, below, "");
            node
        }
        Stmt::Where {
            consumer,
            producer,
            temp,
            ..
        } => {
            let text = format!("where {}", tree.tensors[temp.index()].name);
            let node = diagram.node(Kind::Structure, vec![text]);
            let first = add(diagram, graph, tree, producer);
            let second = add(diagram, graph, tree, consumer);
            diagram.edge(node, first, "produces");
            diagram.edge(node, second, "consumes");
            node
        }
        Stmt::Sequence(stmts) => {
            let node = diagram.node(Kind::Structure, vec!["sequence".to_string()]);
            for (at, stmt) in stmts.iter().enumerate() {
                let below = add(diagram, graph, tree, stmt);
                diagram.edge(node, below, &(at + 1).to_string());
            }
            node
        }
        Stmt::Guarded { guards, body } => {
            let text = format!("where {}", guards_text(graph, guards));
            let node = diagram.node(Kind::Structure, vec![text]);
            let below = add(diagram, graph, tree, body);
            diagram.edge(node, below, "");
            node
        }
        Stmt::Assign(assign) => {
            let text = assign_text(graph, &tree.tensors, assign);
            diagram.node(Kind::Statement, vec![text])
        }
    }
}
