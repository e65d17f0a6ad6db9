//! Results of which each row gets its elements in order, though the loops go from row to row.
//!
//! What is collected in any order is sorted, then read in the order of its levels. Where the result
//! has a place for each row, and each element comes once, there is nothing to sort: loops over the
//! result's own coordinates come to the elements of one row in ascending order, whatever loop is
//! outermost. So rows are counted, running sums say where each begins, and each element goes behind
//! those of its row: `C(j,i) = A(i,j)` costs two walks over A. This is how transposes have been made
//! since Gustavson (Two fast algorithms for sparse matrices, 1978).

use crate::graph::order::sparse_accesses;
use crate::graph::terms::{reduces, root_reduction};
use crate::graph::{Assembly, Graph, Nest, Parallel, Race, Stmt};
use crate::level::ArrayRole;
use crate::program::ir::{Access, ExprKind, Role, TensorId, VarId};
use crate::units::{Axis, GpuLevel, GpuUnit, OmpSchedule, Unit};
use std::collections::BTreeSet;

/// How elements of one row that loops come to get places behind one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turns {
    /// One thread comes to all of them, in order.
    Alone,
    /// Each thread has neighbouring iterations, counts its own elements of each row, and has places for them
    /// behind those of the threads before it: they are in order again.
    Apart,
    /// Each takes the next place of its row, atomically: rows are sorted behind the loops, by these units.
    Taken(Unit),
}

/// A nest that stores at once what another one would have collected for it to read in order.
pub(super) struct Spread {
    pub nest: Nest,
    pub stmt: Stmt,
    pub turns: Turns,
}

/// The nest that collects elements and the one that reads them as one that stores them at once,
/// with its tree; `None` where they have to be sorted between.
pub(super) fn spread(graph: &Graph, nests: &[Vec<&Nest>], stmt: &Stmt) -> Option<Spread> {
    let (met, own, turns) = pair(graph, nests)?;
    let nest = Nest {
        tensor: own.tensor,
        ..met.clone()
    };
    let mut stmt = stmt.clone();
    assign(&mut stmt, met.tensor, own.tensor);
    Some(Spread { nest, stmt, turns })
}

/// Whether the nests begin with one that collects elements and one that reads them in order, of which no loops
/// are written: the first stores what the second would.
#[must_use]
pub fn is_spread(graph: &Graph, nests: &[Vec<&Nest>]) -> bool {
    pair(graph, nests).is_some()
}

fn pair<'n>(graph: &Graph, nests: &[Vec<&'n Nest>]) -> Option<(&'n Nest, &'n Nest, Turns)> {
    let [met, own, ..] = nests else { return None };
    let (&[met], &[own]) = (met.as_slice(), own.as_slice()) else {
        return None;
    };
    let said = |tensor| graph.assembly(tensor);
    let possible = graph.collected.contains(&met.tensor)
        && comes_once(graph, met)
        && copies(graph, own, met)
        && !met.reads(own.tensor)
        && is_only_read(graph, met.tensor)
        && has_rows(graph, own.tensor)
        && said(own.tensor) != Some(Assembly::Append)
        && said(met.tensor).is_none();
    Some((met, own, turns(graph, met, own).filter(|_| possible)?))
}

/// Whether the loops come to each element of the left side once.
fn comes_once(graph: &Graph, nest: &Nest) -> bool {
    let loops = nest.loop_vars();
    let roots = loops.iter().flat_map(|&var| graph.provenance.roots(var));
    nest.producers.is_empty()
        && root_reduction(&nest.rhs, nest.op).is_none()
        && nest.op.is_none()
        && reduces(&nest.rhs).is_empty()
        && roots.collect::<BTreeSet<VarId>>() == nest.lhs.iter().copied().collect()
}

/// How elements get places, if they can.
fn turns(graph: &Graph, met: &Nest, own: &Nest) -> Option<Turns> {
    let all = met.loops.iter().enumerate();
    let shared = all.filter_map(|(at, l)| Some((at, l.tag.parallel.as_ref()?)));
    let shared: Vec<(usize, &Parallel)> = shared.collect();
    let in_order = come_in_order(graph, met, own);
    if shared.is_empty() {
        return in_order.then_some(Turns::Alone);
    }
    // A loop further in would begin anew, with all of its threads, for each iteration around. Where coordinates are
    // there, each element is compared with the next one of its row.
    if shared.iter().all(|(at, _)| *at > 0) || graph.is_kept(own.tensor) {
        return None;
    }
    let mut gpu = shared.iter().map(|(_, parallel)| match parallel.unit {
        Unit::Gpu(_) => Some(true),
        Unit::CpuThread(_) => Some(false),
        Unit::CpuVector => None,
    });
    if gpu.try_fold(true, |all, gpu| Some(all && gpu?))? {
        return Some(Turns::Taken(Unit::Gpu(GpuUnit {
            level: GpuLevel::Block,
            axis: Axis::X,
            group: None,
        })));
    }
    let neighbouring = |parallel: &Parallel| match parallel.unit {
        Unit::CpuThread(OmpSchedule::Default | OmpSchedule::Static(None)) => {
            parallel.race != Race::Atomics && in_order && is_counted(graph, met)
        }
        Unit::CpuThread(_) | Unit::CpuVector | Unit::Gpu(_) => false,
    };
    match shared.as_slice() {
        [(0, parallel)] if neighbouring(parallel) => Some(Turns::Apart),
        _ => {
            let rows = OmpSchedule::Dynamic(Some(ROWS_TO_SORT));
            Some(Turns::Taken(Unit::CpuThread(rows)))
        }
    }
}

