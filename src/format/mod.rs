//! Storage formats: level types, each behind a table of capabilities (after Chou
//! et al. 2018), and the built-in names. Knows nothing of expressions or targets.

use serde::Serialize;

/// How one level stores its coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LevelKind {
    /// Every coordinate of the dimension: position = parent * extent + coordinate.
    Dense,
    /// `pos[parent] .. pos[parent + 1]` into `crd`.
    Compressed,
    /// One coordinate per parent position: `crd[parent]`.
    Singleton,
    Hashed,
    Bitmap,
    Range,
}

/// A level type with its properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Level {
    pub kind: LevelKind,
    /// No coordinate stands twice under one parent.
    pub unique: bool,
    /// Coordinates ascend under one parent.
    pub ordered: bool,
}

impl Level {
    pub const DENSE: Level = Level {
        kind: LevelKind::Dense,
        unique: true,
        ordered: true,
    };
    pub const COMPRESSED: Level = Level {
        kind: LevelKind::Compressed,
        unique: true,
        ordered: true,
    };
    pub const SINGLETON: Level = Level {
        kind: LevelKind::Singleton,
        unique: true,
        ordered: true,
    };

    /// The same level with repeated coordinates allowed.
    #[must_use]
    pub fn nonunique(self) -> Self {
        Level {
            unique: false,
            ..self
        }
    }

    /// Stores every coordinate of its dimension, so nothing is absent in it.
    #[must_use]
    pub fn is_full(self) -> bool {
        self.kind == LevelKind::Dense
    }
}

/// How a tensor is stored: levels outermost first; level `l` stores mode `modes[l]`.
///
/// Invariant: `modes` is a permutation of `0..levels.len()`. A scalar has no levels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct TensorFormat {
    pub levels: Vec<Level>,
    pub modes: Vec<usize>,
    /// Width in bits of coordinates and positions: 32 or 64.
    pub index_bits: u8,
}

impl TensorFormat {
    /// All levels dense, in the order of the modes (row-major).
    #[must_use]
    pub fn dense(order: usize) -> Self {
        TensorFormat {
            levels: vec![Level::DENSE; order],
            modes: (0..order).collect(),
            index_bits: 32,
        }
    }

    #[must_use]
    pub fn order(&self) -> usize {
        self.levels.len()
    }

    /// Whether every element is stored.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        self.levels.iter().all(|level| level.is_full())
    }

    /// The level that stores `mode`.
    ///
    /// # Panics
    /// When `mode` is no mode of this format.
    #[must_use]
    pub fn level_of_mode(&self, mode: usize) -> usize {
        self.modes
            .iter()
            .position(|&m| m == mode)
            .expect("modes is a permutation")
    }
}
