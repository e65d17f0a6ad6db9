//! Which arrays the iterations of a loop need not be watched for: each iteration has elements of
//! its own, as all accesses have one subscript that moves on with the loop, and with nothing
//! inside, or with loops that stay below its step: rows of `k` in 0..32 at `i * 32 + k`.
//!
//! A check of its own, of few lines, that shares nothing with what decides about atomics and
//! barriers. So registers, vectors and rows of a tiled kernel cost nothing. Tests watch them all
//! the same.

use super::contested::Inside;
use crate::loops::build as b;
use crate::loops::device::{Definitions, definitions, inlined};
use crate::loops::ir::{ArrayId, Expr, ExprKind, Stmt, VarId};
use crate::loops::linear::Linear;
use crate::loops::operands::Operand;
use crate::loops::visit;
use std::collections::{BTreeMap, BTreeSet};

/// How a subscript moves on with a loop.
#[derive(Clone, PartialEq)]
struct Moving {
    /// How far from one iteration to the next.
    factor: i64,
    /// Where it begins.
    rest: Expr,
    /// It is the number of a row of so many elements, of so many rows, and so on.
    rows: Vec<Expr>,
}

/// The loop at hand and what stands inside of it.
struct Loop<'a> {
    var: VarId,
    inside: &'a Inside,
    known: Definitions,
    /// Variables of loops from 0 on, and their ends.
    counted: BTreeMap<VarId, Expr>,
}

/// The arrays of which the iterations of the loop over `var` have each their own elements.
pub(super) fn apart(var: VarId, body: &[Stmt], inside: &Inside) -> BTreeSet<ArrayId> {
    let around = Loop::new(var, body, inside);
    let mut subscripts: BTreeMap<ArrayId, Option<Moving>> = BTreeMap::new();
    let mut meets = |array: ArrayId, index: Option<&Expr>| {
        let index = index.and_then(|e| around.moving(&inlined(e, &around.known)));
        let seen = subscripts.entry(array).or_insert_with(|| index.clone());
        if *seen != index {
            *seen = None;
        }
    };
    visit::stmts(body, &mut |stmt| {
        let mut stored = None;
        if let Stmt::Store { index, .. } = stmt {
            stored = Some(index);
        }
        stmt.operands(&mut |operand| match operand {
            // What is accessed as a whole meets all.
            Operand::Array(array, _) => meets(*array, stored),
            Operand::Expr(e) => visit::expr(e, &mut |node| {
                if let ExprKind::Load { array, index } = &node.kind {
                    meets(*array, Some(index));
                }
            }),
            Operand::Var(..) | Operand::Body(_) => {}
        });
    });
    let own = subscripts.into_iter().filter(|(_, index)| index.is_some());
    own.map(|(array, _)| array).collect()
}

impl<'a> Loop<'a> {
    fn new(var: VarId, body: &[Stmt], inside: &'a Inside) -> Self {
        let known = definitions(body, &|v| inside.assigned.contains(&v));
        let mut counted = BTreeMap::new();
        visit::stmts(body, &mut |stmt| {
            if let Stmt::For { var, lo, hi, .. } = stmt
                && b::as_int(lo) == Some(0)
            {
                counted.insert(*var, inlined(hi, &known));
            }
        });
        Loop {
            var,
            inside,
            known,
            counted,
        }
    }

    /// A subscript that no two iterations have in common.
    fn moving(&self, e: &Expr) -> Option<Moving> {
        self.sum(e).or_else(|| self.row(e))
    }

    /// A multiple of the loop's variable, and less than that.
    fn sum(&self, e: &Expr) -> Option<Moving> {
        let (factor, rest) = Linear::of(e)?.split(self.var)?;
        let mut rest = Linear::of(&rest)?;
        let mut most = 0_i64;
        for (var, end) in &self.counted {
            let Some(end) = b::as_int(end) else { continue };
            let (by, _) = rest.split(*var)?;
            let reach = (end - 1).max(0).checked_mul(by.checked_abs()?)?;
            most = most.checked_add(reach)?;
            rest = rest.substitute(*var, &b::int(0))?;
        }
        let rest = rest.to_expr();
        (factor.checked_abs()? > most && self.is_fixed(&rest)).then(|| Moving {
            factor,
            rest,
            rows: Vec::new(),
        })
    }

    /// A place in a row, of which each iteration has its own, where a loop over the row says.
    fn row(&self, e: &Expr) -> Option<Moving> {
        let ExprKind::Locate(number, extent, at) = &e.kind else {
            return None;
        };
        let ExprKind::Var(at) = at.kind else {
            return None;
        };
        (self.counted.get(&at)? == extent.as_ref() && self.is_fixed(extent)).then_some(())?;
        let mut moving = self.moving(number)?;
        moving.rows.push(extent.as_ref().clone());
        Some(moving)
    }

    /// Whether nothing in it changes in the body.
    fn is_fixed(&self, e: &Expr) -> bool {
        let Inside {
            own_vars, assigned, ..
        } = self.inside;
        let moves = |v| v == self.var || own_vars.contains(&v) || assigned.contains(&v);
        !e.any(|node| {
            matches!(node.kind, ExprKind::Load { .. } | ExprKind::Place(_))
                || matches!(node.kind, ExprKind::Var(v) if moves(v))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::text;

    /// Whether the iterations of the loop over `i` plainly have their own elements of `y`.
    fn own(body: &str) -> bool {
        let header = "kernel k\n  var N, M, i, k, l: int64\n  array y: double output\n  array p: int64 input\n";
        let body: String = body.lines().map(|line| format!("    {line}\n")).collect();
        let kernel =
            text::read(&format!("{header}body\n  for i in 0..N parallel\n{body}")).unwrap();
        let Some(Stmt::For { var, body, .. }) = kernel.body.first() else {
            panic!("a loop");
        };
        apart(*var, body, &Inside::of(body)).contains(&ArrayId(0))
    }

    #[test]
    fn rows_are_an_iterations_own_if_loops_stay_inside() {
        let row = |end: &str, at: &str| own(&format!("for k in {end}\n  y[{at}] = 1:double"));
        assert!(row("0..32", "i * 32 + k"));
        assert!(row("0..32", "i * 32 - k"));
        assert!(row("0..N", "locate(i * 2, N, k)"));
        assert!(!row("0..33", "i * 32 + k"));
        assert!(!row("0..17", "i * 32 + 2 * k"));
        assert!(!row("0..32", "k * 32 + i"));
        assert!(!row("i..32", "i * 32 + k"));
        assert!(!row("0..N", "i * 32 + k"));
        assert!(!row("0..M", "locate(i, N, k)"));
        assert!(!row("0..N", "locate(i, N, k + 1)"));
        assert!(!row("0..N", "locate(0, N, k)"));
        assert!(!row("0..p[i]", "locate(i, p[i], k)"));
        let tiles = |end: &str| {
            let lines = "for k in 0..4\n  for l in 0..END\n    y[i * 32 + (k * 8 + l)] = 1:double";
            own(&lines.replace("END", end))
        };
        assert!(tiles("8"));
        assert!(!tiles("9"));
    }

    #[test]
    fn all_accesses_are_of_the_same_row() {
        let two = |first: &str, second: &str| {
            own(&format!(
                "for k in 0..N\n  y[{first}] = 1:double\n  y[{second}] = 1:double"
            ))
        };
        assert!(two("locate(i, N, k)", "locate(i, N, k)"));
        assert!(!two("locate(i, N, k)", "locate(i + 1, N, k)"));
        assert!(!two("locate(i, N, k)", "i"));
        assert!(!two("i", "i + 1"));
    }
}
