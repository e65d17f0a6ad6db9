//! The form that subscripts must have.

use super::Resolver;
use crate::diagnostic::codes::program as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::program::ir::{BinaryOp, Expr, ExprKind, TensorId, UnaryOp};
use crate::program::ranges::affine::affine;
use crate::program::text;
use crate::program::visit::walk;
use crate::syntax::ast;

impl Resolver<'_, '_> {
    pub(super) fn check_subscript(&mut self, subscript: &Expr, written: &ast::Expr) {
        let draft = &*self.draft;
        let Some(bad) = not_affine(subscript, &|t| draft.tensor(t).is_size_param()) else {
            return;
        };
        self.draft.errors.push(
            Diagnostic::error(
                codes::SUBSCRIPT_FORM,
                bad,
                format!(
                    "the subscript `{}` is not supported yet",
                    text::expr(written, 0)
                ),
                "not an affine function of index variables",
            )
            .with_note(
                "a subscript is a sum of index variables with constant factors, sizes, integer \
                 parameters and elements of integer tensors",
            )
            .with_help("store the subscript in an integer tensor and read it, as in `X(I(i))`"),
        );
    }
}

/// The place of the first part that no subscript can have.
fn not_affine(expr: &Expr, is_param: &impl Fn(TensorId) -> bool) -> Option<Span> {
    if affine(expr, is_param).is_some() {
        return None;
    }
    match &expr.kind {
        // Type checking speaks of a number that is not whole.
        ExprKind::Literal(_) | ExprKind::Index(_) | ExprKind::Size(_) | ExprKind::Access(_) => None,
        ExprKind::Unary(UnaryOp::Neg, operand) | ExprKind::Cast(operand) => {
            not_affine(operand, is_param)
        }
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => {
            not_affine(a, is_param).or_else(|| not_affine(b, is_param))
        }
        ExprKind::Binary(BinaryOp::Mul, a, b) => {
            let linear = !mentions_vars(a) || !mentions_vars(b);
            let inside = not_affine(a, is_param).or_else(|| not_affine(b, is_param));
            inside.or((!linear).then_some(expr.span))
        }
        ExprKind::Unary(UnaryOp::Not, _)
        | ExprKind::Binary(
            BinaryOp::Div
            | BinaryOp::Rem
            | BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
            | BinaryOp::And
            | BinaryOp::Or,
            ..,
        )
        | ExprKind::Select(..)
        | ExprKind::Call(..)
        | ExprKind::Reduce { .. } => Some(expr.span),
    }
}

fn mentions_vars(expr: &Expr) -> bool {
    let mut found = false;
    walk(expr, &mut |e| found |= e.as_var().is_some());
    found
}
