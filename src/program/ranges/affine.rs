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

    /// One variable.
    pub(crate) fn index(var: VarId) -> Self {
        Affine {
            terms: BTreeMap::from([(var, SizeExpr::Const(1))]),
            rest: SizeExpr::Const(0),
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

    /// What one variable contributes, counted from zero where it grows.
    pub(super) fn of_alone(mut self, var: VarId) -> Self {
        if self.terms.get(&var).and_then(size::sign) == Some(std::cmp::Ordering::Greater) {
            self.terms.retain(|own, _| *own == var);
            self.rest = SizeExpr::Const(0);
        }
        self
    }

    /// Without another one.
    pub(crate) fn less(&self, other: &Affine) -> Self {
        let other = other.clone().scaled(&SizeExpr::Const(-1));
        self.clone().plus(other)
    }

    pub(super) fn scaled(self, factor: &SizeExpr) -> Self {
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

/// The affine form of an integer expression, `None` where it reads data, is not linear, or where what it
/// computes may wrap on the way to something that hides it. `param` tells the types of the scalar integer
/// parameters that never change.
///
/// Sums are those of the form unless they wrap, and then so far outside of every tensor that what the form
/// requires does not hold. Quotients are those of C where the dividend is not negative
/// ([`super::requirements`]).
pub(crate) fn affine(
    expr: &Expr,
    param: &impl Fn(TensorId) -> Option<ScalarType>,
) -> Option<Affine> {
    form(expr, param, &|e| is_exact(e, param))
}

/// The form, where what stands in conversions, quotients, minima and maxima is `exact`.
fn form(
    expr: &Expr,
    param: &impl Fn(TensorId) -> Option<ScalarType>,
    exact: &impl Fn(&Expr) -> bool,
) -> Option<Affine> {
    let constant = |e: &Expr| {
        let form = form(e, param, exact)?;
        form.terms.is_empty().then_some(form.rest)
    };
    match &expr.kind {
        ExprKind::Literal(Literal::Int(value)) => Some(Affine::of(SizeExpr::Const(*value))),
        ExprKind::Index(var) => Some(Affine::index(*var)),
        ExprKind::Size(extent) => Some(Affine::of(size::simplify(extent))),
        ExprKind::Access(access) if access.subscripts.is_empty() => {
            param(access.tensor).map(|_| Affine::of(SizeExpr::Param(access.tensor)))
        }
        ExprKind::Unary(UnaryOp::Neg, operand) => {
            Some(form(operand, param, exact)?.scaled(&SizeExpr::Const(-1)))
        }
        ExprKind::Cast(operand) if expr.ty.is_integer() && exact(operand) => {
            let form = form(operand, param, exact)?;
            keeps(expr.ty, operand, &form, param).then_some(form)
        }
        ExprKind::Binary(BinaryOp::Div, a, b) if exact(a) && exact(b) => {
            let (a, b) = (constant(a)?, constant(b)?);
            Some(Affine::of(size::floor_div(a, b)))
        }
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (form(a, param, exact)?, form(b, param, exact)?);
            binary(*op, a, b)
        }
        ExprKind::Call(function, args) if args.iter().all(exact) => {
            let [a, b] = args.as_slice() else { return None };
            let (a, b) = (constant(a)?, constant(b)?);
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
        | ExprKind::Call(..)
        | ExprKind::Select(..)
        | ExprKind::Reduce { .. } => None,
    }
}

/// Whether no step of an expression can wrap: what is computed with variables and sizes has 64 bits
/// and a sign; parameters are narrower, or have none.
fn is_exact(e: &Expr, param: &impl Fn(TensorId) -> Option<ScalarType>) -> bool {
    match &e.kind {
        ExprKind::Literal(_) | ExprKind::Index(_) | ExprKind::Size(_) => true,
        ExprKind::Access(access) => {
            access.subscripts.is_empty() && param(access.tensor) != Some(ScalarType::U64)
        }
        // What it keeps, it says itself.
        ExprKind::Cast(operand) => is_exact(operand, param),
        ExprKind::Unary(_, a) => is_wide(a, param) && is_exact(a, param),
        ExprKind::Binary(op, a, b) => {
            let is_literal = |e: &Expr| matches!(e.kind, ExprKind::Literal(_));
            let literals = is_literal(a) && is_literal(b);
            (*op == BinaryOp::Div || is_wide(a, param) || is_wide(b, param) || literals)
                && is_exact(a, param)
                && is_exact(b, param)
        }
        ExprKind::Call(_, args) => args.iter().all(|arg| is_exact(arg, param)),
        ExprKind::Select(..) | ExprKind::Reduce { .. } => false,
    }
}

/// Whether an exact expression has 64 bits and a sign.
fn is_wide(e: &Expr, param: &impl Fn(TensorId) -> Option<ScalarType>) -> bool {
    match &e.kind {
        ExprKind::Index(_) | ExprKind::Size(_) => true,
        ExprKind::Access(access) => param(access.tensor) == Some(ScalarType::I64),
        ExprKind::Cast(_) => e.ty == ScalarType::I64,
        ExprKind::Unary(_, a) => is_wide(a, param),
        ExprKind::Binary(_, a, b) => is_wide(a, param) || is_wide(b, param),
        ExprKind::Call(_, args) => args.iter().any(|arg| is_wide(arg, param)),
        ExprKind::Literal(_) | ExprKind::Select(..) | ExprKind::Reduce { .. } => false,
    }
}

/// Whether a conversion keeps the value of what is exact: narrow types wrap. Sizes become `int` where
/// they are arguments of other functions, which are no longer than their type says.
fn keeps(
    ty: ScalarType,
    operand: &Expr,
    form: &Affine,
    param: &impl Fn(TensorId) -> Option<ScalarType>,
) -> bool {
    let within = |own: ScalarType| match (own.ends(), ty.ends()) {
        (Some(own), Some(all)) => all.0 <= own.0 && own.1 <= all.1,
        (_, _) => false,
    };
    if ty == ScalarType::I64 {
        return true;
    }
    if let Some(value) = size::constant(&form.rest)
        && form.terms.is_empty()
    {
        return fits(value, ty);
    }
    if let ExprKind::Access(access) = &operand.kind {
        return param(access.tensor).is_some_and(within);
    }
    let is_size = matches!(operand.kind, ExprKind::Size(_));
    is_size && ty == ScalarType::I32
        || matches!(operand.kind, ExprKind::Cast(_)) && within(operand.ty)
}

/// The value of an expression of sizes, parameters and constants only, which kernels compute with 64
/// bits and a sign where it is an extent.
pub(crate) fn constant(
    expr: &Expr,
    param: &impl Fn(TensorId) -> Option<ScalarType>,
) -> Option<SizeExpr> {
    let form = form(expr, param, &|_| true)?;
    form.terms.is_empty().then_some(form.rest)
}

fn binary(op: BinaryOp, a: Affine, b: Affine) -> Option<Affine> {
    if op == BinaryOp::Add {
        return Some(a.plus(b));
    }
    if op == BinaryOp::Sub {
        return Some(a.plus(b.scaled(&SizeExpr::Const(-1))));
    }
    let (form, factor) = if b.terms.is_empty() { (a, b) } else { (b, a) };
    (op == BinaryOp::Mul && factor.terms.is_empty()).then(|| form.scaled(&factor.rest))
}
