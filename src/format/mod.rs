//! Storage formats: level types, each behind a table of capabilities (after Chou
//! et al. 2018), and the built-in names. Knows nothing of expressions or targets.

pub mod builtin;

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

/// Which arrays a level keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelArrays {
    pub pos: bool,
    pub crd: bool,
}

impl Level {
    /// The arrays of this level in memory.
    #[must_use]
    pub fn arrays(self) -> LevelArrays {
        let (pos, crd) = match self.kind {
            LevelKind::Dense | LevelKind::Range => (false, false),
            LevelKind::Compressed => (true, true),
            LevelKind::Singleton | LevelKind::Hashed => (false, true),
            LevelKind::Bitmap => (false, false),
        };
        LevelArrays { pos, crd }
    }
}

/// A format in the language's own words: `{dense, compressed} order (1,0)`.
#[must_use]
pub fn describe(format: &TensorFormat) -> String {
    let levels: Vec<String> = format
        .levels
        .iter()
        .map(|level| {
            let kind = match level.kind {
                LevelKind::Dense => "dense",
                LevelKind::Compressed => "compressed",
                LevelKind::Singleton => "singleton",
                LevelKind::Hashed => "hashed",
                LevelKind::Bitmap => "bitmap",
                LevelKind::Range => "range",
            };
            if level.unique {
                kind.to_string()
            } else {
                format!("{kind}(nonunique)")
            }
        })
        .collect();
    let mut text = format!("{{{}}}", levels.join(", "));
    if !format.modes.iter().copied().eq(0..format.order()) {
        let modes: Vec<String> = format.modes.iter().map(ToString::to_string).collect();
        text += &format!(" order ({})", modes.join(","));
    }
    if format.index_bits != 32 {
        text += &format!(" index {}", format.index_bits);
    }
    text
}
