//! What must hold of the tree that the loops of a graph make, once units and merges are said:
//! loops that merge are not shared out and leap only through intersections, writes that
//! iterations compete for can be settled, tiles stand where their memory is, loops over
//! positions miss nothing.

use super::arguments::Arguments;
use crate::diagnostic::codes::{lower, schedule as codes};
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::access::AccessId;
use crate::graph::race::competed;
use crate::graph::reached::{Reached, Tree, Visitor, visit};
use crate::graph::{Assign, Graph, Parallel, Race, Relation, Space, Stmt, Tag, Unit, pattern};
use crate::operators::is_atomic;
use crate::program::ir::{TensorId, VarId};
use crate::units::{GpuLevel, Strategy};
use std::collections::{BTreeMap, BTreeSet};

/// What must hold of the trees of the graph.
///
/// # Errors
/// The command makes a loop, a write or a tile that no code could be given to.
pub fn check(graph: &Graph, arguments: &Arguments) -> Result<(), Diagnostic> {
    let mut tagged = false;
    graph.visit_nests(&mut |nest| {
        let mut tags = nest.loops.iter().map(|l| &l.tag);
        tagged |= tags.any(|tag| tag.parallel.is_some() || tag.gallop);
    });
    let counted = |r: &Relation| r.counts().is_some();
    if !tagged && !graph.provenance.relations.iter().any(counted) {
        return Ok(());
    }
    check_fetches(graph, arguments)?;
    let span = arguments.span;
    visit(
        graph,
        &mut Check {
            graph,
            span,
            finished: false,
        },
    )
}

/// What must hold behind the last command, at `span`: a tile of a thread's own stands inside a loop
/// over threads, which may be said after the one over blocks.
///
/// # Errors
/// A tile stands elsewhere.
pub fn finish(graph: &Graph, span: Span) -> Result<(), Diagnostic> {
    if graph.spaces.is_empty() {
        return Ok(());
    }
    let mut check = Check {
        graph,
        span,
        finished: true,
    };
    visit(graph, &mut check)
}

/// Lanes of a vector do not fetch one by one: another loop must be left for each hint.
fn check_fetches(graph: &Graph, arguments: &Arguments) -> Result<(), Diagnostic> {
    let mut tags = Vec::new();
    graph.visit_nests(&mut |nest| tags.extend(nest.loops.iter().map(|l| l.tag.clone())));
    let in_lanes = |tag: &Tag| {
        let unit = tag.parallel.as_ref().map(|p| p.unit);
        unit == Some(Unit::CpuVector)
    };
    let lost = tags.iter().flat_map(|tag| &tag.fetches).find(|fetch| {
        let mut with = tags.iter().filter(|tag| tag.fetches.contains(fetch));
        with.all(in_lanes)
    });
    let Some(fetch) = lost else {
        return Ok(());
    };
    Err(Diagnostic::error(
        codes::PREFETCH,
        arguments.span,
        format!(
            "lanes of a vector cannot fetch `{}` one by one",
            graph.tensor(fetch.tensor).name
        ),
        "cannot be fetched ahead",
    )
    .with_help("name another loop; `sparsec explain E0424` says which can"))
}

struct Check<'c> {
    graph: &'c Graph,
    /// The command.
    span: Span,
    /// No unit is still to come.
    finished: bool,
}

/// Who runs iterations at a place, and what they compete for.
#[derive(Clone, Default)]
struct State {
    /// The loops around that are shared out, outermost first.
    units: Vec<(VarId, Unit)>,
    /// Workspaces, and how many of those loops they stand inside.
    owned: BTreeMap<TensorId, usize>,
    /// What is written atomically.
    contested: BTreeSet<TensorId>,
    /// Threads of a segment group add up before they write.
    segment: bool,
    lanes: bool,
}

