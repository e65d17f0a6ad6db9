//! How the elements of results are made, where their levels get coordinates, and which rows may
//! be skipped.

use super::Opened;
use super::around::Around;
use super::spread::Turns;
use crate::graph::access::{AccessId, Table};
use crate::graph::distance::can_walk;
use crate::graph::known::Known;
use crate::graph::order::appended_vars;
use crate::graph::relation::Values;
use crate::graph::simplify::Operands;
use crate::graph::terms::root_reduction;
use crate::graph::{Graph, Nest, Provenance, Stmt, pattern};
use crate::level::ArrayRole;
use crate::program::ir::{ReduceOp, Tensor, TensorId, VarId};
use std::collections::BTreeSet;

/// How the elements of a result are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// Each has a place of its own.
    Placed,
    /// They stand where this operand's do, on as many levels.
    Follows(AccessId, usize),
    /// One behind the other.
    Appended,
    /// One behind the other where their coordinates are there: each is compared with the next one.
    Kept,
    /// One behind the other as the loops come to them, sorted behind the loops: those of one place
    /// become one with this operator.
    Collected(Option<ReduceOp>),
    /// Each behind those of its row, however rows come: they are counted before (see
    /// [`super::spread`]).
    Spread(Turns),
}

impl Made {
    /// Whether loops come to the coordinates one behind the other.
    #[must_use]
    pub fn is_appended(self) -> bool {
        match self {
            Made::Placed | Made::Follows(..) => false,
            Made::Appended | Made::Kept | Made::Collected(_) | Made::Spread(_) => true,
        }
    }

    /// How elements of one row get places behind one another, where they come in any order of rows.
    #[must_use]
    pub fn turns(self) -> Option<Turns> {
        match self {
            Made::Spread(turns) => Some(turns),
            Made::Placed | Made::Follows(..) | Made::Appended | Made::Kept | Made::Collected(_) => {
                None
            }
        }
    }

    /// Whether elements get coordinates as the loops come to them.
    #[must_use]
    pub fn grows(self) -> bool {
        self.is_appended() && self != Made::Kept
    }
}

/// The results of a tree.
pub(super) struct Results<'a> {
    pub nests: &'a [&'a Nest],
    pub tensors: &'a [Tensor],
    pub made: Vec<(TensorId, Made)>,
    provenance: &'a Provenance,
}

