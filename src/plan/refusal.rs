//! What no plan is made for: the command that led here is refused.

use super::around::Around;
use super::{Keeps, Node, Tree};
use crate::diagnostic::codes::{lower, schedule as codes};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::graph::access::AccessId;
use crate::graph::print::access_text;
use crate::graph::simplify::Operands;
use crate::graph::{Graph, Space, Stmt, Tag};
use crate::level::ArrayRole;
use crate::program::ir::{Role, Tensor, TensorId, VarId};
use crate::units::{GpuLevel, Unit};
use std::collections::BTreeSet;

/// Refuses with the command that led here.
#[derive(Clone, Copy)]
pub(super) struct Refusal {
    pub span: Span,
}

impl Refusal {
    pub fn of(self, code: Code, message: String, label: &'static str) -> Diagnostic {
        Diagnostic::error(code, self.span, message, label)
    }

    /// Loops that merge are not shared out, and leap only through intersections.
    pub fn unless_merged(
        self,
        operands: Operands,
        (var, tag): (VarId, &Tag),
        (walked, counts, leaps): (&[AccessId], bool, bool),
    ) -> Result<(), Diagnostic> {
        let graph = operands.graph;
        if tag.parallel.is_some() && !counts {
            let split = match graph.provenance.is_inner_part(var) {
                true => "parallelize the outer part alone",
                false => "`split` the variable and parallelize the outer part",
            };
            let split = split.to_string();
            let on_gpu = tag.parallel.as_ref().is_some_and(|p| match p.unit {
                Unit::Gpu(_) => true,
                Unit::CpuThread(_) | Unit::CpuVector => false,
            });
            let in_parts = on_gpu || graph.provenance.is_inner_part(var);
            let (message, label, help) = match walked {
                // One that does not count repeats coordinates, or is merged with what is there anyhow.
                [only] if !is_unique(operands, *only) => {
                    let access = &operands.table.get(*only).access;
                    let tensor = operands.tensor(access.tensor);
                    let name = &tensor.name;
                    let is_stored = tensor.role == Role::Input;
                    let ordered = tensor.format.levels.iter().all(|level| level.ordered);
                    (
                        format!("runs of equal coordinates of `{name}` cannot be shared out"),
                        "where a run ends is known behind it",
                        match ordered {
                            // Parts that begin and end within a run are none of coordinates.
                            true if in_parts && is_stored => format!(
                                "take positions: `fuse` the variables of `{name}` down to its last level, then `pos(f, p, {})`; share out parts of `p`, by Atomics where they write the same elements",
                                access_text(graph, access)
                            ),
                            true => split,
                            false => format!("leave the loop serial, or store `{name}` in order"),
                        },
                    )
                }
                [only] => (
                    format!(
                        "a loop over all coordinates that merges `{}` into them cannot be parallel",
                        operands
                            .tensor(operands.table.get(*only).access.tensor)
                            .name
                    ),
                    "where each of its iterations finds its element is known behind the one before",
                    split,
                ),
                [] | [_, _, ..] => (
                    "a coiterated loop cannot be parallel".to_string(),
                    "several sparse levels are merged in this loop",
                    split,
                ),
            };
            let error = self.of(lower::COITERATED_PARALLEL, message, label);
            return Err(error.with_help(help));
        }
        if tag.gallop && !leaps {
            let name = &graph.var(var).name;
            return Err(self
                .of(
                    codes::MERGE,
                    format!("the operands at `{name}` are not intersected alone"),
                    "does something where one of them stores nothing, or meets repeated \
                     coordinates",
                )
                .with_help(format!("leave out `mergeby({name}, gallop)`")));
        }
        Ok(())
    }

    /// A loop over the positions of an access must do nothing where it stores nothing.
    pub fn unless_covered(
        self,
        operands: Operands,
        id: AccessId,
        body: &Stmt,
    ) -> Result<(), Diagnostic> {
        let tensor = operands.tensor(operands.table.get(id).access.tensor);
        if !tensor.is_sparse() {
            return Ok(());
        }
        let read = operands.table.in_stmt(operands.graph, body, false);
        let covered = if read.contains(&id) {
            let absent = BTreeSet::from([id]);
            let left = operands.simplify(body, &absent);
            left.is_none()
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
            .of(
                codes::POSITION_SPACE,
                format!(
                    "the stored elements of `{}` do not cover the iteration",
                    tensor.name
                ),
                "it does something where nothing is stored",
            )
            .with_help("keep the loop in coordinate space"))
    }

