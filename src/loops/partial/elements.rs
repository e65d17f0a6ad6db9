//! How many elements operands have, so that loads can be tested against the end of their arrays.

use super::super::build as b;
use super::super::interface::{Arg, Direction};
use super::super::ir::{ArrayId, Kernel, ScalarType, Stmt, VarId};
use std::collections::BTreeMap;

/// The operands whose numbers of elements are computed.
#[derive(Default)]
pub(super) struct Elements {
    counts: BTreeMap<ArrayId, VarId>,
    /// What computes them, ahead of the tile.
    pub lets: Vec<Stmt>,
}

impl Elements {
    /// The number of elements of an operand that stores all of them, `None` for other arrays.
    pub fn count(&mut self, kernel: &mut Kernel, array: ArrayId) -> Option<VarId> {
        if let Some(known) = self.counts.get(&array) {
            return Some(*known);
        }
        let args = kernel.interface.args.iter();
        let count = args.into_iter().find_map(|arg| match arg {
            Arg::Tensor(tensor) => {
                let whole = tensor.values == array
                    && tensor.direction == Direction::In
                    && tensor.levels.iter().all(|level| level.level.is_full());
                let extents = tensor.levels.iter().map(|level| level.extent(&tensor.dims));
                whole.then(|| extents.reduce(b::mul))?
            }
            Arg::Scalar { .. } => None,
        })?;
        let tensor = kernel.array(array).name.clone();
        let name = format!("{}_count", tensor.trim_end_matches("_vals"));
        let id = kernel.fresh_var(&name, ScalarType::I64, false);
        self.lets.push(b::bind(id, count));
        self.counts.insert(array, id);
        Some(id)
    }
}
