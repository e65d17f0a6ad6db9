//! What a reduction has gathered so far, whatever the order a kernel gathers it in.

use super::functions::call;
use super::own::{self, number};
use super::rounding::{Bounded, binary, epsilon, largest, least_normal, settle};
use super::value::convert;
use crate::data::values::Number;
use crate::program::ir::{BinaryOp, Func, ReduceOp};
use crate::scalar::{Literal, ScalarType};

/// What a reduction over nothing gives: the identity of its operator.
pub(super) fn neutral(op: ReduceOp, ty: ScalarType) -> Number {
    let bits = 8 * u32::try_from(ty.size()).unwrap_or(8);
    let largest = match (ty.is_integer(), ty.is_unsigned()) {
        (true, true) => Number::Int((1 << bits) - 1),
        (true, false) => Number::Int((1 << (bits - 1)) - 1),
        (false, _) => Number::Real(f64::INFINITY),
    };
    let smallest = match (ty.is_integer(), ty.is_unsigned()) {
        (true, true) => Number::Int(0),
        (true, false) => Number::Int(-(1 << (bits - 1))),
        (false, _) => Number::Real(f64::NEG_INFINITY),
    };
    let bools = ty == ScalarType::Bool;
    convert(
        match op {
            ReduceOp::Add | ReduceOp::Or => Number::Int(0),
            ReduceOp::Mul | ReduceOp::And => Number::Int(1),
            ReduceOp::Min if bools => Number::Int(1),
            ReduceOp::Max if bools => Number::Int(0),
            ReduceOp::Min => largest,
            ReduceOp::Max => smallest,
            ReduceOp::Own(own) => number(own.identity.unwrap_or(Literal::ZERO), ty),
        },
        ty,
    )
}

/// `a op b` of a reduction; `rounded` and `coarse` as in [`binary`].
pub(super) fn combine(
    op: ReduceOp,
    a: Bounded,
    b: Bounded,
    ty: ScalarType,
    rounded: f64,
    coarse: f64,
) -> Bounded {
    let bools = ty == ScalarType::Bool;
    let op = match op {
        ReduceOp::Add if !bools => BinaryOp::Add,
        ReduceOp::Mul if !bools => BinaryOp::Mul,
        ReduceOp::Add | ReduceOp::Or => BinaryOp::Or,
        ReduceOp::Mul | ReduceOp::And => BinaryOp::And,
        ReduceOp::Min => return call(Func::Min, &[a, b], ty),
        ReduceOp::Max => return call(Func::Max, &[a, b], ty),
        ReduceOp::Own(own) => return own::value(own, a, b, ty),
    };
    binary(op, a, b, ty, rounded, coarse)
}

/// The terms of one element of a reduction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partial {
    value: Bounded,
    /// Of a sum: the magnitudes of the finite terms. Of a product: of those above 1.
    above: f64,
    /// Of a product: the magnitudes below 1.
    below: f64,
    pub terms: f64,
    /// Whether all terms were finite.
    finite: bool,
}

impl Partial {
    pub fn new(neutral: Number) -> Self {
        Partial {
            value: Bounded::read(neutral),
            above: 0.0,
            below: 1.0,
            terms: 0.0,
            finite: true,
        }
    }

    /// Takes one more term, in which `sums` terms were summed.
    pub fn add(&mut self, op: ReduceOp, term: Bounded, ty: ScalarType, sums: f64) {
        self.terms += 1.0 + sums;
        self.finite &= term.size().is_finite();
        let rounds = epsilon(ty) > 0.0;
        if rounds && op == ReduceOp::Add {
            let number =
                super::value::plain_binary(BinaryOp::Add, self.value.number, term.number, ty);
            let error = self.value.error + term.error;
            self.value = Bounded { number, error };
            let size = term.size();
            if size.is_finite() {
                self.above += size;
            }
            return;
        }
        if rounds && op == ReduceOp::Mul {
            let size = term.size();
            if size > 1.0 {
                self.above = self.above.max(1.0) * size;
            } else if size > 0.0 {
                self.below *= size;
            }
        }
        if matches!(op, ReduceOp::Own(_)) && term.size().is_finite() {
            self.above = self.above.max(term.size()).max(self.value.size());
        }
        self.value = combine(op, self.value, term, ty, 0.0, 0.0);
    }

    /// The reduction's value. `coarse` is the rounding of where a kernel may gather it.
    pub fn finish(&self, op: ReduceOp, ty: ScalarType, coarse: f64) -> Bounded {
        if epsilon(ty) == 0.0 {
            return self.value;
        }
        let open = Bounded {
            error: f64::INFINITY,
            ..self.value
        };
        match op {
            ReduceOp::Add => {
                let rounding = epsilon(ty).max(coarse) * self.terms * self.above;
                let error = self.value.error + rounding;
                // Where terms cancel, some order may overflow on the way.
                let cancels = self.value.size() < self.above * 0.999;
                if self.above > largest(ty) && cancels {
                    return open;
                }
                settle(
                    Bounded {
                        error,
                        ..self.value
                    },
                    ty,
                )
            }
            ReduceOp::Mul => {
                let overflows = self.above > largest(ty);
                let vanishes = self.below < least_normal(ty);
                // A zero makes no number of what has overflowed before it.
                let size = self.value.size();
                let only_grows = self.below == 1.0 && size != 0.0 && !size.is_nan();
                if (overflows && !only_grows) || (vanishes && self.above > 1.0) {
                    return open;
                }
                self.value
            }
            ReduceOp::Min | ReduceOp::Max | ReduceOp::And | ReduceOp::Or => self.value,
            // What has overflowed on the way may be no number in one order, and infinite in another.
            ReduceOp::Own(_) if self.overflows() => open,
            // Nothing was rounded: whatever the order, one of the terms comes out.
            ReduceOp::Own(_) if self.value.error == 0.0 => self.value,
            ReduceOp::Own(_) => {
                // Another order rounds other values on the way, of the same sizes.
                let rounding = coarse * self.terms * self.above.max(self.value.size());
                let error = 4.0 * self.value.error + rounding;
                settle(
                    Bounded {
                        error,
                        ..self.value
                    },
                    ty,
                )
            }
        }
    }

    /// Whether a reduction by an operator of one's own became infinite, or no number, on its way.
    fn overflows(&self) -> bool {
        let size = self.value.size();
        self.terms > 0.0 && (size.is_nan() || (self.finite && size.is_infinite()))
    }
}
