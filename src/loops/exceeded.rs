//! Minima and maxima without the operands that others make needless: of `min((n + 15) / 16, (n - t + 15) / 16)` with a
//! natural t the second one is left. And which numbers are natural, as far as a kernel tells.

use super::build as b;
use super::interface::Arg;
use super::ir::{ArrayId, BinaryOp, Expr, ExprKind, Kernel, ScalarType, Stmt, VarId};
use super::linear::{self, Linear};
use super::visit;
use std::collections::BTreeSet;

/// Leaves out operands of minima that another one never exceeds, and of maxima that never exceed another one.
#[must_use]
pub fn drop_exceeded(mut kernel: Kernel) -> Kernel {
    let naturals = Naturals::of(&kernel);
    let values = Values::of(&kernel);
    for body in [&mut kernel.checks, &mut kernel.body] {
        visit::replace_exprs(body, &mut |e| naturals.needed(e, &values));
    }
    kernel
}

/// What programs compute with: its sums may wrap, which those of indices do not.
struct Values {
    arrays: BTreeSet<ArrayId>,
    vars: BTreeSet<VarId>,
}

impl Values {
    fn of(kernel: &Kernel) -> Values {
        let args = &kernel.interface.args;
        let mut indices = BTreeSet::new();
        let mut vars = BTreeSet::new();
        for arg in args {
            match arg {
                Arg::Tensor(tensor) => {
                    let arrays = tensor.levels.iter().flat_map(|level| &level.arrays);
                    indices.extend(arrays.map(|(_, array)| *array));
                }
                Arg::Scalar { var, ty, .. } if may_wrap(*ty) => {
                    vars.insert(*var);
                }
                Arg::Scalar { .. } => {}
            }
        }
        let ids = (0..kernel.arrays.len()).map(ArrayId::at);
        let arrays = ids.filter(|id| may_wrap(kernel.array(*id).elem) && !indices.contains(id));
        let arrays = arrays.collect();
        let mut values = Values { arrays, vars };
        // What is assigned in a loop may be read above.
        let mut before = None;
        while before != Some(values.vars.len()) {
            before = Some(values.vars.len());
            for body in [&kernel.checks, &kernel.body] {
                visit::stmts(body, &mut |stmt| {
                    if let Stmt::Let { var, init: value } | Stmt::Assign { var, value, .. } = stmt
                        && values.has(value)
                    {
                        values.vars.insert(*var);
                    }
                });
            }
        }
        values
    }

    /// Whether something of an expression is a value.
    fn has(&self, e: &Expr) -> bool {
        e.any(|part| {
            matches!(&part.kind, ExprKind::Load { array, .. } if self.arrays.contains(array))
                || matches!(&part.kind, ExprKind::Var(var) if self.vars.contains(var))
        })
    }
}

/// Whether numbers of 64 bits come of it: narrower whole numbers do not reach their ends.
fn may_wrap(ty: ScalarType) -> bool {
    ty.ends().is_none() || ty.size() == 8
}

/// The variables that are never below zero: sizes, loops from such numbers on, and what is made of these.
#[derive(Debug)]
pub struct Naturals(BTreeSet<VarId>);

impl Naturals {
    #[must_use]
    pub fn of(kernel: &Kernel) -> Naturals {
        let sizes = kernel.interface.sizes.iter().map(|size| size.var);
        let mut naturals = Naturals(sizes.collect());
        for body in [&kernel.checks, &kernel.body] {
            visit::stmts(body, &mut |stmt| {
                if let Stmt::For { var, lo: from, .. } | Stmt::Let { var, init: from } = stmt
                    && !kernel.var(*var).mutable
                    && naturals.has(from)
                {
                    naturals.0.insert(*var);
                }
            });
        }
        naturals
    }

    /// Whether a whole number is never below zero. Index arithmetic does not overflow.
    #[must_use]
    pub fn has(&self, e: &Expr) -> bool {
        if let Some(number) = b::as_int(e) {
            return number >= 0;
        }
        if e.ty != ScalarType::I64 {
            return false;
        }
        match &e.kind {
            ExprKind::Var(var) => self.0.contains(var),
            ExprKind::Place(_) => true,
            ExprKind::Cast(a) => a.ty.is_unsigned() && a.ty.size() < 8,
            ExprKind::Locate(parent, extent, at) => {
                [parent, extent, at].into_iter().all(|part| self.has(part))
            }
            ExprKind::Binary(op, x, y) => match op {
                BinaryOp::Add | BinaryOp::Mul | BinaryOp::Min => self.has(x) && self.has(y),
                BinaryOp::Max => self.has(x) || self.has(y),
                BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Rem => {
                    self.has(x) && b::as_int(y).is_some_and(|by| by > 0)
                }
                BinaryOp::Sub
                | BinaryOp::Eq
                | BinaryOp::Ne
                | BinaryOp::Lt
                | BinaryOp::Le
                | BinaryOp::Gt
                | BinaryOp::Ge
                | BinaryOp::And
                | BinaryOp::Or => false,
            },
            ExprKind::Literal(_)
            | ExprKind::Load { .. }
            | ExprKind::Unary(..)
            | ExprKind::Call(..)
            | ExprKind::Select(..) => false,
        }
    }

