//! Workspaces of the walk: where they are set up, and how they know their elements.

use super::Walker;
use crate::diagnostic::Diagnostic;
use crate::graph::Stmt;
use crate::level::ArrayRole;
use crate::plan::around::Around;
use crate::plan::coverage::{Coverage, Covers};
use crate::plan::shared::{is_copied, is_shared};
use crate::plan::{Keeps, Node, Workspace, full, kept};
use crate::program::ir::{ReduceOp, TensorId};
use crate::units::Unit;

impl Walker<'_> {
    pub(super) fn workspace(
        &mut self,
        (temp, init): (TensorId, Option<ReduceOp>),
        (producer, consumer): (&Stmt, &Stmt),
        around: &Around,
    ) -> Result<Node, Diagnostic> {
        let mut inner = around.clone();
        inner.contested.remove(&temp);
        inner.owned.insert(temp, inner.units.len());
        self.refusal.unless_placed(self.operands, temp, around)?;
        self.refusal.unless_of_lanes(self.operands, temp, around)?;
        let mut apart = inner.clone();
        if init.is_none() {
            // A sparse result is appended to by the consumer alone.
            apart.opened.clear();
        }
        self.filled.remove(&temp);
        let mut producer = self.stmt(producer, &apart)?;
        let copied = self.filled.remove(&temp);
        let consumer = self.stmt(consumer, &inner)?;
        let keeps = if self.graph().collected.contains(&temp) {
            self.row(temp, &mut producer, &consumer)?
        } else {
            let covered = Covers::of(self.operands, self.results, temp).node(&producer);
            let levels = &self.operands.tensor(temp).format.levels;
            let notes = levels.iter().any(|level| level.has(ArrayRole::Presence));
            if notes {
                Keeps::Noted
            } else if init.is_none() && (copied || covered != Some(Coverage::Whole)) {
                Keeps::Fill
            } else {
                Keeps::All
            }
        };
        let threads = |unit: &Unit| match unit {
            Unit::CpuThread(_) | Unit::Gpu(_) => true,
            Unit::CpuVector => false,
        };
        Ok(Node::Workspace(Box::new(Workspace {
            temp,
            init,
            keeps,
            threaded: around.units.iter().any(|(_, unit)| threads(unit)),
            producer,
            consumer,
        })))
    }

    /// How a row that is collected is stored; where all of its elements come or none, its producer says which loops
    /// complete it.
    fn row(
        &self,
        temp: TensorId,
        producer: &mut Node,
        consumer: &Node,
    ) -> Result<Keeps, Diagnostic> {
        let of = (self.operands, self.results);
        let shared = is_shared(producer, temp);
        let result = kept::row_of(self.operands, self.results, temp, (producer, consumer));
        // Where it is in no order, nobody finds a place in it but by an array of them.
        let ordered = |result: &TensorId| {
            let levels = &self.operands.tensor(*result).format.levels;
            levels.last().is_some_and(|level| level.ordered)
        };
        if let Some(result) = result.filter(|result| shared && ordered(result)) {
            return Ok(Keeps::Found(result));
        }
        if shared {
            let copied = is_copied(self.operands.table, temp, consumer);
            let kept = kept::stored_in(self.results, consumer);
            self.refusal
                .unless_copied(self.operands, temp, (copied, kept))?;
        }
        if self.graph().hashed.contains(&temp) {
            return Ok(if shared { Keeps::Shared } else { Keeps::Hashed });
        }
        if let Some(result) = result {
            return Ok(Keeps::Put(result));
        }
        let completed = full::completed(of, temp, producer);
        if let Some(completed) = completed.filter(|_| !self.parts.contains(&temp)) {
            *producer = completed;
            return Ok(if shared {
                Keeps::SharedWhole
            } else {
                Keeps::Whole
            });
        }
        Ok(if shared { Keeps::Shared } else { Keeps::Row })
    }
}
