//! Arithmetic on numbers of every type, as C does it (floats in double precision).

use super::rounding::Bounded;
use crate::data::values::Number;
use crate::program::ir::{BinaryOp, Func, UnaryOp};
use crate::scalar::ScalarType;
use half::{bf16, f16};
use num_complex::Complex;

/// Brings a result back to its type: integers wrap, floats keep their double precision.
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
            let mut whole = n.int();
            let real = match n {
                Number::Int(_) => None,
                Number::Real(x) => Some(x),
                Number::Complex(z) => Some(z.re),
            };
            if let Some(x) = real {
                // A float goes through 64 bits: what is too large becomes the largest number,
                // and what is below -2^63 counts as that.
                let top = i128::from(i64::MAX);
                let top = if ty == ScalarType::U64 {
                    2 * top + 1
                } else {
                    top
                };
                whole = if x.is_nan() {
                    top
                } else {
                    whole.clamp(-(1i128 << 63), top)
                };
            }
            let low = whole & ((1i128 << bits) - 1);
            let negative = !ty.is_unsigned() && low >> (bits - 1) != 0;
            Number::Int(if negative { low - (1i128 << bits) } else { low })
        }
        ScalarType::F16 | ScalarType::BF16 | ScalarType::F32 | ScalarType::F64 => {
            Number::Real(n.real())
        }
        ScalarType::C64 | ScalarType::C128 => Number::Complex(n.complex()),
    }
}

/// Converts to a type as C does: integers wrap, narrow floats round.
pub(super) fn convert(n: Number, ty: ScalarType) -> Number {
    match ty {
        ScalarType::F16 => Number::Real(f16::from_f64(n.real()).to_f64()),
        ScalarType::BF16 => Number::Real(bf16::from_f64(n.real()).to_f64()),
        ScalarType::F32 => Number::Real(single(n.real())),
        ScalarType::C64 => {
            let z = n.complex();
            Number::Complex(Complex::new(single(z.re), single(z.im)))
        }
        ScalarType::Bool
        | ScalarType::I8
        | ScalarType::I16
        | ScalarType::I32
        | ScalarType::I64
        | ScalarType::U8
        | ScalarType::U16
        | ScalarType::U32
        | ScalarType::U64
        | ScalarType::F64
        | ScalarType::C128 => wrap(n, ty),
    }
}

#[expect(clippy::cast_possible_truncation)]
fn single(x: f64) -> f64 {
    f64::from(x as f32)
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
pub(super) fn plain_binary(op: BinaryOp, a: Number, b: Number, ty: ScalarType) -> Number {
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
            BinaryOp::Div => quotient(x, y),
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
pub(super) fn plain_call(func: Func, args: &[Number], ty: ScalarType) -> Number {
    let a = args.first().copied().unwrap_or(Number::Int(0));
    let b = args.get(1).copied().unwrap_or(Number::Int(0));
    let c = args.get(2).copied().unwrap_or(Number::Int(0));
    if func == Func::Min {
        return smaller(a, b);
    }
    if func == Func::Max {
        return larger(a, b);
    }
    if let Func::Own(own) = func {
        let [a, b] = [a, b].map(Bounded::read);
        return super::own::value(own, a, b, ty).number;
    }
    if func == Func::Abs {
        return match a {
            Number::Int(i) => wrap(Number::Int(i.abs()), ty),
            Number::Real(x) => Number::Real(x.abs()),
            Number::Complex(z) => Number::Real(z.norm()),
        };
    }
    if func == Func::Mod && ty.is_integer() {
        return plain_binary(BinaryOp::Rem, a, b, ty);
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
        Func::ToHalf => f16::from_f64(x).to_f64(),
        Func::ToBfloat16 => bf16::from_f64(x).to_f64(),
        Func::Mod => x % y,
        Func::Min => x.min(y),
        Func::Max => x.max(y),
        // Read above.
        Func::Own(_) => f64::NAN,
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
        // tan(x) is -i tanh(ix).
        Func::Tan => {
            let tanh = complex_tanh(Complex::new(-x.im, x.re));
            Complex::new(tanh.im, -tanh.re)
        }
        Func::Asin => x.asin(),
        Func::Acos => x.acos(),
        Func::Atan => x.atan(),
        Func::Sinh => x.sinh(),
        Func::Cosh => x.cosh(),
        Func::Tanh => complex_tanh(x),
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
        | Func::ToHalf
        | Func::ToBfloat16
        | Func::Own(_)
        | Func::Heaviside => Complex::new(f64::NAN, 0.0),
    }
}

/// Divided by the larger part first (Smith's): `Complex` divides by a square, which is infinite
/// long before the divisor is, and what is finite by what is infinite is zero.
fn quotient(x: Complex<f64>, y: Complex<f64>) -> Complex<f64> {
    if y.re.abs() < y.im.abs() {
        let turned = Complex::new(x.im, -x.re);
        return quotient(turned, Complex::new(y.im, -y.re));
    }
    let ratio = y.im / y.re;
    let scale = y.re + y.im * ratio;
    Complex::new((x.re + x.im * ratio) / scale, (x.im - x.re * ratio) / scale)
}

/// `Complex::tanh` divides two infinities where the real part is large: it is 1 or -1 there.
fn complex_tanh(x: Complex<f64>) -> Complex<f64> {
    // Far beyond where 1 - 2 exp(-2a) rounds to 1.
    if x.re.abs() < 100.0 || !x.is_finite() {
        return x.tanh();
    }
    let im = 4.0 * x.im.sin() * x.im.cos() * (-2.0 * x.re.abs()).exp();
    Complex::new(1.0_f64.copysign(x.re), im)
}
