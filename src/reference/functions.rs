//! Bounds of functions and casts. What a function makes of its arguments' bounds is
//! found by evaluating it at the ends of their intervals.

use super::rounding::{Bounded, epsilon, least_normal, settle, unit};
use super::value::{convert, plain_call};
use crate::data::values::Number;
use crate::program::ir::Func;
use crate::scalar::ScalarType;
use num_complex::Complex;

/// How many units in the last place a mathematical library may be off.
const LIBRARY: f64 = 8.0;
/// The same of complex functions.
const COMPLEX_LIBRARY: f64 = 16.0;

/// `func(args)`, of type `ty`.
pub(super) fn call(func: Func, args: &[Bounded], ty: ScalarType) -> Bounded {
    if let (Func::Own(own), [a, b]) = (func, args) {
        return super::own::value(own, *a, *b, ty);
    }
    let numbers: Vec<Number> = args.iter().map(|a| a.number).collect();
    let number = plain_call(func, &numbers, ty);
    let certain = args.iter().all(|a| a.error == 0.0);
    let error = match func {
        Func::Min | Func::Max => args.iter().fold(0.0, |e: f64, a| e.max(a.error)),
        Func::Abs if !complex(&numbers) => args.iter().fold(0.0, |e: f64, a| e.max(a.error)),
        Func::Floor | Func::Ceil | Func::Round | Func::Mod | Func::Heaviside if certain => 0.0,
        Func::ToHalf | Func::ToBfloat16 if certain => 0.0,
        Func::Sin | Func::Cos if !complex(&numbers) => {
            let moved = args.iter().fold(0.0, |e: f64, a| e.max(a.error)).min(2.0);
            moved + own(func, &numbers, number, ty)
        }
        Func::Tan if args.iter().any(|a| a.error > 0.1) => f64::INFINITY,
        Func::Abs
        | Func::Sqrt
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
        | Func::Floor
        | Func::Ceil
        | Func::Round
        | Func::Mod
        | Func::Fma
        | Func::Heaviside
        | Func::ToHalf
        | Func::ToBfloat16
        | Func::Own(_) => moved(func, args, number, ty) + own(func, &numbers, number, ty),
    };
    settle(Bounded { number, error }, ty)
}

fn complex(numbers: &[Number]) -> bool {
    numbers.iter().any(|n| matches!(n, Number::Complex(_)))
}

/// What the function itself rounds.
fn own(func: Func, args: &[Number], result: Number, ty: ScalarType) -> f64 {
    let size = result.abs();
    let step = matches!(
        func,
        Func::Floor | Func::Ceil | Func::Round | Func::Heaviside
    );
    if !size.is_finite() || epsilon(ty) == 0.0 || step {
        return 0.0;
    }
    let arg = |at: usize| args.get(at).copied().unwrap_or(Number::Int(0));
    if func == Func::ToHalf {
        return unit(size, ScalarType::F16);
    }
    if func == Func::ToBfloat16 {
        return unit(size, ScalarType::BF16);
    }
    if func == Func::Fma {
        // Rounded once, or twice where a kernel has no such instruction.
        return unit(arg(0).abs() * arg(1).abs() + arg(2).abs(), ty);
    }
    let (factor, base) = if complex(args) {
        let base = match func {
            // Computed from logarithms and exponentials whose ends cancel near zero, by
            // C libraries and here.
            Func::Expm1
            | Func::Log
            | Func::Log1p
            | Func::Log10
            | Func::Asin
            | Func::Acos
            | Func::Atan
            | Func::Tan
            | Func::Tanh
            | Func::Asinh
            | Func::Acosh
            | Func::Atanh => size + 1.0,
            // exp(y log x): the exponent's rounding counts in full.
            Func::Pow => size * (1.0 + (arg(1).complex() * arg(0).complex().ln()).norm()),
            Func::Abs
            | Func::Sqrt
            | Func::Cbrt
            | Func::Exp
            | Func::Sin
            | Func::Cos
            | Func::Atan2
            | Func::Sinh
            | Func::Cosh
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
            | Func::Own(_) => size,
        };
        (COMPLEX_LIBRARY, if base.is_finite() { base } else { size })
    } else if func == Func::Acosh {
        // Near 1 a logarithm of what is hardly more than 1, here.
        (LIBRARY, size + epsilon(ScalarType::F64) / epsilon(ty))
    } else {
        (LIBRARY, size)
    };
    if size == 0.0 && base == 0.0 {
        return 0.0;
    }
    if size < least_normal(ty) {
        // An exponential on the way may have left the type.
        return least_normal(ty).max(factor * epsilon(ty) * base);
    }
    factor * epsilon(ty) * base
}

