//! A plan of a product in commands.

use super::factors::Product;
use super::plan::{Lanes, Of, Plan, Split};
use super::shapes;
use super::{Statistics, Writer, in_vectors};
use crate::graph::Graph;
use crate::graph::print::expr_text;
use crate::program::ir::{BinaryOp, Expr, ExprKind};
use indexmap::IndexSet;
use std::collections::BTreeMap;

/// A plan in commands.
pub(super) struct Planned {
    /// How many times dearer one nest in the program's order is, by estimate.
    pub gain: f64,
    /// Some sums are taken before other factors are met.
    pub in_steps: bool,
    pub commands: Vec<String>,
    /// Commands for vector lanes of workspaces.
    pub lanes: Vec<String>,
    /// The outermost loop.
    pub first: String,
    /// Loops of workspaces that stand before all others.
    pub before: Vec<String>,
}

impl Product {
    /// The plan in commands.
    pub(super) fn planned(
        &self,
        writer: &Writer,
        plan: &Plan,
        order: &[usize],
        (gain, statistics): (f64, &Statistics),
    ) -> Planned {
        let graph = writer.graph;
        let plain = |at: usize| graph.var(self.vars[at]).name.clone();
        let named = |at: usize| writer.name(self.vars[at]);
        let mut commands = self.turning();
        if !order.is_sorted() {
            let names: Vec<String> = order.iter().map(|&at| named(at)).collect();
            commands.push(format!("reorder({})", names.join(", ")));
        }
        let mut texts = Texts::of(graph, self);
        let (mut vectors, mut lanes) = (Vec::new(), Vec::new());
        let mut before: Vec<String> = self.turned.iter().map(|own| own.first.clone()).collect();
        for (n, split) in plan.splits.iter().enumerate() {
            let name = writer.fresh(&format!("w{n}"));
            let last = split.over.last();
            let copy = |at: &usize| match split.is_first || split.is_own(*at) {
                true => writer.fresh(&format!("{}_{n}", plain(*at))),
                false => plain(*at),
            };
            let copies: Vec<String> = split.over.iter().map(copy).collect();
            vectors.extend(match split.lanes {
                Lanes::None => None,
                Lanes::Own => copies.last().cloned(),
                Lanes::Both => last.map(|&at| named(at)),
            });
            let over: Vec<String> = split.over.iter().map(|&at| named(at)).collect();
            commands.push(format!(
                "precompute({}, {}, {}, {name})",
                texts.product_of(&split.factors),
                list(&over),
                list(&copies),
            ));
            let shared = split.is_first && split.is_shared;
            before.extend(copies.first().filter(|_| shared).cloned());
            // Later ones read it where they are.
            let read: Vec<String> = split.over.iter().map(|&at| plain(at)).collect();
            let read = match read.is_empty() {
                true => name,
                false => format!("{name}({})", read.join(",")),
            };
            texts.make(read);
        }
        let splits = plan.splits.iter().enumerate();
        let sums = splits.filter_map(|(n, split)| Some((self.sum_of(split, order)?, n)));
        // The innermost workspace of a sum comes last.
        let sums: BTreeMap<usize, usize> = sums.collect();
        for sum in sums {
            lanes.extend(self.in_lanes(writer, sum, &texts, statistics));
        }
        let vectors: IndexSet<String> = vectors.iter().map(in_vectors).collect();
        lanes.extend(vectors);
        Planned {
            gain,
            in_steps: !plan.splits.is_empty(),
            commands,
            lanes,
            first: named(order[0]),
            before,
        }
    }

    /// Whether nothing is summed outside of the workspace.
    pub(super) fn holds_all_sums(&self, split: &Split) -> bool {
        let given = split.factors.iter().map(|of| match *of {
            Of::Given(n) => self.factors[n].vars,
            Of::Made(_) => 0,
        });
        let all = self.factors.iter().fold(0, |set, factor| set | factor.vars);
        let own = given.fold(0, |set, vars| set | vars);
        all & !own & !self.result.vars == 0
    }

    /// The innermost loop of the sum that a workspace of one value is, if what it visits stands
    /// side by side.
    fn sum_of(&self, split: &Split, order: &[usize]) -> Option<usize> {
        let is_own = |n: usize| {
            split
                .factors
                .iter()
                .any(|of| matches!(of, Of::Given(m) if *m == n))
        };
        let vars = |own: bool| {
            let chosen = (0..self.factors.len()).filter(|&n| is_own(n) == own);
            chosen.fold(0, |set, n| set | self.factors[n].vars)
        };
        let sums = vars(true) & !vars(false) & !self.result.vars;
        let last = order.iter().rev().find(|&&at| sums >> at & 1 == 1)?;
        (split.over.is_empty() && self.is_along(*last)).then_some(*last)
    }

