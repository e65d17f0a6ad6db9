//! Level types (Chou et al. 2018): how one level of a tensor stores coordinates. A level type is
//! one file that implements [`LevelType`], and a line in [`LevelKind`]. Everything else asks for
//! arrays, properties and answers, never which type it has before it.
//!
//! Positions of a level count what it stores, over all positions of the level above (its
//! *parents*); the values stand at the positions of the last one.

mod bitmap;
mod compressed;
mod dense;
mod hashed;
pub mod kernel;
pub mod memory;
mod origin;
mod singleton;
#[cfg(test)]
mod tests;

use crate::loops::ir::{Expr, ScalarType};
pub use kernel::{InKernel, Parents};
pub use memory::{Elements, IndexArray, Stored, TooLarge};
use serde::{Serialize, Serializer};
use std::ops::Range;

/// What an array of a level holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArrayRole {
    /// Where the positions below each parent begin, and behind the last one where they end.
    Positions,
    /// The coordinate at each position.
    Coordinates,
    /// Whether there is an element at each position: a byte that is not 0.
    Presence,
    /// Twice as many slots as positions, which lead from a coordinate to its position.
    Table,
}

impl ArrayRole {
    /// What names of arrays call it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ArrayRole::Positions => "pos",
            ArrayRole::Coordinates => "crd",
            ArrayRole::Presence => "bits",
            ArrayRole::Table => "table",
        }
    }

    /// The field of `sparsec_level` that holds it.
    #[must_use]
    pub fn field(self) -> Field {
        match self {
            ArrayRole::Positions => Field::Pos,
            ArrayRole::Coordinates | ArrayRole::Presence => Field::Crd,
            ArrayRole::Table => Field::Table,
        }
    }

    /// How wide its elements are where positions and coordinates have `index_bits`.
    #[must_use]
    pub fn width(self, index_bits: u8) -> Width {
        match self {
            ArrayRole::Presence => Width::Byte,
            ArrayRole::Positions | ArrayRole::Coordinates | ArrayRole::Table => match index_bits {
                64 => Width::Wide,
                _ => Width::Narrow,
            },
        }
    }
}

/// How wide the elements of a level's array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    Byte,
    /// 32 bits.
    Narrow,
    /// 64 bits.
    Wide,
}

impl Width {
    /// Their type in kernels.
    #[must_use]
    pub fn scalar(self) -> ScalarType {
        match self {
            Width::Byte => ScalarType::U8,
            Width::Narrow => ScalarType::I32,
            Width::Wide => ScalarType::I64,
        }
    }

    /// How many bytes an element takes.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.scalar().size()
    }
}

/// The arrays that `sparsec_level` has place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Pos,
    Crd,
    Table,
}

impl Field {
    pub const ALL: [Field; 3] = [Field::Pos, Field::Crd, Field::Table];

    /// Its name in C.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Field::Pos => "pos",
            Field::Crd => "crd",
            Field::Table => "table",
        }
    }
}

/// What holds for every level of a type, whatever its coordinates are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Has every coordinate of its dimension below each parent.
    pub full: bool,
    /// Has one position below each parent.
    pub branchless: bool,
    /// Has an element at each of its positions.
    pub compact: bool,
    /// Coordinates ascend below each parent, unless a format says that they are in no order.
    pub ordered: bool,
}

/// How a level of a result grows where the loops come to its coordinates in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// It does not: each coordinate has its place below its parent.
    Placed,
    /// A counter gives positions; below each parent they end where the counter stands then.
    Counted,
    /// With the level above: what is appended there has its coordinate here.
    Joined,
}

/// The extent of the dimension that a level stores, and how many parents it has.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub extent: u64,
    pub parents: u64,
}

/// What a level type says of itself: to the language, to kernels, and to what packs data.
pub trait LevelType: Sync {
    /// What the language calls it.
    fn word(&self) -> &'static str;

    /// Its number in `sparsec_level.kind`.
    fn code(&self) -> i32;

    /// That number's name in C.
    fn c_name(&self) -> &'static str;

    /// The arrays that it keeps, in the order in which kernels take them.
    fn roles(&self) -> &'static [ArrayRole];

    fn properties(&self) -> Properties;

    fn growth(&self) -> Growth;

    // Where its positions are, in kernels.

    /// The positions below consecutive parents.
    fn below(&self, own: &InKernel, parents: Range<Expr>) -> Range<Expr>;

    /// The parent of a position that there is.
    fn parent(&self, own: &InKernel, position: Expr) -> Parents<Expr>;

    /// The parents of consecutive positions, of which there may be none.
    fn parents(&self, own: &InKernel, positions: Range<Expr>) -> Parents<Range<Expr>>;

    /// The coordinate at a position below `parent`.
    fn coordinate(&self, own: &InKernel, parent: Expr, position: Expr) -> Expr;

    /// The position of a coordinate below `parent`, if arithmetic tells it; else coordinates have
    /// to be searched.
    fn locate(&self, own: &InKernel, parent: Expr, coordinate: Expr) -> Option<Expr>;

    /// Whether there is an element at a position; `None` if there is at all of them.
    fn present(&self, _own: &InKernel, _position: Expr) -> Option<Expr> {
        None
    }

    // Its arrays, in memory.

    /// Stores the coordinates of elements that are in order, and moves them to their positions.
    ///
    /// # Errors
    /// They would take more memory than can be.
    fn pack(&self, unique: bool, sizes: Sizes, elements: &mut Elements)
    -> Result<Stored, TooLarge>;

