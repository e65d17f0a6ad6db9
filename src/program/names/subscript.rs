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
    // Type checking speaks of a number that is not whole.
    if let ExprKind::Reduce { .. } = expr.kind {
        return Some(expr.span);
    }
    expr.operands().into_iter().find_map(unfit)
}
