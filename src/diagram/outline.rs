//! Indented text as a diagram: what stands inside a line is below it. Lines that follow one another
//! with nothing inside share a box.

use super::{Diagram, Kind};

/// A line, and those inside it.
struct Line<'a> {
    text: &'a str,
    below: Vec<Line<'a>>,
}

/// The trees of a text, one beside the other: a program's functions, a kernel's loops.
#[must_use]
pub fn diagram(text: &str) -> Diagram {
    let lines: Vec<(usize, &str)> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| (line.len() - line.trim_start().len(), line.trim()))
        .collect();
    let mut diagram = Diagram::default();
    add(&mut diagram, &trees(&lines), None);
    diagram
}

/// The lines as trees, by how far they are indented.
fn trees<'a>(lines: &[(usize, &'a str)]) -> Vec<Line<'a>> {
    let mut out = Vec::new();
    let mut rest = lines;
    while let Some((&(indent, text), after)) = rest.split_first() {
        let inside = after.iter().take_while(|(own, _)| *own > indent).count();
        let (below, behind) = after.split_at(inside);
        out.push(Line {
            text,
            below: trees(below),
        });
        rest = behind;
    }
    out
}

fn add(diagram: &mut Diagram, lines: &[Line], above: Option<usize>) {
    let mut rest = lines;
    while let Some(first) = rest.first() {
        let kind = kind(first);
        let alike = |line: &&Line| line.below.is_empty() && self::kind(line) == kind;
        let together = rest.iter().take_while(alike).count().max(1);
        let (now, behind) = rest.split_at(together);
        let label = now.iter().map(|line| line.text.to_string()).collect();
        let node = diagram.node(kind, label);
        if let Some(above) = above {
            diagram.edge(above, node, "");
        }
        for line in now {
            add(diagram, &line.below, Some(node));
        }
        rest = behind;
    }
}

/// What a line is about, by its first word.
fn kind(line: &Line) -> Kind {
    let word = line.text.split([' ', ':']).next().unwrap_or("");
    match word {
        "for" | "while" => Kind::Loop,
        "var" | "array" | "size" | "tensor" | "input" | "result" | "inout" | "temporary" => {
            Kind::Variable
        }
        _ if line.text.contains(" in ") && line.below.is_empty() && !line.text.contains('=') => {
            Kind::Variable
        }
        _ if line.below.is_empty() => Kind::Statement,
        _ => Kind::Structure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_inside_is_below() {
        let text = "kernel f\n  var i: int64\n  var n: int64\nbody\n  for i in 0..n\n    let a = 1\n    y[i] = a\n  z = 2\n";
        let diagram = diagram(text);
        let nodes: Vec<String> = diagram
            .nodes
            .iter()
            .map(|node| format!("{:?}: {}", node.kind, node.label.join(" | ")))
            .collect();
        insta::assert_snapshot!(nodes.join("\n"), @r"
        Structure: kernel f
        Variable: var i: int64 | var n: int64
        Structure: body
        Loop: for i in 0..n
        Statement: let a = 1 | y[i] = a
        Statement: z = 2
        ");
        let edges: Vec<(usize, usize)> = diagram.edges.iter().map(|e| (e.from, e.to)).collect();
        assert_eq!(edges, [(0, 1), (2, 3), (3, 4), (2, 5)]);
    }
}
