//! Rows of results whose coordinates are there, collected in any order and stored as they are: the row
//! of the result says of each coordinate at which place its value is, so that nothing is listed, sorted
//! or copied ([`crate::plan::Keeps::Put`]).

use super::collect::Row;
use super::kept::note;
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

impl Lowerer<'_> {
    /// `where(consumer, producer)` for a workspace that is a row of a result whose coordinates are
    /// there: the producer puts each value where it belongs.
    pub(super) fn kept_row(
        &self,
        workspace: &Workspace,
        result: TensorId,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let mut all = self.assemblies.iter().zip(&scope.results);
        let own = all.find(|(own, _)| own.tensor == result);
        let Some((assembly, cursor)) = own else {
            return Ok(Vec::new());
        };
        let (Some(group), Some(changed)) = (assembly.groups.last(), assembly.kept()) else {
            return Ok(Vec::new());
        };
        let values = self.names.values(result);
        let coordinates = self.coordinate_arrays(assembly, group);
        let tensor = self.tensor(result);
        let first = b::literal(tensor.fill, tensor.ty.compute());
        let (begin, end) = self.segment_of(group, cursor);
        let name = self.names.var(group.counter).name;
        let mut out = Vec::new();
        let begin = self.named(&format!("{name}_begin"), begin, &mut out);
        let end = self.named(&format!("{name}_end"), end, &mut out);
        let places = self.places_of(workspace, self.names.elem(group.pos), &mut out);
        let each = |stmts: &dyn Fn(Expr) -> Vec<ir::Stmt>| {
            let (p, at) = self.fresh_index(&name, false);
            let body = stmts(at);
            Bounds::of(begin.clone(), end.clone()).each(p, ir::LoopTag::default(), body)
        };
        let coordinate = |at: Expr| self.load_index(coordinates[0], at);
        out.push(each(&|at| {
            let number = b::add(at.clone(), b::int(1));
            vec![
                self.store_index(places, coordinate(at.clone()), number),
                b::store(values, at, first.clone()),
            ]
        }));
        self.names.set_row(
            workspace.temp,
            Row::Kept(KeptRow {
                values,
                places,
                changed,
            }),
        );
        let apart = Scope {
            results: Vec::new(),
            ..scope.clone()
        };
        out.extend(self.stmt(&workspace.producer, &apart)?);
        out.push(each(&|at| {
            vec![self.store_index(places, coordinate(at), b::int(0))]
        }));
        Ok(out)
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
}
