//! How far a kernel's number may be from the judge's: a bound that is carried along with
//! every value (running error analysis).
//!
//! The judge computes in double precision; a kernel rounds each operation to the
//! operation's type, fuses products into sums and sums in any order. Each operation here
//! says how much its operands' bounds grow and what its own rounding adds. No bound has
//! an absolute floor but the type's own: what lies below its least normal number. Where
//! anything may come out, as when the divisor's bound reaches zero, the bound is infinite.

use super::value::plain_binary;
use crate::data::values::Number;
use crate::program::ir::BinaryOp;
use crate::scalar::ScalarType;

/// A number and the largest difference that rounding makes to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounded {
    pub number: Number,
    /// Not negative; infinite where nothing is known.
    pub error: f64,
}

impl Bounded {
    /// What is read or counted, not computed.
    pub fn read(number: Number) -> Self {
        Bounded { number, error: 0.0 }
    }

    pub fn size(self) -> f64 {
        self.number.abs()
    }

    /// May be zero, also if it is not.
    pub fn may_vanish(self) -> bool {
        self.size() <= self.error
    }
}

/// The distance from 1 to the next number of a type; 0 for integers.
#[must_use]
pub fn epsilon(ty: ScalarType) -> f64 {
    match ty {
        ScalarType::F16 => 1.0 / 1024.0,
        ScalarType::BF16 => 1.0 / 128.0,
        ScalarType::F32 | ScalarType::C64 => f64::from(f32::EPSILON),
        ScalarType::F64 | ScalarType::C128 => f64::EPSILON,
        ScalarType::Bool
        | ScalarType::I8
        | ScalarType::I16
        | ScalarType::I32
        | ScalarType::I64
        | ScalarType::U8
        | ScalarType::U16
        | ScalarType::U32
        | ScalarType::U64 => 0.0,
    }
}

/// The least positive number that has all digits; 0 for integers.
pub(super) fn least_normal(ty: ScalarType) -> f64 {
    match ty {
        ScalarType::F16 => half::f16::MIN_POSITIVE.to_f64(),
        ScalarType::BF16 | ScalarType::F32 | ScalarType::C64 => f64::from(f32::MIN_POSITIVE),
        ScalarType::F64 | ScalarType::C128 => f64::MIN_POSITIVE,
        ScalarType::Bool
        | ScalarType::I8
        | ScalarType::I16
        | ScalarType::I32
        | ScalarType::I64
        | ScalarType::U8
        | ScalarType::U16
        | ScalarType::U32
        | ScalarType::U64 => 0.0,
    }
}

/// The largest finite number; infinity for integers, which wrap.
pub(super) fn largest(ty: ScalarType) -> f64 {
    match ty {
        ScalarType::F16 => half::f16::MAX.to_f64(),
        ScalarType::BF16 => half::bf16::MAX.to_f64(),
        ScalarType::F32 | ScalarType::C64 => f64::from(f32::MAX),
        ScalarType::F64 | ScalarType::C128 => f64::MAX,
        ScalarType::Bool
        | ScalarType::I8
        | ScalarType::I16
        | ScalarType::I32
        | ScalarType::I64
        | ScalarType::U8
        | ScalarType::U16
        | ScalarType::U32
        | ScalarType::U64 => f64::INFINITY,
    }
}

/// What rounding a number of this size to `ty` may change.
pub(super) fn unit(size: f64, ty: ScalarType) -> f64 {
    if size.is_finite() {
        epsilon(ty) * size.max(least_normal(ty))
    } else {
        0.0
    }
}

/// What `ty` cannot hold overflows as it does there; where it is open whether it does,
/// anything may come out.
pub(super) fn settle(value: Bounded, ty: ScalarType) -> Bounded {
    let top = largest(ty);
    let part = |x: f64| {
        if x.abs() > top {
            f64::INFINITY.copysign(x)
        } else {
            x
        }
    };
    let size = value.size();
    if epsilon(ty) == 0.0 || !size.is_finite() || size + value.error <= top {
        return value;
    }
    if value.error > 0.0 && size - value.error <= top {
        return Bounded {
            error: f64::INFINITY,
            ..value
        };
    }
    let number = match value.number {
        Number::Int(_) => value.number,
        Number::Real(x) => Number::Real(part(x)),
        Number::Complex(z) => Number::Complex(num_complex::Complex::new(part(z.re), part(z.im))),
    };
    Bounded::read(number)
}

/// A number as an element of type `ty` holds it, given its bound before.
pub(super) fn stored(value: Bounded, ty: ScalarType) -> Bounded {
    if value.error == 0.0 {
        // A kernel rounds the same number.
        return value;
    }
    let error = value.error + unit(value.size(), ty);
    settle(Bounded { error, ..value }, ty)
}

/// `a op b` of operands of type `ty`. `rounded` counts the sums that stand in the
/// operands: a kernel may add to each term's partial sums in turn, rounding to `coarse`
/// or `ty`, whichever is coarser.
pub(super) fn binary(
    op: BinaryOp,
    a: Bounded,
    b: Bounded,
    ty: ScalarType,
    rounded: f64,
    coarse: f64,
) -> Bounded {
    let number = plain_binary(op, a.number, b.number, ty);
    let error = match op {
        BinaryOp::And | BinaryOp::Or => logic(op, a, b),
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
            return compared(number, a, b);
        }
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem
            if epsilon(ty) == 0.0 =>
        {
            return Bounded {
                number,
                error: whole(op, a, b, ty),
            };
        }
        BinaryOp::Add | BinaryOp::Sub => sum(a, b, ty, rounded, coarse),
        BinaryOp::Mul => product(a, b, number, ty),
        BinaryOp::Div => quotient(a, b, number, ty),
        BinaryOp::Rem => remainder(a, b),
    };
    settle(Bounded { number, error }, ty)
}

