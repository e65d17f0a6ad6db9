//! Tiles under sliding windows: the elements that `A(i + k)` reads for a tile of i and of k
//! overlap, and are staged once (002, 5.5: the box around the elements that a tile touches).
//!
//! before: `forall(v, ... forall(i1, forall(k, ... A(i + k) + A(i + k + 1) ...)))`
//! after:  `forall(v, where(... A_tile(i1 + k) + A_tile(i1 + k + 1) ..., forall(e, A_tile(e) = A(i0 * 8 + e))))`
//!
//! Of each subscript the loops inside v make an offset in the box, what stands outside its
//! corner. Elements of the box that A does not have are zeros, which nothing reads.

use super::steps::Steps;
use crate::diagnostic::Span;
use crate::graph::relation::{Quantity, Sizes, Values};
use crate::graph::{Graph, equal};
use crate::program::ir::{Access, BinaryOp, Expr, ExprKind, Shared, SizeExpr, VarId};
use crate::program::ranges::affine::affine;
use crate::program::ranges::size as sizes;
use crate::scalar::{Literal, ScalarType};
use crate::sums::Sum;

/// One subscript of the accesses: `corner + offset + constant`.
#[derive(Clone, Debug)]
pub(super) struct Side {
    /// What the loops outside add up to.
    pub corner: Expr,
    /// The loops inside, and by what each moves the offset.
    pub inside: Vec<(VarId, i64)>,
    /// Where the offset begins: the smallest constant of any access, less what loops that
    /// move it backwards reach; and how far the others reach beyond.
    pub constant: i64,
    /// What part of it offsets of variables have beyond the loops that tell them.
    apart: i64,
    spread: i64,
    /// Whether the corner may lie before the first coordinate.
    pub negative: bool,
}

impl Side {
    /// How many elements the box has along this subscript.
    ///
    /// # Errors
    /// A loop inside that has no constant number of iterations.
    pub fn extent(&self, graph: &Graph) -> Result<i64, VarId> {
        let mut last = self.spread;
        for &(var, by) in &self.inside {
            let Some(SizeExpr::Const(n)) = graph.extent(var) else {
                return Err(var);
            };
            last = last.saturating_add(by.saturating_abs().saturating_mul(n.max(1) - 1));
        }
        Ok(last.saturating_add(1))
    }

    /// Whether one loop alone runs over the side, one element after the other.
    fn is_plain(&self) -> bool {
        self.spread == 0 && matches!(self.inside.as_slice(), [] | [(_, 1)])
    }
}

/// The sides of the box that the accesses touch inside the loop number `at` of `loops`.
/// `None` where they are no windows: each side is that of one loop, or subscripts are not
/// sums of loops, or those of two accesses differ by more than a constant.
pub(super) fn sides(
    graph: &Graph,
    accesses: &[Expr],
    loops: &[VarId],
    at: usize,
) -> Option<Vec<Side>> {
    let mut sides: Vec<Side> = Vec::new();
    for (n, e) in accesses.iter().enumerate() {
        let ExprKind::Access(access) = &e.kind else {
            return None;
        };
        for (m, subscript) in access.subscripts.iter().enumerate() {
            let own = side(graph, subscript, loops, at)?;
            if n == 0 {
                sides.push(own);
                continue;
            }
            let side = &mut sides[m];
            if side.inside != own.inside || !equal::same(&side.corner, &own.corner) {
                return None;
            }
            let last = side.constant.checked_add(side.spread)?.max(own.constant);
            side.constant = side.constant.min(own.constant);
            side.spread = last.checked_sub(side.constant)?;
            side.negative |= own.negative;
        }
    }
    let windows = !sides.iter().all(Side::is_plain);
    windows.then_some(sides)
}

fn side(graph: &Graph, subscript: &Expr, loops: &[VarId], at: usize) -> Option<Side> {
    let form = affine(subscript, &|_| None)?;
    let span = subscript.span;
    let (rest, own) = sizes::split_constant(&form.rest);
    let mut negative = !sizes::never_negative(&rest);
    let mut corner = (rest != SizeExpr::Const(0)).then(|| size(&rest, span));
    let mut inside: Sum<VarId> = Sum::default();
    let mut apart: i64 = 0;
    for (&root, by) in &form.terms {
        let by = by.as_int()?;
        let steps = Steps::of(graph, root, loops)?;
        let leaves = steps.terms();
        let is_inside = |leaf: VarId| loops[at + 1..].contains(&leaf);
        if !leaves.iter().any(|&(leaf, _)| is_inside(leaf)) {
            negative |= by < 0;
            corner = Some(plus(corner, index(root, span), by));
            continue;
        }
        // Parts count from the start of their range, loops from zero.
        let from_zero = |&(leaf, _): &(VarId, i64)| {
            let origin = Sizes(graph).origin(leaf);
            origin.is_some_and(|origin| origin.as_int() == Some(0))
        };
        let (lo, _) = graph.static_range(root)?;
        if !leaves.iter().all(from_zero) {
            return None;
        }
        apart = apart.checked_add(by.checked_mul(steps.constant())?)?;
        if let SizeExpr::Const(lo) = lo {
            apart = apart.checked_add(by.checked_mul(*lo)?)?;
        } else {
            negative |= by < 0;
            corner = Some(plus(corner, size(lo, span), by));
        }
        for &(leaf, stride) in leaves {
            let by = by.checked_mul(stride)?;
            if !is_inside(leaf) {
                negative |= by < 0;
                corner = Some(plus(corner, index(leaf, span), by));
            } else {
                inside.add(leaf, by)?;
            }
        }
    }
    let mut constant = own.checked_add(apart)?;
    for &(leaf, by) in inside.terms().iter().filter(|(_, by)| *by < 0) {
        let SizeExpr::Const(n) = graph.extent(leaf)? else {
            return None;
        };
        constant = constant.checked_add(by.checked_mul(n.max(1) - 1)?)?;
    }
    Some(Side {
        corner: corner.unwrap_or_else(|| number(0, span)),
        inside: inside.terms().to_vec(),
        constant,
        apart,
        spread: 0,
        negative: negative || constant < 0,
    })
}

