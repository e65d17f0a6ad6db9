//! Workspaces that `precompute` introduced: where their memory is.
//!
//! A small one of constant size is an array of the loop body that uses it. Others are
//! allocated once before the loops, with a part for each thread where threads fill them.

use super::{Lower, Lowerer, Scope};
use crate::graph::Stmt;
use crate::loops::build as b;
use crate::loops::ir::{self, ExprKind};
use crate::program::ir::TensorId;
use crate::scalar::Literal;

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
        let mut out = Vec::new();
        let name = self.tensor(temp).name.clone();
        let ty = self.tensor(temp).ty.compute();
        let count = self.element_count(temp);
        let array = self.storage[&temp].values;
        let constant = match count.kind {
            ExprKind::Literal(Literal::Int(n)) => u64::try_from(n)
                .ok()
                .filter(|_| n > 0 && n.saturating_mul(ty.size() as i64) <= MOST_ON_STACK),
            ExprKind::Literal(_)
            | ExprKind::Var(_)
            | ExprKind::Load { .. }
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Call(..)
            | ExprKind::Cast(_)
            | ExprKind::Select(..)
            | ExprKind::Thread
            | ExprKind::Threads => None,
        };
        if let Some(count) = constant {
            out.push(ir::Stmt::Declare { array, count });
        } else if scope.threaded {
            let all = self.array(&format!("{name}_all"), ty, ir::Storage::Local);
            self.prelude.push(ir::Stmt::Alloc {
                array: all,
                count: b::mul(b::threads(), count.clone()),
                zeroed: false,
            });
            self.postlude.push(ir::Stmt::Free { array: all });
            out.push(ir::Stmt::Slice {
                array,
                of: all,
                offset: b::mul(b::thread(), count.clone()),
            });
        } else {
            self.prelude.push(ir::Stmt::Alloc {
                array,
                count: count.clone(),
                zeroed: false,
            });
            self.postlude.push(ir::Stmt::Free { array });
        }
        let mut inner = scope.clone();
        inner.own(temp);
        self.droppable.insert(temp);
        let producer = self.stmt(producer, &inner)?;
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
}
