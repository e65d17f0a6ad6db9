//! Several sums in one statement: `Y(i,l) = A(i,j) * B(j,k) * C(k,l) + D(i,m) * E(m,l)` has loops around both, which
//! each would rather have in another order. A sum that is planned to cost much less by itself goes to a workspace over
//! the result's elements, in loops of its own; it is scheduled as if it were a statement.

use super::commands::{Texts, list};
use super::estimate::extents;
use super::{Script, Statistics, Writer, in_threads, nests};
use crate::diagnostic::Sources;
use crate::graph::{Graph, Nest};
use crate::program::ir::{BinaryOp, Expr, ExprKind, UnaryOp, VarId};
use crate::schedule::{self, Settings};
use crate::syntax;
use crate::target::Target;

const APART: &str = "each sum is taken by loops of its own";

/// The script that takes sums apart, if some of them gain by it.
pub(super) fn apart(writer: &Writer, statistics: &Statistics) -> Option<Script> {
    let (graph, nest) = (writer.graph, writer.nest);
    let sums = terms(&nest.rhs);
    let format = &graph.tensor(nest.tensor).format;
    let is_dense = format.levels.iter().all(|level| level.is_full());
    if sums.len() < 2 || !is_dense || nest.lhs.is_empty() || !nest.producers.is_empty() {
        return None;
    }
    let elements: f64 = extents(graph, &nest.lhs, &[], statistics).iter().product();
    let threads = in_threads(&writer.name(nest.loops.first()?.var));
    let mut apart = Apart {
        graph: graph.clone(),
        commands: Vec::new(),
    };
    let mut units = Vec::new();
    let mut room = writer.profile.estimate.most_elements;
    for (n, sum) in sums.into_iter().enumerate() {
        if elements > room {
            break;
        }
        if let Some(own) = apart.keep((n, sum), nest, statistics) {
            room -= elements;
            units.extend(own);
        }
    }
    if apart.commands.is_empty() {
        return None;
    }
    // Those of the result's loops are said once for all sums; lanes of theirs may be lanes of none.
    units.push(threads);
    for (n, unit) in units.iter().enumerate() {
        if !units[..n].contains(unit) {
            apart.take(vec![unit.clone()]);
        }
    }
    Some(Script {
        rule: APART.into(),
        commands: apart.commands,
    })
}

/// The sums that others are added to or taken from. (What multiplies one may be nothing at most elements.)
fn terms(e: &Expr) -> Vec<&Expr> {
    if let ExprKind::Reduce { .. } = e.kind {
        vec![e]
    } else if let ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) = &e.kind {
        [terms(a), terms(b)].concat()
    } else if let ExprKind::Unary(UnaryOp::Neg, a) | ExprKind::Cast(a) = &e.kind {
        terms(a)
    } else {
        Vec::new()
    }
}

/// A graph that has taken some commands.
struct Apart {
    graph: Graph,
    commands: Vec<String>,
}

impl Apart {
    /// Keeps a sum in a workspace, if by itself it is taken in steps, and takes these; returns what shares its loops out.
    fn keep(
        &mut self,
        (n, sum): (usize, &Expr),
        nest: &Nest,
        statistics: &Statistics,
    ) -> Option<Vec<String>> {
        let ExprKind::Reduce { vars, .. } = &sum.kind else {
            return None;
        };
        let mut alone = Nest {
            rhs: sum.clone(),
            ..nest.clone()
        };
        let own = |var: VarId| nest.lhs.contains(&var) || vars.contains(&var);
        alone.loops.retain(|l| own(l.var));
        let before = self.graph.clone();
        let writer = &Writer {
            graph: &before,
            nest: &alone,
            profile: &statistics.profile,
        };
        let best = nests::best(writer, statistics)?;
        let steps = best.planned(writer, statistics)?;
        if best.plan.splits.is_empty() {
            return None;
        }
        let text = Texts::of(&before, &best.product).product();
        let names: Vec<String> = nest.lhs.iter().map(|&v| writer.name(v)).collect();
        let (names, name) = (list(&names), writer.fresh(&format!("sum{n}")));
        self.take(vec![format!(
            "precompute({text}, {names}, {names}, {name})"
        )])?;
        if self.take(steps.commands).is_none() {
            self.graph = before;
            self.commands.pop();
            return None;
        }
        let shared = steps.before.iter().chain([&steps.first]).map(in_threads);
        Some(steps.lanes.iter().cloned().chain(shared).collect())
    }

    /// Takes the commands if the graph accepts them.
    fn take(&mut self, commands: Vec<String>) -> Option<()> {
        let text = commands.join("\n");
        let file = Sources::default().add("script", &text);
        let parsed = syntax::parse_schedule(file, &text).ok()?;
        let settings = Settings {
            defines: Vec::new(),
            target: Target::C,
        };
        self.graph = schedule::apply(self.graph.clone(), &parsed, &settings).ok()?;
        self.commands.extend(commands);
        Some(())
    }
}
