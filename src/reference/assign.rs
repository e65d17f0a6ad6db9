//! What a statement writes, and storing it.

use super::EvalError;
use super::enumerate::Plan;
use super::evaluate::Judge;
use super::exact::eval;
use super::leaves::{At, Untouched};
use super::load::{Content, Operand};
use super::node::{Kind, Node, walk};
use super::partial::combine;
use super::rounding::{Bounded, epsilon, stored};
use super::table::Table;
use super::value::{convert, wrap};
use super::visit::Env;
use crate::data::values::{Number, Values, literal};
use crate::data::{Coo, Tensor};
use crate::program::ir::{Statement, VarId};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// An element that a statement writes.
pub(super) struct Element {
    pub coordinate: Vec<u64>,
    pub known: Bounded,
    /// How many terms were summed for it.
    pub sums: f64,
}

/// The coordinates of a sparse result.
struct Keys(Vec<Vec<u64>>);

/// Where the terms of a scattering statement go.
fn scattered(stmt: &Statement, tables: &[Table]) -> Keys {
    let mut keys = BTreeSet::new();
    for table in tables {
        let modes: Vec<Option<usize>> = stmt
            .lhs
            .iter()
            .map(|var| table.vars.iter().position(|v| v == var))
            .collect();
        table.touched(&mut |coordinate| {
            let key = modes.iter().map(|m| m.map_or(0, |m| coordinate[m]));
            keys.insert(key.collect());
        });
    }
    Keys(keys.into_iter().collect())
}

