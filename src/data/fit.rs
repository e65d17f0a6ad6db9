//! Numbers in a type that holds them: what it cannot hold is refused, where `as` and C would
//! convert in silence. Floating-point numbers are rounded, as any decimal number is.

use super::values::{Element, Number, Values};
use crate::scalar::ScalarType;
use half::{bf16, f16};

/// From here on not every whole number is a double.
const SKIPPING: f64 = 9_007_199_254_740_992.0;

/// Whether `ty` holds `n`; if not, why, to follow the number.
///
/// # Errors
/// Why not.
pub fn fits(n: Number, ty: ScalarType) -> Result<(), String> {
    if let Number::Complex(z) = n
        && !ty.is_complex()
    {
        return if z.im == 0.0 {
            fits(Number::Real(z.re), ty)
        } else {
            Err(format!("is complex, which {ty} does not hold"))
        };
    }
    if ty == ScalarType::Bool {
        return match n {
            Number::Int(0 | 1) => Ok(()),
            Number::Real(x) if x == 0.0 || x == 1.0 => Ok(()),
            Number::Int(_) | Number::Real(_) | Number::Complex(_) => {
                Err("is neither 0 nor 1, false nor true".to_string())
            }
        };
    }
    if ty.is_integer() {
        if let Number::Real(x) = n {
            if x.fract() != 0.0 {
                return Err("is no whole number".to_string());
            }
            if x.abs() > SKIPPING && x.abs() < 1e19 {
                return Err("is a floating-point number beyond 2^53, which may be rounded".into());
            }
        }
        let (lo, hi) = range(ty);
        return if (lo..=hi).contains(&n.int()) {
            Ok(())
        } else {
            Err(format!("does not fit {ty}: {lo} to {hi}"))
        };
    }
    let parts = n.complex();
    if [parts.re, parts.im].into_iter().all(|x| finite(x, ty)) {
        Ok(())
    } else {
        Err(format!("is too large for {ty}"))
    }
}

/// Whether a finite number stays finite.
fn finite(x: f64, ty: ScalarType) -> bool {
    let kept = match ty {
        ScalarType::F16 => f16::from_f64(x).is_finite(),
        ScalarType::BF16 => bf16::from_f64(x).is_finite(),
        ScalarType::F32 | ScalarType::C64 => {
            <f32 as Element>::from_number(Number::Real(x)).is_finite()
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
        | ScalarType::C128 => true,
    };
    kept || !x.is_finite()
}

/// The smallest and the largest whole number of an integer type.
#[must_use]
pub fn range(ty: ScalarType) -> (i128, i128) {
    let bits = 8 * ty.size();
    if ty.is_unsigned() {
        (0, (1i128 << bits) - 1)
    } else {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    }
}

/// The same elements in another type.
///
/// # Errors
/// The first element that does not fit: its position, itself, and why not.
pub fn convert(values: &Values, ty: ScalarType) -> Result<Values, (usize, Number, String)> {
    let from = values.ty();
    let always = from == ty
        || ty == ScalarType::C128
        || (ty == ScalarType::F64 && !from.is_complex())
        || (ty == ScalarType::F32 && !from.is_complex() && from != ScalarType::F64);
    if !always {
        for at in 0..values.len() {
            let n = values.get(at);
            fits(n, ty).map_err(|reason| (at, n, reason))?;
        }
    }
    Ok(values.convert(ty))
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;

    #[test]
    fn what_a_type_holds_is_converted() {
        let complex = |re, im| Number::Complex(Complex::new(re, im));
        for (n, ty) in [
            (Number::Real(3.0), ScalarType::I8),
            (Number::Real(-128.0), ScalarType::I8),
            (Number::Real(SKIPPING), ScalarType::I64),
            (Number::Int(i128::from(u64::MAX)), ScalarType::U64),
            (Number::Int(i128::from(i64::MIN)), ScalarType::I64),
            (Number::Real(1.0), ScalarType::Bool),
            (Number::Real(0.1), ScalarType::F16),
            (Number::Real(f64::INFINITY), ScalarType::F32),
            (Number::Real(f64::NAN), ScalarType::F16),
            (Number::Real(3e38), ScalarType::BF16),
            (complex(2.0, 0.0), ScalarType::F64),
            (complex(2.0, 1e38), ScalarType::C64),
        ] {
            assert_eq!(fits(n, ty), Ok(()), "{n:?} {ty}");
        }
    }

    #[test]
    fn what_a_type_does_not_hold_is_refused() {
        let complex = |re, im| Number::Complex(Complex::new(re, im));
        for (n, ty) in [
            (Number::Real(1.5), ScalarType::I32),
            (Number::Real(f64::NAN), ScalarType::I32),
            (Number::Real(f64::INFINITY), ScalarType::I64),
            (Number::Real(300.0), ScalarType::U8),
            (Number::Int(-1), ScalarType::U64),
            (Number::Int(1 << 63), ScalarType::I64),
            (Number::Real(2.0 * SKIPPING), ScalarType::I64),
            (Number::Real(1e30), ScalarType::U64),
            (Number::Real(0.5), ScalarType::Bool),
            (Number::Int(2), ScalarType::Bool),
            (Number::Real(1e6), ScalarType::F16),
            (Number::Real(1e39), ScalarType::F32),
            (complex(1.0, 2.0), ScalarType::F64),
            (complex(1.5, 0.0), ScalarType::I32),
            (complex(0.0, 1e39), ScalarType::C64),
        ] {
            assert!(fits(n, ty).is_err(), "{n:?} {ty}");
        }
        let values = Values::F64(vec![1.0, 2.5]);
        let (at, n, _) = convert(&values, ScalarType::I32).unwrap_err();
        assert_eq!((at, n), (1, Number::Real(2.5)));
    }
}
