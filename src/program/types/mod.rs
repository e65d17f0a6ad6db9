//! Element types: inference for tensors that no declaration types, and the explicit
//! conversions that the typing rules of [`ir`](super::ir) ask for.
//!
//! Literals are weak: they take the type of what they meet, except that a literal
//! with a point makes an integer a `double`. Otherwise the wider type wins, in the
//! order bool, integers, half-width floats, float, double, complex; of a signed and
//! an unsigned integer of the same width the unsigned one, as in C.

mod extremes;
mod literal;
mod tensors;
mod typer;

use super::ir::{Expr, ExprKind, Func, Literal, ReduceOp, ScalarType, TensorId, UnaryOp};

pub(super) use literal::{convert_literal, fits};
pub(super) use tensors::infer_tensors;
pub(super) use typer::{Typer, accumulates};

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
        ExprKind::Binary(op, ..) if op.is_truth() => Ty::Strong(ScalarType::Bool),
        ExprKind::Binary(_, a, b) => join(of(a), of(b)).arithmetic(),
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
            ReduceOp::Min | ReduceOp::Max | ReduceOp::Own(_) => of(body),
            ReduceOp::And | ReduceOp::Or => Ty::Strong(ScalarType::Bool),
        },
    }
}

/// Whether a function's arguments and value stay in this type.
pub(super) fn keeps(function: Func, ty: ScalarType) -> bool {
    argument_type(function, Ty::Strong(ty)) == Ty::Strong(ty)
}

/// The type that a function's arguments are converted to.
fn argument_type(function: Func, joined: Ty) -> Ty {
    match function {
        Func::Abs | Func::Floor | Func::Ceil | Func::Round | Func::Mod => joined.arithmetic(),
        Func::Min | Func::Max | Func::Own(_) => joined,
        Func::ToHalf | Func::ToBfloat16 => Ty::Strong(ScalarType::F32),
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