impl<'a> Results<'a> {
    pub fn of(
        graph: &'a Graph,
        tensors: &'a [Tensor],
        nests: &'a [&'a Nest],
        table: &Table,
    ) -> Self {
        let made = nests.iter().map(|nest| {
            if !tensors[nest.tensor.index()].is_appended() {
                return (nest.tensor, Made::Placed);
            }
            if graph.collected.contains(&nest.tensor) {
                let op = root_reduction(&nest.rhs, nest.op).map(|(op, ..)| op);
                return (nest.tensor, Made::Collected(op));
            }
            let followed = pattern::source(graph, nest).and_then(|source| {
                let id = table.find(&source.access)?;
                Some(Made::Follows(id, source.levels))
            });
            let appended = match graph.is_kept(nest.tensor) {
                true => Made::Kept,
                false => Made::Appended,
            };
            (nest.tensor, followed.unwrap_or(appended))
        });
        Results {
            nests,
            tensors,
            provenance: &graph.provenance,
            made: made.collect(),
        }
    }

    /// Rows are counted, so that elements need not be sorted.
    pub fn spread(&mut self, turns: Turns) {
        for (_, made) in &mut self.made {
            *made = Made::Spread(turns);
        }
    }

    /// The results that are appended, in any order or in that of their levels, by their nests.
    pub fn appended(&self) -> impl Iterator<Item = &'a Nest> {
        let nests = self.nests.iter().zip(&self.made);
        nests
            .filter(|(_, made)| made.1.is_appended())
            .map(|(nest, _)| *nest)
    }

    /// Whether a statement appends to a result in the order of the values of `root`.
    pub fn ascend(&self, root: VarId, stmt: &Stmt) -> bool {
        let assigned = stmt.assigns().into_iter().map(|assign| assign.tensor);
        let assigned: BTreeSet<TensorId> = assigned.collect();
        self.appended().any(|nest| {
            let format = &self.tensors[nest.tensor.index()].format;
            let appended = appended_vars(format, &nest.lhs).into_iter();
            let mut levels = appended.zip(&format.levels);
            assigned.contains(&nest.tensor)
                && !self.is_collected(nest.tensor)
                && levels.any(|(var, level)| level.ordered && var == root)
        })
    }

    /// Whether the loops come to its elements in any order.
    pub fn is_collected(&self, tensor: TensorId) -> bool {
        let collected = |made: &Made| matches!(made, Made::Collected(_) | Made::Spread(_));
        self.made
            .iter()
            .any(|(t, made)| *t == tensor && collected(made))
    }

    /// Whether the nests say of a result's elements that they are there: they append them, or set
    /// bytes. A result that follows an operand has its coordinates already.
    pub fn is_noted(&self, tensor: TensorId) -> bool {
        let made = |how: fn(Made) -> bool| self.made.iter().any(|(t, m)| *t == tensor && how(*m));
        let levels = &self.tensors[tensor.index()].format.levels;
        let bytes = levels.iter().any(|l| l.has(ArrayRole::Presence));
        made(Made::is_appended) || (bytes && !made(|m| matches!(m, Made::Follows(..))))
    }

    /// The parts of a sequence, of which those that assign the same results stay together, as far
    /// as these note which elements are there.
    pub fn parts(&self, parts: &[Stmt]) -> Vec<Stmt> {
        let mut groups: Vec<(BTreeSet<TensorId>, Vec<Stmt>)> = Vec::new();
        for part in parts {
            let made = part.assigns().into_iter().map(|assign| assign.tensor);
            let own = made.filter(|&t| self.is_noted(t)).collect();
            match groups.last_mut() {
                Some((last, stmts)) if *last == own => stmts.push(part.clone()),
                Some(_) | None => groups.push((own, vec![part.clone()])),
            }
        }
        let stmts = groups.into_iter().map(|(_, mut stmts)| match stmts.len() {
            1 => stmts.remove(0),
            _ => Stmt::Sequence(stmts),
        });
        stmts.collect()
    }

    /// Whether the result's elements stand where an operand's do.
    pub fn follows(&self, tensor: TensorId) -> bool {
        let follows = |made: &Made| matches!(made, Made::Follows(..));
        self.made
            .iter()
            .any(|(t, made)| *t == tensor && follows(made))
    }

    /// The last level of an appended result that grows.
    fn last_grown(&self, tensor: TensorId) -> usize {
        let levels = &self.tensors[tensor.index()].format.levels;
        levels.iter().rposition(|l| !l.is_placed()).unwrap_or(0)
    }

    /// The levels whose coordinate `root` is, where it became known for `stmt`.
    pub fn open(
        &self,
        operands: Operands,
        root: Option<VarId>,
        stmt: &Stmt,
        around: &mut Around,
        gaps: &mut BTreeSet<TensorId>,
    ) -> Vec<Opened> {
        let mut opened = Vec::new();
        let assigns: BTreeSet<TensorId> = stmt.assigns().iter().map(|a| a.tensor).collect();
        for nest in self.appended() {
            let tensor = nest.tensor;
            let Some(&level) = around.opened.get(&tensor) else {
                continue;
            };
            if self.is_collected(tensor) {
                let mut known = Known::after(operands.graph, &around.loops);
                let complete = nest.lhs.iter().all(|&var| known.offset(var).is_some());
                if level == 0 && complete && assigns.contains(&tensor) {
                    let last = self.last_grown(tensor);
                    around.opened.insert(tensor, last + 1);
                    opened.extend((0..=last).map(|level| Opened {
                        tensor,
                        level,
                        vacuous: level == last && may_be_vacuous(operands, stmt, around),
                    }));
                }
                continue;
            }
            let Some(root) = root else { continue };
            let format = &self.tensors[tensor.index()].format;
            let last = self.last_grown(tensor);
            if level > last || nest.lhs[format.modes[level]] != root || !assigns.contains(&tensor) {
                continue;
            }
            around.opened.insert(tensor, level + 1);
            let dim = &self.tensors[tensor.index()].dims[format.modes[level]];
            if format.levels[level].is_placed() && !operands.graph.covers(root, dim) {
                self.skip_rows(root, &|_| true, gaps);
            }
            opened.push(Opened {
                tensor,
                level,
                vacuous: level == last && may_be_vacuous(operands, stmt, around),
            });
        }
        opened
    }

    /// The result of which an element was opened in which another one is appended to.
    pub fn shared(&self, opened: &[Opened], stmt: &Stmt) -> Option<TensorId> {
        let made: BTreeSet<TensorId> = stmt.assigns().iter().map(|a| a.tensor).collect();
        let element = |o: &&Opened| o.level == self.last_grown(o.tensor);
        let found = opened.iter().filter(element).find(|o| {
            let behind = self.appended().skip_while(|nest| nest.tensor != o.tensor);
            behind.skip(1).any(|other| made.contains(&other.tensor))
        });
        found.map(|opened| opened.tensor)
    }

    /// Some iterations of a loop over `root` come to no element of the results that this concerns:
    /// those with a level that has a place for each `root`, or what it is a part of (the number of a
    /// block), above one that grows, have gaps.
    pub fn skip_rows(
        &self,
        root: VarId,
        concerns: &dyn Fn(TensorId) -> bool,
        gaps: &mut BTreeSet<TensorId>,
    ) {
        let roots = self.provenance.roots(root);
        let skipped = |var: VarId| var == root || roots.contains(&var);
        for nest in self.appended().filter(|nest| concerns(nest.tensor)) {
            let format = &self.tensors[nest.tensor.index()].format;
            let mut above = 0..self.last_grown(nest.tensor);
            if above.any(|l| format.levels[l].is_placed() && skipped(nest.lhs[format.modes[l]])) {
                gaps.insert(nest.tensor);
            }
        }
    }
}

