//! The checked entry point: `NAME(const sparsec_tensor *A, ..., sparsec_tensor *y)`.
//!
//! It checks what it is given against what the kernel was compiled for, reads the
//! sizes, makes the results, calls the raw function and hands over what that built.

use super::kernel::{Part, Printer, wrap_call};
use super::names::{function, identifier};
use super::types::{c_type, type_code};
use crate::format::{Level, LevelKind};
use crate::loops::interface::{Arg, Direction, TensorArg};
use crate::loops::ir::{Expr, ExprKind, Kernel, Literal, Stmt, Storage, VarId};
use crate::loops::visit;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The prototype of the checked function, without a semicolon.
#[must_use]
pub fn signature(kernel: &Kernel) -> String {
    let params: Vec<String> = kernel
        .interface
        .args
        .iter()
        .map(|arg| match arg {
            Arg::Scalar { name, ty, .. } => {
                format!("{} {}", c_type(ty.compute()), identifier(name))
            }
            Arg::Tensor(t) if t.direction == Direction::In => {
                format!("const sparsec_tensor *{}", identifier(&t.name))
            }
            Arg::Tensor(t) => format!("sparsec_tensor *{}", identifier(&t.name)),
        })
        .collect();
    let list: Vec<&str> = params.iter().map(String::as_str).collect();
    wrap_call(&format!("int {}(", function(&kernel.name)), &list, ")")
}

/// The static descriptions of a kernel's tensors.
#[must_use]
pub fn specs(kernel: &Kernel) -> String {
    let name = function(&kernel.name);
    let mut out = String::new();
    for tensor in tensors(kernel) {
        let own = identifier(&tensor.name);
        let levels = if tensor.levels.is_empty() {
            "NULL".to_string()
        } else {
            let list: Vec<String> = tensor
                .levels
                .iter()
                .map(|l| format!("{{{}, {}, {}}}", kind(l.level), flags(l.level), l.mode))
                .collect();
            let _ = writeln!(
                out,
                "static const sparsec_level_spec {name}_{own}_levels[] = {{{}}};",
                list.join(", ")
            );
            format!("{name}_{own}_levels")
        };
        let _ = writeln!(
            out,
            "static const sparsec_spec {name}_{own}_spec = {{\"{}\", {}, {}, {}, {levels}, {}}};",
            tensor.name,
            type_code(tensor.ty),
            tensor.levels.len(),
            tensor.format.index_bits,
            fill(tensor.fill)
        );
    }
    out
}

pub(super) fn tensors(kernel: &Kernel) -> impl Iterator<Item = &TensorArg> {
    kernel.interface.args.iter().filter_map(|arg| match arg {
        Arg::Tensor(t) => Some(t),
        Arg::Scalar { .. } => None,
    })
}

fn kind(level: Level) -> &'static str {
    match level.kind {
        LevelKind::Dense => "SPARSEC_DENSE",
        LevelKind::Compressed => "SPARSEC_COMPRESSED",
        LevelKind::Singleton => "SPARSEC_SINGLETON",
        LevelKind::Hashed => "SPARSEC_HASHED",
        LevelKind::Bitmap => "SPARSEC_BITMAP",
        LevelKind::Range => "SPARSEC_RANGE",
    }
}

fn flags(level: Level) -> &'static str {
    match (level.unique, level.ordered) {
        (true, true) => "0",
        (false, true) => "SPARSEC_NONUNIQUE",
        (true, false) => "SPARSEC_UNORDERED",
        (false, false) => "SPARSEC_NONUNIQUE | SPARSEC_UNORDERED",
    }
}

fn fill(value: Literal) -> String {
    let value = value.as_f64();
    if value.is_nan() {
        "NAN".to_string()
    } else if value.is_infinite() {
        if value > 0.0 { "INFINITY" } else { "-INFINITY" }.to_string()
    } else {
        format!("{value:?}")
    }
}

/// The definition of the checked function.
#[must_use]
pub fn definition(kernel: &Kernel) -> String {
    Entry {
        kernel,
        name: function(&kernel.name),
        out: String::new(),
    }
    .run()
}

pub(super) struct Entry<'k> {
    pub(super) kernel: &'k Kernel,
    pub(super) name: String,
    pub(super) out: String,
}

