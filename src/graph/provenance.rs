//! Provenance: how the variables of loops derive from those of the program
//! (000, chapters 5 and 6).
//!
//! The relations form a DAG in which a variable has at most one producer and one
//! consumer. A variable that no relation made is a *root*; the loops of a nest
//! run over variables that no relation consumes.

use crate::program::ir::VarId;

/// One transformation of variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `parent = outer * factor + inner`, inner < factor (5.5).
    Split {
        parent: VarId,
        outer: VarId,
        inner: VarId,
        factor: i64,
    },
}

impl Relation {
    #[must_use]
    pub fn parents(&self) -> Vec<VarId> {
        match self {
            Relation::Split { parent, .. } => vec![*parent],
        }
    }

    #[must_use]
    pub fn children(&self) -> Vec<VarId> {
        match self {
            Relation::Split { outer, inner, .. } => vec![*outer, *inner],
        }
    }
}

/// The relations of one graph, in the order the commands made them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    pub relations: Vec<Relation>,
}

impl Provenance {
    /// The relation that made `var`.
    #[must_use]
    pub fn producer(&self, var: VarId) -> Option<&Relation> {
        self.relations.iter().find(|r| r.children().contains(&var))
    }

    /// The relation that replaced `var`.
    #[must_use]
    pub fn consumer(&self, var: VarId) -> Option<&Relation> {
        self.relations.iter().find(|r| r.parents().contains(&var))
    }

    /// The variables of the program that `var` derives from.
    #[must_use]
    pub fn roots(&self, var: VarId) -> Vec<VarId> {
        match self.producer(var) {
            None => vec![var],
            Some(relation) => relation
                .parents()
                .into_iter()
                .flat_map(|parent| self.roots(parent))
                .collect(),
        }
    }

    /// The loop variables that replaced `var` (itself, if nothing did).
    #[must_use]
    pub fn leaves(&self, var: VarId) -> Vec<VarId> {
        match self.consumer(var) {
            None => vec![var],
            Some(relation) => relation
                .children()
                .into_iter()
                .flat_map(|child| self.leaves(child))
                .collect(),
        }
    }
}
