//! Element types: inference for tensors that no declaration types, and the explicit
//! conversions that the typing rules of [`ir`](super::ir) ask for.
//!
//! Literals are weak: they take the type of what they meet, except that a literal
//! with a point makes an integer a `double`. Otherwise the wider type wins, in the
//! order bool, integers, half-width floats, float, double, complex; of a signed and
//! an unsigned integer of the same width the unsigned one, as in C.

use super::draft::{Draft, DraftStmt, Write};
use super::ir::{BinaryOp, Expr, ExprKind, Func, Literal, ReduceOp, ScalarType, TensorId, UnaryOp};
use crate::diagnostic::codes::program as codes;
use crate::diagnostic::{Diagnostic, Span};

/// What is known of an expression's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    /// Only tensors of unknown type stand in it.
    Unknown,
    WeakInt,
    WeakFloat,
    /// Half-width floats stay themselves here, though they are computed as `float`.
    Strong(ScalarType),
}

impl Ty {
    /// The type when nothing else decides.
    pub(super) fn settle(self) -> Option<ScalarType> {
        match self {
            Self::Unknown => None,
            Self::WeakInt => Some(ScalarType::I32),
            Self::WeakFloat => Some(ScalarType::F64),
            Self::Strong(ty) => Some(ty),
        }
    }

    /// As an operand of arithmetic, which makes integers of bools.
    fn arithmetic(self) -> Ty {
        if self == Ty::Strong(ScalarType::Bool) {
            Ty::Strong(ScalarType::I32)
        } else {
            self
        }
    }

    /// As an argument of a function that is only defined on floats.
    fn floating(self) -> Ty {
        match self {
            Self::WeakInt => Self::WeakFloat,
            Self::Strong(ty) if ty.is_integer() || ty == ScalarType::Bool => {
                Self::Strong(ScalarType::F64)
            }
            Self::Unknown | Self::WeakFloat | Self::Strong(_) => self,
        }
    }
}

/// The type that two operands meet in.
pub(super) fn join(a: Ty, b: Ty) -> Ty {
    match (a, b) {
        (Ty::Unknown, other) | (other, Ty::Unknown) => other,
        (Ty::WeakInt, other) | (other, Ty::WeakInt) => other.arithmetic(),
        (Ty::WeakFloat, other) | (other, Ty::WeakFloat) => other.floating(),
        (Ty::Strong(a), Ty::Strong(b)) => Ty::Strong(wider(a, b)),
    }
}

fn wider(a: ScalarType, b: ScalarType) -> ScalarType {
    use ScalarType as S;
    if a == b {
        return a;
    }
    // Two different half-width floats have no common half-width type.
    if matches!((a, b), (S::F16, S::BF16) | (S::BF16, S::F16)) {
        return S::F32;
    }
    let (low, high) = if rank(a) <= rank(b) { (a, b) } else { (b, a) };
    if high == S::C64 && low == S::F64 {
        S::C128
    } else {
        high
    }
}

fn rank(ty: ScalarType) -> u8 {
    match ty {
        ScalarType::Bool => 0,
        ScalarType::I8 => 1,
        ScalarType::U8 => 2,
        ScalarType::I16 => 3,
        ScalarType::U16 => 4,
        ScalarType::I32 => 5,
        ScalarType::U32 => 6,
        ScalarType::I64 => 7,
        ScalarType::U64 => 8,
        ScalarType::F16 => 9,
        ScalarType::BF16 => 10,
        ScalarType::F32 => 11,
        ScalarType::F64 => 12,
        ScalarType::C64 => 13,
        ScalarType::C128 => 14,
    }
}

