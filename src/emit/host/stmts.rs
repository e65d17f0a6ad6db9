//! What the host does, statement by statement: rooms, launches, and what it asks the device for.

use super::{Form, Host};
use crate::emit::stmt::error_name;
use crate::emit::types::c_type;
use crate::emit::wrap::wrap_call;
use crate::loops::build as b;
use crate::loops::device::ir::{Retry, Scan};
use crate::loops::ir::{ArrayId, Device, Expr, ReduceOp, Stmt, Storage, VarId};
use crate::loops::visit;

impl Host<'_> {
    pub(super) fn stmts(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    fn nested(&mut self, body: &[Stmt]) {
        self.printer.scopes.open();
        self.printer.indent += 1;
        self.stmts(body);
        self.printer.indent -= 1;
        self.printer.scopes.close();
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Alloc {
                array,
                count,
                zeroed,
            } => self.alloc(*array, count, *zeroed),
            Stmt::Fill {
                array,
                start,
                count,
                ..
            } => {
                let name = self.printer.array(*array).to_string();
                let from = match b::as_int(start) {
                    Some(0) => name.clone(),
                    Some(_) | None => format!("{name} + {}", self.printer.compared(start)),
                };
                let count = self.printer.expr(count);
                self.printer.line(&format!(
                    "SPARSEC_TRY(sparsec_clear({from}, {count}, sizeof *{name}, stream));"
                ));
            }
            Stmt::Device(Device::Launch { grid, block, .. }) => self.launch(grid, *block),
            Stmt::Device(Device::Retry(retry)) => self.retry(retry),
            Stmt::Device(Device::Scan(scan)) => self.scan(scan),
            Stmt::Device(Device::Fetch { totals, vars }) => self.fetch(*totals, vars),
            Stmt::FailIf { cond, code } => {
                let cond = self.printer.expr(cond);
                let code = error_name(*code);
                self.printer.line(&format!("if ({cond}) return {code};"));
            }
            Stmt::For {
                var, lo, hi, body, ..
            } => {
                let (lo, hi) = (self.printer.expr(lo), self.printer.compared(hi));
                self.printer.scopes.open();
                let name = self.printer.declare(*var);
                self.printer.line(&format!(
                    "for (int64_t {name} = {lo}; {name} < {hi}; {name}++) {{"
                ));
                self.nested(body);
                self.printer.scopes.close();
                self.printer.line("}");
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                let cond = self.printer.expr(cond);
                self.printer.line(&format!("if ({cond}) {{"));
                self.nested(then);
                if !otherwise.is_empty() {
                    self.printer.line("} else {");
                    self.nested(otherwise);
                }
                self.printer.line("}");
            }
            Stmt::Let { var, .. } if self.form != Form::Run && !self.read.contains(var) => {}
            Stmt::Let { .. } | Stmt::Assume { .. } | Stmt::Prefetch { .. } | Stmt::Comment(_) => {
                self.printer.stmt(stmt)
            }
            // Placement leaves none of these on the host; what it left would not compile.
            Stmt::Assign { .. }
            | Stmt::Store { .. }
            | Stmt::While { .. }
            | Stmt::Append { .. }
            | Stmt::Grow { .. }
            | Stmt::Trim { .. }
            | Stmt::Declare { .. }
            | Stmt::Slice { .. }
            | Stmt::Free { .. }
            | Stmt::Search { .. }
            | Stmt::Enter { .. }
            | Stmt::Take { .. }
            | Stmt::Sort { .. }
            | Stmt::Scan { .. }
            | Stmt::Device(_) => {
                debug_assert!(false, "on the host: {stmt:?}");
                self.printer
                    .line("#error a statement of the device on the host");
            }
        }
    }

    fn alloc(&mut self, array: ArrayId, count: &Expr, zeroed: bool) {
        let name = self.printer.array(array).to_string();
        let own = self.kernel.array(array);
        let count = self.printer.number(count);
        let ty = c_type(own.elem);
        let is_local = own.storage == Storage::Local && !self.is_totals(array);
        match self.form {
            Form::Run if own.storage == Storage::Local => {
                self.printer.line(&format!(
                    "{ty} *{name} = ({ty} *)memory->room({count}, sizeof({ty}));"
                ));
                self.printer.line("SPARSEC_TRY(memory->error);");
            }
            Form::Run if self.grown.contains(&array) => self.printer.line(&format!(
                "SPARSEC_TRY(memory->resize((void **)&{name}, {count}, sizeof *{name}));"
            )),
            Form::Count | Form::Fill if is_local && !self.named.contains(&array) => self
                .printer
                .line(&format!("sparsec_take(&room, {count}, sizeof({ty}));")),
            Form::Device | Form::Count | Form::Fill if is_local => self.printer.line(&format!(
                "{ty} *{name} = ({ty} *)sparsec_take(&room, {count}, sizeof({ty}));"
            )),
            // The caller's.
            Form::Run | Form::Device | Form::Count | Form::Fill => {}
        }
        if zeroed {
            self.printer.line(&format!(
                "SPARSEC_TRY(sparsec_clear({name}, {count}, sizeof *{name}, stream));"
            ));
        }
    }

    /// Whether it is what a caller gives for counts, or for a status.
    pub(in crate::emit) fn is_totals(&self, array: ArrayId) -> bool {
        let phases = self.phases.as_ref();
        self.status == Some(array) || phases.is_some_and(|phases| phases.totals == array)
    }

    /// Whether arrays are taken from the workspace.
    pub(super) fn takes(&self, body: &[Stmt]) -> bool {
        visit::any(body, &|s| {
            matches!(s, Stmt::Alloc { array, .. }
                if self.kernel.array(*array).storage == Storage::Local && !self.is_totals(*array))
        })
    }

    /// The elements behind the first become running sums, all of them running maxima.
    fn scan(&mut self, scan: &Scan) {
        let array = self.printer.array(scan.array).to_string();
        let sums = self.printer.array(scan.sums).to_string();
        let call = match (scan.op, scan.total) {
            (ReduceOp::Max, _) => {
                let count = self.printer.expr(&b::add(scan.count.clone(), b::int(1)));
                format!("sparsec_running_maxima({array}, {count}, {sums}, stream)")
            }
            (_, total) => {
                let count = self.printer.expr(&scan.count);
                let total = match total {
                    None => "NULL".to_string(),
                    Some((totals, 0)) => self.printer.array(totals).to_string(),
                    Some((totals, at)) => format!("{} + {at}", self.printer.array(totals)),
                };
                format!("sparsec_running_sums({array} + 1, {count}, {sums}, {total}, stream)")
            }
        };
        self.printer.line(&format!("SPARSEC_TRY({call});"));
    }

    fn fetch(&mut self, totals: ArrayId, vars: &[VarId]) {
        let from = self.printer.array(totals).to_string();
        let (own, count) = (self.printer.scopes.fresh("counted"), vars.len());
        self.printer.line(&format!("int64_t {own}[{count}];"));
        self.printer.line(&format!(
            "SPARSEC_TRY(sparsec_fetch({own}, {from}, {count}, sizeof *{own}, stream));"
        ));
        for (at, &var) in vars.iter().enumerate() {
            let name = self.printer.declare(var);
            self.printer.line(&format!("int64_t {name} = {own}[{at}];"));
        }
    }

    fn launch(&mut self, grid: &[Expr; 3], block: [u32; 3]) {
        let Some(launch) = self.launches.get(self.next) else {
            return;
        };
        self.next += 1;
        for (array, bytes) in &launch.aligned {
            let name = self.printer.array(*array);
            let text = format!("SPARSEC_TRY(sparsec_need_aligned({name}, {bytes}, \"{name}\"));");
            self.printer.line(&text);
        }
        let mut args = vec![launch.name.clone()];
        args.extend(grid.iter().map(|e| self.printer.expr(e)));
        args.push(format!("dim3({}, {}, {})", block[0], block[1], block[2]));
        args.push("stream".to_string());
        args.extend(launch.vars.iter().map(|v| self.printer.var(*v).to_string()));
        args.extend(
            launch
                .arrays
                .iter()
                .map(|a| self.printer.array(*a).to_string()),
        );
        let list: Vec<&str> = args.iter().map(String::as_str).collect();
        let pad = "    ".repeat(self.printer.indent);
        let call = wrap_call("SPARSEC_TRY(sparsec_launch(", &list, "));");
        let call = call.replace('\n', &format!("\n{pad}"));
        self.printer.line(&call);
    }

    fn retry(&mut self, retry: &Retry) {
        if self.status == Some(retry.needs) {
            // The caller looks at it.
            return self.stmts(&retry.body);
        }
        let again = !retry.rooms.is_empty();
        self.printer.line(if again { "for (;;) {" } else { "{" });
        self.printer.indent += 1;
        let mut fits = Vec::new();
        for (at, room) in retry.rooms.iter().enumerate() {
            let capacity = self.printer.var(room.capacity).to_string();
            for &array in &room.arrays {
                let name = self.printer.array(array).to_string();
                self.printer.line(&format!(
                    "SPARSEC_TRY(memory->resize((void **)&{name}, {capacity}, sizeof *{name}));"
                ));
            }
            fits.push(format!("needed[{at}] <= {capacity}"));
        }
        self.stmts(&retry.body);
        let count = retry.rooms.len() + 1;
        let needs = self.printer.array(retry.needs).to_string();
        self.printer.line(&format!("int64_t needed[{count}];"));
        self.printer.line(&format!(
            "SPARSEC_TRY(sparsec_fetch(needed, {needs}, {count}, sizeof *needed, stream));"
        ));
        let last = count - 1;
        self.printer
            .line(&format!("if (needed[{last}]) return (int)needed[{last}];"));
        if again {
            self.printer
                .line(&format!("if ({}) break;", fits.join(" && ")));
        }
        for (at, room) in retry.rooms.iter().enumerate() {
            let capacity = self.printer.var(room.capacity).to_string();
            self.printer.line(&format!(
                "{capacity} = sparsec_max_int64({capacity}, needed[{at}]);"
            ));
        }
        self.printer.indent -= 1;
        self.printer.line("}");
    }
}
