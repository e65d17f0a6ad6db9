//! What is left of a statement when some accesses are absent.

use super::access::{AccessId, Table};
use super::fold::{as_literal, fold, is_fill};
use super::{Assign, Graph, Nest, Stmt};
use crate::program::ir::{Access, ReduceOp, Tensor, TensorId};
use crate::scalar::Literal;
use std::collections::BTreeSet;

/// The operands of the nests that share a tree of loops, and what may be left out where some of
/// them are absent.
#[derive(Clone, Copy)]
pub struct Operands<'a> {
    pub graph: &'a Graph,
    /// Those of the tree.
    pub tensors: &'a [Tensor],
    pub table: &'a Table,
    /// See [`droppable`].
    pub droppable: &'a BTreeSet<TensorId>,
    /// Results that sums add to in blocks which the loops themselves set up, and the operand that
    /// says where they are.
    pub blocks: &'a [(TensorId, AccessId)],
}

/// The results of which an assignment that would store the fill may be left out.
#[must_use]
pub fn droppable(graph: &Graph, tensors: &[Tensor], nests: &[&Nest]) -> BTreeSet<TensorId> {
    let mut found: BTreeSet<TensorId> = graph.workspaces.iter().copied().collect();
    if let [only] = nests
        && is_filled_before(graph, &tensors[only.tensor.index()], only)
    {
        found.insert(only.tensor);
    }
    let results = nests.iter().map(|nest| nest.tensor);
    found.extend(results.filter(|&tensor| tensors[tensor.index()].is_appended()));
    found
}

/// Whether the whole tensor can be set to its fill before, and no element outside the nest's
/// ranges or read by it is lost by that.
fn is_filled_before(graph: &Graph, tensor: &Tensor, nest: &Nest) -> bool {
    let whole = graph.covers_all(&nest.lhs, &tensor.dims);
    whole && !super::terms::reads(&nest.rhs, nest.tensor) && !tensor.dims.is_empty()
}