    /// Gives coordinate and position of all that is stored below `parent`, in order. Arrays that
    /// are too short end it.
    fn each(&self, arrays: &[IndexArray], parent: u64, extent: u64, give: &mut dyn FnMut(u64, u64));

    /// The coordinate at a position, and its parent; `None` if there is none.
    fn find(&self, arrays: &[IndexArray], position: u64, extent: u64) -> Option<(u64, u64)>;

    /// Checks what the arrays promise, with what the format says of coordinates; returns the number
    /// of positions.
    ///
    /// # Errors
    /// What does not hold, with `name` for the level.
    fn check(
        &self,
        own: Level,
        arrays: &[IndexArray],
        sizes: Sizes,
        name: &str,
    ) -> Result<u64, String>;

    /// The number of elements of its arrays, which are all of one width, and of its positions below so many
    /// parents, for a dimension of `extent`, where `stored` elements of the tensor are stored in all.
    fn estimate(&self, parents: f64, extent: f64, stored: f64) -> (f64, f64);
}

/// The level types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LevelKind {
    Dense,
    Compressed,
    Singleton,
    Hashed,
    Bitmap,
    Origin,
}

impl LevelKind {
    /// Those that formats name.
    pub const ALL: [LevelKind; 5] = [
        LevelKind::Dense,
        LevelKind::Compressed,
        LevelKind::Singleton,
        LevelKind::Hashed,
        LevelKind::Bitmap,
    ];

    /// What it says of itself.
    #[must_use]
    pub fn ty(self) -> &'static dyn LevelType {
        match self {
            LevelKind::Dense => &dense::Dense,
            LevelKind::Compressed => &compressed::Compressed,
            LevelKind::Singleton => &singleton::Singleton,
            LevelKind::Hashed => &hashed::Hashed,
            LevelKind::Bitmap => &bitmap::Bitmap,
            LevelKind::Origin => &origin::Origin,
        }
    }

    /// A level of the type, of which a format says nothing.
    #[must_use]
    pub fn plain(self) -> Level {
        Level {
            ordered: self.ty().properties().ordered,
            ..Level::new(self)
        }
    }

    /// The level type that the language calls `word`.
    #[must_use]
    pub fn called(word: &str) -> Option<LevelKind> {
        Self::ALL.into_iter().find(|kind| kind.ty().word() == word)
    }
}

impl Serialize for LevelKind {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.ty().word())
    }
}

/// A level type with what a format says of its coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Level {
    pub kind: LevelKind,
    /// No coordinate stands twice under one parent.
    pub unique: bool,
    /// Coordinates ascend under one parent.
    pub ordered: bool,
}

impl Level {
    pub const DENSE: Level = Level::new(LevelKind::Dense);
    pub const COMPRESSED: Level = Level::new(LevelKind::Compressed);
    pub const SINGLETON: Level = Level::new(LevelKind::Singleton);
    pub const BITMAP: Level = Level::new(LevelKind::Bitmap);
    pub const ORIGIN: Level = Level::new(LevelKind::Origin);

    /// A level of unique coordinates in order.
    #[must_use]
    pub const fn new(kind: LevelKind) -> Self {
        Level {
            kind,
            unique: true,
            ordered: true,
        }
    }

    /// The same level with repeated coordinates allowed.
    #[must_use]
    pub fn nonunique(self) -> Self {
        Level {
            unique: false,
            ..self
        }
    }

    /// The same level with coordinates in any order.
    #[must_use]
    pub fn unordered(self) -> Self {
        Level {
            ordered: false,
            ..self
        }
    }

    /// As the language writes it: `compressed(nonunique)`.
    #[must_use]
    pub fn text(self) -> String {
        let ordered = self.ordered || !self.kind.plain().ordered;
        let said = [(self.unique, "nonunique"), (ordered, "unordered")];
        let said = said.iter().filter(|(plain, _)| !plain);
        let said: Vec<&str> = said.map(|(_, word)| *word).collect();
        match said.is_empty() {
            true => self.ty().word().to_string(),
            false => format!("{}({})", self.ty().word(), said.join(", ")),
        }
    }

    /// What its type says.
    #[must_use]
    pub fn ty(self) -> &'static dyn LevelType {
        self.kind.ty()
    }

    /// Stores every coordinate of its dimension, so nothing is absent in it.
    #[must_use]
    pub fn is_full(self) -> bool {
        self.ty().properties().full
    }

    /// Has one position below each parent: positions are those of the level above.
    #[must_use]
    pub fn is_branchless(self) -> bool {
        self.ty().properties().branchless
    }

    /// Gives its coordinates one after another. The coordinates of others are tried, all that
    /// there are.
    #[must_use]
    pub fn is_walked(self) -> bool {
        let Properties { full, compact, .. } = self.ty().properties();
        compact && !full
    }

    /// Keeps a table that is asked for the positions of coordinates which others tell.
    #[must_use]
    pub fn is_asked(self) -> bool {
        self.has(ArrayRole::Table)
    }

    /// Leads from a coordinate to its position: coordinates ascend, or a table is asked.
    #[must_use]
    pub fn is_searchable(self) -> bool {
        self.ordered || self.is_asked()
    }

    /// Of a result: has a place for each coordinate, which may be written in any order.
    #[must_use]
    pub fn is_placed(self) -> bool {
        self.ty().growth() == Growth::Placed
    }

    /// Keeps an array of this role.
    #[must_use]
    pub fn has(self, role: ArrayRole) -> bool {
        self.ty().roles().contains(&role)
    }
}
