//! Scalars that live through several segments: what one launch computes and another
//! needs stands in memory. What only reads inputs is computed again instead.

use super::segments::Segment;
use crate::loops::build as b;
use crate::loops::ir::{
    ArrayId, Expr, ExprKind, Kernel, ReduceOp, ScalarType, Stmt, Storage, VarId,
};
use crate::loops::visit;
use std::collections::{BTreeMap, BTreeSet};

/// Moves such scalars to arrays of one element, or their definitions to where they are
/// used.
pub(super) fn to_memory(kernel: &mut Kernel, segments: &mut Vec<Segment>) {
    let mut declared: Vec<(usize, VarId, Stmt)> = Vec::new();
    let mut used: BTreeMap<VarId, BTreeSet<usize>> = BTreeMap::new();
    let mut bodies: Vec<&mut Vec<Stmt>> = segments
        .iter_mut()
        .flat_map(Segment::device_bodies)
        .collect();
    for (at, body) in bodies.iter().enumerate() {
        for stmt in body.iter() {
            if let Stmt::Let { var, .. } | Stmt::Search { var, .. } = stmt {
                declared.push((at, *var, stmt.clone()));
            }
        }
        visit::stmts(body, &mut |stmt| {
            for var in vars(stmt) {
                used.entry(var).or_default().insert(at);
            }
        });
    }
    let mut moved: BTreeMap<VarId, ArrayId> = BTreeMap::new();
    let mut made: Vec<ArrayId> = Vec::new();
    let mut copies: Vec<(usize, Stmt)> = Vec::new();
    // Last definitions first, so that what a copied one needs is copied before it.
    for (at, var, stmt) in declared.iter().rev() {
        let elsewhere: Vec<usize> = used
            .get(var)
            .map(|places| places.iter().copied().filter(|p| p != at).collect())
            .unwrap_or_default();
        if elsewhere.is_empty() {
            continue;
        }
        if recomputable(kernel, stmt) {
            for place in elsewhere {
                copies.push((place, stmt.clone()));
                for needed in vars(stmt) {
                    used.entry(needed).or_default().insert(place);
                }
            }
        } else if let Some(result) = becomes(kernel, *var, &bodies) {
            moved.insert(*var, result);
        } else {
            let name = kernel.var(*var).name.clone();
            let ty = kernel.var(*var).ty;
            let array = kernel.fresh_array(&name, ty, Storage::Local);
            moved.insert(*var, array);
            made.push(array);
        }
    }
    for (place, stmt) in copies {
        bodies[place].insert(0, stmt);
    }
    for body in bodies {
        let old = std::mem::take(body);
        *body = in_memory(kernel, old, &moved, true);
    }
    for segment in segments.iter_mut() {
        set_up(segment);
    }
    segments.retain(|s| !matches!(s, Segment::Run(body) if body.is_empty()));
    let allocations = made.into_iter().map(|array| {
        Segment::Host(Stmt::Alloc {
            array,
            count: b::int(1),
            zeroed: false,
        })
    });
    segments.splice(0..0, allocations);
}

/// The scalar result that a variable is copied to in the end: it may live there from the start.
fn becomes(kernel: &Kernel, var: VarId, bodies: &[&mut Vec<Stmt>]) -> Option<ArrayId> {
    let mut copies = Vec::new();
    let mut reads = 0;
    for body in bodies {
        visit::stmts(body, &mut |stmt| {
            visit::own_exprs(stmt, &mut |e| {
                visit::expr(e, &mut |node| {
                    reads += usize::from(node.kind == ExprKind::Var(var))
                });
            });
            if let Stmt::Store {
                array,
                index,
                op: None,
                value,
                atomic: false,
            } = stmt
                && value.kind == ExprKind::Var(var)
                && *index == b::int(0)
            {
                copies.push(*array);
            }
        });
    }
    let &[result] = copies.as_slice() else {
        return None;
    };
    let mut named = 0;
    for body in bodies {
        visit::stmts(body, &mut |stmt| {
            named += visit::arrays(stmt).iter().filter(|a| **a == result).count();
        });
    }
    let declared = kernel.array(result);
    // As the last statement of a launch: behind no test, in no loop.
    let last = bodies
        .iter()
        .any(|body| matches!(body.as_slice(), [Stmt::Store { array, .. }] if *array == result));
    let fits = declared.storage == Storage::Output && declared.elem == kernel.var(var).ty;
    (reads == 1 && named == 1 && last && fits).then_some(result)
}

