//! Which coordinates to visit.
//!
//! A plan walks the stored elements of sparse operands where the expression is exactly
//! neutral without them, and loops over whole ranges elsewhere. It only ever skips
//! coordinates at which nothing happens.

use super::exact::{Leaves, Value, eval};
use super::node::{Kind, Node, walk};
use crate::data::values::Number;
use crate::program::ir::VarId;
use std::collections::BTreeSet;
use std::convert::Infallible;

/// An access that can be walked: every subscript is a variable.
#[derive(Clone, Debug)]
pub(super) struct Driver {
    pub id: usize,
    pub tensor: crate::program::ir::TensorId,
    pub vars: Vec<VarId>,
    pub stored: usize,
}

#[derive(Debug)]
pub(super) enum Plan {
    /// Everything is known.
    Leaf,
    /// Nothing is ever done.
    Nothing,
    /// A whole range.
    Loop(VarId, Box<Plan>),
    /// The stored elements of each driver; where an earlier one is present too, the
    /// coordinate was visited already.
    Walk(Vec<(Driver, Box<Plan>)>),
}

/// What is known about an expression with some accesses absent.
struct Absent<'a> {
    absent: &'a BTreeSet<usize>,
    fills: &'a dyn Fn(usize) -> Option<Number>,
}

impl Leaves for Absent<'_> {
    type Error = Infallible;

    fn access(&mut self, _: &Node, id: usize) -> Result<Value, Infallible> {
        Ok(match (self.fills)(id) {
            Some(fill) if self.absent.contains(&id) => Value::exact(fill),
            Some(_) | None => Value::UNKNOWN,
        })
    }

    fn index(&mut self, _: VarId) -> Value {
        Value::UNKNOWN
    }

    fn table(&mut self, _: usize) -> Value {
        Value::UNKNOWN
    }
}

/// Makes the plan for visiting `vars`, which are ordered so that bounds only depend on
/// earlier ones.
pub(super) struct Planner<'a> {
    pub body: &'a Node,
    pub drivers: Vec<Driver>,
    /// The fill of each access that may be absent.
    pub fills: &'a dyn Fn(usize) -> Option<Number>,
    /// What changes nothing.
    pub neutral: Number,
    /// Variables whose ranges depend on others.
    pub outer: &'a dyn Fn(VarId) -> Vec<VarId>,
}

impl Planner<'_> {
    pub fn plan(&self, vars: &[VarId], bound: &BTreeSet<VarId>, driven: &BTreeSet<usize>) -> Plan {
        let left: Vec<VarId> = vars
            .iter()
            .copied()
            .filter(|v| !bound.contains(v))
            .collect();
        if left.is_empty() {
            return Plan::Leaf;
        }
        let candidates: Vec<&Driver> = self
            .drivers
            .iter()
            .filter(|d| !driven.contains(&d.id))
            .filter(|d| d.vars.iter().any(|v| !bound.contains(v)))
            // A dynamic range must be known before its variable is walked.
            .filter(|d| {
                d.vars.iter().all(|v| {
                    (self.outer)(*v)
                        .iter()
                        .all(|o| bound.contains(o) || d.vars.contains(o))
                })
            })
            .collect();
        if let Some(cover) = self.cover(&candidates) {
            if cover.is_empty() {
                return Plan::Nothing;
            }
            let steps = cover
                .into_iter()
                .map(|d| {
                    let mut bound = bound.clone();
                    bound.extend(&d.vars);
                    let mut driven = driven.clone();
                    driven.insert(d.id);
                    let next = self.plan(vars, &bound, &driven);
                    (d.clone(), Box::new(next))
                })
                .collect();
            return Plan::Walk(steps);
        }
        let var = left[0];
        let mut bound = bound.clone();
        bound.insert(var);
        Plan::Loop(var, Box::new(self.plan(vars, &bound, driven)))
    }

    /// The smallest set of accesses of which one must be present; largest dropped first.
    fn cover<'d>(&self, candidates: &[&'d Driver]) -> Option<Vec<&'d Driver>> {
        let mut list: Vec<&Driver> = candidates.to_vec();
        if !self.covers(&list) {
            return None;
        }
        list.sort_by_key(|d| std::cmp::Reverse(d.stored));
        let mut at = 0;
        while at < list.len() {
            let mut fewer = list.clone();
            fewer.remove(at);
            if self.covers(&fewer) {
                list = fewer;
            } else {
                at += 1;
            }
        }
        Some(list)
    }

    fn covers(&self, drivers: &[&Driver]) -> bool {
        let absent: BTreeSet<usize> = drivers.iter().map(|d| d.id).collect();
        let mut leaves = Absent {
            absent: &absent,
            fills: self.fills,
        };
        let Ok(value) = eval(self.body, &mut leaves);
        value.is_exactly(|n| n.complex() == self.neutral.complex())
    }
}

/// The accesses outside subscripts whose subscripts are all variables.
pub(super) fn drivers(body: &Node, stored: &dyn Fn(&Node) -> Option<usize>) -> Vec<Driver> {
    let mut nested: BTreeSet<usize> = BTreeSet::new();
    walk(body, &mut |node| {
        if let Kind::Access { subscripts, .. } = &node.kind {
            for s in subscripts {
                walk(s, &mut |inner| {
                    if let Kind::Access { id, .. } = &inner.kind {
                        nested.insert(*id);
                    }
                });
            }
        }
    });
    let mut found = Vec::new();
    walk(body, &mut |node| {
        let Kind::Access {
            id,
            tensor,
            subscripts,
        } = &node.kind
        else {
            return;
        };
        let vars: Option<Vec<VarId>> = subscripts
            .iter()
            .map(|s| match s.kind {
                Kind::Index(var) => Some(var),
                Kind::Literal(_)
                | Kind::Size(_)
                | Kind::Access { .. }
                | Kind::Table(_)
                | Kind::Unary(..)
                | Kind::Binary(..)
                | Kind::Select(..)
                | Kind::Call(..)
                | Kind::Cast(_) => None,
            })
            .collect();
        if let (Some(vars), Some(stored), false) = (vars, stored(node), nested.contains(id)) {
            found.push(Driver {
                id: *id,
                tensor: *tensor,
                vars,
                stored,
            });
        }
    });
    found
}
