//! The merge lattices of a kernel's loops, as diagrams and text.

use super::{Diagram, Kind};
use crate::lower::lattice::Report;
use std::fmt::Write as _;

/// What a program says that has no lattice.
const NONE: &str = "no loop walks a sparse operand";

/// The lattices one beside the other: larger points above the smaller ones that are left
/// when an operand runs out.
#[must_use]
pub fn diagram(reports: &[Report]) -> Diagram {
    let mut diagram = Diagram::default();
    if reports.is_empty() {
        diagram.node(Kind::Structure, vec![NONE.to_string()]);
    }
    for report in reports {
        let top = diagram.node(
            Kind::Loop,
            vec![format!("{}: {}", report.variable, report.shape)],
        );
        let nodes: Vec<usize> = report
            .points
            .iter()
            .map(|point| {
                let set = format!("{{{}}}", point.present.join(", "));
                diagram.node(Kind::Point, vec![set, point.statement.clone()])
            })
            .collect();
        for (at, point) in report.points.iter().enumerate() {
            let mut above: Vec<usize> = (0..report.points.len())
                .filter(|&other| {
                    let larger = &report.points[other].present;
                    larger.len() > point.present.len()
                        && point.present.iter().all(|p| larger.contains(p))
                })
                .collect();
            let nearest = above.iter().map(|&o| report.points[o].present.len()).min();
            above.retain(|&o| Some(report.points[o].present.len()) == nearest);
            if above.is_empty() {
                diagram.edge(top, nodes[at], "");
            }
            for other in above {
                let gone: Vec<&str> = report.points[other]
                    .present
                    .iter()
                    .filter(|p| !point.present.contains(p))
                    .map(String::as_str)
                    .collect();
                diagram.edge(
                    nodes[other],
                    nodes[at],
                    &format!("without {}", gone.join(", ")),
                );
            }
        }
    }
    diagram
}

/// One block a loop.
#[must_use]
pub fn text(reports: &[Report]) -> String {
    let mut out = String::new();
    if reports.is_empty() {
        let _ = writeln!(out, "{NONE}");
    }
    for report in reports {
        let _ = writeln!(out, "{}: {}", report.variable, report.shape);
        for point in &report.points {
            let _ = writeln!(
                out,
                "  {{{}}} {}",
                point.present.join(", "),
                point.statement
            );
        }
    }
    out
}
