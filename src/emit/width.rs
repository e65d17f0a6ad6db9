//! In how many bits C computes an index. All are of 64 bits in loop IR, but what is written as a load
//! of 32 bits, a constant or the number of a block is so for C, whose sums and products wrap
//! where they do not fit. Where they may not, an operand is widened.

use super::kernel::Printer;
use crate::loops::build::{as_int, flat};
use crate::loops::interface::Arg;
use crate::loops::ir::{
    ArrayId, Axis, BinaryOp, Expr, ExprKind, Kernel, Place, ScalarType, UnaryOp,
};
use std::collections::BTreeSet;

/// The values of an expression that C computes in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Narrow {
    unsigned: bool,
    least: i128,
    most: i128,
}

/// What C makes of the two operands of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meeting {
    /// One of 64 bits, as the loop IR has it.
    Wide,
    /// One of 32 that has the value all the same.
    Narrow(Narrow),
    /// One of 32 that may not have it: an operand has to be widened.
    Wraps,
}

impl Narrow {
    const BITS: ScalarType = ScalarType::I32;

    fn signed((least, most): (i128, i128)) -> Self {
        Narrow {
            unsigned: false,
            least,
            most,
        }
    }

    /// Numbers of a unit of which there are at most so many.
    fn unit(count: i128) -> Self {
        Narrow {
            unsigned: true,
            least: 0,
            most: count,
        }
    }

    fn fits(self) -> bool {
        let ty = match self.unsigned {
            true => ScalarType::U32,
            false => Self::BITS,
        };
        ty.ends()
            .is_some_and(|(least, most)| least <= self.least && self.most <= most)
    }

    fn meet(op: BinaryOp, a: Self, b: Self) -> Meeting {
        let unsigned = a.unsigned || b.unsigned;
        let corners = |f: fn(i128, i128) -> i128| {
            let all = [
                f(a.least, b.least),
                f(a.least, b.most),
                f(a.most, b.least),
                f(a.most, b.most),
            ];
            let (least, most) = (all.iter().min(), all.iter().max());
            least.copied().zip(most.copied())
        };
        let ends = match op {
            BinaryOp::Add => corners(|x, y| x + y),
            BinaryOp::Sub => corners(|x, y| x - y),
            BinaryOp::Mul => corners(|x, y| x * y),
            // By positive constants; all others are functions of 64 bits.
            BinaryOp::Div if b.least > 0 => corners(|x, y| x / y),
            BinaryOp::Rem if b.least > 0 && b.least == b.most => {
                let below = |end: i128| end.clamp(1 - b.most, b.most - 1);
                Some((below(a.least), below(a.most).max(0)))
            }
            BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::Min | BinaryOp::Max => {
                return Meeting::Wide;
            }
            // Nothing is computed, but both are of one type.
            BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
            | BinaryOp::And
            | BinaryOp::Or => Some((a.least.min(b.least), a.most.max(b.most))),
        };
        let Some((least, most)) = ends else {
            return Meeting::Wide;
        };
        let made = Narrow {
            unsigned,
            least,
            most,
        };
        // What is below zero is a large number as an unsigned one.
        let kept = !unsigned || (a.least >= 0 && b.least >= 0);
        match kept && made.fits() {
            true => Meeting::Narrow(made),
            false => Meeting::Wraps,
        }
    }
}

/// The arrays whose elements count, from zero: positions and coordinates of arguments.
pub(super) fn counting(kernel: &Kernel) -> BTreeSet<ArrayId> {
    let args = kernel.interface.args.iter();
    let tensors = args.filter_map(|arg| match arg {
        Arg::Tensor(tensor) => Some(tensor),
        Arg::Scalar { .. } => None,
    });
    let levels = tensors.flat_map(|tensor| &tensor.levels);
    let arrays = levels.flat_map(|level| &level.arrays);
    arrays.map(|(_, array)| *array).collect()
}

impl Printer<'_> {
    /// What C makes of `a op b`.
    pub(super) fn meeting(&self, op: BinaryOp, a: &Expr, b: &Expr) -> Meeting {
        if a.ty != ScalarType::I64 {
            return Meeting::Wide;
        }
        match (self.narrow(a), self.narrow(b)) {
            (Some(a), Some(b)) => Narrow::meet(op, a, b),
            (_, _) => Meeting::Wide,
        }
    }

    /// What C makes of `c ? a : b`.
    pub(super) fn chosen(&self, a: &Expr, b: &Expr) -> Meeting {
        // They become one type as where they are compared.
        self.meeting(BinaryOp::Eq, a, b)
    }

    /// Whether C would negate in 32 bits what has no negative there.
    pub(super) fn negation_wraps(&self, a: &Expr) -> bool {
        let zero = Narrow::signed((0, 0));
        let operand = (a.ty == ScalarType::I64).then(|| self.narrow(a)).flatten();
        operand.is_some_and(|a| Narrow::meet(BinaryOp::Sub, zero, a) == Meeting::Wraps)
    }

    /// The values of an index that C computes in 32 bits; `None` where it has 64.
    fn narrow(&self, e: &Expr) -> Option<Narrow> {
        if let Some(constant) = as_int(e) {
            let made = Narrow::signed((i128::from(constant), i128::from(constant)));
            return made.fits().then_some(made);
        }
        let of = |meeting: Meeting| match meeting {
            Meeting::Narrow(made) => Some(made),
            Meeting::Wide | Meeting::Wraps => None,
        };
        match &e.kind {
            ExprKind::Place(place) => unit(*place),
            ExprKind::Cast(from) if from.ty == ScalarType::Bool => Some(Narrow::signed((0, 1))),
            ExprKind::Cast(from) if from.ty == Narrow::BITS => {
                let (least, most) = Narrow::BITS.ends()?;
                if let ExprKind::Load { array, .. } = &from.kind {
                    let counts = self.counting.contains(array);
                    return Some(Narrow::signed((if counts { 0 } else { least }, most)));
                }
                matches!(from.kind, ExprKind::Var(_)).then_some(Narrow::signed((least, most)))
            }
            ExprKind::Unary(UnaryOp::Neg, a) => {
                let zero = Narrow::signed((0, 0));
                of(Narrow::meet(BinaryOp::Sub, zero, self.narrow(a)?))
            }
            ExprKind::Binary(op, a, b) => of(self.meeting(*op, a, b)),
            ExprKind::Select(_, a, b) => of(self.chosen(a, b)),
            ExprKind::Locate(parent, extent, coordinate) => {
                self.narrow(&flat(parent, extent, coordinate))
            }
            ExprKind::Literal(_)
            | ExprKind::Var(_)
            | ExprKind::Load { .. }
            | ExprKind::Unary(UnaryOp::Not, _)
            | ExprKind::Call(..)
            | ExprKind::Cast(_) => None,
        }
    }
}

/// CUDA has numbers of blocks and threads unsigned, of 32 bits.
fn unit(place: Place) -> Option<Narrow> {
    let blocks = |axis: Axis| match axis {
        Axis::X => (1 << 31) - 1,
        Axis::Y | Axis::Z => (1 << 16) - 1,
    };
    match place {
        Place::Thread | Place::Threads => None,
        Place::BlockIndex(axis) | Place::Blocks(axis) => Some(Narrow::unit(blocks(axis))),
        Place::ThreadIndex(_) => Some(Narrow::unit(1023)),
    }
}
