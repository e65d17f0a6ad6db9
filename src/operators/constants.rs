//! What operations give at constants, in the type of their operands: integers wrap, floats round.

use super::own::{Term, constant};
use super::{BinaryOp, Func, UnaryOp};
use crate::scalar::{Literal, ScalarType};

/// The value of an operation on two constants of type `ty`.
#[must_use]
pub fn binary(op: BinaryOp, a: Literal, b: Literal, ty: ScalarType) -> Literal {
    if !ty.is_integer() {
        let value = op.at(a.as_f64(), b.as_f64());
        return match op.is_truth() {
            true => Literal::Bool(value != 0.0),
            false => ty.rounded(Literal::Float(value)),
        };
    }
    let (x, y) = (whole(a, ty), whole(b, ty));
    let value = match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        // (Modulo 2^128, and so modulo less.)
        BinaryOp::Mul => x.wrapping_mul(y),
        // By zero they are zero, as in kernels.
        BinaryOp::Div => x.checked_div(y).unwrap_or(0),
        BinaryOp::Rem => x.checked_rem(y).unwrap_or(0),
        BinaryOp::Eq => return Literal::Bool(x == y),
        BinaryOp::Ne => return Literal::Bool(x != y),
        BinaryOp::Lt => return Literal::Bool(x < y),
        BinaryOp::Le => return Literal::Bool(x <= y),
        BinaryOp::Gt => return Literal::Bool(x > y),
        BinaryOp::Ge => return Literal::Bool(x >= y),
        BinaryOp::And => return Literal::Bool(x != 0 && y != 0),
        BinaryOp::Or => return Literal::Bool(x != 0 || y != 0),
    };
    wrapped(value, ty)
}

/// The value of an operation on a constant of type `ty`.
#[must_use]
pub fn unary(op: UnaryOp, a: Literal, ty: ScalarType) -> Literal {
    match op {
        UnaryOp::Not => Literal::Bool(a.is_zero()),
        UnaryOp::Neg if ty.is_integer() => wrapped(-whole(a, ty), ty),
        UnaryOp::Neg => Literal::Float(-a.as_f64()),
    }
}

/// The value of a function at constants of type `ty`, which its value has, too. `None` where it has none.
#[must_use]
pub fn call(func: Func, args: &[Literal], ty: ScalarType) -> Option<Literal> {
    match (func, args) {
        (Func::Own(own), [x, y]) => Some(term(&own.body, *x, *y, ty)),
        (Func::Mod, [x, y]) => Some(binary(BinaryOp::Rem, *x, *y, ty)),
        (Func::Min | Func::Max, [x, y]) if ty.is_integer() => {
            let first_less = whole(*x, ty) < whole(*y, ty);
            Some(if first_less == (func == Func::Min) {
                *x
            } else {
                *y
            })
        }
        (Func::Abs, [x]) if ty.is_integer() => Some(wrapped(whole(*x, ty).abs(), ty)),
        (_, _) => {
            let args: Vec<f64> = args.iter().map(|a| a.as_f64()).collect();
            let value = Literal::Float(func.at(&args)?);
            Some(converted(value, ScalarType::F64, ty.compute()))
        }
    }
}

/// The value of an operator of one's own.
#[must_use]
pub fn term(body: &Term, x: Literal, y: Literal, ty: ScalarType) -> Literal {
    let of = |part: &Term| term(part, x, y, ty);
    match body {
        Term::Left => x,
        Term::Right => y,
        Term::Number(value) => constant(*value, ty),
        Term::Unary(op, a) => unary(*op, of(a), ty),
        Term::Binary(op, a, b) => binary(*op, of(a), of(b), ty),
        Term::Select(c, a, b) => of(if of(c).is_zero() { b } else { a }),
        Term::Call(func, args) => {
            let args: Vec<Literal> = args.iter().map(of).collect();
            call(*func, &args, ty).unwrap_or(Literal::Float(f64::NAN))
        }
    }
}

