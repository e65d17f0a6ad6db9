//! Arithmetic on numbers of every type, as C does it (floats in double precision).

use crate::data::values::Number;
use crate::program::ir::{BinaryOp, Func, ReduceOp, UnaryOp};
use crate::scalar::ScalarType;
use num_complex::Complex;

/// Brings a result back to its type: integers wrap.
pub(super) fn wrap(n: Number, ty: ScalarType) -> Number {
    match ty {
        ScalarType::Bool => Number::Int(i128::from(!n.is_zero())),
        ScalarType::I8
        | ScalarType::I16
        | ScalarType::I32
        | ScalarType::I64
        | ScalarType::U8
        | ScalarType::U16
        | ScalarType::U32
        | ScalarType::U64 => {
            let bits = 8 * u32::try_from(ty.size()).unwrap_or(8);
            let low = n.int() & ((1i128 << bits) - 1);
            let negative = !ty.is_unsigned() && low >> (bits - 1) != 0;
            Number::Int(if negative { low - (1i128 << bits) } else { low })
        }
        ScalarType::F16 | ScalarType::BF16 | ScalarType::F32 | ScalarType::F64 => {
            Number::Real(n.real())
        }
        ScalarType::C64 | ScalarType::C128 => Number::Complex(n.complex()),
    }
}

/// Numbers are kept in double precision; what the type itself could not hold overflows
/// as it does there, so that `exp(x) / exp(x)` is no number where a kernel has none.
fn overflow(n: Number, ty: ScalarType) -> Number {
    let part = |x: f64| {
        if x.is_finite() && x.abs() > f64::from(f32::MAX) {
            f64::INFINITY.copysign(x)
        } else {
            x
        }
    };
    let narrow = matches!(
        ty,
        ScalarType::F16 | ScalarType::BF16 | ScalarType::F32 | ScalarType::C64
    );
    match n {
        Number::Real(x) if narrow => Number::Real(part(x)),
        Number::Complex(z) if narrow => Number::Complex(Complex::new(part(z.re), part(z.im))),
        Number::Int(_) | Number::Real(_) | Number::Complex(_) => n,
    }
}

fn truth(b: bool) -> Number {
    Number::Int(i128::from(b))
}

pub(super) fn unary(op: UnaryOp, a: Number, ty: ScalarType) -> Number {
    match op {
        UnaryOp::Not => truth(a.is_zero()),
        UnaryOp::Neg => match a {
            Number::Int(i) => wrap(Number::Int(-i), ty),
            Number::Real(x) => Number::Real(-x),
            Number::Complex(z) => Number::Complex(-z),
        },
    }
}

/// `ty` is the operands' type.
pub(super) fn binary(op: BinaryOp, a: Number, b: Number, ty: ScalarType) -> Number {
    overflow(plain_binary(op, a, b, ty), ty)
}

fn plain_binary(op: BinaryOp, a: Number, b: Number, ty: ScalarType) -> Number {
    match op {
        BinaryOp::And => return truth(!a.is_zero() && !b.is_zero()),
        BinaryOp::Or => return truth(!a.is_zero() || !b.is_zero()),
        BinaryOp::Eq => return truth(same(a, b)),
        BinaryOp::Ne => return truth(!same(a, b)),
        BinaryOp::Lt => return truth(less(a, b)),
        BinaryOp::Gt => return truth(less(b, a)),
        BinaryOp::Le => return truth(less(a, b) || same(a, b)),
        BinaryOp::Ge => return truth(less(b, a) || same(a, b)),
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => {}
    }
    if let (Number::Int(x), Number::Int(y)) = (a, b) {
        let result = match op {
            BinaryOp::Add => x + y,
            BinaryOp::Sub => x - y,
            BinaryOp::Mul => x.wrapping_mul(y),
            // Division by zero gives 0: sparsec.h says so too.
            BinaryOp::Div => x.checked_div(y).unwrap_or(0),
            BinaryOp::Rem => x.checked_rem(y).unwrap_or(0),
            BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
            | BinaryOp::And
            | BinaryOp::Or => 0,
        };
        return wrap(Number::Int(result), ty);
    }
    if ty.is_complex() {
        let (x, y) = (a.complex(), b.complex());
        return Number::Complex(match op {
            BinaryOp::Add => x + y,
            BinaryOp::Sub => x - y,
            BinaryOp::Mul => x * y,
            BinaryOp::Div => x / y,
            BinaryOp::Rem
            | BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
            | BinaryOp::And
            | BinaryOp::Or => Complex::new(f64::NAN, 0.0),
        });
    }
    let (x, y) = (a.real(), b.real());
    Number::Real(match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x * y,
        BinaryOp::Div => x / y,
        BinaryOp::Rem => x % y,
        BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::And
        | BinaryOp::Or => f64::NAN,
    })
}

fn same(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Int(x), Number::Int(y)) => x == y,
        _ => a.complex() == b.complex(),
    }
}

fn less(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Int(x), Number::Int(y)) => x < y,
        _ => a.real() < b.real(),
    }
}

