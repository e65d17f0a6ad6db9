//! Storage formats: levels in an order (their types are in [`crate::level`]), and the built-in
//! names. Knows nothing of expressions or targets.

pub mod builtin;

pub use crate::level::Level;
use serde::Serialize;

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

/// A format in the language's own words: `{dense, compressed} order (1,0)`.
#[must_use]
pub fn describe(format: &TensorFormat) -> String {
    let levels: Vec<String> = format.levels.iter().map(|level| level.text()).collect();
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
