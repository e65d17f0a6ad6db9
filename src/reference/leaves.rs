//! The leaves of an expression where an evaluation stands.

use super::EvalError;
use super::evaluate::Judge;
use super::exact::{Leaves, Value, eval};
use super::load::Operand;
use super::node::{Kind, Node};
use super::rounding::Bounded;
use super::table::Table;
use super::value::{convert, wrap};
use super::visit::Env;
use crate::data::values::Number;
use crate::program::ir::{TensorId, VarId};
use crate::scalar::ScalarType;
use std::collections::BTreeSet;

/// Leaves at a known coordinate.
pub(super) struct At<'a, 'f> {
    pub judge: &'a Judge<'f>,
    pub env: &'a Env,
    pub tables: &'a [Table],
    /// The rounding of where a kernel may gather sums.
    pub coarse: f64,
}

impl Leaves for At<'_, '_> {
    type Error = EvalError;

    fn access(&mut self, node: &Node, id: usize) -> Result<Value, EvalError> {
        let Kind::Access {
            tensor, subscripts, ..
        } = &node.kind
        else {
            return Ok(Value::UNKNOWN);
        };
        let operand = self.judge.operand(*tensor)?;
        let ty = node.ty;
        if let Some(at) = self.env.standing.get(id).copied().flatten() {
            return Ok(self.element(*tensor, operand, at, ty));
        }
        let mut coordinate = [0u64; 16];
        let mut long;
        let slots: &mut [u64] = if subscripts.len() <= 16 {
            &mut coordinate[..subscripts.len()]
        } else {
            long = vec![0u64; subscripts.len()];
            &mut long
        };
        for (mode, s) in subscripts.iter().enumerate() {
            if self.judge.strict {
                self.check_divisors(operand, s)?;
            }
            let value = match s.kind {
                Kind::Index(var) => i128::from(self.env.vars[var.index()]),
                Kind::Literal(_)
                | Kind::Size(_)
                | Kind::Access { .. }
                | Kind::Table(_)
                | Kind::Unary(..)
                | Kind::Binary(..)
                | Kind::Select(..)
                | Kind::Call(..)
                | Kind::Cast(_) => eval(s, self)?.known.map_or(0, |b| b.number.int()),
            };
            let extent = operand.dims[mode];
            match u64::try_from(value) {
                Ok(c) if c < extent => slots[mode] = c,
                _ => {
                    return Err(EvalError::OutOfRange {
                        tensor: operand.name.clone(),
                        value,
                        extent,
                    });
                }
            }
        }
        if operand.sparse {
            return Ok(match operand.find(slots) {
                Some(at) => self.element(*tensor, operand, at, ty),
                None => Value::exact(convert(operand.fill, ty)),
            });
        }
        let at = operand.linear(slots);
        Ok(self.element(*tensor, operand, at, ty))
    }

    fn index(&mut self, var: VarId) -> Value {
        Value::plain(Bounded::read(Number::Int(i128::from(
            self.env.vars[var.index()],
        ))))
    }

    fn table(&mut self, at: usize) -> Value {
        let table = &self.tables[at];
        match table.get(&self.env.vars) {
            Some(entry) => Value {
                known: Some(entry.finish(table.op, table.ty, table.coarse)),
                exact: false,
                sums: entry.terms,
            },
            None => Value::exact(table.neutral),
        }
    }

    fn coarse(&self) -> f64 {
        self.coarse
    }
}

impl At<'_, '_> {
    /// A stored element, with the bound that it was computed with.
    pub(super) fn element(
        &self,
        tensor: TensorId,
        operand: &Operand,
        at: usize,
        ty: ScalarType,
    ) -> Value {
        let errors = self.judge.error.get(&tensor);
        let error = errors.and_then(|list| list.get(at)).copied().unwrap_or(0.0);
        Value::plain(Bounded {
            number: wrap(operand.stored_value(at), ty),
            error,
        })
    }
}

/// Everything sparse is absent and every reduction empty.
pub(super) struct Untouched<'a, 'f> {
    pub judge: &'a Judge<'f>,
    pub ids: &'a BTreeSet<usize>,
    pub tables: &'a [Table],
}

impl Leaves for Untouched<'_, '_> {
    type Error = EvalError;

    fn access(&mut self, node: &Node, id: usize) -> Result<Value, EvalError> {
        Ok(match &node.kind {
            Kind::Access { tensor, .. } if self.ids.contains(&id) => {
                Value::exact(convert(self.judge.operand(*tensor)?.fill, node.ty))
            }
            Kind::Access { .. }
            | Kind::Literal(_)
            | Kind::Size(_)
            | Kind::Index(_)
            | Kind::Table(_)
            | Kind::Unary(..)
            | Kind::Binary(..)
            | Kind::Select(..)
            | Kind::Call(..)
            | Kind::Cast(_) => Value::UNKNOWN,
        })
    }

    fn index(&mut self, _: VarId) -> Value {
        Value::UNKNOWN
    }

    fn table(&mut self, at: usize) -> Value {
        Value::exact(self.tables[at].neutral)
    }
}
