//! The text of one kernel: the raw function on plain arrays.

use super::memory;
use super::names::Scopes;
use super::types::c_type;
use super::watch::Watch;
use super::width;
use super::wrap::wrap_call;
use crate::loops::extremes;
use crate::loops::interface::{Arg, Direction, LevelArrays};
use crate::loops::ir::{ArrayId, Kernel, Room, Stmt, Storage, VarId};
use crate::loops::lanes::Lanes;
use crate::loops::operands::{ArrayUse, Operand};
use crate::loops::visit;
use indexmap::IndexMap;
use std::collections::BTreeSet;

/// Prints one kernel. Names are given as declarations are met.
pub(super) struct Printer<'k> {
    pub kernel: &'k Kernel,
    pub(super) names: Vec<String>,
    pub(super) arrays: Vec<String>,
    pub(super) scopes: Scopes,
    pub(super) out: String,
    pub(super) indent: usize,
    /// How many loops stand around, those of threads that run a function too.
    pub(super) loops: usize,
    pub(super) dialect: Dialect,
    pub(super) part: Part,
    /// The loop at hand runs several iterations at a time.
    pub(super) lanes: Option<Lanes>,
    /// Accesses are reported to a checker.
    pub(super) watch: Option<Watch<'k>>,
    /// What grows in the statements at hand.
    pub(super) rooms: Vec<Room>,
    /// Those that are made where it is known how much will be appended.
    pub(super) made_once: BTreeSet<VarId>,
    /// Scalars that are numbers whatever comes (`loops::extremes`).
    pub(super) numbers: BTreeSet<VarId>,
    /// Arrays whose elements are.
    pub(super) number_arrays: BTreeSet<ArrayId>,
    /// The arrays whose elements count, from zero.
    pub(super) counting: BTreeSet<ArrayId>,
    /// Nothing but releases follows in the function.
    pub(super) ends: bool,
    /// The functions of what threads run (`regions.rs`) by their names.
    pub(super) regions: IndexMap<String, String>,
    /// Something can fail, so arrays are freed at the end.
    fallible: bool,
}

/// What the text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// C with OpenMP.
    C,
    /// A kernel of a GPU.
    Device,
}

/// Which statements a function runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Body,
    /// The checks of data-dependent subscripts.
    Checks,
}

/// A parameter of the raw function.
pub(super) struct Param {
    pub text: String,
    pub name: String,
    pub used: bool,
}

impl<'k> Printer<'k> {
    pub(super) fn new(kernel: &'k Kernel) -> Self {
        Printer {
            kernel,
            names: vec![String::new(); kernel.vars.len()],
            arrays: vec![String::new(); kernel.arrays.len()],
            scopes: Scopes::of_kernel(),
            out: String::new(),
            indent: 0,
            loops: 0,
            dialect: Dialect::C,
            part: Part::Body,
            lanes: None,
            watch: None,
            rooms: Vec::new(),
            made_once: BTreeSet::new(),
            numbers: BTreeSet::new(),
            number_arrays: BTreeSet::new(),
            counting: width::counting(kernel),
            ends: false,
            regions: IndexMap::new(),
            fallible: false,
        }
    }

    pub(super) fn var(&self, id: VarId) -> &str {
        &self.names[id.index()]
    }

    pub(super) fn array(&self, id: ArrayId) -> &str {
        &self.arrays[id.index()]
    }

    /// Fixes a variable's text, for expressions outside the kernel.
    pub(super) fn set_name(&mut self, var: VarId, name: String) {
        self.names[var.index()] = name;
    }

    /// Fixes an array's text, for expressions outside the kernel.
    pub(super) fn set_array(&mut self, array: ArrayId, text: String) {
        self.arrays[array.index()] = text;
    }

    /// The signature without a semicolon, as it stands in the header too.
    pub(super) fn signature(&mut self, name: &str, part: Part) -> String {
        self.scopes.open();
        let params = self.params(part);
        let list: Vec<&str> = params.iter().map(|p| p.text.as_str()).collect();
        wrap_call(&format!("int {name}("), &list, ")")
    }

