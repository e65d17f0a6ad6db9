//! Elements of memory that the lanes of a vector load, and where the loads stand: before loops that would repeat
//! them, which compilers do not move them out of because of the test around them.

use super::super::build as b;
use super::super::ir::{ArrayId, Expr, ExprKind, Kernel, LoopTag, Run, ScalarType, Stmt, VarId};
use super::super::trips::Bounds;
use super::super::visit;

/// Elements that the lanes of a vector loop load, one after another.
pub(super) struct Fetch {
    /// The local array that stands for the elements.
    pub array: ArrayId,
    /// What lane `var` loads, in terms of variables that are known before the vector loop.
    pub value: Expr,
    pub var: VarId,
    /// Whether it was moved out of a loop that would repeat it.
    pub moved: bool,
}

impl Fetch {
    /// Places the fetch for the last statement of a list, which needs it: in a vector loop before that statement, if
    /// it was moved out of a loop, and else in the statement itself.
    pub fn settle(self, kernel: &mut Kernel, width: i64, body: &mut Vec<Stmt>) {
        let Some(mut user) = body.pop() else {
            return;
        };
        if self.moved {
            let lane = kernel.vars[self.var.index()].clone();
            let lane = kernel.add_var(lane);
            let each = b::var(lane, ScalarType::I64);
            let mut value = self.value;
            visit::replace_expr(&mut value, &mut |node| {
                (node.kind == ExprKind::Var(self.var)).then(|| each.clone())
            });
            let tag = LoopTag {
                run: Run::Lanes {
                    count: None,
                    reductions: Vec::new(),
                },
                ..LoopTag::default()
            };
            let count = width.unsigned_abs();
            body.push(Stmt::Declare {
                array: self.array,
                count,
            });
            let store = b::store(self.array, each, value);
            body.push(Bounds::of(b::int(0), b::int(width)).each(lane, tag, vec![store]));
        } else {
            let loads = |node: &Expr| matches!(node.kind, ExprKind::Load { array, .. } if array == self.array);
            visit::replace_exprs(std::slice::from_mut(&mut user), &mut |node| {
                loads(node).then(|| self.value.clone())
            });
        }
        body.push(user);
    }
}
