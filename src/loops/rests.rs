//! What is left of a tile of lanes is added up by itself.
//!
//! before: `for k0 in 0..K / 8: for lane in 0..8 vector: w[lane] += x[k0 * 8 + lane]`,
//!         `if K / 8 * 8 < K: ..., for lane in 0..K - k0 * 8: w[lane] += x[k0 * 8 + lane]`,
//!         `for k in 0..8 vector reduce(+ s): s += a * w[k]`
//! after:  the test holds `let rest = 0, for lane in 0..K - k0 * 8: rest += x[k0 * 8 + lane], s += a * rest`
//!
//! A lane that a variable names keeps the workspace in memory, where vectors that are read behind
//! elements that are written wait for these: that took as long as some 60 products. The sum of all
//! lanes has the same products in another order, which whoever gave the lanes sums of their own has
//! allowed.

use super::build as b;
use super::ir::{ArrayId, BinaryOp, Expr, ExprKind, Kernel, Run, Stmt, VarId};
use super::tiles::SHORT;
use super::visit;
use crate::operators::ReduceOp;

/// Gives what is left of tiles of lanes sums of their own.
#[must_use]
pub fn sum_rests(mut kernel: Kernel) -> Kernel {
    let mut body = std::mem::take(&mut kernel.body);
    list(&mut kernel, &mut body);
    kernel.body = body;
    kernel
}

fn list(kernel: &mut Kernel, body: &mut [Stmt]) {
    for at in 1..body.len() {
        let (before, behind) = body.split_at_mut(at);
        if let Some(lanes) = Lanes::of(before, &behind[0])
            && !visit::any(&behind[1..], &|stmt| {
                visit::arrays(stmt).contains(&lanes.array)
            })
            && before.last().is_some_and(|stmt| lanes.are_all_of(stmt))
            && let Some(rest) = lanes.last_tile(before)
        {
            lanes.leave(kernel, rest);
        }
    }
    for stmt in body {
        for inner in visit::bodies_mut(stmt) {
            list(kernel, inner);
        }
    }
}

/// A workspace of which each lane has a sum.
struct Lanes {
    array: ArrayId,
    op: ReduceOp,
    count: i64,
    /// What is done with each to add them up.
    sum: Stmt,
}

impl Lanes {
    /// The lanes that a loop adds up, of a workspace that is declared before it.
    fn of(before: &[Stmt], stmt: &Stmt) -> Option<Self> {
        let Stmt::For {
            var,
            lo,
            hi,
            step: 1,
            body,
            ..
        } = stmt
        else {
            return None;
        };
        let [sum] = body.as_slice() else {
            return None;
        };
        let (op, value) = sum_of(sum)?;
        let array = lane_of(op, value, *var)?;
        let count = b::as_int(hi).filter(|_| b::as_int(lo) == Some(0))?;
        let declared = |s: &Stmt| matches!(s, Stmt::Declare { array: own, count: room } if *own == array && i64::try_from(*room) == Ok(count));
        // Each to an element of its own, or of its workspace.
        let within = matches!(sum, Stmt::Store { array: to, index, .. } if *to == array || index.reads(*var));
        (!within && before.iter().any(declared)).then(|| Lanes {
            array,
            op,
            count,
            sum: sum.clone(),
        })
    }

    /// Whether a statement adds to the lanes.
    fn are_added_to(&self, stmt: &Stmt) -> bool {
        visit::any(std::slice::from_ref(stmt), &|inner| self.is_added_to(inner))
    }

    fn is_added_to(&self, stmt: &Stmt) -> bool {
        matches!(stmt, Stmt::Store { array, op, .. } if *array == self.array && *op == Some(self.op))
    }

    /// Whether a statement adds to lanes and does nothing else, nor asks what they or their sum are.
    fn are_all_of(&self, stmt: &Stmt) -> bool {
        !visit::any(std::slice::from_ref(stmt), &|inner| {
            let adds = self.is_added_to(inner)
                || matches!(inner, Stmt::For { tag, .. } if !tag.is_shared())
                || matches!(inner, Stmt::Let { .. } | Stmt::If { .. });
            let mut asks = false;
            visit::own_exprs(inner, &mut |e| asks |= e.any(|node| self.is_asked(node)));
            asks || !adds
        })
    }

    fn is_asked(&self, e: &Expr) -> bool {
        let of_sum = matches!(&self.sum, Stmt::Assign { var, .. } if e.kind == ExprKind::Var(*var))
            || matches!(&self.sum, Stmt::Store { array, .. } if loads(e, *array));
        of_sum || loads(e, self.array)
    }

