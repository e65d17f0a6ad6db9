//! Loops of different ranges that become one (003, fusion of dynamic loops: the largest end, with the predicates of
//! both): it has the values of either, and each statement guards those that are its own.

use crate::diagnostic::codes::schedule as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::equal::same_bound;
use crate::graph::order::{range_vars, vars_in};
use crate::graph::{Graph, Guard, Nest};
use crate::operators::Func;
use crate::program::ir::{Bound, Expr, ExprKind, Range, SizeExpr, VarId};
use crate::scalar::ScalarType;

/// Gives the loops that the nests from `at` on share with the one at `at` and those before it the values of both.
/// `pairs` are their variables, outermost first, of which nests behind `at` have the first already.
///
/// # Errors
/// A range depends on what is not known at the shared loop, or what it has beyond a statement's own range cannot be
/// left out of that.
pub(super) fn unite(
    graph: &mut Graph,
    (at, end): (usize, usize),
    pairs: &[(VarId, VarId)],
    span: Span,
) -> Result<(), Diagnostic> {
    let mut start = at;
    while graph.nests[start].joined > 0 {
        start -= 1;
    }
    for (n, &(a, b)) in pairs.iter().enumerate() {
        let [first, second] = [a, b].map(|var| graph.var(var).range.clone());
        let whole = Range {
            lo: wider(&first.lo, &second.lo, Func::Min, span),
            hi: wider(&first.hi, &second.hi, Func::Max, span),
        };
        if is_same(&whole, &first) && is_same(&whole, &second) {
            continue;
        }
        unless_needed(graph, (start, end), a, span)?;
        let outer: Vec<VarId> = pairs[..n].iter().map(|pair| pair.0).collect();
        let written = graph.nests[start..end].iter().map(|nest| nest.tensor);
        let written: Vec<_> = written.collect();
        for e in [&whole.lo, &whole.hi].into_iter().filter_map(dynamic) {
            let mut read = e.accesses().into_iter();
            let known = vars_in(e).iter().all(|var| outer.contains(var));
            if !known || read.any(|of| written.contains(&of.tensor)) {
                let why = "a range depends on what is not known where both begin";
                return Err(different(graph, a, why, span));
            }
        }
        for k in start..end {
            let own = if k <= at { &first } else { &second };
            let nest = &graph.nests[k];
            if !nest.loops.iter().any(|l| l.var == a) || is_same(own, &whole) {
                continue;
            }
            let result = graph.tensor(nest.tensor);
            if result.is_sparse() {
                let why = format!("`{}` stores elements one after another", result.name);
                return Err(different(graph, a, &why, span));
            }
            add(&mut graph.nests[k], a, own, &whole);
        }
        graph.vars[a.index()].range = whole;
    }
    Ok(())
}

/// What runs over a variable that gets more values must be guarded: not the other pieces of a statement, nor ranges
/// that read data at each of its values, which are asked for in front of guards.
fn unless_needed(
    graph: &Graph,
    (start, end): (usize, usize),
    var: VarId,
    span: Span,
) -> Result<(), Diagnostic> {
    for (k, nest) in graph.nests.iter().enumerate() {
        let (mut runs, mut decides) = (false, false);
        nest.visit(&mut |part| {
            for root in part
                .loops
                .iter()
                .flat_map(|l| graph.provenance.roots(l.var))
            {
                runs |= root == var;
                decides |= range_vars(graph, root).contains(&var);
            }
        });
        if runs && !(start..end).contains(&k) {
            let label = &graph.statement(nest).label;
            let why = format!("another part of `{label}` runs over it, too");
            return Err(different(graph, var, &why, span));
        }
        if decides {
            let why = "a range reads data at each of its values".to_string();
            return Err(different(graph, var, &why, span));
        }
    }
    Ok(())
}

fn different(graph: &Graph, var: VarId, why: &str, span: Span) -> Diagnostic {
    let name = &graph.var(var).name;
    Diagnostic::error(
        codes::NOT_NESTED,
        span,
        format!("`{name}` has another range in the second statement"),
        "the ranges differ",
    )
    .with_note(why.to_string())
    .with_help(
        "join loops over equal ranges, or those of dense results that the loops outside tell",
    )
}

/// Guards what a nest has of its own, unless it is guarded more narrowly already.
fn add(nest: &mut Nest, var: VarId, own: &Range, whole: &Range) {
    let bound = |own: &Bound, whole: &Bound| (!same_bound(own, whole)).then(|| own.clone());
    let (lo, hi) = (bound(&own.lo, &whole.lo), bound(&own.hi, &whole.hi));
    match nest.guards.iter_mut().find(|guard| guard.var == var) {
        Some(guard) => {
            guard.lo = guard.lo.take().or(lo);
            guard.hi = guard.hi.take().or(hi);
        }
        None => nest.guards.push(Guard { var, lo, hi }),
    }
}

fn is_same(a: &Range, b: &Range) -> bool {
    same_bound(&a.lo, &b.lo) && same_bound(&a.hi, &b.hi)
}

fn dynamic(bound: &Bound) -> Option<&Expr> {
    match bound {
        Bound::Static(_) => None,
        Bound::Dynamic(e) => Some(e),
    }
}

/// The smaller or larger one of two bounds.
fn wider(a: &Bound, b: &Bound, by: Func, span: Span) -> Bound {
    if same_bound(a, b) {
        return a.clone();
    }
    if let (Bound::Static(a), Bound::Static(b)) = (a, b) {
        return Bound::Static(wider_size(a, b, by));
    }
    let e = |bound: &Bound| match bound {
        Bound::Static(size) => Expr {
            kind: ExprKind::Size(size.clone()),
            ty: ScalarType::I64,
            span,
        },
        Bound::Dynamic(e) => e.clone(),
    };
    Bound::Dynamic(Expr {
        kind: ExprKind::Call(by, vec![e(a), e(b)]),
        ty: ScalarType::I64,
        span,
    })
}

fn wider_size(a: &SizeExpr, b: &SizeExpr, by: Func) -> SizeExpr {
    let is_min = by == Func::Min;
    if let (SizeExpr::Const(a), SizeExpr::Const(b)) = (a, b) {
        return SizeExpr::Const(if is_min { *a.min(b) } else { *a.max(b) });
    }
    // What one of them has already.
    let has = |a: &SizeExpr, b: &SizeExpr| match (a, is_min) {
        (SizeExpr::Min(x, y), true) | (SizeExpr::Max(x, y), false) => **x == *b || **y == *b,
        (_, _) => false,
    };
    if has(a, b) {
        return a.clone();
    }
    if has(b, a) {
        return b.clone();
    }
    let pair = (Box::new(a.clone()), Box::new(b.clone()));
    if is_min {
        SizeExpr::Min(pair.0, pair.1)
    } else {
        SizeExpr::Max(pair.0, pair.1)
    }
}
