//! Rows of results whose coordinates are there, collected in any order and stored as they are: the row
//! of the result says of each coordinate at which place its value is, so that nothing is listed, sorted
//! or copied ([`crate::plan::Keeps::Put`]). Where threads of a block share the row each searches it, and adds
//! atomically ([`crate::plan::Keeps::Found`]).

use super::assemble::Group;
use super::collect::Row;
use super::kept::note;
use super::workspace::apart;
use super::{Lower, Lowerer, Scope};
use crate::graph::Assign;
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Expr};
use crate::loops::trips::Bounds;
use crate::plan::Workspace;
use crate::program::ir::TensorId;

/// The row of a result in which values are put as they come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptRow {
    values: ArrayId,
    /// For each coordinate the number of its element in the result, counted from 1, or 0.
    places: ArrayId,
    changed: ir::VarId,
}

/// The same, where threads search its coordinates.
#[derive(Clone, Debug)]
pub(crate) struct SearchedRow(Elements);

/// The elements of a result's row, which are there.
#[derive(Clone, Debug)]
struct Elements {
    values: ArrayId,
    coordinates: ArrayId,
    begin: Expr,
    end: Expr,
    /// What they are before their first term.
    first: Expr,
    changed: ir::VarId,
}

impl Lowerer<'_> {
    /// `where(consumer, producer)` for a workspace that is a row of a result whose coordinates are
    /// there: the producer puts each value where it belongs.
    pub(super) fn kept_row(
        &self,
        workspace: &Workspace,
        result: TensorId,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let mut out = Vec::new();
        let Some((group, row)) = self.elements_of(result, scope, &mut out) else {
            return Ok(Vec::new());
        };
        let name = self.names.var(group.counter).name;
        let places = self.places_of(workspace, self.names.elem(group.pos), &mut out);
        let each = |stmts: &dyn Fn(Expr) -> Vec<ir::Stmt>| {
            let (p, at) = self.fresh_index(&name, false);
            let body = stmts(at);
            Bounds::of(row.begin.clone(), row.end.clone()).each(p, ir::LoopTag::default(), body)
        };
        let coordinate = |at: Expr| self.load_index(row.coordinates, at);
        out.push(each(&|at| {
            let number = b::add(at.clone(), b::int(1));
            vec![
                self.store_index(places, coordinate(at.clone()), number),
                b::store(row.values, at, row.first.clone()),
            ]
        }));
        let kept = KeptRow {
            values: row.values,
            places,
            changed: row.changed,
        };
        self.names.set_row(workspace.temp, Row::Kept(kept));
        out.extend(self.stmt(&workspace.producer, &apart(scope))?);
        out.push(each(&|at| {
            vec![self.store_index(places, coordinate(at), b::int(0))]
        }));
        Ok(out)
    }

    /// The same for threads of a block that come to elements of the row together.
    pub(super) fn searched_row(
        &self,
        workspace: &Workspace,
        result: TensorId,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let mut out = Vec::new();
        let Some((_, row)) = self.elements_of(result, scope, &mut out) else {
            return Ok(Vec::new());
        };
        out.push(ir::Stmt::Fill {
            array: row.values,
            start: row.begin.clone(),
            count: b::sub(row.end.clone(), row.begin.clone()),
            value: row.first.clone(),
        });
        self.names
            .set_row(workspace.temp, Row::Searched(SearchedRow(row)));
        out.extend(self.stmt(&workspace.producer, &apart(scope))?);
        Ok(out)
    }

    fn elements_of(
        &self,
        result: TensorId,
        scope: &Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> Option<(&Group, Elements)> {
        let mut all = self.assemblies.iter().zip(&scope.results);
        let (assembly, cursor) = all.find(|(own, _)| own.tensor == result)?;
        let (group, changed) = (assembly.groups.last()?, assembly.kept()?);
        let (begin, end) = self.segment_of(group, cursor);
        let name = self.names.var(group.counter).name;
        let begin = self.named(&format!("{name}_begin"), begin, out);
        let end = self.named(&format!("{name}_end"), end, out);
        let tensor = self.tensor(result);
        let row = Elements {
            values: self.names.values(result),
            coordinates: *self.coordinate_arrays(assembly, group).first()?,
            begin,
            end,
            first: b::literal(tensor.fill, tensor.ty.compute()),
            changed,
        };
        Some((group, row))
    }

    /// `row(coordinate) op= value`
    pub(super) fn put_into(
        &self,
        row: KeptRow,
        (assign, value, mut out): (&Assign, Expr, Vec<ir::Stmt>),
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let name = self.tensor(assign.tensor).name.clone();
        let coordinate = self.known(assign.lhs[0], scope)?;
        let place = self.load_index(row.places, coordinate);
        let found = self.bind(&format!("p{name}"), place, &mut out);
        let ty = self.names.elem(row.values);
        out.push(b::if_else(
            b::eq(found.clone(), b::int(0)),
            vec![note(row.changed, b::boolean(true))],
            vec![ir::Stmt::Store {
                array: row.values,
                index: b::sub(found, b::int(1)),
                op: assign.op,
                value: b::cast(ty, value),
                atomic: false,
            }],
        ));
        Ok(out)
    }

    /// `row(coordinate) op= value`, where other threads come to the row, too.
    pub(super) fn put_found(
        &self,
        SearchedRow(row): &SearchedRow,
        (assign, value, mut out): (&Assign, Expr, Vec<ir::Stmt>),
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let name = self.tensor(assign.tensor).name.clone();
        let coordinate = self.known(assign.lhs[0], scope)?;
        let (place, at) = self.fresh_index(&format!("p{name}"), false);
        out.push(ir::Stmt::Search {
            var: place,
            array: row.coordinates,
            lo: row.begin.clone(),
            hi: row.end.clone(),
            key: coordinate.clone(),
            by: ir::Look::Bisect,
        });
        let is_there = b::and(
            b::lt(at.clone(), row.end.clone()),
            b::eq(self.load_index(row.coordinates, at.clone()), coordinate),
        );
        out.push(b::if_else(
            is_there,
            vec![ir::Stmt::Store {
                array: row.values,
                index: at,
                op: assign.op,
                value: b::cast(self.names.elem(row.values), value),
                atomic: true,
            }],
            vec![note(row.changed, b::boolean(true))],
        ));
        Ok(out)
    }
}
