//! Says why a range could not be found.

use std::collections::BTreeSet;

use super::{End, Ranges, Subscript, largest};
use crate::diagnostic::codes::program as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::program::draft::{Clause, Draft, DraftStmt};
use crate::program::ir::{SizeExpr, VarId};
use crate::program::print::size_text;
use crate::program::spelling::nearest;

/// Reports every variable without a range and every tensor without a shape.
pub(super) fn unresolved(draft: &mut Draft, ranges: &Ranges, subscripts: &[Vec<Subscript>]) {
    let mut errors = Vec::new();
    // Those that wait for the shape of a tensor whose own statement has an error.
    let mut waiting = Vec::new();
    for (stmt, subscripts) in draft.stmts.iter().zip(subscripts) {
        let mut reported: BTreeSet<VarId> = BTreeSet::new();
        for var in &stmt.vars {
            if ranges.of(*var).is_some() || reported.contains(var) {
                continue;
            }
            let with_it = |s: &&Subscript| {
                s.form
                    .as_ref()
                    .is_some_and(|form| form.terms.contains_key(var))
            };
            let reads = &subscripts[..subscripts.len() - stmt.lhs.len()];
            let mut places = reads.iter().filter(with_it);
            let others = |s: &Subscript| -> Vec<VarId> {
                let vars = s.form.iter().flat_map(|form| form.terms.keys());
                let open = vars.filter(|v| *v != var && ranges.of(**v).is_none());
                open.copied().collect()
            };
            let tied = places.clone().find(|s| !others(s).is_empty());
            if let Some(tied) = tied {
                let other = others(tied);
                errors.push(ambiguous(draft, ranges, *var, other[0], tied));
                reported.extend(other);
            } else if places.any(|s| draft.known_dim(s.tensor, s.dim).is_none()) {
                waiting.push(*var);
            } else {
                errors.push(unbounded(draft, *var, subscripts.iter().find(with_it)));
            }
        }
    }
    if errors.is_empty() {
        errors.extend(waiting.into_iter().map(|var| unbounded(draft, var, None)));
    }
    if errors.is_empty() {
        shapeless(draft, ranges, &mut errors);
    }
    draft.errors.extend(errors);
}

/// Both ways in which a tied pair of variables could be given the room there is.
fn ambiguous(
    draft: &Draft,
    ranges: &Ranges,
    var: VarId,
    other: VarId,
    tied: &Subscript,
) -> Diagnostic {
    let (name, rival) = (&draft.var(var).name, &draft.var(other).name);
    let candidate = |of: VarId| {
        let mut form = tied.form.clone()?;
        form.terms
            .retain(|v, _| *v == of || ranges.of(*v).is_some());
        let extent = draft.known_dim(tied.tensor, tied.dim)?;
        let hi = largest(of, &form, &extent, ranges)?;
        let (of, fixed) = if of == var {
            (name, rival)
        } else {
            (rival, name)
        };
        Some(format!(
            "`{of} in 0:{}` if `{fixed}` is always 0",
            size_text(&hi, &|s| draft_size(draft, s), &|t| draft
                .tensor(t)
                .name
                .clone())
        ))
    };
    let mut error = Diagnostic::error(
        codes::AMBIGUOUS_RANGE,
        tied.span,
        format!("the range of `{name}` is ambiguous"),
        format!("`{name}` and `{rival}` share this extent, and nothing else bounds either"),
    )
    .with_help(format!(
        "fix one of them, as in `{}`; the other one follows",
        draft
            .notation
            .pick(format!("where {rival} in 0:3"), format!("-d {rival}:3"))
    ));
    if let (Some(a), Some(b)) = (candidate(var), candidate(other)) {
        error = error.with_note(format!("it could be {a}, or {b}"));
    }
    for name in [name, rival] {
        error.notes.extend(misspelt(draft, name));
    }
    error
}

pub(in crate::program) fn draft_size(draft: &Draft, id: crate::program::ir::SizeId) -> String {
    draft
        .sizes
        .get(id.index())
        .map_or_else(|| "?".to_owned(), |size| size.name.clone())
}