    /// A tile that a block shares stands outside of the loops over its threads.
    pub fn unless_placed(
        self,
        operands: Operands,
        temp: TensorId,
        around: &Around,
    ) -> Result<(), Diagnostic> {
        let spaces = &operands.graph.spaces;
        let Some((_, Space::Shared)) = spaces.iter().find(|(t, _)| *t == temp) else {
            return Ok(());
        };
        let threads = around.units.iter().any(|(_, unit)| match unit {
            Unit::Gpu(unit) => unit.level == GpuLevel::Thread,
            Unit::CpuThread(_) | Unit::CpuVector => false,
        });
        if !threads {
            return Ok(());
        }
        let name = &operands.tensor(temp).name;
        Err(self
            .of(
                codes::NO_TILE,
                format!("`{name}` stands inside a loop over threads: it cannot be shared"),
                "with this schedule",
            )
            .with_help("promote at a loop outside, or to local"))
    }

    /// Lanes of a vector share what is not declared inside of their loop: an array that is too large for
    /// that, or whose length is not known.
    pub fn unless_of_lanes(
        self,
        operands: Operands,
        temp: TensorId,
        around: &Around,
    ) -> Result<(), Diagnostic> {
        let lanes = around.units.iter().any(|(_, unit)| match unit {
            Unit::CpuVector => true,
            Unit::CpuThread(_) | Unit::Gpu(_) => false,
        });
        let tensor = operands.tensor(temp);
        if !lanes || tensor.dims.is_empty() || declared_length(operands.graph, temp).is_some() {
            return Ok(());
        }
        let name = &tensor.name;
        Err(self
            .of(
                codes::BAD_UNIT,
                format!("lanes of a vector would share the workspace `{name}`"),
                "each iteration has elements of its own in it",
            )
            .with_help("bring the loop inside those that use it, or leave it serial"))
    }

    /// Threads collect a row together only where it is stored as it is, in places that are not there yet.
    pub fn unless_copied(
        self,
        operands: Operands,
        row: TensorId,
        (copied, kept): (bool, Option<TensorId>),
    ) -> Result<(), Diagnostic> {
        let name = &operands.tensor(row).name;
        let message = match kept {
            None if copied => return Ok(()),
            None => format!("threads would collect `{name}` together, which is not just stored"),
            Some(result) => {
                let result = &operands.tensor(result).name;
                format!("threads would look up together where `{result}` has its coordinates")
            }
        };
        Err(self
            .of(
                lower::PARALLEL_APPEND,
                message,
                "its elements are made one after another",
            )
            .with_help("share out the rows alone"))
    }

    /// What a row may hold for which nothing is as long is known before the loops.
    pub fn unless_bounded(
        self,
        (graph, tensors): (&Graph, &[Tensor]),
        tree: &Tree,
    ) -> Result<(), Diagnostic> {
        let mut search = |node: &Node, _: &[Unit]| match node {
            Node::Workspace(workspace)
                if matches!(workspace.keeps, Keeps::Hashed | Keeps::Shared)
                    && graph.hashed.contains(&workspace.temp)
                    && !tree.most.contains_key(&workspace.temp) =>
            {
                let name = &tensors[workspace.temp.index()].name;
                Err(self.of(
                    codes::UNSUPPORTED_COMMAND,
                    format!("how much `{name}` may hold is not known here: not supported yet"),
                    "its elements are found by hashing",
                ))
            }
            Node::Workspace(_)
            | Node::Loop(_)
            | Node::Within { .. }
            | Node::Sequence(_)
            | Node::Guarded(..)
            | Node::Assign(..) => Ok(()),
        };
        let body = tree.body.as_ref();
        body.map_or(Ok(()), |body| body.visit(&mut search))
    }

    /// Which positions a loop counts is not known.
    pub fn of_tile(self, graph: &Graph, var: VarId) -> Diagnostic {
        let name = &graph.var(var).name;
        self.of(
            lower::UNKNOWN_COORDINATE,
            format!("which tile of `{name}` it is cannot be told here: not supported yet"),
            "in this statement",
        )
    }
}

/// What is declared inside of loops takes at most so many bytes of the stack.
const MOST_ON_STACK: i64 = 32 * 1024;

/// The length of a workspace that is declared where it is used: a constant, and short enough.
#[must_use]
pub fn declared_length(graph: &Graph, temp: TensorId) -> Option<u64> {
    let tensor = graph.tensor(temp);
    let format = &tensor.format;
    if graph.collected.contains(&temp) || format.levels.iter().any(|l| l.has(ArrayRole::Presence)) {
        return None;
    }
    let mut extents = tensor.dims.iter().map(|dim| graph.function.constant(dim));
    let length = extents.try_fold(1_i64, |n, extent| n.checked_mul(extent?))?;
    let bytes = length.checked_mul(i64::try_from(tensor.ty.compute().size()).ok()?)?;
    let fits = length > 0 && bytes <= MOST_ON_STACK;
    fits.then(|| length.unsigned_abs())
}

/// Whether no level of an operand repeats coordinates.
fn is_unique(operands: Operands, id: AccessId) -> bool {
    let tensor = operands.tensor(operands.table.get(id).access.tensor);
    tensor.format.levels.iter().all(|level| level.unique)
}
