//! What must hold of the sizes at run time so that nothing is accessed out of bounds.
//!
//! Inferred ranges are inside by construction, except where one extent is shared by
//! variables that others bound (`a(i) * b(j) * c(i + j)`), where `where` says a range,
//! and where a difference of extents is negative (a kernel larger than its image).

use super::affine::Affine;
use super::facts::least;
use super::report;
use super::{Ranges, Subscript, room, size, span_of, subscripts_of};
use crate::diagnostic::Span;
use crate::program::draft::{Draft, Promised};
use crate::program::ir::{Requirement, SizeExpr, TensorId, VarId};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// The requirements of all statements, each once.
pub(in crate::program) fn requirements(draft: &Draft, ranges: &Ranges) -> Vec<Requirement> {
    let mut all = All::default();
    for (id, var) in draft.vars.iter().enumerate() {
        let id = VarId::at(id);
        let found = ranges.of(id);
        for end in found.into_iter().flat_map(|f| [f.lo.known(), f.hi.known()]) {
            let what = format!("the range of `{}`", var.name);
            match (end, found.is_some_and(|f| f.explicit)) {
                (Some(end), true) => {
                    all.quotients(draft, &Affine::of(end.clone()), &[], var.span, &what);
                }
                // What divides there is the factor of a variable, or stands in an extent.
                (_, _) => all.divisors(draft, end, var.span, ("stride or divisor", &what)),
            }
        }
    }
    for tensor in draft.tensors.iter().filter(|tensor| !tensor.is_declared) {
        for (mode, dim) in tensor.dims.iter().enumerate() {
            let Some((extent, span)) = dim else { continue };
            let Some(extent) = draft.expand(extent) else {
                continue;
            };
            let text = format!("dimension {mode} of `{}` would be negative", tensor.name);
            all.require(extent, Vec::new(), text, *span);
        }
    }
    for promised in draft.promised() {
        all.equal(draft, &promised);
    }
    for stmt in &draft.stmts {
        for subscript in subscripts_of(draft, stmt) {
            all.access(draft, ranges, &subscript);
        }
    }
    // Compilers warn where one asks what the type says.
    let is_natural = |slack: &SizeExpr| {
        matches!(slack, SizeExpr::Param(id) if draft.tensors[id.index()]
            .ty
            .is_some_and(|ty| ty.is_unsigned() && ty.size() < 8))
    };
    all.0.retain(|requirement| !is_natural(&requirement.slack));
    all.0
}

/// The tensors, and which of their dimensions, of which something may be read that only the condition of the read keeps
/// in bounds; and whether the subscript is a variable by itself.
pub(in crate::program) fn conditional(
    draft: &Draft,
    ranges: &Ranges,
) -> BTreeSet<(TensorId, usize, bool)> {
    let subscripts = draft
        .stmts
        .iter()
        .flat_map(|stmt| subscripts_of(draft, stmt));
    let conditional = subscripts.filter(|subscript| {
        let form = subscript
            .form
            .as_ref()
            .and_then(|form| form.expanded(draft));
        let extent = draft.known_dim(subscript.tensor, subscript.dim);
        let plain = form.zip(extent).is_some_and(|(form, extent)| {
            [form.clone(), room(&form, &extent)].iter().all(|form| {
                let span = span_of(form, None, ranges);
                let bare = span.map(|(low, _)| size::simplify(&low));
                // What has no condition for it is required of the sizes.
                bare.is_some_and(|low| {
                    size::never_negative(&low)
                        || least(form, subscript.facts(), draft, ranges) == Some(low)
                })
            })
        });
        subscript.facts.is_some() && !plain
    });
    conditional
        .map(|subscript| {
            let form = subscript.form.as_ref();
            let is_bare = form.is_some_and(|form| {
                form.rest == SizeExpr::Const(0)
                    && form.terms.len() == 1
                    && form.terms.values().all(|c| *c == SizeExpr::Const(1))
            });
            (subscript.tensor, subscript.dim, is_bare)
        })
        .collect()
}

#[derive(Default)]
struct All(Vec<Requirement>);

