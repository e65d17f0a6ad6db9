//! The checked entry point: `NAME(const sparsec_tensor *A, ..., sparsec_tensor *y)`.
//!
//! It checks what it is given against what the kernel was compiled for, reads the
//! sizes, makes the results, calls the raw function and hands over what that built.

mod arrays;
mod checks;

use super::clashes::{self, tables};
use super::kernel::Part;
use super::names::{Scopes, function};
use super::types::c_type;
use super::wrap::{wrap_call, wrapped};
use crate::loops::interface::{Arg, Direction, LevelArrays, TensorArg};
use crate::loops::ir::{ArrayId, Kernel, Storage, VarId};
use crate::target::Target;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The prototype of the checked function, without a semicolon.
#[must_use]
pub fn signature(kernel: &Kernel, target: Target) -> String {
    Entry::new(kernel, target).signature()
}

/// The checked function of a kernel whose results replace what they have: it makes them beside
/// that, so that a call that fails leaves everything as it was.
pub(super) fn renewing(kernel: &Kernel, target: Target) -> String {
    if !kernel.interface.renews() {
        return String::new();
    }
    let mut entry = Entry::new(kernel, target);
    let _ = writeln!(
        entry.out,
        "\n/* The old content stays until all of the new one is there. */\n{} {{",
        entry.signature()
    );
    let mut made = Vec::new();
    for arg in &kernel.interface.args {
        if kernel.interface.is_renewed(arg.name()) {
            let own = entry.own(arg.name());
            let new = entry.scopes.fresh(&format!("{own}_new"));
            made.push((own, new));
        }
    }
    let mut args = Vec::new();
    for arg in &kernel.interface.args {
        let own = match arg {
            Arg::Tensor(tensor) => entry.own(tensor.shown()),
            Arg::Scalar { name, .. } => entry.own(name),
        };
        let new = made.iter().find(|(of, _)| *of == own);
        args.push(match (arg, new) {
            (Arg::Tensor(tensor), Some((_, new))) if tensor.before.is_none() => format!("&{new}"),
            (Arg::Tensor(_) | Arg::Scalar { .. }, Some(_) | None) => own,
        });
    }
    entry.line("int error;");
    for (_, new) in &made {
        entry.line(&format!("sparsec_tensor {new};"));
    }
    for (_, new) in &made {
        entry.line(&format!("memset(&{new}, 0, sizeof {new});"));
    }
    let function = format!("{}_renewed", entry.name);
    entry.call(&function, &args);
    for (own, new) in &made {
        entry.line(&format!("sparsec_renew({own}, &{new}, error);"));
    }
    entry.line("return error;");
    entry.out.push_str("}\n");
    entry.out
}

pub(super) fn tensors(kernel: &Kernel) -> impl Iterator<Item = &TensorArg> {
    kernel.interface.args.iter().filter_map(|arg| match arg {
        Arg::Tensor(t) => Some(t),
        Arg::Scalar { .. } => None,
    })
}

/// The definition of the checked function.
#[must_use]
pub fn definition(kernel: &Kernel) -> String {
    Entry::new(kernel, Target::C).run() + &renewing(kernel, Target::C)
}

pub(super) struct Entry<'k> {
    pub(super) kernel: &'k Kernel,
    pub(super) name: String,
    pub(super) out: String,
    /// What each argument is called, and what its tables are named after.
    args: Vec<(String, String)>,
    /// The names of sizes and counts.
    sizes: BTreeMap<VarId, String>,
    /// Those of other variables, by what they are meant to be called.
    locals: BTreeMap<String, String>,
    scopes: Scopes,
    target: Target,
}

