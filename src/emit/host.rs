//! The host's side of a function for a GPU: it takes arrays of the device and launches kernels.

mod stmts;

use super::device::kernel_function;
use super::gpu::Api;
use super::kernel::Printer;
use super::names::function;
use super::phases::{self, Phases};
use super::status;
use super::types::c_type;
use super::wrap::wrap_call;
use crate::loops::interface::{Arg, LevelArrays};
use crate::loops::ir::{ArrayId, Device, Expr, Kernel, Stmt, Storage, VarId};
use crate::loops::visit;
use std::collections::BTreeSet;

/// A kernel and what its launch hands over.
#[derive(Clone)]
pub(super) struct Launch {
    name: String,
    pub text: String,
    vars: Vec<VarId>,
    arrays: Vec<ArrayId>,
    /// Arrays that begin at multiples of so many bytes.
    aligned: Vec<(ArrayId, u32)>,
}

/// What a function of the host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `NAME_device`: nothing grows.
    Device,
    /// `NAME_run`, which asks how launches went and allocates.
    Run,
    /// `NAME_count_device`: up to the fetch.
    Count,
    /// `NAME_fill_device`: from there on.
    Fill,
}

/// The host's side of one function.
pub(super) struct Host<'k> {
    pub(super) api: &'static Api,
    pub(super) kernel: &'k Kernel,
    pub(super) name: String,
    pub(super) printer: Printer<'k>,
    pub launches: Vec<Launch>,
    next: usize,
    /// The arrays that are allocated while it runs.
    grown: Vec<ArrayId>,
    pub(super) form: Form,
    pub(super) phases: Option<Phases>,
    /// What receives the status, if the caller is told it so.
    pub(super) status: Option<ArrayId>,
    /// Of a phase: the arrays that it names.
    named: BTreeSet<ArrayId>,
    /// What the statements that are written read.
    read: BTreeSet<VarId>,
}

impl<'k> Host<'k> {
    pub(super) fn new(kernel: &'k Kernel, api: &'static Api) -> Self {
        let status = status::status(kernel);
        let form = if status.is_none() && grows(kernel) {
            Form::Run
        } else {
            Form::Device
        };
        Host {
            api,
            form,
            phases: phases::phases(kernel),
            status,
            named: BTreeSet::new(),
            read: BTreeSet::new(),
            kernel,
            name: function(&kernel.name, api.target),
            printer: Printer::new(kernel),
            launches: Vec::new(),
            next: 0,
            grown: grown(kernel),
        }
    }

    /// As another function of the same kernel.
    pub(super) fn in_form(mut self, form: Form) -> Self {
        self.form = form;
        self
    }

    /// The functions that launch the kernels: one, or one for each phase.
    pub(super) fn launching_functions(self) -> String {
        let kernel = self.kernel;
        let Some(phases) = self.phases.clone() else {
            return self.launching_function(&kernel.body);
        };
        let launches = self.launches.clone();
        let (before, behind) = kernel.body.split_at(phases.at);
        let mut count = Host::new(kernel, self.api).in_form(Form::Count);
        count.launches.clone_from(&launches);
        count.named = phases::named(before);
        let mut fill = Host::new(kernel, self.api).in_form(Form::Fill);
        fill.launches = launches;
        visit::stmts(before, &mut |stmt| {
            fill.next += usize::from(matches!(stmt, Stmt::Device(Device::Launch { .. })));
        });
        let mut body = phases.repeated(kernel);
        body.extend(behind.iter().skip(1).cloned());
        fill.named = phases::named(&body);
        format!(
            "{}\n{}",
            count.launching_function(before),
            fill.launching_function(&body)
        )
    }

