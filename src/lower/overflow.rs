//! Where the arithmetic of a subscript may leave its type. C leaves open what a sum, difference or product is then, and
//! compilers make something else of it where it is compared than where it is an address: a check of the value alone
//! would pass what is read out of bounds. So the operands are asked before. Of data whose type is
//! narrow enough there is nothing to ask; sizes and coordinates are taken for narrow, too.

use crate::graph::{Graph, equal};
use crate::program::ir::{BinaryOp, Bound, Expr, ExprKind, Func, Literal, Shared, UnaryOp, VarId};
use crate::scalar::ScalarType;

/// The least and the largest value.
type Span = (i128, i128);

/// Numbers of 64 bits.
const ALL: Span = (i64::MIN as i128, i64::MAX as i128);

/// Sizes, and variables that run over them.
const COUNTS: Span = (-(1 << 31), 1 << 31);

/// Beyond it a sum or product of floats may be one of whole numbers that do not fit; what floats are rounded by
/// is less than what is left.
const FAR: f64 = 4_611_686_018_427_387_904.0;

/// When a sum, difference or product in `e` leaves its type: inner ones first, each of which is asked of what
/// those before have passed. Operands of functions are asked, too: who clamps what has overflowed has a number
/// that compilers take for none. What is compared or divides need not be asked: it wraps (`emit.rs`).
pub(super) fn overflows(graph: &Graph, e: &Expr) -> Vec<Expr> {
    let mut found = Vec::new();
    note(graph, e, &mut found);
    found
}

fn note(graph: &Graph, e: &Expr, found: &mut Vec<Expr>) {
    let mut own = Vec::new();
    match &e.kind {
        ExprKind::Unary(UnaryOp::Neg, a) => {
            note(graph, a, found);
            if let Some(all) = left_open(e.ty)
                && span(graph, a).0 <= all.0
            {
                own.extend(outside(a, all, (1 - all.1, all.1)));
            }
        }
        ExprKind::Binary(op, a, b) => {
            if e.ty == ScalarType::Bool && a.ty != ScalarType::Bool {
                return;
            }
            note(graph, a, found);
            if *op == BinaryOp::And {
                own.extend(where_chosen(graph, Expr::clone(a), b));
            } else if *op == BinaryOp::Or {
                own.extend(where_chosen(graph, super::checks::not(a), b));
            } else if !matches!(op, BinaryOp::Div | BinaryOp::Rem) {
                note(graph, b, found);
            }
            if let BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul = op {
                own.extend(leaves(graph, *op, a, b));
            }
        }
        ExprKind::Select(c, a, b) => {
            own.extend(where_chosen(graph, Expr::clone(c), a));
            own.extend(where_chosen(graph, super::checks::not(c), b));
        }
        ExprKind::Unary(UnaryOp::Not, a) | ExprKind::Cast(a) => note(graph, a, found),
        ExprKind::Call(func, args) => {
            // Divisors wrap, as those of quotients.
            let asked = if *func == Func::Mod { 1 } else { args.len() };
            for arg in args.iter().take(asked) {
                note(graph, arg, found);
            }
        }
        ExprKind::Literal(_)
        | ExprKind::Index(_)
        | ExprKind::Size(_)
        | ExprKind::Access(_)
        | ExprKind::Reduce { .. } => {}
    }
    for bad in own {
        if !found.iter().any(|known| equal::same(known, &bad)) {
            found.push(bad);
        }
    }
}

/// Whether a sum, difference or product may leave a type whose overflow C leaves open, where parts of it wrap.
pub(super) fn may_leave(graph: &Graph, e: &Expr) -> bool {
    let leaves = |part: &Expr| {
        let made = made(graph, part).zip(left_open(part.ty));
        made.is_some_and(|(made, all)| made.0 < all.0 || all.1 < made.1)
    };
    made(graph, e).is_some() && left_open(e.ty).is_some() && e.any(&leaves)
}

