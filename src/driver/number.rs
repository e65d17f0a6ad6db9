//! Scalars on the command line, in the type of their parameter: `2.5`, `-1e-3`, `true`,
//! `1-2i`. What the type cannot hold is refused, not rounded.

use crate::data::fit::{BEYOND, SKIPPING, fits};
use crate::data::values::Number;
use crate::scalar::ScalarType;
use num_complex::Complex;

/// The value of `text` as a scalar of type `ty`; else what is wrong, to follow the text.
///
/// # Errors
/// No number, or none of the type.
pub fn parse(text: &str, ty: ScalarType) -> Result<Number, String> {
    if ty == ScalarType::Bool {
        return match text {
            "true" | "1" => Ok(Number::Int(1)),
            "false" | "0" => Ok(Number::Int(0)),
            _ => Err("is neither true nor false".to_string()),
        };
    }
    if ty.is_integer() {
        let value = Number::Int(whole(text, ty)?);
        return fits(value, ty).map(|()| value);
    }
    let value = if ty.is_complex() {
        Number::Complex(complex(text, ty)?)
    } else {
        Number::Real(real(text, ty)?)
    };
    fits(value, ty).map(|()| value)
}

fn real(text: &str, ty: ScalarType) -> Result<f64, String> {
    let value = text.parse().map_err(|_| "is no number".to_string())?;
    let became_infinite = f64::is_infinite(value) && text.bytes().any(|b| b.is_ascii_digit());
    match became_infinite {
        true => Err(format!("is too large for {ty}")),
        false => Ok(value),
    }
}

/// A whole number, also as `1e6`.
fn whole(text: &str, ty: ScalarType) -> Result<i128, String> {
    if let Ok(value) = text.parse::<i128>() {
        return Ok(value);
    }
    let value = real(text, ty)?;
    let whole = Number::Real(value).int();
    // Floats count every whole number below 2^53 only.
    if value.fract() != 0.0 {
        Err("is no whole number".to_string())
    } else if value.abs() < SKIPPING {
        Ok(whole)
    } else if value.abs() > BEYOND {
        // Nothing has room for it: the reason is that it is too large.
        fits(Number::Int(whole), ty).map(|()| whole)
    } else {
        Err("is 2^53 or more and may be rounded: write all of its digits".to_string())
    }
}

/// `2`, `-3i`, `1+2i`, `1e-3-i`.
fn complex(text: &str, ty: ScalarType) -> Result<Complex<f64>, String> {
    let wrong = |_| "is no number; complex ones are written as 1-2i".to_string();
    let value: Complex<f64> = text.parse().map_err(wrong)?;
    let is_infinite = value.re.is_infinite() || value.im.is_infinite();
    match is_infinite && !text.to_ascii_lowercase().contains("inf") {
        true => Err(format!("is too large for {ty}")),
        false => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_have_the_type_of_their_parameter() {
        for (text, ty, value) in [
            ("-1e-3", ScalarType::F64, Number::Real(-1e-3)),
            ("true", ScalarType::Bool, Number::Int(1)),
            ("1e3", ScalarType::I32, Number::Int(1000)),
            ("-128", ScalarType::I8, Number::Int(-128)),
            (
                "9007199254740993",
                ScalarType::I64,
                Number::Int(9_007_199_254_740_993),
            ),
            (
                "18446744073709551615",
                ScalarType::U64,
                Number::Int(u64::MAX.into()),
            ),
            (
                "1-2i",
                ScalarType::C128,
                Number::Complex(Complex::new(1.0, -2.0)),
            ),
            (
                "2.5",
                ScalarType::C64,
                Number::Complex(Complex::new(2.5, 0.0)),
            ),
        ] {
            assert_eq!(parse(text, ty), Ok(value), "{text}");
        }
    }

    #[test]
    fn what_a_type_cannot_hold_is_refused() {
        for (text, ty) in [
            ("", ScalarType::F64),
            ("two", ScalarType::F64),
            ("2.5", ScalarType::I32),
            ("2147483648", ScalarType::I32),
            ("-1", ScalarType::U8),
            ("256", ScalarType::U8),
            ("1e300", ScalarType::I64),
            ("nan", ScalarType::I64),
            ("2", ScalarType::Bool),
            ("1e39", ScalarType::F32),
            ("1e400", ScalarType::F64),
            ("-1e400i", ScalarType::C128),
            ("65520", ScalarType::F16),
            ("1e39i", ScalarType::C64),
            ("1+2j+3", ScalarType::C64),
        ] {
            assert!(parse(text, ty).is_err(), "{text}");
        }
    }

    #[test]
    fn reasons_are_those_of_the_type() {
        for (text, ty, reason) in [
            ("1e400", ScalarType::I32, "is too large for int"),
            ("1e400", ScalarType::F32, "is too large for float"),
            ("1e400", ScalarType::C64, "is too large for complex64"),
            ("1e39", ScalarType::I32, "does not fit int"),
            ("1e17", ScalarType::I64, "is 2^53 or more"),
            ("9007199254740993.0", ScalarType::I64, "is 2^53 or more"),
            ("-9007199254740993.0", ScalarType::I64, "is 2^53 or more"),
            ("1.844674407370955e19", ScalarType::U64, "is 2^53 or more"),
            ("1e20", ScalarType::U64, "does not fit uint64"),
            ("inf", ScalarType::I32, "is no whole number"),
            ("2.5", ScalarType::I32, "is no whole number"),
        ] {
            let found = parse(text, ty).unwrap_err();
            assert!(found.starts_with(reason), "{text}: {found}");
        }
    }
}
