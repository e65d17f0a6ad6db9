//! What an entry point checks before it calls: sizes, what lies apart, what statements require, and promises.

use super::{Entry, tensors};
use crate::emit::kernel::Printer;
use crate::emit::types::c_type;
use crate::loops::interface::{Arg, Direction};
use crate::loops::ir::{Expr, ExprKind, Stmt, VarId};
use crate::loops::visit;
use std::collections::BTreeSet;

impl Entry<'_> {
    /// Reads each size where it stands first and compares it everywhere else.
    pub(super) fn sizes(&mut self) {
        let kernel = self.kernel;
        let mut known: Vec<(VarId, String, String)> = Vec::new();
        for tensor in tensors(kernel) {
            if tensor.direction == Direction::Out {
                continue;
            }
            for (mode, dim) in tensor.dims.iter().enumerate() {
                let ExprKind::Var(var) = dim.kind else {
                    continue;
                };
                let Some(size) = kernel.interface.sizes.iter().find(|s| s.var == var) else {
                    continue;
                };
                if known.iter().any(|(v, _, _)| *v == var) {
                    continue;
                }
                let own = self.own(&tensor.name);
                let local = self.size(size.var);
                self.line(&format!("int64_t {local} = {own}->dims[{mode}];"));
                known.push((var, local, tensor.shown().to_string()));
            }
        }
        for tensor in tensors(kernel) {
            if tensor.direction == Direction::Out {
                continue;
            }
            let own = self.own(&tensor.name);
            for (mode, dim) in tensor.dims.iter().enumerate() {
                let (what, want, first) = if let ExprKind::Var(var) = dim.kind {
                    let Some((_, local, first)) = known.iter().find(|(v, _, _)| *v == var) else {
                        continue;
                    };
                    if *first == tensor.shown()
                        && tensor.dims.iter().position(|d| d == dim) == Some(mode)
                    {
                        continue;
                    }
                    let size = kernel.interface.sizes.iter().find(|s| s.var == var);
                    let name = size.map_or(String::new(), |s| s.name.clone());
                    (name, local.clone(), first.clone())
                } else {
                    (
                        format!("of dimension {mode}"),
                        self.dim_text(dim),
                        "the program".to_string(),
                    )
                };
                let call = format!(
                    "sparsec_same_size(\"{what}\", \"{}\", {own}->dims[{mode}], \"{first}\", {want})",
                    tensor.shown()
                );
                self.try_call(&call);
            }
        }
    }

    /// Refuses tensors to be written that are, or share memory with, another one.
    pub(super) fn apart(&mut self) {
        let kernel = self.kernel;
        // What is made beside an old content is nobody's yet.
        let given = tensors(kernel).filter(|t| !kernel.interface.is_renewed(&t.name));
        let all: Vec<String> = given.map(|t| self.own(&t.name)).collect();
        let mut written = tensors(kernel)
            .filter(|t| match t.direction {
                Direction::Out => !kernel.interface.is_renewed(&t.name),
                Direction::In => t.before.is_some(),
                Direction::InOut => true,
            })
            .peekable();
        if all.len() < 2 || written.peek().is_none() {
            return;
        }
        let list = self.local("tensors");
        let of = all.join(", ");
        self.line(&format!("const sparsec_tensor *const {list}[] = {{{of}}};"));
        for tensor in written {
            let own = self.own(&tensor.name);
            let (name, n) = (tensor.shown(), all.len());
            self.try_call(&format!("sparsec_apart({own}, \"{name}\", {list}, {n})"));
        }
    }

    /// Refuses sizes with which something would be read out of bounds.
    pub(super) fn requirements(&mut self) {
        for requirement in &self.kernel.interface.requirements {
            let mut cond = format!("{} < 0", self.dim_text(&requirement.slack));
            for (lo, hi) in &requirement.ranges {
                cond += &format!(" && {} < {}", self.dim_text(lo), self.dim_text(hi));
            }
            let text = requirement
                .text
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('%', "%%");
            self.line(&format!(
                "if ({cond}) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, \"{text}\");"
            ));
        }
    }

    /// What a schedule promises of sizes alone is known before anything is done.
    pub(super) fn promises(&mut self) {
        let kernel = self.kernel;
        let mut given: BTreeSet<VarId> = kernel.interface.sizes.iter().map(|s| s.var).collect();
        given.extend(kernel.interface.args.iter().filter_map(|arg| match arg {
            Arg::Scalar { var, .. } => Some(*var),
            Arg::Tensor(_) => None,
        }));
        let mut some = false;
        for stmt in &kernel.body {
            if let Stmt::Assume { cond, text, found } = stmt
                && visit::arrays(stmt).is_empty()
                && visit::read_vars(std::slice::from_ref(stmt)).is_subset(&given)
            {
                let (cond, found) = (self.dim_text(cond), self.dim_text(found));
                if !some {
                    self.line("SPARSEC_PROMISES;");
                }
                self.line(&format!("SPARSEC_ASSUME({cond}, \"{text}\", {found});"));
                some = true;
            }
        }
        if some {
            self.try_call("SPARSEC_KEPT(SPARSEC_OK)");
        }
    }

    /// An extent over the sizes read so far.
    pub(in crate::emit) fn dim_text(&self, dim: &Expr) -> String {
        self.sizes_printer().expr(dim)
    }

    /// As [`Entry::dim_text`], below zero where it is too large.
    pub(in crate::emit) fn dim_number(&self, dim: &Expr) -> String {
        self.sizes_printer().number(dim)
    }

    fn sizes_printer(&self) -> Printer<'_> {
        let mut printer = Printer::new(self.kernel);
        for (&var, name) in &self.sizes {
            printer.set_name(var, name.clone());
        }
        for arg in &self.kernel.interface.args {
            match arg {
                Arg::Scalar { name, var, .. } => printer.set_name(*var, self.own(name)),
                Arg::Tensor(t) => printer.set_array(
                    t.values,
                    format!("((const {} *){}->vals)", c_type(t.ty), self.own(&t.name)),
                ),
            }
        }
        printer
    }
}
