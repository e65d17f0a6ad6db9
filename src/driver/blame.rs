//! Which file says that a subscript is outside of its tensor.

use super::bind::Bound;
use crate::data::{self, DataError, Tensor};
use crate::diagnostic::codes::data as codes;
use crate::program::ir::{Access, Expr, ExprKind, Function, TensorId, VarId};
use crate::reference::EvalError;
use std::collections::BTreeSet;
use std::path::Path;

/// What the judge refuses, with the file and the line that say so where only they can have.
pub(super) fn outside(error: &EvalError, function: &Function, bound: &Bound) -> DataError {
    let plain = DataError::new(codes::BAD_SUBSCRIPT, error.to_string());
    let (name, value) = match error {
        EvalError::OutOfRange { tensor, value, .. } => (tensor, Some(*value)),
        EvalError::NoQuotient { tensor } => (tensor, None),
        EvalError::Missing(_)
        | EvalError::UnknownSize
        | EvalError::TooLarge(_)
        | EvalError::Order(_) => return plain,
    };
    let Some(told) = function.tensor_named(name).map(|id| Told::of(function, id)) else {
        return plain;
    };
    let files: BTreeSet<&Path> = (told.by.iter())
        .filter_map(|id| bound.files.get(id))
        .map(AsRef::as_ref)
        .collect();
    let generated = told.by.iter().any(|id| !bound.files.contains_key(id));
    let (Some(path), 1, false) = (files.first(), files.len(), generated) else {
        return plain;
    };
    let index = told.alone.filter(|_| told.by.len() == 1);
    let element = index.zip(value).and_then(|(id, value)| {
        let values = match bound.tensors.get(&id)? {
            Tensor::Sparse(coo) => &coo.values,
            Tensor::Dense(dense) => &dense.values,
        };
        (0..values.len()).find(|&at| values.get(at).int() == value)
    });
    DataError {
        line: element.and_then(|at| data::line_of(path, at)),
        ..plain.in_file(path)
    }
}

/// What data tell of the subscripts of a tensor.
#[derive(Default)]
struct Told {
    by: BTreeSet<TensorId>,
    /// One whose elements are subscripts as they are.
    alone: Option<TensorId>,
    /// Some subscript is more than that.
    computed: bool,
}

impl Told {
    fn of(function: &Function, tensor: TensorId) -> Self {
        let mut told = Told::default();
        for stmt in &function.stmts {
            let accesses = stmt.rhs.accesses().into_iter();
            for access in accesses.filter(|access| access.tensor == tensor) {
                access
                    .subscripts
                    .iter()
                    .for_each(|e| told.subscript(function, e));
            }
            if stmt.tensor == tensor {
                stmt.lhs.iter().for_each(|&var| told.range(function, var));
            }
        }
        if told.computed {
            told.alone = None;
        }
        told
    }

    fn subscript(&mut self, function: &Function, e: &Expr) {
        // A narrow index is widened as it is.
        let plain = if let ExprKind::Cast(inner) = &e.kind {
            inner
        } else {
            e
        };
        if let ExprKind::Access(Access { tensor, .. }) = &plain.kind {
            self.alone = Some(*tensor);
        } else {
            self.computed |= !e.accesses().is_empty();
        }
        self.by
            .extend(e.accesses().iter().map(|access| access.tensor));
        e.walk(&mut |part| {
            if let ExprKind::Index(var) = part.kind {
                self.range(function, var);
            }
        });
    }

    /// What decides over which values a variable runs.
    fn range(&mut self, function: &Function, var: VarId) {
        let range = &function.var(var).range;
        for read in [&range.lo, &range.hi]
            .into_iter()
            .filter_map(|end| end.read())
        {
            self.computed = true;
            let accesses = read.accesses();
            self.by.extend(accesses.iter().map(|access| access.tensor));
        }
    }
}
