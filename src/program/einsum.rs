//! Einstein sums made explicit: where a right side is summed, and over what.
//!
//! The right side of `=` means its expansion into a sum of products, each product
//! summed over those of its variables that do not stand on the left. Functions,
//! comparisons, selects, casts and divisors are single factors that contain all
//! their variables. Nothing is expanded unless it must be: a factor that mixes
//! terms with and without a summed variable, next to a factor that has one.

use std::collections::{BTreeMap, BTreeSet};

use super::draft::{DraftStmt, UNTYPED, Write};
use super::ir::{BinaryOp, Expr, ExprKind, ReduceOp, UnaryOp, VarId};
use super::visit::walk;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::program as codes;

/// Terms that an expansion may have before it is refused.
const MOST_TERMS: usize = 256;

/// The right side of `stmt` with its sums and reductions as [`ExprKind::Reduce`] nodes.
///
/// `order` is the order of the statement's variables; `uses` tells for each variable
/// with dynamic bounds those that its bounds read.
pub(super) fn place_sums(
    stmt: &DraftStmt,
    order: &[VarId],
    uses: &BTreeMap<VarId, BTreeSet<VarId>>,
) -> Result<Expr, Diagnostic> {
    let sums = Sums {
        left: stmt.lhs.iter().copied().collect(),
        order,
        uses,
    };
    match stmt.write {
        Write::Define => sums.place(stmt.rhs.clone()).ok_or_else(|| {
            Diagnostic::error(
                codes::TOO_MANY_TERMS,
                stmt.rhs.span,
                format!("the right side expands into more than {MOST_TERMS} products"),
                "too many to sum term by term",
            )
            .with_help("store factors in temporaries, or write `+=!` to sum the whole right side")
        }),
        Write::Accumulate(op) | Write::Initialise(op) => {
            let vars = order.iter().copied().filter(|v| !stmt.lhs.contains(v));
            Ok(reduce(op, vars.collect(), stmt.rhs.clone()))
        }
    }
}

fn reduce(op: ReduceOp, vars: Vec<VarId>, body: Expr) -> Expr {
    if vars.is_empty() {
        return body;
    }
    Expr {
        span: body.span,
        ty: UNTYPED,
        kind: ExprKind::Reduce {
            op,
            vars,
            body: Box::new(body),
        },
    }
}

/// The summed variables of one product.
type Product = BTreeSet<VarId>;

struct Sums<'a> {
    left: BTreeSet<VarId>,
    order: &'a [VarId],
    uses: &'a BTreeMap<VarId, BTreeSet<VarId>>,
}

