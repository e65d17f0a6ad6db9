//! Values of literals in each type.

use crate::program::ir::{Literal, ScalarType};

/// The value as C converts it, where it fits.
#[expect(clippy::cast_possible_truncation)]
pub(in crate::program) fn convert_literal(value: Literal, ty: ScalarType) -> Option<Literal> {
    if ty == ScalarType::Bool {
        return Some(Literal::Bool(!value.is_zero()));
    }
    if !ty.is_integer() {
        return Some(Literal::Float(value.as_f64()));
    }
    let whole = match value {
        Literal::Bool(b) => i64::from(b),
        Literal::Int(value) => value,
        Literal::Float(x) if x.abs() < 9e15 => x.trunc() as i64,
        Literal::Float(_) => return None,
    };
    fits(whole, ty).then_some(Literal::Int(whole))
}

/// Whether the integer type `ty` has the value `whole`.
pub(in crate::program) fn fits(whole: i64, ty: ScalarType) -> bool {
    ty.ends()
        .is_some_and(|(least, most)| (least..=most).contains(&i128::from(whole)))
}
