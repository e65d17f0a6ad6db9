//! Elements of sparse tensors are located ahead of the conditions that they are read under: rows begin, bits and
//! coordinates are searched before it is known whether the value is needed. Where a coordinate is none of the level's,
//! there is no element, and plans ask for that where they must (`graph::access::may_lie_outside`). But a
//! subscript that reads something itself needs a value: `i > 0 ? A(at(i-1),j) : 0` is located at the nearest element of
//! `at` that there is, `A(at(max(min(i-1, M-1), 0)),j)`, which is the same wherever the condition holds.
//! Dense tensors are read under the condition.

use super::ir::{
    Access, BinaryOp, Expr, ExprKind, Func, Function, Requirement, Shared, SizeExpr, TensorId,
};
use super::ranges::size;
use crate::scalar::{Literal, ScalarType};
use std::collections::BTreeSet;

/// A dimension of which something may be read that only a condition keeps in bounds.
struct Dim {
    tensor: TensorId,
    dim: usize,
    extent: SizeExpr,
    /// By a variable by itself, too.
    bare: bool,
    /// A subscript of it was kept in bounds.
    clamped: bool,
}

/// Keeps in bounds what subscripts of sparse tensors read; `dims` are the tensors and dimensions of which something may
/// be read that only a condition keeps in bounds, and whether the subscript is a variable by itself.
pub(super) fn clamp(function: &mut Function, dims: &BTreeSet<(TensorId, usize, bool)>) {
    let mut own: Vec<Dim> = Vec::new();
    for &(tensor, dim, bare) in dims {
        match own.iter_mut().find(|d| d.tensor == tensor && d.dim == dim) {
            Some(known) => known.bare |= bare,
            None => own.push(Dim {
                tensor,
                dim,
                extent: function.tensor(tensor).dims[dim].clone(),
                bare,
                clamped: false,
            }),
        }
    }
    if own.is_empty() {
        return;
    }
    let tensors = function.tensors.iter().map(super::ir::Tensor::is_sparse);
    let sparse: Vec<bool> = tensors.collect();
    for stmt in &mut function.stmts {
        located(&mut stmt.rhs, (false, false), &sparse, &mut own);
    }
    for Dim {
        tensor,
        dim,
        extent,
        ..
    } in own.into_iter().filter(|dim| dim.clamped)
    {
        let tensor = function.tensor(tensor);
        let slack = size::sub(extent, SizeExpr::Const(1));
        if !size::never_negative(&slack) {
            let text = format!(
                "dimension {dim} of `{}`, which is read under a condition, has no elements",
                tensor.name
            );
            let requirement = Requirement {
                slack,
                vars: Vec::new(),
                text,
                span: tensor.span,
            };
            function.requirements.push(requirement);
        }
    }
}

/// Looks for subscripts that conditions keep in bounds, in an expression that stands under one, or inside a subscript
/// of a sparse tensor.
fn located(e: &mut Expr, (conditional, inside): (bool, bool), sparse: &[bool], own: &mut [Dim]) {
    if let ExprKind::Access(Access { tensor, subscripts }) = &mut e.kind {
        let is_sparse = sparse.get(tensor.index()).copied().unwrap_or(false);
        for (dim, subscript) in subscripts.iter_mut().enumerate() {
            located(subscript, (conditional, inside || is_sparse), sparse, own);
            let mut known = own.iter_mut();
            let known = known.find(|d| d.tensor == *tensor && d.dim == dim);
            let known = known.filter(|d| conditional && (d.bare || !is_bare(subscript)));
            match known {
                Some(known) if inside => {
                    *subscript = nearest(subscript, &known.extent);
                    known.clamped = true;
                }
                Some(_) if is_sparse && is_bare(subscript) => *subscript = unlike(subscript),
                Some(_) | None => {}
            }
        }
        return;
    }
    // A sum is there before the condition that it stands under is asked.
    let conditional = conditional && !matches!(e.kind, ExprKind::Reduce { .. });
    let is_lazy = e.is_lazy();
    for (n, part) in e.parts_mut().into_iter().enumerate() {
        located(
            part,
            (conditional || (is_lazy && n > 0), inside),
            sparse,
            own,
        );
    }
}

fn is_bare(subscript: &Expr) -> bool {
    if let ExprKind::Cast(inner) = &subscript.kind {
        return is_bare(inner);
    }
    subscript.as_var().is_some()
}

/// The variable that the program writes in a subscript which is none by itself.
#[must_use]
pub fn as_variable(subscript: &Expr) -> Option<&Expr> {
    let ExprKind::Binary(BinaryOp::Add, var, zero) = &subscript.kind else {
        return None;
    };
    let is_zero = matches!(&zero.kind, ExprKind::Literal(literal) if literal.is_zero());
    (is_zero && is_bare(var)).then_some(&**var)
}

/// The same coordinate, but no variable by itself: that would say that the variable's range is the dimension.
fn unlike(subscript: &Expr) -> Expr {
    let zero = Expr {
        kind: ExprKind::Literal(Literal::ZERO),
        ty: ScalarType::I64,
        span: subscript.span,
    };
    let (own, zero) = (Shared::new(wide(subscript)), Shared::new(zero));
    Expr {
        kind: ExprKind::Binary(BinaryOp::Add, own, zero),
        ty: ScalarType::I64,
        span: subscript.span,
    }
}

fn wide(subscript: &Expr) -> Expr {
    if subscript.ty == ScalarType::I64 {
        return subscript.clone();
    }
    Expr {
        kind: ExprKind::Cast(Shared::new(subscript.clone())),
        ty: ScalarType::I64,
        span: subscript.span,
    }
}

/// The coordinate that there is which is nearest to a subscript.
fn nearest(subscript: &Expr, extent: &SizeExpr) -> Expr {
    let node = |kind: ExprKind| Expr {
        kind,
        ty: ScalarType::I64,
        span: subscript.span,
    };
    let last = size::sub(extent.clone(), SizeExpr::Const(1));
    let least = node(ExprKind::Call(
        Func::Min,
        vec![wide(subscript), node(ExprKind::Size(last))],
    ));
    let zero = node(ExprKind::Literal(Literal::ZERO));
    node(ExprKind::Call(Func::Max, vec![least, zero]))
}