    /// The whole function, behind those of its regions.
    pub(super) fn function(mut self, name: &str, linkage: &str, part: Part) -> String {
        self.scopes.open();
        let body: &[Stmt] = match part {
            Part::Body => &self.kernel.body,
            Part::Checks => &self.kernel.checks,
        };
        let params = self.params(part);
        let list: Vec<&str> = params.iter().map(|p| p.text.as_str()).collect();
        let head = wrap_call(&format!("{linkage}int {name}("), &list, ") {");
        self.out.push_str(&head);
        self.out.push('\n');
        self.indent = 1;
        let unused: Vec<String> = params
            .iter()
            .filter(|p| !p.used)
            .map(|p| format!("(void){};", p.name))
            .collect();
        if !unused.is_empty() {
            self.line(&unused.join(" "));
        }
        if promises(body) {
            self.line("SPARSEC_PROMISES;");
        }
        self.fallible = false;
        self.part = part;
        self.numbers = extremes::numbers(self.kernel);
        self.number_arrays = extremes::number_arrays(self.kernel);
        visit::stmts(body, &mut |s| {
            self.fallible |= matches!(
                s,
                Stmt::Alloc { .. } | Stmt::Append { .. } | Stmt::FailIf { .. }
            );
        });
        let mut owned: Vec<ArrayId> = Vec::new();
        if part == Part::Body {
            owned = self.owned_arrays();
            for &id in &owned {
                let array = self.kernel.array(id);
                let from = match array.storage {
                    Storage::Returned => format!("*{}_out", self.array(id)),
                    Storage::Input | Storage::Output | Storage::Local | Storage::Shared => {
                        "NULL".to_string()
                    }
                };
                let text = format!("{} *{} = {from};", c_type(array.elem), self.array(id));
                self.line(&text);
            }
        }
        let frees = self.fallible && part == Part::Body;
        if frees {
            self.line("int error;");
        }
        let is_free = |stmt: &Stmt| matches!(stmt, Stmt::Free { .. });
        let frees_behind = body.iter().rev().take_while(|stmt| is_free(stmt)).count();
        let (first, last) = body.split_at(body.len() - frees_behind);
        self.stmts(first);
        self.ends = true;
        self.stmts(last);
        if part == Part::Body {
            for &id in &owned {
                if self.kernel.array(id).storage == Storage::Returned {
                    let name = self.array(id).to_string();
                    self.line(&format!("*{name}_out = {name};"));
                }
            }
        }
        let kept = |status: &str| {
            if promises(body) {
                format!("return SPARSEC_KEPT({status});")
            } else {
                format!("return {status};")
            }
        };
        self.line(&kept("SPARSEC_OK"));
        if frees {
            self.indent = 0;
            self.out.push_str("fail:\n");
            self.indent = 1;
            for &id in &owned {
                let name = self.array(id).to_string();
                self.line(&format!("sparsec_release({name});"));
                if self.kernel.array(id).storage == Storage::Returned {
                    // The caller may have brought it along, and would release it once more.
                    self.line(&format!("*{name}_out = NULL;"));
                }
            }
            self.line(&kept("error"));
        }
        self.out.push_str("}\n");
        self.regions.into_values().collect::<String>() + &self.out
    }

    fn owned_arrays(&self) -> Vec<ArrayId> {
        let mut used = BTreeSet::new();
        visit::stmts(&self.kernel.body, &mut |stmt| {
            stmt.operands(&mut |operand| {
                if let Operand::Array(array, ArrayUse::Alloc | ArrayUse::Grow) = operand {
                    used.insert(*array);
                }
            });
        });
        used.into_iter().collect()
    }

