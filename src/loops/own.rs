//! Operators that the program declares, as kernels have them.

use super::build as b;
use super::ir::{
    BinaryOp, Device, Expr, ExprKind, Func, Kernel, Literal, ReduceOp, ScalarType, Stmt, UnaryOp,
};
use super::visit;
use crate::operators::{self, Own, Term, constant};
use std::collections::BTreeSet;

/// The operators that loops reduce by in threads or lanes, each with the types of its operands.
#[must_use]
pub fn shared(kernel: &Kernel) -> BTreeSet<(Own, ScalarType)> {
    let mut found = BTreeSet::new();
    visit::stmts(&kernel.body, &mut |stmt| {
        let Stmt::For { tag, .. } = stmt else {
            return;
        };
        for (op, var) in tag.reductions() {
            if let ReduceOp::Own(own) = op {
                found.insert((*own, kernel.var(*var).ty));
            }
        }
    });
    found
}

/// The operators that a kernel uses, each with the types of its operands.
#[must_use]
pub fn uses(kernel: &Kernel) -> BTreeSet<(Own, ScalarType)> {
    let mut found = shared(kernel);
    for body in [&kernel.checks, &kernel.body] {
        visit::stmts(body, &mut |stmt| {
            if let Some((ReduceOp::Own(own), ty)) = reduces(kernel, stmt) {
                found.insert((own, ty));
            }
            visit::own_exprs(stmt, &mut |e| {
                visit::expr(e, &mut |node| {
                    if let ExprKind::Call(Func::Own(own), _) = &node.kind {
                        found.insert((*own, node.ty));
                    }
                });
            });
        });
    }
    found
}

/// What a statement reduces by itself, and in which type.
fn reduces(kernel: &Kernel, stmt: &Stmt) -> Option<(ReduceOp, ScalarType)> {
    if let Stmt::Assign {
        var, op: Some(op), ..
    }
    | Stmt::Device(Device::Reduce { var, op, .. }) = stmt
    {
        return Some((*op, kernel.var(*var).ty));
    }
    if let Stmt::Store {
        array,
        op: Some(op),
        ..
    }
    | Stmt::Device(Device::SegmentStore { array, op, .. }) = stmt
    {
        return Some((*op, kernel.array(*array).elem.compute()));
    }
    None
}

/// The operator's value at two expressions of type `ty`.
#[must_use]
pub fn value(own: Own, ty: ScalarType, left: &Expr, right: &Expr) -> Expr {
    expression(&own.body, ty, (left, right))
}

fn is(term: &Term, value: i64) -> bool {
    matches!(term, Term::Number(number) if number.same_value(Literal::Int(value)))
}

fn expression(term: &Term, ty: ScalarType, operands: (&Expr, &Expr)) -> Expr {
    let of = |term: &Term| expression(term, ty, operands);
    match term {
        Term::Left => operands.0.clone(),
        Term::Right => operands.1.clone(),
        Term::Number(value) => b::literal(constant(*value, ty), ty),
        Term::Unary(operators::UnaryOp::Neg, a) => b::unary(UnaryOp::Neg, of(a)),
        Term::Unary(operators::UnaryOp::Not, a) => b::unary(UnaryOp::Not, of(a)),
        Term::Binary(op, x, y) => b::binary(BinaryOp::from(*op), of(x), of(y)),
        // A truth as a truth.
        Term::Select(c, x, y) if ty == ScalarType::Bool && is(x, 1) && is(y, 0) => of(c),
        Term::Select(c, x, y) => b::select(of(c), of(x), of(y)),
        Term::Call(func, args) => {
            let args: Vec<Expr> = args.iter().map(of).collect();
            match (func, args.as_slice()) {
                // Whole numbers are rounded already.
                (Func::Floor | Func::Ceil | Func::Round, [whole]) if ty.is_integer() => {
                    whole.clone()
                }
                (_, _) => b::function(*func, args, ty),
            }
        }
    }
}
