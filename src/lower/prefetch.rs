//! Hints for what the iterations that follow read (`prefetch`).

use super::Lowerer;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::performance;
use crate::graph::{Fetch, Tag, Unit};
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{ArrayId, BinaryOp, Expr, ExprKind, Stmt, VarId};
use crate::loops::visit;
use crate::program::ir::TensorId;
use std::collections::BTreeMap;

impl Lowerer<'_> {
    /// Puts the hints of a loop's tag into the bodies of what it has become. Where operands
    /// are absent a loop may read nothing of the tensor: one body with a hint is enough.
    pub(super) fn prefetch(&self, tag: &Tag, loops: &mut [Stmt]) {
        for fetch in tag.fetches.iter().filter(|_| !in_lanes(tag)) {
            let mut found = false;
            for array in self.arrays_along(fetch.tensor) {
                for stmt in loops.iter_mut() {
                    if let Stmt::For { body, .. } | Stmt::While { body, .. } = stmt {
                        found |= insert(body, array, fetch.ahead);
                    }
                }
            }
            if found {
                self.remarks.fetch(fetch.span);
            }
        }
    }

    /// Says which hints no loop could give.
    pub(super) fn note_unfetched(&self) {
        let graph = self.graph;
        let mut without: Vec<Fetch> = Vec::new();
        graph.visit_nests(&mut |nest| {
            let fetches = nest.loops.iter().flat_map(|l| &l.tag.fetches);
            let lost = fetches.filter(|fetch| !self.remarks.is_fetched(fetch.span));
            without.extend(lost.cloned());
        });
        for fetch in without {
            let name = &self.tensor(fetch.tensor).name;
            let remark = Diagnostic::performance(
                performance::SERIAL,
                fetch.span,
                format!("where an iteration reads `{name}` first is not known as it begins"),
                "has no effect",
            )
            .with_help("name another loop");
            self.remarks.say(remark);
        }
    }

    /// The arrays with one element for each stored one, or for each coordinate.
    fn arrays_along(&self, tensor: TensorId) -> Vec<ArrayId> {
        let Some(arrays) = self.names.arrays(tensor) else {
            return Vec::new();
        };
        let levels = arrays.levels.iter().flatten();
        let coordinates = levels
            .filter(|(role, _)| *role != ArrayRole::Positions)
            .map(|(_, id)| *id);
        coordinates.chain([arrays.values]).collect()
    }
}

fn in_lanes(tag: &Tag) -> bool {
    let unit = tag.parallel.as_ref().map(|p| p.unit);
    matches!(unit, Some(Unit::CpuVector))
}

/// The index without divisions by zero: loops between the hint and the read, which have no
/// iterations where an extent is 0, do not keep the hint from its evaluation.
fn harmless(index: &Expr) -> Expr {
    let mut out = index.clone();
    visit::replace_expr(&mut out, &mut |e| {
        let ExprKind::Binary(BinaryOp::FloorDiv, x, divisor) = &e.kind else {
            return None;
        };
        let divisor = match b::as_int(divisor) {
            Some(n) => b::int(n.max(1)),
            None => b::max(harmless(divisor), b::int(1)),
        };
        Some(b::binary(BinaryOp::FloorDiv, harmless(x), divisor))
    });
    out
}

/// Puts a hint before the first statement of an iteration that reads the array.
fn insert(body: &mut Vec<Stmt>, array: ArrayId, ahead: i64) -> bool {
    for at in 0..body.len() {
        if let Stmt::If {
            then, otherwise, ..
        } = &mut body[at]
        {
            let branches = [insert(then, array, ahead), insert(otherwise, array, ahead)];
            if branches.contains(&true) {
                return true;
            }
            continue;
        }
        let mut reads = Reads {
            array,
            inner: BTreeMap::new(),
        };
        if let Some(index) = reads.first(&body[at], false) {
            let index = b::add(harmless(&index), b::int(ahead));
            body.insert(at, Stmt::Prefetch { array, index });
            return true;
        }
    }
    false
}

/// Finds the first read of an array.
struct Reads {
    array: ArrayId,
    /// Values of the variables that are declared inside the statement at hand when it runs
    /// for the first time, where they are known before.
    inner: BTreeMap<VarId, Option<Expr>>,
}

impl Reads {
    /// The index of the first read in the terms of what stands before the statement;
    /// `maybe` says that it may not be reached.
    fn first(&mut self, stmt: &Stmt, maybe: bool) -> Option<Expr> {
        let mut found = None;
        visit::own_exprs(stmt, &mut |e| {
            let maybe = maybe || is_conditional(e);
            visit::expr(e, &mut |node| {
                if let ExprKind::Load { array, index } = &node.kind
                    && *array == self.array
                    && found.is_none()
                {
                    found = self.before(index, maybe);
                }
            });
        });
        if found.is_some() {
            return found;
        }
        if let Stmt::Let { var, init: e } | Stmt::For { var, lo: e, .. } = stmt {
            let value = self.start(e, maybe);
            self.inner.insert(*var, value);
        }
        if let Stmt::Search { var, .. } = stmt {
            self.inner.insert(*var, None);
        }
        visit::bodies(stmt)
            .into_iter()
            .flatten()
            .find_map(|inner| self.first(inner, true))
    }

    /// As [`Self::before`]. What is clipped to a tile begins with the tile at the earliest.
    fn start(&self, e: &Expr, maybe: bool) -> Option<Expr> {
        let value = self.before(e, maybe);
        if let (None, ExprKind::Binary(BinaryOp::Max, x, y)) = (&value, &e.kind) {
            return self.before(x, maybe).or_else(|| self.before(y, maybe));
        }
        value
    }

    /// The value of an expression before the statement. What may not be evaluated there
    /// must not load anything here.
    fn before(&self, e: &Expr, maybe: bool) -> Option<Expr> {
        let mut known = true;
        visit::expr(e, &mut |node| {
            if let ExprKind::Var(v) = node.kind {
                known &= self.inner.get(&v).is_none_or(Option::is_some);
            }
            known &= !(maybe && matches!(node.kind, ExprKind::Load { .. }));
        });
        known.then(|| self.substituted(e))
    }

    fn substituted(&self, e: &Expr) -> Expr {
        let mut value = e.clone();
        visit::replace_expr(&mut value, &mut |node| {
            if let ExprKind::Var(v) = node.kind {
                return self.inner.get(&v).cloned().flatten();
            }
            let ExprKind::Locate(parent, extent, at) = &node.kind else {
                return None;
            };
            // What is fetched ahead may lie in no row: the sum, not its digits.
            let [parent, extent, at] = [parent, extent, at].map(|e| self.substituted(e));
            Some(b::flat(&parent, &extent, &at))
        });
        b::fold(&mut value);
        value
    }
}

/// Whether a part of the expression may not be evaluated.
fn is_conditional(e: &Expr) -> bool {
    let mut conditional = false;
    visit::expr(e, &mut |node| {
        conditional |= matches!(
            node.kind,
            ExprKind::Select(..) | ExprKind::Binary(BinaryOp::And | BinaryOp::Or, ..)
        );
    });
    conditional
}
