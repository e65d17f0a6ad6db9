//! Warnings for what a function never reads.

use std::collections::BTreeSet;

use super::ir::{Bound, ExprKind, Function, Role, SizeExpr, SizeId, TensorId};
use crate::diagnostic::codes::program as codes;
use crate::diagnostic::{Diagnostic, Severity};

/// Parameters and temporaries that no statement reads. A parameter that brings a size
/// which no other one has is needed for that.
pub(super) fn unused(function: &Function) -> Vec<Diagnostic> {
    let mut read: BTreeSet<TensorId> = BTreeSet::new();
    for stmt in &function.stmts {
        let mut bounds = Vec::new();
        for var in &stmt.vars {
            let range = &function.var(*var).range;
            bounds.extend([&range.lo, &range.hi]);
        }
        let dynamic = bounds.iter().filter_map(|bound| bound.read());
        for expr in dynamic.chain([&stmt.rhs]) {
            read.extend(expr.accesses().into_iter().map(|access| access.tensor));
            expr.walk(&mut |e| {
                if let ExprKind::Size(size) = &e.kind {
                    params(size, &mut read);
                }
            });
        }
        for bound in bounds {
            if let Bound::Static(size) = bound {
                params(size, &mut read);
            }
        }
    }
    let mut brought: BTreeSet<SizeId> = BTreeSet::new();
    for (at, tensor) in function.tensors.iter().enumerate() {
        let is_read = u32::try_from(at).is_ok_and(|at| read.contains(&TensorId(at)));
        if is_read && tensor.role == Role::Input {
            brought.extend(tensor.dims.iter().filter_map(size_of));
        }
    }
    let mut warnings = Vec::new();
    for (at, tensor) in function.tensors.iter().enumerate() {
        let is_read = u32::try_from(at).is_ok_and(|at| read.contains(&TensorId(at)));
        let new_size = tensor
            .dims
            .iter()
            .filter_map(size_of)
            .any(|s| brought.insert(s));
        let (what, help) = match tensor.role {
            Role::Input if !new_size => ("parameter", "remove it from the parameters"),
            Role::Temporary => (
                "temporary",
                "return it, or remove the statements that write it",
            ),
            Role::Input | Role::Result | Role::InOut => continue,
        };
        if !is_read {
            warnings.push(
                Diagnostic::new(
                    Severity::Warning,
                    codes::UNUSED,
                    tensor.span,
                    format!("the {what} `{}` is never read", tensor.name),
                    "no statement uses it",
                )
                .with_help(help),
            );
        }
    }
    warnings
}

fn size_of(dim: &SizeExpr) -> Option<SizeId> {
    if let SizeExpr::Size(id) = dim {
        Some(*id)
    } else {
        None
    }
}

/// The parameters that stand in an extent.
fn params(size: &SizeExpr, read: &mut BTreeSet<TensorId>) {
    if let SizeExpr::Param(id) = size {
        read.insert(*id);
    }
    for part in size.parts() {
        params(part, read);
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::FileId;
    use crate::program::{Options, resolve};

    fn warnings(text: &str) -> Vec<String> {
        let file = crate::syntax::parse(FileId(0), text).expect("a program");
        let resolved = resolve(&[file], &Options::default()).expect("no errors");
        resolved.remarks.into_iter().map(|r| r.message).collect()
    }

    #[test]
    fn unread_tensors() {
        let text = "def f(double(N) x, double(N) z, double(K) w, double a) -> (y) {
                      y(i,k) = x(i) where k in 0:K
                      t(i) = x(i)
                    }";
        assert_eq!(
            warnings(text),
            [
                "the parameter `z` is never read",
                "the parameter `a` is never read",
                "the temporary `t` is never read",
            ]
        );
        let text = "def f(int s, double(N) x) -> (y) { y(i) = x(i + s) }";
        assert!(warnings(text).is_empty());
    }
}