/// The type of an untyped expression under what is known of its tensors.
pub(super) fn infer(expr: &Expr, tensors: &impl Fn(TensorId) -> Option<ScalarType>) -> Ty {
    let of = |e: &Expr| infer(e, tensors);
    match &expr.kind {
        ExprKind::Literal(Literal::Bool(_)) => Ty::Strong(ScalarType::Bool),
        ExprKind::Literal(Literal::Int(_)) => Ty::WeakInt,
        ExprKind::Literal(Literal::Float(_)) => Ty::WeakFloat,
        ExprKind::Access(access) => tensors(access.tensor).map_or(Ty::Unknown, Ty::Strong),
        ExprKind::Index(_) | ExprKind::Size(_) => Ty::Strong(ScalarType::I64),
        ExprKind::Unary(UnaryOp::Neg, operand) => of(operand).arithmetic(),
        ExprKind::Unary(UnaryOp::Not, _) => Ty::Strong(ScalarType::Bool),
        ExprKind::Binary(op, a, b) => match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => {
                join(of(a), of(b)).arithmetic()
            }
            BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
            | BinaryOp::And
            | BinaryOp::Or => Ty::Strong(ScalarType::Bool),
        },
        ExprKind::Select(_, a, b) => join(of(a), of(b)),
        ExprKind::Call(function, args) => {
            let args = args.iter().map(of).fold(Ty::Unknown, join);
            match (function, argument_type(*function, args)) {
                (Func::Abs, Ty::Strong(ScalarType::C64)) => Ty::Strong(ScalarType::F32),
                (Func::Abs, Ty::Strong(ScalarType::C128)) => Ty::Strong(ScalarType::F64),
                (_, ty) => ty,
            }
        }
        ExprKind::Cast(_) => Ty::Strong(expr.ty),
        ExprKind::Reduce { op, body, .. } => match op {
            ReduceOp::Add | ReduceOp::Mul => of(body).arithmetic(),
            ReduceOp::Min | ReduceOp::Max => of(body),
            ReduceOp::And | ReduceOp::Or => Ty::Strong(ScalarType::Bool),
        },
    }
}

/// The type that a function's arguments are converted to.
fn argument_type(function: Func, joined: Ty) -> Ty {
    match function {
        Func::Abs | Func::Floor | Func::Ceil | Func::Round | Func::Mod => joined.arithmetic(),
        Func::Min | Func::Max => joined,
        Func::Sqrt
        | Func::Cbrt
        | Func::Exp
        | Func::Expm1
        | Func::Log
        | Func::Log1p
        | Func::Log10
        | Func::Sin
        | Func::Cos
        | Func::Tan
        | Func::Asin
        | Func::Acos
        | Func::Atan
        | Func::Atan2
        | Func::Sinh
        | Func::Cosh
        | Func::Tanh
        | Func::Asinh
        | Func::Acosh
        | Func::Atanh
        | Func::Sigmoid
        | Func::Pow
        | Func::Fma
        | Func::Heaviside => joined.floating(),
    }
}

/// Gives every tensor without a declared type that of the first right side that has
/// one (a statement that only assigns literals waits for the others).
pub(super) fn infer_tensors(draft: &mut Draft) {
    let mut progress = true;
    while progress {
        progress = false;
        for at in 0..draft.stmts.len() {
            let stmt = &draft.stmts[at];
            let tensor = stmt.tensor;
            if draft.tensor(tensor).ty.is_some() {
                continue;
            }
            if let Ty::Strong(mut ty) = written(draft, stmt) {
                let mut literals = Ty::Strong(ty);
                for other in draft.stmts.iter().filter(|s| s.tensor == tensor) {
                    let own = written(draft, other);
                    if own == Ty::WeakFloat {
                        literals = join(literals, own);
                    }
                }
                if let Ty::Strong(joined) = literals {
                    ty = joined;
                }
                draft.tensor_mut(tensor).ty = Some(ty);
                progress = true;
            }
        }
        if !progress {
            progress = settle_one(draft);
        }
    }
    for at in 0..draft.stmts.len() {
        let tensor = draft.tensor(draft.stmts[at].tensor);
        if tensor.ty.is_none() {
            let error = Diagnostic::error(
                codes::UNKNOWN_ELEMENT_TYPE,
                tensor.span,
                format!("the element type of `{}` cannot be found", tensor.name),
                "no right side tells its type",
            )
            .with_help(format!(
                "declare it as a parameter that is also returned, as in `double(M,N) {}`, or \
                 convert the right side, as in `double(...)`",
                tensor.name
            ));
            if !draft.errors.contains(&error) {
                draft.errors.push(error);
            }
        }
    }
}

