//! Einstein sums made explicit: where a right side is summed, and over what.
//!
//! The right side of `=` means its expansion into a sum of products, each product
//! summed over those of its variables that do not stand on the left. Functions,
//! comparisons, selects, casts and divisors are single factors that contain all
//! their variables. Nothing is expanded unless it must be: a factor that mixes
//! terms with and without a summed variable, next to a factor that has one.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use super::draft::{DraftStmt, UNTYPED, Write};
use super::ir::{BinaryOp, Expr, ExprKind, ReduceOp, Shared, UnaryOp, VarId};
use super::nested::{bound_twice, free, in_another, lifted, whole};
use crate::diagnostic::codes::program as codes;
use crate::diagnostic::{Diagnostic, Span};

/// Terms that an expansion may have before it is refused.
const MOST_TERMS: usize = 256;

/// Expressions that placing the sums of one statement may look at.
const MOST_STEPS: usize = 4_000;

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
        steps: Cell::new(0),
        nested: Cell::new(None),
    };
    let mut rhs = stmt.rhs.clone();
    if let Some(at) = bound_twice(&rhs, &sums.left).or_else(|| sums.merge(&mut rhs)) {
        return Err(in_another(at));
    }
    match stmt.write {
        Write::Define => sums.place(&rhs).ok_or_else(|| {
            if let Some(at) = sums.nested.get() {
                return in_another(at);
            }
            Diagnostic::error(
                codes::TOO_MANY_TERMS,
                stmt.rhs.span,
                format!("the right side expands into more than {MOST_TERMS} products"),
                "too many to sum term by term",
            )
            .with_help("store factors in temporaries, or write `+=!` to sum the whole right side")
        }),
        Write::Neutral(_) => Ok(rhs),
        Write::Accumulate(op) | Write::Initialise(op) => {
            let mut bound = Product::new();
            rhs.walk(&mut |e| {
                if let ExprKind::Reduce { vars, .. } = &e.kind {
                    bound.extend(vars);
                }
            });
            let summed = order.iter().copied().filter(|v| !stmt.lhs.contains(v));
            let free = sums.vars(&rhs);
            let mut vars: Vec<VarId> = summed
                .filter(|v| !bound.contains(v) || free.contains(v))
                .collect();
            let body = if vars.is_empty() {
                Ok(rhs)
            } else if op == ReduceOp::Add {
                lifted(&rhs, &mut vars)
            } else {
                whole(&rhs)
            };
            let body = body.map_err(in_another)?;
            Ok(reduce(op, vars, body))
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
            body: Shared::new(body),
        },
    }
}

/// The summed variables of one product.
type Product = BTreeSet<VarId>;

struct Sums<'a> {
    left: BTreeSet<VarId>,
    order: &'a [VarId],
    uses: &'a BTreeMap<VarId, BTreeSet<VarId>>,
    /// Expressions looked at so far.
    steps: Cell<usize>,
    /// A sum that stands in another one and cannot be made one with it.
    nested: Cell<Option<Span>>,
}

