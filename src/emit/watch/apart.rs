//! Which arrays the iterations of a loop need not be watched for: each iteration has elements of
//! its own, as all accesses have one subscript that moves on with the loop and with nothing inside.
//!
//! A check of its own, of few lines, that shares nothing with what decides about atomics and
//! barriers. So registers and vectors of a tiled kernel cost nothing. Tests watch them all the same.

use super::contested::Inside;
use crate::loops::device::{Definitions, definitions, inlined};
use crate::loops::ir::{ArrayId, Expr, ExprKind, Stmt, VarId};
use crate::loops::linear::Linear;
use crate::loops::operands::Operand;
use crate::loops::visit;
use std::collections::{BTreeMap, BTreeSet};

/// How far a subscript moves from one iteration to the next, and where it begins.
type Moving = (i64, Expr);

/// The arrays of which the iterations of the loop over `var` have each their own elements.
pub(super) fn apart(var: VarId, body: &[Stmt], inside: &Inside) -> BTreeSet<ArrayId> {
    let known = definitions(body, &|v| inside.assigned.contains(&v));
    let mut subscripts: BTreeMap<ArrayId, Option<Moving>> = BTreeMap::new();
    let mut meets = |array: ArrayId, index: Option<&Expr>| {
        let index = index.and_then(|e| moving(e, var, inside, &known));
        let seen = subscripts.entry(array).or_insert_with(|| index.clone());
        if *seen != index {
            *seen = None;
        }
    };
    visit::stmts(body, &mut |stmt| {
        let mut stored = None;
        if let Stmt::Store { index, .. } = stmt {
            stored = Some(index);
        }
        stmt.operands(&mut |operand| match operand {
            // What is accessed as a whole meets all.
            Operand::Array(array, _) => meets(*array, stored),
            Operand::Expr(e) => visit::expr(e, &mut |node| {
                if let ExprKind::Load { array, index } = &node.kind {
                    meets(*array, Some(index));
                }
            }),
            Operand::Var(..) | Operand::Body(_) => {}
        });
    });
    let own = subscripts.into_iter().filter(|(_, index)| index.is_some());
    own.map(|(array, _)| array).collect()
}

/// A subscript that no two iterations have in common: beside the loop's variable it has nothing
/// that changes in the body, and no element of an array.
fn moving(e: &Expr, var: VarId, inside: &Inside, known: &Definitions) -> Option<Moving> {
    let (factor, rest) = Linear::of(&inlined(e, known))?.split(var)?;
    let mut fixed = factor != 0;
    visit::expr(&rest, &mut |node| {
        fixed &= match node.kind {
            ExprKind::Var(v) => !inside.own_vars.contains(&v) && !inside.assigned.contains(&v),
            ExprKind::Load { .. } | ExprKind::Place(_) => false,
            ExprKind::Literal(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Call(..)
            | ExprKind::Cast(_)
            | ExprKind::Select(..)
            | ExprKind::Locate(..) => true,
        };
    });
    fixed.then_some((factor, rest))
}
