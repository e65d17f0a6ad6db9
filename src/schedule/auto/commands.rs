//! A plan of a product in commands.

use super::Writer;
use super::factors::Product;
use super::nests::{Lanes, Of, Plan};
use crate::graph::Graph;
use crate::graph::print::expr_text;
use crate::program::ir::{Expr, ExprKind};
use indexmap::IndexSet;

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
        gain: f64,
    ) -> Planned {
        let graph = writer.graph;
        let plain = |at: usize| graph.var(self.vars[at]).name.clone();
        let named = |at: usize| writer.name(self.vars[at]);
        let mut commands = Vec::new();
        if !order.is_sorted() {
            let names: Vec<String> = order.iter().map(|&at| named(at)).collect();
            commands.push(format!("reorder({})", names.join(", ")));
        }
        let mut texts: Vec<String> = self.exprs.iter().map(|e| factor_text(graph, e)).collect();
        let (mut before, mut lanes) = (Vec::new(), Vec::new());
        for (n, split) in plan.splits.iter().enumerate() {
            let name = writer.fresh(&format!("w{n}"));
            let last = split.over.last();
            let copy = |at: &usize| match split.is_first || split.is_own(*at) {
                true => writer.fresh(&format!("{}_{n}", plain(*at))),
                false => plain(*at),
            };
            let copies: Vec<String> = split.over.iter().map(copy).collect();
            lanes.extend(match split.lanes {
                Lanes::None => None,
                Lanes::Own => copies.last().cloned(),
                Lanes::Both => last.map(|&at| named(at)),
            });
            let over: Vec<String> = split.over.iter().map(|&at| named(at)).collect();
            let given = self.exprs.len();
            let product: Vec<&str> = (split.factors.iter())
                .map(|of| match *of {
                    Of::Given(f) => texts[f].as_str(),
                    Of::Made(f) => texts[given + f].as_str(),
                })
                .collect();
            commands.push(format!(
                "precompute({}, {}, {}, {name})",
                product.join(" * "),
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
            texts.push(read);
        }
        let vector = |name: &String| format!("parallelize({name}, CPUVector, NoRaces)");
        let lanes: IndexSet<String> = lanes.iter().map(vector).collect();
        Planned {
            gain,
            in_steps: !plan.splits.is_empty(),
            commands,
            lanes: lanes.into_iter().collect(),
            first: named(order[0]),
            before,
        }
    }
}

fn list(names: &[String]) -> String {
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
    match &e.kind {
        ExprKind::Access(_) | ExprKind::Call(..) | ExprKind::Literal(_) | ExprKind::Index(_) => {
            text
        }
        ExprKind::Size(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Cast(_)
        | ExprKind::Reduce { .. } => format!("({text})"),
    }
}
