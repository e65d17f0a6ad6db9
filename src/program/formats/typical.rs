//! `density 0.001`, `row_length 8`: how much a tensor stores as a rule.

use super::{Checked, codes};
use crate::diagnostic::{Diagnostic, Span};
use crate::format::TensorFormat;
use crate::syntax::ast::Typical;

/// What a format says of a tensor, if a tensor of this format can store so much.
///
/// # Errors
/// A share outside of 0 to 1, rows of no length, a tensor that stores every element.
pub(super) fn typical(
    said: Typical,
    format: &TensorFormat,
    tensor: &str,
    span: Span,
) -> Checked<Typical> {
    let refuse = |message: String, label: &str, help: &str| {
        let error = Diagnostic::error(codes::TYPICAL, span, message, label);
        Err(Box::new(error.with_help(help)))
    };
    if format.is_dense() {
        return refuse(
            format!("`{tensor}` stores every element"),
            "says how many of them are stored",
            "leave it out, or store the tensor sparse",
        );
    }
    match said {
        Typical::Density(share) if share > 0.0 && share <= 1.0 => Ok(said),
        Typical::RowLength(length) if length > 0.0 && length.is_finite() => Ok(said),
        Typical::Density(share) => refuse(
            format!("{share} is no share of the elements"),
            "more than 0, at most 1",
            "`density 0.001` says that one of a thousand elements is stored",
        ),
        Typical::RowLength(length) => refuse(
            format!("rows of {length} elements store nothing"),
            "more than 0",
            "`row_length 8` says that a row stores 8 elements on average",
        ),
    }
}
