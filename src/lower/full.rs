//! Rows of which all elements come or none ([`crate::plan::Keeps::Whole`]): an array of values, which
//! are the fill where the first loop over all coordinates begins.

use super::collect::Row;
use super::{Lower, Lowerer, Scope};
use crate::graph::Assign;
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Expr, ExprKind, ScalarType};
use crate::loops::visit;
use crate::plan::{Node, Phase, Workspace};
use crate::program::ir::{ReduceOp, TensorId};

/// A row of all coordinates, or of none yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FullRow {
    /// How many elements it has: none, or as many as there are coordinates.
    count: ir::VarId,
    pub(super) values: ArrayId,
}

/// Such a row of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedFullRow {
    /// Of one element: how many the row has, as far as that was not counted before.
    count: Option<ArrayId>,
    pub(super) values: ArrayId,
    /// Whether several threads come to one element.
    pub(super) atomic: bool,
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

    /// The same where threads of a block share its loops: what was counted says which rows are filled.
    pub(super) fn shared_full_row(
        &self,
        workspace: &Workspace,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let (temp, threaded) = (workspace.temp, workspace.threaded);
        let level = self.level(temp, 0);
        let (Some(pos), Some(coordinates)) = (
            level.array(ArrayRole::Positions),
            level.array(ArrayRole::Coordinates),
        ) else {
            return Ok(Vec::new());
        };
        let (name, all) = (self.tensor(temp).name.clone(), self.element_count(temp));
        let counting = self.tree.phase == Phase::Counting;
        let mut out = Vec::new();
        let room = self.own_room(self.names.values(temp), false, all.clone());
        let values = self.own_rooms((temp, threaded), &[room], &mut out)[0];
        if counting {
            out.retain(|stmt| stmt.declares_array() != Some(values));
        }
        self.names
            .stand_in(temp, (ArrayRole::Coordinates, coordinates), values);
        let (left, by_columns) = (self.left(workspace), self.is_by_columns(workspace));
        let (var, count) = self.fresh_index(&format!("{name}_count"), counting && by_columns);
        let mut behind = left.clone().map(|left| b::bind(var, left));
        let mut met = None;
        if counting && by_columns {
            // Each thread counts for itself.
            out.push(b::bind(var, b::int(0)));
            self.names
                .set_row(temp, Row::Full(FullRow { count: var, values }));
        } else {
            if left.is_none() {
                let array = self.array(&format!("{name}_met"), ScalarType::I64, ir::Storage::Local);
                out.push(ir::Stmt::Declare { array, count: 1 });
                out.push(self.stored(array, b::int(0), b::int(0)));
                behind = Some(b::bind(var, self.load_index(array, b::int(0))));
                met = Some(array);
            }
            self.names.set_row(
                temp,
                Row::SharedFull(SharedFullRow {
                    count: met,
                    values,
                    atomic: !by_columns,
                }),
            );
        }
        let constant = b::as_int(&all);
        if !counting {
            // Of a few elements all are filled, so that as many threads are enough.
            let filled = left.filter(|_| constant.is_none()).unwrap_or(all);
            out.push(self.filled(temp, values, filled));
        }
        let apart = Scope {
            results: Vec::new(),
            ..scope.clone()
        };
        out.extend(self.stmt(&workspace.producer, &apart)?);
        out.extend(behind);
        let mut consumer = self.stmt(&workspace.consumer, scope)?;
        self.ends_at(&mut consumer, pos, &count);
        read_in_place(&mut consumer, coordinates);
        super::shared::numbered(&mut consumer);
        for stmt in &mut consumer {
            if let ir::Stmt::For { most, .. } = stmt {
                *most = constant;
            }
        }
        out.append(&mut consumer);
        Ok(out)
    }

    /// Whether each element of a row that threads share is one thread's: they share the loops over its coordinates
    /// alone, a single one or several in the same way.
    fn is_by_columns(&self, workspace: &Workspace) -> bool {
        let provenance = &self.graph.provenance;
        let (mut columns, mut shared) = (Vec::new(), Vec::new());
        workspace.producer.each(&mut |node| {
            if let Node::Loop(l) = node {
                shared.extend(l.tag.parallel.as_ref().map(|_| l.var));
                columns.extend(l.completes.map(|_| l.var));
            }
        });
        columns.dedup();
        match columns[..] {
            [column] => shared
                .iter()
                .all(|var| *var == column || provenance.roots(*var) == provenance.roots(column)),
            _ => false,
        }
    }

    fn filled(&self, temp: TensorId, values: ArrayId, count: Expr) -> ir::Stmt {
        let tensor = self.tensor(temp);
        ir::Stmt::Fill {
            array: values,
            start: b::int(0),
            count,
            value: b::literal(tensor.fill, tensor.ty.compute()),
        }
    }

    /// Where a loop over all coordinates begins: the first one finds the row's fill.
    pub(super) fn begin_full(&self, temp: TensorId) -> Vec<ir::Stmt> {
        let all = self.element_count(temp);
        let row = match self.names.row(temp) {
            Some(Row::Full(row)) => row,
            Some(Row::SharedFull(row)) => {
                let all = |array| ir::Stmt::Store {
                    array,
                    index: b::int(0),
                    op: Some(ReduceOp::Max),
                    value: all,
                    atomic: true,
                };
                return row.count.map(all).into_iter().collect();
            }
            Some(Row::Listed(_) | Row::Kept(_) | Row::Searched(_) | Row::Shared(_)) | None => {
                return Vec::new();
            }
        };
        let begin = b::set(row.count, all.clone());
        if self.tree.phase == Phase::Counting {
            return vec![begin];
        }
        let filled = self.filled(temp, row.values, all);
        let none = b::eq(b::var(row.count, ScalarType::I64), b::int(0));
        vec![b::if_then(none, vec![filled, begin])]
    }

    /// `row(coordinate) op= value`
    pub(super) fn add_into(
        &self,
        (values, atomic): (ArrayId, bool),
        (assign, value, mut out): (&Assign, Expr, Vec<ir::Stmt>),
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        out.push(ir::Stmt::Store {
            array: values,
            index: self.known(assign.lhs[0], scope)?,
            op: assign.op,
            value: b::cast(self.names.elem(values), value),
            atomic,
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
