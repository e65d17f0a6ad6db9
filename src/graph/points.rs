//! Conditions that hold at one coordinate: `i == j`, `j == p(i)`.
//!
//! Where i is known, `i == j` holds at one value of j. So it is an operand like others: a vector of truth values that
//! stores one element, at its origin, and is read at a distance, as `point(j - i)`. Lattices then know where the
//! condition holds and where it does not, and `A(i,j) + (i == j ? 1 : 0)` is a merge of what A stores with the diagonal,
//! not a loop over all coordinates.
//!
//! This is done where it makes a loop shorter: where terms without the condition are nothing, or nothing where
//! operands have no elements. Elsewhere a comparison costs less than a merge.

use super::access::is_checked;
use super::distance::stride;
use super::exact::Exact;
use super::fold::{as_literal, fold};
use super::order::vars_in;
use super::terms::replace;
use super::{Graph, equal};
use crate::format::TensorFormat;
use crate::level::Level;
use crate::program::ir::{
    Access, BinaryOp, Expr, ExprKind, Function, ReduceOp, Role, Shared, SizeExpr, Statement,
    Tensor, TensorId, UnaryOp, VarId,
};
use crate::scalar::{Literal, ScalarType};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The conditions that are read as operands.
#[derive(Clone, Debug, Default)]
pub struct Points {
    /// The vector that stores one element.
    tensor: Option<TensorId>,
    /// Each condition, and how it is read.
    read: Vec<(Expr, Expr)>,
}

impl Points {
    /// Whether the tensor stores nothing but where it is true.
    #[must_use]
    pub fn is(&self, tensor: TensorId) -> bool {
        self.tensor == Some(tensor)
    }

    /// Which of the variables such an access tells, where the others that its subscript has are known.
    #[must_use]
    pub fn told(&self, access: &Access, vars: &BTreeSet<VarId>) -> Option<VarId> {
        let subscript = access
            .subscripts
            .first()
            .filter(|_| self.is(access.tensor))?;
        let own = vars_in(subscript);
        let mut told = own.iter().copied();
        let var = told.find(|&var| stride(subscript, var).is_some())?;
        own.iter().all(|var| vars.contains(var)).then_some(var)
    }

    /// Lets the innermost loop over what conditions compare walk them: where i is known first, `i == j` is read as
    /// `point(j - i)`, where j is, as `point(i - j)`.
    pub(super) fn turn_to(&mut self, e: &mut Expr, order: &[VarId]) {
        let mut turned = Vec::new();
        e.walk_mut(&mut |node| {
            let span = node.span;
            let ExprKind::Access(access) = &mut node.kind else {
                return;
            };
            if !self.is(access.tensor) {
                return;
            }
            let [subscript] = access.subscripts.as_mut_slice() else {
                return;
            };
            let own = vars_in(subscript);
            let Some(&last) = order.iter().rev().find(|var| own.contains(var)) else {
                return;
            };
            let ExprKind::Binary(BinaryOp::Sub, a, b) = &subscript.kind else {
                return;
            };
            let other = Expr {
                kind: ExprKind::Binary(BinaryOp::Sub, b.clone(), a.clone()),
                ty: subscript.ty,
                span,
            };
            if stride(subscript, last).is_none() && stride(&other, last).is_some() {
                let before = node.clone();
                if let ExprKind::Access(access) = &mut node.kind {
                    access.subscripts = vec![other];
                }
                turned.push((before, node.clone()));
            }
        });
        for (before, now) in turned {
            if let Some(condition) = self.condition(&before).cloned() {
                self.read.push((condition, now));
            }
        }
    }

    /// The condition that the graph reads so.
    #[must_use]
    pub fn condition(&self, e: &Expr) -> Option<&Expr> {
        let mut read = self.read.iter();
        read.find_map(|(condition, access)| equal::same(access, e).then_some(condition))
    }
}

