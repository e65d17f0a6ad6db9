//! Workspaces that `precompute` introduced: where their memory is.
//!
//! A small one of constant size is an array of the loop body that uses it. Others are
//! allocated once before the loops, with a part for each thread where threads fill them.

use super::{Lower, Lowerer, Scope};
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{self, Expr};
use crate::loops::visit;
use crate::plan::{Keeps, Phase, Workspace, declared_length};
use crate::program::ir::TensorId;
use crate::scalar::Literal;
use std::collections::BTreeMap;

/// The memory of one of a workspace's arrays.
pub(super) struct Room {
    /// The array, if there is one that is the workspace's own.
    pub own: Option<ir::ArrayId>,
    /// What it is called; where each thread has a part, with `_all`.
    pub name: String,
    pub elem: ir::ScalarType,
    /// Whether it holds zeros at first.
    pub zeroed: bool,
    /// How many elements it has.
    pub count: Expr,
}

/// A sparse result is appended to by the consumer alone.
pub(super) fn apart(scope: &Scope) -> Scope {
    Scope {
        results: Vec::new(),
        ..scope.clone()
    }
}

impl Lowerer<'_> {
    /// Lowers `where(consumer, producer)` for an array.
    pub(super) fn workspace(&self, workspace: &Workspace, scope: &Scope) -> Lower<Vec<ir::Stmt>> {
        let Workspace { temp, threaded, .. } = *workspace;
        match workspace.keeps {
            Keeps::Row | Keeps::Hashed => return self.row(workspace, scope),
            Keeps::Whole => return self.full_row(workspace, scope),
            Keeps::SharedWhole => return self.shared_full_row(workspace, scope),
            Keeps::Shared => return self.shared_row(workspace, scope),
            Keeps::Put(result) => return self.kept_row(workspace, result, scope),
            Keeps::Found(result) => return self.searched_row(workspace, result, scope),
            Keeps::Noted => return self.noted_row(workspace, scope),
            Keeps::All | Keeps::Fill => {}
        }
        if self.tensor(temp).dims.is_empty() {
            return self.variable(workspace, scope);
        }
        let mut out = Vec::new();
        let name = self.tensor(temp).name.clone();
        let ty = self.tensor(temp).ty.compute();
        let count = self.element_count(temp);
        let constant = declared_length(self.graph, temp);
        let mut array = self.names.values(temp);
        if constant.is_some() || threaded {
            // Declared where it is used, which may be in several places.
            if self.memory.declare(array) {
                array = self.array(&format!("{name}_vals"), ty, ir::Storage::Local);
                self.memory.declare(array);
            }
            self.names.set_values(temp, array);
        }
        if let Some(count) = constant {
            out.push(ir::Stmt::Declare { array, count });
        } else if threaded {
            let all = Room {
                name,
                ..self.own_room(array, false, count.clone())
            };
            out.push(ir::Stmt::Slice {
                array,
                of: self.rooms_of((temp, true), &[all])[0].0,
                offset: b::mul(b::thread(), count.clone()),
            });
        } else {
            self.rooms_of((temp, false), &[self.own_room(array, false, count.clone())]);
        }
        if workspace.keeps == Keeps::Fill {
            out.push(ir::Stmt::Fill {
                array,
                start: b::int(0),
                count,
                value: b::literal(self.tensor(temp).fill, ty),
            });
        }
        out.extend(self.stmt(&workspace.producer, &apart(scope))?);
        out.extend(self.stmt(&workspace.consumer, scope)?);
        Ok(out)
    }

    /// A workspace of one value is a variable of the loop body that uses it.
    fn variable(&self, workspace: &Workspace, scope: &Scope) -> Lower<Vec<ir::Stmt>> {
        let temp = workspace.temp;
        let name = self.tensor(temp).name.clone();
        let (ty, fill) = (self.tensor(temp).ty.compute(), self.tensor(temp).fill);
        let var = self.fresh(&name, ty, true);
        self.names.set_scalar(temp, var);
        let mut out = self.stmt(&workspace.producer, &apart(scope))?;
        let set = match out.pop() {
            Some(ir::Stmt::Assign {
                var: v,
                op: None,
                value,
            }) if v == var => Some(value),
            last => {
                out.extend(last);
                None
            }
        };
        // One that the producer sets at its end begins with that value.
        match set {
            Some(init) => out.push(b::bind(var, init)),
            None => out.insert(0, b::bind(var, b::literal(fill, ty))),
        }
        out.extend(self.stmt(&workspace.consumer, scope)?);
        Ok(out)
    }

    /// A workspace with bytes that say which elements are there: set by its producer, asked by its
    /// consumer, then cleared where its producer had set them, so that it costs what it holds.
    fn noted_row(&self, workspace: &Workspace, scope: &Scope) -> Lower<Vec<ir::Stmt>> {
        let (temp, threaded) = (workspace.temp, workspace.threaded);
        let values = self.names.values(temp);
        let bytes = self.level(temp, 0).array(ArrayRole::Presence);
        let Some(bytes) = bytes else {
            return Ok(Vec::new());
        };
        let all = self.element_count(temp);
        let rooms = [
            self.own_room(bytes, true, all.clone()),
            self.own_room(values, false, all),
        ];
        let mut out = Vec::new();
        let own = self.own_rooms((temp, threaded), &rooms, &mut out);
        let (bytes, values) = (own[0], own[1]);
        if self.tree.phase == Phase::Counting {
            out.retain(|stmt| stmt.declares_array() != Some(values));
        }
        self.names
            .stand_in(temp, (ArrayRole::Presence, bytes), values);
        let producer = self.stmt(&workspace.producer, &apart(scope))?;
        let mut cleared = cleared(&producer, bytes, values);
        self.rename_declared(&mut cleared);
        out.extend(producer);
        out.extend(self.stmt(&workspace.consumer, scope)?);
        out.extend(cleared);
        Ok(out)
    }

    /// Gives statements that are a copy of others variables of their own.
    pub(super) fn rename_declared(&self, copy: &mut [ir::Stmt]) {
        let own = |var: ir::VarId| {
            let ir::Var { name, ty, mutable } = self.names.var(var);
            (var, self.fresh(&name, ty, mutable))
        };
        let new: BTreeMap<ir::VarId, ir::VarId> =
            visit::declared(copy).into_iter().map(own).collect();
        visit::rename(copy, &|v| new.get(&v).copied().unwrap_or(v), &|a| a);
    }

    /// The memory of a workspace with several arrays, allocated once however often it is used: with
    /// a part for each thread, or for itself.
    pub(super) fn rooms_of(
        &self,
        (temp, threaded): (TensorId, bool),
        arrays: &[Room],
    ) -> Vec<(ir::ArrayId, Expr)> {
        if let Some(rooms) = self.memory.rooms((temp, threaded)) {
            return rooms;
        }
        let mut rooms = Vec::new();
        for Room {
            own,
            name,
            elem,
            zeroed,
            count,
        } in arrays
        {
            let room = match (own, threaded) {
                (_, true) => self.array(&format!("{name}_all"), *elem, ir::Storage::Local),
                (Some(own), false) => *own,
                (None, false) => self.array(name, *elem, ir::Storage::Local),
            };
            let all = match threaded {
                true => b::mul(b::threads(), count.clone()),
                false => count.clone(),
            };
            self.memory.allocated(room, all, *zeroed);
            rooms.push((room, count.clone()));
        }
        self.memory.set_rooms((temp, threaded), rooms.clone());
        rooms
    }

    /// The memory of an array that is called as it is.
    pub(super) fn own_room(&self, array: ir::ArrayId, zeroed: bool, count: Expr) -> Room {
        Room {
            own: Some(array),
            name: self.names.array_name(array),
            elem: self.names.elem(array),
            zeroed,
            count,
        }
    }

    /// The memory of a workspace with several arrays: of a thread the parts that are its own.
    pub(super) fn own_rooms(
        &self,
        (temp, threaded): (TensorId, bool),
        arrays: &[Room],
        out: &mut Vec<ir::Stmt>,
    ) -> Vec<ir::ArrayId> {
        let rooms = self.rooms_of((temp, threaded), arrays);
        if !threaded {
            return rooms.into_iter().map(|(array, _)| array).collect();
        }
        let mut parts = Vec::new();
        for (of, count) in rooms {
            let name = self.names.array_name(of);
            let name = name.trim_end_matches("_all");
            let array = self.array(name, self.names.elem(of), ir::Storage::Local);
            out.push(ir::Stmt::Slice {
                array,
                of,
                offset: b::mul(b::thread(), count),
            });
            parts.push(array);
        }
        parts
    }
}

/// What set bytes, clearing them: its loops, without values.
fn cleared(stmts: &[ir::Stmt], bytes: ir::ArrayId, values: ir::ArrayId) -> Vec<ir::Stmt> {
    let mut out = Vec::new();
    for stmt in stmts {
        let mut stmt = stmt.clone();
        if let ir::Stmt::Store { array, value, .. } = &mut stmt {
            if *array == values {
                continue;
            }
            if *array == bytes {
                *value = b::literal(Literal::Int(0), ir::ScalarType::U8);
            }
        }
        for body in visit::bodies_mut(&mut stmt) {
            *body = cleared(body, bytes, values);
        }
        out.push(stmt);
    }
    out
}
