//! What the conditions around a read say of index variables: under `i > 0 ? x(i-1) : 0` the subscript is in bounds
//! though `i - 1` is not for all `i`.

use super::affine::{Affine, affine};
use super::{Ranges, size, span_of};
use crate::program::draft::Draft;
use crate::program::ir::{BinaryOp, Expr, ExprKind, SizeExpr, TensorId, UnaryOp};
use crate::scalar::{Literal, ScalarType};

/// What holds where something is read.
#[derive(Clone, Debug)]
pub(super) enum Fact {
    /// It is not negative.
    Natural(Affine),
    /// It is not zero.
    NotZero(Affine),
}

/// Calls `f` on each access of an expression, with the conditions under which it is read: `None` for none, else what
/// they say that is known of variables. Operands on the right of `&&` and `||` are read under a condition, too.
pub(super) fn each_access<'e>(
    e: &'e Expr,
    facts: Option<&[Fact]>,
    param: &impl Fn(TensorId) -> Option<ScalarType>,
    f: &mut impl FnMut(&'e Expr, Option<&[Fact]>),
) {
    let under = |condition: &Expr, holds: bool| {
        let mut all = facts.unwrap_or_default().to_vec();
        learn(condition, holds, param, &mut all);
        all
    };
    if let ExprKind::Access(_) = e.kind {
        f(e, facts);
    }
    // A sum is there before the condition that it stands under is asked.
    let is_sum = matches!(e.kind, ExprKind::Reduce { .. });
    for (part, condition) in e.parts_under() {
        let own = condition.map(|(condition, holds)| under(condition, holds));
        let facts = own.as_deref().or(facts.filter(|_| !is_sum));
        each_access(part, facts, param, f);
    }
}

/// What it says that a condition holds, or does not.
fn learn(
    condition: &Expr,
    holds: bool,
    param: &impl Fn(TensorId) -> Option<ScalarType>,
    facts: &mut Vec<Fact>,
) {
    if let ExprKind::Unary(UnaryOp::Not, a) = &condition.kind {
        learn(a, !holds, param, facts);
    } else if let ExprKind::Binary(op, a, b) = &condition.kind {
        // Of both, or of neither.
        if (*op == BinaryOp::And && holds) || (*op == BinaryOp::Or && !holds) {
            learn(a, holds, param, facts);
            learn(b, holds, param, facts);
            return;
        }
        if !is_exact(a, param) || !is_exact(b, param) {
            return;
        }
        let quotients = (quotient(a, param), quotient(b, param));
        let (Some(a), Some(b)) = (affine(a, param), affine(b, param)) else {
            return;
        };
        facts.extend(compared(*op, holds, &a, &b));
        match quotients {
            (None, Some((of, n))) => facts.extend(compared_whole(*op, holds, &a, (&of, n))),
            (Some((of, n)), None) => {
                facts.extend(compared_whole(turned(*op), holds, &b, (&of, n)));
            }
            (None, None) | (Some(_), Some(_)) => {}
        }
    }
}

/// The dividend and the divisor of a size that is a quotient, rounded down: of what is not negative.
fn quotient(e: &Expr, param: &impl Fn(TensorId) -> Option<ScalarType>) -> Option<(Affine, i64)> {
    let ExprKind::Binary(BinaryOp::Div, of, by) = &e.kind else {
        return None;
    };
    let ExprKind::Literal(Literal::Int(n)) = by.kind else {
        return None;
    };
    let form = affine(of, param).filter(|_| n > 0 && is_exact(of, param))?;
    (form.terms.is_empty() && size::never_negative(&form.rest)).then_some((form, n))
}

/// The comparison with its sides in each other's place.
fn turned(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Ge => BinaryOp::Le,
        BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::And
        | BinaryOp::Or => op,
    }
}

/// What it says without rounding that `a` is compared with a quotient: `i < N/2` that `2*i + 2 <= N`.
fn compared_whole(op: BinaryOp, holds: bool, a: &Affine, (of, n): (&Affine, i64)) -> Vec<Fact> {
    let times = a.clone().scaled(&SizeExpr::Const(n));
    let less = |x: &Affine, y: &Affine, by: i64| {
        Fact::Natural(x.less(y).plus(Affine::of(SizeExpr::Const(by))))
    };
    let (below, above) = (|by| less(of, &times, by), |by| less(&times, of, by));
    match (op, holds) {
        (BinaryOp::Lt, true) | (BinaryOp::Ge, false) => vec![below(-n)],
        (BinaryOp::Le, true) | (BinaryOp::Gt, false) => vec![below(0)],
        (BinaryOp::Gt, true) | (BinaryOp::Le, false) => vec![above(-1)],
        (BinaryOp::Ge, true) | (BinaryOp::Lt, false) => vec![above(n - 1)],
        (BinaryOp::Eq, true) | (BinaryOp::Ne, false) => vec![below(0), above(n - 1)],
        (BinaryOp::Ne, true) | (BinaryOp::Eq, false) => Vec::new(),
        (
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::Div
            | BinaryOp::Rem
            | BinaryOp::And
            | BinaryOp::Or,
            _,
        ) => Vec::new(),
    }
}