impl<'k> Entry<'k> {
    pub(super) fn new(kernel: &'k Kernel, target: Target) -> Self {
        let mut scopes = Scopes::default();
        scopes.open();
        // What it calls and names may not be hidden; it does not call itself.
        let name = function(&kernel.name, target);
        for given in clashes::given(kernel, target) {
            if given != name {
                scopes.reserve(&given);
            }
        }
        let args = kernel.interface.args.iter();
        let args = args
            .map(|arg| scopes.fresh(arg.name()))
            .zip(tables(kernel))
            .collect();
        let interface = &kernel.interface;
        let sizes = interface.sizes.iter().map(|s| (s.var, &s.name));
        let counts = interface.counts.iter().map(|c| (c.var, &c.name));
        let sizes = sizes.chain(counts);
        let sizes = sizes.map(|(var, name)| (var, scopes.fresh(name))).collect();
        Entry {
            kernel,
            name,
            out: String::new(),
            args,
            sizes,
            locals: BTreeMap::new(),
            scopes,
            target,
        }
    }

    /// The prototype, without a semicolon.
    fn signature(&self) -> String {
        let args = self.kernel.interface.checked();
        self.takes(&format!("int {}(", self.name), args)
    }

    /// That of the function which does the work.
    fn inner_signature(&self) -> String {
        if !self.kernel.interface.renews() {
            return self.signature();
        }
        let args = self.kernel.interface.args.iter().enumerate();
        self.takes(&format!("static int {}_renewed(", self.name), args)
    }

