//! A sum that one loop begins and a later one adds to, over the same elements, is stored by the latter.
//!
//! before: `for i in lo..hi { y[f(i)] = 0 }; ...; for i in lo..hi { ...; y[f(i)] += s }`
//! after:  `...; for i in lo..hi { ...; y[f(i)] = s }`
//!
//! Tiles of loops whose ends data decide have a first iteration of their own (`lower/exits.rs`). Where rows are
//! short there is no other one, and the loop that clears their results was a quarter of the time.

use super::build as b;
use super::device::{Definitions, definitions, inlined};
use super::effects::{Facts, Homes, Who, meet, touches};
use super::ir::{ArrayId, Expr, ExprKind, Kernel, ReduceOp, Stmt, VarId};
use super::operands::{ArrayUse, Operand};
use super::visit;
use std::collections::{BTreeMap, BTreeSet};

/// Moves what sums begin with into the loops that add first.
#[must_use]
pub fn begin_in_loops(mut kernel: Kernel) -> Kernel {
    let mut body = std::mem::take(&mut kernel.body);
    let begins = Begins {
        known: definitions(&body, &|v| kernel.var(v).mutable),
        shared: shared(&body),
        kernel: &kernel,
    };
    begins.list(&mut body);
    kernel.body = body;
    kernel
}

/// Arrays that others are parts of, and these parts.
fn shared(body: &[Stmt]) -> BTreeSet<ArrayId> {
    let mut found = BTreeSet::new();
    visit::stmts(body, &mut |stmt| {
        stmt.operands(&mut |operand| {
            if let Operand::Array(array, ArrayUse::Alias | ArrayUse::Part) = operand {
                found.insert(*array);
            }
        });
    });
    found
}

struct Begins<'k> {
    kernel: &'k Kernel,
    known: Definitions,
    shared: BTreeSet<ArrayId>,
}

/// Loops that set elements to zero.
struct Cleared {
    /// The variable of each, outer ones first, its bounds and its step.
    loops: Vec<(VarId, [Expr; 2], i64)>,
    array: ArrayId,
    index: Expr,
}

impl Begins<'_> {
    fn list(&self, body: &mut Vec<Stmt>) {
        for stmt in body.iter_mut() {
            for inner in visit::bodies_mut(stmt) {
                self.list(inner);
            }
        }
        let mut at = 0;
        while at < body.len() {
            let cleared = self.cleared(&body[at]);
            let first = cleared.and_then(|cleared| self.first_sum(&cleared, &mut body[at + 1..]));
            match first {
                Some(()) => drop(body.remove(at)),
                None => at += 1,
            }
        }
    }

    /// What a statement does, if it is nothing but clear elements.
    fn cleared(&self, stmt: &Stmt) -> Option<Cleared> {
        let mut loops = Vec::new();
        let mut stmt = stmt;
        while let Stmt::For {
            var,
            lo,
            hi,
            step,
            tag,
            body,
            ..
        } = stmt
        {
            let (last, before) = body.split_last()?;
            let is_definition =
                |stmt: &Stmt| matches!(stmt, Stmt::Let { var, .. } if self.known.contains_key(var));
            if !tag.is_serial() || !before.iter().all(is_definition) {
                return None;
            }
            let bounds = [self.settled(lo)?, self.settled(hi)?];
            loops.push((*var, bounds, *step));
            stmt = last;
        }
        let Stmt::Store {
            array,
            index,
            op: None,
            value,
            atomic: false,
        } = stmt
        else {
            return None;
        };
        let zero = ReduceOp::Add.neutral(value.ty);
        let is_zero = matches!(value.kind, ExprKind::Literal(own) if own.same_value(zero));
        if !is_zero || loops.is_empty() || self.shared.contains(array) {
            return None;
        }
        Some(Cleared {
            loops,
            array: *array,
            index: self.settled(index)?,
        })
    }

    /// An expression over variables that keep their values, of which nothing is loaded.
    fn settled(&self, e: &Expr) -> Option<Expr> {
        let e = inlined(e, &self.known);
        let changes =
            |e: &Expr| matches!(e.kind, ExprKind::Var(var) if self.kernel.var(var).mutable);
        (!e.loads() && !e.any(changes)).then_some(e)
    }

    /// Makes what adds to the elements first store what it adds; `None` if it comes to them otherwise.
    fn first_sum(&self, cleared: &Cleared, later: &mut [Stmt]) -> Option<()> {
        let first = later.iter_mut().find(|stmt| names(stmt, cleared.array))?;
        if !self.is_once(cleared, first) {
            return None;
        }
        let (op, stored) = self.sum_of(cleared, first, 0, &mut BTreeMap::new())?;
        let is_sum = *op == Some(ReduceOp::Add) && !stored;
        is_sum.then(|| *op = None)
    }

    /// The operator by which a nest over the same elements combines each of them with a value, and whether that
    /// value is of the elements, too.
    fn sum_of<'s>(
        &self,
        cleared: &Cleared,
        stmt: &'s mut Stmt,
        depth: usize,
        own: &mut BTreeMap<VarId, VarId>,
    ) -> Option<(&'s mut Option<ReduceOp>, bool)> {
        let same = |e: &Expr, other: &Expr, own: &BTreeMap<VarId, VarId>| {
            let mut e = inlined(e, &self.known);
            visit::replace_expr(&mut e, &mut |node| {
                let ExprKind::Var(var) = node.kind else {
                    return None;
                };
                own.get(&var).map(|&v| b::var(v, node.ty))
            });
            e == *other
        };
        let Some((var, [from, to], by)) = cleared.loops.get(depth) else {
            let Stmt::Store {
                array,
                index,
                op,
                value,
                atomic: false,
            } = stmt
            else {
                return None;
            };
            let of_them =
                |e: &Expr| matches!(e.kind, ExprKind::Load { array, .. } if array == cleared.array);
            let of_them = value.any(of_them) || index.loads();
            let fits = *array == cleared.array && same(index, &cleared.index, own);
            return fits.then_some((op, of_them));
        };
        let Stmt::For {
            var: other,
            lo,
            hi,
            step,
            tag,
            body,
            ..
        } = stmt
        else {
            return None;
        };
        if !tag.is_serial() || step != by || !same(lo, from, own) || !same(hi, to, own) {
            return None;
        }
        own.insert(*other, *var);
        let mut touching = body.iter_mut().filter(|stmt| names(stmt, cleared.array));
        match (touching.next(), touching.next()) {
            (Some(only), None) => self.sum_of(cleared, only, depth + 1, own),
            (_, _) => None,
        }
    }

    /// Whether no two iterations of the cleared loops' counterparts come to one element.
    fn is_once(&self, cleared: &Cleared, nest: &Stmt) -> bool {
        let declared = visit::declared(std::slice::from_ref(nest));
        let all = touches([nest], &[], &mut Homes::default(), &self.known);
        let mut all = all.iter().filter(|touch| touch.array == cleared.array);
        all.all(|touch| {
            (0..cleared.loops.len()).all(|depth| {
                let facts = Facts {
                    same: &|v| !declared.contains(&v),
                    fixed: &|_| false,
                    together: depth,
                };
                let around = touch.around.get(depth).map(|around| around.var);
                around.is_some_and(|var| !meet(touch, touch, &Who::Iteration(var), facts))
            })
        })
    }
}

/// Whether a statement or one inside it names the array.
fn names(stmt: &Stmt, array: ArrayId) -> bool {
    visit::any(std::slice::from_ref(stmt), &|stmt| {
        visit::arrays(stmt).contains(&array)
    })
}
