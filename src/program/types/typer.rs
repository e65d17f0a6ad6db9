//! Typed expressions: every conversion becomes an explicit cast.

use super::{Ty, argument_type, convert_literal, infer, join};
use crate::diagnostic::codes::program as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::operators::Own;
use crate::program::claims::check;
use crate::program::draft::Draft;
use crate::program::functions;
use crate::program::ir::{
    BinaryOp, Expr, ExprKind, Func, Literal, ReduceOp, ScalarType, Shared, UnaryOp,
};
use crate::program::spelling::nearest;
use crate::program::text::symbol;
use crate::syntax::ast::Notation;

/// Builds typed expressions; the errors of all of them are collected.
pub(in crate::program) struct Typer<'d, 'a> {
    pub(in crate::program) draft: &'d Draft<'a>,
    pub(in crate::program) errors: Vec<Diagnostic>,
}

impl Typer<'_, '_> {
    pub(super) fn infer(&self, expr: &Expr) -> Ty {
        infer(expr, &|t| self.draft.tensor(t).ty)
    }

    /// The right side of a statement that stores into elements of type `ty`, or reduces into
    /// them.
    pub(in crate::program) fn right_side(
        &mut self,
        expr: &Expr,
        reduction: Option<ReduceOp>,
        ty: ScalarType,
    ) -> Expr {
        // Storing rounds to the element type: a cast to it on top says nothing more.
        if let ExprKind::Cast(operand) = &expr.kind
            && expr.ty == ty
            && ty.compute() != ty
        {
            return self.build(operand, ty.compute());
        }
        let want = ty.compute();
        let own = self.infer(expr).settle();
        // What TACO notation stores is converted as C does it.
        let is_c = self.draft.notation == Notation::Taco;
        if own.is_some_and(ScalarType::is_complex) && !want.is_complex() && !is_c {
            self.errors.push(
                Diagnostic::error(
                    codes::OPERAND_TYPE,
                    expr.span,
                    format!("a complex value cannot be stored as {ty}"),
                    "its imaginary part would be lost",
                )
                .with_help(format!(
                    "convert it yourself with `abs(...)` or `{ty}(...)`"
                )),
            );
        }
        match reduction {
            Some(op @ (ReduceOp::Min | ReduceOp::Max)) => self.extreme(expr, op, want),
            Some(ReduceOp::Own(own)) => {
                self.claims(own, want, expr.span);
                self.in_left_side(expr, want)
            }
            Some(ReduceOp::Add | ReduceOp::Mul | ReduceOp::And | ReduceOp::Or) | None => {
                self.build(expr, want)
            }
        }
    }

    /// The typed expression converted to `want`.
    pub(super) fn build(&mut self, expr: &Expr, want: ScalarType) -> Expr {
        let own = self.infer(expr);
        // Sums are accumulated in the type they are stored in if that is wider.
        let widens = join(own, Ty::Strong(want)) == Ty::Strong(want) && want != ScalarType::Bool;
        let natural = match own {
            Ty::Unknown | Ty::WeakInt => want,
            Ty::WeakFloat if want.is_integer() || want == ScalarType::Bool => ScalarType::F64,
            Ty::WeakFloat => want,
            Ty::Strong(_) if widens && accumulates(expr) => want,
            Ty::Strong(ty) => ty.compute(),
        };
        let kind = self.kind(expr, natural);
        let typed = Expr {
            kind,
            ty: natural,
            span: expr.span,
        };
        convert(typed, want)
    }