/// Whether about as much is stored as sparse inputs store, which is known before anything runs: threads with numbers
/// of their own for all rows must not have more of these than there are elements.
#[must_use]
pub fn is_counted(graph: &Graph, met: &Nest) -> bool {
    let operands = sparse_accesses(graph, &met.rhs);
    let mut all = operands.iter();
    !operands.is_empty() && all.all(|access| graph.tensor(access.tensor).role == Role::Input)
}

/// So many rows a thread sorts before it asks for more: enough that asking costs nothing, few enough that long
/// rows do not stand together.
const ROWS_TO_SORT: u32 = 64;

/// Whether a nest stores what another one has collected, as it is.
fn copies(graph: &Graph, nest: &Nest, met: &Nest) -> bool {
    let ExprKind::Access(access) = &nest.rhs.kind else {
        return false;
    };
    let vars: Option<Vec<VarId>> = access.subscripts.iter().map(|s| s.as_var()).collect();
    access.tensor == met.tensor
        && vars.as_ref() == Some(&nest.lhs)
        && nest.lhs == met.lhs
        && comes_once(graph, nest)
}

/// Whether one nest alone reads a tensor.
fn is_only_read(graph: &Graph, tensor: TensorId) -> bool {
    let mut readers = 0;
    graph.visit_nests(&mut |nest| readers += usize::from(nest.reads(tensor)));
    readers == 1
}

/// Whether a tensor has a place for each of its rows, in which elements stand one behind the other.
fn has_rows(graph: &Graph, tensor: TensorId) -> bool {
    let Some((row, above)) = graph.tensor(tensor).format.levels.split_last() else {
        return false;
    };
    let grows = !row.is_placed() && row.unique && row.has(ArrayRole::Positions);
    grows && !above.is_empty() && above.iter().all(|level| level.is_full())
}

/// Whether the elements of one row come in ascending order, if they must: loops are over coordinates as they
/// are, or over parts of them in order, and no operand gives the coordinates of a row in any order, or a row in
/// several parts.
fn come_in_order(graph: &Graph, met: &Nest, own: &Nest) -> bool {
    let format = &graph.tensor(own.tensor).format;
    let Some((row, &mode)) = format.levels.last().zip(format.modes.last()) else {
        return false;
    };
    let last = own.lhs[mode];
    let ascends = |access: &Access| {
        let format = &graph.tensor(access.tensor).format;
        let mut levels = format.levels.iter().zip(&format.modes);
        levels.all(|(level, &mode)| {
            level.ordered || (level.unique && access.subscripts[mode].as_var() != Some(last))
        })
    };
    let loops = met.loop_vars();
    let parts = |&var: &VarId| is_in_parts(graph, var, &loops);
    !row.ordered
        || (met.lhs.iter().all(parts) && sparse_accesses(graph, &met.rhs).iter().all(ascends))
}

/// Whether the loops over the parts of a variable come to its values in ascending order: those over tiles
/// outside of those within them.
fn is_in_parts(graph: &Graph, var: VarId, loops: &[VarId]) -> bool {
    if loops.contains(&var) {
        return true;
    }
    let provenance = &graph.provenance;
    let at = |part: VarId| {
        let leaves = provenance.leaves(part, loops).into_iter();
        leaves.filter_map(|leaf| loops.iter().position(|&var| var == leaf))
    };
    provenance.consumers(var).any(|relation| {
        relation.tiles().is_some_and(|tiles| {
            at(tiles.outer).max() < at(tiles.inner).min()
                && is_in_parts(graph, tiles.outer, loops)
                && is_in_parts(graph, tiles.inner, loops)
        })
    })
}

/// Lets assignments to one tensor be to another.
fn assign(stmt: &mut Stmt, from: TensorId, to: TensorId) {
    if let Stmt::Assign(own) = stmt
        && own.tensor == from
    {
        own.tensor = to;
    }
    for part in stmt.parts_mut() {
        assign(part, from, to);
    }
}
