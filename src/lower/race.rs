//! Writes that iterations of a parallel loop compete for (000, 6.5 and figure 7-2).
//!
//! A scalar that accumulates becomes a reduction of the loop, whatever the strategy. An
//! array's elements are updated atomically, or in a copy for each thread which are added
//! up afterwards. Where a tile of positions is walked row by row, only its first and last
//! row can be shared with other tiles: the rows between are plain stores.

use super::{Lower, Lowerer, Scope};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::{performance, schedule as codes};
use crate::graph::race::competed;
use crate::graph::{Assign, Race, Stmt, Tag, Unit};
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, BinaryOp, Expr, Jam, LoopTag, Run, Strategy};
use crate::loops::visit;
use crate::program::ir::{ReduceOp, TensorId, VarId};
use std::collections::BTreeSet;

/// What the iterations of an enclosing loop compete for, to be written atomically.
#[derive(Clone, Debug)]
pub(crate) struct Contest {
    /// The loops whose iterations compete.
    vars: Vec<VarId>,
    results: BTreeSet<TensorId>,
    /// Threads of a segment group add up first.
    segment: Option<u32>,
    /// Workspaces of the loop's own body: no other iteration writes them.
    own: BTreeSet<TensorId>,
}

impl Scope {
    /// Notes that the workspace belongs to the iteration at hand.
    pub(super) fn own(&mut self, temp: TensorId) {
        if let Some(contest) = &mut self.race {
            contest.own.insert(temp);
        }
        self.owned.insert(temp, self.units.len());
    }
}

/// What a statement writes.
#[derive(Default)]
pub(super) struct Writes<'s> {
    pub(super) assigns: Vec<&'s Assign>,
    /// Workspaces that stand inside it.
    own: BTreeSet<TensorId>,
}

impl<'s> Writes<'s> {
    fn of(stmt: &'s Stmt) -> Self {
        let mut writes = Writes::default();
        writes.collect(stmt);
        writes
    }

    fn collect(&mut self, stmt: &'s Stmt) {
        match stmt {
            Stmt::Forall { body, .. } | Stmt::Within { body, .. } => self.collect(body),
            Stmt::Where {
                consumer,
                producer,
                temp,
                ..
            } => {
                self.own.insert(*temp);
                self.collect(producer);
                self.collect(consumer);
            }
            Stmt::Sequence(stmts) => stmts.iter().for_each(|s| self.collect(s)),
            Stmt::Assign(assign) => self.assigns.push(assign),
        }
    }
}

