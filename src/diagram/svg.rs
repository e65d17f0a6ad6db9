//! Diagrams as pictures.

use super::Diagram;
use super::layout::Layout;
use std::fmt::Write as _;

pub(super) fn render(diagram: &Diagram, layout: &Layout) -> String {
    let (width, height) = (layout.width.ceil(), layout.height.ceil());
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"12\">\n\
         <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" \
         markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" fill=\"#6b7280\"/></marker></defs>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for edge in &diagram.edges {
        let (from, to) = (layout.places[edge.from], layout.places[edge.to]);
        let (x1, y1) = (from.x, from.y + from.height);
        let (x2, y2) = (to.x, to.y);
        let _ = writeln!(
            out,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"#6b7280\" \
             marker-end=\"url(#arrow)\"/>"
        );
        if !edge.label.is_empty() {
            let (x, y) = (f64::midpoint(x1, x2), f64::midpoint(y1, y2));
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{y:.1}\" fill=\"#374151\">{}</text>",
                x + 4.0,
                escaped(&edge.label)
            );
        }
    }
    for (node, place) in diagram.nodes.iter().zip(&layout.places) {
        let (fill, border) = node.kind.colours();
        let _ = writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"5\" fill=\"{fill}\" \
             stroke=\"{border}\"/>",
            place.x - place.width / 2.0,
            place.y,
            place.width,
            place.height
        );
        let mut y = place.y + 20.0;
        for line in &node.label {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" fill=\"#111827\">{}</text>",
                place.x,
                escaped(line)
            );
            y += 16.0;
        }
    }
    out + "</svg>\n"
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