/// A constant of type `from` in the type `to`, as kernels convert: integers wrap, what is beyond 64
/// bits becomes the nearest number, narrow floats round.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
pub fn converted(value: Literal, from: ScalarType, to: ScalarType) -> Literal {
    if to == ScalarType::Bool {
        return Literal::Bool(!value.is_zero());
    }
    if to.is_integer() {
        let Literal::Float(x) = value else {
            return wrapped(whole(value, from), to);
        };
        let most = to.ends().map_or(i128::MAX, |(_, most)| most);
        let most = most.max(i128::from(i64::MAX));
        return match x.is_nan() {
            true => wrapped(most, to),
            false => wrapped((x as i128).clamp(i64::MIN.into(), most), to),
        };
    }
    let value = match from.is_integer() {
        true => whole(value, from) as f64,
        false => value.as_f64(),
    };
    Literal::Float(to.stored(value))
}

/// The number that a constant of an integer type is. Those of 64 bits without a sign are patterns.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(value: Literal, ty: ScalarType) -> i128 {
    match value {
        Literal::Int(pattern) if ty == ScalarType::U64 => i128::from(pattern as u64),
        Literal::Int(value) => value.into(),
        Literal::Bool(truth) => truth.into(),
        Literal::Float(x) => x as i128,
    }
}

/// The constant of an integer type that a number becomes in it.
#[expect(clippy::cast_possible_truncation)]
fn wrapped(value: i128, ty: ScalarType) -> Literal {
    let Some((least, most)) = ty.ends() else {
        return Literal::Int(value as i64);
    };
    Literal::Int(((value - least).rem_euclid(most - least + 1) + least) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_in_their_type() {
        let of = |op, a, b, ty| binary(op, Literal::Int(a), Literal::Int(b), ty);
        let is = |value: Literal, wanted| assert_eq!(value, Literal::Int(wanted));
        is(of(BinaryOp::Mul, 100, 2, ScalarType::I8), -56);
        is(of(BinaryOp::Add, 200, 200, ScalarType::U8), 144);
        is(of(BinaryOp::Sub, 0, 1, ScalarType::U32), (1 << 32) - 1);
        is(of(BinaryOp::Sub, 0, 1, ScalarType::U64), -1);
        is(of(BinaryOp::Div, -1, 2, ScalarType::U64), i64::MAX);
        is(of(BinaryOp::Div, 7, 2, ScalarType::I32), 3);
        is(of(BinaryOp::Div, 7, 0, ScalarType::I32), 0);
        is(of(BinaryOp::Mul, i64::MIN, i64::MIN, ScalarType::I64), 0);
        is(
            converted(Literal::Float(1e30), ScalarType::F64, ScalarType::I64),
            i64::MAX,
        );
        is(
            converted(Literal::Float(300.0), ScalarType::F64, ScalarType::U8),
            44,
        );
        is(
            converted(Literal::Int(-1), ScalarType::I32, ScalarType::U16),
            65_535,
        );
    }

    #[test]
    fn floats_round_in_their_type() {
        let (one, large) = (Literal::Int(1), Literal::Float(16_777_216.0));
        let sum = binary(BinaryOp::Add, large, one, ScalarType::F32);
        assert!(sum.same_value(large));
        let tenth = ScalarType::F32.rounded(Literal::Float(0.1));
        let product = binary(BinaryOp::Mul, tenth, Literal::Int(3), ScalarType::F32);
        assert!(product.same_value(ScalarType::F32.rounded(Literal::Float(0.3))));
        let whole = converted(Literal::Int(-1), ScalarType::U64, ScalarType::F64);
        assert!(whole.same_value(Literal::Float(18_446_744_073_709_551_616.0)));
        let kept = converted(Literal::Float(0.3), ScalarType::F32, ScalarType::F16);
        assert!(kept.same_value(Literal::Float(0.300_048_828_125)));
    }
}
