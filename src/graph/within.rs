//! Serial loops over consecutive positions, or over consecutive values of fused
//! variables, walked as the loops that they came from.
//!
//! `pos(f, p, A(i,j)) split(p, p0, p1, 512)` leaves p1 to run over 512 positions that
//! may begin and end inside rows. Walked as `forall(i, forall(j, ...))` within those
//! positions, each row is entered once: its coordinate needs no tracking, its sum stays
//! in a register and is flushed where the row ends (000, 6.2 and 6.4).

use super::order::{range_vars, vars_in};
use super::pattern;
use super::relation::Pos;
use super::{Graph, Nest, Unit};
use crate::program::ir::{Access, VarId};

/// The variables whose loops replace the nest's loop number `at`, outermost first, and
/// how many of the first ones nothing needs; `None` if the loop must stay: it does not
/// run over consecutive positions, does not complete them, or is shared out to threads.
#[must_use]
pub fn opened(
    graph: &Graph,
    nest: &Nest,
    outer: &[VarId],
    at: usize,
) -> Option<(Vec<VarId>, usize)> {
    let l = &nest.loops[at];
    let threads = matches!(
        l.tag.parallel.as_ref().map(|p| p.unit),
        Some(Unit::CpuThread(_) | Unit::Gpu(_))
    );
    let top = graph.provenance.top_of(l.var);
    let made = graph.provenance.producer(top)?;
    let around: Vec<VarId> = outer
        .iter()
        .copied()
        .chain(nest.loops[..=at].iter().map(|l| l.var))
        .collect();
    let completes = graph.provenance.is_complete(top, &around);
    if threads || !completes || !graph.provenance.is_innermost_part(l.var, top) {
        return None;
    }
    let Some(Pos { parent, access, .. }) = made.counts() else {
        return Some((unfused(graph, top), 0));
    };
    let roots = graph.provenance.coordinates(*parent);
    let skipped = roots[..roots.len() - 1]
        .iter()
        .take_while(|&&root| !is_needed(graph, nest, access, root))
        .count();
    // A dense level's coordinates follow from those of the levels above.
    let format = &graph.tensor(access.tensor).format;
    let full = roots[..=skipped].iter().rposition(|&root| {
        let level = graph.level_of(access, root);
        level.is_some_and(|l| !format.levels[l].is_walked())
    });
    let skipped = match full {
        Some(at) if at == skipped => 0,
        // Lanes would come to elements of several rows at once, which the result does not tell apart.
        Some(_) | None if l.tag.parallel.is_some() && is_kept(nest, &roots) => 0,
        Some(_) | None => skipped,
    };
    Some((roots, skipped))
}

/// Whether the result has the innermost of the variables, and not all others.
fn is_kept(nest: &Nest, roots: &[VarId]) -> bool {
    let kept = |root: &VarId| nest.lhs.contains(root);
    roots.last().is_some_and(kept) && !roots.iter().all(kept)
}

/// The variables that were fused into `var`, outermost first.
fn unfused(graph: &Graph, var: VarId) -> Vec<VarId> {
    match graph.provenance.fused_from(var) {
        Some((outer, inner)) => [unfused(graph, outer), unfused(graph, inner)].concat(),
        None => vec![var],
    }
}

/// Whether anything but the walked access itself needs the coordinate `root`.
fn is_needed(graph: &Graph, nest: &Nest, walked: &Access, root: VarId) -> bool {
    // Where a block ends that reaches beyond a dimension follows from its number.
    let mut needed = graph.provenance.is_stored(root);
    // A result that follows the access stands where the access does, on the last of its levels.
    let followed = pattern::source(graph, nest)
        .filter(|source| super::equal::same_access(&source.access, walked));
    let last = followed.as_ref().map(|source| source.levels - 1);
    needed |= last.is_some() && graph.level_of(walked, root) == last;
    nest.visit(&mut |part| {
        let placed = followed.is_some() && part.tensor == nest.tensor;
        needed |= !placed
            && part.lhs.iter().any(|&v| {
                graph.provenance.ancestors(v).contains(&root)
                    && graph.provenance.position_of(v).is_none()
            });
        needed |= !part.producers.is_empty();
        for access in part.rhs.accesses() {
            if !super::equal::same_access(access, walked) {
                needed |= access.subscripts.iter().any(|s| vars_in(s).contains(&root));
            }
        }
        // An element that data choose of a result, too, is chosen by a range.
        for var in vars_in(&part.rhs).iter().chain(&part.lhs) {
            needed |= range_vars(graph, *var).contains(&root);
        }
    });
    needed || stands_bare(nest, root)
}

/// Whether `root` stands in the right side outside of subscripts.
fn stands_bare(nest: &Nest, root: VarId) -> bool {
    fn bare(e: &crate::program::ir::Expr, root: VarId) -> bool {
        e.as_var() == Some(root) || e.operands().into_iter().any(|a| bare(a, root))
    }
    bare(&nest.rhs, root)
}