impl Visitor for Check<'_> {
    type State = State;

    fn forall(&mut self, tree: Tree, at: &Reached, state: &mut State) -> Result<(), Diagnostic> {
        for &id in &at.stored {
            self.check_covered(tree, id, at.body)?;
        }
        if let Some(merge) = &at.merge {
            if at.tag.parallel.is_some() && !merge.counts {
                return Err(self
                    .error(
                        lower::COITERATED_PARALLEL,
                        "a coiterated loop cannot be parallel".to_string(),
                        "several sparse levels are merged in this loop",
                    )
                    .with_help("`split` the variable and parallelize the outer part"));
            }
            if at.tag.gallop && !merge.leaps {
                let name = &self.graph.var(at.var).name;
                return Err(self
                    .error(
                        codes::MERGE,
                        format!("the operands at `{name}` are not intersected alone"),
                        "does something where one of them stores nothing, or meets repeated \
                         coordinates",
                    )
                    .with_help(format!("leave out `mergeby({name}, gallop)`")));
            }
        }
        match &at.tag.parallel {
            Some(parallel) => self.share_out(tree, (at.var, parallel), at.body, state),
            None => Ok(()),
        }
    }

    fn workspace(
        &mut self,
        tree: Tree,
        temp: TensorId,
        state: &mut State,
    ) -> Result<(), Diagnostic> {
        state.contested.remove(&temp);
        state.owned.insert(temp, state.units.len());
        let Some((_, space)) = self.graph.spaces.iter().find(|(t, _)| *t == temp) else {
            return Ok(());
        };
        let units = state.units.iter().filter_map(|(_, unit)| match unit {
            Unit::Gpu(unit) => Some(unit.level),
            Unit::CpuThread(_) | Unit::CpuVector => None,
        });
        let levels: Vec<GpuLevel> = units.collect();
        let threads = levels.contains(&GpuLevel::Thread);
        let fits = match space {
            Space::Shared => !threads,
            Space::Local => threads || levels.is_empty() || !self.finished,
        };
        if fits {
            return Ok(());
        }
        let name = &tree.operands.tensor(temp).name;
        let (message, help) = match space {
            Space::Shared => (
                format!("`{name}` stands inside a loop over threads: it cannot be shared"),
                "promote at a loop outside, or to local",
            ),
            Space::Local => (
                format!("`{name}` stands outside of the loops over threads: it cannot be local"),
                "promote at a loop inside, or to shared",
            ),
        };
        Err(self
            .error(codes::NO_TILE, message, "with this schedule")
            .with_help(help))
    }

    fn assign(&mut self, tree: Tree, assign: &Assign, state: &State) -> Result<(), Diagnostic> {
        let tensor = tree.operands.tensor(assign.tensor);
        let together = state.segment && assign.op.is_some();
        if !state.lanes
            || !state.contested.contains(&assign.tensor)
            || together
            || is_atomic(tensor.ty, assign.op)
        {
            return Ok(());
        }
        Err(self
            .error(
                codes::BAD_UNIT,
                format!(
                    "lanes of a vector cannot take turns to update `{}`",
                    tensor.name
                ),
                "only sums and products of numbers are atomic without turns",
            )
            .with_help("let threads have copies (`Temporary`), or leave this loop as it is"))
    }
}

