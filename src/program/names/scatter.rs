//! Subscripts on the left that are read from data: `h(bin(i)) += m(i)` scatters.
//!
//! Such a subscript is a variable with one value, which data decide:
//! `h(at_bin) += m(i) where at_bin in bin(i):bin(i)+1`, a dynamic counted loop (003). So all that
//! is known of these holds: the check that it stays within the tensor, the order of loops, races.

use super::{Resolver, names_of};
use crate::operators::ReduceOp;
use crate::program::text;
use crate::scalar::Literal;
use crate::syntax::ast;

/// A statement whose left side data decide.
pub(super) struct Scattered {
    /// Sets all that terms may go to, before any of them comes (`+=!`).
    pub neutral: Option<(ast::Assign, ReduceOp)>,
    /// Adds the terms.
    pub terms: ast::Assign,
    /// `terms` as it would have been written.
    pub text: String,
}

impl Resolver<'_, '_> {
    /// The assignment with variables for the subscripts that data decide. `None` if there are none,
    /// or if it defines elements, of which there must be one each.
    ///
    /// `+=!` becomes two, also where variables of the sum decide the range of one on the left. What
    /// data decide may be any element, so all of that dimension is set: as far as the tensor is
    /// known to go, or as a range of the new variable says, `h(bin(i)) +=! m(i) where at_bin in
    /// 0:16`.
    pub(super) fn scattered(mut self, assign: &ast::Assign) -> Option<Scattered> {
        let ast::AssignOp::Reduce { op, init } = &assign.op else {
            return None;
        };
        let init = *init;
        let told = init && self.told_by_sum(assign);
        if !told && !assign.subscripts.iter().any(|s| self.reads(s)) {
            return None;
        }
        let mut terms = assign.clone();
        let op = op.clone();
        terms.op = ast::AssignOp::Reduce {
            op: op.clone(),
            init: false,
        };
        let mut written = terms.clone();
        let mut taken = used_names(assign);
        if !init {
            taken.extend(assign.ranges.iter().map(|clause| clause.var.name.clone()));
        }
        let mut extents = Vec::new();
        for subscript in terms.subscripts.iter_mut().filter(|s| self.reads(s)) {
            let name = self.fresh_name(subscript, &taken);
            taken.push(name.clone());
            let given = |clause: &mut ast::RangeClause| clause.var.name == name;
            extents.extend(terms.ranges.extract_if(.., given));
            let span = subscript.span;
            let node = |kind| ast::Expr { kind, span };
            let value = std::mem::replace(subscript, node(ast::ExprKind::Name(name.clone())));
            let one = node(ast::ExprKind::Number(ast::Number::Int(1)));
            let next =
                ast::ExprKind::Binary(ast::BinaryOp::Add, Box::new(value.clone()), Box::new(one));
            terms.ranges.push(ast::RangeClause {
                var: ast::Ident { name, span },
                lo: value,
                hi: node(next),
                span,
            });
        }
        let given = |name: &str| {
            extents
                .iter()
                .any(|e: &ast::RangeClause| e.var.name == name)
        };
        written.ranges.retain(|clause| !given(&clause.var.name));
        Some(Scattered {
            text: text::assign(&written),
            neutral: init.then(|| {
                let op = self.reduction(&op);
                let neutral = self.neutral(op, &terms, &written.ranges, extents);
                (neutral, op)
            }),
            terms,
        })
    }

    /// Whether a range of a variable on the left uses one that is not.
    fn told_by_sum(&mut self, assign: &ast::Assign) -> bool {
        self.collect_all(assign);
        let left: Vec<&str> = assign.subscripts.iter().flat_map(names_of).collect();
        assign.ranges.iter().any(|clause| {
            let mut used = [&clause.lo, &clause.hi].into_iter().flat_map(names_of);
            left.contains(&clause.var.name.as_str())
                && used.any(|n| self.indices.contains(n) && !left.contains(&n))
        })
    }

    /// `h(at_bin, k) = 0` before `terms`. Of the ranges that are `given` those of the left side's
    /// variables hold for it, too, unless a variable of the sum decides them.
    fn neutral(
        &mut self,
        op: ReduceOp,
        terms: &ast::Assign,
        given: &[ast::RangeClause],
        extents: Vec<ast::RangeClause>,
    ) -> ast::Assign {
        self.collect_all(terms);
        let left: Vec<&str> = terms.subscripts.iter().flat_map(names_of).collect();
        let kept = given.iter().filter(|clause| {
            let mut used = [&clause.lo, &clause.hi].into_iter().flat_map(names_of);
            left.contains(&clause.var.name.as_str())
                && used.all(|n| left.contains(&n) || !self.indices.contains(n))
        });
        let ranges = extents.into_iter().chain(kept.cloned()).collect();
        let node = |kind| ast::Expr {
            kind,
            span: terms.span,
        };
        let whole = |n| node(ast::ExprKind::Number(ast::Number::Int(n)));
        let float = |x| node(ast::ExprKind::Number(ast::Number::Float(x)));
        let minus = |e| node(ast::ExprKind::Unary(ast::UnaryOp::Neg, Box::new(e)));
        let rhs = match op {
            ReduceOp::Add | ReduceOp::Or => whole(0),
            ReduceOp::Mul | ReduceOp::And => whole(1),
            ReduceOp::Min => float(f64::INFINITY),
            ReduceOp::Max => minus(float(f64::INFINITY)),
            ReduceOp::Own(own) => match own.identity {
                Some(Literal::Int(n)) if n < 0 => minus(whole(n.unsigned_abs())),
                Some(Literal::Int(n)) => whole(n.unsigned_abs()),
                Some(Literal::Float(x)) if x < 0.0 => minus(float(-x)),
                Some(Literal::Float(x)) => float(x),
                Some(Literal::Bool(_)) | None => whole(0),
            },
        };
        ast::Assign {
            label: terms.label.as_ref().map(|label| ast::Ident {
                name: format!("{}_set", label.name),
                ..label.clone()
            }),
            op: ast::AssignOp::Set,
            rhs,
            ranges,
            ..terms.clone()
        }
    }

    /// Whether a subscript reads a tensor.
    pub(super) fn reads(&self, subscript: &ast::Expr) -> bool {
        let mut rest = vec![subscript];
        while let Some(expr) = rest.pop() {
            if let ast::ExprKind::Apply { callee, .. } = &expr.kind
                && self.tensor(&callee.name).is_some()
            {
                return true;
            }
            rest.extend(expr.parts());
        }
        false
    }

    /// `at_bin` of `bin(i)`, `at_bin2` if that is taken.
    fn fresh_name(&self, subscript: &ast::Expr, taken: &[String]) -> String {
        let base = base_name(subscript);
        let mut name = base.clone();
        let mut next = 2;
        while taken.contains(&name) || self.means_something(&name) {
            name = format!("{base}{next}");
            next += 1;
        }
        name
    }
}

fn base_name(subscript: &ast::Expr) -> String {
    if let ast::ExprKind::Apply { callee, .. } = &subscript.kind {
        return format!("at_{}", callee.name);
    }
    "at".to_string()
}

/// Every name that stands in the assignment, but for those that ranges are given for.
fn used_names(assign: &ast::Assign) -> Vec<String> {
    let ranges = assign.ranges.iter();
    let parts = assign.subscripts.iter().chain([&assign.rhs]);
    let parts = parts.chain(ranges.flat_map(|clause| [&clause.lo, &clause.hi]));
    parts.flat_map(names_of).map(str::to_string).collect()
}
