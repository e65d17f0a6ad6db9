//! Constants in C.

use super::kernel::Dialect;
use crate::loops::ir::{Literal, ScalarType};

/// A constant of a type, with its suffix; `-1` begins with a prefix operator.
pub(super) fn text(l: Literal, ty: ScalarType, dialect: Dialect) -> String {
    let single = matches!(
        ty,
        ScalarType::F32 | ScalarType::C64 | ScalarType::F16 | ScalarType::BF16
    );
    if ty == ScalarType::Bool {
        (if l.is_zero() { "false" } else { "true" }).to_string()
    } else if ty.is_integer() {
        integer(l, ty)
    } else {
        float(l.as_f64(), single, dialect)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn integer(l: Literal, ty: ScalarType) -> String {
    let value = match l {
        Literal::Int(i) => i,
        Literal::Bool(b) => i64::from(b),
        Literal::Float(x) => x as i64,
    };
    match ty {
        // Of constants alone, `0u - 5u` would wrap at 32 bits.
        ScalarType::U64 => format!("{}ull", value as u64),
        ScalarType::U8 | ScalarType::U16 | ScalarType::U32 => format!("{value}u"),
        ScalarType::I64 if value == i64::MIN => "INT64_MIN".to_string(),
        ScalarType::I64 if value == i64::MAX => "INT64_MAX".to_string(),
        ScalarType::I32 if value == i64::from(i32::MIN) => "INT32_MIN".to_string(),
        ScalarType::I32 if value == i64::from(i32::MAX) => "INT32_MAX".to_string(),
        ScalarType::Bool
        | ScalarType::I8
        | ScalarType::I16
        | ScalarType::I32
        | ScalarType::I64
        | ScalarType::F16
        | ScalarType::BF16
        | ScalarType::F32
        | ScalarType::F64
        | ScalarType::C64
        | ScalarType::C128 => value.to_string(),
    }
}

/// C's `INFINITY` and `NAN` are floats. C++ finds a function by the types of all arguments, and
/// none for GPUs where they differ.
#[expect(clippy::cast_possible_truncation)]
fn float(value: f64, single: bool, dialect: Dialect) -> String {
    let is_finite = if single {
        (value as f32).is_finite()
    } else {
        value.is_finite()
    };
    let wide = !single && dialect == Dialect::Device;
    if value.is_nan() {
        if wide { "nan(\"\")" } else { "NAN" }.to_string()
    } else if !is_finite {
        let sign = if value > 0.0 { "" } else { "-" };
        let name = if wide { "HUGE_VAL" } else { "INFINITY" };
        format!("{sign}{name}")
    } else if single {
        format!("{:?}f", value as f32)
    } else {
        format!("{value:?}")
    }
}