    fn takes<'a>(&self, head: &str, args: impl Iterator<Item = (usize, &'a Arg)>) -> String {
        let params: Vec<String> = args
            .map(|(at, arg)| (arg, &self.args[at]))
            .map(|(arg, (own, _))| match arg {
                Arg::Scalar { ty, .. } => format!("{} {own}", c_type(ty.compute())),
                Arg::Tensor(t) if t.direction == Direction::In => {
                    format!("const sparsec_tensor *{own}")
                }
                Arg::Tensor(_) => format!("sparsec_tensor *{own}"),
            })
            .collect();
        let list: Vec<&str> = params.iter().map(String::as_str).collect();
        wrap_call(head, &list, ")")
    }

    /// What the argument of this name is called, and what its tables are named after.
    fn arg(&self, name: &str) -> (&str, &str) {
        let args = self.kernel.interface.args.iter();
        let at = args.zip(&self.args).find(|(arg, _)| arg.name() == name);
        at.map_or(("", ""), |(_, (own, table))| (own, table))
    }

    /// What the argument of this name is called.
    pub(super) fn own(&self, name: &str) -> String {
        self.arg(name).0.to_string()
    }

    /// The table that describes a tensor.
    pub(super) fn spec(&self, name: &str) -> String {
        format!("&{}_{}_spec", self.name, self.arg(name).1)
    }

    /// The variable that is meant to be called so.
    pub(super) fn local(&mut self, want: &str) -> String {
        if let Some(name) = self.locals.get(want) {
            return name.clone();
        }
        let name = self.scopes.fresh(want);
        self.locals.insert(want.to_string(), name.clone());
        name
    }

    /// The variable that holds a size or a count.
    pub(super) fn size(&self, var: VarId) -> String {
        self.sizes.get(&var).cloned().unwrap_or_default()
    }

    /// Declares the variable that holds what was counted.
    pub(super) fn total(&mut self, var: VarId) -> String {
        let name = self.scopes.fresh(&self.kernel.var(var).name);
        self.sizes.insert(var, name.clone());
        name
    }

    pub(super) fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}", wrapped(text, 4));
    }

    pub(super) fn try_call(&mut self, call: &str) {
        self.line(&format!("error = {call};"));
        self.line("if (error) return error;");
    }

    fn run(mut self) -> String {
        self.begin();
        self.host_call();
        self.line("return SPARSEC_OK;");
        self.out.push_str("}\n");
        self.out
    }

    /// Checks and sizes, up to the results' shapes.
    pub(super) fn begin(&mut self) {
        let kernel = self.kernel;
        let head = self.inner_signature();
        let _ = writeln!(self.out, "{head} {{");
        self.line("int error;");
        for tensor in tensors(kernel) {
            let own = self.own(&tensor.name);
            if tensor.direction == Direction::Out {
                self.line(&format!(
                    "if (!{own}) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, \"{}: no tensor given\");",
                    tensor.name
                ));
            } else {
                let call = format!("sparsec_check({own}, {})", self.spec(&tensor.name));
                self.try_call(&call);
            }
        }
        self.sizes();
        self.requirements();
        self.promises();
        self.apart();
        self.try_keeping();
        for tensor in tensors(kernel) {
            if tensor.direction == Direction::Out {
                self.make_result(tensor);
            }
        }
        if !kernel.checks.is_empty() {
            let args = self.raw_args(Part::Checks);
            self.call_raw(&format!("{}_check", self.name), &args);
        }
    }

    /// The call of the raw function, and what it gave.
    fn host_call(&mut self) {
        let kernel = self.kernel;
        let args = self.raw_args(Part::Body);
        let raw = format!("{}_raw", self.name);
        self.call_raw(&raw, &args);
        for tensor in tensors(kernel) {
            if tensor.direction == Direction::Out && returned(kernel, tensor) {
                self.hand_over(tensor);
            }
        }
    }

    pub(super) fn call_raw(&mut self, function: &str, args: &[String]) {
        self.call(function, args);
        self.line("if (error) return sparsec_fail_code(error);");
    }

    /// Calls a function that gives a status.
    pub(super) fn call(&mut self, function: &str, args: &[String]) {
        let list: Vec<&str> = args.iter().map(String::as_str).collect();
        let call = wrap_call(&format!("error = {function}("), &list, ");").replace('\n', "\n    ");
        self.line(&call);
    }

    /// Computes values alone where results have coordinates and these are the right ones.
    fn try_keeping(&mut self) {
        let Some(keeping) = &self.kernel.keeping else {
            return;
        };
        let kept = tensors(keeping).filter(|t| is_kept(keeping, t));
        let kept: Vec<String> = kept.map(|t| t.name.clone()).collect();
        let mut there = Vec::new();
        for tensor in tensors(self.kernel).filter(|t| kept.contains(&t.name)) {
            let (own, spec) = (self.own(&tensor.name), self.spec(&tensor.name));
            let dims = self.dims_of(tensor);
            there.push(format!("sparsec_is_made({own}, {spec}, {dims})"));
        }
        let args: Vec<String> = self
            .kernel
            .interface
            .checked()
            .map(|(at, _)| self.args[at].0.clone())
            .collect();
        let list: Vec<&str> = args.iter().map(String::as_str).collect();
        let call = format!("error = {}(", function(&keeping.name, self.target));
        let call = wrap_call(&call, &list, ");").replace('\n', "\n        ");
        self.line(&format!("if ({}) {{", there.join(" && ")));
        self.line(&format!("    {call}"));
        self.line("    if (error != SPARSEC_CHANGED) return error;");
        self.line("}");
    }
}

/// What stands before the type of elements that are only read.
pub(super) fn qualifier(kernel: &Kernel, array: ArrayId) -> &'static str {
    match kernel.array(array).storage {
        Storage::Input => "const ",
        Storage::Output | Storage::Returned | Storage::Local | Storage::Shared => "",
    }
}

/// Whether the tensor is a result whose coordinates are there.
pub(super) fn is_kept(kernel: &Kernel, tensor: &TensorArg) -> bool {
    let given = |id: ArrayId| kernel.array(id).storage == Storage::Input;
    tensor.direction == Direction::InOut
        && tensor.levels.iter().flat_map(LevelArrays::ids).any(given)
}

/// Whether the kernel allocates the tensor's arrays.
pub(super) fn returned(kernel: &Kernel, tensor: &TensorArg) -> bool {
    kernel.array(tensor.values).storage == Storage::Returned
}