fn sum(a: Bounded, b: Bounded, ty: ScalarType, rounded: f64, coarse: f64) -> f64 {
    let unit = if rounded > 0.0 {
        epsilon(ty).max(coarse)
    } else {
        epsilon(ty)
    };
    let size = a.size() + b.size();
    let zero = |n: Bounded| n.error == 0.0 && n.number.is_zero();
    if zero(a) || zero(b) || !size.is_finite() {
        a.error + b.error
    } else {
        a.error + b.error + unit * (1.0 + rounded) * size
    }
}

fn product(a: Bounded, b: Bounded, result: Number, ty: ScalarType) -> f64 {
    let zero = |n: Bounded| n.error == 0.0 && n.number.is_zero();
    let finite = a.size().is_finite() && b.size().is_finite();
    if a.error == 0.0 && b.error == 0.0 && (!finite || zero(a) || zero(b)) {
        return 0.0;
    }
    if !finite {
        // The sign of infinity, or whether it meets a zero.
        let open = a.may_vanish() || b.may_vanish() || ty.is_complex();
        return if open || a.error.is_infinite() || b.error.is_infinite() {
            f64::INFINITY
        } else {
            0.0
        };
    }
    let grown = grown(a, b);
    if zero(a) || zero(b) {
        grown
    } else {
        grown + unit(result.abs(), ty)
    }
}

fn quotient(a: Bounded, b: Bounded, result: Number, ty: ScalarType) -> f64 {
    if a.error == 0.0 && b.error == 0.0 {
        return if a.number.is_zero() || b.size().is_infinite() {
            0.0
        } else {
            unit(result.abs(), ty)
        };
    }
    let sign_of_infinity = b.number.is_zero() && a.may_vanish();
    if (b.error > 0.0 && b.may_vanish()) || sign_of_infinity || a.error.is_infinite() {
        return f64::INFINITY;
    }
    let size = result.abs();
    if !size.is_finite() || b.size().is_infinite() {
        // Infinite as its operands are, or overflowed: an overflow is decided by `settle`.
        return 0.0;
    }
    (a.error + scaled(b.error, size)) / (b.size() - b.error) + unit(size, ty)
}

/// What a product's operands make of its bound.
fn grown(a: Bounded, b: Bounded) -> f64 {
    let both = if b.error == 0.0 {
        0.0
    } else {
        scaled(a.error, b.error)
    };
    scaled(a.error, b.size()) + scaled(b.error, a.size()) + both
}

/// `error * size`, where nothing times infinity is nothing; anything times zero may still be
/// no number.
fn scaled(error: f64, size: f64) -> f64 {
    if error == 0.0 {
        0.0
    } else if error.is_infinite() {
        f64::INFINITY
    } else {
        error * size
    }
}

/// Exact if its operands are; otherwise it may fall to the other side of a multiple.
fn remainder(a: Bounded, b: Bounded) -> f64 {
    if a.error == 0.0 && b.error == 0.0 {
        return 0.0;
    }
    let quotient = (a.size() / b.size()).trunc();
    let grown = a.error + scaled(b.error, quotient);
    let rest = a.number.real().abs() % b.number.real().abs();
    let near = rest <= grown || b.size() - rest <= grown + b.error;
    if grown.is_nan() || near {
        f64::INFINITY
    } else {
        grown
    }
}

/// Integers know no rounding; bounds come from casts near a whole number.
fn whole(op: BinaryOp, a: Bounded, b: Bounded, ty: ScalarType) -> f64 {
    if a.error == 0.0 && b.error == 0.0 {
        return 0.0;
    }
    if ty == ScalarType::Bool {
        return 1.0;
    }
    match op {
        BinaryOp::Add | BinaryOp::Sub => a.error + b.error,
        BinaryOp::Mul => grown(a, b),
        BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::And
        | BinaryOp::Or => f64::INFINITY,
    }
}

/// The bound of `&&` or `||`: one operand may decide it.
fn logic(op: BinaryOp, a: Bounded, b: Bounded) -> f64 {
    let decisive = |n: Bounded| n.error == 0.0 && n.number.is_zero() == (op == BinaryOp::And);
    if decisive(a) || decisive(b) || (a.error == 0.0 && b.error == 0.0) {
        0.0
    } else {
        1.0
    }
}

/// A comparison whose sides are within their bounds of each other is open.
fn compared(number: Number, a: Bounded, b: Bounded) -> Bounded {
    let slack = a.error + b.error;
    let apart = match (a.number, b.number) {
        #[expect(clippy::cast_precision_loss)]
        (Number::Int(x), Number::Int(y)) => x.abs_diff(y) as f64,
        _ => (a.number.complex() - b.number.complex()).norm(),
    };
    let open = slack > 0.0 && (apart <= slack || slack.is_infinite());
    Bounded {
        number,
        error: f64::from(u8::from(open)),
    }
}
