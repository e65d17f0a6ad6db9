//! Whether results are counted before they are stored: where a schedule says so, and where
//! iterations that append are shared out, so that each finds room of its own.

use super::{Counted, Inside, Keeps, Loop, Node, Over, Then, Tree, counting};
use crate::diagnostic::codes::lower as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::race::told;
use crate::graph::{self, Assembly, Graph, Nest, pattern};
use crate::program::ir::{TensorId, VarId};
use crate::units::{GpuLevel, Unit};

/// The plan that counts what the tree appends, if it is counted.
///
/// # Errors
/// Loops are shared out whose iterations cannot know where their elements begin.
pub(super) fn counted(
    graph: &Graph,
    tree: &Tree,
    span: Span,
) -> Result<Option<Box<Counted>>, Diagnostic> {
    let nests = tree.nests.iter().zip(&tree.made);
    let appended = nests.filter(|(_, (_, made))| made.is_appended());
    let nests: Vec<&Nest> = appended.map(|(nest, _)| nest).collect();
    let Some(body) = tree.body.as_ref().filter(|_| !nests.is_empty()) else {
        return Ok(None);
    };
    // Threads that collect rows together store elements side by side, in room that is counted before.
    let rows = collected_together(body);
    let appended = Appended {
        graph,
        tree,
        body,
        nests,
        span,
    };
    appended.check_lanes()?;
    let shared = shared(&appended.nests, graph, &rows);
    // Where all results keep their coordinates nothing is counted, but iterations must not meet.
    let counts = !appended.nests.iter().all(|nest| graph.is_kept(nest.tensor));
    let spread = tree.made.iter().any(|(_, made)| made.turns().is_some());
    let together = !rows.is_empty();
    if shared.is_empty() && !appended.are_said(Assembly::TwoPhase) && !spread && !together {
        return Ok(None);
    }
    if counts {
        appended.check_counted()?;
    }
    let count = |shared| {
        counts.then(|| {
            let tree = counting::counted(tree);
            Box::new(Counted { tree, shared })
        })
    };
    // Iterations come to any rows, whoever runs them.
    if spread {
        return Ok(count(Vec::new()));
    }
    appended.check_order(together, &shared)?;
    let vars: Vec<VarId> = shared.iter().map(|l| l.var).collect();
    if !vars.is_empty() {
        appended.check_shared(&shared, &vars)?;
        appended.check_rows(&vars)?;
    }
    Ok(count(vars))
}

/// The nests that append, and where they stand.
struct Appended<'a> {
    graph: &'a Graph,
    tree: &'a Tree,
    body: &'a Inside,
    nests: Vec<&'a Nest>,
    span: Span,
}

