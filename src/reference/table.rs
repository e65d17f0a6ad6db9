//! What the reductions of a statement come to.

use super::EvalError;
use super::evaluate::Judge;
use super::node::Reduction;
use super::partial::Partial;
use super::rounding::epsilon;
use crate::data::values::Number;
use crate::program::ir::{ReduceOp, Statement, VarId};
use crate::scalar::ScalarType;
use std::collections::BTreeMap;

/// A reduction's values over the variables of the left side that it uses.
pub(super) struct Table {
    pub vars: Vec<VarId>,
    pub extents: Vec<(i64, i64)>,
    pub entries: Entries,
    pub op: ReduceOp,
    pub ty: ScalarType,
    pub neutral: Number,
    /// The rounding of where a kernel may gather it.
    pub coarse: f64,
}

pub(super) enum Entries {
    All(Vec<Option<Partial>>),
    Some(BTreeMap<u128, Partial>),
}

/// Tables up to this many elements are kept whole.
const WHOLE: u128 = 1 << 25;

impl Table {
    pub(super) fn key(&self, vars: &[i64]) -> Option<u128> {
        let mut key = 0u128;
        for (var, (lo, hi)) in self.vars.iter().zip(&self.extents) {
            let at = vars[var.index()];
            if at < *lo || at >= *hi {
                return None;
            }
            key = key * u128::from((hi - lo).unsigned_abs()) + u128::from((at - lo).unsigned_abs());
        }
        Some(key)
    }

    pub(super) fn get(&self, vars: &[i64]) -> Option<Partial> {
        let key = self.key(vars)?;
        match &self.entries {
            Entries::All(list) => list.get(usize::try_from(key).ok()?).copied().flatten(),
            Entries::Some(map) => map.get(&key).copied(),
        }
    }

    pub(super) fn entry(&mut self, vars: &[i64]) -> Option<&mut Partial> {
        let key = self.key(vars)?;
        let fresh = Partial::new(self.neutral);
        match &mut self.entries {
            Entries::All(list) => {
                let slot = list.get_mut(usize::try_from(key).ok()?)?;
                Some(slot.get_or_insert(fresh))
            }
            Entries::Some(map) => Some(map.entry(key).or_insert(fresh)),
        }
    }
}

impl Table {
    pub(super) fn touched(&self, f: &mut dyn FnMut(Vec<u64>)) {
        let mut give = |mut key: u128| {
            let mut coordinate = vec![0u64; self.extents.len()];
            for (c, (lo, hi)) in coordinate.iter_mut().zip(&self.extents).rev() {
                let extent = u128::from((hi - lo).unsigned_abs()).max(1);
                *c = u64::try_from(key % extent).unwrap_or(0) + lo.unsigned_abs();
                key /= extent;
            }
            f(coordinate);
        };
        match &self.entries {
            Entries::All(list) => {
                for (key, entry) in list.iter().enumerate() {
                    if entry.is_some() {
                        give(key as u128);
                    }
                }
            }
            Entries::Some(map) => map.keys().for_each(|key| give(*key)),
        }
    }
}

impl Judge<'_> {
    pub(super) fn table(
        &self,
        vars: &[VarId],
        stmt: &Statement,
        reduction: &Reduction,
        neutral: Number,
    ) -> Result<Table, EvalError> {
        let mut extents = Vec::new();
        let mut count = 1u128;
        for &var in vars {
            let (lo, hi) = self.static_range(var)?;
            let hi = hi.max(lo);
            count = count.saturating_mul(u128::from((hi - lo).unsigned_abs()));
            extents.push((lo, hi));
        }
        let entries = match usize::try_from(count) {
            Ok(count) if (count as u128) <= WHOLE => Entries::All(vec![None; count]),
            _ => Entries::Some(BTreeMap::new()),
        };
        Ok(Table {
            vars: vars.to_vec(),
            extents,
            entries,
            op: reduction.op,
            ty: reduction.ty,
            neutral,
            coarse: epsilon(self.function.tensor(stmt.tensor).ty),
        })
    }
}