/// What a sum, difference or product makes of what its operands have.
fn made(graph: &Graph, e: &Expr) -> Option<Span> {
    match &e.kind {
        ExprKind::Unary(UnaryOp::Neg, a) => {
            let (least, most) = span(graph, a);
            Some((-most, -least))
        }
        ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), a, b) => {
            Some(combined(*op, span(graph, a), span(graph, b)))
        }
        ExprKind::Binary(..)
        | ExprKind::Unary(UnaryOp::Not, _)
        | ExprKind::Literal(_)
        | ExprKind::Index(_)
        | ExprKind::Size(_)
        | ExprKind::Access(_)
        | ExprKind::Select(..)
        | ExprKind::Call(..)
        | ExprKind::Cast(_)
        | ExprKind::Reduce { .. } => None,
    }
}

/// The values of a type whose overflow C leaves open. Narrower ones are computed in 32 bits.
fn left_open(ty: ScalarType) -> Option<Span> {
    let is_open = matches!(ty, ScalarType::I64 | ScalarType::I32);
    is_open.then(|| ty.ends()).flatten()
}

/// When `e` overflows, of what is computed where a condition holds.
fn where_chosen(graph: &Graph, chosen: Expr, e: &Expr) -> Vec<Expr> {
    let found = overflows(graph, e).into_iter();
    found
        .map(|bad| super::checks::and(chosen.clone(), bad))
        .collect()
}

fn cast(e: &Expr, ty: ScalarType) -> Expr {
    Expr {
        kind: ExprKind::Cast(Shared::new(e.clone())),
        ty,
        span: e.span,
    }
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let (ty, span) = (a.ty, a.span);
    Expr {
        kind: ExprKind::Binary(op, Shared::new(a), Shared::new(b)),
        ty,
        span,
    }
}

/// When `a op b` does not fit.
fn leaves(graph: &Graph, op: BinaryOp, a: &Expr, b: &Expr) -> Vec<Expr> {
    let Some(all) = left_open(a.ty) else {
        return Vec::new();
    };
    let (own, other) = (span(graph, a), span(graph, b));
    let made = combined(op, own, other);
    if all.0 <= made.0 && made.1 <= all.1 {
        return Vec::new();
    }
    if a.ty != ScalarType::I64 {
        // 64 bits have room for it.
        let wide = |e| cast(e, ScalarType::I64);
        return outside(&binary(op, wide(a), wide(b)), made, all);
    }
    match (number(a), number(b)) {
        (_, Some(by)) => outside(a, own, allowed(op, by)),
        (Some(by), None) if op == BinaryOp::Sub => outside(b, other, (by - ALL.1, by - ALL.0)),
        (Some(by), None) => outside(b, other, allowed(op, by)),
        (None, None) => {
            let float = |e| cast(e, ScalarType::F64);
            let rounded = binary(op, float(a), float(b));
            let end = |far: f64| Expr {
                kind: ExprKind::Literal(Literal::Float(far)),
                ty: ScalarType::F64,
                span: a.span,
            };
            let mut found = Vec::new();
            if made.0 < ALL.0 {
                found.push(super::checks::less(rounded.clone(), end(-FAR)));
            }
            if made.1 > ALL.1 {
                found.push(super::checks::less(end(FAR), rounded));
            }
            found
        }
    }
}

/// The values of x for which `x op by` (`by * x`) fits.
fn allowed(op: BinaryOp, by: i128) -> Span {
    let multiplies = op == BinaryOp::Mul;
    if op == BinaryOp::Add {
        (ALL.0 - by, ALL.1 - by)
    } else if op == BinaryOp::Sub {
        (ALL.0 + by, ALL.1 + by)
    } else if multiplies && by > 0 {
        (ALL.0 / by, ALL.1 / by)
    } else if multiplies && by < 0 {
        (ALL.1 / by, ALL.0 / by)
    } else {
        ALL
    }
}

