//! How far into its levels each access of a nest has come.

pub use crate::graph::access::{AccessId, Table};
use crate::loops::build as b;
use crate::loops::ir::Expr;
use std::collections::BTreeMap;

/// How far an access has come: `level` levels are resolved, at position `pos`.
#[derive(Clone, Debug)]
pub struct Cursor {
    pub level: usize,
    pub pos: Expr,
    /// The end of the run of equal coordinates, after a non-unique level.
    pub end: Option<Expr>,
    /// Whether the element is there at all; known to be if `None`.
    pub present: Option<Expr>,
    /// The positions at the levels that it has come through, where they are known.
    pub passed: BTreeMap<usize, Expr>,
}

impl Cursor {
    #[must_use]
    pub fn root() -> Self {
        Cursor {
            level: 0,
            pos: b::int(0),
            end: None,
            present: None,
            passed: BTreeMap::new(),
        }
    }

    /// Resolves the next level: the position there.
    pub fn advance(&mut self, pos: Expr) {
        self.passed.insert(self.level, pos.clone());
        self.pos = pos;
        self.level += 1;
    }
}
