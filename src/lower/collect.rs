//! Tensors whose elements the loops meet in any order, several times perhaps: they are appended as
//! they come, then sorted by their coordinates, then those of one place become one.
//!
//! A row of a result is collected without duplicates: an array as long as a row says of each
//! coordinate at which place its value is, if it has one. It is cleared by what it says, so that a
//! row costs what is met in it. Where no array is as long as a row, a table does ([`super::hashed`]), and
//! where threads of a block collect a row together ([`super::shared`]).

use super::assemble::Assembly;
use super::full::{FullRow, SharedFullRow};
use super::put::{KeptRow, SearchedRow};
use super::shared::SharedRow;
use super::workspace::Room;
use super::{Lower, Lowerer, Scope};
use crate::graph::Assign;
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Expr};
use crate::loops::trips::Bounds;
use crate::loops::visit::{any, arrays, replace_exprs};
use crate::plan::{Keeps, Phase, Workspace};
use crate::program::ir::ReduceOp;

/// A workspace that collects a row.
#[derive(Clone, Debug)]
pub(crate) enum Row {
    Listed(ListedRow),
    /// All of its elements come, or none.
    Full(FullRow),
    /// The same by threads of a block.
    SharedFull(SharedFullRow),
    /// Its elements are put where the result has them.
    Kept(KeptRow),
    /// The same by threads of a block, which search it.
    Searched(SearchedRow),
    /// Threads of a block collect it.
    Shared(SharedRow),
}

/// A list of the elements that are met.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListedRow {
    /// How many elements it has.
    pub(super) count: ir::VarId,
    pub(super) coordinates: ArrayId,
    values: ArrayId,
    /// For each coordinate, or in each slot of a table, the number of an element, counted from 1, or 0.
    pub(super) places: ArrayId,
    /// How many slots the table has, if it is one.
    pub(super) slots: Option<ir::VarId>,
}