/// When a number of a span is none of these.
fn outside(e: &Expr, own: Span, allowed: Span) -> Vec<Expr> {
    let e = &if e.ty == ScalarType::I64 {
        e.clone()
    } else {
        cast(e, ScalarType::I64)
    };
    let end = |value: i128| {
        let value = i64::try_from(value).ok()?;
        Some(Expr {
            kind: ExprKind::Literal(Literal::Int(value)),
            ty: ScalarType::I64,
            span: e.span,
        })
    };
    let below = end(allowed.0).filter(|_| own.0 < allowed.0);
    let above = end(allowed.1).filter(|_| own.1 > allowed.1);
    let below = below.map(|end| super::checks::less(e.clone(), end));
    let above = above.map(|end| super::checks::less(end, e.clone()));
    below.into_iter().chain(above).collect()
}

fn number(e: &Expr) -> Option<i128> {
    let ExprKind::Literal(Literal::Int(value)) = e.kind else {
        return None;
    };
    Some(i128::from(value))
}

/// Between which values a whole number is, if none of what it is made of leaves 64 bits.
fn span(graph: &Graph, e: &Expr) -> Span {
    let made = match &e.kind {
        ExprKind::Literal(Literal::Int(value)) => (i128::from(*value), i128::from(*value)),
        ExprKind::Size(_) => COUNTS,
        ExprKind::Index(var) => of_variable(graph, *var),
        ExprKind::Cast(a) if a.ty.is_integer() => span(graph, a),
        ExprKind::Cast(a) => a.ty.ends().unwrap_or(ALL),
        ExprKind::Unary(UnaryOp::Neg, a) => {
            let (least, most) = span(graph, a);
            (-most, -least)
        }
        ExprKind::Binary(op, a, b) => combined(*op, span(graph, a), span(graph, b)),
        ExprKind::Select(_, a, b) => {
            let (a, b) = (span(graph, a), span(graph, b));
            (a.0.min(b.0), a.1.max(b.1))
        }
        // None of these makes more of its arguments than the largest of them.
        ExprKind::Call(Func::Abs | Func::Min | Func::Max | Func::Mod, args) => {
            let spans = args.iter().map(|arg| span(graph, arg));
            let most = spans.map(|(least, most)| most.max(-least)).max();
            most.map_or(ALL, |most| (-most, most))
        }
        ExprKind::Literal(_)
        | ExprKind::Access(_)
        | ExprKind::Unary(UnaryOp::Not, _)
        | ExprKind::Call(..)
        | ExprKind::Reduce { .. } => e.ty.ends().unwrap_or(ALL),
    };
    let (least, most) = e.ty.ends().unwrap_or(ALL);
    // What was asked fits; narrow numbers wrap.
    let fits = left_open(e.ty).is_some() || least <= made.0 && made.1 <= most;
    let (first, last) = if fits { made } else { (least, most) };
    (first.max(least).max(ALL.0), last.min(most).min(ALL.1))
}

fn of_variable(graph: &Graph, var: VarId) -> Span {
    let range = &graph.var(var).range;
    let end = |bound: &Bound| match bound {
        Bound::Static(_) => COUNTS,
        Bound::Dynamic(e) => span(graph, e),
    };
    let (first, last) = (end(&range.lo), end(&range.hi));
    (first.0.min(last.0), first.1.max(last.1))
}

/// The ends of what an operator makes of two spans.
fn combined(op: BinaryOp, a: Span, b: Span) -> Span {
    let corners = |f: fn(i128, i128) -> i128| {
        let all = [f(a.0, b.0), f(a.0, b.1), f(a.1, b.0), f(a.1, b.1)];
        let (least, most) = (all.iter().min(), all.iter().max());
        least.copied().zip(most.copied()).unwrap_or(ALL)
    };
    match op {
        BinaryOp::Add => corners(|x, y| x + y),
        BinaryOp::Sub => corners(|x, y| x - y),
        BinaryOp::Mul => corners(|x, y| x * y),
        BinaryOp::Div => {
            let most = a.1.max(-a.0);
            (-most, most)
        }
        BinaryOp::Rem => {
            let most = b.1.max(-b.0);
            (-most, most)
        }
        BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::And
        | BinaryOp::Or => (0, 1),
    }
}
