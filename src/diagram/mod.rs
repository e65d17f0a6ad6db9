//! Diagrams of what the compiler holds: boxes and arrows, as dot, svg or JSON.
//!
//! A diagram knows nothing of compilers; [`graph`], [`provenance`], [`lattice`] and
//! [`plan`] make them, and [`outline`] of texts that are indented. Numbers against numbers are a
//! [`chart`].

pub mod chart;
pub mod graph;
pub mod lattice;
mod layout;
pub mod outline;
pub mod plan;
pub mod provenance;
mod svg;

use serde::Serialize;
use std::fmt::Write as _;

/// Boxes and the arrows between them. Arrows point downwards.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Diagram {
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Node {
    /// Lines of text.
    pub label: Vec<String>,
    pub kind: Kind,
}

#[derive(Clone, Debug, Serialize)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub label: String,
}

/// What a box stands for; renderers give each its look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Loop,
    Statement,
    Structure,
    Variable,
    Relation,
    Point,
}

impl Kind {
    /// Fill and border, readable on light and dark pages.
    fn colours(self) -> (&'static str, &'static str) {
        match self {
            Kind::Loop => ("#dbeafe", "#1d4ed8"),
            Kind::Statement => ("#dcfce7", "#15803d"),
            Kind::Structure => ("#f3f4f6", "#4b5563"),
            Kind::Variable => ("#fef3c7", "#b45309"),
            Kind::Relation => ("#f3e8ff", "#7e22ce"),
            Kind::Point => ("#fee2e2", "#b91c1c"),
        }
    }
}

impl Diagram {
    /// Adds a box; returns its number.
    pub fn node(&mut self, kind: Kind, label: Vec<String>) -> usize {
        self.nodes.push(Node { label, kind });
        self.nodes.len() - 1
    }

    pub fn edge(&mut self, from: usize, to: usize, label: &str) {
        self.edges.push(Edge {
            from,
            to,
            label: label.to_string(),
        });
    }

    /// Puts another diagram beside this one, below a box of its own that says whose it is.
    pub fn add(&mut self, title: &str, other: Diagram) {
        let top = self.node(Kind::Structure, vec![title.to_string()]);
        let first = self.nodes.len();
        let is_below = |at: &usize| other.edges.iter().any(|edge| edge.to == *at);
        let roots: Vec<usize> = (0..other.nodes.len()).filter(|n| !is_below(n)).collect();
        self.nodes.extend(other.nodes);
        roots
            .iter()
            .for_each(|&root| self.edge(top, first + root, ""));
        let shifted = other.edges.into_iter().map(|edge| Edge {
            from: edge.from + first,
            to: edge.to + first,
            ..edge
        });
        self.edges.extend(shifted);
    }

    /// In the language of Graphviz.
    #[must_use]
    pub fn dot(&self) -> String {
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let mut out = String::from(
            "digraph sparsec {\n  node [shape=box, style=\"rounded,filled\", fontname=monospace];\n",
        );
        for (at, node) in self.nodes.iter().enumerate() {
            let lines: Vec<String> = node.label.iter().map(|l| quoted(l)).collect();
            let (fill, border) = node.kind.colours();
            let _ = writeln!(
                out,
                "  n{at} [label=\"{}\", fillcolor=\"{fill}\", color=\"{border}\"];",
                lines.join("\\n")
            );
        }
        for edge in &self.edges {
            let label = if edge.label.is_empty() {
                String::new()
            } else {
                format!(" [label=\"{}\"]", quoted(&edge.label))
            };
            let _ = writeln!(out, "  n{} -> n{}{label};", edge.from, edge.to);
        }
        out + "}\n"
    }

    /// A picture that needs nothing else.
    #[must_use]
    pub fn svg(&self) -> String {
        svg::render(self, &layout::layout(self))
    }

    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}