    /// Names as prototypes have them.
    pub(super) fn printer_of_sizes(&self) -> Printer<'k> {
        let mut host = Host::new(self.kernel, self.api).in_form(Form::Fill);
        let _ = host.params(true);
        host.printer
    }

    /// The arrays that are allocated while it runs.
    pub(super) fn grown(&self) -> &[ArrayId] {
        &self.grown
    }

    /// Writes the kernels of all launches.
    pub(super) fn number(&mut self, body: &[Stmt]) {
        let mut found = Vec::new();
        visit::stmts(body, &mut |stmt| {
            if let Stmt::Device(Device::Launch { block, body, .. }) = stmt {
                found.push((block.iter().product::<u32>(), body.clone()));
            }
        });
        let several = found.len() > 1;
        for (at, (threads, body)) in found.into_iter().enumerate() {
            let name = if several {
                format!("{}_kernel{}", self.name, at + 1)
            } else {
                format!("{}_kernel", self.name)
            };
            let text = kernel_function(self.kernel, &name, &body, &(self.api.bounds)(threads));
            let mut aligned = Vec::new();
            for stmt in &body {
                if let Stmt::Device(Device::Aligned { array, bytes }) = stmt {
                    aligned.push((*array, *bytes));
                }
            }
            self.launches.push(Launch {
                name,
                text: text.text,
                vars: text.vars,
                arrays: text.arrays,
                aligned,
            });
        }
    }

    /// Sizes, counts, scalars and arrays, as they are declared; `unused` ones are unnamed.
    fn params(&mut self, with_arrays: bool) -> Vec<String> {
        let kernel = self.kernel;
        self.printer.scopes.open();
        // What the text has and calls besides.
        for name in ["workspace", "stream", "memory", "room", "needed", "bytes"] {
            self.printer.scopes.reserve(name);
        }
        for launch in &self.launches {
            self.printer.scopes.reserve(&launch.name);
        }
        self.printer.reserve_outs();
        let mut params = Vec::new();
        for size in &kernel.interface.sizes {
            let name = self.printer.scopes.fresh(&size.name);
            self.printer.names[size.var.index()].clone_from(&name);
            if size.fixed.is_none() {
                params.push(format!("int64_t {name}"));
            }
        }
        for count in &kernel.interface.counts {
            let name = self.printer.scopes.fresh(&count.name);
            self.printer.names[count.var.index()].clone_from(&name);
            params.push(format!("int64_t {name}"));
        }
        let grown = self.grown.clone();
        let form = self.form;
        for arg in &kernel.interface.args {
            match arg {
                Arg::Scalar { name, var, ty } => {
                    let name = self.printer.scopes.fresh(name);
                    self.printer.names[var.index()].clone_from(&name);
                    params.push(format!("{} {name}", c_type(ty.compute())));
                }
                Arg::Tensor(tensor) => {
                    let levels = tensor.levels.iter().flat_map(LevelArrays::ids);
                    for id in levels.chain([tensor.values]) {
                        let later = form == Form::Count && grown.contains(&id);
                        if with_arrays && !later {
                            let text = self.array_param(id, grown.contains(&id));
                            params.push(text);
                        }
                    }
                }
            }
        }
        if with_arrays {
            params.extend(self.phase_params());
            params.extend(self.status_param());
        }
        self.printer.name_arrays();
        params
    }

    fn array_param(&mut self, id: ArrayId, grown: bool) -> String {
        let array = self.kernel.array(id);
        let name = self.printer.scopes.fresh(&array.name);
        self.printer.arrays[id.index()].clone_from(&name);
        let ty = c_type(array.elem);
        match array.storage {
            Storage::Input => format!("const {ty} *{name}"),
            Storage::Returned if grown && self.form == Form::Run => format!("{ty} **{name}_out"),
            Storage::Output | Storage::Local | Storage::Shared | Storage::Returned => {
                format!("{ty} *{name}")
            }
        }
    }

    /// With arrays, memory and a stream, or of sizes alone.
    pub(super) fn signature(&mut self, head: &str, with_arrays: bool) -> String {
        let mut params = self.params(with_arrays);
        if with_arrays {
            let memory = match self.form {
                Form::Run => "sparsec_memory *memory",
                Form::Device | Form::Count | Form::Fill => "void *workspace",
            };
            params.extend([memory.to_string(), format!("{} stream", self.api.stream)]);
        }
        let list: Vec<&str> = params.iter().map(String::as_str).collect();
        wrap_call(head, &list, ")")
    }

    /// The prototype of `NAME_device`.
    pub(super) fn device_signature(&self) -> String {
        let mut host = Host::new(self.kernel, self.api);
        let head = format!("int {}_device(", self.name);
        host.signature(&head, true)
    }

    pub(super) fn param_names(&self) -> Vec<String> {
        let interface = &self.kernel.interface;
        let sizes = interface
            .sizes
            .iter()
            .filter(|s| s.fixed.is_none())
            .map(|s| s.var);
        let counts = interface.counts.iter().map(|c| c.var);
        let scalars = interface.args.iter().filter_map(|arg| match arg {
            Arg::Scalar { var, .. } => Some(*var),
            Arg::Tensor(_) => None,
        });
        sizes
            .chain(counts)
            .chain(scalars)
            .map(|v| self.printer.var(v).to_string())
            .collect()
    }

    /// The function of the host's form.
    fn launching_function(mut self, body: &[Stmt]) -> String {
        let signature = self.phase_signature();
        let mut out = format!("{signature} {{\n");
        self.printer.indent = 1;
        let mut unused = self.param_names();
        for arg in &self.kernel.interface.args {
            if let Arg::Tensor(t) = arg {
                for id in t.levels.iter().flat_map(LevelArrays::ids).chain([t.values]) {
                    if self.form == Form::Fill || !self.grown().contains(&id) {
                        unused.push(self.printer.array(id).to_string());
                    }
                }
            }
        }
        unused.push("stream".to_string());
        if let (Form::Fill, Some(phases)) = (self.form, &self.phases) {
            unused.extend(phases.vars.iter().map(|v| self.printer.var(*v).to_string()));
        }
        let grown = match self.form {
            Form::Run => self.grown.clone(),
            Form::Device | Form::Count | Form::Fill => Vec::new(),
        };
        for &array in &grown {
            let ty = c_type(self.kernel.array(array).elem);
            let name = self.printer.array(array).to_string();
            self.printer.line(&format!("{ty} *{name} = NULL;"));
        }
        if self.form != Form::Run && self.takes(body) {
            self.printer.line("char *room = (char *)workspace;");
        } else if self.form != Form::Run {
            unused.push("workspace".to_string());
        }
        self.read = self.read_by(body);
        self.stmts(body);
        for &array in &grown {
            if self.kernel.array(array).storage == Storage::Returned {
                let name = self.printer.array(array).to_string();
                self.printer.line(&format!("*{name}_out = {name};"));
            }
        }
        self.printer.line("return SPARSEC_OK;");
        let text = std::mem::take(&mut self.printer.out);
        let unused: Vec<String> = unused
            .into_iter()
            .filter(|name| !mentions(&text, name))
            .map(|name| format!("(void){name};"))
            .collect();
        if !unused.is_empty() {
            self.printer.line(&unused.join(" "));
        }
        out.push_str(&self.printer.out);
        out.push_str(&text);
        out.push_str("}\n");
        out
    }

    /// The variables that a function without allocations needs: those that say how large a caller's
    /// array is are none.
    fn read_by(&self, body: &[Stmt]) -> BTreeSet<VarId> {
        let mut read = BTreeSet::new();
        for stmt in body.iter().rev() {
            let needed = if let Stmt::Let { var, .. } = stmt {
                read.contains(var)
            } else if let Stmt::Alloc { array, zeroed, .. } = stmt {
                let own = self.kernel.array(*array).storage == Storage::Local;
                *zeroed || (own && !self.is_totals(*array))
            } else {
                true
            };
            if needed {
                read.extend(visit::read_vars(std::slice::from_ref(stmt)));
            }
        }
        read
    }
}

