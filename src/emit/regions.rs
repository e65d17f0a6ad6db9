//! Functions for what threads run of a loop, where a pass has marked it (`loops/functions.rs`). What shares rows out stays a
//! function, the others are left to the compiler.

use super::kernel::{Part, Printer, used_names};
use super::names;
use super::shares::Shares;
use super::types::c_type;
use super::wrap::wrap_call;
use crate::loops::functions;
use crate::loops::ir::{ArrayId, ExprKind, LoopTag, Piece, Stmt, Storage, VarId};
use crate::loops::operands::{ArrayUse, Operand};
use crate::loops::visit;
use crate::target::Target;
use std::collections::{BTreeMap, BTreeSet};

/// A region on its way into text.
struct Region {
    shares: Option<Shares>,
    /// The loop's variable.
    name: String,
    function: String,
    /// What is returned.
    value: Option<String>,
    /// Of the function, as declared and as given.
    params: Vec<String>,
    args: Vec<String>,
}

impl Printer<'_> {
    /// Writes a loop of which threads run a function, and the function.
    pub(super) fn region(&mut self, stmt: &Stmt) -> bool {
        let Stmt::For {
            var,
            lo,
            hi,
            tag,
            body,
            ..
        } = stmt
        else {
            return false;
        };
        // What watches races stands beside the statements of the loop.
        let here = self.part == Part::Body && self.watch.is_none();
        let Some(returned) =
            functions::returned(self.kernel, tag).filter(|_| tag.function.is_some() && here)
        else {
            return false;
        };
        let Some(given) = self.given(stmt) else {
            return false;
        };
        let shares = self.shares(stmt);
        let (lo, hi) = (self.expr(lo), self.compared(hi));
        self.scopes.open();
        let name = self.declare(*var);
        let own: Vec<String> = match &shares {
            Some(shares) => shares.names.to_vec(),
            None => {
                let is_read = visit::read_vars(body).contains(var);
                is_read.then(|| name.clone()).into_iter().collect()
            }
        };
        let declared = own.iter().map(|name| format!("int64_t {name}"));
        let (texts, names): (Vec<String>, Vec<String>) = given.into_iter().unzip();
        let region = Region {
            function: self.region_name(),
            value: returned.map(|var| self.var(var).to_string()),
            params: declared.chain(texts).collect(),
            args: [own, names].concat(),
            shares,
            name,
        };
        self.called(&region, tag, (&lo, &hi));
        let text = self.function_of(&region, stmt);
        self.regions.insert(region.function, text);
        self.scopes.close();
        true
    }

    /// The loop that calls the region's function.
    fn called(&mut self, region: &Region, tag: &LoopTag, (lo, hi): (&str, &str)) {
        let name = &region.name;
        if let Some(shares) = &region.shares {
            self.line(&shares.count);
        }
        self.loop_pragmas(tag);
        match &region.shares {
            Some(shares) => self.line(&shares.around),
            None => {
                self.line(&format!(
                    "for (int64_t {name} = {lo}; {name} < {hi}; {name}++) {{"
                ));
                self.jammed(tag.jam);
            }
        }
        self.indent += 1;
        let noted = (region.value.as_ref()).map_or(String::new(), |value| format!("{value} |= "));
        let (function, args) = (&region.function, region.args.join(", "));
        self.line(&format!("{noted}{function}({args});"));
        self.indent -= 1;
        self.line("}");
    }

    /// The text of the region's function, under the names of here.
    fn function_of(&mut self, region: &Region, stmt: &Stmt) -> String {
        let Stmt::For { var, tag, body, .. } = stmt else {
            return String::new();
        };
        let around = (std::mem::take(&mut self.out), self.indent);
        self.indent = 0;
        let over = &self.kernel.var(*var).name;
        let (what, stays) = match region.shares {
            Some(_) => ("A thread's share", "SPARSEC_NOINLINE "),
            None => ("An iteration", ""),
        };
        self.line(&format!("/* {what} of the loop over {over}. */"));
        let ty = region.value.as_ref().map_or("void", |_| "bool");
        let params: Vec<&str> = region.params.iter().map(String::as_str).collect();
        let head = format!("{stays}static {ty} {}(", region.function);
        let head = wrap_call(&head, &params, ") {");
        self.out.push_str(&head);
        self.out.push('\n');
        self.indent = 1;
        if let Some(value) = &region.value {
            self.line(&format!("bool {value} = false;"));
        }
        if let Some(shares) = &region.shares {
            let (name, begin, end) = (&region.name, &shares.begin, &shares.end);
            self.line(&shares.declared);
            self.line(&format!(
                "for (int64_t {name} = {begin}; {name} < {end}; {name}++) {{"
            ));
            self.jammed(tag.jam);
            self.loop_body(body);
            self.line("}");
        } else {
            self.indent = 0;
            self.loop_body(body);
            self.indent = 1;
        }
        if let Some(value) = &region.value {
            self.line(&format!("return {value};"));
        }
        self.indent = around.1;
        self.out.push_str("}\n\n");
        std::mem::replace(&mut self.out, around.0)
    }

    /// A name for the function of the next region. A name of the program's is one only where it stands.
    fn region_name(&mut self) -> String {
        let kernel = names::function(&self.kernel.name, Target::C);
        let mut number = self.regions.len() + 1;
        loop {
            let name = match number {
                1 => format!("{kernel}_loop"),
                n => format!("{kernel}_loop{n}"),
            };
            let name = self.scopes.fresh(&name);
            if !self.regions.contains_key(&name) {
                return name;
            }
            number += 1;
        }
    }

    /// What a region is told of its surroundings: the texts of parameters, and their names.
    fn given(&self, stmt: &Stmt) -> Option<Vec<(String, String)>> {
        let Stmt::For {
            var,
            lo,
            hi,
            tag,
            body,
            ..
        } = stmt
        else {
            return None;
        };
        let (mut vars, mut arrays) = used_names(body);
        let declared = visit::declared(body);
        if tag.function == Some(Piece::Share) {
            arrays.extend(tag.shares());
            for bound in [lo, hi] {
                visit::expr(bound, &mut |node| {
                    if let ExprKind::Var(var) = node.kind {
                        vars.insert(var);
                    } else if let ExprKind::Load { array, .. } = node.kind {
                        arrays.insert(array);
                    }
                });
            }
        }
        vars.retain(|own| own != var && !declared.contains(own));
        let own = visit::declared_arrays(body);
        arrays.retain(|array| !own.contains(array));
        let uses = Uses::of(body, &arrays, &self.parts());
        let of_var = |&var: &VarId| {
            let name = self.var(var);
            let is_name = names::identifier(name) == name;
            let ty = c_type(self.kernel.var(var).ty);
            is_name.then(|| (format!("{ty} {name}"), name.to_string()))
        };
        let of_array = |&array: &ArrayId| {
            let name = self.array(array);
            let decl = self.kernel.array(array);
            let reads = decl.storage == Storage::Input || !uses.written.contains(&array);
            let constant = if reads { "const " } else { "" };
            let apart = match uses.shared.contains(&array) {
                true => "",
                false => "SPARSEC_RESTRICT ",
            };
            let ty = c_type(decl.elem);
            Some((format!("{constant}{ty} *{apart}{name}"), name.to_string()))
        };
        let vars = vars.iter().map(of_var);
        vars.chain(arrays.iter().map(of_array)).collect()
    }

    /// Each array that is a part of another, and that one.
    fn parts(&self) -> BTreeMap<ArrayId, ArrayId> {
        let mut found = BTreeMap::new();
        visit::stmts(&self.kernel.body, &mut |stmt| {
            if let Stmt::Slice { array, of, .. } = stmt {
                found.insert(*array, *of);
            }
        });
        found
    }
}

