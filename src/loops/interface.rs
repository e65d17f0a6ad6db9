//! What a kernel takes and gives, as plain data: enough to write the signature,
//! the checked entry point, the smoke test, and to call the kernel.

use super::ir::{ArrayId, Expr, Literal, ScalarType, VarId};
use crate::format::Level;
use crate::level::{ArrayRole, Field};
use std::collections::BTreeSet;

/// The arguments of a kernel.
///
/// The raw function takes: the sizes in order, then for each argument in order its scalar, or its
/// arrays (for each level in order its own, such as `pos` and `crd`; then the values). The checked
/// function takes each argument in order: a scalar by value or a tensor by pointer; what a result
/// has before it is no argument of its own there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interface {
    /// Size variables, in the order of the program. Those that are specialised
    /// (`--size`) are constants in the kernel and checked by the entry point.
    pub sizes: Vec<SizeArg>,
    /// Parameters in order, then the results that are no parameters.
    pub args: Vec<Arg>,
    /// What the checked function refuses before it calls the raw one.
    pub requirements: Vec<Requirement>,
    /// Numbers of stored elements that device functions take, behind the sizes.
    pub counts: Vec<CountArg>,
}

impl Interface {
    /// The arguments of the checked function, each with its place among all.
    pub fn checked(&self) -> impl Iterator<Item = (usize, &Arg)> {
        let args = self.args.iter().enumerate();
        args.filter(|(_, arg)| !matches!(arg, Arg::Tensor(tensor) if tensor.before.is_some()))
    }

    /// Whether results replace what they have before the call.
    #[must_use]
    pub fn renews(&self) -> bool {
        self.checked().count() < self.args.len()
    }

    /// Whether the argument is a result that replaces what it has before the call.
    #[must_use]
    pub fn is_renewed(&self, name: &str) -> bool {
        self.args
            .iter()
            .any(|arg| matches!(arg, Arg::Tensor(tensor) if tensor.before.as_deref() == Some(name)))
    }

    /// The positions of operands: those ascend, which arrays that a program subscripts itself need
    /// not.
    #[must_use]
    pub fn ascending(&self) -> BTreeSet<ArrayId> {
        let operands = self.args.iter().filter_map(|arg| match arg {
            Arg::Tensor(tensor) => (tensor.direction == Direction::In).then_some(tensor),
            Arg::Scalar { .. } => None,
        });
        let levels = operands.flat_map(|tensor| &tensor.levels);
        levels
            .filter_map(|level| level.array(ArrayRole::Positions))
            .collect()
    }
}

/// How many positions a compressed level of an input has.
#[derive(Clone, Debug, PartialEq)]
pub struct CountArg {
    pub name: String,
    pub var: VarId,
    /// Which of the arguments, and which of its levels.
    pub arg: usize,
    pub level: usize,
}

/// A condition on sizes and scalar parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// Must not be negative, unless one of `ranges` (from, to) is empty.
    pub slack: Expr,
    pub ranges: Vec<(Expr, Expr)>,
    /// Why a call that does not meet it is refused.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SizeArg {
    pub name: String,
    pub var: VarId,
    /// Specialised: no parameter of the raw function, but a constant in it.
    pub fixed: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// A scalar that is only read, by value.
    Scalar {
        name: String,
        var: VarId,
        ty: ScalarType,
    },
    Tensor(TensorArg),
}

impl Arg {
    /// What the program calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Arg::Scalar { name, .. } => name,
            Arg::Tensor(tensor) => &tensor.name,
        }
    }
}

/// Which way a tensor's content goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    In,
    Out,
    InOut,
}

/// A tensor argument; a scalar result is a tensor of order 0.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorArg {
    pub name: String,
    pub ty: ScalarType,
    pub direction: Direction,
    /// The extent of each mode, over size variables and scalar parameters.
    pub dims: Vec<Expr>,
    /// Width in bits of coordinates and positions.
    pub index_bits: u8,
    pub fill: Literal,
    /// Outermost first.
    pub levels: Vec<LevelArrays>,
    pub values: ArrayId,
    /// Of a result whose coordinates the checked function makes: the argument that stores
    /// as much, and how many of its levels are the result's first.
    pub like: Option<(String, usize)>,
    /// Of an operand that is the content that a result has before the call: that result.
    pub before: Option<String>,
}

impl TensorArg {
    /// What the caller of the checked function calls it.
    #[must_use]
    pub fn shown(&self) -> &str {
        self.before.as_deref().unwrap_or(&self.name)
    }
}

/// What the coordinates of a level count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Those of its mode.
    Coordinates,
    /// Blocks of so many of them.
    Blocks(u32),
    /// The diagonals of its mode and this one, the lowest first.
    Diagonals(usize),
}

/// The arrays of one level, in the order of its type's roles.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelArrays {
    pub level: Level,
    pub mode: usize,
    pub counts: Counts,
    pub arrays: Vec<(ArrayRole, ArrayId)>,
}

impl LevelArrays {
    /// How many coordinates the level has, of a tensor with these extents.
    #[must_use]
    pub fn extent(&self, dims: &[Expr]) -> Expr {
        let whole = dims[self.mode].clone();
        match self.counts {
            Counts::Coordinates => whole,
            Counts::Blocks(n) => super::build::ceil_div_by(whole, &super::build::int(i64::from(n))),
            Counts::Diagonals(along) => {
                let both = super::build::add(whole, dims[along].clone());
                super::build::sub(both, super::build::int(1))
            }
        }
    }

    /// The array of a role, if the level keeps one.
    #[must_use]
    pub fn array(&self, role: ArrayRole) -> Option<ArrayId> {
        let mut arrays = self.arrays.iter();
        arrays.find(|(own, _)| *own == role).map(|(_, id)| *id)
    }

    /// The array that a field of `sparsec_level` holds, if the level keeps one there.
    #[must_use]
    pub fn in_field(&self, field: Field) -> Option<(ArrayRole, ArrayId)> {
        let mut arrays = self.arrays.iter().copied();
        arrays.find(|(role, _)| role.field() == field)
    }

    pub fn ids(&self) -> impl Iterator<Item = ArrayId> {
        self.arrays.iter().map(|(_, id)| *id)
    }
}