impl Sums<'_> {
    /// The variables of an expression that are to be summed, those that their bounds
    /// use among them.
    fn vars(&self, expr: &Expr) -> Product {
        let mut found = Product::new();
        let mut rest: Vec<VarId> = free(expr, self.uses).into_iter().collect();
        while let Some(var) = rest.pop() {
            if !self.left.contains(&var) && found.insert(var) {
                rest.extend(self.uses.get(&var).into_iter().flatten());
            }
        }
        found
    }

    /// The distinct products of the expansion; `None` if there are too many.
    fn products(&self, expr: &Expr) -> Option<BTreeSet<Product>> {
        let products: BTreeSet<Product> = match shape(expr) {
            Shape::Negation(operand) => self.products(operand)?,
            Shape::Sum(_, a, b) => {
                let mut all = self.products(a)?;
                all.extend(self.products(b)?);
                all
            }
            Shape::Product(a, b) => {
                let (left, right) = (self.products(a)?, self.products(b)?);
                let pairs = left.iter().flat_map(|l| right.iter().map(move |r| l | r));
                pairs.collect()
            }
            Shape::Quotient(a, b) => {
                let divisor = self.vars(b);
                self.products(a)?.iter().map(|p| p | &divisor).collect()
            }
            Shape::Factor => BTreeSet::from([self.vars(expr)]),
        };
        (products.len() <= MOST_TERMS).then_some(products)
    }

    /// Pushes the sums to where they belong; `None` if the expansion grows too large.
    fn place(&self, expr: &Expr) -> Option<Expr> {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        if steps > MOST_STEPS {
            return None;
        }
        match shape(expr) {
            Shape::Negation(operand) => Some(negation(self.place(operand)?, expr.span)),
            Shape::Sum(op, a, b) => Some(binary(op, self.place(a)?, self.place(b)?, expr.span)),
            Shape::Product(a, b) => self.place_product(BinaryOp::Mul, a, b, expr),
            Shape::Quotient(a, b) => self.place_product(BinaryOp::Div, a, b, expr),
            Shape::Factor => self.sum(self.vars(expr), expr),
        }
    }

    /// Makes one of sums in sums; where one stands that cannot be.
    fn merge(&self, expr: &mut Expr) -> Option<Span> {
        let mut nested = None;
        expr.walk_mut(&mut |e| {
            if let ExprKind::Reduce { vars, body, .. } = &mut e.kind {
                match lifted(body, vars) {
                    Ok(flat) => **body = flat,
                    Err(at) => nested = nested.or(Some(at)),
                }
                vars.sort_by_key(|v| self.order.iter().position(|known| known == v));
            }
        });
        nested
    }

    /// `None` if the body holds a sum that cannot be made one with this one.
    fn sum(&self, vars: Product, body: &Expr) -> Option<Expr> {
        if vars.is_empty() {
            return Some(body.clone());
        }
        let mut all = vars.into_iter().collect();
        let body = match lifted(body, &mut all) {
            Ok(body) => body,
            Err(at) => {
                self.nested.set(Some(at));
                return None;
            }
        };
        let ordered = self.order.iter().copied().filter(|v| all.contains(v));
        Some(reduce(ReduceOp::Add, ordered.collect(), body))
    }

    /// `expr` is `a * b` or `a / b`. Where some of its terms are summed over more than
    /// others, the factor that mixes them is expanded.
    fn place_product(&self, op: BinaryOp, a: &Expr, b: &Expr, expr: &Expr) -> Option<Expr> {
        let mut products = self.products(expr)?;
        if products.len() == 1 {
            return self.sum(products.pop_first()?, expr);
        }
        let span = expr.span;
        // A factor without summed variables can stay outside.
        if self.vars(b).is_empty() {
            return Some(binary(op, self.place(a)?, b.clone(), span));
        }
        if op == BinaryOp::Mul && self.vars(a).is_empty() {
            return Some(binary(op, a.clone(), self.place(b)?, span));
        }
        let mixed = |e: &Expr| self.products(e).is_none_or(|p| p.len() > 1);
        let left = mixed(a);
        let (factor, other) = if left { (a, b) } else { (b, a) };
        let with = |factor: &Expr| {
            let (factor, other) = (factor.clone(), other.clone());
            let (a, b) = if left {
                (factor, other)
            } else {
                (other, factor)
            };
            binary(op, a, b, span)
        };
        match shape(factor) {
            Shape::Sum(sum, x, y) => {
                let (x, y) = (self.place(&with(x))?, self.place(&with(y))?);
                Some(binary(sum, x, y, span))
            }
            Shape::Negation(x) => Some(negation(self.place(&with(x))?, factor.span)),
            // (x * y) op o: the mixed one of x and y against the rest.
            Shape::Product(x, y) => {
                let (inner, rest) = if mixed(x) { (x, y) } else { (y, x) };
                let rest = binary(op, rest.clone(), other.clone(), span);
                self.place(&binary(BinaryOp::Mul, inner.clone(), rest, span))
            }
            // (x / y) * o is (x * o) / y, and (x / y) / o is x / (y * o).
            Shape::Quotient(x, y) => {
                let (x, y, other) = (x.clone(), y.clone(), other.clone());
                let regrouped = if op == BinaryOp::Mul {
                    binary(
                        BinaryOp::Div,
                        binary(BinaryOp::Mul, x, other, span),
                        y,
                        span,
                    )
                } else {
                    binary(
                        BinaryOp::Div,
                        x,
                        binary(BinaryOp::Mul, y, other, span),
                        span,
                    )
                };
                self.place(&regrouped)
            }
            // A single factor has a single term, so it never mixes any.
            Shape::Factor => Some(expr.clone()),
        }
    }
}

/// What an expression is to the expansion.
pub(super) enum Shape<'e> {
    Negation(&'e Expr),
    /// With `Add` or `Sub`.
    Sum(BinaryOp, &'e Expr, &'e Expr),
    Product(&'e Expr, &'e Expr),
    Quotient(&'e Expr, &'e Expr),
    /// All else.
    Factor,
}

pub(super) fn shape(expr: &Expr) -> Shape<'_> {
    if let ExprKind::Unary(UnaryOp::Neg, operand) = &expr.kind {
        return Shape::Negation(operand);
    }
    let ExprKind::Binary(op, a, b) = &expr.kind else {
        return Shape::Factor;
    };
    if matches!(op, BinaryOp::Add | BinaryOp::Sub) {
        Shape::Sum(*op, a, b)
    } else if *op == BinaryOp::Mul {
        Shape::Product(a, b)
    } else if *op == BinaryOp::Div {
        Shape::Quotient(a, b)
    } else {
        Shape::Factor
    }
}

pub(super) fn binary(op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
    Expr {
        kind: ExprKind::Binary(op, Shared::new(a), Shared::new(b)),
        ty: UNTYPED,
        span,
    }
}

pub(super) fn negation(operand: Expr, span: Span) -> Expr {
    Expr {
        kind: ExprKind::Unary(UnaryOp::Neg, Shared::new(operand)),
        ty: UNTYPED,
        span,
    }
}

#[cfg(test)]
mod tests;
