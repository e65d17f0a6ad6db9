//! Subscripts as affine functions of index variables.

use std::collections::BTreeMap;

use super::size;
use crate::program::draft::Draft;
use crate::program::ir::{
    BinaryOp, Expr, ExprKind, Func, Literal, SizeExpr, TensorId, UnaryOp, VarId,
};
use crate::program::types::fits;
use crate::scalar::ScalarType;

/// `sum of coefficient * variable, plus rest`; coefficients are not zero.
#[derive(Clone, Debug)]
pub(crate) struct Affine {
    pub(crate) terms: BTreeMap<VarId, SizeExpr>,
    pub(crate) rest: SizeExpr,
}

impl Affine {
    pub(super) fn of(rest: SizeExpr) -> Self {
        Affine {
            terms: BTreeMap::new(),
            rest,
        }
    }

    /// With the extents that had no name when the form was made; `None` while one of
    /// them is unknown.
    pub(in crate::program) fn expanded(&self, draft: &Draft) -> Option<Affine> {
        let terms = self.terms.iter();
        let terms = terms.map(|(var, coefficient)| Some((*var, draft.expand(coefficient)?)));
        Some(Affine {
            terms: terms.collect::<Option<_>>()?,
            rest: size::simplify(&draft.expand(&self.rest)?),
        })
    }

    pub(super) fn plus(mut self, other: Affine) -> Self {
        self.rest = size::add(self.rest, other.rest);
        for (var, coefficient) in other.terms {
            let old = self.terms.remove(&var).unwrap_or(SizeExpr::Const(0));
            let sum = size::add(old, coefficient);
            if sum != SizeExpr::Const(0) {
                self.terms.insert(var, sum);
            }
        }
        self
    }

    /// Without another one.
    pub(super) fn less(&self, other: &Affine) -> Self {
        let other = other.clone().scaled(&SizeExpr::Const(-1));
        self.clone().plus(other)
    }

    fn scaled(self, factor: &SizeExpr) -> Self {
        let terms = self.terms.into_iter();
        Affine {
            rest: size::mul(self.rest, factor.clone()),
            terms: terms
                .map(|(var, coefficient)| (var, size::mul(coefficient, factor.clone())))
                .filter(|(_, coefficient)| *coefficient != SizeExpr::Const(0))
                .collect(),
        }
    }
}

/// The affine form of an integer expression, `None` where it reads data or is not
/// linear. `is_param` tells the scalar integer parameters that never change.
pub(crate) fn affine(expr: &Expr, is_param: &impl Fn(TensorId) -> bool) -> Option<Affine> {
    match &expr.kind {
        ExprKind::Literal(Literal::Int(value)) => Some(Affine::of(SizeExpr::Const(*value))),
        ExprKind::Index(var) => Some(Affine {
            terms: BTreeMap::from([(*var, SizeExpr::Const(1))]),
            rest: SizeExpr::Const(0),
        }),
        ExprKind::Size(extent) => Some(Affine::of(size::simplify(extent))),
        ExprKind::Access(access) if access.subscripts.is_empty() && is_param(access.tensor) => {
            Some(Affine::of(SizeExpr::Param(access.tensor)))
        }
        ExprKind::Unary(UnaryOp::Neg, operand) => {
            Some(affine(operand, is_param)?.scaled(&SizeExpr::Const(-1)))
        }
        ExprKind::Cast(operand) if expr.ty.is_integer() => {
            let form = affine(operand, is_param)?;
            keeps(expr.ty, &form).then_some(form)
        }
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (affine(a, is_param)?, affine(b, is_param)?);
            binary(*op, a, b)
        }
        ExprKind::Call(function, args) => {
            let [a, b] = args.as_slice() else { return None };
            let (a, b) = (constant(a, is_param)?, constant(b, is_param)?);
            if *function == Func::Min {
                Some(Affine::of(size::min(a, b)))
            } else if *function == Func::Max {
                Some(Affine::of(size::max(a, b)))
            } else {
                None
            }
        }
        ExprKind::Literal(_)
        | ExprKind::Access(_)
        | ExprKind::Unary(..)
        | ExprKind::Cast(_)
        | ExprKind::Select(..)
        | ExprKind::Reduce { .. } => None,
    }
}

/// Whether a conversion keeps the value: narrow types wrap. Extents become `int` where they are
/// arguments of other functions, which are no longer than their type says.
fn keeps(ty: ScalarType, form: &Affine) -> bool {
    match (ty, size::constant(&form.rest)) {
        (ScalarType::I64, _) => true,
        (_, Some(value)) if form.terms.is_empty() => fits(value, ty),
        (ScalarType::I32, None) => form.terms.is_empty(),
        (_, _) => false,
    }
}

/// The value of an expression of sizes, parameters and constants only.
pub(crate) fn constant(expr: &Expr, is_param: &impl Fn(TensorId) -> bool) -> Option<SizeExpr> {
    let form = affine(expr, is_param)?;
    form.terms.is_empty().then_some(form.rest)
}

fn binary(op: BinaryOp, a: Affine, b: Affine) -> Option<Affine> {
    match op {
        BinaryOp::Add => Some(a.plus(b)),
        BinaryOp::Sub => Some(a.plus(b.scaled(&SizeExpr::Const(-1)))),
        BinaryOp::Mul if b.terms.is_empty() => Some(a.scaled(&b.rest)),
        BinaryOp::Mul if a.terms.is_empty() => Some(b.scaled(&a.rest)),
        BinaryOp::Div if a.terms.is_empty() && b.terms.is_empty() => {
            Some(Affine::of(size::floor_div(a.rest, b.rest)))
        }
        BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::And
        | BinaryOp::Or => None,
    }
}