/// The type of what a statement writes.
fn written(draft: &Draft, stmt: &DraftStmt) -> Ty {
    let logical = [ReduceOp::And, ReduceOp::Or];
    match stmt.write {
        Write::Accumulate(op) | Write::Initialise(op) if logical.contains(&op) => {
            Ty::Strong(ScalarType::Bool)
        }
        Write::Define | Write::Accumulate(_) | Write::Initialise(_) => {
            infer(&stmt.rhs, &|t| draft.tensor(t).ty)
        }
    }
}

/// A tensor that only literals are assigned to gets their usual type.
fn settle_one(draft: &mut Draft) -> bool {
    for at in 0..draft.stmts.len() {
        let tensor = draft.stmts[at].tensor;
        if draft.tensor(tensor).ty.is_none() {
            let all = draft.stmts.iter().filter(|s| s.tensor == tensor);
            let joined = all.map(|s| written(draft, s)).fold(Ty::Unknown, join);
            if let Some(ty) = joined.settle() {
                draft.tensor_mut(tensor).ty = Some(ty);
                return true;
            }
        }
    }
    false
}

/// Builds typed expressions; the errors of all of them are collected.
pub(super) struct Typer<'d, 'a> {
    pub(super) draft: &'d Draft<'a>,
    pub(super) errors: Vec<Diagnostic>,
}

impl Typer<'_, '_> {
    fn infer(&self, expr: &Expr) -> Ty {
        infer(expr, &|t| self.draft.tensor(t).ty)
    }