impl Graph {
    /// The function with such conditions read as operands, which the graph gets.
    pub(super) fn with_points(&mut self, function: &Rc<Function>) -> Rc<Function> {
        let mut own = Rc::clone(function);
        for (at, stmt) in function.stmts.iter().enumerate() {
            let mut rhs = stmt.rhs.clone();
            let fill = function.tensor(stmt.tensor).fill;
            let nothing = stmt.op.map_or(fill, |op| op.neutral(rhs.ty));
            if self.read_points(&mut rhs, nothing, stmt) {
                Rc::make_mut(&mut own).stmts[at].rhs = rhs;
            }
        }
        own
    }

    /// Reads the conditions of one term, and of the sums in it; `nothing` is the value of a term that changes nothing.
    fn read_points(&mut self, e: &mut Expr, nothing: Literal, stmt: &Statement) -> bool {
        let mut read = false;
        let mut term = e.clone();
        sums_mut(e, &mut |op, ty, body| {
            read |= self.read_points(body, op.neutral(ty), stmt);
        });
        if matches!(e.kind, ExprKind::Reduce { .. }) {
            return read;
        }
        let mut conditions: Vec<(Expr, Expr)> = Vec::new();
        let walked = self.walked_vars(e, stmt);
        self.conditions_in(e, false, &mut |condition| {
            let known = conditions
                .iter()
                .any(|(own, _)| equal::same(own, condition));
            if !known && let Some(subscript) = point(condition, &walked) {
                conditions.push((condition.clone(), subscript));
            }
        });
        if conditions.is_empty() || !self.are_worth_it(&mut term, &conditions, nothing) {
            return read;
        }
        let tensor = self.point_tensor(e);
        for (condition, subscript) in conditions {
            let mut read = Expr {
                kind: ExprKind::Access(Access {
                    tensor,
                    subscripts: vec![subscript],
                }),
                ..condition.clone()
            };
            if let ExprKind::Binary(BinaryOp::Ne, a, b) = &condition.kind {
                let equal = Expr {
                    kind: ExprKind::Binary(BinaryOp::Eq, a.clone(), b.clone()),
                    ..condition.clone()
                };
                self.points.read.push((equal, read.clone()));
                read.kind = ExprKind::Unary(UnaryOp::Not, Shared::new(read.clone()));
            }
            replace(e, &condition, &read);
            self.points.read.push((condition, read));
        }
        true
    }

    /// Whether nothing is left where none of the conditions holds, there or where operands have no elements, too.
    fn are_worth_it(&self, term: &mut Expr, conditions: &[(Expr, Expr)], nothing: Literal) -> bool {
        let open = term.clone();
        for (condition, _) in conditions {
            let never = Expr {
                kind: ExprKind::Literal(Literal::Bool(is_unequal(condition))),
                ..condition.clone()
            };
            replace(term, condition, &never);
        }
        let all = conditions.iter().map(|(condition, _)| vars_in(condition));
        let told: BTreeSet<VarId> = all.flatten().collect();
        let absent = |access: &Access| {
            let tensor = self.tensor(access.tensor);
            let mut levels = tensor.format.levels.iter().zip(&tensor.format.modes);
            let tells = |(level, mode): (&Level, &usize)| {
                let vars = access.subscripts.get(*mode).map(vars_in);
                level.is_walked() && vars.is_some_and(|own| own.iter().any(|v| told.contains(v)))
            };
            levels.any(tells).then_some(tensor.fill)
        };
        let left = |e: &Expr, without: bool| {
            let none = |_: &Access| None;
            let left = match without {
                true => fold(e, &absent, &|_| Exact::default()),
                false => fold(e, &none, &|_| Exact::default()),
            };
            as_literal(&left).is_some_and(|value| value.same_value(nothing))
        };
        left(term, false) || (left(term, true) && !left(&open, true))
    }

    /// The variables whose coordinates are stored one after another, the innermost first: by the result, then by operands.
    fn walked_vars(&self, e: &Expr, stmt: &Statement) -> Vec<VarId> {
        let mut walked: Vec<VarId> = Vec::new();
        let mut add = |tensor: &Tensor, subscript: &dyn Fn(usize) -> Option<VarId>| {
            let format = &tensor.format;
            for (level, &mode) in format.levels.iter().zip(&format.modes).rev() {
                let var = level.is_walked().then(|| subscript(mode)).flatten();
                walked.extend(var.filter(|var| !walked.contains(var)));
            }
        };
        let result = self.tensor(stmt.tensor);
        if result.is_appended() {
            add(result, &|mode| stmt.lhs.get(mode).copied());
        }
        for access in e.accesses() {
            add(self.tensor(access.tensor), &|mode| {
                let subscript = access.subscripts.get(mode)?;
                let mut vars = vars_in(subscript).into_iter();
                vars.find(|&var| stride(subscript, var).is_some())
            });
        }
        walked
    }

