//! Sums that are taken before other factors are met: `y(i) = A(i,j) * B(j,k) * x(k)` in one nest
//! multiplies the matrices; with `B(j,k) * x(k)` in a workspace it takes as many steps as they
//! store elements.
//!
//! A product is planned recursively, after SparseLNR's and SpTTN-Cyclops' trees of loops: inside
//! some loops, the factors that alone have some of the summed variables become a workspace over
//! the other variables that they have, and both nests are planned on. Orders of loops in which
//! no sparse operand has to be searched are all tried, as are all such sets of factors, up to
//! [`MOST_ORDERS`] and [`MOST_FACTORS`]; the cost is steps, reads at the innermost loop, and what
//! is cleared, by [`super::estimate`]. Plans that win little are left to measurement.

use super::estimate::{Around, Factor, Loops, extents, levels};
use super::{Statistics, Writer};
use crate::graph::order::{range_vars, sparse_accesses, vars_in};
use crate::graph::print::expr_text;
use crate::graph::terms::{reduces, root_reduction};
use crate::graph::{Graph, Nest};
use crate::program::ir::{BinaryOp, Expr, ExprKind, ReduceOp, VarId};
use crate::scalar::ScalarType;
use crate::schedule::matching::operands;

/// How many times dearer one nest must be than a plan.
const GAIN: f64 = 1.5;
/// What a step of a loop costs, and at the innermost one each tensor: the next element, one far from
/// the last, or one that stays in a register.
const STEP: f64 = 0.2;
const NEXT: f64 = 1.0;
const FAR: f64 = 4.0;
const KEPT: f64 = 0.2;
/// What it costs to set an element of a workspace that stays in the nearest cache, and of others.
const CLEAR: f64 = 0.5;
const CLEAR_FAR: f64 = 4.0;
const NEAR_ELEMENTS: f64 = 4_096.0;
/// Elements of a workspace, more than which would hardly pay.
const MOST_ELEMENTS: f64 = 8.0e6;
const MOST_LOOPS: usize = 8;
const MOST_FACTORS: usize = 6;
const MOST_ORDERS: usize = 1_000;

/// A plan in commands.
pub(super) struct Planned {
    /// How many times dearer one nest in the program's order is, by estimate.
    pub gain: f64,
    /// Some sums are taken before other factors are met.
    pub in_steps: bool,
    pub commands: Vec<String>,
    /// The outermost loop.
    pub first: String,
    /// Loops of workspaces that stand before all others.
    pub before: Vec<String>,
}

/// The sums of a nest's product, if taking some before others costs less than one nest.
pub(super) fn planned(writer: &Writer, statistics: &Statistics) -> Option<Planned> {
    let product = Product::of(writer.graph, writer.nest, statistics)?;
    let written: Vec<usize> = (0..product.vars.len()).collect();
    let all: Vec<usize> = (0..product.factors.len()).collect();
    let start = Around { open: 0, runs: 1.0 };
    let mut search = Search {
        product: &product,
        factors: product.factors.clone(),
    };
    let mut best: Option<(Plan, Vec<usize>)> = None;
    for order in product.orders() {
        let plan = search.plan(&all, &product.result, &order, start);
        // Of those that cost the same, the first: the program's order, if it may be kept.
        if best.as_ref().is_none_or(|(b, _)| plan.is_better(b)) {
            best = Some((plan, order));
        }
    }
    let (plan, order) = best?;
    let gain = search.one_nest(&all, &product.result, &written, start) / plan.cost;
    (gain.is_finite() && gain >= GAIN).then(|| product.planned(writer, &plan, &order, gain))
}

/// Whether what sparse operands store may decide how the nest is planned: some of the factors have a sum
/// of their own.
pub(super) fn asks(graph: &Graph, nest: &Nest) -> bool {
    let Some(product) = Product::of(graph, nest, &Statistics::default()) else {
        return false;
    };
    let sparse = product.factors.iter().any(|f| !f.levels.is_empty());
    let of = |chosen: usize, taken: bool| {
        let factors = product.factors.iter().enumerate();
        let own = factors.filter(|(n, _)| (chosen >> n & 1 == 1) == taken);
        own.fold(0, |set, (_, factor)| set | factor.vars)
    };
    let mut parts = 1..(1_usize << product.factors.len()) - 1;
    sparse && parts.any(|part| of(part, true) & !of(part, false) & !product.result.vars != 0)
}

