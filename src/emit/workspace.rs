//! How much room a function for a GPU needs in its workspace.

use super::host::Host;
use super::types::c_type;
use crate::loops::ir::{Stmt, Storage};

impl Host<'_> {
    /// The prototype of `NAME_workspace`.
    pub(super) fn workspace_signature(&self) -> String {
        let mut host = Host::new(self.kernel, self.api);
        let head = format!("size_t {}_workspace(", self.name);
        host.signature(&head, false)
    }

    pub(super) fn workspace_function(&self) -> String {
        let mut host = Host::new(self.kernel, self.api);
        let head = format!("size_t {}_workspace(", self.name);
        let signature = host.signature(&head, false);
        let mut out = format!("{signature} {{\n");
        host.printer.indent = 1;
        let unused: Vec<String> = host
            .param_names()
            .iter()
            .map(|n| format!("(void){n};"))
            .collect();
        if !unused.is_empty() {
            host.printer.line(&unused.join(" "));
        }
        let before = host.printer.out.clone();
        host.printer.line("size_t bytes = 0;");
        if host.sizes() {
            host.printer.line("return bytes;");
        } else {
            host.printer.out = before;
            host.printer.line("return 0;");
        }
        out.push_str(&host.printer.out);
        out.push_str("}\n");
        out
    }

    /// Adds up what the workspace holds, of all alternatives: which of them runs, data may say. Says whether there is
    /// anything.
    fn sizes(&mut self) -> bool {
        let kernel = self.kernel;
        let mut any = false;
        for stmt in alternatives(&kernel.body) {
            if matches!(stmt, Stmt::Let { .. }) && self.needed_for_sizes(stmt) {
                self.printer.stmt(stmt);
            }
            if let Stmt::Alloc { array, count, .. } = stmt
                && kernel.array(*array).storage == Storage::Local
                && !self.is_totals(*array)
            {
                let count = self.printer.number(count);
                let ty = c_type(kernel.array(*array).elem);
                self.printer
                    .line(&format!("bytes += sparsec_bytes({count}, sizeof({ty}));"));
                any = true;
            }
        }
        any
    }

    /// Whether a definition is used by the size of a workspace, or by one that is.
    fn needed_for_sizes(&self, stmt: &Stmt) -> bool {
        let Stmt::Let { var, .. } = stmt else {
            return false;
        };
        let mut needed = vec![*var];
        let mut at = 0;
        while let Some(&next) = needed.get(at) {
            at += 1;
            for other in alternatives(&self.kernel.body) {
                if let Stmt::Alloc { count, array, .. } = other
                    && self.kernel.array(*array).storage == Storage::Local
                    && count.reads(next)
                {
                    return true;
                }
                if let Stmt::Let { var, init } = other
                    && init.reads(next)
                    && !needed.contains(var)
                {
                    needed.push(*var);
                }
            }
        }
        false
    }
}

/// The statements, and those of the branches among them.
fn alternatives(body: &[Stmt]) -> Vec<&Stmt> {
    let mut all = Vec::new();
    for stmt in body {
        if let Stmt::If {
            then, otherwise, ..
        } = stmt
        {
            all.extend(alternatives(then));
            all.extend(alternatives(otherwise));
        } else {
            all.push(stmt);
        }
    }
    all
}
