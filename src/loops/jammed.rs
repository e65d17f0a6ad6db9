//! Loops around loops that gcc's unroll-and-jam spoils.
//!
//! In `for p: j = crd[p]; for k: C[i * K + k] += A[p] * B[j * K + k]` every p comes to the same
//! elements of C, so gcc (11 to 14, at `-O3`) runs several p at once to load and store them once.
//! It moves what stood before the inner loop into it, `crd[p + 1]` too, and no longer knows that
//! this is the same for all k: rows of B that were vectors become gathers, twice as slow as the
//! loop as it stands. Such loops are marked: the runtime header keeps gcc from doing so. Where
//! arithmetic says which row it is, as in a product of dense matrices, gcc is left to it. Nor are
//! loops marked that gcc leaves alone, since the mark keeps it from testing once, before the loop,
//! whether C and B are apart: where the row of C is itself loaded, and, with OpenMP, where threads
//! share a loop around. There gcc forgets which parameters are apart, and jams only what adds into
//! an array that the loop declares; unless what they run is a function (`functions.rs`), where it
//! knows.

use super::device::{Definitions, definitions, inlined};
use super::ir::{ArrayId, Expr, ExprKind, Jam, Kernel, Piece, Stmt, VarId};
use super::visit;
use std::collections::BTreeSet;

/// Marks serial and shared loops whose only inner loop comes back to the same elements in each
/// iteration and reads others where data say.
#[must_use]
pub fn mark_jammed(mut kernel: Kernel) -> Kernel {
    let known = definitions(&kernel.body, &|v| kernel.var(v).mutable);
    let mut body = std::mem::take(&mut kernel.body);
    list(&known, None, &mut body);
    kernel.body = body;
    kernel
}

/// `shared`: of the loop around that threads share, the arrays that it declares.
fn list(known: &Definitions, shared: Option<&BTreeSet<ArrayId>>, body: &mut [Stmt]) {
    for stmt in body {
        let mut own = None;
        if let Stmt::For { var, tag, body, .. } = stmt {
            // A share of it is a loop in a function.
            if shared.is_none() && tag.is_shared() && tag.function != Some(Piece::Share) {
                own = Some(declared(body));
            }
            if let Some(to) = spoiled(*var, body, known).filter(|_| !tag.is_vector()) {
                let is_known = own.as_ref().or(shared).is_none_or(|own| own.contains(&to));
                tag.jam = if is_known { Jam::Never } else { Jam::Threads };
            }
            if tag.function.is_some() {
                own = None;
            }
        }
        let shared = own.as_ref().or(shared);
        for inner in visit::bodies_mut(stmt) {
            list(known, shared, inner);
        }
    }
}

/// The arrays of constant size that `body` declares.
fn declared(body: &[Stmt]) -> BTreeSet<ArrayId> {
    let mut found = BTreeSet::new();
    visit::stmts(body, &mut |s| {
        if let Stmt::Declare { array, .. } = s {
            found.insert(*array);
        }
    });
    found
}

/// The array that a loop over `outer` with this body adds into, if it is spoiled.
fn spoiled(outer: VarId, body: &[Stmt], known: &Definitions) -> Option<ArrayId> {
    let (inner, [lo, hi], statements) = only_loop(body)?;
    // What differs from one iteration to the next.
    let mut own = visit::changed(body);
    own.insert(outer);
    let fixed = |e: &Expr| !names(&inlined(e, known), &own);
    if !(fixed(lo) && fixed(hi)) {
        return None;
    }
    let to = statements.iter().find_map(|s| {
        if let Stmt::Store {
            array,
            index,
            atomic: false,
            ..
        } = s
        {
            (fixed(index) && !inlined(index, known).loads()).then_some(*array)
        } else {
            None
        }
    })?;
    let mut found = false;
    visit::stmts(statements, &mut |stmt| {
        visit::own_exprs(stmt, &mut |e| {
            found |= inlined(e, known).any(|node| is_told(node, inner, &own));
        });
    });
    found.then_some(to)
}

/// Variable, ends and body of the loop that stands in `body`, if it is the only one there, at any
/// depth.
fn only_loop(body: &[Stmt]) -> Option<(VarId, [&Expr; 2], &[Stmt])> {
    let mut loops = 0;
    visit::stmts(body, &mut |s| {
        loops += usize::from(matches!(s, Stmt::For { .. } | Stmt::While { .. }));
    });
    let mut at_hand = body.iter().filter_map(|s| {
        if let Stmt::For {
            var,
            lo,
            hi,
            tag,
            body,
            ..
        } = s
        {
            // What is unrolled is no loop by then.
            let is_loop = tag.unroll.is_none();
            is_loop.then_some((*var, [lo, hi], body.as_slice()))
        } else {
            None
        }
    });
    at_hand.next().filter(|_| loops == 1)
}

/// Whether it loads an element of which the subscript depends on what the loop around, whose
/// variables are `own`, loads before it comes to the inner one.
fn is_told(node: &Expr, inner: VarId, own: &BTreeSet<VarId>) -> bool {
    let ExprKind::Load { index, .. } = &node.kind else {
        return false;
    };
    index.any(|part| {
        if let ExprKind::Load { index: at, .. } = &part.kind {
            names(at, own) && !names(at, &BTreeSet::from([inner]))
        } else {
            false
        }
    })
}

fn names(e: &Expr, vars: &BTreeSet<VarId>) -> bool {
    e.any(|node| matches!(node.kind, ExprKind::Var(v) if vars.contains(&v)))
}
