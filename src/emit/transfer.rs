//! What a function for a GPU does around its launches: it copies operands to the device and
//! results back.

use super::entry::{Entry, is_kept, qualifier, renewing, returned, tensors};
use super::gpu::Api;
use super::host::{Form, Host};
use super::phases::Phases;
use super::stmt::error_name;
use super::types::c_type;
use crate::loops::interface::{Arg, Direction, TensorArg};
use crate::loops::ir::{ArrayId, Expr, Kernel, Stmt, Storage};

/// An array that is allocated once its size is counted: where it stands among the arguments, and
/// its name.
type Later = (usize, ArrayId, String);

/// What functions that launch are given.
struct Given {
    /// Sizes, counts and scalars, of which the workspace's size is computed.
    scalars: Vec<String>,
    args: Vec<String>,
    later: Vec<Later>,
}

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
        let host = Host::new(kernel, api);
        let counts = super::host::returned_counts(kernel);
        let mut given = Given {
            scalars: self.sizes_and_counts(),
            args: Vec::new(),
            later: Vec::new(),
        };
        let memory = self.local("memory");
        let workspace = self.local("workspace");
        self.line(&format!("sparsec_memory {memory};"));
        for arg in &kernel.interface.args {
            match arg {
                Arg::Scalar { name, .. } => {
                    given.args.push(self.own(name));
                    given.scalars.push(self.own(name));
                }
                Arg::Tensor(tensor) => self.upload(tensor, &host, &memory, &counts, &mut given),
            }
        }
        self.launch(&host, (&memory, workspace), &counts, given);
        for tensor in tensors(kernel) {
            if tensor.direction != Direction::In {
                self.download(tensor);
            }
        }
    }

    /// The sizes that are arguments, and counts of elements, which the tensors tell.
    fn sizes_and_counts(&mut self) -> Vec<String> {
        let interface = &self.kernel.interface;
        let mut scalars = Vec::new();
        for size in &interface.sizes {
            if size.fixed.is_none() {
                scalars.push(self.size(size.var));
            }
        }
        for count in &interface.counts {
            if let Some(Arg::Tensor(t)) = interface.args.get(count.arg) {
                let own = self.own(&t.name);
                let name = self.size(count.var);
                self.line(&format!(
                    "int64_t {name} = sparsec_parents({own}, {});",
                    count.level + 1
                ));
                scalars.push(name);
            }
        }
        scalars
    }

    /// Copies the arrays of a tensor, or makes room for those of a result.
    fn upload(
        &mut self,
        tensor: &TensorArg,
        host: &Host,
        memory: &str,
        counts: &[(ArrayId, Expr)],
        given: &mut Given,
    ) {
        let kernel = self.kernel;
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
        let grown = host.grown();
        for (id, name, upload) in arrays {
            let ty = c_type(kernel.array(id).elem);
            if grown.contains(&id) {
                match host.phases {
                    None => {
                        self.line(&format!("{ty} *{name} = NULL;"));
                        given.args.push(format!("&{name}"));
                    }
                    Some(_) => given.later.push((given.args.len(), id, name)),
                }
                continue;
            }
            let room = counts.iter().find(|(array, _)| *array == id);
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
            given.args.push(name);
        }
    }

    /// Calls what launches the kernels, with a workspace and a status where they need them.
    fn launch(
        &mut self,
        host: &Host,
        (memory, workspace): (&str, String),
        counts: &[(ArrayId, Expr)],
        given: Given,
    ) {
        let Given {
            scalars,
            args,
            later,
        } = given;
        let sizes = scalars.iter().filter(|s| !args.contains(s));
        let sizes: Vec<String> = sizes.cloned().collect();
        if host.phases.is_none() && host.form == Form::Run {
            let all = [sizes, args, vec![format!("&{memory}"), "0".to_string()]].concat();
            self.line(&format!("if ({memory}.error) return {memory}.error;"));
            self.launches("run", &all);
            return;
        }
        let call = format!("{}_workspace({})", self.name, scalars.join(", "));
        self.line(&format!(
            "void *{workspace} = {memory}.room((int64_t){call}, 1);"
        ));
        let tail = [workspace, "0".to_string()];
        if let Some(phases) = &host.phases {
            self.both_phases(phases, memory, (counts, later), (&sizes, args, &tail));
            return;
        }
        let status = host.status.map(|_| self.status_room(memory));
        self.line(&format!("if ({memory}.error) return {memory}.error;"));
        let told: Vec<String> = status.iter().cloned().collect();
        self.launches("device", &[&sizes, args.as_slice(), &told, &tail].concat());
        if let Some(status) = status {
            self.fetch_status(&status);
        }
    }

    /// Fetches a result: what the kernel wrote into the caller's arrays, or all that it made.
    fn download(&mut self, tensor: &TensorArg) {
        let kernel = self.kernel;
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
            return;
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
