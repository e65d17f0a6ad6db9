//! Where boxes stand: in layers by their longest path from above, ordered in each layer by
//! the mean place of what points at them.

use super::Diagram;

const LETTER: f64 = 7.3;
const LINE: f64 = 16.0;
const PADDING: f64 = 8.0;
const GAP: f64 = 24.0;
const LAYER_GAP: f64 = 44.0;

/// The place of a box, in pixels.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// Of its centre.
    pub x: f64,
    /// Of its upper side.
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// The places of all boxes, and the size of the whole.
pub(super) struct Layout {
    pub places: Vec<Place>,
    pub width: f64,
    pub height: f64,
}

pub(super) fn layout(diagram: &Diagram) -> Layout {
    let count = diagram.nodes.len();
    let mut places: Vec<Place> = diagram.nodes.iter().map(size).collect();
    let layers = layers(diagram, count);
    let mut y = GAP;
    let mut width: f64 = 0.0;
    for layer in &layers {
        let mut order = layer.clone();
        let mean = |node: usize, places: &[Place]| -> f64 {
            let above: Vec<f64> = diagram
                .edges
                .iter()
                .filter(|e| e.to == node)
                .map(|e| places[e.from].x)
                .collect();
            let n = above.len().max(1);
            above.iter().sum::<f64>() / f64::from(u32::try_from(n).unwrap_or(1))
        };
        order.sort_by(|&a, &b| {
            mean(a, &places)
                .total_cmp(&mean(b, &places))
                .then(a.cmp(&b))
        });
        let mut left = GAP;
        let mut tallest: f64 = 0.0;
        for &node in &order {
            let half = places[node].width / 2.0;
            let x = mean(node, &places).max(left + half);
            places[node].x = x;
            places[node].y = y;
            left = x + half + GAP;
            tallest = tallest.max(places[node].height);
        }
        width = width.max(left);
        y += tallest + LAYER_GAP;
    }
    centre_parents(diagram, &layers, &mut places);
    let width = places
        .iter()
        .map(|p| p.x + p.width / 2.0 + GAP)
        .fold(width, f64::max);
    Layout {
        places,
        width,
        height: y - LAYER_GAP + GAP,
    }
}

fn size(node: &super::Node) -> Place {
    let letters = node
        .label
        .iter()
        .map(|l| l.chars().count())
        .max()
        .unwrap_or(0);
    let length = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    Place {
        width: length(letters) * LETTER + 2.0 * PADDING,
        height: length(node.label.len().max(1)) * LINE + 2.0 * PADDING,
        ..Place::default()
    }
}

/// The boxes of each layer: one below everything that points at it.
fn layers(diagram: &Diagram, count: usize) -> Vec<Vec<usize>> {
    let mut depth = vec![0; count];
    // Arrows go from boxes to boxes made later or earlier; settle by repetition.
    for _ in 0..count {
        for edge in &diagram.edges {
            if depth[edge.to] < depth[edge.from] + 1 && depth[edge.from] < count {
                depth[edge.to] = depth[edge.from] + 1;
            }
        }
    }
    let most = depth.iter().copied().max().map_or(0, |d| d + 1);
    let mut layers = vec![Vec::new(); most];
    for (node, &at) in depth.iter().enumerate() {
        layers[at].push(node);
    }
    layers
}

/// A box with one row of children stands above their middle where there is room.
fn centre_parents(diagram: &Diagram, layers: &[Vec<usize>], places: &mut [Place]) {
    for layer in layers.iter().rev() {
        let mut order = layer.clone();
        order.sort_by(|&a, &b| places[a].x.total_cmp(&places[b].x));
        for (at, &node) in order.iter().enumerate() {
            let below: Vec<f64> = diagram
                .edges
                .iter()
                .filter(|e| e.from == node)
                .map(|e| places[e.to].x)
                .collect();
            if below.is_empty() {
                continue;
            }
            let n = f64::from(u32::try_from(below.len()).unwrap_or(1));
            let wish = below.iter().sum::<f64>() / n;
            let half = places[node].width / 2.0;
            let most = order.get(at + 1).map_or(f64::INFINITY, |&next| {
                places[next].x - places[next].width / 2.0 - GAP - half
            });
            let least = if at == 0 {
                GAP + half
            } else {
                let before = places[order[at - 1]];
                before.x + before.width / 2.0 + GAP + half
            };
            places[node].x = wish.min(most).max(least);
        }
    }
}
