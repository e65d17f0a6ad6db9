//! Functions for callers who own the memory of a result that is counted before it is stored:
//! `NAME_count_device`, which counts, and `NAME_fill_device`, which stores in what the caller has
//! allocated by then. Between them is the fetch of a kernel's body.

use super::gpu::Api;
use super::host::{Form, Host};
use super::types::c_type;
use crate::loops::device::{definitions, inlined};
use crate::loops::ir::{ArrayId, Device, Expr, Kernel, Stmt, Storage, VarId};
use crate::loops::visit;
use std::collections::BTreeSet;

/// Where a kernel's body has its two phases apart.
#[derive(Clone, Debug)]
pub(super) struct Phases {
    /// Where the fetch stands.
    pub at: usize,
    /// What is fetched, and what it is called.
    pub totals: ArrayId,
    pub vars: Vec<VarId>,
}

/// The phases of a kernel; `None` where nothing is counted, or what is counted says how much memory
/// is needed that is not the result's.
pub(super) fn phases(kernel: &Kernel) -> Option<Phases> {
    let mut fetches = 0;
    let mut retried = false;
    visit::stmts(&kernel.body, &mut |stmt| {
        fetches += usize::from(matches!(stmt, Stmt::Device(Device::Fetch { .. })));
        retried |= matches!(stmt, Stmt::Device(Device::Retry(_)));
    });
    let own = |stmt: &Stmt| {
        let Stmt::Device(Device::Fetch { totals, vars }) = stmt else {
            return None;
        };
        Some((*totals, vars.clone()))
    };
    let at = kernel.body.iter().position(|stmt| own(stmt).is_some())?;
    let (totals, vars) = kernel.body.get(at).and_then(own)?;
    let known = definitions(&kernel.body, &|v| kernel.var(v).mutable);
    let grows = |stmt: &Stmt| {
        matches!(stmt, Stmt::Alloc { array, count, .. }
            if kernel.array(*array).storage == Storage::Local
                && vars.iter().any(|&var| inlined(count, &known).reads(var)))
    };
    let apart = fetches == 1 && !retried && !visit::any(&kernel.body, &grows);
    apart.then_some(Phases { at, totals, vars })
}

impl Phases {
    /// What the second function needs of what stands before the fetch: names, and where workspaces
    /// are.
    pub(super) fn repeated(&self, kernel: &Kernel) -> Vec<Stmt> {
        let (before, behind) = kernel.body.split_at(self.at);
        let mut read = visit::read_vars(behind);
        let mut kept = Vec::new();
        for stmt in before.iter().rev() {
            let mut stmt = stmt.clone();
            let needed = if let Stmt::Alloc { array, zeroed, .. } = &mut stmt {
                *zeroed = false;
                kernel.array(*array).storage == Storage::Local
            } else {
                matches!(&stmt, Stmt::Let { var, .. } if read.contains(var))
            };
            if needed {
                read.extend(visit::read_vars(std::slice::from_ref(&stmt)));
                kept.push(stmt);
            }
        }
        let used = named(behind);
        let is_taken = |stmt: &Stmt| matches!(stmt, Stmt::Alloc { array, .. } if kernel.array(*array).storage == Storage::Local);
        let is_last =
            |stmt: &Stmt| matches!(stmt, Stmt::Alloc { array, .. } if !used.contains(array));
        kept.reverse();
        // Nothing is taken behind it that would have to be found.
        while !behind.iter().any(is_taken) && kept.last().is_some_and(is_last) {
            kept.pop();
        }
        kept
    }
}

/// The arrays that launches and the host's calls name.
pub(super) fn named(body: &[Stmt]) -> BTreeSet<ArrayId> {
    let mut arrays = BTreeSet::new();
    visit::stmts(body, &mut |stmt| {
        if !matches!(stmt, Stmt::Alloc { zeroed: false, .. }) {
            arrays.extend(visit::arrays(stmt));
        }
    });
    arrays
}

/// The prototypes of both functions, and what a caller does between them.
pub(super) fn prototypes(kernel: &Kernel, phases: &Phases, api: &'static Api) -> String {
    let signature = |form| Host::new(kernel, api).in_form(form).phase_signature();
    let host = Host::new(kernel, api);
    let printer = host.printer_of_sizes();
    let total = |var: &VarId| printer.var(*var).to_string();
    let totals: Vec<String> = phases.vars.iter().map(total).collect();
    let rooms: Vec<String> = super::host::returned_counts(kernel)
        .into_iter()
        .filter(|(array, _)| host.grown().contains(array))
        .map(|(array, count): (ArrayId, Expr)| {
            format!("{}[{}]", printer.array(array), printer.expr(&count))
        })
        .collect();
    format!(
        "/* On arrays of the device, which the caller allocates; each starts everything on the stream and returns.\n \
         * The first sets what has a known length and counts the rest, in totals: {}.\n \
         * The second fills {},\n \
         * in the same workspace, of as many bytes as the third function says. */\n{};\n{};\n",
        totals.join(", "),
        rooms.join(", "),
        signature(Form::Count),
        signature(Form::Fill),
    )
}

impl Host<'_> {
    /// The prototype of one of the two functions.
    pub(super) fn phase_signature(&mut self) -> String {
        let (linkage, name) = match self.form {
            Form::Count => ("", "count_device"),
            Form::Fill => ("", "fill_device"),
            Form::Run => ("static ", "run"),
            Form::Device => ("", "device"),
        };
        let head = format!("{linkage}int {}_{name}(", self.name);
        self.signature(&head, true)
    }

    /// What is counted, as the first function takes it and the second is told.
    pub(super) fn phase_params(&mut self) -> Vec<String> {
        let Some(phases) = self.phases.clone() else {
            return Vec::new();
        };
        match self.form {
            Form::Device | Form::Run => Vec::new(),
            Form::Count => {
                let array = self.kernel.array(phases.totals).clone();
                let name = self.printer.scopes.fresh(&array.name);
                self.printer.arrays[phases.totals.index()].clone_from(&name);
                vec![format!("{} *{name}", c_type(array.elem))]
            }
            Form::Fill => {
                let vars = phases.vars.iter();
                vars.map(|&var| {
                    let name = self.printer.scopes.fresh(&self.kernel.var(var).name);
                    self.printer.names[var.index()].clone_from(&name);
                    format!("int64_t {name}")
                })
                .collect()
            }
        }
    }
}
