//! What the loops around tell.

use crate::graph::access::AccessId;
use crate::graph::known::Known;
use crate::graph::order::vars_in;
use crate::graph::relation::{self, Quantity, Values};
use crate::graph::simplify::Operands;
use crate::program::ir::{Expr, TensorId, VarId};
use crate::units::Unit;
use std::collections::{BTreeMap, BTreeSet};

/// How far an access has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// How many levels are found or walked.
    pub level: usize,
    /// Whether there may be no element.
    pub maybe: bool,
}

/// What is known at a place in the loops.
#[derive(Clone, Debug, Default)]
pub(super) struct Around {
    /// The loops, outermost first.
    pub loops: Vec<VarId>,
    /// For each access of the table.
    pub progress: Vec<Progress>,
    /// Variables whose loops walk a level of an access, and what counts its positions.
    pub walked: BTreeMap<VarId, (AccessId, VarId)>,
    /// Variables whose loops stay within a part of fused values: of a part of their coordinates.
    pub parts: BTreeSet<VarId>,
    /// How many levels of appended results have their coordinates.
    pub opened: BTreeMap<TensorId, usize>,
    /// Coordinates of tiles of positions that are found already.
    pub cuts: BTreeSet<VarId>,
    /// The loops that are shared out, outermost first.
    pub units: Vec<(VarId, Unit)>,
    /// Workspaces, and how many of those loops they stand inside.
    pub owned: BTreeMap<TensorId, usize>,
    /// What is written in turns.
    pub contested: BTreeSet<TensorId>,
    /// The loops whose iterations compete for it.
    pub rivals: Vec<VarId>,
    /// Threads of a segment group add up before they write.
    pub segment: Option<u32>,
}

/// What a loop determines.
pub(super) enum Top {
    Nothing,
    /// A variable of the program, and whether the loop visits consecutive values.
    Root(VarId, bool),
    /// A position, what counts it, and the access of which it does, with the last of the levels.
    Position(VarId, Option<(AccessId, usize)>),
    /// Fused values.
    Fused,
}

impl Around {
    /// Inside a loop over `var`, too.
    pub fn inside(&self, var: VarId) -> Around {
        let mut around = self.clone();
        around.loops.push(var);
        around
    }

    pub fn level(&self, id: AccessId) -> usize {
        self.progress[id.0].level
    }

    /// The access has come through its next level, where there is an element.
    pub fn advance(&mut self, id: AccessId) {
        let own = &mut self.progress[id.0];
        own.level += 1;
        own.maybe = false;
    }

    /// Whether the coordinate of the access's next level is known.
    pub fn next_is_known(&self, operands: Operands, id: AccessId) -> bool {
        let access = &operands.table.get(id).access;
        let modes = &operands.tensor(access.tensor).format.modes;
        let mode = modes.get(self.level(id));
        mode.is_some_and(|&mode| self.is_known(operands, &access.subscripts[mode]))
    }

    /// Whether the variables in a subscript are known, and the elements that it reads are found.
    pub fn is_known(&self, operands: Operands, e: &Expr) -> bool {
        self.finds(operands, e) && Known::after(operands.graph, &self.loops).has_value(e)
    }

    /// Whether all but one variable in a subscript is known: it stays as it is in a loop that tells this one. Another
    /// may follow from it, as where loops are skewed.
    pub fn is_known_but(&self, operands: Operands, e: &Expr, root: VarId) -> bool {
        let mut known = Known::after(operands.graph, &self.loops);
        let mut others = vars_in(e).into_iter().filter(|&var| var != root);
        self.finds(operands, e) && others.all(|var| known.tells(var))
    }

    /// Whether the elements that a subscript reads are found.
    fn finds(&self, operands: Operands, e: &Expr) -> bool {
        e.accesses().into_iter().all(|access| {
            let whole = operands.tensor(access.tensor).format.order();
            (operands.table.find(access)).is_none_or(|id| self.level(id) == whole)
        })
    }

    /// What a loop over `var` determines here.
    pub fn top(&self, operands: Operands, var: VarId) -> Top {
        let graph = operands.graph;
        let Some(climb) = Known::after(graph, &self.loops).climb(var) else {
            return Top::Nothing;
        };
        match climb.top {
            relation::Top::Root(root) => {
                let stride = climb.affine.and_then(|affine| affine.stride.as_int());
                Top::Root(root, stride == Some(1))
            }
            relation::Top::Position(pos) => Top::Position(pos, counted(operands, pos)),
            relation::Top::Fused(_) => Top::Fused,
            relation::Top::Nothing => Top::Nothing,
        }
    }
}

/// The access whose positions `pos` counts, and the level that these are of.
pub(super) fn counted(operands: Operands, pos: VarId) -> Option<(AccessId, usize)> {
    let graph = operands.graph;
    let counted = graph.provenance.position_of(pos)?;
    let id = operands.table.find(&counted.access)?;
    let levels = graph.provenance.coordinates(counted.parent).len();
    let first = graph.first_level(counted.parent, &counted.access);
    Some((id, first + levels - 1))
}