/// The product of a nest's only sum. Its loops are numbered in the nest's order.
struct Product {
    vars: Vec<VarId>,
    extents: Vec<f64>,
    exprs: Vec<Expr>,
    factors: Vec<Factor>,
    result: Factor,
    /// For each loop, those that have to stand outside it.
    outside: Vec<Loops>,
}

/// Factors that a workspace holds the product of.
#[derive(Clone, Debug)]
struct Split {
    factors: Vec<usize>,
    /// The loops that it is kept over, outermost first.
    over: Vec<usize>,
    /// The number that it has as a factor.
    workspace: usize,
    /// No loop stands around it, and no workspace below names its loops: they may have names
    /// of their own, for threads.
    is_first: bool,
    /// The outermost loop that computes it runs over its elements.
    is_shared: bool,
    lanes: Lanes,
}

/// Whether the innermost loops of a workspace run over elements side by side, in vector lanes. gcc unrolls
/// those of a few iterations otherwise, and then finds no vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lanes {
    None,
    /// The one that computes it, which has a name of its own.
    Own,
    /// That one and the one that reads it.
    Both,
}

#[derive(Clone, Debug)]
struct Plan {
    cost: f64,
    /// Of all its workspaces.
    elements: f64,
    /// In the order of their commands: what stands outside comes first.
    splits: Vec<Split>,
}

impl Split {
    /// Whether the loop that computes it has a name of its own, for its lanes.
    fn is_own(&self, at: usize) -> bool {
        self.lanes == Lanes::Own && self.over.last() == Some(&at)
    }
}

impl Plan {
    /// Of plans that cost about the same, what needs less memory is better.
    fn is_better(&self, other: &Plan) -> bool {
        let smaller = self.elements < other.elements;
        self.cost < other.cost * if smaller { 1.01 } else { 0.99 }
    }
}

impl Product {
    /// `None` if the nest is something else than loops over static ranges around one sum of
    /// products, or its loops search a sparse operand.
    fn of(graph: &Graph, nest: &Nest, statistics: &Statistics) -> Option<Self> {
        let sums = reduces(&nest.rhs);
        let [sum] = sums.as_slice() else { return None };
        let ExprKind::Reduce {
            op,
            vars: summed,
            body,
        } = &sum.kind
        else {
            return None;
        };
        let vars = nest.loop_vars();
        let exprs: Vec<Expr> = operands(body, BinaryOp::Mul).into_iter().cloned().collect();
        let fits = *op == ReduceOp::Add
            && body.ty != ScalarType::Bool
            && body.ty == body.ty.compute()
            && vars.len() <= MOST_LOOPS
            && (2..=MOST_FACTORS).contains(&exprs.len())
            && vars.iter().all(|&v| range_vars(graph, v).is_empty())
            && nest.producers.is_empty()
            && !graph.is_added(nest.tensor);
        if !fits {
            return None;
        }
        let set = |of: &[VarId]| Some(loops(&places(&vars, of)?));
        let sparse = sparse_accesses(graph, &nest.rhs);
        let levels_of = |e: &Expr| {
            if let ExprKind::Access(access) = &e.kind {
                levels(graph, access, &vars, statistics)
            } else {
                Some(Vec::new())
            }
        };
        let mut factors = Vec::new();
        for e in &exprs {
            factors.push(Factor {
                vars: set(&vars_in(e))?,
                along: set(&along(graph, e))?,
                levels: levels_of(e)?,
            });
        }
        let mut outside = vec![0; vars.len()];
        let mut in_order = |order: &[usize]| {
            for (n, &at) in order.iter().enumerate() {
                outside[at] |= loops(&order[..n]);
            }
        };
        for access in &sparse {
            let walked = levels(graph, access, &vars, statistics)?;
            in_order(&walked.iter().map(|level| level.at).collect::<Vec<_>>());
        }
        // What a result stores, or adds to its sum, has its loops outside the sum's.
        let format = &graph.tensor(nest.tensor).format;
        let last = format.levels.iter().rposition(|level| !level.is_full());
        let stored = &format.modes[..last.map_or(0, |last| last + 1)];
        let stored: Vec<VarId> = stored.iter().map(|&mode| nest.lhs[mode]).collect();
        let stored = places(&vars, &stored)?;
        let last = format.modes.last().map(|&mode| nest.lhs[mode]);
        let result = Factor {
            vars: set(&nest.lhs)?,
            along: set(last.as_slice())?,
            levels: Vec::new(),
        };
        in_order(&stored);
        let first = match root_reduction(&nest.rhs, nest.op) {
            Some(_) => loops(&stored),
            None => result.vars,
        };
        for at in places(&vars, summed)? {
            outside[at] |= first;
        }
        let extents = extents(graph, &vars, &sparse, statistics);
        Some(Product {
            vars,
            extents,
            exprs,
            factors,
            result,
            outside,
        })
    }

