//! Operators that programs declare, by their bodies.

use super::functions::call;
use super::rounding::{Bounded, binary};
use super::value::{convert, unary};
use crate::data::values::{Number, literal};
use crate::operators::{Own, Term};
use crate::program::ir::Func;
use crate::scalar::ScalarType;

/// The operator's value at two numbers of type `ty`.
pub(super) fn value(own: Own, left: Bounded, right: Bounded, ty: ScalarType) -> Bounded {
    term(&own.body, (left, right), ty)
}

/// A number of the declaration: an infinity is the end of integers.
pub(super) fn number(value: crate::scalar::Literal, ty: ScalarType) -> Number {
    let x = value.as_f64();
    if !ty.is_integer() || x.is_finite() {
        return convert(literal(value), ty);
    }
    let bits = 8 * u32::try_from(ty.size()).unwrap_or(8);
    Number::Int(match (ty.is_unsigned(), x > 0.0) {
        (true, true) => (1i128 << bits) - 1,
        (true, false) => 0,
        (false, true) => (1i128 << (bits - 1)) - 1,
        (false, false) => -(1i128 << (bits - 1)),
    })
}

fn term(of: &Term, operands: (Bounded, Bounded), ty: ScalarType) -> Bounded {
    let at = |of: &Term| term(of, operands, ty);
    let kind = |of: &Term| if of.is_truth() { ScalarType::Bool } else { ty };
    match of {
        Term::Left => operands.0,
        Term::Right => operands.1,
        Term::Number(value) => Bounded::read(number(*value, ty)),
        Term::Unary(op, a) => {
            let value = at(a);
            Bounded {
                number: unary(*op, value.number, kind(of)),
                ..value
            }
        }
        Term::Binary(op, a, b) => binary(*op, at(a), at(b), kind(a), 0.0, 0.0),
        Term::Select(c, a, b) => {
            let (c, a, b) = (at(c), at(a), at(b));
            let (taken, other) = if c.number.is_zero() { (b, a) } else { (a, b) };
            if c.error == 0.0 {
                return taken;
            }
            // Rounding may turn the choice: the other side may come out, too.
            let apart = (taken.number.complex() - other.number.complex()).norm() + other.error;
            let apart = if apart.is_nan() { f64::INFINITY } else { apart };
            Bounded {
                error: taken.error.max(apart),
                ..taken
            }
        }
        // Whole numbers are rounded already.
        Term::Call(Func::Floor | Func::Ceil | Func::Round, args) if ty.is_integer() => {
            args.first().map_or(Bounded::read(Number::Int(0)), at)
        }
        Term::Call(func, args) => {
            let args: Vec<Bounded> = args.iter().map(at).collect();
            call(*func, &args, ty)
        }
    }
}
