//! What a tuning knows of its data. The elements are with the process that runs kernels ([`super::worker`]): data
//! that fills half of the memory can be tuned for.

use crate::data;
use crate::driver::bench::report::TensorData;
use crate::driver::bind::Bound;
use crate::driver::cache::key::Likeness;
use crate::program::ir::{Bound as RangeBound, Function, VarId};
use std::collections::BTreeMap;

/// One of the data sets that a schedule is to be fast on.
#[derive(Clone, Debug)]
pub struct DataSet {
    /// What the command line says.
    pub name: String,
    pub tensors: Vec<TensorData>,
    pub likeness: Likeness,
    /// Of variables whose ranges the sizes give.
    extents: BTreeMap<VarId, i64>,
}

impl DataSet {
    /// Of what is bound to the function's parameters.
    #[must_use]
    pub fn of(name: String, function: &Function, bound: &Bound) -> Self {
        let tensors = bound.tensors.iter().map(|(&id, tensor)| TensorData {
            name: function.tensor(id).name.clone(),
            summary: data::summarize(tensor),
        });
        let vars = (0..).map(VarId).zip(&function.vars);
        let extents = vars.filter_map(|(id, var)| {
            let (RangeBound::Static(lo), RangeBound::Static(hi)) = (&var.range.lo, &var.range.hi)
            else {
                return None;
            };
            Some((id, bound.eval(hi)?.saturating_sub(bound.eval(lo)?)))
        });
        DataSet {
            name,
            tensors: tensors.collect(),
            likeness: Likeness::of(function, bound),
            extents: extents.collect(),
        }
    }
}

/// Extents of variables whose ranges the sizes give, the largest of all data sets.
pub(super) fn extents(sets: &[DataSet]) -> BTreeMap<VarId, i64> {
    let mut largest = BTreeMap::new();
    for (&id, &extent) in sets.iter().flat_map(|set| &set.extents) {
        let known = largest.entry(id).or_insert(extent);
        *known = extent.max(*known);
    }
    largest
}