impl Entry<'_> {
    pub(super) fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "    {text}");
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
        let head = signature(kernel);
        let _ = writeln!(self.out, "{head} {{");
        self.line("int error;");
        for tensor in tensors(kernel) {
            let own = identifier(&tensor.name);
            if tensor.direction == Direction::Out {
                self.line(&format!(
                    "if (!{own}) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, \"{}: no tensor given\");",
                    tensor.name
                ));
            } else {
                let call = format!("sparsec_check({own}, &{}_{own}_spec)", self.name);
                self.try_call(&call);
            }
        }
        self.sizes();
        self.requirements();
        self.promises();
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

    /// Reads each size where it stands first and compares it everywhere else.
    fn sizes(&mut self) {
        let kernel = self.kernel;
        let mut known: Vec<(crate::loops::ir::VarId, String, String)> = Vec::new();
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
                let own = identifier(&tensor.name);
                let local = self.size_name(&size.name);
                self.line(&format!("int64_t {local} = {own}->dims[{mode}];"));
                known.push((var, local, tensor.name.clone()));
            }
        }
        for tensor in tensors(kernel) {
            if tensor.direction == Direction::Out {
                continue;
            }
            let own = identifier(&tensor.name);
            for (mode, dim) in tensor.dims.iter().enumerate() {
                let (what, want, first) = if let ExprKind::Var(var) = dim.kind {
                    let Some((_, local, first)) = known.iter().find(|(v, _, _)| *v == var) else {
                        continue;
                    };
                    if *first == tensor.name
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
                    tensor.name
                );
                self.try_call(&call);
            }
        }
    }

    /// Refuses sizes with which something would be read out of bounds.
    fn requirements(&mut self) {
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
    fn promises(&mut self) {
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
                self.line(&format!("SPARSEC_ASSUME({cond}, \"{text}\", {found});"));
                some = true;
            }
        }
        if some {
            self.try_call("SPARSEC_KEPT(SPARSEC_OK)");
        }
    }

    /// A size's local name: it may not hide an argument.
    pub(super) fn size_name(&self, name: &str) -> String {
        let name = identifier(name);
        let taken = self.kernel.interface.args.iter().any(|arg| match arg {
            Arg::Scalar { name: other, .. } => identifier(other) == name,
            Arg::Tensor(t) => identifier(&t.name) == name,
        });
        if taken { format!("size_{name}") } else { name }
    }

    /// An extent over the sizes read so far.
    pub(super) fn dim_text(&self, dim: &Expr) -> String {
        let mut printer = Printer::new(self.kernel);
        for size in &self.kernel.interface.sizes {
            printer.set_name(size.var, self.size_name(&size.name));
        }
        for count in &self.kernel.interface.counts {
            printer.set_name(count.var, self.size_name(&count.name));
        }
        for arg in &self.kernel.interface.args {
            match arg {
                Arg::Scalar { name, var, .. } => printer.set_name(*var, identifier(name)),
                Arg::Tensor(t) => printer.set_array(
                    t.values,
                    format!("((const {} *){}->vals)", c_type(t.ty), identifier(&t.name)),
                ),
            }
        }
        printer.expr(dim)
    }

    fn make_result(&mut self, tensor: &TensorArg) {
        let own = identifier(&tensor.name);
        let dims: Vec<String> = tensor.dims.iter().map(|d| self.dim_text(d)).collect();
        let shape = if returned(self.kernel, tensor) {
            "sparsec_shape"
        } else {
            "sparsec_shape_dense"
        };
        let dims_name = if dims.is_empty() {
            "NULL".to_string()
        } else {
            self.line(&format!("int64_t {own}_dims[] = {{{}}};", dims.join(", ")));
            format!("{own}_dims")
        };
        let call = match &tensor.like {
            Some((operand, levels)) => format!(
                "sparsec_shape_like({own}, &{}_{own}_spec, {dims_name}, {}, {levels})",
                self.name,
                identifier(operand)
            ),
            None => format!("{shape}({own}, &{}_{own}_spec, {dims_name})", self.name),
        };
        self.try_call(&call);
    }

    /// The arguments of the raw function; declares what receives returned arrays.
    fn raw_args(&mut self, part: Part) -> Vec<String> {
        let kernel = self.kernel;
        let mut args = Vec::new();
        for size in &kernel.interface.sizes {
            if size.fixed.is_none() {
                args.push(self.size_name(&size.name));
            }
        }
        for arg in &kernel.interface.args {
            let tensor = match arg {
                Arg::Scalar { name, .. } => {
                    args.push(identifier(name));
                    continue;
                }
                Arg::Tensor(t) => t,
            };
            if part == Part::Checks && tensor.direction != Direction::In {
                continue;
            }
            let own = identifier(&tensor.name);
            let is_const = if tensor.direction == Direction::In {
                "const "
            } else {
                ""
            };
            let given_back = returned(kernel, tensor);
            for (l, level) in tensor.levels.iter().enumerate() {
                for (what, id) in [("pos", level.pos), ("crd", level.crd)] {
                    let Some(id) = id else { continue };
                    let ty = c_type(kernel.array(id).elem);
                    if given_back {
                        self.line(&format!("{ty} *{own}{}_{what} = NULL;", l + 1));
                        args.push(format!("&{own}{}_{what}", l + 1));
                    } else {
                        args.push(format!("({is_const}{ty} *){own}->levels[{l}].{what}"));
                    }
                }
            }
            let ty = c_type(tensor.ty);
            if given_back {
                self.line(&format!("{ty} *{own}_vals = NULL;"));
                args.push(format!("&{own}_vals"));
            } else {
                args.push(format!("({is_const}{ty} *){own}->vals"));
            }
        }
        args
    }

    fn hand_over(&mut self, tensor: &TensorArg) {
        let own = identifier(&tensor.name);
        self.line(&format!("int64_t {own}_positions = 1;"));
        for (l, level) in tensor.levels.iter().enumerate() {
            let name = |what: &str, id: Option<crate::loops::ir::ArrayId>| match id {
                Some(_) => format!("{own}{}_{what}", l + 1),
                None => "NULL".to_string(),
            };
            if level.crd.is_some() {
                let (pos, crd) = (name("pos", level.pos), name("crd", level.crd));
                self.line(&format!(
                    "sparsec_set_level({own}, {l}, {pos}, {crd}, {own}_positions);"
                ));
            }
            self.line(&format!(
                "{own}_positions = sparsec_positions({own}, {l}, {own}_positions);"
            ));
        }
        self.line(&format!("{own}->vals = {own}_vals;"));
        self.line(&format!(
            "{own}->vals_len = {own}->vals_cap = {own}_positions;"
        ));
    }
}

/// Whether the kernel allocates the tensor's arrays.
pub(super) fn returned(kernel: &Kernel, tensor: &TensorArg) -> bool {
    kernel.array(tensor.values).storage == Storage::Returned
}