impl Lowerer<'_> {
    /// Prepares the loop over `var` for what its iterations compete for: statements
    /// before it go to `out`, those after it are returned.
    pub(super) fn enter_race(
        &mut self,
        var: VarId,
        tag: &Tag,
        body: &Stmt,
        scope: &mut Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> Lower<Vec<ir::Stmt>> {
        let Some(parallel) = &tag.parallel else {
            return Ok(Vec::new());
        };
        self.note_unroll(var, tag, "its iterations are shared out already");
        let (threads, gpu) = match parallel.unit {
            Unit::CpuThread(_) => (true, None),
            Unit::CpuVector => (false, None),
            Unit::Gpu(unit) => (true, Some(unit)),
        };
        if parallel.unit == Unit::CpuVector {
            scope.lanes = true;
        }
        scope.threaded |= threads;
        scope.reductions.clear();
        scope.units.push(var);
        // Blocks and threads are all there at once: what one of them writes atomically
        // must be so against the units around it too.
        let rivals = match (gpu, parallel.race) {
            (Some(_), Race::Atomics | Race::Group) => scope.units.clone(),
            (Some(_) | None, _) => vec![var],
        };
        let writes = Writes::of(body);
        let mut arrays: BTreeSet<TensorId> = BTreeSet::new();
        let mut competing: BTreeSet<VarId> = BTreeSet::new();
        for assign in &writes.assigns {
            if writes.own.contains(&assign.tensor) {
                continue;
            }
            match self.scalars.get(&assign.tensor) {
                Some(&scalar) => {
                    let op = assign.op.unwrap_or(ReduceOp::Add);
                    if !scope.reductions.contains(&(op, scalar)) {
                        scope.reductions.push((op, scalar));
                    }
                }
                None => {
                    let from = scope.owned.get(&assign.tensor).copied().unwrap_or(0);
                    let inside = rivals.iter().filter(|r| {
                        let at = scope.units.iter().position(|u| u == *r);
                        at.is_none_or(|at| at >= from)
                    });
                    let own: Vec<VarId> = inside
                        .copied()
                        .filter(|&rival| competed(self.graph, &self.nests, assign.tensor, rival))
                        .collect();
                    if !own.is_empty() {
                        arrays.insert(assign.tensor);
                    }
                    competing.extend(own);
                }
            }
        }
        let adds = |assign: &&Assign| {
            self.scalars.contains_key(&assign.tensor)
                || self.graph.workspaces.contains(&assign.tensor)
        };
        // One unit with a term is enough.
        if let Some(flag) = scope.touched
            && writes.assigns.iter().any(adds)
        {
            scope.reductions.push((ReduceOp::Or, flag));
        }
        let Some(&first) = arrays.first() else {
            return Ok(Vec::new());
        };
        let appended = |t: TensorId| {
            let in_place = matches!(
                parallel.race,
                Race::NoRaces | Race::IgnoreRaces | Race::Atomics | Race::Group
            );
            let fixed = in_place && self.patterns.iter().any(|p| p.tensor == t);
            self.tensor(t).is_appended() && !fixed
        };
        if let Some(&sparse) = arrays.iter().find(|&&t| appended(t)) {
            let code = crate::diagnostic::codes::lower::PARALLEL_APPEND;
            return Err(self.unsettled(
                code,
                "iterations would add to the same elements of",
                sparse,
            ));
        }
        match (parallel.race, threads) {
            (Race::NoRaces | Race::IgnoreRaces, _) => Ok(Vec::new()),
            (Race::Atomics | Race::Group, _) => {
                let segment = gpu
                    .and_then(|unit| unit.group)
                    .filter(|group| group.strategy == Strategy::Segment);
                scope.race = Some(Contest {
                    vars: competing.into_iter().collect(),
                    results: arrays,
                    segment: segment.map(|group| group.size),
                    own: BTreeSet::new(),
                });
                Ok(Vec::new())
            }
            (Race::Temporary | Race::ParallelReduction, true)
                if gpu.is_some() && scope.units.len() > 1 =>
            {
                let code = codes::UNSUPPORTED_COMMAND;
                Err(self.unsettled(code, "each unit would need a copy of", first))
            }
            (Race::Temporary | Race::ParallelReduction, true) => {
                Ok(self.copies(&writes, &arrays, gpu.is_some(), scope, out))
            }
            (Race::Temporary | Race::ParallelReduction, false) => {
                Err(self.unsettled(codes::BAD_UNIT, "lanes would have copies of", first))
            }
        }
    }

    /// Says when a loop is not unrolled although the schedule says so.
    pub(super) fn note_unroll(&mut self, var: VarId, tag: &Tag, why: &str) {
        if tag.unroll.is_none() {
            return;
        }
        let name = self.graph.var(var).name.clone();
        let message = format!("the loop over `{name}` is not unrolled");
        if self.remarks.iter().any(|r| r.message == message) {
            return;
        }
        self.remarks.push(
            Diagnostic::performance(performance::SERIAL, self.span, message, why)
                .with_help(format!("`split` {name} and unroll the inner part")),
        );
    }

    /// How the loop IR runs a loop.
    pub(super) fn loop_tag(&self, tag: &Tag, scope: &Scope) -> LoopTag {
        let reductions = scope.reductions.clone();
        let run = match tag.parallel.as_ref().map(|parallel| parallel.unit) {
            None => Run::Serial,
            Some(Unit::CpuThread(schedule)) => Run::Threads {
                schedule,
                reductions,
            },
            Some(Unit::CpuVector) => Run::Lanes {
                count: None,
                reductions,
            },
            Some(Unit::Gpu(unit)) => Run::Unit { unit, reductions },
        };
        LoopTag {
            run,
            unroll: tag.unroll,
            reversed: false,
            jam: Jam::Free,
            races_ignored: (tag.parallel.as_ref()).is_some_and(|p| p.race == Race::IgnoreRaces),
        }
    }

    /// `array[index] op= value`, atomically where iterations compete for it.
    pub(super) fn store(
        &mut self,
        tensor: TensorId,
        array: ArrayId,
        (index, op, value): (Expr, Option<ReduceOp>, Expr),
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let plain = ir::Stmt::Store {
            array,
            index: index.clone(),
            op,
            value: value.clone(),
            atomic: false,
        };
        let contested = scope
            .race
            .as_ref()
            .filter(|c| c.results.contains(&tensor) && !c.own.contains(&tensor));
        let Some(contest) = contested else {
            return Ok(vec![plain]);
        };
        let vars = contest.vars.clone();
        if let (Some(lanes), Some(op)) = (contest.segment, op) {
            return Ok(vec![ir::Stmt::Device(ir::Device::SegmentStore {
                array,
                index,
                op,
                value,
                lanes,
            })]);
        }
        if !ir::is_atomic(self.tensor(tensor).ty, op) && scope.lanes {
            return Err(self.unsettled(codes::BAD_UNIT, "lanes cannot take turns at", tensor));
        }
        let mut before = Vec::new();
        let value = self.unconditional("value", value, &mut before);
        let index = self.unconditional("at", index, &mut before);
        before.push(ir::Stmt::Store {
            array,
            index,
            op,
            value,
            atomic: true,
        });
        Ok(match self.row_is_whole(&vars, tensor, scope)? {
            Some(whole) => vec![ir::Stmt::If {
                cond: whole,
                then: vec![plain],
                otherwise: before,
            }],
            None => before,
        })
    }

    /// The expression under a name if it evaluates some parts only on a condition: gcc 12
    /// evaluates all of what stands in `#pragma omp atomic`, loads of absent elements too.
    fn unconditional(&mut self, name: &str, e: Expr, out: &mut Vec<ir::Stmt>) -> Expr {
        let mut conditional = false;
        visit::expr(&e, &mut |node| {
            conditional |= matches!(
                node.kind,
                ir::ExprKind::Select(..)
                    | ir::ExprKind::Binary(ir::BinaryOp::And | ir::BinaryOp::Or, ..)
            );
        });
        if !conditional {
            return e;
        }
        let var = self.fresh(name, e.ty, false);
        let named = b::var(var, e.ty);
        out.push(ir::Stmt::Let { var, init: e });
        named
    }

    /// Where the loops over `vars` share out tiles of positions and a row of them is at
    /// hand: whether the row lies wholly in the tile.
    fn row_is_whole(
        &mut self,
        vars: &[VarId],
        tensor: TensorId,
        scope: &Scope,
    ) -> Lower<Option<Expr>> {
        let graph = self.graph;
        let position = |var: &VarId| {
            let pos = graph.provenance.position_of(*var)?;
            Some((pos.parent, &pos.access))
        };
        let Some((parent, access)) = vars.first().and_then(position) else {
            return Ok(None);
        };
        let same = |var: &VarId| position(var).is_some_and(|(p, _)| p == parent);
        if !vars.iter().all(same) {
            return Ok(None);
        }
        let roots = self.graph.provenance.roots(parent);
        let Some(id) = self.table.find(access) else {
            return Ok(None);
        };
        let level = self.cursor(scope, id).level;
        let format = &self.tensor(access.tensor).format;
        let last = level + 1 == format.order()
            && roots.last().copied() == access.subscripts[format.modes[level]].as_var();
        let above = &roots[..roots.len().saturating_sub(1)];
        let stored = self
            .nests
            .iter()
            .any(|nest| nest.tensor == tensor && above.iter().all(|root| nest.lhs.contains(root)));
        let Some(clip) = scope.windows.get(&(id, level)).cloned() else {
            return Ok(None);
        };
        if !last || !stored || clip.absolute || above.is_empty() {
            return Ok(None);
        }
        let row = self.segment(id, scope)?;
        // A run that touches the end of its tile may go on in the next one.
        let (from, to) = if row.run {
            (BinaryOp::Gt, BinaryOp::Lt)
        } else {
            (BinaryOp::Ge, BinaryOp::Le)
        };
        Ok(Some(b::and(
            b::binary(from, row.begin, clip.bounds.lo),
            b::binary(to, row.end, clip.bounds.hi),
        )))
    }
}
