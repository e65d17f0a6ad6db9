//! Fill values in the element type of their tensor.

use super::Checked;
use crate::diagnostic::codes::format as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::program::ir::{Literal, ScalarType};
use crate::program::types::fits;
use crate::syntax::ast::FillValue;

/// The fill value of a tensor of type `ty`.
///
/// # Errors
/// No element of the type has the value; floats are rounded, whole numbers are not.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
pub(super) fn fill(
    written: FillValue,
    ty: ScalarType,
    tensor: &str,
    span: Span,
) -> Checked<Literal> {
    let (value, whole) = match written {
        FillValue::Int(n) => (n as f64, i64::try_from(n).ok()),
        // An infinity is the end of an integer type.
        FillValue::Float(x) if x.is_infinite() => {
            let end = ty
                .ends()
                .map(|(least, most)| if x > 0.0 { most } else { least });
            (x, end.and_then(|end| i64::try_from(end).ok()))
        }
        FillValue::Float(x) => {
            let whole = x.fract() == 0.0 && x.abs() < 9.2e18;
            (x, whole.then_some(x as i64))
        }
    };
    let literal = if ty == ScalarType::Bool {
        (value == 0.0 || value == 1.0).then_some(Literal::Bool(value == 1.0))
    } else if ty.is_integer() {
        whole.filter(|n| fits(*n, ty)).map(Literal::Int)
    } else {
        let kept = ty.stored(value);
        // A finite number must stay finite; rounding is what storing it does anyway.
        (kept.is_finite() == value.is_finite()).then_some(Literal::Float(kept))
    };
    literal.ok_or_else(|| {
        let shown = match written {
            FillValue::Int(n) => n.to_string(),
            FillValue::Float(x) => x.to_string(),
        };
        let (label, help) = match written {
            FillValue::Int(n) if ty == ScalarType::U64 && u64::try_from(n).is_ok() => (
                "constants are below 2^63".to_string(),
                "store it dense, or with another fill",
            ),
            FillValue::Float(x) if ty == ScalarType::U64 && x == f64::INFINITY => (
                "constants are below 2^63".to_string(),
                "store it dense, or with another fill",
            ),
            FillValue::Int(_) | FillValue::Float(_) => (
                format!("elements of type {ty} cannot have this value"),
                "choose a value of the element type",
            ),
        };
        Box::new(
            Diagnostic::error(
                codes::FILL_VALUE,
                span,
                format!("{shown} cannot be the fill value of `{tensor}`"),
                label,
            )
            .with_help(help),
        )
    })
}