impl Operands<'_> {
    /// A tensor of the tree.
    #[must_use]
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.index()]
    }

    /// The statement with the accesses of `absent` replaced by their fill, or `None`
    /// if nothing is left to do. Where an assignment would store the fill it may be left
    /// out; which results hold their fill before follows from what is left
    /// (`plan/coverage.rs`).
    #[must_use]
    pub fn simplify(&self, stmt: &Stmt, absent: &BTreeSet<AccessId>) -> Option<Stmt> {
        let fill = |access: &Access| -> Option<Literal> {
            let id = self.table.find(access)?;
            absent
                .contains(&id)
                .then(|| self.tensor(access.tensor).fill)
        };
        self.simplify_with(stmt, &fill)
    }

    fn simplify_with(
        &self,
        stmt: &Stmt,
        fill: &dyn Fn(&Access) -> Option<Literal>,
    ) -> Option<Stmt> {
        match stmt {
            Stmt::Assign(assign) => self.simplify_assign(assign, fill),
            Stmt::Forall { .. }
            | Stmt::Within { .. }
            | Stmt::Guarded { .. }
            | Stmt::Sequence(_) => stmt.with_parts(&mut |part| self.simplify_with(part, fill)),
            Stmt::Where {
                consumer,
                producer,
                temp,
                init,
            } => {
                let left = self.simplify_with(producer, fill);
                let constant = left.as_ref().and_then(|p| constant_of(p, *temp));
                if let (Some(producer), None) = (left, constant) {
                    return Some(Stmt::Where {
                        consumer: Box::new(self.simplify_with(consumer, fill)?),
                        producer: Box::new(producer),
                        temp: *temp,
                        init: *init,
                    });
                }
                let neutral = constant.unwrap_or_else(|| self.unreduced(*temp, *init));
                let with_neutral = |access: &Access| {
                    if access.tensor == *temp {
                        Some(neutral)
                    } else {
                        fill(access)
                    }
                };
                self.simplify_with(consumer, &with_neutral)
            }
        }
    }

    /// What a workspace keeps where nothing is reduced: the neutral element. An array's producer
    /// always sets it up.
    fn unreduced(&self, temp: TensorId, init: Option<ReduceOp>) -> Literal {
        let tensor = self.tensor(temp);
        init.map_or(tensor.fill, |op| op.neutral(tensor.ty))
    }

    fn simplify_assign(
        &self,
        assign: &Assign,
        fill: &dyn Fn(&Access) -> Option<Literal>,
    ) -> Option<Stmt> {
        let rhs = fold(&assign.rhs, fill, &|access| self.graph.exact(access));
        let tensor = self.tensor(assign.tensor);
        if let Some(value) = as_literal(&rhs) {
            match assign.op {
                Some(op) if value.same_value(op.neutral(rhs.ty)) => return None,
                Some(_) => {}
                // What sums start from stands wherever the operand stores something.
                None if let Some(source) = self.block_source(assign) => {
                    return fill(source).is_none().then(|| Stmt::Assign(assign.clone()));
                }
                None => {
                    // A constant that the program wrote is stored where it was
                    // written; only what absence made constant is left out.
                    let made = tensor.is_appended() || as_literal(&assign.rhs).is_none();
                    if made && is_fill(&rhs, tensor) && self.droppable.contains(&assign.tensor) {
                        return None;
                    }
                }
            }
        }
        Some(Stmt::Assign(Assign {
            rhs,
            ..assign.clone()
        }))
    }

    /// The operand at whose positions `assign` sets up what sums add to.
    fn block_source(&self, assign: &Assign) -> Option<&Access> {
        as_literal(&assign.rhs)?;
        let (_, source) = self.blocks.iter().find(|b| b.0 == assign.tensor)?;
        Some(&self.table.get(*source).access)
    }

    /// The statement as it is when every reduction that may be empty is: `absent` gives the
    /// operands that a producer may be without.
    #[must_use]
    pub fn without_reductions(
        &self,
        stmt: &Stmt,
        absent: &dyn Fn(&Stmt) -> BTreeSet<AccessId>,
    ) -> Option<Stmt> {
        match stmt {
            Stmt::Forall { .. }
            | Stmt::Within { .. }
            | Stmt::Guarded { .. }
            | Stmt::Sequence(_)
            | Stmt::Assign(_) => stmt.with_parts(&mut |part| self.without_reductions(part, absent)),
            Stmt::Where {
                consumer,
                producer,
                temp,
                init,
            } => {
                let consumer = self.without_reductions(consumer, absent)?;
                let absent = absent(producer);
                // Without its operands it may still set the workspace: to a fill value.
                let left = match absent.is_empty() {
                    true => Some((**producer).clone()),
                    false => self.simplify(producer, &absent),
                };
                let constant = left.as_ref().and_then(|left| constant_of(left, *temp));
                if left.is_some() && constant.is_none() {
                    return Some(Stmt::Where {
                        consumer: Box::new(consumer),
                        producer: producer.clone(),
                        temp: *temp,
                        init: *init,
                    });
                }
                let neutral = constant.unwrap_or_else(|| self.unreduced(*temp, *init));
                let fill = |access: &Access| (access.tensor == *temp).then_some(neutral);
                self.simplify_with(&consumer, &fill)
            }
        }
    }
}

/// The constant to which a producer sets every element of its array, if it does nothing
/// else.
fn constant_of(producer: &Stmt, temp: TensorId) -> Option<Literal> {
    match producer {
        Stmt::Forall { body, .. } | Stmt::Within { body, .. } => constant_of(body, temp),
        Stmt::Assign(assign) => as_literal(&assign.rhs)
            .filter(|_| assign.tensor == temp && assign.op.is_none() && !assign.lhs.is_empty()),
        Stmt::Sequence(_) | Stmt::Where { .. } | Stmt::Guarded { .. } => None,
    }
}
