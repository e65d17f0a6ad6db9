//! The arrays of tensors: shapes of results, arguments of the function with arrays, and what that gives back.

use super::{Entry, qualifier, returned, tensors};
use crate::emit::kernel::Part;
use crate::emit::memory;
use crate::emit::types::c_type;
use crate::level::Field;
use crate::loops::interface::{Arg, Direction, LevelArrays, TensorArg};
use crate::loops::ir::ArrayId;

impl Entry<'_> {
    /// The array of a tensor's extents, which is declared where it is asked for first.
    pub(super) fn dims_of(&mut self, tensor: &TensorArg) -> String {
        if tensor.dims.is_empty() {
            return "NULL".to_string();
        }
        let dims: Vec<String> = tensor.dims.iter().map(|d| self.dim_number(d)).collect();
        let want = format!("{}_dims", self.own(&tensor.name));
        let known = self.locals.contains_key(&want);
        let name = self.local(&want);
        if !known {
            self.line(&format!("int64_t {name}[] = {{{}}};", dims.join(", ")));
        }
        name
    }

    pub(super) fn make_result(&mut self, tensor: &TensorArg) {
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
    pub(super) fn raw_args(&mut self, part: Part) -> Vec<String> {
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
    pub(in crate::emit) fn fields(
        &mut self,
        own: &str,
        (l, level): (usize, &LevelArrays),
    ) -> String {
        let names = [Field::Pos, Field::Crd].map(|field| match level.in_field(field) {
            Some((role, _)) => self.local(&format!("{own}{}_{}", l + 1, role.word())),
            None => "NULL".to_string(),
        });
        names.join(", ")
    }

    /// The local name of a level's table.
    pub(in crate::emit) fn table(
        &mut self,
        own: &str,
        (l, level): (usize, &LevelArrays),
    ) -> Option<String> {
        let (role, _) = level.in_field(Field::Table)?;
        Some(self.local(&format!("{own}{}_{}", l + 1, role.word())))
    }

    pub(super) fn hand_over(&mut self, tensor: &TensorArg) {
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