impl Check<'_> {
    fn error(
        &self,
        code: crate::diagnostic::Code,
        message: String,
        label: &'static str,
    ) -> Diagnostic {
        Diagnostic::error(code, self.span, message, label)
    }

    /// A loop over the positions of an access must do nothing where it stores nothing.
    fn check_covered(&self, tree: Tree, id: AccessId, body: &Stmt) -> Result<(), Diagnostic> {
        let operands = tree.operands;
        let tensor = operands.tensor(operands.table.get(id).access.tensor);
        if !tensor.is_sparse() {
            return Ok(());
        }
        let covered = if operands
            .table
            .in_stmt(self.graph, body, false)
            .contains(&id)
        {
            let absent = BTreeSet::from([id]);
            operands
                .simplify(body, &absent, &mut BTreeSet::new())
                .is_none()
        } else {
            // A workspace stands for it; elements that it does not store keep the fill.
            body.assigns()
                .iter()
                .filter(|made| made.op.is_none() && !operands.tensor(made.tensor).is_appended())
                .all(|made| operands.droppable.contains(&made.tensor))
        };
        if covered {
            return Ok(());
        }
        Err(self
            .error(
                codes::POSITION_SPACE,
                format!(
                    "the stored elements of `{}` do not cover the iteration",
                    tensor.name
                ),
                "it does something where nothing is stored",
            )
            .with_help("keep the loop in coordinate space"))
    }

    /// What iterations of the loop compete for, and whether the strategy can settle it.
    fn share_out(
        &self,
        tree: Tree,
        (var, parallel): (VarId, &Parallel),
        body: &Stmt,
        state: &mut State,
    ) -> Result<(), Diagnostic> {
        let gpu = match parallel.unit {
            Unit::Gpu(unit) => Some(unit),
            Unit::CpuThread(_) | Unit::CpuVector => None,
        };
        state.lanes |= parallel.unit == Unit::CpuVector;
        state.units.push((var, parallel.unit));
        let atomic = matches!(parallel.race, Race::Atomics | Race::Group);
        // Blocks and threads are all there at once.
        let rivals = if gpu.is_some() && atomic {
            0..state.units.len()
        } else {
            state.units.len() - 1..state.units.len()
        };
        let own = workspaces(body);
        let arrays: BTreeSet<TensorId> = body
            .assigns()
            .into_iter()
            .filter(|assign| {
                let from = state.owned.get(&assign.tensor).copied().unwrap_or(0);
                let mut rivals = rivals.clone().filter(|&at| at >= from);
                !own.contains(&assign.tensor)
                    && !self
                        .graph
                        .is_variable(assign.tensor, tree.operands.tensor(assign.tensor))
                    && rivals.any(|at| {
                        let nests = tree.nests.iter().copied();
                        competed(self.graph, nests, assign.tensor, state.units[at].0)
                    })
            })
            .map(|assign| assign.tensor)
            .collect();
        let Some(&first) = arrays.first() else {
            return Ok(());
        };
        let name = |tensor: TensorId| &tree.operands.tensor(tensor).name;
        let copies = matches!(parallel.race, Race::Temporary | Race::ParallelReduction);
        let appended = |tensor: TensorId| {
            let fixed = !copies && follows(self.graph, tree, tensor);
            tree.operands.tensor(tensor).is_appended() && !fixed
        };
        if let Some(&sparse) = arrays.iter().find(|&&t| appended(t)) {
            let name = name(sparse);
            return Err(self
                .error(
                    lower::PARALLEL_APPEND,
                    format!("iterations would add to the same elements of the sparse `{name}`"),
                    "its elements are made one after another",
                )
                .with_help(format!("store `{name}` dense, or bring the loop innermost")));
        }
        if copies && parallel.unit == Unit::CpuVector {
            return Err(self
                .error(
                    codes::BAD_UNIT,
                    format!(
                        "lanes of a vector would add to the same elements of `{}`",
                        name(first)
                    ),
                    "only a single sum can be reduced across lanes",
                )
                .with_help("bring the loop innermost, so that it sums into a scalar"));
        }
        if copies && gpu.is_some() && state.units.len() > 1 {
            return Err(self
                .error(
                    codes::UNSUPPORTED_COMMAND,
                    format!(
                        "each unit inside of another would need a copy of all of `{}`",
                        name(first)
                    ),
                    "a copy for each unit",
                )
                .with_help("`Atomics`, or bring the loop innermost"));
        }
        if atomic {
            state.segment = gpu
                .and_then(|unit| unit.group)
                .is_some_and(|group| group.strategy == Strategy::Segment);
            state.contested = arrays;
        }
        Ok(())
    }
}

/// Whether the result's elements stand where an operand's do.
fn follows(graph: &Graph, tree: Tree, tensor: TensorId) -> bool {
    let mut nests = tree.nests.iter().filter(|nest| nest.tensor == tensor);
    nests.any(|nest| {
        let source = pattern::source(graph, nest);
        source.is_some_and(|source| tree.operands.table.find(&source.access).is_some())
    })
}

/// The workspaces that stand inside a statement.
fn workspaces(stmt: &Stmt) -> BTreeSet<TensorId> {
    match stmt {
        Stmt::Forall { body, .. } | Stmt::Within { body, .. } => workspaces(body),
        Stmt::Where {
            consumer,
            producer,
            temp,
            ..
        } => {
            let mut all = workspaces(consumer);
            all.extend(workspaces(producer));
            all.insert(*temp);
            all
        }
        Stmt::Sequence(stmts) => stmts.iter().flat_map(workspaces).collect(),
        Stmt::Assign(_) => BTreeSet::new(),
    }
}