/// `a op b` of a reduction.
pub(super) fn reduce(op: ReduceOp, a: Number, b: Number, ty: ScalarType) -> Number {
    match op {
        ReduceOp::Add if ty == ScalarType::Bool => truth(!a.is_zero() || !b.is_zero()),
        ReduceOp::Mul if ty == ScalarType::Bool => truth(!a.is_zero() && !b.is_zero()),
        ReduceOp::Add => binary(BinaryOp::Add, a, b, ty),
        ReduceOp::Mul => binary(BinaryOp::Mul, a, b, ty),
        ReduceOp::Min => smaller(a, b),
        ReduceOp::Max => larger(a, b),
        ReduceOp::And => truth(!a.is_zero() && !b.is_zero()),
        ReduceOp::Or => truth(!a.is_zero() || !b.is_zero()),
    }
}

/// As C's `fmin`: a number goes before what is none.
fn smaller(a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::Int(x), Number::Int(y)) => Number::Int(x.min(y)),
        _ => Number::Real(a.real().min(b.real())),
    }
}

fn larger(a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::Int(x), Number::Int(y)) => Number::Int(x.max(y)),
        _ => Number::Real(a.real().max(b.real())),
    }
}

/// `ty` is the result's type.
pub(super) fn call(func: Func, args: &[Number], ty: ScalarType) -> Number {
    overflow(plain_call(func, args, ty), ty)
}

fn plain_call(func: Func, args: &[Number], ty: ScalarType) -> Number {
    let a = args.first().copied().unwrap_or(Number::Int(0));
    let b = args.get(1).copied().unwrap_or(Number::Int(0));
    let c = args.get(2).copied().unwrap_or(Number::Int(0));
    if func == Func::Min {
        return smaller(a, b);
    }
    if func == Func::Max {
        return larger(a, b);
    }
    if func == Func::Abs {
        return match a {
            Number::Int(i) => wrap(Number::Int(i.abs()), ty),
            Number::Real(x) => Number::Real(x.abs()),
            Number::Complex(z) => Number::Real(z.norm()),
        };
    }
    if func == Func::Mod && ty.is_integer() {
        return binary(BinaryOp::Rem, a, b, ty);
    }
    if ty.is_complex() {
        return Number::Complex(complex_call(func, a.complex(), b.complex(), c.complex()));
    }
    let (x, y, z) = (a.real(), b.real(), c.real());
    let value = match func {
        Func::Abs => x.abs(),
        Func::Sqrt => x.sqrt(),
        Func::Cbrt => x.cbrt(),
        Func::Exp => x.exp(),
        Func::Expm1 => x.exp_m1(),
        Func::Log => x.ln(),
        Func::Log1p => x.ln_1p(),
        Func::Log10 => x.log10(),
        Func::Sin => x.sin(),
        Func::Cos => x.cos(),
        Func::Tan => x.tan(),
        Func::Asin => x.asin(),
        Func::Acos => x.acos(),
        Func::Atan => x.atan(),
        Func::Atan2 => x.atan2(y),
        Func::Sinh => x.sinh(),
        Func::Cosh => x.cosh(),
        Func::Tanh => x.tanh(),
        Func::Asinh => x.asinh(),
        Func::Acosh => x.acosh(),
        Func::Atanh => x.atanh(),
        Func::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Func::Pow => x.powf(y),
        Func::Floor => x.floor(),
        Func::Ceil => x.ceil(),
        Func::Round => x.round(),
        Func::Mod => x % y,
        Func::Min => x.min(y),
        Func::Max => x.max(y),
        Func::Fma => x.mul_add(y, z),
        Func::Heaviside => {
            if x < 0.0 {
                0.0
            } else if x > 0.0 {
                1.0
            } else {
                y
            }
        }
    };
    wrap(Number::Real(value), ty)
}

fn complex_call(func: Func, x: Complex<f64>, y: Complex<f64>, z: Complex<f64>) -> Complex<f64> {
    match func {
        Func::Sqrt => x.sqrt(),
        Func::Cbrt => x.cbrt(),
        Func::Exp => x.exp(),
        Func::Expm1 => x.exp() - 1.0,
        Func::Log => x.ln(),
        Func::Log1p => (x + 1.0).ln(),
        Func::Log10 => x.log10(),
        Func::Sin => x.sin(),
        Func::Cos => x.cos(),
        Func::Tan => x.tan(),
        Func::Asin => x.asin(),
        Func::Acos => x.acos(),
        Func::Atan => x.atan(),
        Func::Sinh => x.sinh(),
        Func::Cosh => x.cosh(),
        Func::Tanh => x.tanh(),
        Func::Asinh => x.asinh(),
        Func::Acosh => x.acosh(),
        Func::Atanh => x.atanh(),
        Func::Sigmoid => Complex::new(1.0, 0.0) / ((-x).exp() + 1.0),
        Func::Pow => x.powc(y),
        Func::Fma => x * y + z,
        Func::Abs
        | Func::Atan2
        | Func::Floor
        | Func::Ceil
        | Func::Round
        | Func::Mod
        | Func::Min
        | Func::Max
        | Func::Heaviside => Complex::new(f64::NAN, 0.0),
    }
}
