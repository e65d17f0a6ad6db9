//! The nest that a `promote` is about: the one that reads a tensor inside a loop, or else updates it there.

use super::super::precompute::place::Place;
use crate::graph::order::vars_in;
use crate::graph::producers::around;
use crate::graph::{Graph, Nest, equal};
use crate::program::ir::{Expr, ExprKind, TensorId, VarId};

/// How a nest reads a tensor inside a loop.
pub(super) struct Reads {
    pub place: Place,
    pub tensor: TensorId,
    /// Those with different subscripts.
    pub accesses: Vec<Expr>,
    /// The loops around the accesses, outermost first. The loop that the command names is number `at`.
    pub loops: Vec<VarId>,
    pub at: usize,
    /// The loops inside that one that subscripts run over. Where there are none, a tile has one element.
    pub inside: Vec<VarId>,
}

/// The last nest that reads the tensor inside the loop, if possible one in which subscripts run over loops there.
pub(super) fn reads_inside(graph: &Graph, name: &str, var: VarId) -> Option<Reads> {
    let mut found = None;
    for (at, nest) in graph.nests.iter().enumerate() {
        let place = Place {
            nest: at,
            path: Vec::new(),
        };
        reads_below(graph, nest, &place, &[], (name, var), &mut found);
    }
    found
}

/// As [`reads_inside`], in a nest and the nests of its workspaces: `outer` are the loops
/// around it of the nests that read it.
fn reads_below(
    graph: &Graph,
    nest: &Nest,
    place: &Place,
    outer: &[VarId],
    (name, var): (&str, VarId),
    found: &mut Option<Reads>,
) {
    for (n, producer) in nest.producers.iter().enumerate() {
        let above = [outer, around(graph, nest, producer).as_slice()].concat();
        let mut place = place.clone();
        place.path.push(n);
        reads_below(graph, producer, &place, &above, (name, var), found);
    }
    let loops = [outer, nest.loop_vars().as_slice()].concat();
    let Some(at) = loops.iter().position(|&v| v == var) else {
        return;
    };
    if graph.is_guarded(nest) {
        return;
    }
    let mut tensor = None;
    let mut accesses: Vec<Expr> = Vec::new();
    let is_itself = |e: &Expr| matches!(&e.kind, ExprKind::Access(access) if graph.tensor(access.tensor).name == name);
    let itself = nest.rhs.any(&is_itself);
    nest.rhs.walk(&mut |e| {
        if let ExprKind::Access(access) = &e.kind
            && (is_itself(e) || !itself && graph.is_called(access.tensor, name))
            && !accesses.iter().any(|a| equal::same(a, e))
        {
            tensor = Some(access.tensor);
            accesses.push(e.clone());
        }
    });
    let mut inside = Vec::new();
    for root in accesses.iter().flat_map(vars_in) {
        for leaf in graph.provenance.leaves(root, &loops) {
            if loops[at + 1..].contains(&leaf) && !inside.contains(&leaf) {
                inside.push(leaf);
            }
        }
    }
    if let Some(tensor) = tensor
        && (found.is_none() || !inside.is_empty())
    {
        *found = Some(Reads {
            place: place.clone(),
            tensor,
            accesses,
            loops,
            at,
            inside,
        });
    }
}

/// The first nest that updates the tensor inside the loop.
pub(super) fn updated_inside(graph: &Graph, name: &str, var: VarId) -> Option<Place> {
    let mut nests = graph.nests.iter().enumerate();
    nests.find_map(|(at, nest)| {
        let place = Place {
            nest: at,
            path: Vec::new(),
        };
        updated_below(graph, nest, &place, &[], (name, var))
    })
}

/// As [`updated_inside`], in a nest and the nests of its workspaces.
fn updated_below(
    graph: &Graph,
    nest: &Nest,
    place: &Place,
    outer: &[VarId],
    (name, var): (&str, VarId),
) -> Option<Place> {
    let sums = nest.rhs.any(&|e| matches!(e.kind, ExprKind::Reduce { .. }));
    if graph.tensor(nest.tensor).name == name
        && (nest.op.is_some() || sums)
        && (outer.contains(&var) || nest.loop_vars().contains(&var))
    {
        return Some(place.clone());
    }
    let mut producers = nest.producers.iter().enumerate();
    producers.find_map(|(n, producer)| {
        let above = [outer, around(graph, nest, producer).as_slice()].concat();
        let mut place = place.clone();
        place.path.push(n);
        updated_below(graph, producer, &place, &above, (name, var))
    })
}