    /// The last of these statements, or of those of a loop that they end with, if it adds to lanes
    /// in one place, and others before it do, too.
    fn last_tile<'b>(&self, body: &'b mut [Stmt]) -> Option<&'b mut Stmt> {
        let (last, before) = body.split_last_mut()?;
        if before.iter().any(|stmt| self.are_added_to(stmt)) {
            let (mut sums, mut masked) = (0, false);
            visit::stmts(std::slice::from_ref(last), &mut |inner| {
                sums += usize::from(self.is_added_to(inner));
                masked |= matches!(inner, Stmt::For { tag, .. } if tag.is_vector());
            });
            // Vectors of few elements that are loaded one by one test their lanes.
            masked &= self.count <= SHORT;
            return (sums == 1 && !masked).then_some(last);
        }
        if let Stmt::For { body, tag, .. } = last
            && tag.is_serial()
        {
            return self.last_tile(body);
        }
        None
    }

    /// Gives the innermost loop in a statement a sum of its own, which is added to that of the
    /// lanes behind it.
    fn leave(&self, kernel: &mut Kernel, stmt: &mut Stmt) {
        for body in visit::bodies_mut(stmt) {
            let Some(at) = body.iter().position(|inner| self.are_added_to(inner)) else {
                continue;
            };
            if is_innermost(&body[at]) {
                let rest = kernel.fresh_var("rest", kernel.array(self.array).elem, true);
                self.sum_up(rest, &mut body[at]);
                let ty = kernel.var(rest).ty;
                body.insert(at, b::bind(rest, b::literal(self.op.neutral(ty), ty)));
                body.insert(at + 2, self.sum_with(&b::var(rest, ty)));
            } else {
                self.leave(kernel, &mut body[at]);
            }
        }
    }

    /// What is done with each lane, done with this value.
    fn sum_with(&self, value: &Expr) -> Stmt {
        let mut sum = [self.sum.clone()];
        visit::replace_exprs(&mut sum, &mut |node| {
            loads(node, self.array).then(|| value.clone())
        });
        let [sum] = sum;
        sum
    }

    /// Makes a loop over lanes one that adds to a variable.
    fn sum_up(&self, rest: VarId, stmt: &mut Stmt) {
        let Stmt::For {
            var, hi, tag, body, ..
        } = stmt
        else {
            return;
        };
        // Lanes that are tested one by one are a loop again.
        if let [Stmt::If { cond, then, .. }] = body.as_mut_slice()
            && let Some(end) = end_of(cond, *var)
        {
            *hi = b::min(hi.clone(), end);
            *body = std::mem::take(then);
            tag.unroll = None;
        }
        if let Run::Lanes { reductions, .. } = &mut tag.run {
            reductions.push((self.op, rest));
        }
        to_variable(body, self.array, rest);
    }
}

/// What a statement adds, by which operator.
fn sum_of(stmt: &Stmt) -> Option<(ReduceOp, &Expr)> {
    if let Stmt::Assign { op, value, .. }
    | Stmt::Store {
        op,
        value,
        atomic: false,
        ..
    } = stmt
    {
        return op.map(|op| (op, value));
    }
    None
}

/// Where a loop ends whose body is done while `cond` holds.
fn end_of(cond: &Expr, var: VarId) -> Option<Expr> {
    let ExprKind::Binary(op, x, y) = &cond.kind else {
        return None;
    };
    if *op == BinaryOp::And {
        return Some(b::min(end_of(x, var)?, end_of(y, var)?));
    }
    let is_end = *op == BinaryOp::Lt && x.kind == ExprKind::Var(var) && !y.reads(var);
    is_end.then(|| (**y).clone())
}

/// What is added to an array is added to a variable instead.
fn to_variable(body: &mut [Stmt], from: ArrayId, to: VarId) {
    for stmt in body {
        if let Stmt::Store {
            array,
            op: Some(op),
            value,
            ..
        } = stmt
            && *array == from
        {
            *stmt = b::update(to, *op, value.clone());
            continue;
        }
        for inner in visit::bodies_mut(stmt) {
            to_variable(inner, from, to);
        }
    }
}

fn is_loop(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::For { .. })
}

fn is_innermost(stmt: &Stmt) -> bool {
    is_loop(stmt)
        && !visit::bodies(stmt)
            .into_iter()
            .any(|body| visit::any(body, &is_loop))
}

/// Whether the expression is an element of the array.
fn loads(e: &Expr, array: ArrayId) -> bool {
    matches!(e.kind, ExprKind::Load { array: own, .. } if own == array)
}

/// The array whose element `var` a sum is of, at most times something that is the same for all of
/// them: the sum of two such elements has what the two have together.
fn lane_of(op: ReduceOp, value: &Expr, var: VarId) -> Option<ArrayId> {
    if let ExprKind::Load { array, index } = &value.kind {
        return (is_lane(index, var)).then_some(*array);
    }
    let ExprKind::Binary(by, x, y) = &value.kind else {
        return None;
    };
    let spreads = match op {
        ReduceOp::Add => *by == BinaryOp::Mul,
        ReduceOp::Min | ReduceOp::Max => *by == BinaryOp::Add,
        ReduceOp::Or => *by == BinaryOp::And,
        ReduceOp::And => *by == BinaryOp::Or,
        ReduceOp::Mul | ReduceOp::Own(_) => false,
    };
    let of = |lane: &Expr, other: &Expr| {
        let array = lane_of(op, lane, var)?;
        (!other.reads(var) && !other.any(|node| loads(node, array))).then_some(array)
    };
    of(x, y).or_else(|| of(y, x)).filter(|_| spreads)
}

/// Whether an index is the variable, as such or as a coordinate.
fn is_lane(index: &Expr, var: VarId) -> bool {
    if let ExprKind::Locate(parent, _, coordinate) = &index.kind {
        return b::as_int(parent) == Some(0) && is_lane(coordinate, var);
    }
    index.kind == ExprKind::Var(var)
}