    /// The node with its operands typed, where its own type is `ty`.
    pub(super) fn kind(&mut self, expr: &Expr, ty: ScalarType) -> ExprKind {
        match &expr.kind {
            ExprKind::Literal(value) => ExprKind::Literal(self.literal(*value, ty, expr.span)),
            ExprKind::Index(_) | ExprKind::Size(_) => expr.kind.clone(),
            ExprKind::Access(access) => {
                let mut access = access.clone();
                let before = self.errors.len();
                access.subscripts = access.subscripts.iter().map(|s| self.whole(s)).collect();
                let tensor = self.draft.tensor(access.tensor);
                // What TACO's notation has no tensor for is one, and so is a misspelt function.
                let misspelt = (self.draft.notation == Notation::Taco && tensor.name.len() > 2)
                    .then(|| nearest(&tensor.name, functions::names()))
                    .flatten();
                if let Some(meant) = misspelt {
                    for error in &mut self.errors[before..] {
                        if error.code == codes::NOT_WHOLE {
                            error.help = Some(format!(
                                "`{}` is a tensor here, which nothing else says: did you mean the function `{meant}`?",
                                tensor.name
                            ));
                        }
                    }
                }
                ExprKind::Access(access)
            }
            ExprKind::Unary(UnaryOp::Neg, operand) => {
                ExprKind::Unary(UnaryOp::Neg, Shared::new(self.build(operand, ty)))
            }
            ExprKind::Unary(UnaryOp::Not, operand) => ExprKind::Unary(
                UnaryOp::Not,
                Shared::new(self.build(operand, ScalarType::Bool)),
            ),
            ExprKind::Binary(op, a, b) => {
                let operands = self.operand_type(*op, a, b, ty, expr.span);
                let (a, b) = (self.build(a, operands), self.build(b, operands));
                ExprKind::Binary(*op, Shared::new(a), Shared::new(b))
            }
            ExprKind::Select(c, a, b) => {
                let c = self.build(c, ScalarType::Bool);
                let (a, b) = (self.build(a, ty), self.build(b, ty));
                ExprKind::Select(Shared::new(c), Shared::new(a), Shared::new(b))
            }
            ExprKind::Call(function, args) => self.call(*function, args, ty, expr.span),
            ExprKind::Cast(operand) => {
                let inner = match self.infer(operand) {
                    Ty::Unknown => ty,
                    Ty::WeakInt => ScalarType::I64,
                    Ty::WeakFloat => ScalarType::F64,
                    Ty::Strong(inner) => inner.compute(),
                };
                let value = self.build(operand, inner);
                let element = matches!(operand.kind, ExprKind::Access(_));
                let rounded = element && self.infer(operand) == Ty::Strong(expr.ty);
                match rounding(expr.ty).filter(|_| !rounded) {
                    Some(round) => {
                        let single = ScalarType::F32;
                        let args = vec![convert(value, single)];
                        let rounded = Expr {
                            kind: ExprKind::Call(round, args),
                            ty: single,
                            span: expr.span,
                        };
                        convert(rounded, ty).kind
                    }
                    None => convert(value, ty).kind,
                }
            }
            ExprKind::Reduce { op, vars, body } => ExprKind::Reduce {
                op: *op,
                vars: vars.clone(),
                body: Shared::new(self.build(body, ty)),
            },
        }
    }

    /// A literal in the kind that its type calls for.
    fn literal(&mut self, value: Literal, ty: ScalarType, span: Span) -> Literal {
        convert_literal(value, ty).unwrap_or_else(|| {
            self.errors.push(
                Diagnostic::error(
                    codes::NUMBER_TOO_LARGE,
                    span,
                    format!("{value} does not fit {ty}"),
                    format!("takes the type of what it meets, {ty}"),
                )
                .with_help(wider(value, ty)),
            );
            value
        })
    }

