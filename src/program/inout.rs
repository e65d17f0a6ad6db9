//! What is read before it is written: in-out results, and the updates in place that
//! cannot be.

use super::draft::{Draft, DraftStmt, Write};
use super::ir::{Access, Expr, ExprKind, Role, SizeExpr, TensorId};
use super::ranges::{End, Ranges};
use crate::diagnostic::codes::program as codes;
use crate::diagnostic::{Diagnostic, Span};

/// The role of each tensor; reads of unwritten temporaries and updates that read
/// elements that they also write are reported.
pub(super) fn roles(draft: &mut Draft, ranges: &Ranges) -> Vec<Role> {
    let mut errors = Vec::new();
    let mut written = vec![false; draft.tensors.len()];
    let mut read_first = vec![false; draft.tensors.len()];
    for stmt in &draft.stmts {
        let mut reads = Vec::new();
        for expr in expressions(stmt) {
            expr.walk(&mut |e| {
                if let ExprKind::Access(access) = &e.kind {
                    reads.push((access, e.span));
                }
            });
        }
        for (access, span) in &reads {
            if access.tensor == stmt.tensor && !is_pointwise(access, stmt) {
                errors.push(in_place(draft, stmt, *span));
            }
            if !written[access.tensor.index()] {
                note_read(draft, access.tensor, *span, &mut read_first, &mut errors);
            }
        }
        let at = stmt.tensor.index();
        if matches!(stmt.write, Write::Accumulate(_)) {
            if !written[at] && !read_first[at] {
                note_read(draft, stmt.tensor, stmt.span, &mut read_first, &mut errors);
            }
        } else if covers(draft, stmt, ranges) {
            written[at] = true;
        }
    }
    draft.errors.extend(errors);
    let tensors = draft.tensors.iter().enumerate();
    tensors
        .map(|(at, tensor)| match (tensor.is_param, tensor.is_result) {
            (true, true) => Role::InOut,
            (true, false) => Role::Input,
            (false, false) => Role::Temporary,
            // What no statement writes is as the caller gave it.
            (false, true) if read_first[at] || !written[at] => Role::InOut,
            (false, true) => Role::Result,
        })
        .collect()
}

fn expressions(stmt: &DraftStmt) -> impl Iterator<Item = &Expr> {
    let bounds = stmt
        .clauses
        .iter()
        .flat_map(|clause| [&clause.lo, &clause.hi]);
    bounds.chain([&stmt.rhs])
}

/// The access reads just the element that the statement writes.
fn is_pointwise(access: &Access, stmt: &DraftStmt) -> bool {
    let vars = access.subscripts.iter().map(Expr::as_var);
    vars.eq(stmt.lhs.iter().map(|var| Some(*var)))
}

fn note_read(
    draft: &Draft,
    id: TensorId,
    span: Span,
    read_first: &mut [bool],
    errors: &mut Vec<Diagnostic>,
) {
    let tensor = draft.tensor(id);
    if !tensor.is_param && !tensor.is_result && !read_first[id.index()] {
        errors.push(
            Diagnostic::error(
                codes::READ_BEFORE_WRITTEN,
                span,
                format!("`{}` is read before it is wholly written", tensor.name),
                "not all its elements have a value here",
            )
            .with_label(
                tensor.span,
                "this is a temporary: the caller gives no content",
            )
            .with_help(format!(
                "set all of it first, as in `{0}(...) = 0` or with an operator such as `+=!`, or \
                 return it so that the caller gives it",
                tensor.name
            )),
        );
    }
    read_first[id.index()] = true;
}

/// Whether the statement writes every element of its tensor.
fn covers(draft: &Draft, stmt: &DraftStmt, ranges: &Ranges) -> bool {
    stmt.lhs.iter().enumerate().all(|(dim, var)| {
        let Some(found) = ranges.of(*var) else {
            return false;
        };
        let (End::Static(lo), End::Static(hi)) = (&found.lo, &found.hi) else {
            return false;
        };
        *lo == SizeExpr::Const(0) && draft.known_dim(stmt.tensor, dim).as_ref() == Some(hi)
    })
}

fn in_place(draft: &Draft, stmt: &DraftStmt, span: Span) -> Diagnostic {
    let name = &draft.tensor(stmt.tensor).name;
    Diagnostic::error(
        codes::READS_WHILE_WRITING,
        span,
        format!("`{name}` is read at other elements than the one that is written"),
        "this element may have been overwritten already",
    )
    .with_label(stmt.span, format!("this writes `{name}` in place"))
    .with_note(
        "all of the right side is read before anything is written, so an update in place can \
         only read the element that it writes",
    )
    .with_help("write the new values into another tensor")
}
