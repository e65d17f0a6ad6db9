//! The form that subscripts must have.

use super::Resolver;
use crate::diagnostic::codes::program as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::program::ir::{Expr, ExprKind};
use crate::program::text;
use crate::syntax::ast;

impl Resolver<'_, '_> {
    pub(super) fn check_subscript(&mut self, subscript: &Expr, written: &ast::Expr) {
        let Some(bad) = unfit(subscript) else {
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
                "a sum inside of a subscript",
            )
            .with_note(
                "a subscript is an expression of index variables, sizes, integer parameters and \
                 elements of integer tensors",
            )
            .with_help("store the sum in an integer tensor and read it, as in `X(I(i))`"),
        );
    }
}

/// The place of the first part that no subscript can have. What is not affine is checked when the function
/// is called, as elements of integer tensors are.
fn unfit(expr: &Expr) -> Option<Span> {
    match &expr.kind {
        // Type checking speaks of a number that is not whole.
        ExprKind::Literal(_) | ExprKind::Index(_) | ExprKind::Size(_) | ExprKind::Access(_) => None,
        ExprKind::Unary(_, operand) | ExprKind::Cast(operand) => unfit(operand),
        ExprKind::Binary(_, a, b) => unfit(a).or_else(|| unfit(b)),
        ExprKind::Select(c, a, b) => unfit(c).or_else(|| unfit(a)).or_else(|| unfit(b)),
        ExprKind::Call(_, args) => args.iter().find_map(unfit),
        ExprKind::Reduce { .. } => Some(expr.span),
    }
}