fn unbounded(draft: &Draft, var: VarId, place: Option<&Subscript>) -> Diagnostic {
    let found = draft.var(var);
    let name = &found.name;
    let span = place.map_or(found.span, |s| s.span);
    if let Some(error) = told_by_others(draft, var) {
        return error;
    }
    let mut error = Diagnostic::error(
        codes::NO_RANGE,
        span,
        format!("nothing bounds the index variable `{name}`"),
        format!("`{name}` subscripts no tensor of known shape by itself"),
    )
    .with_help(format!(
        "give its range, as in `{}`",
        draft
            .notation
            .pick(format!("where {name} in 0:N"), format!("-d {name}:100"))
    ));
    error.notes.extend(misspelt(draft, name));
    error
}

/// Of a left side that other variables decide element by element: how far it goes must be said, too.
fn told_by_others(draft: &Draft, var: VarId) -> Option<Diagnostic> {
    let set = draft.stmts.iter().find(|stmt| stmt.lhs.contains(&var))?;
    let dim = set.lhs.iter().position(|own| *own == var)?;
    let tensor = draft.tensor(set.tensor);
    let writes = draft.stmts.iter().filter(|s| s.tensor == set.tensor);
    let here = |s: &&DraftStmt| s.lhs.get(dim).is_some_and(|own| *own != var);
    let mut clauses = writes
        .filter(here)
        .flat_map(|s| s.clauses.iter().filter(|c| s.lhs.get(dim) == Some(&c.var)));
    // One that data decide, as that of `h(bin(i))`, takes a range by its name.
    let is_given = |clause: &&Clause| clause.lo.span != clause.span;
    let clause = clauses
        .next()
        .filter(|_| !tensor.is_declared)
        .filter(is_given)?;
    let (name, tensor) = (&draft.var(var).name, &tensor.name);
    Some(
        Diagnostic::error(
            codes::NO_RANGE,
            clause.span,
            format!("how far `{tensor}` goes is not known"),
            format!("`{name}` has this range for each value of other variables"),
        )
        .with_help(format!(
            "declare `{tensor}` as a parameter with its shape and return it"
        )),
    )
}

/// A scalar or size that an index variable may have been meant to be.
fn misspelt(draft: &Draft, name: &str) -> Option<String> {
    let scalars = draft.tensors.iter().filter(|t| t.order == Some(0));
    let known = scalars.map(|t| t.name.as_str());
    let known = known.chain(draft.sizes.iter().map(|size| size.name.as_str()));
    // Names of one letter are all near each other.
    let meant = nearest(
        name,
        known.filter(|known| known.len() > 1 && name.len() > 1),
    )?;
    Some(format!(
        "a name that means nothing else is an index variable: did you mean `{meant}`?"
    ))
}

/// A result or temporary whose extent only data would tell.
fn shapeless(draft: &Draft, ranges: &Ranges, errors: &mut Vec<Diagnostic>) {
    for stmt in &draft.stmts {
        for (dim, var) in stmt.lhs.iter().enumerate() {
            let tensor = draft.tensor(stmt.tensor);
            let dynamic = ranges.of(*var).is_some_and(|f| f.hi == End::Dynamic);
            if dynamic && tensor.dims.get(dim).is_some_and(Option::is_none) {
                errors.push(data_dependent(draft, *var, &tensor.name, stmt.span));
            }
        }
    }
}

fn data_dependent(draft: &Draft, var: VarId, tensor: &str, stmt: Span) -> Diagnostic {
    let found = draft.var(var);
    Diagnostic::error(
        codes::DATA_DEPENDENT_SHAPE,
        found.span,
        format!("the shape of `{tensor}` would depend on data"),
        format!("the range of `{}` is only known at run time", found.name),
    )
    .with_label(stmt, "its range is given in this statement")
    .with_help(format!(
        "declare `{tensor}` as a parameter with its shape and return it"
    ))
}

/// For messages: an extent with the draft's names.
pub(in crate::program) fn text(draft: &Draft, extent: &SizeExpr) -> String {
    size_text(extent, &|s| draft_size(draft, s), &|t| {
        draft.tensor(t).name.clone()
    })
}