impl Sums<'_> {
    /// The variables of an expression that are to be summed, those that their bounds
    /// use among them.
    fn vars(&self, expr: &Expr) -> Product {
        let mut found = Product::new();
        let mut rest = Vec::new();
        walk(expr, &mut |e| rest.extend(e.as_var()));
        while let Some(var) = rest.pop() {
            if !self.left.contains(&var) && found.insert(var) {
                rest.extend(self.uses.get(&var).into_iter().flatten());
            }
        }
        found
    }

    /// The distinct products of the expansion; `None` if there are too many.
    fn products(&self, expr: &Expr) -> Option<BTreeSet<Product>> {
        let products: BTreeSet<Product> = match &expr.kind {
            ExprKind::Unary(UnaryOp::Neg, operand) => self.products(operand)?,
            ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => {
                let mut all = self.products(a)?;
                all.extend(self.products(b)?);
                all
            }
            ExprKind::Binary(BinaryOp::Mul, a, b) => {
                let (left, right) = (self.products(a)?, self.products(b)?);
                let pairs = left.iter().flat_map(|l| right.iter().map(move |r| l | r));
                pairs.collect()
            }
            ExprKind::Binary(BinaryOp::Div, a, b) => {
                let divisor = self.vars(b);
                self.products(a)?.iter().map(|p| p | &divisor).collect()
            }
            _ => BTreeSet::from([self.vars(expr)]),
        };
        (products.len() <= MOST_TERMS).then_some(products)
    }

    /// Pushes the sums to where they belong.
    fn place(&self, expr: Expr) -> Option<Expr> {
        let span = expr.span;
        let node = |kind| {
            Some(Expr {
                kind,
                ty: UNTYPED,
                span,
            })
        };
        match expr.kind {
            ExprKind::Unary(UnaryOp::Neg, operand) => {
                let operand = self.place(*operand)?;
                node(ExprKind::Unary(UnaryOp::Neg, Box::new(operand)))
            }
            ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
                let (a, b) = (self.place(*a)?, self.place(*b)?);
                node(ExprKind::Binary(op, Box::new(a), Box::new(b)))
            }
            kind => {
                let expr = Expr { kind, ..expr };
                let products = self.products(&expr)?;
                if products.len() == 1 {
                    let vars = products.into_iter().next().unwrap_or_default();
                    let vars = self.order.iter().copied().filter(|v| vars.contains(v));
                    return Some(reduce(ReduceOp::Add, vars.collect(), expr));
                }
                self.place_product(expr)
            }
        }
    }

    /// A product (or quotient) some of whose terms are summed over more than others.
    fn place_product(&self, expr: Expr) -> Option<Expr> {
        let ExprKind::Binary(op, a, b) = expr.kind else {
            // Only products and quotients have several terms.
            return Some(expr);
        };
        let node = |op, a: Expr, b: Expr| Expr {
            kind: ExprKind::Binary(op, Box::new(a), Box::new(b)),
            ty: UNTYPED,
            span: expr.span,
        };
        // A factor without summed variables can stay outside.
        if self.vars(&b).is_empty() {
            let a = self.place(*a)?;
            return Some(node(op, a, *b));
        }
        if op == BinaryOp::Mul && self.vars(&a).is_empty() {
            let b = self.place(*b)?;
            return Some(node(op, *a, b));
        }
        let mixed = |e: &Expr| self.products(e).is_none_or(|p| p.len() > 1);
        let distribute_left = mixed(&a);
        let (factor, other) = if distribute_left { (*a, *b) } else { (*b, *a) };
        let rebuild = |factor: Expr, other: Expr| {
            if distribute_left {
                node(op, factor, other)
            } else {
                node(op, other, factor)
            }
        };
        let span = factor.span;
        match factor.kind {
            ExprKind::Binary(sum @ (BinaryOp::Add | BinaryOp::Sub), x, y) => {
                let x = self.place(rebuild(*x, other.clone()))?;
                let y = self.place(rebuild(*y, other))?;
                Some(node(sum, x, y))
            }
            ExprKind::Unary(UnaryOp::Neg, x) => {
                let x = self.place(rebuild(*x, other))?;
                Some(Expr {
                    kind: ExprKind::Unary(UnaryOp::Neg, Box::new(x)),
                    ty: UNTYPED,
                    span,
                })
            }
            // (x * y) * other with a mixed y: regroup until the sum is on top.
            ExprKind::Binary(inner, x, y) => {
                let regrouped = match (inner, op, distribute_left) {
                    // (x / y) * o or o * (x / y): (x * o) / y
                    (BinaryOp::Div, BinaryOp::Mul, _) => {
                        node(BinaryOp::Div, node(BinaryOp::Mul, *x, other), *y)
                    }
                    // (x / y) / o: x / (y * o)
                    (BinaryOp::Div, _, _) => {
                        node(BinaryOp::Div, *x, node(BinaryOp::Mul, *y, other))
                    }
                    // (x * y) op o, the sum in x or in y
                    _ if mixed(&x) => node(BinaryOp::Mul, *x, node(op, *y, other)),
                    _ => node(BinaryOp::Mul, *y, node(op, *x, other)),
                };
                self.place(regrouped)
            }
            kind => Some(rebuild(
                Expr {
                    kind,
                    ty: UNTYPED,
                    span,
                },
                other,
            )),
        }
    }
}