impl Lowerer<'_> {
    /// What brings the elements in order behind the loops that appended them. Those of one place
    /// stay as they are if nothing is accumulated.
    pub(super) fn sorted(&self, assembly: &Assembly, op: Option<ReduceOp>) -> Vec<ir::Stmt> {
        let Some(group) = assembly.groups.first().cloned() else {
            return Vec::new();
        };
        let coordinates = self.coordinate_arrays(assembly, &group);
        let values = self.names.values(assembly.tensor);
        let name = self.tensor(assembly.tensor).name.clone();
        let (count, met) = self.fresh_index(&format!("{name}_all"), false);
        let mut out = vec![
            b::bind(count, self.load_index(group.pos, b::int(1))),
            ir::Stmt::Sort {
                coordinates: coordinates.clone(),
                values,
                count: met.clone(),
                distinct: false,
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
        let ty = self.names.elem(values);
        let value = self.load(values, at.clone());
        let combined = b::combine(op, self.load(values, last.clone()), value.clone());
        let store = |array, index: Expr, value| b::store(array, index, value);
        let mut apart: Vec<ir::Stmt> = coordinates
            .iter()
            .map(|&crd| store(crd, kept.clone(), self.load(crd, at.clone())))
            .collect();
        apart.push(store(values, kept.clone(), value));
        apart.push(b::set(kept_var, b::add(kept.clone(), b::int(1))));
        let merge = b::if_else(
            same,
            vec![store(values, last, b::cast(ty, combined))],
            apart,
        );
        out.push(b::bind(kept_var, b::min(met.clone(), b::int(1))));
        let others = Bounds::of(b::int(1), met);
        out.push(others.each(p, ir::LoopTag::default(), vec![merge]));
        let width = self.names.elem(group.pos);
        out.push(store(group.pos, b::int(1), b::cast(width, kept)));
        out
    }

    /// `where(consumer, producer)` for a workspace that collects a row.
    pub(super) fn row(&self, workspace: &Workspace, scope: &Scope) -> Lower<Vec<ir::Stmt>> {
        let Some((pos, row, mut out)) = self.begin_row(workspace) else {
            return Ok(Vec::new());
        };
        let count = b::var(row.count, ir::ScalarType::I64);
        out.push(b::bind(row.count, b::int(0)));
        out.extend(self.cleared_table(row));
        let apart = Scope {
            // A sparse result is appended to by the consumer alone.
            results: Vec::new(),
            ..scope.clone()
        };
        out.extend(self.stmt(&workspace.producer, &apart)?);
        if row.slots.is_none() {
            let (p, at) = self.fresh_index("p", false);
            let met = self.load_index(row.coordinates, at);
            let cleared = self.stored(row.places, met, b::int(0));
            let all = Bounds::of(b::int(0), count.clone());
            out.push(all.each(p, ir::LoopTag::default(), vec![cleared]));
        }
        let mut consumer = self.stmt(&workspace.consumer, scope)?;
        let mut levels = self.tensor(workspace.temp).format.levels.iter();
        let searched = |stmt: &ir::Stmt| matches!(stmt, ir::Stmt::Search { array, .. } if *array == row.coordinates);
        let reads = |stmt: &ir::Stmt| arrays(stmt).contains(&row.coordinates);
        let merged =
            |stmt: &ir::Stmt| matches!(stmt, ir::Stmt::While { body, .. } if any(body, &reads));
        let values = match self.tree.phase {
            Phase::Filling => Some(row.values),
            // What is counted has no values. Tiles, and others beside it, find their elements all the
            // same; places are not asked any more.
            Phase::Counting => {
                (any(&consumer, &searched) || any(&consumer, &merged)).then_some(row.places)
            }
        };
        if let Some(values) = values.filter(|_| levels.any(|level| level.ordered)) {
            out.push(ir::Stmt::Sort {
                coordinates: vec![row.coordinates],
                values,
                count: count.clone(),
                distinct: true,
            });
        }
        self.ends_at(&mut consumer, pos, &count);
        out.append(&mut consumer);
        Ok(out)
    }

    /// The one segment of a row needs no array that says where it ends.
    pub(super) fn ends_at(&self, consumer: &mut [ir::Stmt], pos: ArrayId, count: &Expr) {
        let (first, last) = (
            self.load_index(pos, b::int(0)),
            self.load_index(pos, b::int(1)),
        );
        replace_exprs(consumer, &mut |e| match e {
            e if *e == first => Some(b::int(0)),
            e if *e == last => Some(count.clone()),
            _ => None,
        });
    }

    /// The memory of a row: allocated once, with a part for each thread where threads collect rows.
    /// Gives its array of positions, too, which stands for none.
    fn begin_row(&self, workspace: &Workspace) -> Option<(ArrayId, ListedRow, Vec<ir::Stmt>)> {
        let (temp, threaded) = (workspace.temp, workspace.threaded);
        let name = self.tensor(temp).name.clone();
        let pos = self.level(temp, 0).array(ArrayRole::Positions)?;
        let coordinates = self.level(temp, 0).array(ArrayRole::Coordinates)?;
        let values = self.names.values(temp);
        let hashed = workspace.keeps == Keeps::Hashed;
        let most = match hashed {
            true => self.row_most(workspace),
            false => self.element_count(temp),
        };
        let places = match hashed {
            true => self.table_room(&name, self.names.elem(coordinates), &most),
            false => places(&name, self.names.elem(coordinates), most.clone()),
        };
        let [coordinates, values] =
            [coordinates, values].map(|array| self.own_room(array, false, most.clone()));
        let mut out = Vec::new();
        let rooms = [coordinates, values, places];
        let own = self.own_rooms((temp, threaded), &rooms, &mut out);
        if self.tree.phase == Phase::Counting {
            out.retain(|stmt| stmt.declares_array() != Some(own[1]));
        }
        self.names
            .stand_in(temp, (ArrayRole::Coordinates, own[0]), own[1]);
        let row = ListedRow {
            count: self.fresh(&format!("{name}_count"), ir::ScalarType::I64, true),
            coordinates: own[0],
            values: own[1],
            places: own[2],
            slots: hashed.then(|| self.fresh(&format!("{name}_slots"), ir::ScalarType::I64, true)),
        };
        self.names.set_row(temp, Row::Listed(row));
        Some((pos, row, out))
    }

    /// The places of a row alone.
    pub(super) fn places_of(
        &self,
        workspace: &Workspace,
        elem: ir::ScalarType,
        out: &mut Vec<ir::Stmt>,
    ) -> ArrayId {
        let (temp, threaded) = (workspace.temp, workspace.threaded);
        let all = self.element_count(temp);
        let rooms = [places(&self.tensor(temp).name, elem, all)];
        self.own_rooms((temp, threaded), &rooms, out)[0]
    }

    /// Notes that a row has an element.
    pub(super) fn count_into(
        &self,
        row: Row,
        assign: &Assign,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let row = match row {
            Row::Listed(row) => row,
            Row::Shared(row) => return self.claim(row, assign, scope),
            // What is counted is listed.
            Row::Kept(_) | Row::Searched(_) | Row::Full(_) | Row::SharedFull(_) => {
                return Ok(Vec::new());
            }
        };
        let coordinate = self.known(assign.lhs[0], scope)?;
        let mut out = Vec::new();
        let at = self.place_at(row, &coordinate, &mut out);
        out.push(b::if_then(
            b::eq(self.load_index(row.places, at.clone()), b::int(0)),
            self.met(row, (&coordinate, at), None),
        ));
        Ok(out)
    }

    /// A coordinate that the row does not have yet, of which the place is `at`.
    fn met(
        &self,
        row: ListedRow,
        (coordinate, at): (&Expr, Expr),
        value: Option<Expr>,
    ) -> Vec<ir::Stmt> {
        let count = b::var(row.count, ir::ScalarType::I64);
        let mut out = vec![self.stored(row.coordinates, count.clone(), coordinate.clone())];
        let next = b::add(count.clone(), b::int(1));
        out.extend(value.map(|value| self.stored(row.values, count, value)));
        out.push(b::set(row.count, next.clone()));
        let count = b::var(row.count, ir::ScalarType::I64);
        out.push(self.stored(row.places, at, count));
        out.extend(self.widened_table(row));
        out
    }

    /// `row(coordinate) op= value`
    pub(super) fn collect_into(
        &self,
        row: Row,
        (assign, value, mut out): (&Assign, Expr, Vec<ir::Stmt>),
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let row = match row {
            Row::Listed(row) => row,
            Row::Full(row) => {
                return self.add_into((row.values, false), (assign, value, out), scope);
            }
            Row::SharedFull(row) => {
                return self.add_into((row.values, row.atomic), (assign, value, out), scope);
            }
            Row::Kept(row) => return self.put_into(row, (assign, value, out), scope),
            Row::Searched(row) => return self.put_found(&row, (assign, value, out), scope),
            Row::Shared(row) => return self.claim_into(row, (assign, value, out), scope),
        };
        let values = row.values;
        let ty = self.names.elem(values);
        let name = self.tensor(assign.tensor).name.clone();
        let coordinate = self.known(assign.lhs[0], scope)?;
        let at = self.place_at(row, &coordinate, &mut out);
        let place = self.load_index(row.places, at.clone());
        let found = self.bind(&format!("p{name}"), place, &mut out);
        let new = self.met(row, (&coordinate, at), Some(b::cast(ty, value.clone())));
        let known = ir::Stmt::Store {
            array: values,
            index: b::sub(found.clone(), b::int(1)),
            op: assign.op,
            value: b::cast(ty, value),
            atomic: false,
        };
        out.push(b::if_else(b::eq(found, b::int(0)), new, vec![known]));
        Ok(out)
    }

    pub(super) fn stored(&self, array: ArrayId, index: Expr, value: Expr) -> ir::Stmt {
        let elem = self.names.elem(array);
        b::store(array, index, b::cast(elem, value))
    }
}

/// The memory of the places of a row.
fn places(name: &str, elem: ir::ScalarType, count: Expr) -> Room {
    Room {
        own: None,
        name: format!("{name}_places"),
        elem,
        zeroed: true,
        count,
    }
}