/// Whether an expression has the value at run time that its form has: no step of it may wrap, nor round. Variables and
/// sizes have 64 bits and a sign, and so has what is computed with them; parameters are narrower, or have no sign.
fn is_exact(e: &Expr, param: &impl Fn(TensorId) -> Option<ScalarType>) -> bool {
    match &e.kind {
        ExprKind::Index(_) | ExprKind::Size(_) | ExprKind::Literal(_) => true,
        ExprKind::Access(access) => access.subscripts.is_empty() && param(access.tensor).is_some(),
        ExprKind::Unary(UnaryOp::Neg, a) => is_wide(a) && is_exact(a, param),
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, a, b) => {
            let literals = [a, b]
                .iter()
                .all(|e| matches!(e.kind, ExprKind::Literal(_)));
            (is_wide(a) || is_wide(b) || literals) && is_exact(a, param) && is_exact(b, param)
        }
        ExprKind::Binary(BinaryOp::Div, ..) => quotient(e, param).is_some(),
        ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Cast(_)
        | ExprKind::Select(..)
        | ExprKind::Call(..)
        | ExprKind::Reduce { .. } => false,
    }
}

/// Whether an exact expression has 64 bits and a sign.
fn is_wide(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Index(_) | ExprKind::Size(_) => true,
        ExprKind::Unary(_, a) => is_wide(a),
        ExprKind::Binary(_, a, b) => is_wide(a) || is_wide(b),
        ExprKind::Literal(_)
        | ExprKind::Access(_)
        | ExprKind::Cast(_)
        | ExprKind::Select(..)
        | ExprKind::Call(..)
        | ExprKind::Reduce { .. } => false,
    }
}

/// What it says that a comparison of whole numbers holds, or does not.
fn compared(op: BinaryOp, holds: bool, a: &Affine, b: &Affine) -> Vec<Fact> {
    let at_least = |x: &Affine, y: &Affine, by: i64| {
        Fact::Natural(x.less(y).plus(Affine::of(SizeExpr::Const(-by))))
    };
    let equal = || vec![at_least(a, b, 0), at_least(b, a, 0)];
    let different = || vec![Fact::NotZero(a.less(b))];
    match (op, holds) {
        (BinaryOp::Lt, true) | (BinaryOp::Ge, false) => vec![at_least(b, a, 1)],
        (BinaryOp::Le, true) | (BinaryOp::Gt, false) => vec![at_least(b, a, 0)],
        (BinaryOp::Gt, true) | (BinaryOp::Le, false) => vec![at_least(a, b, 1)],
        (BinaryOp::Ge, true) | (BinaryOp::Lt, false) => vec![at_least(a, b, 0)],
        (BinaryOp::Eq, true) | (BinaryOp::Ne, false) => equal(),
        (BinaryOp::Ne, true) | (BinaryOp::Eq, false) => different(),
        (
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::Div
            | BinaryOp::Rem
            | BinaryOp::And
            | BinaryOp::Or,
            _,
        ) => Vec::new(),
    }
}

impl Fact {
    /// Forms that are not negative where the fact holds.
    fn naturals(&self, draft: &Draft, ranges: &Ranges) -> Vec<Affine> {
        let one = || Affine::of(SizeExpr::Const(-1));
        match self {
            Fact::Natural(form) => form.expanded(draft).into_iter().collect(),
            Fact::NotZero(form) => {
                let Some(form) = form.expanded(draft) else {
                    return Vec::new();
                };
                let zero = Affine::of(SizeExpr::Const(0));
                let sides = [form.clone(), zero.less(&form)];
                let on_one_side = |side: &Affine| {
                    span_of(side, None, ranges).is_some_and(|(low, _)| size::never_negative(&low))
                };
                let sides = sides.into_iter().filter(on_one_side);
                sides.map(|side| side.plus(one())).collect()
            }
        }
    }
}

/// The least that a form is over the ranges, or more than that where what holds says so; `None` where a range is
/// dynamic or a coefficient has no plain sign.
pub(super) fn least(
    form: &Affine,
    facts: &[Fact],
    draft: &Draft,
    ranges: &Ranges,
) -> Option<SizeExpr> {
    let (plain, _) = span_of(form, None, ranges)?;
    let mut best = plain;
    for natural in facts.iter().flat_map(|fact| fact.naturals(draft, ranges)) {
        if size::never_negative(&best) {
            break;
        }
        // form = (form - natural) + natural, of which the last is not negative.
        if let Some((low, _)) = span_of(&form.less(&natural), None, ranges) {
            best = match size::never_negative(&low) {
                true => low,
                false => size::max(best, low),
            };
        }
    }
    Some(best)
}

/// Whether a form is not negative where one of the facts holds, whatever the ranges are.
pub(super) fn keeps(form: &Affine, facts: &[Fact], draft: &Draft) -> bool {
    facts.iter().any(|fact| match fact {
        Fact::Natural(natural) => natural.expanded(draft).is_some_and(|natural| {
            let rest = form.less(&natural);
            rest.terms.is_empty() && size::never_negative(&rest.rest)
        }),
        Fact::NotZero(_) => false,
    })
}