    /// The type of the operands of a binary operator whose own type is `ty`.
    fn operand_type(
        &mut self,
        op: BinaryOp,
        a: &Expr,
        b: &Expr,
        ty: ScalarType,
        span: Span,
    ) -> ScalarType {
        let complex = |t: ScalarType| t.is_complex();
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div => ty,
            BinaryOp::Rem => {
                if complex(ty) {
                    self.not_for_complex("%", span);
                }
                ty
            }
            BinaryOp::And | BinaryOp::Or => ScalarType::Bool,
            BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge => {
                let joined = match join(self.infer(a), self.infer(b)) {
                    Ty::WeakInt => ScalarType::I64,
                    Ty::Unknown | Ty::WeakFloat => ScalarType::F64,
                    Ty::Strong(ty) => ty.compute(),
                };
                if complex(joined) && !matches!(op, BinaryOp::Eq | BinaryOp::Ne) {
                    self.not_for_complex(symbol(op), span);
                }
                joined
            }
        }
    }

    /// Whether an operator has a meaning on numbers of type `ty`, and is what it claims there.
    fn claims(&mut self, own: Own, ty: ScalarType, span: Span) {
        self.errors.extend(check(self.draft, own, ty, span));
    }

    fn not_for_complex(&mut self, what: &str, span: Span) {
        self.errors.push(
            Diagnostic::error(
                codes::OPERAND_TYPE,
                span,
                format!("`{what}` is not defined for complex numbers"),
                "complex operands",
            )
            .with_help("compare or reduce magnitudes instead, with `abs(...)`"),
        );
    }

    fn call(&mut self, function: Func, args: &[Expr], ty: ScalarType, span: Span) -> ExprKind {
        let joined = args.iter().map(|a| self.infer(a)).fold(Ty::Unknown, join);
        let arg_ty = match argument_type(function, joined) {
            Ty::Strong(strong) => strong.compute(),
            Ty::Unknown | Ty::WeakInt | Ty::WeakFloat => ty,
        };
        let real_only = matches!(
            function,
            Func::Cbrt
                | Func::Expm1
                | Func::Log1p
                | Func::Log10
                | Func::Atan2
                | Func::Sigmoid
                | Func::Floor
                | Func::Ceil
                | Func::Round
                | Func::Mod
                | Func::Min
                | Func::Max
                | Func::Fma
                | Func::Heaviside
                | Func::ToHalf
                | Func::ToBfloat16
        );
        let weak = !matches!(joined, Ty::Strong(_));
        if weak && arg_ty.is_complex() && (real_only || function == Func::Abs) {
            // Of literals alone: a real number beside a complex one.
            let real = if ty == ScalarType::C64 {
                ScalarType::F32
            } else {
                ScalarType::F64
            };
            let kind = self.call(function, args, real, span);
            return ExprKind::Cast(Shared::new(Expr {
                kind,
                ty: real,
                span,
            }));
        }
        if let Func::Own(own) = function {
            self.claims(own, arg_ty, span);
        }
        if real_only && arg_ty.is_complex() {
            self.not_for_complex(function.name(), span);
        }
        let mut args: Vec<Expr> = args.iter().map(|arg| self.build(arg, arg_ty)).collect();
        let rounds = matches!(function, Func::Floor | Func::Ceil | Func::Round);
        if rounds && arg_ty.is_integer() {
            // Whole numbers are rounded already.
            if let Some(arg) = args.pop() {
                return arg.kind;
            }
        }
        ExprKind::Call(function, args)
    }

    /// An integer expression of type `I64`: a subscript or a bound. Sums and products
    /// are computed in 64 bits, whatever the width of the elements they read.
    pub(in crate::program) fn whole(&mut self, expr: &Expr) -> Expr {
        let own = self.infer(expr);
        let is_whole = match own {
            Ty::Unknown | Ty::WeakInt => true,
            Ty::WeakFloat => false,
            Ty::Strong(ty) => ty.is_integer(),
        };
        if !is_whole {
            let ty = own.settle().unwrap_or(ScalarType::F64);
            self.errors.push(
                Diagnostic::error(
                    codes::NOT_WHOLE,
                    expr.span,
                    "subscripts and bounds must be whole numbers",
                    format!("this is of type {ty}"),
                )
                .with_help(self.draft.notation.pick(
                    "convert it, as in `int(...)`, or declare it as `int`",
                    "convert it, as in `int(...)`, or give its tensor's type, as in `-t T:int`",
                )),
            );
        }
        let node = |kind| Expr {
            kind,
            ty: ScalarType::I64,
            span: expr.span,
        };
        if let ExprKind::Unary(UnaryOp::Neg, operand) = &expr.kind {
            let operand = self.whole_part(operand);
            return node(ExprKind::Unary(UnaryOp::Neg, Shared::new(operand)));
        }
        if let ExprKind::Binary(op, a, b) = &expr.kind
            && is_whole
            && is_arithmetic(*op)
        {
            let (a, b) = (self.whole_part(a), self.whole_part(b));
            return node(ExprKind::Binary(*op, Shared::new(a), Shared::new(b)));
        }
        self.build(expr, ScalarType::I64)
    }

    /// A part of a subscript; the whole of it has been found to be an integer.
    fn whole_part(&mut self, expr: &Expr) -> Expr {
        if self.infer(expr) == Ty::Strong(ScalarType::Bool) {
            return self.build(expr, ScalarType::I64);
        }
        self.whole(expr)
    }
}

fn is_arithmetic(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem
    )
}

/// The function that a cast to a type of half width is: values of it are computed as `float`.
fn rounding(ty: ScalarType) -> Option<Func> {
    if ty == ScalarType::F16 {
        return Some(Func::ToHalf);
    }
    (ty == ScalarType::BF16).then_some(Func::ToBfloat16)
}

/// Whether the expression is a reduction, or a sum with one in it.
pub(in crate::program) fn accumulates(expr: &Expr) -> bool {
    if let ExprKind::Reduce { op, .. } = &expr.kind {
        !matches!(op, ReduceOp::And | ReduceOp::Or)
    } else if let ExprKind::Unary(UnaryOp::Neg, a) = &expr.kind {
        accumulates(a)
    } else if let ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) = &expr.kind {
        accumulates(a) || accumulates(b)
    } else {
        false
    }
}

/// The expression converted to `want`: literals are converted here and now.
pub(super) fn convert(expr: Expr, want: ScalarType) -> Expr {
    if expr.ty == want {
        return expr;
    }
    let span = expr.span;
    if let ExprKind::Literal(value) = expr.kind
        && let Some(value) = convert_literal(value, want)
    {
        return Expr {
            kind: ExprKind::Literal(value),
            ty: want,
            span,
        };
    }
    Expr {
        kind: ExprKind::Cast(Shared::new(expr)),
        ty: want,
        span,
    }
}

/// How to mean a literal that the type of its surroundings does not hold.
fn wider(value: Literal, ty: ScalarType) -> String {
    let whole = match value {
        Literal::Int(n) => Some(n),
        Literal::Bool(_) | Literal::Float(_) => None,
    };
    let holds =
        |wide: &ScalarType| wide.size() > ty.size() && whole.is_some_and(|n| super::fits(n, *wide));
    match [ScalarType::I32, ScalarType::I64].into_iter().find(holds) {
        Some(wide) => {
            let wide = if wide == ScalarType::I32 {
                "int"
            } else {
                "long"
            };
            format!("convert the other operand to a wider type, as in `{wide}(x(i))`")
        }
        None => "compute in floating point, as in `double(x(i))`".to_string(),
    }
}