    /// Orders of the loops in which nothing is searched, the nest's first. The outermost one stays
    /// one of the result's, for threads to share out.
    fn orders(&self) -> Vec<Vec<usize>> {
        let shared = self.result.vars & 1 == 1;
        let mut all = Vec::new();
        let mut order = Vec::new();
        self.complete(&mut order, shared, &mut all);
        all
    }

    fn complete(&self, order: &mut Vec<usize>, shared: bool, all: &mut Vec<Vec<usize>>) {
        if all.len() >= MOST_ORDERS {
            return;
        }
        if order.len() == self.vars.len() {
            all.push(order.clone());
            return;
        }
        let open = loops(order);
        for at in 0..self.vars.len() {
            let next = open >> at & 1 == 0 && self.outside[at] & !open == 0;
            let kept = !order.is_empty() || !shared || self.result.vars >> at & 1 == 1;
            if next && kept {
                order.push(at);
                self.complete(order, shared, all);
                order.pop();
            }
        }
    }

    /// The plan in commands.
    fn planned(&self, writer: &Writer, plan: &Plan, order: &[usize], gain: f64) -> Planned {
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
                true => writer.fresh(&format!("{}{n}", plain(*at))),
                false => plain(*at),
            };
            let copies: Vec<String> = split.over.iter().map(copy).collect();
            lanes.extend(match split.lanes {
                Lanes::None => None,
                Lanes::Own => copies.last().cloned(),
                Lanes::Both => last.map(|&at| named(at)),
            });
            let over: Vec<String> = split.over.iter().map(|&at| named(at)).collect();
            let product: Vec<&str> = split.factors.iter().map(|&f| texts[f].as_str()).collect();
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
            debug_assert_eq!(split.workspace, texts.len());
            texts.push(read);
        }
        lanes.dedup();
        let vector = |name: &String| format!("parallelize({name}, CPUVector, NoRaces)");
        commands.extend(lanes.iter().map(vector));
        Planned {
            gain,
            in_steps: !plan.splits.is_empty(),
            commands,
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

/// The variables along which what a factor reads stands side by side.
fn along(graph: &Graph, e: &Expr) -> Vec<VarId> {
    match &e.kind {
        ExprKind::Access(access) => {
            let last = graph.tensor(access.tensor).format.modes.last();
            last.map_or(Vec::new(), |&mode| vars_in(&access.subscripts[mode]))
        }
        ExprKind::Literal(_)
        | ExprKind::Index(_)
        | ExprKind::Size(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Call(..)
        | ExprKind::Cast(_)
        | ExprKind::Reduce { .. } => vars_in(e),
    }
}

fn places(vars: &[VarId], of: &[VarId]) -> Option<Vec<usize>> {
    let place = |var: &VarId| vars.iter().position(|v| v == var);
    of.iter().map(place).collect()
}

fn loops(places: &[usize]) -> Loops {
    places.iter().fold(0, |set, at| set | 1 << at)
}

struct Search<'p> {
    product: &'p Product,
    /// Those of the program, and workspaces.
    factors: Vec<Factor>,
}

/// A workspace over these loops, outermost first.
fn workspace(over: &[usize]) -> Factor {
    Factor {
        vars: loops(over),
        along: over.last().map_or(0, |at| 1 << at),
        levels: Vec::new(),
    }
}

impl Search<'_> {
    fn vars(&self, factors: &[usize]) -> Loops {
        factors.iter().fold(0, |set, &f| set | self.factors[f].vars)
    }

    fn walk(&self, factors: &[usize], order: &[usize], around: Around) -> (Around, f64) {
        let factors: Vec<&Factor> = factors.iter().map(|&f| &self.factors[f]).collect();
        let mut reached = around;
        let mut cost = 0.0;
        for &at in order {
            let (inside, steps) = reached.inside(at, &self.product.extents, &factors);
            reached = inside;
            cost += STEP * steps;
        }
        (reached, cost)
    }

    /// The cost of all these loops around the product.
    fn one_nest(&self, factors: &[usize], result: &Factor, order: &[usize], around: Around) -> f64 {
        let (inside, cost) = self.walk(factors, order, around);
        let innermost = order.last().map_or(0, |at| 1 << at);
        let touched = factors.iter().map(|&f| &self.factors[f]).chain([result]);
        let each =
            touched.map(
                |tensor| match (tensor.vars & innermost, tensor.along & innermost) {
                    (0, _) => KEPT,
                    (_, 0) => FAR,
                    (_, _) => NEXT,
                },
            );
        cost + inside.runs * each.sum::<f64>()
    }

    /// The cheapest way to run loops in this order around a product.
    fn plan(
        &mut self,
        factors: &[usize],
        result: &Factor,
        order: &[usize],
        around: Around,
    ) -> Plan {
        let mut best = Plan {
            cost: self.one_nest(factors, result, order, around),
            elements: 0.0,
            splits: Vec::new(),
        };
        let count = factors.len();
        for chosen in 1..(1_usize << count) - 1 {
            let (own, rest): (Vec<usize>, Vec<usize>) =
                (0..count).partition(|n| chosen >> n & 1 == 1);
            let numbers = |of: Vec<usize>| of.into_iter().map(|n| factors[n]).collect::<Vec<_>>();
            let (own, rest) = (numbers(own), numbers(rest));
            let mine = self.vars(&own);
            let others = self.vars(&rest);
            let summed = mine & loops(order) & !others & !result.vars;
            if summed == 0 {
                continue;
            }
            let first = order.iter().position(|at| summed >> at & 1 == 1);
            // Of those that cost the same, the smallest.
            for depth in (0..=first.unwrap_or(0)).rev() {
                // A workspace stands as far out as its factors allow.
                if depth == 0 || mine >> order[depth - 1] & 1 == 1 {
                    let parts = (own.as_slice(), rest.as_slice());
                    self.split(parts, (result, summed), (order, depth), around, &mut best);
                }
            }
        }
        best
    }

    /// Takes the first factors into a workspace inside `depth` loops, if that is cheaper.
    fn split(
        &mut self,
        (own, rest): (&[usize], &[usize]),
        (result, summed): (&Factor, Loops),
        (order, depth): (&[usize], usize),
        around: Around,
        best: &mut Plan,
    ) {
        let (outer, inner) = order.split_at(depth);
        let mine = self.vars(own);
        let over: Vec<usize> = (inner.iter().copied())
            .filter(|&at| mine & !summed & 1 << at != 0)
            .collect();
        let held = workspace(&over);
        let elements: f64 = over.iter().map(|&at| self.product.extents[at]).product();
        let both = [own, rest].concat();
        let (inside, cost) = self.walk(&both, outer, around);
        let clear = match elements <= NEAR_ELEMENTS {
            true => CLEAR,
            false => CLEAR_FAR,
        };
        let cost = cost + inside.runs * elements * clear;
        if elements > MOST_ELEMENTS || cost >= best.cost * 1.01 {
            return;
        }
        let producing: Vec<usize> = (inner.iter().copied())
            .filter(|at| summed >> at & 1 == 1 || over.contains(at))
            .collect();
        let consuming: Vec<usize> = (inner.iter().copied())
            .filter(|at| summed >> at & 1 == 0)
            .collect();
        let known = self.factors.len();
        self.factors.push(held.clone());
        let produced = self.plan(own, &held, &producing, inside);
        let below = produced.splits.iter().map(|split| workspace(&split.over));
        self.factors.extend(below);
        let rest = [rest, &[known]].concat();
        let consumed = self.plan(&rest, result, &consuming, inside);
        let mut plan = Plan {
            cost: cost + produced.cost + consumed.cost,
            elements: elements + produced.elements + consumed.elements,
            splits: Vec::new(),
        };
        if plan.is_better(best) {
            let below = produced.splits.iter();
            let named = below.fold(0, |set, split| set | self.vars(&split.factors));
            let is_first = depth == 0 && around.open == 0 && named & loops(&over) == 0;
            let last = over.last();
            let is_named = last.is_some_and(|at| named >> at & 1 == 1);
            let innermost = last.is_some() && producing.last() == last;
            plan.splits.push(Split {
                factors: own.to_vec(),
                workspace: known,
                is_first,
                lanes: match innermost {
                    true if is_first && over.len() > 1 => Lanes::Own,
                    true if !is_first && consuming.last() == last => Lanes::Both,
                    true if !is_first && !is_named => Lanes::Own,
                    true | false => Lanes::None,
                },
                is_shared: producing.first() == over.first(),
                over,
            });
            plan.splits.extend(produced.splits);
            plan.splits.extend(consumed.splits);
            *best = plan;
        }
        self.factors.truncate(known);
    }
}