/// Whether the host asks while it runs how a launch went: what grows, what may fail.
fn grows(kernel: &Kernel) -> bool {
    visit::any(&kernel.body, &|s| {
        matches!(s, Stmt::Device(Device::Retry(_) | Device::Fetch { .. }))
    })
}

/// Whether the word stands in the text.
fn mentions(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(part) && !text[at + word.len()..].starts_with(part))
}

/// How many elements an array that the kernel's caller receives has room for.
pub(super) fn returned_counts(kernel: &Kernel) -> Vec<(ArrayId, Expr)> {
    let vars = &kernel.vars;
    let known = crate::loops::device::definitions(&kernel.body, &|v| vars[v.index()].mutable);
    let mut found = Vec::new();
    for stmt in &kernel.body {
        if let Stmt::Alloc { array, count, .. } = stmt
            && kernel.array(*array).storage == Storage::Returned
        {
            found.push((*array, crate::loops::device::inlined(count, &known)));
        }
    }
    found
}

/// The arrays that are allocated while the function runs.
fn grown(kernel: &Kernel) -> Vec<ArrayId> {
    let (mut found, mut fetched) = (Vec::new(), false);
    visit::stmts(&kernel.body, &mut |s| {
        fetched |= matches!(s, Stmt::Device(Device::Fetch { .. }));
        if let Stmt::Device(Device::Retry(retry)) = s {
            found.extend(retry.rooms.iter().flat_map(|room| room.arrays.clone()));
        } else if let (Stmt::Alloc { array, .. }, true) = (s, fetched)
            && kernel.array(*array).storage == Storage::Returned
        {
            found.push(*array);
        }
    });
    found
}
