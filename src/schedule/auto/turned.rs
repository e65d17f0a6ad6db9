//! Dense factors that the innermost loop goes across (`A(i,j) = M(i,j) * B(i,k) * C(k,j)` goes down a column of C for
//! each element of M): where their elements are read often enough, a copy is made first in which they stand side by
//! side along that loop. With it the nest has lanes and tiles like any other.

use super::estimate::Loops;
use super::factors::Product;
use super::nests::search;
use super::plan::Best;
use super::shapes::{Shape, Tiles};
use super::{Statistics, Writer};
use crate::graph::equal;
use crate::graph::print::expr_text;
use crate::program::ir::{Expr, ExprKind};

/// A factor that is read from a copy.
#[derive(Clone)]
pub(super) struct Turned {
    pub(super) factor: usize,
    pub(super) tensor: String,
    /// The copy, as it is read.
    pub(super) read: String,
    /// The outermost loop that makes the copy.
    pub(super) first: String,
    /// Names that it takes.
    names: Vec<String>,
    commands: Vec<String>,
    elements: f64,
}

impl Product {
    /// The commands that make the copies.
    pub(super) fn turning(&self) -> Vec<String> {
        let commands = self.turned.iter().flat_map(|turned| &turned.commands);
        commands.cloned().collect()
    }

    /// The same with a factor read from a copy that stands side by side along a loop; `None` if it is no dense
    /// tensor with several loops, or stands so already.
    fn turn(&self, writer: &Writer, factor: usize, along: usize) -> Option<Product> {
        let own = &self.factors[factor];
        let expr = unconverted(&self.exprs[factor]);
        let ExprKind::Access(access) = &expr.kind else {
            return None;
        };
        let set: Loops = 1 << along;
        let vars: Vec<_> = access
            .subscripts
            .iter()
            .map(|e| e.as_var())
            .collect::<Option<_>>()?;
        let others = (0..self.vars.len()).filter(|&at| own.vars >> at & 1 == 1 && at != along);
        let over: Vec<usize> = others.chain([along]).collect();
        let is_copy = own.vars & set != 0
            && own.along & set == 0
            && own.levels.is_empty()
            && vars.len() > 1
            && vars.len() == over.len();
        let same = |e: &&crate::program::ir::Expr| matches!(&e.kind, ExprKind::Access(other) if equal::same_access(access, other));
        let twice = self.exprs.iter().filter(same).count() > 1;
        // No order makes short loops faster.
        let is_short = self.extents[along] < writer.profile.estimate.few;
        let is_turned = self.turned.iter().any(|turned| turned.factor == factor);
        if !is_copy || twice || is_turned || is_short {
            return None;
        }
        let graph = writer.graph;
        let plain = |at: &usize| graph.var(self.vars[*at]).name.clone();
        let list = |names: Vec<String>| format!("{{{}}}", names.join(", "));
        let tensor = &graph.tensor(access.tensor).name;
        let fresh = |what: String| {
            let mut name = writer.fresh(&what);
            while self.turned.iter().any(|own| own.names.contains(&name)) {
                name.push('_');
            }
            name
        };
        let name = fresh(format!("{tensor}_turned"));
        let copies = over
            .iter()
            .map(|at| fresh(format!("{}_{tensor}", plain(at))));
        let copies: Vec<String> = copies.collect();
        let named = over.iter().map(|&at| writer.name(self.vars[at])).collect();
        let mut commands = vec![format!(
            "precompute({}, {}, {}, {name})",
            expr_text(graph, expr),
            list(named),
            list(copies.clone())
        )];
        // Loops stand in the order of those around.
        if !over.is_sorted() {
            commands.push(format!("reorder({})", copies.join(", ")));
        }
        let read = over.iter().map(plain).collect::<Vec<_>>().join(",");
        let mut product = self.clone();
        product.factors[factor].along = set;
        product.turned.push(Turned {
            factor,
            tensor: tensor.clone(),
            read: format!("{name}({read})"),
            first: copies.first()?.clone(),
            names: [copies, vec![name]].concat(),
            commands,
            elements: over.iter().map(|&at| self.extents[at]).product(),
        });
        Some(product)
    }
}

/// What commands name: they see through conversions.
fn unconverted(e: &Expr) -> &Expr {
    if let ExprKind::Cast(inner) = &e.kind {
        unconverted(inner)
    } else {
        e
    }
}

/// The best plan with copies of factors, if these make the nest so much cheaper that the estimate is trusted. Where
/// tiles of the result stay in registers nothing is gained.
pub(super) fn best(writer: &Writer, plain: &Best, statistics: &Statistics) -> Option<Best> {
    let estimate = &writer.profile.estimate;
    let tiles = Tiles::of(writer, plain, statistics).and_then(|tiles| tiles.shape());
    if matches!(tiles, Some(Shape::Row(_) | Shape::Block(..))) {
        return None;
    }
    // What a plan costs with its copies; a plan of its own has to pay, too.
    let cost = |best: &Best| {
        let copies = best.product.turned.iter().map(|own| own.elements);
        best.plan.cost + estimate.turn * copies.sum::<f64>()
    };
    let one_nest = plain.gain * plain.plan.cost;
    let mut found: Option<Best> = None;
    loop {
        let before = found.as_ref().unwrap_or(plain);
        let product = &before.product;
        let factors = 0..product.factors.len();
        let all = factors.flat_map(|factor| (0..product.vars.len()).map(move |at| (factor, at)));
        let turned = all.filter_map(|(factor, at)| product.turn(writer, factor, at));
        let fits = |product: &Product| {
            let last = product.turned.last();
            last.is_some_and(|own| own.elements <= estimate.most_elements)
        };
        let plans = turned
            .filter(fits)
            .map(|product| search(writer, product, false));
        let next = plans.min_by(|a, b| cost(a).total_cmp(&cost(b)));
        match next.filter(|next| cost(next) < cost(before)) {
            Some(next) => found = Some(next),
            None => break,
        }
    }
    let found = found?;
    let whole = cost(&found);
    let gains = plain.plan.cost >= whole * estimate.gain;
    gains.then(|| Best {
        gain: one_nest / whole,
        ..found
    })
}
