//! Subscripts on the left that are read from data: `h(bin(i)) += m(i)` scatters.
//!
//! Such a subscript is a variable with one value, which data decide:
//! `h(at_bin) += m(i) where at_bin in bin(i):bin(i)+1`, a dynamic counted loop (003). So all that
//! is known of these holds: the check that it stays within the tensor, the order of loops, races.

use super::{Resolver, names_of};
use crate::syntax::ast;

impl Resolver<'_, '_> {
    /// The assignment with variables for the subscripts that data decide. `None` if there are none,
    /// or if it defines elements, of which there must be one each.
    pub(super) fn scattered(&self, assign: &ast::Assign) -> Option<ast::Assign> {
        let accumulates = match assign.op {
            ast::AssignOp::Reduce { init, .. } => !init,
            ast::AssignOp::Set => false,
        };
        if !accumulates || !assign.subscripts.iter().any(|s| self.reads(s)) {
            return None;
        }
        let mut out = assign.clone();
        let mut taken: Vec<String> = all_names(assign);
        for subscript in out.subscripts.iter_mut().filter(|s| self.reads(s)) {
            let name = self.fresh_name(subscript, &taken);
            taken.push(name.clone());
            let span = subscript.span;
            let node = |kind| ast::Expr { kind, span };
            let value = std::mem::replace(subscript, node(ast::ExprKind::Name(name.clone())));
            let one = node(ast::ExprKind::Number(ast::Number::Int(1)));
            let next =
                ast::ExprKind::Binary(ast::BinaryOp::Add, Box::new(value.clone()), Box::new(one));
            out.ranges.push(ast::RangeClause {
                var: ast::Ident { name, span },
                lo: value,
                hi: node(next),
                span,
            });
        }
        Some(out)
    }

    /// Whether a subscript reads a tensor.
    pub(super) fn reads(&self, subscript: &ast::Expr) -> bool {
        let mut rest = vec![subscript];
        while let Some(expr) = rest.pop() {
            match &expr.kind {
                ast::ExprKind::Apply { callee, args } => {
                    if self.tensor(&callee.name).is_some() {
                        return true;
                    }
                    rest.extend(args);
                }
                ast::ExprKind::Unary(_, a) => rest.push(a),
                ast::ExprKind::Binary(_, a, b) => rest.extend([&**a, &**b]),
                ast::ExprKind::Select(c, a, b) => rest.extend([&**c, &**a, &**b]),
                ast::ExprKind::Number(_)
                | ast::ExprKind::Name(_)
                | ast::ExprKind::Extent { .. }
                | ast::ExprKind::Member { .. } => {}
            }
        }
        false
    }

    /// `at_bin` of `bin(i)`, `at_bin2` if that is taken.
    fn fresh_name(&self, subscript: &ast::Expr, taken: &[String]) -> String {
        let base = match &subscript.kind {
            ast::ExprKind::Apply { callee, .. } => format!("at_{}", callee.name),
            ast::ExprKind::Number(_)
            | ast::ExprKind::Name(_)
            | ast::ExprKind::Extent { .. }
            | ast::ExprKind::Member { .. }
            | ast::ExprKind::Unary(..)
            | ast::ExprKind::Binary(..)
            | ast::ExprKind::Select(..) => "at".to_string(),
        };
        let mut name = base.clone();
        let mut next = 2;
        while taken.contains(&name) || self.means_something(&name) {
            name = format!("{base}{next}");
            next += 1;
        }
        name
    }
}

/// Every name that stands in the assignment.
fn all_names(assign: &ast::Assign) -> Vec<String> {
    let ranges = assign.ranges.iter();
    let parts = assign.subscripts.iter().chain([&assign.rhs]);
    let parts = parts.chain(ranges.flat_map(|clause| [&clause.lo, &clause.hi]));
    let mut names: Vec<String> = parts.flat_map(names_of).map(str::to_string).collect();
    names.extend(assign.ranges.iter().map(|clause| clause.var.name.clone()));
    names
}
