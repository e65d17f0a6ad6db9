//! The checked entry point: `NAME(const sparsec_tensor *A, ..., sparsec_tensor *y)`.
//!
//! It checks what it is given against what the kernel was compiled for, reads the
//! sizes, makes the results, calls the raw function and hands over what that built.

use super::clashes::{self, tables};
use super::kernel::{Part, Printer, wrap_call};
use super::memory;
use super::names::{Scopes, function};
use super::types::c_type;
use crate::level::Field;
use crate::loops::interface::{Arg, Direction, LevelArrays, TensorArg};
use crate::loops::ir::{ArrayId, Expr, ExprKind, Kernel, Stmt, Storage, VarId};
use crate::loops::visit;
use crate::target::Target;
use std::collections::{BTreeMap, BTreeSet};
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
    fn apart(&mut self) {
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

    /// An extent over the sizes read so far.
    pub(super) fn dim_text(&self, dim: &Expr) -> String {
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
        printer.expr(dim)
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

    /// The array of a tensor's extents, which is declared where it is asked for first.
    fn dims_of(&mut self, tensor: &TensorArg) -> String {
        if tensor.dims.is_empty() {
            return "NULL".to_string();
        }
        let dims: Vec<String> = tensor.dims.iter().map(|d| self.dim_text(d)).collect();
        let want = format!("{}_dims", self.own(&tensor.name));
        let known = self.locals.contains_key(&want);
        let name = self.local(&want);
        if !known {
            self.line(&format!("int64_t {name}[] = {{{}}};", dims.join(", ")));
        }
        name
    }

    fn make_result(&mut self, tensor: &TensorArg) {
        let own = self.own(&tensor.name);
        let dims_name = self.dims_of(tensor);
        let shape = if returned(self.kernel, tensor) {
            "sparsec_shape"
        } else {
            "sparsec_shape_dense"
        };
        let call = match &tensor.like {
            Some((operand, levels)) => format!(
                "sparsec_shape_like({own}, {}, {dims_name}, {}, {levels})",
                self.spec(&tensor.name),
                self.own(operand)
            ),
            None => format!("{shape}({own}, {}, {dims_name})", self.spec(&tensor.name)),
        };
        self.try_call(&call);
    }

    /// The arguments of the raw function; declares what receives returned arrays.
    fn raw_args(&mut self, part: Part) -> Vec<String> {
        let kernel = self.kernel;
        let mut args = Vec::new();
        for size in &kernel.interface.sizes {
            if size.fixed.is_none() {
                args.push(self.size(size.var));
            }
        }
        for arg in &kernel.interface.args {
            let tensor = match arg {
                Arg::Scalar { name, .. } => {
                    args.push(self.own(name));
                    continue;
                }
                Arg::Tensor(t) => t,
            };
            if part == Part::Checks && tensor.direction != Direction::In {
                continue;
            }
            let own = self.own(&tensor.name);
            let given_back = returned(kernel, tensor);
            for (l, level) in tensor.levels.iter().enumerate() {
                for &(role, id) in &level.arrays {
                    let (what, field) = (role.word(), role.field().word());
                    let ty = c_type(kernel.array(id).elem);
                    if given_back {
                        let name = self.local(&format!("{own}{}_{what}", l + 1));
                        self.line(&format!(
                            "{ty} *{name} = ({ty} *)sparsec_take(&{own}->levels[{l}].{field});"
                        ));
                        args.push(format!("&{name}"));
                    } else {
                        let is_const = qualifier(kernel, id);
                        args.push(format!("({is_const}{ty} *){own}->levels[{l}].{field}"));
                    }
                }
            }
            let ty = c_type(tensor.ty);
            if given_back {
                let name = self.local(&format!("{own}_vals"));
                self.line(&format!(
                    "{ty} *{name} = ({ty} *)sparsec_take(&{own}->vals);"
                ));
                args.push(format!("&{name}"));
            } else {
                let is_const = qualifier(kernel, tensor.values);
                args.push(format!("({is_const}{ty} *){own}->vals"));
            }
        }
        if part == Part::Body {
            for room in memory::given_rooms(kernel) {
                let rooms = room.arrays.iter().filter_map(|array| self.room_of(*array));
                let least = rooms.reduce(|a, b| format!("sparsec_min_int64({a}, {b})"));
                args.push(least.unwrap_or_else(|| "0".to_string()));
            }
        }
        args
    }

    /// How many elements there is room for in an array of a result.
    fn room_of(&self, array: ArrayId) -> Option<String> {
        for tensor in tensors(self.kernel) {
            let own = self.own(&tensor.name);
            for (l, level) in tensor.levels.iter().enumerate() {
                if let Some((role, _)) = level.arrays.iter().find(|(_, id)| *id == array) {
                    return Some(format!("{own}->levels[{l}].{}_cap", role.field().word()));
                }
            }
            if tensor.values == array {
                return Some(format!("{own}->vals_cap"));
            }
        }
        None
    }

    /// The local names of a level's positions and coordinates.
    pub(super) fn fields(&mut self, own: &str, (l, level): (usize, &LevelArrays)) -> String {
        let names = [Field::Pos, Field::Crd].map(|field| match level.in_field(field) {
            Some((role, _)) => self.local(&format!("{own}{}_{}", l + 1, role.word())),
            None => "NULL".to_string(),
        });
        names.join(", ")
    }

    /// The local name of a level's table.
    pub(super) fn table(&mut self, own: &str, (l, level): (usize, &LevelArrays)) -> Option<String> {
        let (role, _) = level.in_field(Field::Table)?;
        Some(self.local(&format!("{own}{}_{}", l + 1, role.word())))
    }

    fn hand_over(&mut self, tensor: &TensorArg) {
        let own = self.own(&tensor.name);
        let positions = self.local(&format!("{own}_positions"));
        self.line(&format!("int64_t {positions} = 1;"));
        for (l, level) in tensor.levels.iter().enumerate() {
            if !level.arrays.is_empty() {
                let names = self.fields(&own, (l, level));
                self.line(&format!(
                    "sparsec_set_level({own}, {l}, {names}, {positions});"
                ));
                if let Some(table) = self.table(&own, (l, level)) {
                    self.line(&format!("sparsec_set_table({own}, {l}, {table});"));
                }
            }
            self.line(&format!(
                "{positions} = sparsec_positions({own}, {l}, {positions});"
            ));
        }
        let values = self.local(&format!("{own}_vals"));
        self.line(&format!("{own}->vals = {values};"));
        self.line(&format!("{own}->vals_len = {own}->vals_cap = {positions};"));
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