    /// Whether one number is never below another.
    fn reaches(&self, more: &Expr, less: &Expr) -> bool {
        if let (ExprKind::Binary(op, x, by), ExprKind::Binary(other, y, same)) =
            (&more.kind, &less.kind)
            && matches!(op, BinaryOp::FloorDiv | BinaryOp::Div)
            && op == other
            && by == same
            && b::as_int(by).is_some_and(|by| by > 0)
        {
            return self.reaches(x, y);
        }
        let rest = Linear::of(&linear::sub(more, less));
        rest.is_some_and(|rest| {
            let natural = |(e, by): &(Expr, i64)| *by > 0 && self.has(e);
            rest.constant() >= 0 && rest.terms().iter().all(natural)
        })
    }

    /// Whether neither a number nor what it is made of has as many bits as would be needed to wrap. Sums and products
    /// that programs write may.
    fn fits(e: &Expr) -> bool {
        !e.any(|part| bits(part) >= i64::BITS)
    }

    /// A minimum or maximum without operands that do not matter, if it has any.
    fn needed(&self, e: &Expr, values: &Values) -> Option<Expr> {
        let ExprKind::Binary(op @ (BinaryOp::Min | BinaryOp::Max), ..) = &e.kind else {
            return None;
        };
        if e.ty != ScalarType::I64 {
            return None;
        }
        let mut operands = Vec::new();
        collect(*op, e, &mut operands);
        let mut kept: Vec<Expr> = Vec::new();
        for operand in &operands {
            let beats = |one: &Expr, other: &Expr| {
                let told = |e| !values.has(e) && Self::fits(e);
                if !(told(one) && told(other)) {
                    one == other
                } else if *op == BinaryOp::Min {
                    self.reaches(other, one)
                } else {
                    self.reaches(one, other)
                }
            };
            if kept.iter().any(|one| beats(one, operand)) {
                continue;
            }
            kept.retain(|other| !beats(operand, other));
            kept.push((*operand).clone());
        }
        if kept.len() == operands.len() {
            return None;
        }
        for operand in &mut kept {
            visit::replace_expr(operand, &mut |part| self.needed(part, values));
        }
        kept.into_iter().reduce(|x, y| b::binary(*op, x, y))
    }
}

/// Of how many bits a number is at most. Variables and positions are taken for what arrays have, no larger than a split
/// factor may be.
fn bits(e: &Expr) -> u32 {
    const COUNT: u32 = 47;
    match &e.kind {
        ExprKind::Literal(_) => {
            b::as_int(e).map_or(i64::BITS, |n| u64::BITS - n.unsigned_abs().leading_zeros())
        }
        ExprKind::Var(_) | ExprKind::Place(_) | ExprKind::Locate(..) => COUNT,
        ExprKind::Load { .. } | ExprKind::Call(..) => i64::BITS,
        ExprKind::Cast(a) if !(a.ty.is_integer() || a.ty == ScalarType::Bool) => i64::BITS,
        ExprKind::Cast(a) => match a.ty.size() {
            1 => 8,
            2 => 16,
            4 => 32,
            _ => i64::BITS,
        },
        ExprKind::Unary(_, a) => bits(a),
        ExprKind::Select(_, a, b) => bits(a).max(bits(b)),
        ExprKind::Binary(op, a, b) => match op {
            BinaryOp::Add | BinaryOp::Sub => bits(a).max(bits(b)) + 1,
            BinaryOp::Mul => bits(a) + bits(b),
            BinaryOp::Min | BinaryOp::Max => bits(a).max(bits(b)),
            BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Rem => bits(a),
            BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
            | BinaryOp::And
            | BinaryOp::Or => 1,
        },
    }
}

/// The operands of nested minima, or maxima.
fn collect<'e>(op: BinaryOp, e: &'e Expr, found: &mut Vec<&'e Expr>) {
    if let ExprKind::Binary(own, x, y) = &e.kind
        && *own == op
    {
        collect(op, x, found);
        collect(op, y, found);
    } else {
        found.push(e);
    }
}
