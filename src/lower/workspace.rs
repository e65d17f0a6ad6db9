//! Workspaces that `precompute` introduced: where their memory is.
//!
//! A small one of constant size is an array of the loop body that uses it. Others are
//! allocated once before the loops, with a part for each thread where threads fill them.

use super::{Lower, Lowerer, Scope};
use crate::loops::build as b;
use crate::loops::ir;
use crate::plan::Workspace;
use crate::program::ir::TensorId;

/// Bytes that a workspace may take on the stack of its thread.
const MOST_ON_STACK: i64 = 32 * 1024;

/// A sparse result is appended to by the consumer alone.
fn apart(scope: &Scope) -> Scope {
    Scope {
        results: Vec::new(),
        ..scope.clone()
    }
}

impl Lowerer<'_> {
    /// Lowers `where(consumer, producer)` for an array.
    pub(super) fn workspace(
        &mut self,
        workspace: &Workspace,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let Workspace { temp, threaded, .. } = *workspace;
        if workspace.collected {
            return self.row(workspace, scope);
        }
        if self.tensor(temp).dims.is_empty() {
            return self.variable(workspace, scope);
        }
        let mut out = Vec::new();
        let name = self.tensor(temp).name.clone();
        let ty = self.tensor(temp).ty.compute();
        let count = self.element_count(temp);
        let constant = b::as_int(&count)
            .filter(|n| *n > 0 && n.saturating_mul(ty.size() as i64) <= MOST_ON_STACK)
            .and_then(|n| u64::try_from(n).ok());
        let mut array = self.storage[&temp].values;
        if constant.is_some() || threaded {
            // Declared where it is used, which may be in several places.
            if self.declared.contains(&array) {
                array = self.array(&format!("{name}_vals"), ty, ir::Storage::Local);
            }
            self.declared.insert(array);
            if let Some(arrays) = self.storage.get_mut(&temp) {
                arrays.values = array;
            }
        }
        if let Some(count) = constant {
            out.push(ir::Stmt::Declare { array, count });
        } else if threaded {
            let all = self.room(temp, &name, true);
            out.push(ir::Stmt::Slice {
                array,
                of: all,
                offset: b::mul(b::thread(), count.clone()),
            });
        } else {
            self.room(temp, &name, false);
        }
        if workspace.filled {
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
    fn variable(&mut self, workspace: &Workspace, scope: &Scope) -> Lower<Vec<ir::Stmt>> {
        let temp = workspace.temp;
        let name = self.tensor(temp).name.clone();
        let (ty, fill) = (self.tensor(temp).ty.compute(), self.tensor(temp).fill);
        let var = self.fresh(&name, ty, true);
        self.scalars.insert(temp, var);
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
            Some(init) => out.push(ir::Stmt::Let { var, init }),
            None => out.insert(
                0,
                ir::Stmt::Let {
                    var,
                    init: b::literal(fill, ty),
                },
            ),
        }
        out.extend(self.stmt(&workspace.consumer, scope)?);
        Ok(out)
    }

    /// The memory of a workspace, allocated once however often it is used: with a part
    /// for each thread, or for itself.
    fn room(&mut self, temp: TensorId, name: &str, threaded: bool) -> ir::ArrayId {
        if let Some(&room) = self.rooms.get(&(temp, threaded)) {
            return room;
        }
        let ty = self.tensor(temp).ty.compute();
        let mut count = self.element_count(temp);
        let room = if threaded {
            count = b::mul(b::threads(), count);
            self.array(&format!("{name}_all"), ty, ir::Storage::Local)
        } else {
            self.storage[&temp].values
        };
        self.prelude.push(ir::Stmt::Alloc {
            array: room,
            count,
            zeroed: false,
        });
        self.postlude.push(ir::Stmt::Free { array: room });
        self.rooms.insert((temp, threaded), room);
        room
    }
}
