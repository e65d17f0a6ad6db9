//! What a function for a GPU does around its launches: it copies operands to the device and
//! results back.

use super::entry::{Entry, returned, tensors};
use super::types::c_type;
use crate::loops::interface::{Arg, Direction};
use crate::loops::ir::Kernel;
use crate::target::Target;

/// The definition of the checked function of a GPU's kernel: copies to the device and back.
#[must_use]
pub fn cuda_definition(kernel: &Kernel) -> String {
    let mut entry = Entry::new(kernel, Target::Cuda);
    entry.begin();
    entry.device_call();
    entry.line("return SPARSEC_OK;");
    entry.out.push_str("}\n");
    entry.out
}

impl Entry<'_> {
    /// Copies what the device needs, launches, and fetches the results.
    fn device_call(&mut self) {
        let kernel = self.kernel;
        let host = super::host::Host::new(kernel);
        let grown = host.grown();
        let counts = super::host::returned_counts(kernel);
        let mut args = Vec::new();
        let mut scalars = Vec::new();
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
            let constant = if tensor.direction == Direction::In {
                "const "
            } else {
                ""
            };
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
            let upload = if tensor.direction == Direction::Out {
                format!("sparsec_room_vals(&{memory}, {own})")
            } else {
                format!("sparsec_upload_vals(&{memory}, {own})")
            };
            arrays.push((tensor.values, self.local(&format!("{own}_vals")), upload));
            for (id, name, upload) in arrays {
                let ty = c_type(kernel.array(id).elem);
                let room = counts.iter().find(|(array, _)| *array == id);
                if grown.contains(&id) {
                    self.line(&format!("{ty} *{name} = NULL;"));
                    args.push(format!("&{name}"));
                    continue;
                }
                let from = match (given_back, room) {
                    (true, Some((_, count))) => {
                        format!("{memory}.room({}, sizeof({ty}))", self.dim_text(count))
                    }
                    (true, None) | (false, _) => upload,
                };
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
        let mut all = sizes;
        all.append(&mut args);
        let runs = host.grows();
        if runs {
            all.push(format!("&{memory}"));
        } else {
            let call = format!("{}_workspace({})", self.name, scalars.join(", "));
            self.line(&format!(
                "void *{workspace} = {memory}.room((int64_t){call}, 1);"
            ));
            all.push(workspace);
        }
        all.push("0".to_string());
        self.line(&format!("if ({memory}.error) return {memory}.error;"));
        let function = if runs { "run" } else { "device" };
        self.call(&format!("{}_{function}", self.name), &all);
        if kernel.promises() {
            self.line("error = SPARSEC_KEPT(error);");
        }
        self.line("if (error) return sparsec_fail_code(error);");
        for tensor in tensors(kernel) {
            if tensor.direction == Direction::In {
                continue;
            }
            let own = self.own(&tensor.name);
            let values = self.local(&format!("{own}_vals"));
            if !returned(kernel, tensor) {
                for (l, level) in tensor.levels.iter().enumerate() {
                    for (role, _) in &level.arrays {
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
                }
            }
            self.try_call(&format!("sparsec_download_result({own}, {values})"));
        }
    }
}
