//! Rows of which all elements come or none ([`crate::plan::Keeps::Whole`]): an array of values, which
//! are the fill where the first loop over all coordinates begins.

use super::collect::Row;
use super::{Lower, Lowerer, Scope};
use crate::graph::Assign;
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Expr, ExprKind, ScalarType};
use crate::loops::visit;
use crate::plan::{Phase, Workspace};
use crate::program::ir::TensorId;

/// A row of all coordinates, or of none yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FullRow {
    /// How many elements it has: none, or as many as there are coordinates.
    count: ir::VarId,
    values: ArrayId,
}

impl Lowerer<'_> {
    /// `where(consumer, producer)` for such a row.
    pub(super) fn full_row(&self, workspace: &Workspace, scope: &Scope) -> Lower<Vec<ir::Stmt>> {
        let (temp, threaded) = (workspace.temp, workspace.threaded);
        let level = self.level(temp, 0);
        let (Some(pos), Some(coordinates)) = (
            level.array(ArrayRole::Positions),
            level.array(ArrayRole::Coordinates),
        ) else {
            return Ok(Vec::new());
        };
        let name = self.tensor(temp).name.clone();
        let mut out = Vec::new();
        let all = self.element_count(temp);
        let room = self.own_room(self.names.values(temp), false, all);
        let values = self.own_rooms((temp, threaded), &[room], &mut out)[0];
        if self.tree.phase == Phase::Counting {
            out.retain(|stmt| stmt.declares_array() != Some(values));
        }
        self.names
            .stand_in(temp, (ArrayRole::Coordinates, coordinates), values);
        let count = self.fresh(&format!("{name}_count"), ScalarType::I64, true);
        self.names
            .set_row(temp, Row::Full(FullRow { count, values }));
        out.push(b::bind(count, b::int(0)));
        let apart = Scope {
            // A sparse result is appended to by the consumer alone.
            results: Vec::new(),
            ..scope.clone()
        };
        out.extend(self.stmt(&workspace.producer, &apart)?);
        let mut consumer = self.stmt(&workspace.consumer, scope)?;
        self.ends_at(&mut consumer, pos, &b::var(count, ScalarType::I64));
        read_in_place(&mut consumer, coordinates);
        out.append(&mut consumer);
        Ok(out)
    }

    /// Where a loop over all coordinates begins: the first one finds the row's fill.
    pub(super) fn begin_full(&self, temp: TensorId) -> Vec<ir::Stmt> {
        let Some(Row::Full(row)) = self.names.row(temp) else {
            return Vec::new();
        };
        let all = self.element_count(temp);
        let tensor = self.tensor(temp);
        let filled = ir::Stmt::Fill {
            array: row.values,
            start: b::int(0),
            count: all.clone(),
            value: b::literal(tensor.fill, tensor.ty.compute()),
        };
        let counted = b::set(row.count, all);
        let mut first = vec![filled, counted];
        if self.tree.phase == Phase::Counting {
            first.remove(0);
        }
        vec![b::if_then(
            b::eq(b::var(row.count, ScalarType::I64), b::int(0)),
            first,
        )]
    }

    /// `row(coordinate) op= value`
    pub(super) fn add_into(
        &self,
        row: FullRow,
        (assign, value, mut out): (&Assign, Expr, Vec<ir::Stmt>),
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        out.push(ir::Stmt::Store {
            array: row.values,
            index: self.known(assign.lhs[0], scope)?,
            op: assign.op,
            value: b::cast(self.names.elem(row.values), value),
            atomic: false,
        });
        Ok(out)
    }
}

/// The element at each place is that of the same coordinate: none is read, or searched.
fn read_in_place(consumer: &mut [ir::Stmt], coordinates: ArrayId) {
    visit::replace_exprs(consumer, &mut |e| {
        let mut read = e;
        if let (ExprKind::Cast(narrow), ScalarType::I64) = (&e.kind, e.ty) {
            read = narrow;
        }
        if let ExprKind::Load { array, index } = &read.kind
            && *array == coordinates
        {
            return Some(index.as_ref().clone());
        }
        None
    });
    found_in_place(consumer, coordinates);
}

fn found_in_place(consumer: &mut [ir::Stmt], coordinates: ArrayId) {
    for stmt in consumer {
        if let ir::Stmt::Search {
            var,
            array,
            lo,
            hi,
            key,
            ..
        } = stmt
            && *array == coordinates
        {
            let at = b::max(lo.clone(), b::min(key.clone(), hi.clone()));
            *stmt = b::bind(*var, at);
        }
        for body in visit::bodies_mut(stmt) {
            found_in_place(body, coordinates);
        }
    }
}