    /// Calls `f` on comparisons outside of subscripts and sums. Where they stand under a condition, which may keep in bounds what
    /// they read, they are left out unless that is there anyhow: operands are located ahead of conditions.
    fn conditions_in(&self, e: &Expr, conditional: bool, f: &mut impl FnMut(&Expr)) {
        if matches!(e.kind, ExprKind::Access(_) | ExprKind::Reduce { .. }) {
            return;
        }
        let is_there = |read: &Access| {
            let checked = |subscript| is_checked(self, &self.tensors, subscript);
            !self.is_conditional(read.tensor) && !read.subscripts.iter().any(checked)
        };
        if matches!(e.kind, ExprKind::Binary(BinaryOp::Eq | BinaryOp::Ne, ..))
            && (!conditional || e.accesses().into_iter().all(is_there))
        {
            f(e);
        }
        for (part, condition) in e.parts_under() {
            self.conditions_in(part, conditional || condition.is_some(), f);
        }
    }

    fn point_tensor(&mut self, near: &Expr) -> TensorId {
        if let Some(tensor) = self.points.tensor {
            return tensor;
        }
        let tensor = self.add_tensor(Tensor {
            name: self.fresh_name("point"),
            span: near.span,
            role: Role::Temporary,
            ty: ScalarType::Bool,
            dims: vec![SizeExpr::Const(1)],
            format: TensorFormat::whole(vec![Level::ORIGIN], vec![0]),
            fill: Literal::Bool(false),
        });
        self.points.tensor = Some(tensor);
        tensor
    }
}

/// Calls `f` on the operator, type and body of each sum that no other is around.
fn sums_mut(e: &mut Expr, f: &mut impl FnMut(ReduceOp, ScalarType, &mut Expr)) {
    let ty = e.ty;
    if let ExprKind::Reduce { op, body, .. } = &mut e.kind {
        f(*op, ty, body);
        return;
    }
    for part in e.parts_mut() {
        sums_mut(part, f);
    }
}

fn is_unequal(condition: &Expr) -> bool {
    matches!(condition.kind, ExprKind::Binary(BinaryOp::Ne, ..))
}

/// The first of the walked variables that a condition tells, and how far that is from where it holds.
fn point(condition: &Expr, walked: &[VarId]) -> Option<Expr> {
    let ExprKind::Binary(BinaryOp::Eq | BinaryOp::Ne, a, b) = &condition.kind else {
        return None;
    };
    let (a, b) = (whole(a)?, whole(b)?);
    let less = |a: &Expr, b: &Expr| Expr {
        kind: ExprKind::Binary(
            BinaryOp::Sub,
            Shared::new(a.clone()),
            Shared::new(b.clone()),
        ),
        ty: ScalarType::I64,
        span: condition.span,
    };
    let both = [less(&a, &b), less(&b, &a)];
    let known = vars_in(condition);
    let mut told = walked.iter().filter(|var| known.contains(var));
    told.find_map(|&var| {
        let mut both = both.iter();
        let found = both.find(|subscript| stride(subscript, var).is_some());
        found.cloned()
    })
}

/// The number in 64 bits, if these hold it.
fn whole(e: &Expr) -> Option<Expr> {
    let held = e.ty.is_integer() && e.ty != ScalarType::U64 && e.ty != ScalarType::Bool;
    let cast = || Expr {
        kind: ExprKind::Cast(Shared::new(e.clone())),
        ty: ScalarType::I64,
        span: e.span,
    };
    held.then(|| {
        if e.ty == ScalarType::I64 {
            e.clone()
        } else {
            cast()
        }
    })
}