    /// The right side of a statement that stores into elements of type `ty`.
    pub(super) fn right_side(&mut self, expr: &Expr, ty: ScalarType) -> Expr {
        // Storing rounds to the element type: a cast to it on top says nothing more.
        if let ExprKind::Cast(operand) = &expr.kind
            && expr.ty == ty
            && ty.compute() != ty
        {
            return self.build(operand, ty.compute());
        }
        let want = ty.compute();
        let own = self.infer(expr).settle();
        if own.is_some_and(ScalarType::is_complex) && !want.is_complex() {
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
        self.build(expr, want)
    }

    /// The typed expression converted to `want`.
    fn build(&mut self, expr: &Expr, want: ScalarType) -> Expr {
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
    fn kind(&mut self, expr: &Expr, ty: ScalarType) -> ExprKind {
        match &expr.kind {
            ExprKind::Literal(value) => ExprKind::Literal(self.literal(*value, ty, expr.span)),
            ExprKind::Index(_) | ExprKind::Size(_) => expr.kind.clone(),
            ExprKind::Access(access) => {
                let mut access = access.clone();
                access.subscripts = access.subscripts.iter().map(|s| self.whole(s)).collect();
                ExprKind::Access(access)
            }
            ExprKind::Unary(UnaryOp::Neg, operand) => {
                ExprKind::Unary(UnaryOp::Neg, Box::new(self.build(operand, ty)))
            }
            ExprKind::Unary(UnaryOp::Not, operand) => ExprKind::Unary(
                UnaryOp::Not,
                Box::new(self.build(operand, ScalarType::Bool)),
            ),
            ExprKind::Binary(op, a, b) => {
                let operands = self.operand_type(*op, a, b, ty, expr.span);
                let (a, b) = (self.build(a, operands), self.build(b, operands));
                ExprKind::Binary(*op, Box::new(a), Box::new(b))
            }
            ExprKind::Select(c, a, b) => {
                let c = self.build(c, ScalarType::Bool);
                let (a, b) = (self.build(a, ty), self.build(b, ty));
                ExprKind::Select(Box::new(c), Box::new(a), Box::new(b))
            }
            ExprKind::Call(function, args) => self.call(*function, args, ty, expr.span),
            ExprKind::Cast(operand) => {
                if expr.ty.compute() != expr.ty {
                    self.errors.push(
                        Diagnostic::error(
                            codes::OPERAND_TYPE,
                            expr.span,
                            format!(
                                "rounding to {} inside an expression is not supported yet",
                                expr.ty
                            ),
                            "half-width floats are computed as float",
                        )
                        .with_help(format!(
                            "store the value in a temporary: `t = {}(...)`",
                            expr.ty
                        )),
                    );
                }
                let inner = match self.infer(operand) {
                    Ty::Unknown => ty,
                    Ty::WeakInt => ScalarType::I64,
                    Ty::WeakFloat => ScalarType::F64,
                    Ty::Strong(inner) => inner.compute(),
                };
                convert(self.build(operand, inner), ty).kind
            }
            ExprKind::Reduce { op, vars, body } => ExprKind::Reduce {
                op: *op,
                vars: vars.clone(),
                body: Box::new(self.build(body, ty)),
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
                .with_help("convert the other operand to a wider type, as in `int(x(i))`"),
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
                    self.not_for_complex(super::text::symbol(op), span);
                }
                joined
            }
        }
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
        );
        if real_only && arg_ty.is_complex() {
            self.not_for_complex(super::functions::name_of(function), span);
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
    pub(super) fn whole(&mut self, expr: &Expr) -> Expr {
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
                .with_help("convert it, as in `int(...)`, or declare it as `int`"),
            );
        }
        let node = |kind| Expr {
            kind,
            ty: ScalarType::I64,
            span: expr.span,
        };
        if let ExprKind::Unary(UnaryOp::Neg, operand) = &expr.kind {
            let operand = self.whole_part(operand);
            return node(ExprKind::Unary(UnaryOp::Neg, Box::new(operand)));
        }
        if let ExprKind::Binary(op, a, b) = &expr.kind
            && is_whole
            && is_arithmetic(*op)
        {
            let (a, b) = (self.whole_part(a), self.whole_part(b));
            return node(ExprKind::Binary(*op, Box::new(a), Box::new(b)));
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

/// Whether the expression is a reduction, or a sum with one in it.
fn accumulates(expr: &Expr) -> bool {
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
fn convert(expr: Expr, want: ScalarType) -> Expr {
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
        kind: ExprKind::Cast(Box::new(expr)),
        ty: want,
        span,
    }
}

/// The value as C converts it, where it fits.
#[expect(clippy::cast_possible_truncation)]
pub(super) fn convert_literal(value: Literal, ty: ScalarType) -> Option<Literal> {
    if ty == ScalarType::Bool {
        return Some(Literal::Bool(!value.is_zero()));
    }
    if !ty.is_integer() {
        return Some(Literal::Float(value.as_f64()));
    }
    let whole = match value {
        Literal::Bool(b) => i64::from(b),
        Literal::Int(value) => value,
        Literal::Float(x) if x.abs() < 9e15 => x.trunc() as i64,
        Literal::Float(_) => return None,
    };
    fits(whole, ty).then_some(Literal::Int(whole))
}

/// Whether the integer type `ty` has the value `whole`.
pub(super) fn fits(whole: i64, ty: ScalarType) -> bool {
    let bits = 8 * ty.size();
    if ty.is_unsigned() {
        whole >= 0 && (bits == 64 || whole < 1 << bits)
    } else {
        bits == 64 || (-(1i64 << (bits - 1))..1i64 << (bits - 1)).contains(&whole)
    }
}