/// How far the result moves when the arguments move within their bounds.
fn moved(func: Func, args: &[Bounded], result: Number, ty: ScalarType) -> f64 {
    if args.iter().all(|a| a.error == 0.0) {
        return 0.0;
    }
    if args.iter().any(|a| a.error.is_infinite()) {
        return f64::INFINITY;
    }
    let mut corners: Vec<Vec<Number>> = vec![Vec::new()];
    for arg in args {
        let ends = ends(*arg);
        corners = corners
            .into_iter()
            .flat_map(|corner| {
                ends.iter().map(move |&end| {
                    let mut longer = corner.clone();
                    longer.push(end);
                    longer
                })
            })
            .collect();
    }
    let finite = |n: Number| n.abs().is_finite();
    let mut farthest: f64 = 0.0;
    for corner in &corners {
        let there = plain_call(func, corner, ty);
        if finite(there) && finite(result) {
            farthest = farthest.max((there.complex() - result.complex()).norm());
        } else if !alike(there, result) {
            return f64::INFINITY;
        }
    }
    match func {
        Func::Floor | Func::Ceil | Func::Round | Func::Heaviside => farthest,
        // Between the ends a curve may move a little more than at them.
        Func::Abs
        | Func::Sqrt
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
        | Func::Mod
        | Func::Min
        | Func::Max
        | Func::ToHalf
        | Func::ToBfloat16
        | Func::Own(_)
        | Func::Fma => 2.0 * farthest,
    }
}

/// Both not a number, or the same infinity.
fn alike(a: Number, b: Number) -> bool {
    let (x, y) = (a.complex(), b.complex());
    x == y || (x.is_nan() && y.is_nan())
}

fn ends(arg: Bounded) -> Vec<Number> {
    let e = arg.error;
    if e == 0.0 {
        return vec![arg.number];
    }
    match arg.number {
        Number::Int(_) => {
            let x = arg.number.real();
            vec![Number::Real(x - e), arg.number, Number::Real(x + e)]
        }
        Number::Real(x) => vec![Number::Real(x - e), Number::Real(x), Number::Real(x + e)],
        Number::Complex(z) => [(e, 0.0), (-e, 0.0), (0.0, e), (0.0, -e)]
            .map(|(re, im)| Number::Complex(z + Complex::new(re, im)))
            .to_vec(),
    }
}

/// Converts to `ty`, as C does.
pub(super) fn cast(a: Bounded, ty: ScalarType) -> Bounded {
    let number = convert(a.number, ty);
    if a.error == 0.0 {
        return Bounded::read(number);
    }
    if ty == ScalarType::Bool {
        let error = f64::from(u8::from(a.may_vanish()));
        return Bounded { number, error };
    }
    if ty.is_integer() {
        if a.error.is_infinite() {
            return Bounded {
                number,
                error: a.error,
            };
        }
        // Off by how much the conversion is: where the ends differ in it, a number between them
        // wraps or not, and anything may come out.
        let x = a.number.real();
        let (low, high) = ((x - a.error).trunc(), (x + a.error).trunc());
        let off = |end: f64| {
            let end = Number::Real(end);
            end.int().wrapping_sub(convert(end, ty).int())
        };
        let error = if off(low) == off(high) {
            (high - x.trunc()).max(x.trunc() - low)
        } else {
            f64::INFINITY
        };
        return Bounded { number, error };
    }
    let error = a.error + unit(a.size(), ty);
    let wide = if ty.is_complex() {
        Number::Complex(a.number.complex())
    } else {
        Number::Real(a.number.real())
    };
    settle(
        Bounded {
            number: wide,
            error,
        },
        ty,
    )
}
