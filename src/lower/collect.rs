//! Tensors whose elements the loops meet in any order, several times perhaps: they are appended as
//! they come, then sorted by their coordinates, then those of one place become one.
//!
//! A row of a result is collected without duplicates: an array as long as a row says of each coordinate
//! at which place its value is, if it has one. It is cleared by what it says, so that a row costs
//! what is met in it.

use super::assemble::Assembly;
use super::{Lower, Lowerer, Scope};
use crate::graph::Assign;
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Expr};
use crate::loops::trips::Bounds;
use crate::plan::Workspace;
use crate::program::ir::ReduceOp;

/// A workspace that collects a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// How many elements it has.
    count: ir::VarId,
    coordinates: ArrayId,
    /// For each coordinate the number of its element, counted from 1, or 0.
    places: ArrayId,
}

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

    /// `where(consumer, producer)` for a workspace that collects a row.
    pub(super) fn row(&mut self, workspace: &Workspace, scope: &Scope) -> Lower<Vec<ir::Stmt>> {
        let temp = workspace.temp;
        let name = self.tensor(temp).name.clone();
        let values = self.storage[&temp].values;
        let array = |role| self.level(temp, 0).array(role);
        let (Some(pos), Some(coordinates)) =
            (array(ArrayRole::Positions), array(ArrayRole::Coordinates))
        else {
            return Ok(Vec::new());
        };
        let row = match self.rows.get(&temp) {
            Some(row) => *row,
            None => {
                let width = self.arrays[pos.0 as usize].elem;
                let places = self.array(&format!("{name}_places"), width, ir::Storage::Local);
                let extent = self.element_count(temp);
                let rooms = [
                    (pos, b::int(2), true),
                    (coordinates, extent.clone(), false),
                    (values, extent.clone(), false),
                    (places, extent, true),
                ];
                for (array, count, zeroed) in rooms {
                    self.prelude.push(ir::Stmt::Alloc {
                        array,
                        count,
                        zeroed,
                    });
                    self.postlude.push(ir::Stmt::Free { array });
                }
                let (count, _) = self.fresh_index(&format!("{name}_count"), true);
                let row = Row {
                    count,
                    coordinates,
                    places,
                };
                self.rows.insert(temp, row);
                row
            }
        };
        let count = b::var(row.count, ir::ScalarType::I64);
        let mut out = vec![ir::Stmt::Let {
            var: row.count,
            init: b::int(0),
        }];
        let apart = Scope {
            // A sparse result is appended to by the consumer alone.
            results: Vec::new(),
            ..scope.clone()
        };
        out.extend(self.stmt(&workspace.producer, &apart)?);
        let (p, at) = self.fresh_index("p", false);
        let met = self.load_index(coordinates, at);
        let cleared = self.stored(row.places, met, b::int(0));
        let all = Bounds::of(b::int(0), count.clone());
        out.push(all.each(p, ir::LoopTag::default(), vec![cleared]));
        out.push(ir::Stmt::Sort {
            coordinates: vec![coordinates],
            values,
            count: count.clone(),
        });
        out.push(self.stored(pos, b::int(1), count));
        out.extend(self.stmt(&workspace.consumer, scope)?);
        Ok(out)
    }

    /// `row(coordinate) op= value`
    pub(super) fn collect_into(
        &mut self,
        row: Row,
        (assign, value, mut out): (&Assign, Expr, Vec<ir::Stmt>),
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let values = self.storage[&assign.tensor].values;
        let ty = self.arrays[values.0 as usize].elem;
        let name = self.tensor(assign.tensor).name.clone();
        let coordinate = self.known(assign.lhs[0], scope)?;
        let (place, found) = self.fresh_index(&format!("p{name}"), false);
        out.push(ir::Stmt::Let {
            var: place,
            init: self.load_index(row.places, coordinate.clone()),
        });
        let count = b::var(row.count, ir::ScalarType::I64);
        let next = b::add(count.clone(), b::int(1));
        let new = vec![
            self.stored(row.coordinates, count.clone(), coordinate.clone()),
            self.stored(values, count, b::cast(ty, value.clone())),
            ir::Stmt::Assign {
                var: row.count,
                op: None,
                value: next,
            },
            self.stored(
                row.places,
                coordinate,
                b::var(row.count, ir::ScalarType::I64),
            ),
        ];
        let known = ir::Stmt::Store {
            array: values,
            index: b::sub(found.clone(), b::int(1)),
            op: assign.op,
            value: b::cast(ty, value),
            atomic: false,
        };
        out.push(ir::Stmt::If {
            cond: b::eq(found, b::int(0)),
            then: new,
            otherwise: vec![known],
        });
        Ok(out)
    }

    fn stored(&self, array: ArrayId, index: Expr, value: Expr) -> ir::Stmt {
        let elem = self.arrays[array.0 as usize].elem;
        ir::Stmt::Store {
            array,
            index,
            op: None,
            value: b::cast(elem, value),
            atomic: false,
        }
    }
}
