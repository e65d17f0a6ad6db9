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

/// A nest, and the loops around it of the nests that read it.
struct Site {
    place: Place,
    outer: Vec<VarId>,
}

/// All nests, each behind those of its workspaces.
fn sites(graph: &Graph) -> Vec<Site> {
    fn below(graph: &Graph, nest: &Nest, site: Site, found: &mut Vec<Site>) {
        for (n, producer) in nest.producers.iter().enumerate() {
            let mut place = site.place.clone();
            place.path.push(n);
            let outer = [site.outer.as_slice(), &around(graph, nest, producer)].concat();
            below(graph, producer, Site { place, outer }, found);
        }
        found.push(site);
    }
    let mut found = Vec::new();
    for (at, nest) in graph.nests.iter().enumerate() {
        let place = Place {
            nest: at,
            path: Vec::new(),
        };
        let outer = Vec::new();
        below(graph, nest, Site { place, outer }, &mut found);
    }
    found
}

/// The last nest that reads the tensor inside the loop, if possible one in which subscripts run over loops there.
pub(super) fn reads_inside(graph: &Graph, name: &str, var: VarId) -> Option<Reads> {
    let mut found = None;
    for site in sites(graph) {
        if let Some(reads) = reads_at(graph, site, name, var)
            && (found.is_none() || !reads.inside.is_empty())
        {
            found = Some(reads);
        }
    }
    found
}

fn reads_at(graph: &Graph, site: Site, name: &str, var: VarId) -> Option<Reads> {
    let nest = site.place.of(graph);
    let loops = [site.outer, nest.loop_vars()].concat();
    let at = loops.iter().position(|&v| v == var)?;
    if graph.is_guarded(nest) {
        return None;
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
    Some(Reads {
        place: site.place,
        tensor: tensor?,
        accesses,
        loops,
        at,
        inside,
    })
}

/// The first nest that updates the tensor inside the loop; a statement comes before its workspaces.
pub(super) fn updated_inside(graph: &Graph, name: &str, var: VarId) -> Option<Place> {
    let updates = |site: &Site| {
        let nest = site.place.of(graph);
        let sums = nest.rhs.any(&|e| matches!(e.kind, ExprKind::Reduce { .. }));
        graph.tensor(nest.tensor).name == name
            && (nest.op.is_some() || sums)
            && (site.outer.contains(&var) || nest.loop_vars().contains(&var))
    };
    let places = sites(graph).into_iter().filter(updates);
    let places = places.map(|site| site.place);
    places.min_by(|a, b| (a.nest, &a.path).cmp(&(b.nest, &b.path)))
}
