//! What a kernel refuses and the result does not need: ranges that leave a tensor where nothing is stored, and
//! subscripts that divide by 0.

use super::enumerate::Plan;
use super::evaluate::{Judge, judged};
use super::exact::eval;
use super::leaves::At;
use super::load::Operand;
use super::node::{Kind, Node, walk};
use super::{EvalError, Inputs};
use crate::program::ir::{BinaryOp, Bound, ExprKind, Function, Statement, TensorId, VarId};

/// What a kernel that checks its data finds in them, if there is something.
#[must_use]
pub fn blamed(function: &Function, inputs: &Inputs) -> Option<EvalError> {
    judged(function, inputs, true).err()
}

impl Judge<'_> {
    /// Ranges that data decide stay within the tensors that their variables subscript.
    pub(super) fn check_ranges(&self, stmt: &Statement) -> Result<(), EvalError> {
        for &var in &stmt.vars {
            let range = &self.function.var(var).range;
            if matches!((&range.lo, &range.hi), (Bound::Static(_), Bound::Static(_))) {
                continue;
            }
            let mut subscripted: Vec<(TensorId, usize)> = Vec::new();
            let mut told = vec![var];
            stmt.rhs.walk(&mut |e| {
                if let ExprKind::Access(access) = &e.kind {
                    for (mode, subscript) in access.subscripts.iter().enumerate() {
                        if subscript.as_var() == Some(var) {
                            subscripted.push((access.tensor, mode));
                        }
                    }
                }
            });
            let mut at = 0;
            while let Some(&next) = told.get(at) {
                let outer = self.outer(next).into_iter();
                let new: Vec<VarId> = outer.filter(|v| !told.contains(v)).collect();
                told.extend(new);
                at += 1;
            }
            let around = stmt.vars.iter().filter(|v| **v != var && told.contains(v));
            let plan = around
                .rev()
                .fold(Plan::Leaf, |plan, &v| Plan::Loop(v, Box::new(plan)));
            let mut env = self.env(0);
            self.visit(&plan, &mut env, &mut |env| {
                let (lo, hi) = self.range(var, env)?;
                for &(tensor, mode) in subscripted.iter().filter(|_| lo < hi) {
                    let extent = self.dims(tensor)?[mode];
                    let past = u64::try_from(hi).is_ok_and(|hi| hi > extent);
                    if lo < 0 || past {
                        return Err(EvalError::OutOfRange {
                            tensor: self.function.tensor(tensor).name.clone(),
                            value: i128::from(if lo < 0 { lo } else { hi - 1 }),
                            extent,
                        });
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

impl At<'_, '_> {
    pub(super) fn check_divisors(
        &mut self,
        operand: &Operand,
        subscript: &Node,
    ) -> Result<(), EvalError> {
        let mut divisors = Vec::new();
        walk(subscript, &mut |node| {
            if let Kind::Binary(BinaryOp::Div | BinaryOp::Rem, _, by) = &node.kind {
                divisors.push(by);
            }
        });
        for by in divisors {
            if eval(by, self)?.known.is_some_and(|by| by.number.is_zero()) {
                return Err(EvalError::NoQuotient {
                    tensor: operand.name.clone(),
                });
            }
        }
        Ok(())
    }
}
