//! Right sides taken apart: their sums, their terms, and what they read.

use crate::program::ir::{
    BinaryOp, Expr, ExprKind, Func, ReduceOp, Shared, TensorId, UnaryOp, VarId,
};
use crate::scalar::ScalarType;

/// The operator, variables and body, if the right side is one reduction whose
/// partial results may be accumulated in the left side.
#[must_use]
pub fn root_reduction(rhs: &Expr, op: Option<ReduceOp>) -> Option<(ReduceOp, &[VarId], &Expr)> {
    if let ExprKind::Reduce {
        op: inner,
        vars,
        body,
    } = &rhs.kind
        && op.is_none_or(|op| op == *inner)
        && reduces(body).is_empty()
    {
        Some((*inner, vars, body))
    } else {
        None
    }
}

/// The reduction, if the expression is one, or its conversion. Minima and maxima of floats may end
/// before, where whole numbers do: at what is neutral among these.
#[must_use]
pub fn converted_sum(e: &Expr) -> Option<&Expr> {
    if let ExprKind::Cast(a) = &e.kind {
        return converted_sum(a);
    }
    if let ExprKind::Call(function, args) = &e.kind
        && let [a, end] = args.as_slice()
        && matches!(end.kind, ExprKind::Literal(_))
    {
        let sum = converted_sum(a)?;
        let ExprKind::Reduce { op, .. } = &sum.kind else {
            return None;
        };
        let same = (*function == Func::Min && *op == ReduceOp::Min)
            || (*function == Func::Max && *op == ReduceOp::Max);
        return same.then_some(sum);
    }
    matches!(e.kind, ExprKind::Reduce { .. }).then_some(e)
}

/// The outermost reductions of an expression, in order.
#[must_use]
pub fn reduces(e: &Expr) -> Vec<Expr> {
    if let ExprKind::Reduce { .. } = e.kind {
        return vec![e.clone()];
    }
    e.operands().into_iter().flat_map(reduces).collect()
}

/// Whether `e` reads `tensor`.
#[must_use]
pub fn reads(e: &Expr, tensor: TensorId) -> bool {
    let mut read = e.accesses().into_iter();
    read.any(|access| access.tensor == tensor)
}

/// Replaces each occurrence of `from` that is structurally the same by `to`; those in subscripts stay.
pub fn replace(e: &mut Expr, from: &Expr, to: &Expr) {
    if super::equal::same(e, from) {
        *e = to.clone();
        return;
    }
    if !matches!(e.kind, ExprKind::Access(_)) {
        for part in e.parts_mut() {
            replace(part, from, to);
        }
    }
}

/// Reads another tensor in place of one, in subscripts too.
pub(super) fn renew(e: &mut Expr, from: TensorId, to: TensorId) {
    e.walk_mut(&mut |node| {
        if let ExprKind::Access(access) = &mut node.kind
            && access.tensor == from
        {
            access.tensor = to;
        }
    });
}

/// Gives the expression other variables, in subscripts too.
pub fn rename_expr(e: &mut Expr, to: &impl Fn(VarId) -> VarId) {
    e.walk_mut(&mut |node| {
        if let ExprKind::Index(var) = &mut node.kind {
            *var = to(*var);
        }
        if let ExprKind::Reduce { vars, .. } = &mut node.kind {
            for var in vars {
                *var = to(*var);
            }
        }
    });
}

/// The terms of `+`, `-` and unary minus at the top, signs pushed in.
pub(super) fn flatten(e: &Expr, negative: bool, terms: &mut Vec<Expr>) {
    if let ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) = &e.kind {
        flatten(a, negative, terms);
        flatten(b, negative != (*op == BinaryOp::Sub), terms);
    } else if let ExprKind::Unary(UnaryOp::Neg, a) = &e.kind {
        flatten(a, !negative, terms);
    } else if negative {
        terms.push(negate(e.clone()));
    } else {
        terms.push(e.clone());
    }
}

/// `f * sum(body)`, `sum(body) / f`, `-sum(body)` as `sum(f * body)` and so on.
pub(super) fn push_factors(term: &Expr) -> Option<Expr> {
    let inside = |sum: &Expr, wrap: &dyn Fn(Expr) -> Expr| -> Option<Expr> {
        let sum = push_factors(sum)?;
        let ExprKind::Reduce {
            op: ReduceOp::Add,
            vars,
            body,
        } = sum.kind
        else {
            return None;
        };
        Some(Expr {
            kind: ExprKind::Reduce {
                op: ReduceOp::Add,
                vars,
                body: Shared::new(wrap(body.take())),
            },
            ty: sum.ty,
            span: sum.span,
        })
    };
    if let ExprKind::Reduce {
        op: ReduceOp::Add,
        body,
        ..
    } = &term.kind
    {
        return reduces(body).is_empty().then(|| term.clone());
    }
    if let ExprKind::Unary(UnaryOp::Neg, a) = &term.kind {
        return inside(a, &negate);
    }
    let ExprKind::Binary(op @ (BinaryOp::Mul | BinaryOp::Div), a, b) = &term.kind else {
        return None;
    };
    if *op == BinaryOp::Mul && reduces(a).is_empty() {
        return inside(b, &|body| binary(BinaryOp::Mul, (**a).clone(), body));
    }
    let exact = *op == BinaryOp::Mul || !term.ty.is_integer();
    if reduces(b).is_empty() && exact {
        return inside(a, &|body| binary(*op, body, (**b).clone()));
    }
    None
}

pub(super) fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr {
        ty: a.ty,
        span: a.span.to(b.span),
        kind: ExprKind::Binary(op, Shared::new(a), Shared::new(b)),
    }
}

/// `-e`
#[must_use]
pub fn negate(e: Expr) -> Expr {
    Expr {
        ty: e.ty,
        span: e.span,
        kind: ExprKind::Unary(UnaryOp::Neg, Shared::new(e)),
    }
}

/// The variable as an expression, written where `near` is.
pub fn index(var: VarId, near: &Expr) -> Expr {
    Expr {
        kind: ExprKind::Index(var),
        ty: ScalarType::I64,
        span: near.span,
    }
}