impl Appended<'_> {
    fn refusal(&self, nest: &Nest, message: String, help: &str) -> Diagnostic {
        let result = self.graph.tensor(nest.tensor);
        let does = match result.is_appended() {
            true => "appends to",
            false => "stores",
        };
        let label = format!("{does} `{}`", result.name);
        Diagnostic::error(codes::PARALLEL_APPEND, self.span, message, label).with_help(help)
    }

    fn name(&self, var: VarId) -> &str {
        &self.graph.var(var).name
    }

    /// Whether a schedule says that some result is assembled so.
    fn are_said(&self, how: Assembly) -> bool {
        let mut tensors = self.nests.iter().map(|nest| nest.tensor);
        tensors.any(|tensor| self.graph.assembly(tensor) == Some(how))
    }

    /// The first nest whose result keeps its coordinates from call to call, of those that hold.
    fn kept(&self, holds: impl Fn(&Nest) -> bool) -> Option<&Nest> {
        let mut kept = self.nests.iter().copied();
        kept.find(|nest| self.graph.is_kept(nest.tensor) && holds(nest))
    }

    /// Lanes do not look for elements one after another, as a result that keeps its coordinates needs it. Where a
    /// result follows an operand, whose elements have places before, `parallelize` has asked.
    fn check_lanes(&self) -> Result<(), Diagnostic> {
        let is_lane = |l: &graph::Loop| unit(l) == Some(Unit::CpuVector);
        let in_lanes = |nest: &Nest| !appending(nest, self.graph, is_lane).is_empty();
        let Some(nest) = self.kept(in_lanes) else {
            return Ok(());
        };
        let name = &self.graph.tensor(nest.tensor).name;
        let message =
            format!("lanes cannot look for the elements that `{name}` has, one after another");
        Err(self.refusal(
            nest,
            message,
            "share the loop out to threads, or leave it serial",
        ))
    }

    /// What is counted stores nothing, neither what keeps its coordinates nor what other statements read.
    fn check_counted(&self) -> Result<(), Diagnostic> {
        if let Some(nest) = self.kept(|_| true) {
            let name = &self.graph.tensor(nest.tensor).name;
            return Err(self.refusal(
                nest,
                format!("`{name}` keeps its coordinates in loops that count those of others"),
                "assemble all results of these loops once, or leave the statements apart",
            ));
        }
        let is_read = |nest: &&Nest| {
            self.graph.tensor(nest.tensor).is_sparse()
                && self.tree.nests.iter().any(|other| other.reads(nest.tensor))
        };
        if let Some(nest) = self.tree.nests.iter().find(is_read) {
            let name = &self.graph.tensor(nest.tensor).name;
            return Err(self.refusal(
                nest,
                format!("`{name}` cannot be counted where the same loops read it"),
                "leave the statements apart",
            ));
        }
        Ok(())
    }

    /// Threads do not append in order, be it a row together or each iterations of its own.
    fn check_order(&self, together: bool, shared: &[&graph::Loop]) -> Result<(), Diagnostic> {
        if !self.are_said(Assembly::Append) {
            return Ok(());
        }
        if together {
            return Err(self.refusal(
                self.nests[0],
                "threads cannot append a row in order at the same time".to_string(),
                "`assemble(.., two_phase)` counts first; or leave the loops of the row serial",
            ));
        }
        let Some(first) = shared.first() else {
            return Ok(());
        };
        let name = self.name(first.var);
        Err(self.refusal(
            self.nests[0],
            format!("iterations of `{name}` cannot append in order at the same time"),
            "`assemble(.., two_phase)` counts first; or leave the loop serial",
        ))
    }

    /// The shared loops are the outermost ones, walk what levels store, and threads of a block collect no rows.
    fn check_shared(&self, shared: &[&graph::Loop], vars: &[VarId]) -> Result<(), Diagnostic> {
        let outermost = outermost(self.body, vars.len());
        let is_other = |at: &usize| outermost.get(*at).map(|l| l.var) != Some(vars[*at]);
        let (message, help) = if let Some(at) = (0..vars.len()).find(is_other) {
            (
                self.not_outermost(vars, at, outermost.first().map(|l| l.var)),
                "only the outermost loops of what appends can be shared out, the outer ones first",
            )
        } else if let Some(l) = outermost.iter().find(|l| searches(&l.over)) {
            let name = self.name(l.var);
            (
                format!("iterations of `{name}` search their coordinates one by one"),
                "share out a loop over coordinates, or over what a level stores",
            )
        } else if let Some(l) = shared.iter().find(|l| is_small(l))
            && collects(self.body)
        {
            let name = self.name(l.var);
            (
                format!("each thread of `{name}` would need memory for a row"),
                "share rows out to blocks alone: they take turns with the memory of some of them",
            )
        } else {
            return Ok(());
        };
        Err(self.refusal(self.nests[0], message, help))
    }

    /// That the shared loop number `at` stands elsewhere.
    fn not_outermost(&self, vars: &[VarId], at: usize, first: Option<VarId>) -> String {
        let name = self.name(vars[at]);
        match (at, first) {
            (0, Some(first)) => {
                let first = self.name(first);
                format!("`{name}` is not the outermost loop, which is `{first}`")
            }
            (0, None) => format!("`{name}` is not the outermost loop"),
            (_, _) => {
                let before = self.name(vars[at - 1]);
                format!("`{name}` does not stand directly inside the loop over `{before}`")
            }
        }
    }

    /// A row that is appended in order belongs to one iteration of each shared loop.
    fn check_rows(&self, vars: &[VarId]) -> Result<(), Diagnostic> {
        let graph = self.graph;
        let in_order = |nest: &&&Nest| !graph.collected.contains(&nest.tensor);
        for nest in self.nests.iter().filter(in_order) {
            let format = &graph.tensor(nest.tensor).format;
            let first = nest.lhs[format.modes[0]];
            if let Some(&var) = vars.iter().find(|&&var| !told(graph, &[first], var)) {
                let (row, name) = (self.name(first), self.name(var));
                return Err(self.refusal(
                    nest,
                    format!("iterations of `{name}` would append elements of one `{row}`"),
                    &format!("share out the loop over `{row}`, or an outer part of it"),
                ));
            }
        }
        Ok(())
    }
}

