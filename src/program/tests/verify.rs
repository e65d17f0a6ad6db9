//! The typing rules and the other promises of [`ir`](crate::program::ir), checked on a
//! finished function.

use std::collections::BTreeSet;

use crate::program::ir::{
    BinaryOp, Bound, Expr, ExprKind, Func, Function, Literal, ReduceOp, ScalarType, SizeExpr,
    UnaryOp, VarId,
};

/// The first promise that does not hold.
pub(super) fn verify(function: &Function) -> Result<(), String> {
    for (number, stmt) in function.stmts.iter().enumerate() {
        let tensor = function.tensor(stmt.tensor);
        let distinct: BTreeSet<VarId> = stmt.lhs.iter().copied().collect();
        check(
            distinct.len() == tensor.order(),
            "left side has one variable a mode",
        )?;
        check(
            stmt.lhs.len() == tensor.order(),
            "left side has distinct variables",
        )?;
        check(
            stmt.rhs.ty == tensor.ty.compute(),
            "right side has the compute type",
        )?;
        let mut known = BTreeSet::new();
        for var in &stmt.vars {
            let var_info = function.var(*var);
            check(var_info.stmt == number, "variables belong to one statement")?;
            for bound in [&var_info.range.lo, &var_info.range.hi] {
                match bound {
                    Bound::Static(value) => size(function, value)?,
                    Bound::Dynamic(value) => {
                        check(value.ty == ScalarType::I64, "bounds are I64")?;
                        expr(function, value)?;
                        let mut used = BTreeSet::new();
                        value.walk(&mut |e| used.extend(e.as_var()));
                        check(used.is_subset(&known), "bounds use earlier variables")?;
                    }
                }
            }
            known.insert(*var);
        }
        let mut used = BTreeSet::new();
        stmt.rhs.walk(&mut |e| used.extend(e.as_var()));
        check(used.is_subset(&known), "every variable is listed")?;
        expr(function, &stmt.rhs)?;
        summed(&stmt.rhs, &distinct)?;
    }
    for tensor in &function.tensors {
        check(
            tensor.format.dimensions() == tensor.order(),
            "a level for each mode",
        )?;
        for dim in &tensor.dims {
            size(function, dim)?;
        }
    }
    Ok(())
}

fn check(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

/// Every variable that is not on the left is bound by a reduction, and by one only.
fn summed(e: &Expr, bound: &BTreeSet<VarId>) -> Result<(), String> {
    if let Some(var) = e.as_var() {
        return check(bound.contains(&var), "no variable is free");
    }
    if let ExprKind::Reduce { vars, body, .. } = &e.kind {
        let mut inside = bound.clone();
        for var in vars {
            check(inside.insert(*var), "no variable is bound twice")?;
        }
        check(!vars.is_empty(), "a reduction has variables")?;
        return summed(body, &inside);
    }
    for child in e.parts() {
        summed(child, bound)?;
    }
    Ok(())
}

fn size(function: &Function, value: &SizeExpr) -> Result<(), String> {
    match value {
        SizeExpr::Const(_) => Ok(()),
        SizeExpr::Size(id) => check(
            id.index() < function.sizes.len(),
            "sizes are the function's",
        ),
        SizeExpr::Param(id) => {
            let tensor = function.tensor(*id);
            let good = tensor.order() == 0 && tensor.ty.is_integer();
            check(good, "parameters in extents are whole scalars")
        }
        SizeExpr::Add(a, b)
        | SizeExpr::Sub(a, b)
        | SizeExpr::Mul(a, b)
        | SizeExpr::FloorDiv(a, b)
        | SizeExpr::Min(a, b)
        | SizeExpr::Max(a, b) => {
            size(function, a)?;
            size(function, b)
        }
    }
}

fn expr(function: &Function, e: &Expr) -> Result<(), String> {
    let same = |parts: &[&Expr], ty| parts.iter().all(|part| part.ty == ty);
    check(
        e.ty.compute() == e.ty,
        "half-width floats are not computed with",
    )?;
    match &e.kind {
        ExprKind::Literal(value) => {
            let kind = match value {
                Literal::Bool(_) => e.ty == ScalarType::Bool,
                Literal::Int(_) => e.ty.is_integer(),
                Literal::Float(_) => e.ty.is_float() || e.ty.is_complex(),
            };
            check(kind, "literals are of their type's kind")?;
        }
        ExprKind::Access(access) => {
            let tensor = function.tensor(access.tensor);
            check(
                e.ty == tensor.ty.compute(),
                "accesses have the compute type",
            )?;
            check(
                access.subscripts.len() == tensor.order(),
                "one subscript a mode",
            )?;
            for subscript in &access.subscripts {
                check(subscript.ty == ScalarType::I64, "subscripts are I64")?;
            }
        }
        ExprKind::Index(_) => check(e.ty == ScalarType::I64, "variables are I64")?,
        ExprKind::Size(value) => {
            check(e.ty == ScalarType::I64, "extents are I64")?;
            size(function, value)?;
        }
        ExprKind::Unary(UnaryOp::Neg, a) => check(same(&[a], e.ty), "negation keeps the type")?,
        ExprKind::Unary(UnaryOp::Not, a) => {
            check(
                same(&[a, e], ScalarType::Bool),
                "negated conditions are Bool",
            )?;
        }
        ExprKind::Binary(op, a, b) => match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => {
                check(same(&[a, b], e.ty), "arithmetic has one type")?;
            }
            BinaryOp::And | BinaryOp::Or => {
                check(same(&[a, b, e], ScalarType::Bool), "conditions are Bool")?;
            }
            BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge => {
                check(e.ty == ScalarType::Bool, "comparisons are Bool")?;
                check(a.ty == b.ty, "comparisons have one operand type")?;
            }
        },
        ExprKind::Select(c, a, b) => {
            check(c.ty == ScalarType::Bool, "selects are by Bool")?;
            check(same(&[a, b], e.ty), "both sides have the select's type")?;
        }
        ExprKind::Call(Func::Abs, args) => {
            let ty = args[0].ty;
            let magnitude = if ty == ScalarType::C64 {
                ScalarType::F32
            } else if ty == ScalarType::C128 {
                ScalarType::F64
            } else {
                ty
            };
            check(magnitude == e.ty, "magnitudes are real")?;
        }
        ExprKind::Call(_, args) => {
            check(
                args.iter().all(|arg| arg.ty == e.ty),
                "arguments have the call's type",
            )?;
        }
        ExprKind::Cast(a) => check(a.ty != e.ty, "casts convert")?,
        ExprKind::Reduce { op, body, .. } => {
            check(body.ty == e.ty, "reductions keep the type")?;
            if matches!(op, ReduceOp::And | ReduceOp::Or) {
                check(e.ty == ScalarType::Bool, "conditions are reduced as Bool")?;
            }
        }
    }
    for child in e.parts() {
        expr(function, child)?;
    }
    Ok(())
}
