//! What a function for a GPU does around its launches: it copies operands to the device and
//! results back.

use super::entry::{Entry, is_kept, qualifier, renewing, returned, tensors};
use super::gpu::Api;
use super::host::Form;
use super::phases::Phases;
use super::stmt::error_name;
use super::types::c_type;
use crate::loops::interface::{Arg, Direction};
use crate::loops::ir::{ArrayId, Expr, Kernel, Stmt, Storage};

/// An array that is allocated once its size is counted: where it stands among the arguments, and
/// its name.
type Later = (usize, ArrayId, String);

/// The definition of the checked function of a GPU's kernel: copies to the device and back.
#[must_use]
pub(super) fn definition(kernel: &Kernel, api: &'static Api) -> String {
    let mut entry = Entry::new(kernel, api.target);
    entry.begin();
    entry.device_call(api);
    entry.line("return SPARSEC_OK;");
    entry.out.push_str("}\n");
    entry.out + &renewing(kernel, api.target)
}

impl Entry<'_> {
    /// Copies what the device needs, launches, and fetches the results.
    fn device_call(&mut self, api: &'static Api) {
        let kernel = self.kernel;
        let host = super::host::Host::new(kernel, api);
        let grown = host.grown();
        let phases = host.phases.as_ref();
        let counts = super::host::returned_counts(kernel);
        let mut args = Vec::new();
        let mut scalars = Vec::new();
        let mut later: Vec<Later> = Vec::new();
        for size in &kernel.interface.sizes {
            if size.fixed.is_none() {
                scalars.push(self.size(size.var));
            }
        }
        for count in &kernel.interface.counts {
            if let Some(Arg::Tensor(t)) = kernel.interface.args.get(count.arg) {
                let own = self.own(&t.name);
                let name = self.size(count.var);
                self.line(&format!(
                    "int64_t {name} = sparsec_parents({own}, {});",
                    count.level + 1
                ));
                scalars.push(name);
            }
        }
        let memory = self.local("memory");
        let workspace = self.local("workspace");
        self.line(&format!("sparsec_memory {memory};"));
        for arg in &kernel.interface.args {
            let tensor = match arg {
                Arg::Scalar { name, .. } => {
                    args.push(self.own(name));
                    scalars.push(self.own(name));
                    continue;
                }
                Arg::Tensor(t) => t,
            };
            let own = self.own(&tensor.name);
            let given_back = returned(kernel, tensor);
            let mut arrays = Vec::new();
            for (l, level) in tensor.levels.iter().enumerate() {
                for &(role, id) in &level.arrays {
                    let what = role.word();
                    arrays.push((
                        id,
                        self.local(&format!("{own}{}_{what}", l + 1)),
                        format!("sparsec_upload_{what}(&{memory}, {own}, {l})"),
                    ));
                }
            }
            let upload = if tensor.direction == Direction::Out || is_kept(kernel, tensor) {
                format!("sparsec_room_vals(&{memory}, {own})")
            } else {
                format!("sparsec_upload_vals(&{memory}, {own})")
            };
            arrays.push((tensor.values, self.local(&format!("{own}_vals")), upload));
            for (id, name, upload) in arrays {
                let ty = c_type(kernel.array(id).elem);
                let room = counts.iter().find(|(array, _)| *array == id);
                if grown.contains(&id) {
                    match phases {
                        None => {
                            self.line(&format!("{ty} *{name} = NULL;"));
                            args.push(format!("&{name}"));
                        }
                        Some(_) => later.push((args.len(), id, name)),
                    }
                    continue;
                }
                let from = match (given_back, room) {
                    (true, Some((_, count))) => {
                        format!("{memory}.room({}, sizeof({ty}))", self.dim_text(count))
                    }
                    (true, None) | (false, _) => upload,
                };
                let constant = qualifier(kernel, id);
                self.line(&format!(
                    "{constant}{ty} *{name} = ({constant}{ty} *){from};"
                ));
                args.push(name);
            }
        }
        let sizes: Vec<String> = scalars
            .iter()
            .filter(|s| !args.contains(s))
            .cloned()
            .collect();
        if phases.is_none() && host.form == Form::Run {
            let all = [sizes, args, vec![format!("&{memory}"), "0".to_string()]].concat();
            self.line(&format!("if ({memory}.error) return {memory}.error;"));
            self.launches("run", &all);
        } else {
            let call = format!("{}_workspace({})", self.name, scalars.join(", "));
            self.line(&format!(
                "void *{workspace} = {memory}.room((int64_t){call}, 1);"
            ));
            let tail = [workspace, "0".to_string()];
            match phases {
                Some(phases) => {
                    self.both_phases(phases, &memory, (&counts, later), (&sizes, args, &tail));
                }
                None => {
                    let status = host.status.map(|_| self.status_room(&memory));
                    self.line(&format!("if ({memory}.error) return {memory}.error;"));
                    let told: Vec<String> = status.iter().cloned().collect();
                    self.launches("device", &[&sizes, args.as_slice(), &told, &tail].concat());
                    if let Some(status) = status {
                        self.fetch_status(&status);
                    }
                }
            }
        }
        for tensor in tensors(kernel) {
            if tensor.direction == Direction::In {
                continue;
            }
            let own = self.own(&tensor.name);
            let values = self.local(&format!("{own}_vals"));
            if !returned(kernel, tensor) {
                for (l, level) in tensor.levels.iter().enumerate() {
                    let written = |id| kernel.array(id).storage != Storage::Input;
                    for (role, _) in level.arrays.iter().filter(|(_, id)| written(*id)) {
                        let what = role.word();
                        let array = self.local(&format!("{own}{}_{what}", l + 1));
                        self.try_call(&format!("sparsec_download_{what}({own}, {l}, {array})"));
                    }
                }
                self.try_call(&format!("sparsec_download_vals({own}, {values})"));
                continue;
            }
            for (l, level) in tensor.levels.iter().enumerate() {
                if !level.arrays.is_empty() {
                    let names = self.fields(&own, (l, level));
                    self.try_call(&format!("sparsec_download_level({own}, {l}, {names})"));
                    if let Some(table) = self.table(&own, (l, level)) {
                        self.try_call(&format!("sparsec_download_table({own}, {l}, {table})"));
                    }
                }
            }
            self.try_call(&format!("sparsec_download_result({own}, {values})"));
        }
    }

    /// Room for the status on the device.
    fn status_room(&mut self, memory: &str) -> String {
        let status = self.local("status");
        self.line(&format!(
            "int64_t *{status} = (int64_t *){memory}.room(1, sizeof(int64_t));"
        ));
        status
    }

    /// Fails if the device says so.
    fn fetch_status(&mut self, status: &str) {
        let told = self.local("told");
        self.line(&format!("int64_t {told}[1];"));
        self.try_call(&format!(
            "sparsec_fetch({told}, {status}, 1, sizeof *{told}, 0)"
        ));
        self.line(&format!(
            "if ({told}[0]) return sparsec_fail_code((int){told}[0]);"
        ));
    }

    /// Calls a function that launches.
    fn launches(&mut self, function: &str, args: &[String]) {
        self.call(&format!("{}_{function}", self.name), args);
        if self.kernel.promises() {
            self.line("error = SPARSEC_KEPT(error);");
        }
        self.line("if (error) return sparsec_fail_code(error);");
    }

    /// Counts, makes the room, and fills it.
    fn both_phases(
        &mut self,
        phases: &Phases,
        memory: &str,
        (counts, later): (&[(ArrayId, Expr)], Vec<Later>),
        (sizes, mut args, tail): (&[String], Vec<String>, &[String]),
    ) {
        let kernel = self.kernel;
        let (totals, counted) = (self.local("totals"), self.local("counted"));
        let (ty, n) = (c_type(kernel.array(phases.totals).elem), phases.vars.len());
        self.line(&format!(
            "{ty} *{totals} = ({ty} *){memory}.room({n}, sizeof({ty}));"
        ));
        self.line(&format!("if ({memory}.error) return {memory}.error;"));
        let count = [sizes, args.as_slice(), std::slice::from_ref(&totals), tail].concat();
        self.launches("count_device", &count);
        self.line(&format!("{ty} {counted}[{n}];"));
        self.try_call(&format!(
            "sparsec_fetch({counted}, {totals}, {n}, sizeof *{counted}, 0)"
        ));
        let mut told = Vec::new();
        for (at, &var) in phases.vars.iter().enumerate() {
            let name = self.total(var);
            self.line(&format!("{ty} {name} = {counted}[{at}];"));
            told.push(name);
        }
        for stmt in kernel.body.iter().skip(phases.at) {
            if let Stmt::FailIf { cond, code } = stmt {
                let (cond, code) = (self.dim_text(cond), error_name(*code));
                self.line(&format!("if ({cond}) return sparsec_fail_code({code});"));
            }
        }
        for (place, (at, array, name)) in later.into_iter().enumerate() {
            let ty = c_type(kernel.array(array).elem);
            let room = counts.iter().find(|(id, _)| *id == array);
            let room = room.map_or("0".to_string(), |(_, count)| self.dim_text(count));
            self.line(&format!(
                "{ty} *{name} = ({ty} *){memory}.room({room}, sizeof({ty}));"
            ));
            args.insert(at + place, name);
        }
        self.line(&format!("if ({memory}.error) return {memory}.error;"));
        self.launches(
            "fill_device",
            &[sizes, args.as_slice(), &told, tail].concat(),
        );
    }
}
