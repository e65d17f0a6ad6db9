//! Levels of results that note which elements are there: their bytes are cleared before anything
//! is written, and set with each element.

use super::assemble::{Assembly, Pass};
use super::{Lowerer, Scope};
use crate::graph::race::told;
use crate::graph::{Assign, Stmt, fold};
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Expr, ScalarType};
use crate::program::ir::{Role, TensorId};
use crate::scalar::Literal;

/// The bytes of a level that lies below levels that count.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    pub(super) level: usize,
    pub(super) array: ArrayId,
    /// Room of them, where the number of parents is not known beforehand.
    pub(super) capacity: Option<ir::VarId>,
}

fn byte(value: i64) -> Expr {
    b::literal(Literal::Int(value), ScalarType::U8)
}

impl Lowerer<'_> {
    fn presence(&self, tensor: TensorId, level: usize) -> Option<ArrayId> {
        let stored = self.tensor(tensor).format.levels[level];
        let noted = stored.has(ArrayRole::Presence);
        noted.then(|| self.level(tensor, level).array(ArrayRole::Presence))?
    }

    /// Nothing is there yet in results that have a place for each element.
    pub(super) fn clear_presence(&self) -> Vec<ir::Stmt> {
        let mut out = Vec::new();
        for at in 0..self.graph.function.tensors.len() {
            let id = TensorId::at(at);
            let tensor = self.tensor(id);
            if tensor.role != Role::Result || tensor.is_appended() {
                continue;
            }
            for level in 0..tensor.format.order() {
                out.extend(self.presence(id, level).map(|array| ir::Stmt::Fill {
                    array,
                    start: b::int(0),
                    count: self.extents(id, 0, level + 1),
                    value: byte(0),
                }));
            }
        }
        out
    }

    /// Room for the bytes of a temporary, none of them set.
    pub(super) fn allocate_presence(&self, id: TensorId) -> Vec<ir::Stmt> {
        let levels = 0..self.tensor(id).format.order();
        let noted = levels.filter_map(|level| Some((level, self.presence(id, level)?)));
        let alloc = noted.map(|(level, array)| ir::Stmt::Alloc {
            array,
            count: self.extents(id, 0, level + 1),
            zeroed: true,
        });
        alloc.collect()
    }

    /// The levels of an appended result that note presence.
    pub(super) fn noted(&self, id: TensorId, first_group: usize) -> Vec<Noted> {
        let mut noted = Vec::new();
        for level in 0..self.tensor(id).format.order() {
            let Some(array) = self.presence(id, level) else {
                continue;
            };
            let name = format!("{}{}_bits_capacity", self.tensor(id).name, level + 1);
            let capacity = level > first_group;
            let capacity = capacity.then(|| self.fresh(&name, ScalarType::I64, true));
            noted.push(Noted {
                level,
                array,
                capacity,
            });
        }
        noted
    }

    /// Makes room for the bytes of the levels from `from` to `to`, below the position that is
    /// appended next, and clears them.
    pub(super) fn open_presence(
        &self,
        assembly: &Assembly,
        (from, to): (usize, usize),
        counter: &Expr,
    ) -> Vec<ir::Stmt> {
        let mut out = Vec::new();
        if assembly.pass == Pass::Counting {
            return out;
        }
        for noted in &assembly.noted {
            let (Some(capacity), true) = (noted.capacity, (from..to).contains(&noted.level)) else {
                continue;
            };
            let count = self.extents(assembly.tensor, from, noted.level + 1);
            let start = b::mul(counter.clone(), count.clone());
            out.extend(assembly.grow(capacity, b::add(start.clone(), count.clone())));
            out.push(ir::Stmt::Fill {
                array: noted.array,
                start,
                count,
                value: byte(0),
            });
        }
        out
    }

    /// Notes rows of results with a place for each element where their coordinates become known:
    /// not in the loops over the elements of each.
    pub(super) fn note_rows(&self, stmt: &Stmt, scope: &mut Scope) -> Vec<ir::Stmt> {
        let mut out = Vec::new();
        let assigns = stmt.assigns();
        for assign in &assigns {
            let tensor = self.tensor(assign.tensor);
            let alone = assigns
                .iter()
                .all(|other| other.tensor != assign.tensor || other.lhs == assign.lhs);
            if tensor.is_appended() || !self.says_something(assign) || !alone {
                continue;
            }
            let format = tensor.format.clone();
            let mut position = b::int(0);
            for (level, &mode) in format.modes.iter().enumerate().rev().skip(1).rev() {
                let Some(coordinate) = self.coordinate(assign.lhs[mode], scope) else {
                    break;
                };
                position = b::locate(position, self.extent(assign.tensor, level), coordinate);
                let here = format.levels[level].has(ArrayRole::Presence);
                if here && scope.noted.insert((assign.tensor, level)) {
                    out.extend(self.set_byte(assign, level, position.clone(), scope));
                }
            }
        }
        out
    }

    /// Whether what is stored is not what is absent.
    fn says_something(&self, assign: &Assign) -> bool {
        let fill = self.tensor(assign.tensor).fill;
        let constant = fold::as_literal(&assign.rhs);
        assign.op.is_some() || constant.is_none_or(|value| !value.same_value(fill))
    }

    /// The byte at a position; units that come to different elements may come to one position of
    /// an outer level.
    fn set_byte(
        &self,
        assign: &Assign,
        level: usize,
        position: Expr,
        scope: &Scope,
    ) -> Option<ir::Stmt> {
        let array = self.presence(assign.tensor, level)?;
        let known = self.tensor(assign.tensor).format.modes[..=level].iter();
        let known: Vec<_> = known.map(|&mode| assign.lhs[mode]).collect();
        let mut units = scope.units.iter();
        // Each unit has a workspace of its own.
        let own = self.is_noted_row(assign.tensor);
        Some(ir::Stmt::Store {
            array,
            index: position,
            op: None,
            value: byte(1),
            atomic: !own && units.any(|&unit| !told(self.graph, &known, unit)),
        })
    }

    /// Notes that an element is there: `passed` are its positions at the levels that say so.
    pub(super) fn note_presence(
        &self,
        assign: &Assign,
        passed: &[(usize, Expr)],
        scope: &Scope,
    ) -> Vec<ir::Stmt> {
        if !self.says_something(assign) {
            return Vec::new();
        }
        let left = passed
            .iter()
            .filter(|(level, _)| !scope.noted.contains(&(assign.tensor, *level)));
        left.filter_map(|(level, position)| self.set_byte(assign, *level, position.clone(), scope))
            .collect()
    }
}
