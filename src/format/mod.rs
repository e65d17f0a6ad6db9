//! Storage formats: levels in an order (their types are in [`crate::level`]), and the built-in
//! names. Knows nothing of expressions or targets.

pub mod builtin;

pub use crate::level::Level;
use serde::Serialize;

/// What a level stores of the coordinates of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Part {
    /// The coordinate itself.
    Whole,
    /// `i/n`: the block of n coordinates that it lies in.
    Block(u32),
    /// `i%n`: its place in a block of n.
    Within(u32),
    /// `slot`: a number for each of the elements that all levels but the singletons store at the same
    /// coordinates, of which the singletons further in store the rest.
    Slot,
    /// `j-i`: the diagonal, from the lowest one on, where i is this mode.
    Diagonal(usize),
}

impl Part {
    /// What a level stores of a coordinate, with those of all modes beside it; of slots, which no coordinate
    /// tells, nothing.
    #[must_use]
    pub fn of(self, coordinate: u64, all: impl Fn(usize) -> u64, dims: &[u64]) -> u64 {
        match self {
            Part::Diagonal(along) => coordinate + (dims[along] - 1 - all(along)),
            Part::Whole => coordinate,
            Part::Block(n) => coordinate / u64::from(n),
            Part::Within(n) => coordinate % u64::from(n),
            Part::Slot => 0,
        }
    }

    /// The coordinate, from what levels further out tell of it, and what this one stores.
    #[must_use]
    pub fn join(self, outer: u64, stored: u64) -> u64 {
        match self {
            Part::Whole | Part::Diagonal(_) => stored,
            Part::Block(n) => stored * u64::from(n),
            Part::Within(_) => outer + stored,
            Part::Slot => outer,
        }
    }
}

/// How a tensor is stored: levels outermost first; level `l` stores of mode `modes[l]` what
/// `parts[l]` says.
///
/// Invariant: a mode is stored whole by one level, or its blocks by one and the places in blocks of
/// that size by one further in. Where all are whole, `modes` is a permutation. A scalar has no levels.
/// Or diagonals along another mode by one level, with that mode whole and dense further in.
/// At most one level stores slots. It stands under the mode of the first singleton, and all
/// singletons stand behind it and all other levels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct TensorFormat {
    pub levels: Vec<Level>,
    pub modes: Vec<usize>,
    pub parts: Vec<Part>,
    /// Width in bits of coordinates and positions: 32 or 64.
    pub index_bits: u8,
}

impl TensorFormat {
    /// All levels dense, in the order of the modes (row-major).
    #[must_use]
    pub fn dense(order: usize) -> Self {
        TensorFormat::whole(vec![Level::DENSE; order], (0..order).collect())
    }

    /// Levels of whole coordinates: level `l` stores mode `modes[l]`.
    #[must_use]
    pub fn whole(levels: Vec<Level>, modes: Vec<usize>) -> Self {
        TensorFormat {
            parts: vec![Part::Whole; levels.len()],
            levels,
            modes,
            index_bits: 32,
        }
    }

    /// The number of levels, which is that of modes where no mode is stored in blocks.
    #[must_use]
    pub fn order(&self) -> usize {
        self.levels.len()
    }