/// What the statements of a region do to arrays.
struct Uses {
    written: BTreeSet<ArrayId>,
    /// Other threads may write the same elements, or another name is one for the same.
    shared: BTreeSet<ArrayId>,
}

impl Uses {
    /// `named`: the arrays that the function is told of. `parts`: those that are parts of others, and the others.
    fn of(body: &[Stmt], named: &BTreeSet<ArrayId>, parts: &BTreeMap<ArrayId, ArrayId>) -> Self {
        let mut written = BTreeSet::new();
        let mut shared = BTreeSet::new();
        visit::stmts(body, &mut |stmt| {
            stmt.operands(&mut |operand| {
                let Operand::Array(array, how) = operand else {
                    return;
                };
                match how {
                    ArrayUse::Read | ArrayUse::Declare | ArrayUse::Alias => {}
                    ArrayUse::Part
                    | ArrayUse::Alloc
                    | ArrayUse::Grow
                    | ArrayUse::Free
                    | ArrayUse::Write
                    | ArrayUse::Exchange => {
                        written.insert(*array);
                    }
                }
            });
            if let Stmt::Store {
                array,
                atomic: true,
                ..
            }
            | Stmt::Take { array, .. } = stmt
            {
                shared.insert(*array);
                // What is made a part in here is based on a parameter.
                shared.extend(parts.get(array));
            }
        });
        let whole = |array: &ArrayId| *parts.get(array).unwrap_or(array);
        let same = |array: &ArrayId| {
            named
                .iter()
                .filter(|other| whole(other) == whole(array))
                .count()
                > 1
        };
        shared.extend(named.iter().copied().filter(same));
        Uses { written, shared }
    }
}
