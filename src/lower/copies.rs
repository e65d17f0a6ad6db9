//! Copies of an array for each thread (on a GPU, each block or thread), which are added up
//! behind the loop (000, figure 7-2: `Temporary`).

use super::{Lowerer, Scope, turns};
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Expr, LoopTag};
use crate::loops::trips::Bounds;
use crate::plan::Contest;
use crate::program::ir::{ReduceOp, TensorId};

impl Lowerer<'_> {
    /// A copy of each array for each thread (on a GPU, each block or thread), which the loop
    /// writes instead.
    pub(super) fn copies(
        &self,
        contest: &Contest,
        gpu: bool,
        scope: &mut Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> Vec<ir::Stmt> {
        let mut after = Vec::new();
        for &(tensor, op) in &contest.copies {
            let name = self.tensor(tensor).name.clone();
            let ty = self.tensor(tensor).ty.compute();
            let count = self.element_count(tensor);
            let all = self.array(&format!("{name}_copies"), ty, ir::Storage::Local);
            let own = self.array(&format!("{name}_own"), ty, ir::Storage::Local);
            let units = if gpu {
                // The number of units of the loop's launch, for all that comes after.
                let (var, units) = self.fresh_index(&format!("{name}_units"), false);
                let init = b::threads();
                self.memory.first(b::bind(var, init));
                units
            } else {
                b::threads()
            };
            let total = b::mul(units.clone(), count.clone());
            self.memory.allocated(all, total.clone(), false);
            out.push(ir::Stmt::Fill {
                array: all,
                start: b::int(0),
                count: total.clone(),
                value: b::literal(op.neutral(ty), ty),
            });
            scope.prologue.push(ir::Stmt::Slice {
                array: own,
                of: all,
                offset: b::mul(b::thread(), count.clone()),
            });
            scope.copies.insert(tensor, own);
            if gpu {
                after.push(self.add_up_together(tensor, (all, units), op, count));
            } else {
                after.extend(self.add_up(tensor, all, op, count));
            }
        }
        after
    }

    /// `T[e] op= copies[t * count + e]` for each thread t, in their order: threads share out elements, so many
    /// at a time that what they read lies in lines of their own.
    fn add_up(&self, tensor: TensorId, all: ArrayId, op: ReduceOp, count: Expr) -> Vec<ir::Stmt> {
        const ELEMENTS: i64 = 1024;
        let values = self.names.values(tensor);
        let name = format!("{}_threads", self.tensor(tensor).name);
        // Asked outside of the loop: it is another question inside.
        let (threads, units) = self.fresh_index(&name, false);
        let (part, outer) = self.fresh_index("e0", false);
        let (t, thread) = self.fresh_index("t", false);
        let (e, inner) = self.fresh_index("e1", false);
        let first = b::mul(outer, b::int(ELEMENTS));
        let at = b::add(first.clone(), inner);
        let own = self.load(all, b::locate(thread, count.clone(), at.clone()));
        let store = ir::Stmt::Store {
            array: values,
            index: at,
            op: Some(op),
            value: own,
            atomic: false,
        };
        let from_zero = |n| Bounds::of(b::int(0), n);
        let rest = b::sub(count.clone(), first);
        let serial = LoopTag::default;
        let elements = from_zero(b::min(b::int(ELEMENTS), rest)).each(e, serial(), vec![store]);
        let copies = from_zero(units).each(t, serial(), vec![elements]);
        let shared = turns::shared(ir::OmpSchedule::Static(None));
        let init = b::threads();
        vec![
            b::bind(threads, init),
            from_zero(b::ceil_div(count, ELEMENTS)).each(part, shared, vec![copies]),
        ]
    }

    /// As [`Lowerer::add_up`], a thread of a GPU for each element.
    fn add_up_together(
        &self,
        tensor: TensorId,
        (all, units): (ArrayId, Expr),
        op: ReduceOp,
        count: Expr,
    ) -> ir::Stmt {
        const THREADS: i64 = 256;
        let values = self.names.values(tensor);
        let ty = self.tensor(tensor).ty.compute();
        let (block, outer) = self.fresh_index("e0", false);
        let (thread, inner) = self.fresh_index("e1", false);
        let (t, copy) = self.fresh_index("t", false);
        let sum = self.fresh("sum", ty, true);
        let first = b::mul(outer, b::int(THREADS));
        let at = b::add(first.clone(), inner);
        let own = self.load(all, b::locate(copy, count.clone(), at.clone()));
        let tag = |level| {
            LoopTag::over(ir::GpuUnit {
                level,
                axis: ir::Axis::X,
                group: None,
            })
        };
        let plain = |var, hi, tag, body| Bounds::of(b::int(0), hi).each(var, tag, body);
        let each = vec![
            b::bind(sum, b::literal(op.neutral(ty), ty)),
            plain(t, units, LoopTag::default(), vec![b::update(sum, op, own)]),
            ir::Stmt::Store {
                array: values,
                index: at,
                op: Some(op),
                value: b::var(sum, ty),
                atomic: false,
            },
        ];
        let rest = b::sub(count.clone(), first);
        let threads = plain(
            thread,
            b::min(b::int(THREADS), rest),
            tag(ir::GpuLevel::Thread),
            each,
        );
        plain(
            block,
            b::ceil_div(count, THREADS),
            tag(ir::GpuLevel::Block),
            vec![threads],
        )
    }
}
