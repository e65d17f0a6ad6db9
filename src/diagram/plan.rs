//! A plan as a diagram: its outline, a box for each line.

use super::{Diagram, Kind};
use crate::plan::text::{About, Line};

/// The trees of a plan, one beside the other.
#[must_use]
pub fn diagram(outline: &[Line]) -> Diagram {
    let mut diagram = Diagram::default();
    for line in outline {
        add(&mut diagram, line);
    }
    diagram
}

fn add(diagram: &mut Diagram, line: &Line) -> usize {
    let kind = match line.about {
        About::Results => Kind::Variable,
        About::Loop => Kind::Loop,
        About::Structure => Kind::Structure,
        About::Statement => Kind::Statement,
    };
    let mut label = vec![line.text.clone()];
    label.extend(line.notes.iter().cloned());
    let node = diagram.node(kind, label);
    for below in &line.below {
        let below = add(diagram, below);
        diagram.edge(node, below, "");
    }
    node
}
