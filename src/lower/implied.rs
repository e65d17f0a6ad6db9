//! Which checks say nothing that is not known once others have passed: the same condition over fewer
//! values, or of a range that lies in one known to stay inside its tensor.

use crate::graph::order::vars_in;
use crate::graph::spans;
use crate::graph::terms::rename_expr;
use crate::graph::{Graph, equal};
use crate::program::ir::{BinaryOp, Bound, Expr, ExprKind, Literal, VarId};
use crate::program::ranges::size as sizes;

/// A condition that must not hold anywhere in the ranges of its variables.
pub(super) struct Requirement {
    pub bad: Expr,
    /// Where it says no more than that a range stays inside its tensor: that range.
    pub window: Option<Window>,
}

/// Values from `lo` to below `hi`, within `0..extent`.
pub(super) struct Window {
    pub lo: Expr,
    pub hi: Expr,
    pub extent: Expr,
}

/// Whether what is `known` leaves nothing of a requirement to be checked.
pub(super) fn is_implied(graph: &Graph, known: &[Requirement], new: &Requirement) -> bool {
    known.iter().any(|known| {
        let mut pairs = Pairs::of(graph);
        if pairs.are_same(&new.bad, &known.bad) && pairs.have_fewer_values() {
            return true;
        }
        let (Some(new), Some(known)) = (&new.window, &known.window) else {
            return false;
        };
        let mut pairs = Pairs::of(graph);
        pairs.are_same(&new.extent, &known.extent)
            && pairs.are_same(&new.hi, &known.hi)
            && pairs.begins_inside(&new.lo, &known.lo)
            && pairs.have_fewer_values()
    })
}

/// Variables of a requirement, and those that stand in their places in what is known.
struct Pairs<'g> {
    graph: &'g Graph,
    list: Vec<(VarId, VarId)>,
}

impl Pairs<'_> {
    fn of(graph: &Graph) -> Pairs<'_> {
        let list = Vec::new();
        Pairs { graph, list }
    }

    /// Whether two expressions are the same with one variable for another.
    fn are_same(&mut self, new: &Expr, known: &Expr) -> bool {
        let (own, others) = (vars_in(new), vars_in(known));
        if own.len() != others.len() {
            return false;
        }
        for pair in own.into_iter().zip(others) {
            let meets = |known: &&(VarId, VarId)| known.0 == pair.0 || known.1 == pair.1;
            match self.list.iter().find(meets) {
                Some(known) if *known != pair => return false,
                Some(_) => {}
                None => self.list.push(pair),
            }
        }
        let mut renamed = new.clone();
        let other = |var: VarId| {
            let pair = self.list.iter().find(|(own, _)| *own == var);
            pair.map_or(var, |(_, other)| *other)
        };
        rename_expr(&mut renamed, &other);
        equal::same(&renamed, known)
    }

    /// Whether a range begins where another one does, or behind it. Only what fits fewer than 64 bits
    /// can be added to without a thought.
    fn begins_inside(&mut self, new: &Expr, known: &Expr) -> bool {
        if let ExprKind::Binary(BinaryOp::Add, base, by) = &new.kind
            && matches!(by.kind, ExprKind::Literal(Literal::Int(0..=0xffff)))
            && spans::is_narrow(base)
            && self.are_same(base, known)
        {
            return true;
        }
        self.are_same(new, known)
    }

    /// Whether each variable has only values that the one in its place has.
    fn have_fewer_values(&mut self) -> bool {
        let mut at = 0;
        while let Some(&(own, other)) = self.list.get(at) {
            let graph = self.graph;
            let (new, known) = (&graph.var(own).range, &graph.var(other).range);
            let least = |a, b| sizes::never_negative(&sizes::sub(a, b));
            let begins = match (&new.lo, &known.lo) {
                (Bound::Static(a), Bound::Static(b)) => least(a.clone(), b.clone()),
                (Bound::Dynamic(a), Bound::Dynamic(b)) => self.begins_inside(a, b),
                (Bound::Static(_), Bound::Dynamic(_)) | (Bound::Dynamic(_), Bound::Static(_)) => {
                    false
                }
            };
            let ends = match (&new.hi, &known.hi) {
                (Bound::Static(a), Bound::Static(b)) => least(b.clone(), a.clone()),
                (Bound::Dynamic(a), Bound::Dynamic(b)) => self.are_same(a, b),
                (Bound::Static(_), Bound::Dynamic(_)) | (Bound::Dynamic(_), Bound::Static(_)) => {
                    false
                }
            };
            if !begins || !ends {
                return false;
            }
            at += 1;
        }
        true
    }
}