/// A launch that only sets an element fills it instead.
fn set_up(segment: &mut Segment) {
    let Segment::Run(body) = segment else {
        return;
    };
    // What became the result itself needs no copy.
    body.retain(|stmt| {
        !matches!(stmt, Stmt::Store { array, index, op: None, value, .. }
            if matches!(&value.kind, ExprKind::Load { array: from, index: at }
                if from == array && **at == *index))
    });
    if let [
        Stmt::Store {
            array,
            index,
            op: None,
            value,
            ..
        },
    ] = body.as_slice()
        && matches!(value.kind, ExprKind::Literal(_))
        && *index == b::int(0)
    {
        *segment = Segment::Fill(Stmt::Fill {
            array: *array,
            start: index.clone(),
            count: b::int(1),
            value: value.clone(),
        });
    }
}

/// Variables that a statement reads or assigns.
fn vars(stmt: &Stmt) -> Vec<VarId> {
    let mut found = Vec::new();
    visit::own_exprs(stmt, &mut |e| {
        visit::expr(e, &mut |node| {
            if let ExprKind::Var(v) = node.kind {
                found.push(v);
            }
        });
    });
    if let Stmt::Assign { var, .. } = stmt {
        found.push(*var);
    }
    if let Stmt::For { tag, .. } = stmt {
        found.extend(tag.reductions().iter().map(|(_, v)| *v));
    }
    found
}

/// Whether a definition gives the same everywhere: it reads only inputs.
fn recomputable(kernel: &Kernel, stmt: &Stmt) -> bool {
    let (Stmt::Let { var, .. } | Stmt::Search { var, .. }) = stmt else {
        return false;
    };
    let pure = visit::arrays(stmt)
        .into_iter()
        .all(|array| kernel.array(array).storage == Storage::Input);
    let fixed = vars(stmt).into_iter().all(|v| !kernel.var(v).mutable);
    pure && fixed && !kernel.var(*var).mutable
}

/// With variables in memory. A loop over units that reduces one does so in a copy.
fn in_memory(
    kernel: &mut Kernel,
    body: Vec<Stmt>,
    moved: &BTreeMap<VarId, ArrayId>,
    serial: bool,
) -> Vec<Stmt> {
    if moved.is_empty() {
        return body;
    }
    let mut out = Vec::new();
    for mut stmt in body {
        let mut own = moved.clone();
        let mut after = Vec::new();
        if let Stmt::For { tag, .. } = &mut stmt
            && tag.gpu().is_some()
            && serial
        {
            for (op, var) in tag.reductions().to_vec() {
                let Some(array) = own.remove(&var) else {
                    continue;
                };
                let ty = kernel.var(var).ty;
                out.push(b::bind(var, b::literal(op.neutral(ty), ty)));
                after.push(store(array, Some(op), b::var(var, ty), true));
            }
        }
        for e in visit::own_exprs_mut(&mut stmt) {
            load(e, &own);
        }
        let units = matches!(&stmt, Stmt::For { tag, .. } if tag.gpu().is_some());
        for inner in visit::bodies_mut(&mut stmt) {
            let old = std::mem::take(inner);
            *inner = in_memory(kernel, old, &own, serial && !units);
        }
        // A search keeps its variable, and leaves it in memory for others.
        if let Stmt::Search { var, .. } = &stmt
            && let Some(&array) = own.get(var)
        {
            let found = b::var(*var, kernel.var(*var).ty);
            after.push(store(array, None, found, false));
        }
        if let Stmt::Let { var, init: value } | Stmt::Assign { var, value, .. } = &stmt
            && let Some(&array) = own.get(var)
        {
            let op = if let Stmt::Assign { op, .. } = &stmt {
                *op
            } else {
                None
            };
            stmt = store(array, op, value.clone(), false);
        }
        out.push(stmt);
        out.append(&mut after);
    }
    out
}

fn store(array: ArrayId, op: Option<ReduceOp>, value: Expr, atomic: bool) -> Stmt {
    Stmt::Store {
        array,
        index: b::int(0),
        op,
        value,
        atomic,
    }
}

fn load(e: &mut Expr, moved: &BTreeMap<VarId, ArrayId>) {
    visit::replace_expr(e, &mut |node| {
        let ExprKind::Var(var) = node.kind else {
            return None;
        };
        let array = *moved.get(&var)?;
        let ty: ScalarType = node.ty;
        Some(b::load(array, ty, b::int(0)))
    });
}
