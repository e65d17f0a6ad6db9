//! Subscripts as affine forms of variables: what they say of ranges, and how far they go.

use super::affine::{Affine, affine};
use super::facts::{self, Fact, each_access};
use super::{Ranges, size};
use crate::diagnostic::Span;
use crate::program::draft::{Draft, DraftStmt};
use crate::program::ir::{Access, Expr, ExprKind, SizeExpr, TensorId, VarId};
use std::collections::BTreeMap;

/// One subscript of one access.
pub(super) struct Subscript {
    pub(super) tensor: TensorId,
    pub(super) dim: usize,
    /// `None` for a gather, which bounds nothing.
    pub(super) form: Option<Affine>,
    pub(super) span: Span,
    /// What is known where it is read under a condition.
    pub(super) facts: Option<Vec<Fact>>,
    /// Of the left side.
    pub(super) is_written: bool,
}

impl Subscript {
    pub(super) fn facts(&self) -> &[Fact] {
        self.facts.as_deref().unwrap_or_default()
    }
}

pub(super) fn subscripts_of(draft: &Draft, stmt: &DraftStmt) -> Vec<Subscript> {
    let mut all = Vec::new();
    let param = |t: TensorId| draft.tensor(t).size_param();
    // Those without a sign compare otherwise than variables do.
    let signed = |t: TensorId| param(t).filter(|ty| !ty.is_unsigned());
    let mut add = |e: &Expr, facts: Option<&[Fact]>| {
        let ExprKind::Access(Access { tensor, subscripts }) = &e.kind else {
            return;
        };
        all.extend(
            subscripts
                .iter()
                .enumerate()
                .map(|(dim, subscript)| Subscript {
                    tensor: *tensor,
                    dim,
                    form: affine(subscript, &param),
                    span: subscript.span,
                    facts: facts.map(<[Fact]>::to_vec),
                    is_written: false,
                }),
        );
    };
    // What bounds read is located ahead of conditions in them.
    for bound in stmt.clauses.iter().flat_map(|c| [&c.lo, &c.hi]) {
        bound.walk(&mut |e| add(e, None));
    }
    each_access(&stmt.rhs, None, &signed, &mut add);
    for (dim, var) in stmt.lhs.iter().enumerate() {
        all.push(Subscript {
            tensor: stmt.tensor,
            dim,
            form: Some(Affine {
                terms: BTreeMap::from([(*var, SizeExpr::Const(1))]),
                rest: SizeExpr::Const(0),
            }),
            span: draft.var(*var).span,
            facts: None,
            is_written: true,
        });
    }
    all
}

/// Whether its own condition keeps a subscript in bounds, at the end to which a variable takes it.
pub(super) fn is_kept(
    draft: &Draft,
    var: VarId,
    form: &Affine,
    extent: &SizeExpr,
    subscript: &Subscript,
) -> bool {
    let sign = form.terms.get(&var).and_then(size::sign);
    match sign {
        Some(std::cmp::Ordering::Greater) => {
            facts::keeps(&room(form, extent), subscript.facts(), draft)
        }
        Some(std::cmp::Ordering::Less) => facts::keeps(form, subscript.facts(), draft),
        Some(std::cmp::Ordering::Equal) | None => false,
    }
}

/// How far a subscript is from the last element.
pub(super) fn room(form: &Affine, extent: &SizeExpr) -> Affine {
    let last = size::sub(extent.clone(), SizeExpr::Const(1));
    Affine::of(last).less(form)
}

/// The smallest and largest value of a form without `without`, over the ranges found;
/// `None` where a range is dynamic or a coefficient has no plain sign.
pub(super) fn span_of(
    form: &Affine,
    without: Option<VarId>,
    ranges: &Ranges,
) -> Option<(SizeExpr, SizeExpr)> {
    let (mut low, mut high) = (form.rest.clone(), form.rest.clone());
    for (var, coefficient) in &form.terms {
        if Some(*var) == without {
            continue;
        }
        let found = ranges.of(*var)?;
        let first = found.lo.known()?.clone();
        let last = size::sub(found.hi.known()?.clone(), SizeExpr::Const(1));
        let (least, most) = match size::sign(coefficient)? {
            std::cmp::Ordering::Less => (last, first),
            std::cmp::Ordering::Equal | std::cmp::Ordering::Greater => (first, last),
        };
        low = size::add(low, size::mul(coefficient.clone(), least));
        high = size::add(high, size::mul(coefficient.clone(), most));
    }
    Some((low, high))
}

/// The largest `hi` such that `var` in `0:hi` keeps the form within `0:extent`.
pub(super) fn largest(
    var: VarId,
    form: &Affine,
    extent: &SizeExpr,
    ranges: &Ranges,
) -> Option<SizeExpr> {
    let coefficient = form.terms.get(&var)?;
    let (low, high) = span_of(form, Some(var), ranges)?;
    let (room, step) = match size::sign(coefficient)? {
        std::cmp::Ordering::Greater => {
            let last = size::sub(extent.clone(), SizeExpr::Const(1));
            (size::sub(last, high), coefficient.clone())
        }
        std::cmp::Ordering::Less => (low, size::mul(SizeExpr::Const(-1), coefficient.clone())),
        std::cmp::Ordering::Equal => return None,
    };
    Some(size::add(size::floor_div(room, step), SizeExpr::Const(1)))
}
