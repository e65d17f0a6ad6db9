//! Checks of what inference found: shapes that conflict, accesses that leave their
//! tensor for all sizes, and the promises of inlined calls.

use super::affine::Affine;
use super::facts::least;
use super::report::text;
use super::{End, Ranges, Subscript, room, size, span_of};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::program as codes;
use crate::program::draft::{Draft, Promised};
use crate::program::ir::{SizeExpr, SizeId, VarId};
use crate::syntax::ast::Notation;

/// Every statement must write the shape that the first one gave to its tensor.
pub(super) fn shapes(draft: &mut Draft, ranges: &Ranges) {
    let mut errors = Vec::new();
    for stmt in &draft.stmts {
        let tensor = draft.tensor(stmt.tensor);
        if tensor.is_declared {
            continue;
        }
        for (dim, var) in stmt.lhs.iter().enumerate() {
            let Some(found) = ranges.of(*var).filter(|found| !found.explicit) else {
                continue;
            };
            let (Some(hi), Some(Some((extent, origin)))) = (found.hi.known(), tensor.dims.get(dim))
            else {
                continue;
            };
            if draft.expand(extent).as_ref() == Some(hi) {
                continue;
            }
            let place = draft.var(*var);
            errors.push(
                Diagnostic::error(
                    codes::SHAPE_CONFLICT,
                    place.span,
                    format!(
                        "dimension {dim} of `{}` is {} in one statement and {} in another",
                        tensor.name,
                        text(draft, extent),
                        text(draft, hi)
                    ),
                    format!("`{}` runs to {} here", place.name, text(draft, hi)),
                )
                .with_label(*origin, format!("but to {} here", text(draft, extent)))
                .with_help(
                    draft.notation.pick(
                        "use the same size names where sizes are equal, or give the smaller range \
                     with `where`"
                            .to_owned(),
                        format!("give the smaller range, as in `-d {}:100`", place.name),
                    ),
                ),
            );
        }
    }
    draft.errors.extend(errors);
}

/// Reports subscripts that leave their tensor whatever the sizes are.
pub(super) fn bounds(draft: &mut Draft, ranges: &Ranges, subscripts: &[Vec<Subscript>]) {
    let mut errors = Vec::new();
    for (stmt, subscripts) in draft.stmts.iter().zip(subscripts) {
        for subscript in subscripts {
            let Some(form) = &subscript.form else {
                continue;
            };
            if form.terms.keys().any(|var| is_empty(ranges, *var)) {
                continue;
            }
            let Some(extent) = draft.known_dim(subscript.tensor, subscript.dim) else {
                continue;
            };
            let Some(form) = form.expanded(draft) else {
                continue;
            };
            let Some((low, high)) = span_of(&form, None, ranges) else {
                continue;
            };
            let facts = subscript.facts();
            let leaves = |form: &Affine| {
                let slack = least(form, facts, draft, ranges);
                slack.is_some_and(|slack| size::constant(&slack).is_some_and(|c| c < 0))
            };
            let (end, value) = if leaves(&form) {
                ("first", low)
            } else if leaves(&room(&form, &extent)) {
                ("last", high)
            } else {
                continue;
            };
            let tensor = draft.tensor(subscript.tensor);
            let vars: Vec<&str> = form
                .terms
                .keys()
                .map(|v| draft.var(*v).name.as_str())
                .collect();
            let help = match (vars.first(), draft.notation) {
                (Some(_), Notation::Program) => {
                    let inside = stays_inside(draft, ranges, &form, (end == "first", &extent));
                    if subscript.is_written {
                        inside
                    } else {
                        format!("{inside}, or read it under a condition")
                    }
                }
                (Some(_), Notation::Taco) => {
                    "ranges begin at 0 and cover each dimension that their variable subscripts by \
                     itself: shift the subscripts so that they stay inside"
                        .to_owned()
                }
                (None, _) => "elements are counted from 0".to_owned(),
            };
            let mut error = Diagnostic::error(
                codes::OUT_OF_BOUNDS,
                subscript.span,
                format!(
                    "dimension {} of `{}` is accessed out of bounds",
                    subscript.dim, tensor.name
                ),
                format!(
                    "the {end} element is {}, but the extent is {}",
                    text(draft, &value),
                    text(draft, &extent)
                ),
            )
            .with_help(help);
            for clause in &stmt.clauses {
                if form.terms.contains_key(&clause.var) {
                    error = error.with_label(clause.span, "with the range given here");
                }
            }
            errors.push(error);
        }
    }
    draft.errors.extend(errors);
}

/// How a subscript stays inside that leaves its tensor at an end: where the range of its only variable must begin or
/// end.
fn stays_inside(
    draft: &Draft,
    ranges: &Ranges,
    form: &Affine,
    (at_first, extent): (bool, &SizeExpr),
) -> String {
    let mut terms = form.terms.iter();
    if let (Some((var, SizeExpr::Const(1))), None) = (terms.next(), terms.next())
        && let Some(found) = ranges.of(*var)
        && let (Some(lo), Some(hi)) = (found.lo.known(), found.hi.known())
    {
        let (lo, hi) = if at_first {
            (size::sub(SizeExpr::Const(0), form.rest.clone()), hi.clone())
        } else {
            (lo.clone(), size::sub(extent.clone(), form.rest.clone()))
        };
        return format!(
            "give a range that stays inside, as in `where {} in {}:{}`",
            draft.var(*var).name,
            text(draft, &lo),
            text(draft, &hi),
        );
    }
    "give ranges that stay inside with `where`".to_owned()
}

fn is_empty(ranges: &Ranges, var: VarId) -> bool {
    let Some(found) = ranges.of(var) else {
        return false;
    };
    let (End::Static(lo), End::Static(hi)) = (&found.lo, &found.hi) else {
        return false;
    };
    let extent = size::sub(hi.clone(), lo.clone());
    size::constant(&extent).is_some_and(|c| c <= 0)
}

/// Arguments of inlined calls must have the shapes that the callee declares: what cannot be is refused. What may be is
/// one size by now, or required when the function is called.
pub(super) fn calls(draft: &mut Draft) {
    let mut errors = Vec::new();
    for promised in draft.promised() {
        let difference = size::sub(promised.wanted.clone(), promised.given.clone());
        let fixed = |size: SizeId| {
            let value = draft.sizes.get(size.index())?.value?;
            i64::try_from(value).ok()
        };
        if difference.eval(&fixed, &|_| None).is_some_and(|d| d != 0) {
            errors.push(mismatch(draft, &promised));
        }
    }
    draft.errors.extend(errors);
}

/// An argument that has another extent than its call promises.
pub(super) fn mismatch(draft: &Draft, promised: &Promised) -> Diagnostic {
    let (call, dim) = (promised.call, promised.dim);
    let (wanted, given) = (text(draft, &promised.wanted), text(draft, &promised.given));
    let is_name = |extent: &SizeExpr| matches!(extent, SizeExpr::Size(_));
    let help = if is_name(&promised.wanted) && is_name(&promised.given) {
        format!(
            "if they are equal, use one name for both in `{}`",
            draft.name
        )
    } else {
        format!("give `{}` tensors whose dimensions fit", call.callee)
    };
    Diagnostic::error(
        codes::CALL_MISMATCH,
        call.span,
        format!(
            "`{}` of `{}` needs extent {wanted} in dimension {dim}, but `{}` has {given}",
            call.param,
            call.callee,
            draft.tensor(call.tensor).name,
        ),
        format!("dimension {dim} is {given}"),
    )
    .with_label(call.declared, "declared here")
    .with_help(help)
}