    fn params(&mut self, part: Part) -> Vec<Param> {
        let kernel = self.kernel;
        let (vars, arrays) = used_names(match part {
            Part::Body => &kernel.body,
            Part::Checks => &kernel.checks,
        });
        self.reserve_outs();
        let mut params = Vec::new();
        for size in &kernel.interface.sizes {
            let name = self.scopes.fresh(&size.name);
            self.names[size.var.index()].clone_from(&name);
            if size.fixed.is_none() {
                params.push(Param {
                    text: format!("int64_t {name}"),
                    used: vars.contains(&size.var),
                    name,
                });
            }
        }
        for arg in &kernel.interface.args {
            match arg {
                Arg::Scalar { name, var, ty } => {
                    let name = self.scopes.fresh(name);
                    self.names[var.index()].clone_from(&name);
                    params.push(Param {
                        text: format!("{} {name}", c_type(ty.compute())),
                        used: vars.contains(var),
                        name,
                    });
                }
                Arg::Tensor(tensor) => {
                    let levels = tensor.levels.iter().flat_map(LevelArrays::ids);
                    for id in levels.chain([tensor.values]) {
                        let input = tensor.direction == Direction::In;
                        if part == Part::Checks && !input {
                            continue;
                        }
                        params.push(self.array_param(id, &arrays));
                    }
                }
            }
        }
        self.name_arrays();
        if part == Part::Body {
            for room in memory::given_rooms(kernel) {
                let var = kernel.var(room.capacity);
                let name = self.scopes.fresh(&var.name);
                self.names[room.capacity.index()].clone_from(&name);
                params.push(Param {
                    text: format!("int64_t {name}"),
                    used: true,
                    name,
                });
            }
        }
        params
    }

    /// Names all arrays that statements mention and that have no name yet, but those that a block declares.
    pub(super) fn name_arrays(&mut self) {
        let kernel = self.kernel;
        let in_blocks = visit::declared_arrays(&kernel.body);
        let (_, mut mentioned) = used_names(&kernel.body);
        mentioned.extend(used_names(&kernel.checks).1);
        for array in mentioned.difference(&in_blocks) {
            let at = array.index();
            if self.arrays[at].is_empty() {
                self.arrays[at] = self.scopes.fresh(&kernel.array(*array).name);
            }
        }
    }

    /// Where arrays that the kernel makes are handed over.
    pub(super) fn reserve_outs(&mut self) {
        for array in &self.kernel.arrays {
            if array.storage == Storage::Returned {
                let name = super::names::identifier(&array.name);
                self.scopes.reserve(&format!("{name}_out"));
            }
        }
    }

    pub(super) fn array_param(&mut self, id: ArrayId, used: &BTreeSet<ArrayId>) -> Param {
        let array = self.kernel.array(id);
        let name = self.scopes.fresh(&array.name);
        self.arrays[id.index()].clone_from(&name);
        let ty = c_type(array.elem);
        match array.storage {
            Storage::Input => Param {
                text: format!("const {ty} *SPARSEC_RESTRICT {name}"),
                used: used.contains(&id),
                name,
            },
            Storage::Output | Storage::Local | Storage::Shared => Param {
                text: format!("{ty} *SPARSEC_RESTRICT {name}"),
                used: used.contains(&id),
                name,
            },
            Storage::Returned => Param {
                text: format!("{ty} **{name}_out"),
                used: true,
                name: format!("{name}_out"),
            },
        }
    }
}

/// Whether a schedule promises something of what the statements find.
pub(super) fn promises(body: &[Stmt]) -> bool {
    visit::any(body, &|stmt| matches!(stmt, Stmt::Assume { .. }))
}

/// The variables and arrays that statements mention.
pub(super) fn used_names(body: &[Stmt]) -> (BTreeSet<VarId>, BTreeSet<ArrayId>) {
    let mut arrays = BTreeSet::new();
    visit::stmts(body, &mut |stmt| arrays.extend(visit::arrays(stmt)));
    (visit::read_vars(body), arrays)
}
