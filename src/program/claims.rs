//! Whether operators are what they claim, tried on random values of a type, and whether they have a
//! meaning in it.

use super::draft::Draft;
use super::types::{fits, keeps};
use crate::diagnostic::codes::program as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::operators::{BinaryOp, Own, Term, UnaryOp, constant};
use crate::scalar::{Literal, ScalarType};
use crate::syntax::ast::{Claim, OperatorDecl};

/// How many triples of values are tried.
const TRIES: u32 = 300;

/// Checks an operator that is used on numbers of type `ty` at `span`.
pub(super) fn check(draft: &Draft, own: Own, ty: ScalarType, span: Span) -> Option<Diagnostic> {
    let (_, decl) = draft.library.operators.get(own.name())?;
    if let Some(why) = meaningless(own, ty) {
        let error = Diagnostic::error(
            codes::OPERATOR_USE,
            span,
            format!("`{}` is not defined on numbers of type {ty}", own.name()),
            why,
        );
        return Some(
            error
                .with_label(decl.name.span, "declared here")
                .with_help("convert what it is used on, as in `double(x(i))`"),
        );
    }
    let (place, broken) = broken(own, decl, ty)?;
    let error = Diagnostic::error(
        codes::OPERATOR_CLAIM,
        place,
        format!(
            "`{}` is not what it claims on numbers of type {ty}",
            own.name()
        ),
        broken,
    );
    let error = if place == span {
        error
    } else {
        error.with_label(span, "used here")
    };
    Some(error.with_help("correct the operator, or take the claim out"))
}

/// Checks an operator for itself: whatever it is used on, there has to be a type in which it is what it
/// claims.
pub(super) fn check_anywhere(own: Own, decl: &OperatorDecl) -> Option<Diagnostic> {
    let somewhere = [ScalarType::F64, ScalarType::I64, ScalarType::Bool];
    let holds =
        |ty: &ScalarType| meaningless(own, *ty).is_none() && broken(own, decl, *ty).is_none();
    if somewhere.iter().any(holds) {
        return None;
    }
    let (place, broken) = broken(own, decl, ScalarType::F64)?;
    let message = format!("`{}` is not what it claims", own.name());
    let error = Diagnostic::error(codes::OPERATOR_CLAIM, place, message, broken);
    Some(error.with_help("correct the operator, or take the claim out"))
}

/// Why it has no meaning in a type.
fn meaningless(own: Own, ty: ScalarType) -> Option<String> {
    let mut found = None;
    let mut say = |why: String| found = found.take().or(Some(why));
    let holds = |value: Literal| match (constant(value, ty), value) {
        (Literal::Int(whole), Literal::Float(x)) if x.is_finite() => {
            x.fract() == 0.0 && fits(whole, ty)
        }
        (Literal::Int(whole), Literal::Int(_)) if ty.is_integer() => fits(whole, ty),
        (_, _) if ty == ScalarType::Bool => value.as_f64() == 0.0 || value.as_f64() == 1.0,
        (_, _) => !ty.is_integer() || !value.as_f64().is_nan(),
    };
    let ordered = [BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge];
    own.body.visit(&mut |term| match term {
        Term::Number(value) if !holds(*value) => say(format!("{value} is no {ty}")),
        Term::Call(func, _) if ty.is_complex() => {
            say(format!(
                "`{}` is a function of real numbers here",
                func.name()
            ));
        }
        Term::Binary(op, ..)
            if ty.is_complex() && (ordered.contains(op) || *op == BinaryOp::Rem) =>
        {
            say("complex numbers are not ordered".to_string());
        }
        Term::Call(func, _) if ty.is_integer() && !keeps(*func, ty) => {
            say(format!("`{}` is computed in floating point", func.name()));
        }
        Term::Call(func, _) if ty == ScalarType::Bool && !keeps(*func, ty) => {
            say(format!("`{}` is a function of numbers", func.name()));
        }
        Term::Binary(op, ..) if ty == ScalarType::Bool && !op.is_truth() => {
            say("truths are not calculated with".to_string());
        }
        Term::Unary(UnaryOp::Neg, _) if ty == ScalarType::Bool => {
            say("truths are not calculated with".to_string());
        }
        Term::Left
        | Term::Right
        | Term::Number(_)
        | Term::Unary(..)
        | Term::Binary(..)
        | Term::Select(..)
        | Term::Call(..) => {}
    });
    let claimed = [own.identity, own.annihilator];
    for value in claimed.into_iter().flatten() {
        if !holds(value) {
            say(format!("{value} is no {ty}"));
        }
    }
    found
}