impl Judge<'_> {
    /// The elements of the left side that the statement writes.
    pub(super) fn assign(
        &self,
        stmt: &Statement,
        rhs: &Node,
        accesses: usize,
        tables: &[Table],
    ) -> Result<Vec<Element>, EvalError> {
        let tensor = self.function.tensor(stmt.tensor);
        let ty = tensor.ty;
        let mut out = Vec::new();
        let sparse = tensor.is_sparse();
        let fill = convert(literal(tensor.fill), ty);
        let plan = if self.scatters(stmt) {
            Some(scattered(stmt, tables))
        } else if sparse && !tables.is_empty() {
            self.sparse_plan(stmt, rhs, tables, fill)
        } else {
            None
        };
        let mut env = self.env(accesses);
        let mut seen: BTreeSet<Vec<u64>> = BTreeSet::new();
        let mut write = |env: &mut Env| -> Result<(), EvalError> {
            let coordinate: Vec<u64> = stmt
                .lhs
                .iter()
                .map(|v| u64::try_from(env.vars[v.index()]).unwrap_or(u64::MAX))
                .collect();
            if sparse && !seen.insert(coordinate.clone()) {
                return Ok(());
            }
            let mut at = At {
                judge: self,
                env,
                tables,
                coarse: epsilon(ty),
            };
            let value = eval(rhs, &mut at)?;
            let Some(known) = value.known else {
                return Ok(());
            };
            if sparse && value.is_exactly(|n| n.complex() == fill.complex()) {
                return Ok(());
            }
            out.push(Element {
                coordinate,
                known,
                sums: value.sums,
            });
            Ok(())
        };
        match plan {
            Some(Keys(keys)) => {
                for key in keys {
                    for (var, c) in stmt.lhs.iter().zip(&key) {
                        env.vars[var.index()] = i64::try_from(*c).unwrap_or(i64::MAX);
                    }
                    write(&mut env)?;
                }
            }
            None => {
                // Of a sparse result, only where something may differ from the fill.
                // A variable comes after those that its range depends on.
                let order = stmt.vars.iter().filter(|v| stmt.lhs.contains(v));
                let order: Vec<VarId> = order.copied().collect();
                let all = if sparse && tables.is_empty() {
                    self.plan(rhs, &order, fill)
                } else {
                    let inwards = order.iter().rev();
                    inwards.fold(Plan::Leaf, |next, &var| Plan::Loop(var, Box::new(next)))
                };
                self.visit(&all, &mut env, &mut write)?;
            }
        }
        Ok(out)
    }

    /// The coordinates at which a sparse result may differ from its fill.
    fn sparse_plan(
        &self,
        stmt: &Statement,
        rhs: &Node,
        tables: &[Table],
        fill: Number,
    ) -> Option<Keys> {
        // With every sparse operand absent and every sum untouched, nothing but the
        // fill may be left; then the coordinates of all of them are enough.
        let mut ids = BTreeSet::new();
        let mut keys: BTreeSet<Vec<u64>> = BTreeSet::new();
        let mut walkable = true;
        walk(rhs, &mut |node| {
            if let Kind::Access {
                id,
                tensor,
                subscripts,
            } = &node.kind
            {
                let Some(operand) = self.operands.get(tensor).filter(|o| o.sparse) else {
                    return;
                };
                ids.insert(*id);
                let modes: Option<Vec<usize>> = stmt
                    .lhs
                    .iter()
                    .map(|var| {
                        subscripts
                            .iter()
                            .position(|s| matches!(s.kind, Kind::Index(v) if v == *var))
                    })
                    .collect();
                match modes {
                    Some(modes) => {
                        for element in 0..operand.stored() {
                            keys.insert(
                                modes
                                    .iter()
                                    .map(|&m| operand.coordinate(m, element))
                                    .collect(),
                            );
                        }
                    }
                    None => walkable = false,
                }
            }
        });
        for table in tables {
            if table.vars != stmt.lhs {
                walkable = false;
                continue;
            }
            table.touched(&mut |coordinate| {
                keys.insert(coordinate);
            });
        }
        let mut leaves = Untouched {
            judge: self,
            ids: &ids,
            tables,
        };
        let rest = eval(rhs, &mut leaves).ok()?;
        let covered = rest.is_exactly(|n| n.complex() == fill.complex());
        let inside = |key: &Vec<u64>| {
            stmt.lhs.iter().zip(key).all(|(var, c)| {
                self.static_range(*var)
                    .is_ok_and(|(lo, hi)| i64::try_from(*c).is_ok_and(|c| (lo..hi).contains(&c)))
            })
        };
        (covered && walkable).then(|| Keys(keys.into_iter().filter(|k| inside(k)).collect()))
    }

    pub(super) fn store(
        &mut self,
        stmt: &Statement,
        computed: Vec<Element>,
    ) -> Result<(), EvalError> {
        let tensor = self.function.tensor(stmt.tensor);
        let dims = self.dims(stmt.tensor)?;
        let ty = tensor.ty;
        let fill = literal(tensor.fill);
        if tensor.is_sparse() {
            let mut coo = Coo {
                coords: vec![Vec::new(); dims.len()],
                dims: dims.clone(),
                values: Values::filled(ty, 0, fill),
            };
            let mut errors = Vec::new();
            for (coordinate, new) in self.updated(stmt, computed)? {
                for (column, c) in coo.coords.iter_mut().zip(coordinate) {
                    column.push(c);
                }
                let kept = stored(new, ty);
                coo.values.push(kept.number);
                errors.push(kept.error);
            }
            let operand = Operand::new(tensor, &Tensor::Sparse(coo), dims)?;
            self.operands.insert(stmt.tensor, operand);
            self.error.insert(stmt.tensor, errors);
            return Ok(());
        }
        let operand = match self.operands.entry(stmt.tensor) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let empty = Tensor::Sparse(Coo {
                    coords: vec![Vec::new(); dims.len()],
                    dims: dims.clone(),
                    values: Values::filled(ty, 0, fill),
                });
                entry.insert(Operand::new(tensor, &empty, dims)?)
            }
        };
        let errors = self.error.entry(stmt.tensor).or_default();
        errors.resize(operand.stored(), 0.0);
        for element in computed {
            let at = operand.linear(&element.coordinate);
            let Content::Dense(values) = &mut operand.content else {
                continue;
            };
            if at >= values.len() {
                continue;
            }
            let compute = ty.compute();
            let new = match stmt.op {
                None => element.known,
                Some(op) => {
                    let old = Bounded {
                        number: wrap(values.get(at), compute),
                        error: errors[at],
                    };
                    combine(op, old, element.known, compute, element.sums, epsilon(ty))
                }
            };
            let kept = stored(new, ty);
            errors[at] = kept.error;
            values.set(at, kept.number);
        }
        Ok(())
    }

    /// The elements of a sparse tensor behind a statement, sorted: what it computed, combined with
    /// what was there if it says so, and what it does not write. Where it computed nothing, of what
    /// it writes, its right side is the fill.
    fn updated(
        &self,
        stmt: &Statement,
        computed: Vec<Element>,
    ) -> Result<BTreeMap<Vec<u64>, Bounded>, EvalError> {
        let tensor = self.function.tensor(stmt.tensor);
        let compute = tensor.ty.compute();
        let fill = || Bounded::read(convert(literal(tensor.fill), compute));
        let mut all: BTreeMap<Vec<u64>, (Bounded, Option<Element>)> = BTreeMap::new();
        if let Some(before) = self.operands.get(&stmt.tensor) {
            let errors = self.error.get(&stmt.tensor);
            for at in 0..before.stored() {
                let modes = 0..before.dims.len();
                let coordinate = modes.map(|mode| before.coordinate(mode, at)).collect();
                let old = Bounded {
                    number: convert(before.stored_value(at), compute),
                    error: errors.and_then(|e| e.get(at)).copied().unwrap_or(0.0),
                };
                all.insert(coordinate, (old, None));
            }
        }
        for element in computed {
            let coordinate = element.coordinate.clone();
            all.entry(coordinate).or_insert_with(|| (fill(), None)).1 = Some(element);
        }
        let rounding = epsilon(tensor.ty);
        let mut updated = BTreeMap::new();
        for (coordinate, (old, new)) in all {
            let written = new.is_some() || self.writes(stmt, &coordinate)?;
            let value = match (written, stmt.op) {
                (false, _) => old,
                (true, None) => match new {
                    Some(element) => element.known,
                    None => continue,
                },
                (true, Some(op)) => {
                    let (known, sums) = new.map_or_else(|| (fill(), 1.0), |e| (e.known, e.sums));
                    combine(op, old, known, compute, sums, rounding)
                }
            };
            updated.insert(coordinate, value);
        }
        Ok(updated)
    }

    /// Whether a statement writes an element that it may have nothing to say of.
    fn writes(&self, stmt: &Statement, coordinate: &[u64]) -> Result<bool, EvalError> {
        if self.scatters(stmt) {
            return Ok(false);
        }
        let mut env = self.env(0);
        for (var, &c) in stmt.lhs.iter().zip(coordinate) {
            env.vars[var.index()] = i64::try_from(c).unwrap_or(i64::MAX);
        }
        self.are_inside(stmt.lhs.clone(), &env)
    }
}
