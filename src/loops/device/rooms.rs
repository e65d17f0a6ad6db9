//! How large arrays are that have a part for each unit of a launch.

use super::{Refusal, definitions, inlined};
use crate::loops::build as b;
use crate::loops::ir::{ArrayId, BinaryOp, Expr, ExprKind, Place, Stmt, VarId};
use crate::loops::{linear, visit};
use std::collections::{BTreeMap, BTreeSet};

/// Gives arrays with a part for each unit of a launch their size.
///
/// # Errors
/// The number of units changes with a loop of the host, and nothing bounds it.
pub(super) fn size_rooms(
    body: &mut [Stmt],
    rooms: &BTreeMap<ArrayId, Expr>,
) -> Result<(), Refusal> {
    let mut counts: BTreeMap<VarId, Expr> = BTreeMap::new();
    let mut loops = BTreeSet::new();
    visit::stmts(body, &mut |stmt| {
        if let Stmt::For { var, .. } = stmt {
            loops.insert(*var);
        }
    });
    // Rooms are made before anything else: what names are declared for is not known by them.
    let known = definitions(body, &|_| false);
    let mut bounded = BTreeMap::new();
    for (array, units) in rooms {
        let most = most_units(&tidied(&inlined(units, &known)), &loops).ok_or_else(|| {
            Refusal::new(
                "how many units have a part of a workspace changes with a loop around them",
                "bring the loop over blocks outside",
            )
        })?;
        bounded.insert(*array, most);
    }
    each_alloc(body, &mut |array, count| {
        let units = bounded.get(&array).cloned().unwrap_or_else(|| b::int(0));
        visit::replace_expr(count, &mut |e| {
            if let ExprKind::Var(var) = e.kind {
                counts.insert(var, units.clone());
            }
            (e.kind == ExprKind::Place(Place::Threads)).then(|| units.clone())
        });
    });
    // Where the number of units has a name.
    name_units(body, &counts);
    Ok(())
}

/// The expression with what cancels out left out.
fn tidied(e: &Expr) -> Expr {
    let mut e = e.clone();
    visit::replace_expr(&mut e, &mut |node| {
        let ExprKind::Binary(BinaryOp::Sub, x, y) = &node.kind else {
            return None;
        };
        Some(linear::sub(x, y))
    });
    e
}

/// A number that the product of counts does not exceed, without the variables.
fn most_units(e: &Expr, loops: &BTreeSet<VarId>) -> Option<Expr> {
    if !e.any(|node| matches!(node.kind, ExprKind::Var(v) if loops.contains(&v))) {
        return Some(e.clone());
    }
    let ExprKind::Binary(op, x, y) = &e.kind else {
        return None;
    };
    let (x, y) = (most_units(x, loops), most_units(y, loops));
    if *op == BinaryOp::Min {
        return match (x, y) {
            (Some(x), Some(y)) => Some(b::min(x, y)),
            (one, None) | (None, one) => one,
        };
    }
    matches!(op, BinaryOp::Mul | BinaryOp::Max).then_some(())?;
    Some(b::binary(*op, x?, y?))
}

fn each_alloc(body: &mut [Stmt], f: &mut impl FnMut(ArrayId, &mut Expr)) {
    for stmt in body {
        if let Stmt::Alloc { array, count, .. } = stmt {
            f(*array, count);
        }
        for inner in visit::bodies_mut(stmt) {
            each_alloc(inner, f);
        }
    }
}

fn name_units(body: &mut [Stmt], counts: &BTreeMap<VarId, Expr>) {
    for stmt in body {
        if let Stmt::Let { var, init } = stmt
            && init.kind == ExprKind::Place(Place::Threads)
            && let Some(units) = counts.get(var)
        {
            *init = units.clone();
        }
        for inner in visit::bodies_mut(stmt) {
            name_units(inner, counts);
        }
    }
}
