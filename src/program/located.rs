//! Elements of sparse tensors are located ahead of the conditions that they are read under: rows begin, bits and
//! coordinates are searched before it is known whether the value is needed. So where only a condition keeps a subscript
//! in bounds, it is located at the nearest coordinate that there is: `i > 0 ? A(i-1,j) : 0` becomes
//! `i > 0 ? A(max(min(i-1, M-1), 0),j) : 0`, which is the same wherever the condition holds. Dense tensors are read
//! under the condition.

use super::ir::{Access, Expr, ExprKind, Func, Function, Requirement, Shared, SizeExpr, TensorId};
use super::ranges::size;
use crate::scalar::{Literal, ScalarType};
use std::collections::BTreeSet;

/// A dimension whose subscripts are kept in bounds.
struct Dim {
    /// Dense tensors are read under the condition, but for what a subscript of a sparse one reads.
    sparse: bool,
    tensor: TensorId,
    dim: usize,
    extent: SizeExpr,
    /// Variables by themselves, too.
    bare: bool,
}

/// Keeps in bounds what is located; `dims` are the tensors and dimensions of which something may be read that only a
/// condition keeps in bounds, and whether the subscript is a variable by itself.
pub(super) fn clamp(function: &mut Function, dims: &BTreeSet<(TensorId, usize, bool)>) {
    let mut own: Vec<Dim> = Vec::new();
    for &(tensor, dim, bare) in dims {
        match own.iter_mut().find(|d| d.tensor == tensor && d.dim == dim) {
            Some(known) => known.bare |= bare,
            None => own.push(Dim {
                sparse: function.tensor(tensor).is_sparse(),
                tensor,
                dim,
                extent: function.tensor(tensor).dims[dim].clone(),
                bare,
            }),
        }
    }
    if own.is_empty() {
        return;
    }
    let tensors = function.tensors.iter().map(super::ir::Tensor::is_sparse);
    let sparse: Vec<bool> = tensors.collect();
    for stmt in &mut function.stmts {
        located(&mut stmt.rhs, (false, false), &sparse, &own);
    }
    for Dim {
        tensor,
        dim,
        extent,
        ..
    } in own.into_iter().filter(|dim| dim.sparse)
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

/// Keeps subscripts in bounds in an expression that stands under a condition, or inside a subscript of a sparse tensor.
fn located(e: &mut Expr, (conditional, inside): (bool, bool), sparse: &[bool], own: &[Dim]) {
    if let ExprKind::Access(Access { tensor, subscripts }) = &mut e.kind {
        let is_sparse = sparse.get(tensor.index()).copied().unwrap_or(false);
        for (dim, subscript) in subscripts.iter_mut().enumerate() {
            located(subscript, (conditional, inside || is_sparse), sparse, own);
            let known = own.iter().find(|d| d.tensor == *tensor && d.dim == dim);
            let known = known.filter(|d| (d.sparse || inside) && (d.bare || !is_bare(subscript)));
            if let (true, Some(known)) = (conditional, known) {
                *subscript = nearest(subscript, &known.extent);
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

/// The coordinate that there is which is nearest to a subscript.
fn nearest(subscript: &Expr, extent: &SizeExpr) -> Expr {
    let node = |kind: ExprKind| Expr {
        kind,
        ty: ScalarType::I64,
        span: subscript.span,
    };
    let last = size::sub(extent.clone(), SizeExpr::Const(1));
    let own = if subscript.ty == ScalarType::I64 {
        subscript.clone()
    } else {
        node(ExprKind::Cast(Shared::new(subscript.clone())))
    };
    let least = node(ExprKind::Call(
        Func::Min,
        vec![own, node(ExprKind::Size(last))],
    ));
    let zero = node(ExprKind::Literal(Literal::ZERO));
    node(ExprKind::Call(Func::Max, vec![least, zero]))
}
