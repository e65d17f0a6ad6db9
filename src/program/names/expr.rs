//! Expressions with their names resolved.

use super::{DEEPEST, Resolver, access, index, node};
use crate::diagnostic::codes::program as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::program::draft::{Binding, zero};
use crate::program::functions::{self, Builtin, Logic};
use crate::program::ir::{
    BinaryOp, Expr, ExprKind, Func, Literal, ReduceOp, ScalarType, Shared, TensorId, UnaryOp,
};
use crate::program::spelling::suggest;
use crate::syntax::ast;

impl Resolver<'_, '_> {
    pub(super) fn expr(&mut self, expr: &ast::Expr) -> Expr {
        if self.depth >= DEEPEST {
            self.draft.errors.push(
                Diagnostic::error(
                    codes::TOO_DEEP,
                    expr.span,
                    format!(
                        "more than {DEEPEST} operations of the expression build on one another"
                    ),
                    "this is the first too many",
                )
                .with_help("store parts of it in temporaries"),
            );
            return zero(expr.span);
        }
        self.depth += 1;
        let result = self.expr_inside(expr);
        self.depth -= 1;
        result
    }

    pub(super) fn expr_inside(&mut self, expr: &ast::Expr) -> Expr {
        let span = expr.span;
        match &expr.kind {
            ast::ExprKind::Number(ast::Number::Int(value)) => {
                if let Ok(value) = i64::try_from(*value) {
                    return node(ExprKind::Literal(Literal::Int(value)), span);
                }
                self.draft.errors.push(too_large_here(*value, span));
                zero(span)
            }
            ast::ExprKind::Number(ast::Number::Float(value)) => {
                node(ExprKind::Literal(Literal::Float(*value)), span)
            }
            ast::ExprKind::Name(name) => self.name(name, span),
            ast::ExprKind::Apply { callee, args } => self.apply(callee, args, span),
            ast::ExprKind::Extent { tensor, dim } => self.extent(tensor, *dim, span),
            ast::ExprKind::Member { base, member } => {
                self.draft.errors.push(
                    Diagnostic::error(
                        codes::UNKNOWN_NAME,
                        span,
                        format!("`{}.{}` has no value", base.name, member.name),
                        "only schedules name variables this way",
                    )
                    .with_help("`T.0` is the extent of the first dimension of `T`"),
                );
                zero(span)
            }
            ast::ExprKind::Unary(UnaryOp::Neg, operand) if is_least(operand) => {
                node(ExprKind::Literal(Literal::Int(i64::MIN)), span)
            }
            ast::ExprKind::Unary(op, operand) => {
                let operand = self.expr(operand);
                // A negative number is one literal: -128 fits int8, and 128 does not.
                if let (UnaryOp::Neg, ExprKind::Literal(Literal::Int(value))) = (op, &operand.kind)
                {
                    let Some(negative) = value.checked_neg() else {
                        let least = value.unsigned_abs();
                        self.draft.errors.push(too_large_here(least, span));
                        return zero(span);
                    };
                    return node(ExprKind::Literal(Literal::Int(negative)), span);
                }
                node(ExprKind::Unary(*op, Shared::new(operand)), span)
            }
            ast::ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                node(ExprKind::Binary(*op, Shared::new(a), Shared::new(b)), span)
            }
            ast::ExprKind::Select(c, a, b) => {
                let (c, a, b) = (self.expr(c), self.expr(a), self.expr(b));
                node(
                    ExprKind::Select(Shared::new(c), Shared::new(a), Shared::new(b)),
                    span,
                )
            }
        }
    }

    pub(super) fn name(&mut self, name: &str, span: Span) -> Expr {
        if self.indices.contains(name) && !self.means_something(name) {
            let var = self.var(name, span);
            return index(var, span);
        }
        let size = self.draft.scopes[self.scope].sizes.get(name).cloned();
        match (self.binding(name), size) {
            (Some(Binding::Value { scope, expr, ty }), _) => self.value(scope, expr, ty, span),
            (Some(Binding::Tensor(id)), size) => {
                let order = self.draft.tensor(id).order.unwrap_or(0);
                match size {
                    Some(size) if order > 0 => node(ExprKind::Size(size), span),
                    Some(_) | None => {
                        if order > 0 {
                            self.wrong_subscripts(id, 0, span);
                        }
                        access(id, Vec::new(), span)
                    }
                }
            }
            (None, Some(size)) => node(ExprKind::Size(size), span),
            (None, None) => {
                self.unknown_name(name, span);
                zero(span)
            }
        }
    }

    /// A scalar argument of an inlined call, read where the caller wrote it.
    pub(super) fn value(
        &mut self,
        scope: usize,
        expr: &ast::Expr,
        ty: ScalarType,
        span: Span,
    ) -> Expr {
        let here = std::mem::replace(&mut self.scope, scope);
        // The caller's expression is scalar: this statement's variables mean nothing there.
        let indices = std::mem::take(&mut self.indices);
        let operand = self.expr(expr);
        self.indices = indices;
        self.scope = here;
        Expr {
            kind: ExprKind::Cast(Shared::new(operand)),
            ty,
            span,
        }
    }

    pub(super) fn extent(&mut self, name: &ast::Ident, dim: u32, span: Span) -> Expr {
        let Some(id) = self.tensor(&name.name) else {
            self.unknown_name(&name.name, name.span);
            return zero(span);
        };
        let order = self.draft.tensor(id).order.unwrap_or(0);
        let dim = dim as usize;
        if dim >= order {
            self.draft.errors.push(
                Diagnostic::error(
                    codes::SUBSCRIPT_COUNT,
                    span,
                    format!("`{}` has no dimension {dim}", name.name),
                    format!("it has {order}, counted from 0"),
                )
                .with_label(self.draft.tensor(id).span, "declared here")
                .with_help("dimensions are counted from 0, as in `T.0`"),
            );
            return zero(span);
        }
        let extent = self.draft.extent(id, dim);
        node(ExprKind::Size(extent), span)
    }

    pub(super) fn apply(&mut self, callee: &ast::Ident, args: &[ast::Expr], span: Span) -> Expr {
        let name = callee.name.as_str();
        match self.binding(name) {
            Some(Binding::Tensor(id)) => return self.access(id, args, span),
            Some(Binding::Value { .. }) => {
                self.draft.errors.push(
                    Diagnostic::error(
                        codes::SUBSCRIPT_COUNT,
                        span,
                        format!("`{name}` is a scalar but has subscripts here"),
                        "takes no subscripts",
                    )
                    .with_help("remove the parentheses"),
                );
                return zero(span);
            }
            None => {}
        }
        if let Some(ty) = ScalarType::from_name(name) {
            let [arg] = args else {
                self.wrong_arguments(name, args.len(), 1, 1, span);
                return zero(span);
            };
            let operand = self.expr(arg);
            return Expr {
                kind: ExprKind::Cast(Shared::new(operand)),
                ty,
                span,
            };
        }
        if let Some(function) = functions::builtin(name) {
            return self.call(function, name, args, span);
        }
        if let Some((own, _)) = self.draft.library.operators.get(name) {
            let function = Builtin::Func(Func::Own(*own), 2);
            return self.call(function, name, args, span);
        }
        let error = if self.draft.library.defs.contains_key(name) {
            Diagnostic::error(
                codes::MISPLACED_CALL,
                span,
                format!("the call of `{name}` cannot stand inside an expression"),
                "a call is a statement of its own",
            )
            .with_help(format!(
                "write `T = {name}(...)` first, then use `T` with its subscripts"
            ))
        } else {
            let scope = &self.draft.scopes[self.scope];
            let operators = self.draft.library.operators.keys().copied();
            let known = scope.tensors.keys().copied().chain(functions::names());
            let known = known.chain(operators);
            Diagnostic::error(
                codes::UNKNOWN_FUNCTION,
                callee.span,
                format!("`{name}` is neither a tensor nor a function"),
                "not known here",
            )
            .with_help(suggest(
                name,
                known,
                "declare it as a parameter such as `double(M,N) A`",
            ))
        };
        self.draft.errors.push(error);
        zero(span)
    }

    pub(super) fn call(
        &mut self,
        function: Builtin,
        name: &str,
        args: &[ast::Expr],
        span: Span,
    ) -> Expr {
        let (least, most) = function.arguments();
        if args.len() < least || args.len() > most {
            self.wrong_arguments(name, args.len(), least, most, span);
            return zero(span);
        }
        let mut args: Vec<Expr> = args.iter().map(|arg| self.expr(arg)).collect();
        match function {
            Builtin::Func(func @ (Func::Min | Func::Max), _) => {
                let mut args = args.into_iter();
                let first = args.next().unwrap_or_else(|| zero(span));
                args.fold(first, |all, arg| {
                    node(ExprKind::Call(func, vec![all, arg]), span)
                })
            }
            Builtin::Func(func, most) => {
                if func == Func::Heaviside && args.len() < most {
                    args.push(zero(span));
                }
                node(ExprKind::Call(func, args), span)
            }
            Builtin::Power(exponent) if matches!(args[0].kind, ExprKind::Access(_)) => {
                // Of a plain element a product is meant, in the element's own type.
                let base = args[0].clone();
                let times = |product, _| {
                    let factors = (Shared::new(product), Shared::new(base.clone()));
                    node(ExprKind::Binary(BinaryOp::Mul, factors.0, factors.1), span)
                };
                (1..exponent).fold(base.clone(), times)
            }
            Builtin::Power(exponent) => {
                // Other powers are one factor: they are not expanded into sums of products.
                let exponent = node(ExprKind::Literal(Literal::Int(exponent.into())), span);
                args.push(exponent);
                node(ExprKind::Call(Func::Pow, args), span)
            }
            Builtin::Not => {
                let operand = args.pop().unwrap_or_else(|| zero(span));
                node(ExprKind::Unary(UnaryOp::Not, Shared::new(operand)), span)
            }
            Builtin::Logic(logic) => {
                let b = args.pop().unwrap_or_else(|| zero(span));
                let a = args.pop().unwrap_or_else(|| zero(span));
                let not = |e| node(ExprKind::Unary(UnaryOp::Not, Shared::new(e)), span);
                let (op, a, b) = match logic {
                    Logic::And => (BinaryOp::And, a, b),
                    Logic::Or => (BinaryOp::Or, a, b),
                    Logic::Xor => (BinaryOp::Ne, not(a), not(b)),
                };
                truth(node(
                    ExprKind::Binary(op, Shared::new(a), Shared::new(b)),
                    span,
                ))
            }
            Builtin::Sum => {
                let body = args.pop().unwrap_or_else(|| zero(span));
                let over = args.pop();
                let Some(var) = over.as_ref().and_then(Expr::as_var) else {
                    self.draft.errors.push(no_variable(over.as_ref(), span));
                    return zero(span);
                };
                let (op, vars) = (ReduceOp::Add, vec![var]);
                let body = Shared::new(body);
                node(ExprKind::Reduce { op, vars, body }, span)
            }
            Builtin::Compare(op) => {
                let b = args.pop().unwrap_or_else(|| zero(span));
                let a = args.pop().unwrap_or_else(|| zero(span));
                truth(node(
                    ExprKind::Binary(op, Shared::new(a), Shared::new(b)),
                    span,
                ))
            }
        }
    }

    pub(super) fn access(&mut self, id: TensorId, args: &[ast::Expr], span: Span) -> Expr {
        let order = self.draft.tensor(id).order.unwrap_or(0);
        let subscripts: Vec<Expr> = args.iter().map(|arg| self.expr(arg)).collect();
        if subscripts.len() != order {
            self.wrong_subscripts(id, subscripts.len(), span);
            return zero(span);
        }
        for (subscript, written) in subscripts.iter().zip(args) {
            self.check_subscript(subscript, written);
        }
        access(id, subscripts, span)
    }
}

