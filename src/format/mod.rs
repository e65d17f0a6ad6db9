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
}

impl Part {
    /// What a level stores of a coordinate.
    #[must_use]
    pub fn of(self, coordinate: u64) -> u64 {
        match self {
            Part::Whole => coordinate,
            Part::Block(n) => coordinate / u64::from(n),
            Part::Within(n) => coordinate % u64::from(n),
        }
    }

    /// How many different ones there are of a mode of this extent; the last block may reach beyond.
    #[must_use]
    pub fn extent(self, mode: u64) -> u64 {
        match self {
            Part::Whole => mode,
            Part::Block(n) => mode.div_ceil(u64::from(n)),
            Part::Within(n) => u64::from(n),
        }
    }

    /// The coordinate, from what levels further out tell of it, and what this one stores.
    #[must_use]
    pub fn join(self, outer: u64, stored: u64) -> u64 {
        match self {
            Part::Whole => stored,
            Part::Block(n) => stored * u64::from(n),
            Part::Within(_) => outer + stored,
        }
    }
}

/// How a tensor is stored: levels outermost first; level `l` stores of mode `modes[l]` what
/// `parts[l]` says.
///
/// Invariant: a mode is stored whole by one level, or its blocks by one and the places in blocks of
/// that size by one further in. Where all are whole, `modes` is a permutation. A scalar has no levels.
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

    /// The extent of a level, of a tensor with these extents.
    #[must_use]
    pub fn extent(&self, level: usize, dims: &[u64]) -> u64 {
        self.parts[level].extent(dims[self.modes[level]])
    }

    /// Whether a mode is stored in blocks.
    #[must_use]
    pub fn has_blocks(&self) -> bool {
        self.parts.iter().any(|part| *part != Part::Whole)
    }

    /// The sizes of blocks, in the order of the levels that store places in them.
    pub fn block_sizes(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().filter_map(|part| match part {
            Part::Within(n) => Some(*n),
            Part::Whole | Part::Block(_) => None,
        })
    }

    /// The format of the tensor of blocks: its modes are those of the tensor, of which some count blocks,
    /// and then one for each level that stores places in blocks.
    #[must_use]
    pub fn of_blocks(&self) -> TensorFormat {
        let mut places = self.dimensions()..;
        let stored = self.modes.iter().zip(&self.parts);
        let modes = stored.filter_map(|(&mode, part)| match part {
            Part::Whole | Part::Block(_) => Some(mode),
            Part::Within(_) => places.next(),
        });
        TensorFormat {
            index_bits: self.index_bits,
            ..TensorFormat::whole(self.levels.clone(), modes.collect())
        }
    }

    /// Whether every element is stored.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        self.levels.iter().all(|level| level.is_full())
    }
}

/// A format in the language's own words: `{dense, compressed} order (1,0)`, and with blocks
/// `(i,j) -> (i/4: dense, j/4: compressed, i%4: dense, j%4: dense)`.
#[must_use]
pub fn describe(format: &TensorFormat) -> String {
    let levels: Vec<String> = format.levels.iter().map(|level| level.text()).collect();
    let mut text = format!("{{{}}}", levels.join(", "));
    if format.has_blocks() {
        let name = |mode: usize| match "ijklmnpq".chars().nth(mode) {
            Some(letter) => letter.to_string(),
            None => format!("i{mode}"),
        };
        let names: Vec<String> = (0..format.dimensions()).map(name).collect();
        let stored = format.modes.iter().zip(&format.parts).zip(&levels);
        let own = stored.map(|((&mode, part), level)| match part {
            Part::Whole => format!("{}: {level}", name(mode)),
            Part::Block(n) => format!("{}/{n}: {level}", name(mode)),
            Part::Within(n) => format!("{}%{n}: {level}", name(mode)),
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
