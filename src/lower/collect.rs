//! Tensors whose elements the loops meet in any order, several times perhaps: they are appended as
//! they come, then sorted by their coordinates, then those of one place become one.

use super::Lowerer;
use super::assemble::Assembly;
use crate::loops::build as b;
use crate::loops::ir::{self, Expr};
use crate::loops::trips::Bounds;
use crate::program::ir::ReduceOp;

impl Lowerer<'_> {
    /// What brings the elements in order behind the loops that appended them. Those of one place
    /// stay as they are if nothing is accumulated.
    pub(super) fn sorted(&mut self, assembly: &Assembly, op: Option<ReduceOp>) -> Vec<ir::Stmt> {
        let Some(group) = assembly.groups.first().cloned() else {
            return Vec::new();
        };
        let coordinates = self.coordinate_arrays(assembly, &group);
        let values = self.storage[&assembly.tensor].values;
        let name = self.tensor(assembly.tensor).name.clone();
        let (count, met) = self.fresh_index(&format!("{name}_all"), false);
        let mut out = vec![
            ir::Stmt::Let {
                var: count,
                init: self.load_index(group.pos, b::int(1)),
            },
            ir::Stmt::Sort {
                coordinates: coordinates.clone(),
                values,
                count: met.clone(),
            },
        ];
        let Some(op) = op else {
            return out;
        };
        let (kept_var, kept) = self.fresh_index(&format!("{name}_kept"), true);
        let (p, at) = self.fresh_index("p", false);
        let last = b::sub(kept.clone(), b::int(1));
        let same = coordinates.iter().map(|&crd| {
            let here = self.load_index(crd, at.clone());
            b::eq(self.load_index(crd, last.clone()), here)
        });
        let same = b::all(same.collect::<Vec<_>>());
        let ty = self.arrays[values.0 as usize].elem;
        let value = self.load(values, at.clone());
        let combined = b::combine(op, self.load(values, last.clone()), value.clone());
        let store = |array, index: Expr, value| ir::Stmt::Store {
            array,
            index,
            op: None,
            value,
            atomic: false,
        };
        let mut apart: Vec<ir::Stmt> = coordinates
            .iter()
            .map(|&crd| store(crd, kept.clone(), self.load(crd, at.clone())))
            .collect();
        apart.push(store(values, kept.clone(), value));
        apart.push(ir::Stmt::Assign {
            var: kept_var,
            op: None,
            value: b::add(kept.clone(), b::int(1)),
        });
        let merge = ir::Stmt::If {
            cond: same,
            then: vec![store(values, last, b::cast(ty, combined))],
            otherwise: apart,
        };
        out.push(ir::Stmt::Let {
            var: kept_var,
            init: b::min(met.clone(), b::int(1)),
        });
        let others = Bounds::of(b::int(1), met);
        out.push(others.each(p, ir::LoopTag::default(), vec![merge]));
        let width = self.arrays[group.pos.0 as usize].elem;
        out.push(store(group.pos, b::int(1), b::cast(width, kept)));
        out
    }
}
