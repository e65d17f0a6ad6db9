//! Element types of tensors that no declaration types.

use super::{Ty, infer, join};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::program as codes;
use crate::program::draft::{Draft, DraftStmt, Write};
use crate::program::ir::{ReduceOp, ScalarType};

/// Gives every tensor without a declared type that of the first right side that has
/// one (a statement that only assigns literals waits for the others).
pub(in crate::program) fn infer_tensors(draft: &mut Draft) {
    let mut progress = true;
    while progress {
        progress = false;
        for at in 0..draft.stmts.len() {
            let stmt = &draft.stmts[at];
            let tensor = stmt.tensor;
            if draft.tensor(tensor).ty.is_some() {
                continue;
            }
            if let Ty::Strong(mut ty) = written(draft, stmt) {
                let mut literals = Ty::Strong(ty);
                for other in draft.stmts.iter().filter(|s| s.tensor == tensor) {
                    let own = written(draft, other);
                    if own == Ty::WeakFloat {
                        literals = join(literals, own);
                    }
                }
                if let Ty::Strong(joined) = literals {
                    ty = joined;
                }
                draft.tensor_mut(tensor).ty = Some(ty);
                progress = true;
            }
        }
        if !progress {
            progress = settle_one(draft);
        }
    }
    for at in 0..draft.stmts.len() {
        let tensor = draft.tensor(draft.stmts[at].tensor);
        if tensor.ty.is_none() {
            let error = Diagnostic::error(
                codes::UNKNOWN_ELEMENT_TYPE,
                tensor.span,
                format!("the element type of `{}` cannot be found", tensor.name),
                "no right side tells its type",
            )
            .with_help(format!(
                "declare it as a parameter that is also returned, as in `double(M,N) {}`, or \
                 convert the right side, as in `double(...)`",
                tensor.name
            ));
            if !draft.errors.contains(&error) {
                draft.errors.push(error);
            }
        }
    }
}

/// The type of what a statement writes.
fn written(draft: &Draft, stmt: &DraftStmt) -> Ty {
    let logical = [ReduceOp::And, ReduceOp::Or];
    match stmt.write {
        Write::Accumulate(op) | Write::Initialise(op) if logical.contains(&op) => {
            Ty::Strong(ScalarType::Bool)
        }
        Write::Define | Write::Accumulate(_) | Write::Initialise(_) => {
            infer(&stmt.rhs, &|t| draft.tensor(t).ty)
        }
        // What scatters behind it tells.
        Write::Neutral(_) => Ty::Unknown,
    }
}

/// A tensor that only literals are assigned to gets their usual type.
fn settle_one(draft: &mut Draft) -> bool {
    for at in 0..draft.stmts.len() {
        let tensor = draft.stmts[at].tensor;
        if draft.tensor(tensor).ty.is_none() {
            let all = draft.stmts.iter().filter(|s| s.tensor == tensor);
            let joined = all.map(|s| written(draft, s)).fold(Ty::Unknown, join);
            if let Some(ty) = joined.settle() {
                draft.tensor_mut(tensor).ty = Some(ty);
                return true;
            }
        }
    }
    false
}