/// Whether the element may have been reached without any operand: its sums run over sparse
/// levels that may be empty, and without them nothing is stored.
fn may_be_vacuous(operands: Operands, stmt: &Stmt, around: &Around) -> bool {
    let absent = |producer: &Stmt| walked_sparse(operands, producer, around);
    let mut any = false;
    producers(stmt, &mut |producer| any |= !absent(producer).is_empty());
    any && operands.without_reductions(stmt, &absent).is_none()
}

/// The accesses of which loops of `stmt` walk a sparse level.
pub(super) fn walked_sparse(
    operands: Operands,
    stmt: &Stmt,
    around: &Around,
) -> BTreeSet<AccessId> {
    let mut loops = Vec::new();
    collect_loops(stmt, &mut loops);
    let provenance = &operands.graph.provenance;
    let walked = loops.iter().flat_map(|&v| provenance.coordinates(v));
    let walked: Vec<VarId> = walked.collect();
    let mut ids = operands.table.in_stmt(operands.graph, stmt, false);
    ids.retain(|&id| {
        let access = &operands.table.get(id).access;
        let format = &operands.tensor(access.tensor).format;
        (around.level(id)..format.order()).any(|level| {
            let (stored, subscript) = (
                format.levels[level],
                &access.subscripts[format.modes[level]],
            );
            let mut own = walked.iter();
            !stored.is_full() && own.any(|&var| can_walk(stored, subscript, var))
        })
    });
    ids.into_iter().collect()
}

fn producers(stmt: &Stmt, f: &mut impl FnMut(&Stmt)) {
    if let Stmt::Where {
        consumer, producer, ..
    } = stmt
    {
        f(producer);
        return producers(consumer, f);
    }
    for part in stmt.parts() {
        producers(part, f);
    }
}

fn collect_loops(stmt: &Stmt, vars: &mut Vec<VarId>) {
    stmt.visit(&mut |stmt| {
        if let Stmt::Forall { var, .. } = stmt {
            vars.push(*var);
        }
    });
}