fn whole(e: &Expr) -> Option<i64> {
    if let ExprKind::Literal(Literal::Int(n)) = e.kind {
        Some(n)
    } else {
        None
    }
}

/// What each access reads of the tile, whose sides are those with loops inside.
pub(super) fn offsets(sides: &[Side], access: &Access, span: Span) -> Option<Vec<Expr>> {
    let mut subscripts = Vec::new();
    for (side, subscript) in sides.iter().zip(&access.subscripts) {
        if !side.is_tiled() {
            continue;
        }
        let (_, own) = sizes::split_constant(&affine(subscript, &|_| None)?.rest);
        let mut offset = None;
        for &(var, by) in &side.inside {
            offset = Some(plus(offset, index(var, span), by));
        }
        let own = own.checked_add(side.apart)?;
        let beyond = own.checked_sub(side.constant)?;
        if beyond != 0 || offset.is_none() {
            offset = Some(plus(offset, number(beyond, span), 1));
        }
        subscripts.extend(offset);
    }
    Some(subscripts)
}

impl Side {
    /// Whether the tile has this side: else all accesses share one coordinate.
    pub fn is_tiled(&self) -> bool {
        !self.inside.is_empty() || self.spread > 0
    }

    /// The subscript of the element at this offset of the box.
    pub fn subscript(&self, at: Option<VarId>, span: Span) -> Expr {
        let mut e = self.corner.clone();
        if let Some(at) = at {
            e = if whole(&e) == Some(0) {
                index(at, span)
            } else {
                plus(Some(e), index(at, span), 1)
            };
        }
        if self.constant != 0 {
            e = plus(Some(e), number(self.constant, span), 1);
        }
        e
    }
}

fn typed(kind: ExprKind, ty: ScalarType, span: Span) -> Expr {
    Expr { kind, ty, span }
}

fn number(n: i64, span: Span) -> Expr {
    typed(ExprKind::Literal(Literal::Int(n)), ScalarType::I64, span)
}

fn size(e: &SizeExpr, span: Span) -> Expr {
    typed(ExprKind::Size(e.clone()), ScalarType::I64, span)
}

fn index(var: VarId, span: Span) -> Expr {
    typed(ExprKind::Index(var), ScalarType::I64, span)
}

fn scaled(e: Expr, by: i64) -> Expr {
    if by == 1 {
        return e;
    }
    let span = e.span;
    let kind = ExprKind::Binary(BinaryOp::Mul, Shared::new(e), Shared::new(number(by, span)));
    typed(kind, ScalarType::I64, span)
}

/// `sum + e * by`
fn plus(sum: Option<Expr>, e: Expr, by: i64) -> Expr {
    let Some(sum) = sum else {
        return scaled(e, by);
    };
    let span = e.span;
    let (op, by) = match by.checked_neg() {
        Some(positive) if by < 0 => (BinaryOp::Sub, positive),
        Some(_) | None => (BinaryOp::Add, by),
    };
    let kind = ExprKind::Binary(op, Shared::new(sum), Shared::new(scaled(e, by)));
    typed(kind, ScalarType::I64, span)
}

/// `value` where each subscript lies inside its dimension, else zero.
pub(super) fn guarded(value: Expr, subscripts: &[(Expr, SizeExpr, bool)]) -> Expr {
    let span = value.span;
    let both = |x: Option<Expr>, y: Expr| match x {
        None => y,
        Some(x) => typed(
            ExprKind::Binary(BinaryOp::And, Shared::new(x), Shared::new(y)),
            ScalarType::Bool,
            span,
        ),
    };
    let compared = |op, e: &Expr, with: Expr| {
        typed(
            ExprKind::Binary(op, Shared::new(e.clone()), Shared::new(with)),
            ScalarType::Bool,
            span,
        )
    };
    let mut cond = None;
    for (e, dim, negative) in subscripts {
        if *negative {
            cond = Some(both(cond, compared(BinaryOp::Ge, e, number(0, span))));
        }
        let size = typed(ExprKind::Size(dim.clone()), ScalarType::I64, span);
        cond = Some(both(cond, compared(BinaryOp::Lt, e, size)));
    }
    let Some(cond) = cond else {
        return value;
    };
    let ty = value.ty;
    let zero = typed(ExprKind::Literal(Literal::ZERO), ty, span);
    typed(
        ExprKind::Select(Shared::new(cond), Shared::new(value), Shared::new(zero)),
        ty,
        span,
    )
}