impl All {
    fn require(&mut self, slack: SizeExpr, vars: Vec<VarId>, text: String, span: Span) {
        let slack = size::simplify(&slack);
        // What holds for all ranges holds for those that are not empty.
        let known = |r: &Requirement| {
            (r.vars == vars || r.vars.is_empty())
                && size::never_negative(&size::sub(slack.clone(), r.slack.clone()))
        };
        if !size::never_negative(&slack) && !self.0.iter().any(known) {
            self.0.push(Requirement {
                slack,
                vars,
                text,
                span,
            });
        }
    }

    /// An argument has the extent that its call promises.
    fn equal(&mut self, draft: &Draft, promised: &Promised) {
        let (call, dim) = (promised.call, promised.dim);
        let wanted = match call.brought.get(dim).copied().flatten() {
            Some((first, at)) => format!("dimension {at} of `{}`", draft.tensor(first).name),
            None => report::text(draft, &promised.wanted),
        };
        let text = format!(
            "`{}` needs dimension {dim} of `{}` to be {wanted}",
            call.callee,
            draft.tensor(call.tensor).name
        );
        let more = size::sub(promised.given.clone(), promised.wanted.clone());
        let less = size::sub(promised.wanted.clone(), promised.given.clone());
        for slack in [more, less] {
            self.require(slack, Vec::new(), text.clone(), call.span);
        }
    }

    /// Divisors must be positive; dividends that programs write must not be negative, since C rounds the
    /// quotient towards zero.
    fn quotients(&mut self, draft: &Draft, form: &Affine, vars: &[VarId], span: Span, what: &str) {
        for part in form.terms.values().chain([&form.rest]) {
            self.divisors(draft, Some(part), span, ("divisor", what));
            for dividend in dividends(part) {
                let text = format!("a dividend in {what} is negative");
                self.require(dividend.clone(), vars.to_vec(), text, span);
            }
        }
    }

    /// Divisors must be positive.
    fn divisors(
        &mut self,
        draft: &Draft,
        extent: Option<&SizeExpr>,
        span: Span,
        (role, what): (&str, &str),
    ) {
        if let Some(SizeExpr::FloorDiv(_, b)) = extent {
            let least = size::sub((**b).clone(), SizeExpr::Const(1));
            let text = format!(
                "the {role} `{}` in {what} is not positive",
                report::text(draft, b)
            );
            self.require(least, Vec::new(), text, span);
        }
        for part in extent.map_or(Vec::new(), SizeExpr::parts) {
            self.divisors(draft, Some(part), span, (role, what));
        }
    }

    fn access(&mut self, draft: &Draft, ranges: &Ranges, subscript: &Subscript) {
        let form = subscript
            .form
            .as_ref()
            .and_then(|form| form.expanded(draft));
        let extent = draft.known_dim(subscript.tensor, subscript.dim);
        let (Some(form), Some(extent)) = (form, extent) else {
            return;
        };
        let facts = subscript.facts();
        let slack = |form: &Affine| least(form, facts, draft, ranges);
        let (Some(low), Some(high)) = (slack(&form), slack(&room(&form, &extent))) else {
            return;
        };
        let vars: Vec<VarId> = form.terms.keys().copied().collect();
        let name = &draft.tensor(subscript.tensor).name;
        let dim = subscript.dim;
        let what = format!("a subscript of `{name}`");
        self.quotients(draft, &form, &vars, subscript.span, &what);
        for (var, coefficient) in &form.terms {
            // Which end of its range a subscript is largest at follows from it.
            let is_less = size::sign(coefficient) == Some(Ordering::Less);
            let factor = SizeExpr::Const(if is_less { -1 } else { 1 });
            let var = &draft.var(*var).name;
            let sign = if is_less { "positive" } else { "negative" };
            let text = format!("the factor of `{var}` in {what} is {sign}");
            self.require(
                size::mul(coefficient.clone(), factor),
                vars.clone(),
                text,
                subscript.span,
            );
        }
        let before = format!("dimension {dim} of `{name}` is accessed before its start");
        self.require(low, vars.clone(), before, subscript.span);
        let past = format!("dimension {dim} of `{name}` is accessed past its end");
        self.require(high, vars, past, subscript.span);
    }
}

/// What is divided in an extent.
fn dividends(extent: &SizeExpr) -> Vec<&SizeExpr> {
    let mut found = Vec::new();
    if let SizeExpr::FloorDiv(a, _) = extent {
        found.push(&**a);
    }
    found.extend(extent.parts().into_iter().flat_map(dividends));
    found
}
