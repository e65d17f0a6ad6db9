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
use crate::graph::{Assembly, Graph, Loop, Nest, Stmt};
use crate::level::ArrayRole;
use crate::program::ir::{Access, ExprKind, TensorId, VarId};
use std::collections::BTreeSet;

/// The nest that collects elements and the one that reads them as one that stores them at once,
/// with its tree; `None` where they have to be sorted between.
pub(super) fn spread(graph: &Graph, nests: &[Vec<&Nest>], stmt: &Stmt) -> Option<(Nest, Stmt)> {
    let [met, own, ..] = nests else { return None };
    let (&[met], &[own]) = (met.as_slice(), own.as_slice()) else {
        return None;
    };
    let said = |tensor| graph.assembly(tensor);
    let possible = graph.collected.contains(&met.tensor)
        && comes_once(met)
        && copies(own, met)
        && !met.reads(own.tensor)
        && is_serial(&met.loops)
        && is_serial(&own.loops)
        && is_only_read(graph, met.tensor)
        && has_rows(graph, own.tensor)
        && come_in_order(graph, met, own)
        && said(own.tensor) != Some(Assembly::Append)
        && said(met.tensor).is_none();
    possible.then(|| {
        let nest = Nest {
            tensor: own.tensor,
            ..met.clone()
        };
        let mut stmt = stmt.clone();
        assign(&mut stmt, met.tensor, own.tensor);
        (nest, stmt)
    })
}

/// Whether the loops are over the coordinates of the left side, as they are.
fn comes_once(nest: &Nest) -> bool {
    let of = |vars: &[VarId]| vars.iter().copied().collect::<BTreeSet<VarId>>();
    nest.producers.is_empty()
        && root_reduction(&nest.rhs, nest.op).is_none()
        && nest.op.is_none()
        && reduces(&nest.rhs).is_empty()
        && nest.loops.len() == nest.lhs.len()
        && of(&nest.loop_vars()) == of(&nest.lhs)
}

/// Whether a nest stores what another one has collected, as it is.
fn copies(nest: &Nest, met: &Nest) -> bool {
    let ExprKind::Access(access) = &nest.rhs.kind else {
        return false;
    };
    let vars: Option<Vec<VarId>> = access.subscripts.iter().map(|s| s.as_var()).collect();
    access.tensor == met.tensor
        && vars.as_ref() == Some(&nest.lhs)
        && nest.lhs == met.lhs
        && comes_once(nest)
}

fn is_serial(loops: &[Loop]) -> bool {
    loops.iter().all(|l| l.tag.parallel.is_none())
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

/// Whether the elements of one row come in ascending order, if they must: no operand gives the
/// coordinates of a row in any order, or a row in several parts.
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
    !row.ordered || sparse_accesses(graph, &met.rhs).iter().all(ascends)
}

/// Lets assignments to one tensor be to another.
fn assign(stmt: &mut Stmt, from: TensorId, to: TensorId) {
    match stmt {
        Stmt::Forall { body, .. } | Stmt::Within { body, .. } | Stmt::Guarded { body, .. } => {
            assign(body, from, to)
        }
        Stmt::Where {
            consumer, producer, ..
        } => {
            assign(consumer, from, to);
            assign(producer, from, to);
        }
        Stmt::Sequence(stmts) => stmts.iter_mut().for_each(|s| assign(s, from, to)),
        Stmt::Assign(own) if own.tensor == from => own.tensor = to,
        Stmt::Assign(_) => {}
    }
}