/// The loops that threads or blocks share and in which something is appended, outermost first.
fn shared<'n>(nests: &[&'n Nest], graph: &Graph, rows: &[TensorId]) -> Vec<&'n graph::Loop> {
    for nest in nests {
        let own = nest
            .producers
            .iter()
            .filter(|own| rows.contains(&own.tensor));
        let stored: Vec<VarId> = own.flat_map(|own| own.lhs.clone()).collect();
        let is_shared = |l: &graph::Loop| match unit(l) {
            Some(Unit::Gpu(unit)) if stored.contains(&l.var) => unit.level == GpuLevel::Block,
            Some(Unit::CpuThread(_) | Unit::Gpu(_)) => true,
            Some(Unit::CpuVector) | None => false,
        };
        let found = appending(nest, graph, is_shared);
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// Those loops of a nest in which something is appended, outermost first.
fn appending<'n>(
    nest: &'n Nest,
    graph: &Graph,
    of: impl Fn(&graph::Loop) -> bool,
) -> Vec<&'n graph::Loop> {
    let loops = nest.loop_vars();
    let appended = pattern::appended(graph, nest).into_iter();
    let appended: Vec<VarId> = appended
        .flat_map(|var| graph.provenance.leaves(var, &loops))
        .collect();
    let inside = |at: usize| loops[at..].iter().any(|var| appended.contains(var));
    let all = nest.loops.iter().enumerate();
    let found = all.filter(|&(at, l)| of(l) && inside(at));
    found.map(|(_, l)| l).collect()
}

fn unit(l: &graph::Loop) -> Option<Unit> {
    l.tag.parallel.as_ref().map(|parallel| parallel.unit)
}

/// Whether the loop's units are parts of a block.
fn is_small(l: &graph::Loop) -> bool {
    match unit(l) {
        Some(Unit::Gpu(unit)) => unit.level != GpuLevel::Block,
        Some(Unit::CpuThread(_) | Unit::CpuVector) | None => false,
    }
}

/// Whether rows are collected in workspaces.
fn collects(body: &Inside) -> bool {
    let found = body.visit(&mut |node, _| match node {
        Node::Workspace(workspace) => match workspace.keeps {
            Keeps::Row
            | Keeps::Whole
            | Keeps::Hashed
            | Keeps::Shared
            | Keeps::SharedWhole
            | Keeps::Put(_)
            | Keeps::Found(_) => Err(()),
            Keeps::All | Keeps::Fill | Keeps::Noted => Ok(()),
        },
        Node::Loop(_)
        | Node::Within { .. }
        | Node::Sequence(_)
        | Node::Guarded(..)
        | Node::Assign(..) => Ok(()),
    });
    found.is_err()
}

/// The rows that threads collect together.
fn collected_together(body: &Inside) -> Vec<TensorId> {
    let mut rows = Vec::new();
    body.each(&mut |node| {
        if let Node::Workspace(workspace) = node
            && matches!(
                workspace.keeps,
                Keeps::Shared | Keeps::SharedWhole | Keeps::Found(_)
            )
        {
            rows.push(workspace.temp);
        }
    });
    rows
}

/// The outermost loops of which each stands directly inside the one before, so many at most: behind workspaces that
/// are made before them.
fn outermost(body: &Inside, most: usize) -> Vec<&Loop> {
    let mut found: Vec<&Loop> = Vec::new();
    let mut next = node_of(body);
    while let Some(node) = next.filter(|_| found.len() < most) {
        next = if let Node::Loop(l) = node {
            found.push(l);
            let inside = l.over.bodies();
            let only = inside.first().filter(|_| inside.len() == 1);
            only.and_then(|body| node_of(body))
        } else if let Node::Workspace(workspace) = node
            && found.is_empty()
        {
            Some(&workspace.consumer)
        } else {
            None
        };
    }
    found
}

fn node_of(body: &Inside) -> Option<&Node> {
    match &body.then {
        Then::One(node) => Some(node),
        Then::Apart(_) => None,
    }
}

/// Whether the loop searches for coordinates instead of walking a level: then it opens none of a result either.
fn searches(over: &Over) -> bool {
    match over {
        Over::Positions { .. } | Over::Fused(_) => true,
        Over::Constant(..) | Over::Every { .. } | Over::Stored { .. } | Over::Merge(_) => false,
    }
}