    /// Gives each lane of a vector a part of the `n`-th workspace's sum.
    fn in_lanes(
        &self,
        writer: &Writer,
        (at, n): (usize, usize),
        texts: &Texts,
        statistics: &Statistics,
    ) -> Vec<String> {
        let Some(length) = shapes::lanes(writer, statistics.extent(writer.graph, self.vars[at]))
        else {
            return Vec::new();
        };
        // The workspace is that sum, and nothing is multiplied with its lanes.
        self.lanes(writer, (at, true), (length, n), &[], texts)
    }

    /// Cuts a loop of this length off the innermost sum, outside of it and inside `around`, whose
    /// iterations add up in lanes. `is_full`: each lane has a product. Where some may have none, all factors are
    /// met in lanes: nothing times a factor that is infinite is no number.
    pub(super) fn lanes(
        &self,
        writer: &Writer,
        (at, is_full): (usize, bool),
        (length, n): (i64, usize),
        around: &[String],
        texts: &Texts,
    ) -> Vec<String> {
        let var = &writer.graph.var(self.vars[at]).name;
        let fresh = |what: &str| match n {
            0 => writer.fresh(what),
            _ => writer.fresh(&format!("{what}_{n}")),
        };
        let (outer, inner) = (
            writer.fresh(&format!("{var}0")),
            writer.fresh(&format!("{var}1")),
        );
        let (lane, partial) = (fresh("lane"), fresh("partial"));
        let own: Vec<Of> = (0..self.factors.len())
            .filter(|&n| !self.in_parts || !is_full || self.factors[n].vars >> at & 1 == 1)
            .map(Of::Given)
            .collect();
        let order = [around, &[inner.clone(), outer.clone()]].concat();
        vec![
            format!(
                "split({}, {outer}, {inner}, {length})",
                writer.name(self.vars[at])
            ),
            format!("reorder({})", order.join(", ")),
            format!(
                "precompute({}, {inner}, {lane}, {partial})",
                texts.product_of(&own)
            ),
            format!("reorder({outer}, {lane})"),
            in_vectors(&lane),
            format!("parallelize({inner}, CPUVector, ParallelReduction)"),
        ]
    }

    /// Whether everything that a loop visits stands side by side, and it visits something.
    pub(super) fn is_along(&self, at: usize) -> bool {
        let set = 1 << at;
        let visited = self.factors.iter().filter(|factor| factor.vars & set != 0);
        let mut visited = visited.peekable();
        visited.peek().is_some()
            && visited.all(|factor| {
                let stored = factor.levels.iter().any(|level| level.at == at);
                factor.along & set != 0 && !stored
            })
    }
}

/// Factors as commands name them: those of a product, and workspaces made of them.
pub(super) struct Texts {
    join: &'static str,
    given: Vec<String>,
    made: Vec<String>,
}

impl Texts {
    pub(super) fn of(graph: &Graph, product: &Product) -> Self {
        let given = match product.exprs.as_slice() {
            [only] => vec![expr_text(graph, only)],
            several => several.iter().map(|e| factor_text(graph, e)).collect(),
        };
        let mut texts = Texts {
            join: match product.join == BinaryOp::Add {
                true => " + ",
                false => " * ",
            },
            given,
            made: Vec::new(),
        };
        for turned in &product.turned {
            texts.replace(turned.factor, turned.read.clone());
        }
        texts
    }

    /// The whole product.
    pub(super) fn product(&self) -> String {
        self.given.join(self.join)
    }

    pub(super) fn product_of(&self, factors: &[Of]) -> String {
        let text = |of: &Of| match *of {
            Of::Given(n) => self.given[n].as_str(),
            Of::Made(n) => self.made[n].as_str(),
        };
        factors.iter().map(text).collect::<Vec<_>>().join(self.join)
    }

    /// A workspace, as it is read.
    pub(super) fn make(&mut self, read: String) {
        self.made.push(read);
    }

    /// A factor is read from a copy.
    pub(super) fn replace(&mut self, factor: usize, read: String) {
        self.given[factor] = read;
    }
}

pub(super) fn list(names: &[String]) -> String {
    match names {
        [only] => only.clone(),
        _ => format!("{{{}}}", names.join(", ")),
    }
}

/// As a command names it: conversions are seen through.
fn factor_text(graph: &Graph, e: &Expr) -> String {
    if let ExprKind::Cast(inner) = &e.kind {
        return factor_text(graph, inner);
    }
    let text = expr_text(graph, e);
    if let ExprKind::Access(_) | ExprKind::Call(..) | ExprKind::Literal(_) | ExprKind::Index(_) =
        &e.kind
    {
        text
    } else {
        format!("({text})")
    }
}
