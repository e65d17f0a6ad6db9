//! Variables and elements of arrays that are set, or combined with what they held.

use super::super::kernel::{Dialect, Printer};
use super::super::loops::atomic_pragma;
use super::super::operators;
use super::super::types::{c_type, half, lane_type};
use crate::loops::build as b;
use crate::loops::ir::{
    ArrayId, BinaryOp, Expr, ExprKind, Literal, ReduceOp, ScalarType, UnaryOp, VarId,
};

/// What a statement updates.
#[derive(Clone, Copy)]
enum Updated {
    Var(VarId),
    Array(ArrayId),
}

impl Printer<'_> {
    /// Sets a variable, or combines a value with it.
    pub(super) fn assign(&mut self, var: VarId, op: Option<ReduceOp>, value: &Expr) {
        let target = self.watched_var(var, false);
        let ty = self.kernel.var(var).ty;
        let text = self.update(&target, ty, op, value, Updated::Var(var));
        self.line(&text);
    }

    /// Sets an element of an array, or combines a value with it.
    pub(super) fn store(
        &mut self,
        array: ArrayId,
        index: &Expr,
        op: Option<ReduceOp>,
        value: &Expr,
        atomic: bool,
    ) {
        if atomic && self.dialect == Dialect::Device {
            let text = self.atomic_update(array, index, op, value);
            return self.line(&text);
        }
        let elem = self.kernel.array(array).elem;
        if atomic {
            self.pragma(atomic_pragma(elem, op));
            if let (Some(ReduceOp::Add), true) = (op, elem.is_integer() && elem.size() < 4) {
                let target = self.element(array, index, false);
                let text = format!("{target} += {};", self.expr(value));
                return self.line(&text);
            }
        }
        let target = self.element(array, index, false);
        if let (Some(lanes), None) = (&self.lanes, op)
            && !lanes.is_wide(value)
        {
            let ty = lane_type(elem, lanes.count);
            let zero = matches!(value.kind, ExprKind::Literal(l) if l.is_zero());
            let more = if zero {
                String::new()
            } else {
                format!(" + {}", self.compared(value))
            };
            return self.line(&format!("{target} = ({ty}){{0}}{more};"));
        }
        if op == Some(ReduceOp::Add)
            && let Some(text) = self.tested(value)
        {
            return self.line(&format!("{target} += {text};"));
        }
        // The element that data choose becomes true whatever it is: it is not read.
        if op == Some(ReduceOp::Or) && elem == ScalarType::Bool && !atomic && index.loads() {
            let text = self.expr(value);
            return self.line(&format!("if ({text}) {target} = true;"));
        }
        // A half-width element is read, combined in float and rounded.
        let combined = || match op {
            Some(op) => {
                let old = b::load(array, elem, index.clone());
                self.expr(&b::combine(op, old, value.clone()))
            }
            None => self.expr(value),
        };
        let text = match half(elem) {
            Some(half) => format!("{target} = sparsec_float_to_{half}({});", combined()),
            None => self.update(&target, elem, op, value, Updated::Array(array)),
        };
        self.line(&text);
    }

    /// `target op= value;` in the shortest form that C has.
    fn update(
        &self,
        target: &str,
        ty: ScalarType,
        op: Option<ReduceOp>,
        value: &Expr,
        into: Updated,
    ) -> String {
        let text = self.expr(value);
        let var = match into {
            Updated::Var(var) => Some(var),
            Updated::Array(_) => None,
        };
        let narrow = ty.is_integer() && ty.size() < 4;
        // Only for variables: for an element of an array, the store itself may be what is skipped.
        let flag = |symbol: char| {
            let own = var.and(Some(value)).filter(|_| ty == ScalarType::Bool);
            own.and_then(|value| self.gathered(target, symbol, value))
        };
        match op {
            None => {
                if let (Some(var), ExprKind::Binary(BinaryOp::Add, a, b)) = (var, &value.kind)
                    && a.kind == ExprKind::Var(var)
                {
                    let one = matches!(b.kind, ExprKind::Literal(Literal::Int(1)));
                    return if one {
                        format!("{target}++;")
                    } else {
                        format!("{target} += {};", self.expr(b))
                    };
                }
                format!("{target} = {text};")
            }
            Some(ReduceOp::Add) if !narrow && ty != ScalarType::Bool => {
                if let ExprKind::Unary(UnaryOp::Neg, a) = &value.kind {
                    return format!("{target} -= {};", self.expr(a));
                }
                format!("{target} += {text};")
            }
            Some(ReduceOp::Mul) if !narrow && ty != ScalarType::Bool => {
                format!("{target} *= {text};")
            }
            Some(ReduceOp::Add) if ty == ScalarType::Bool => {
                flag('|').unwrap_or_else(|| format!("{target} = {target} || ({text});"))
            }
            Some(ReduceOp::Mul) if ty == ScalarType::Bool => {
                flag('&').unwrap_or_else(|| format!("{target} = {target} && ({text});"))
            }
            Some(ReduceOp::Add) => {
                format!("{target} = ({})({target} + ({text}));", c_type(ty))
            }
            Some(ReduceOp::Mul) => {
                format!("{target} = ({})({target} * ({text}));", c_type(ty))
            }
            Some(op @ (ReduceOp::Min | ReduceOp::Max)) => {
                let min = op == ReduceOp::Min;
                let is_number = match into {
                    Updated::Var(var) => self.numbers.contains(&var),
                    Updated::Array(array) => self.number_arrays.contains(&array),
                };
                let name = match (min, is_number) {
                    (true, true) => "lowered",
                    (false, true) => "raised",
                    (true, false) => "min",
                    (false, false) => "max",
                };
                if let (Updated::Array(_), Some(text)) =
                    (into, self.combined_lanes(name, target, value))
                {
                    return format!("{target} = {text};");
                }
                let call = if ty == ScalarType::Bool {
                    let symbol = if min { '&' } else { '|' };
                    let skips = || format!("{target} = {target} {symbol}{symbol} ({text});");
                    return flag(symbol).unwrap_or_else(skips);
                } else if ty.is_integer() || self.dialect == Dialect::C {
                    format!("sparsec_{name}_{}", ty.name())
                } else {
                    let name = if min { "fmin" } else { "fmax" };
                    let suffix = if ty == ScalarType::F32 { "f" } else { "" };
                    format!("{name}{suffix}")
                };
                format!("{target} = {call}({target}, {text});")
            }
            Some(ReduceOp::And) => {
                flag('&').unwrap_or_else(|| format!("{target} = {target} && ({text});"))
            }
            Some(ReduceOp::Or) => {
                flag('|').unwrap_or_else(|| format!("{target} = {target} || ({text});"))
            }
            Some(ReduceOp::Own(own)) => {
                format!(
                    "{target} = {}({target}, {text});",
                    operators::function(own, ty)
                )
            }
        }
    }
}
