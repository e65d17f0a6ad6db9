//! Workspaces that `precompute` introduced: where their memory is.
//!
//! A small one of constant size is an array of the loop body that uses it. Others are
//! allocated once before the loops, with a part for each thread where threads fill them.

use super::{Lower, Lowerer, Scope};
use crate::graph::{Space, Stmt, Unit};
use crate::loops::build as b;
use crate::loops::ir::{self, GpuLevel, GpuUnit};
use crate::program::ir::{TensorId, VarId};

/// Bytes that a workspace may take on the stack of its thread.
const MOST_ON_STACK: i64 = 32 * 1024;

impl Lowerer<'_> {
    /// Lowers `where(consumer, producer)` for an array.
    pub(super) fn workspace(
        &mut self,
        temp: TensorId,
        producer: &Stmt,
        consumer: &Stmt,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        self.check_space(temp, scope)?;
        let mut out = Vec::new();
        let name = self.tensor(temp).name.clone();
        let ty = self.tensor(temp).ty.compute();
        let count = self.element_count(temp);
        let constant = b::as_int(&count)
            .filter(|n| *n > 0 && n.saturating_mul(ty.size() as i64) <= MOST_ON_STACK)
            .and_then(|n| u64::try_from(n).ok());
        let mut array = self.storage[&temp].values;
        if constant.is_some() || scope.threaded {
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
        } else if scope.threaded {
            let all = self.room(temp, &name, true);
            out.push(ir::Stmt::Slice {
                array,
                of: all,
                offset: b::mul(b::thread(), count.clone()),
            });
        } else {
            self.room(temp, &name, false);
        }
        let mut inner = scope.clone();
        inner.own(temp);
        self.prefill.remove(&temp);
        let apart = Scope {
            // A sparse result is appended to by the consumer alone.
            results: Vec::new(),
            ..inner.clone()
        };
        let producer = self.stmt(producer, &apart)?;
        if self.prefill.remove(&temp) {
            out.push(ir::Stmt::Fill {
                array,
                start: b::int(0),
                count,
                value: b::literal(self.tensor(temp).fill, ty),
            });
        }
        out.extend(producer);
        out.extend(self.stmt(consumer, &inner)?);
        Ok(out)
    }

    /// Refuses a tile whose place among the units of a GPU is not that of its memory.
    fn check_space(&self, temp: TensorId, scope: &Scope) -> Lower<()> {
        let Some((_, space)) = self.graph.spaces.iter().find(|(t, _)| *t == temp) else {
            return Ok(());
        };
        let units: Vec<GpuUnit> = scope
            .units
            .iter()
            .filter_map(|&v| self.gpu_unit(v))
            .collect();
        let threads = units.iter().any(|u| u.level == GpuLevel::Thread);
        let fits = units.is_empty() || threads == (*space == Space::Local);
        if fits {
            return Ok(());
        }
        let name = &self.tensor(temp).name;
        let (message, help) = match space {
            Space::Shared => (
                format!("`{name}` stands inside a loop over threads: it cannot be shared"),
                "promote at a loop outside, or to local",
            ),
            Space::Local => (
                format!("`{name}` stands outside of the loops over threads: it cannot be local"),
                "promote at a loop inside, or to shared",
            ),
        };
        Err(self
            .error(
                crate::diagnostic::codes::schedule::NO_TILE,
                message,
                "with this schedule",
            )
            .with_help(help))
    }

    /// The unit of a GPU that a loop is shared out to.
    fn gpu_unit(&self, var: VarId) -> Option<GpuUnit> {
        let mut found = None;
        for nest in &self.nests {
            nest.visit(&mut |part| {
                for l in part.loops.iter().filter(|l| l.var == var) {
                    if let Some(Unit::Gpu(unit)) = l.tag.parallel.as_ref().map(|p| p.unit) {
                        found = Some(unit);
                    }
                }
            });
        }
        found
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