/// A claim that does not hold in a type: its place, and values that show it.
fn broken(own: Own, decl: &OperatorDecl, ty: ScalarType) -> Option<(Span, String)> {
    let mut values = Values {
        state: 0x9e37_79b9_7f4a_7c15,
        ty,
    };
    let whole = ty.is_integer();
    let of = |x: f64, y: f64| own.body.at(x, y, whole);
    let name = own.name();
    let place = |is: fn(&Claim) -> bool| {
        let found = decl.claims.iter().find(|(claim, _)| is(claim));
        found.map_or(decl.body.span, |(_, span)| *span)
    };
    for _ in 0..TRIES {
        let (x, y, z) = (values.next(), values.next(), values.next());
        let (first, second) = (of(of(x, y), z), of(x, of(y, z)));
        if !alike(first, second, &[x, y, z]) {
            let text = format!(
                "not associative: `{name}({name}({x}, {y}), {z})` is {first}, and \
                 `{name}({x}, {name}({y}, {z}))` is {second}"
            );
            return Some((decl.body.span, text));
        }
        if let Some(e) = own.identity.map(Literal::as_f64) {
            for (a, b, wanted) in [(x, e, x), (e, x, x), (e, e, e)] {
                let value = of(a, b);
                if !alike(value, wanted, &[x]) {
                    let text = format!("`{name}({a}, {b})` is {value}");
                    return Some((place(|claim| matches!(claim, Claim::Identity(_))), text));
                }
            }
        }
        if let Some(n) = own.annihilator.map(Literal::as_f64) {
            for (a, b) in [(x, n), (n, x), (n, n)] {
                let value = of(a, b);
                if !alike(value, n, &[]) {
                    let text = format!("`{name}({a}, {b})` is {value}");
                    return Some((place(|claim| matches!(claim, Claim::Annihilator(_))), text));
                }
            }
        }
        let (there, back) = (of(x, y), of(y, x));
        if own.commutes && !alike(there, back, &[x, y]) {
            let text = format!("`{name}({x}, {y})` is {there}, and `{name}({y}, {x})` is {back}");
            return Some((place(|claim| *claim == Claim::Commutes), text));
        }
    }
    None
}

/// Whether two ways to compute a value agree, but for rounding.
fn alike(a: f64, b: f64, of: &[f64]) -> bool {
    if !a.is_finite() || !b.is_finite() {
        return a == b || (a.is_nan() && b.is_nan());
    }
    let size = of
        .iter()
        .fold(1.0 + a.abs().max(b.abs()), |m: f64, x| m.max(x.abs()));
    (a - b).abs() <= 1e-9 * size
}

/// Random values of a type: small ones, so that what they make is exact or nearly so.
struct Values {
    state: u64,
    ty: ScalarType,
}

impl Values {
    /// The next one (xorshift; the same in each run).
    #[expect(clippy::cast_precision_loss)]
    fn next(&mut self) -> f64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let drawn = self.state >> 33;
        if self.ty == ScalarType::Bool {
            return (drawn % 2) as f64;
        }
        let whole = (drawn % 17) as f64 - if self.ty.is_unsigned() { 0.0 } else { 8.0 };
        let is_whole = self.ty.is_integer() || drawn.is_multiple_of(3);
        if is_whole {
            whole
        } else {
            whole + ((drawn >> 8) % 8) as f64 / 8.0
        }
    }
}
