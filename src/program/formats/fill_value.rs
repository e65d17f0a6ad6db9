//! Fill values in the element type of their tensor.

use super::Checked;
use crate::diagnostic::codes::format as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::program::ir::{Literal, ScalarType};
use crate::program::types::fits;

#[expect(clippy::cast_possible_truncation)]
pub(super) fn fill(value: f64, ty: ScalarType, tensor: &str, span: Span) -> Checked<Literal> {
    let whole = value.fract() == 0.0 && value.abs() < 9.2e18;
    let literal = if ty == ScalarType::Bool {
        (value == 0.0 || value == 1.0).then_some(Literal::Bool(value == 1.0))
    } else if ty.is_integer() {
        (whole && fits(value as i64, ty)).then_some(Literal::Int(value as i64))
    } else {
        let kept = match ty {
            ScalarType::F16 => half::f16::from_f64(value).to_f64(),
            ScalarType::BF16 => half::bf16::from_f64(value).to_f64(),
            ScalarType::F32 | ScalarType::C64 => f64::from(value as f32),
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
            | ScalarType::C128 => value,
        };
        // A finite number must stay finite; rounding is what storing it does anyway.
        (kept.is_finite() == value.is_finite()).then_some(Literal::Float(kept))
    };
    literal.ok_or_else(|| {
        Box::new(
            Diagnostic::error(
                codes::FILL_VALUE,
                span,
                format!("{value} cannot be the fill value of `{tensor}`"),
                format!("elements of type {ty} cannot have this value"),
            )
            .with_help("choose a value of the element type"),
        )
    })
}