    /// The number of modes.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.modes.iter().max().map_or(0, |most| most + 1)
    }

    /// The extent of a level, of a tensor with these extents and so many slots.
    #[must_use]
    pub fn extent(&self, level: usize, dims: &[u64], slots: u64) -> u64 {
        let own = dims[self.modes[level]];
        match self.parts[level] {
            Part::Whole => own,
            Part::Block(n) => own.div_ceil(u64::from(n)),
            Part::Within(n) => u64::from(n),
            Part::Slot => slots,
            Part::Diagonal(along) => (own + dims[along]).saturating_sub(1),
        }
    }

    /// The coordinates of modes of which levels store diagonals, from what these store and the other
    /// coordinates. `None` outside of the tensor.
    #[must_use]
    pub fn off_diagonals(&self, stored: &[u64], dims: &[u64]) -> Option<Vec<u64>> {
        let mut coordinates = stored.to_vec();
        for (&mode, part) in self.modes.iter().zip(&self.parts) {
            if let Part::Diagonal(along) = *part {
                coordinates[mode] = (stored[mode] + stored[along]).checked_sub(dims[along] - 1)?;
            }
        }
        let inside = coordinates.iter().zip(dims).all(|(c, dim)| c < dim);
        inside.then_some(coordinates)
    }

    /// Whether levels store other things than the tensor's modes: blocks, places in them, or slots.
    #[must_use]
    pub fn is_rearranged(&self) -> bool {
        self.parts.iter().any(|part| *part != Part::Whole)
    }

    /// Whether a level stores diagonals.
    #[must_use]
    pub fn has_diagonals(&self) -> bool {
        let is_diagonal = |part: &Part| matches!(part, Part::Diagonal(_));
        self.parts.iter().any(is_diagonal)
    }

    /// Whether how much it stores depends on more than how many elements there are: on the longest row, or on how
    /// many diagonals have any.
    #[must_use]
    pub fn pads(&self) -> bool {
        self.slots().is_some() || self.has_diagonals()
    }

    /// Whether a level stores diagonals along this mode, which has a range in each.
    #[must_use]
    pub fn is_range(&self, mode: usize) -> bool {
        self.parts.contains(&Part::Diagonal(mode))
    }

    /// The level of slots, if there is one.
    #[must_use]
    pub fn slots(&self) -> Option<usize> {
        self.parts.iter().position(|part| *part == Part::Slot)
    }

    /// The levels that store what no mode of the tensor counts, nor its blocks or diagonals.
    pub fn added(&self) -> impl Iterator<Item = usize> {
        let parts = self.parts.iter().enumerate();
        parts.filter_map(|(level, part)| match part {
            Part::Whole | Part::Block(_) | Part::Diagonal(_) => None,
            Part::Within(_) | Part::Slot => Some(level),
        })
    }

    /// The mode of each level as callers see it, whose tensor has an extent for each mode and then one for each
    /// of the added levels.
    #[must_use]
    pub fn seen_modes(&self) -> Vec<usize> {
        let mut modes = self.modes.clone();
        for (at, level) in self.added().enumerate() {
            modes[level] = self.dimensions() + at;
        }
        modes
    }

    /// The format of the tensor as it is stored: its modes are those of the tensor, of which some count
    /// blocks, and then one for each level that stores places in blocks or slots.
    #[must_use]
    pub fn as_stored(&self) -> TensorFormat {
        let mut added = self.dimensions()..;
        let stored = self.modes.iter().zip(&self.parts);
        let modes = stored.filter_map(|(&mode, part)| match part {
            Part::Whole | Part::Block(_) | Part::Diagonal(_) => Some(mode),
            Part::Within(_) | Part::Slot => added.next(),
        });
        TensorFormat {
            index_bits: self.index_bits,
            ..TensorFormat::whole(self.levels.clone(), modes.collect())
        }
    }

    /// Whether every element is stored, in the order of the coordinates.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let in_order = self.modes.iter().copied().eq(0..self.order());
        self.is_dense() && !self.is_rearranged() && in_order
    }

    /// Whether every element is stored.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        self.levels.iter().all(|level| level.is_full())
    }
}

/// A format in the language's own words: `{dense, compressed} order (1,0)`, and with blocks
/// `(i,j) -> (i/4: dense, j/4: compressed, i%4: dense, j%4: dense)`, or slots.
#[must_use]
pub fn describe(format: &TensorFormat) -> String {
    let levels: Vec<String> = format.levels.iter().map(|level| level.text()).collect();
    let mut text = format!("{{{}}}", levels.join(", "));
    if format.is_rearranged() {
        let name = |mode: usize| match "ijklmnpq".chars().nth(mode) {
            Some(letter) => letter.to_string(),
            None => format!("i{mode}"),
        };
        let names: Vec<String> = (0..format.dimensions()).map(name).collect();
        let stored = format.modes.iter().zip(&format.parts).zip(&levels);
        let own = stored.map(|((&mode, part), level)| match part {
            Part::Whole if format.is_range(mode) => format!("{}: range", name(mode)),
            Part::Whole => format!("{}: {level}", name(mode)),
            Part::Block(n) => format!("{}/{n}: {level}", name(mode)),
            Part::Within(n) => format!("{}%{n}: {level}", name(mode)),
            Part::Slot => format!("slot: {level}"),
            Part::Diagonal(along) => format!("{}-{}: {level}", name(mode), name(*along)),
        });
        let own: Vec<String> = own.collect();
        text = format!("({}) -> ({})", names.join(","), own.join(", "));
    } else if !format.modes.iter().copied().eq(0..format.order()) {
        let modes: Vec<String> = format.modes.iter().map(ToString::to_string).collect();
        text += &format!(" order ({})", modes.join(","));
    }
    if format.index_bits != 32 {
        text += &format!(" index {}", format.index_bits);
    }
    text
}