/// What TACO makes of a condition: a number, of the type that it meets.
fn truth(holds: Expr) -> Expr {
    let span = holds.span;
    let [one, zero] = [1, 0].map(|n| Shared::new(node(ExprKind::Literal(Literal::Int(n)), span)));
    node(ExprKind::Select(Shared::new(holds), one, zero), span)
}

/// `sum` of something else than a variable and a term.
fn no_variable(over: Option<&Expr>, span: Span) -> Diagnostic {
    let is_scalar = over
        .is_some_and(|over| matches!(&over.kind, ExprKind::Access(of) if of.subscripts.is_empty()));
    let error = Diagnostic::error(
        codes::SUBSCRIPT_FORM,
        over.map_or(span, |over| over.span),
        "the first argument of `sum` is no index variable",
        if is_scalar {
            "a name that stands by itself, no subscript of anything, is a scalar"
        } else {
            "summed over what?"
        },
    );
    error.with_help("name a subscript of the second argument, as in `sum(j, A(i,j))`")
}

/// Whether the number is one more than the largest one: without it, its negative would be none.
fn is_least(operand: &ast::Expr) -> bool {
    matches!(operand.kind, ast::ExprKind::Number(ast::Number::Int(n)) if n == i64::MIN.unsigned_abs())
}

fn too_large_here(value: u64, span: Span) -> Diagnostic {
    Diagnostic::error(
        codes::NUMBER_TOO_LARGE,
        span,
        format!("{value} is too large for a whole number"),
        "does not fit 64 bits with a sign",
    )
    .with_help(too_large(value))
}

/// What to write for a number of more than 63 bits.
fn too_large(value: u64) -> String {
    let floating = "with a point it is a floating-point number, which is rounded";
    // 2^64 - value
    match value.wrapping_neg() {
        0 => floating.to_string(),
        rest => {
            let rest = match i64::try_from(rest) {
                Ok(rest) => rest.to_string(),
                Err(_) => format!("{} - 1", rest - 1),
            };
            format!("as `uint64(0) - {rest}` it is a `uint64`; {floating}")
        }
    }
}
