//! What is said of names that do not fit.

use super::Resolver;
use crate::diagnostic::codes::program as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::program::functions;
use crate::program::ir::TensorId;
use crate::program::spelling::suggest;
use crate::program::text;
use crate::syntax::ast;

impl Resolver<'_, '_> {
    fn free_name(&self) -> String {
        let mut usual = ["i", "j", "k", "l"].into_iter();
        let free = usual.find(|name| !self.means_something(name));
        let such = free.map_or(String::new(), |name| format!(", such as `{name}`"));
        format!("use a name that means nothing else{such}")
    }

    pub(super) fn left_not_variable(&mut self, subscript: &ast::Expr, assign: &ast::Assign) {
        let written = text::expr(subscript, 0);
        let error = match &subscript.kind {
            ast::ExprKind::Name(_) => Diagnostic::error(
                codes::LEFT_SUBSCRIPT,
                subscript.span,
                format!("`{written}` on the left side is no index variable"),
                "already the name of a size, scalar or tensor",
            )
            .with_help(self.free_name()),
            _read if self.reads(subscript) => Diagnostic::error(
                codes::LEFT_SUBSCRIPT,
                subscript.span,
                format!("`{written}` may name one element several times"),
                "data decide which elements are written",
            )
            .with_help(
                "scatter into what is there, as in `h(bin(i)) += m(i)` with `h` a parameter",
            ),
            ast::ExprKind::Number(_)
            | ast::ExprKind::Apply { .. }
            | ast::ExprKind::Extent { .. }
            | ast::ExprKind::Member { .. }
            | ast::ExprKind::Unary(..)
            | ast::ExprKind::Binary(..)
            | ast::ExprKind::Select(..) => Diagnostic::error(
                codes::LEFT_SUBSCRIPT,
                subscript.span,
                format!("the subscript `{written}` on the left side is no variable"),
                "only plain index variables can stand here",
            )
            .with_note("each element must be written once, which is only plain for variables")
            .with_help(self.by_itself(subscript, assign)),
        };
        self.draft.errors.push(error);
    }

    pub(super) fn unknown_name(&mut self, name: &str, span: Span) {
        let scope = &self.draft.scopes[self.scope];
        let known = scope.tensors.keys().chain(scope.sizes.keys()).copied();
        let known = known.chain(self.indices.iter().map(String::as_str));
        let help = suggest(
            name,
            known,
            "declare it as a parameter such as `double alpha`, or use it in a subscript to make \
             it an index variable",
        );
        self.draft.errors.push(
            Diagnostic::error(
                codes::UNKNOWN_NAME,
                span,
                format!("`{name}` is not known here"),
                "neither a parameter nor a size nor an index variable",
            )
            .with_help(help),
        );
    }

    pub(super) fn wrong_subscripts(&mut self, id: TensorId, given: usize, span: Span) {
        let tensor = self.draft.tensor(id);
        let order = tensor.order.unwrap_or(0);
        let (is, verb) = match order {
            0 => ("is a scalar".to_owned(), "takes no subscripts".to_owned()),
            1 => ("has 1 dimension".to_owned(), "needs 1 subscript".to_owned()),
            _ => (
                format!("has {order} dimensions"),
                format!("needs {order} subscripts"),
            ),
        };
        let error = Diagnostic::error(
            codes::SUBSCRIPT_COUNT,
            span,
            format!(
                "`{}` {is} but has {given} subscript{} here",
                tensor.name,
                if given == 1 { "" } else { "s" }
            ),
            verb,
        )
        .with_label(tensor.span, "its dimensions come from here")
        .with_help("give one subscript for each dimension");
        self.draft.errors.push(error);
    }

    pub(super) fn wrong_arguments(
        &mut self,
        name: &str,
        given: usize,
        least: usize,
        most: usize,
        at: Span,
    ) {
        let wanted = functions::counted(least, most);
        self.draft.errors.push(
            Diagnostic::error(
                codes::ARGUMENT_COUNT,
                at,
                format!("`{name}` takes {wanted}, not {given}"),
                format!("{given} given"),
            )
            .with_help(format!("give {wanted}")),
        );
    }
}
