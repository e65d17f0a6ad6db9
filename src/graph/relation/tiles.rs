//! `whole = outer * size + inner` with `inner < size`: what `split` and `divide` have in common.

use super::{Affine, Lift, Quantity, Values};
use crate::program::ir::VarId;

/// How many iterations of a part of a range may be empty: no more than a block of a GPU has
/// threads, so that numbers of units stay what the schedule says. A loop over more of them (the
/// parts that `divide` makes, the places in the parts of `split` outside of these) ends at the
/// number of values, which none of them reaches.
const FEW_PARTS: i64 = 1024;

/// A variable taken apart into tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    pub whole: VarId,
    /// The number of the tile.
    pub outer: VarId,
    /// What counts within it.
    pub inner: VarId,
    /// Whether each tile has a value, where the whole has any.
    pub inhabited: bool,
}

impl Tiles {
    /// The offset of the whole, from those of the parts.
    pub(super) fn offset_of_whole<'g, V: Values<'g> + ?Sized>(
        self,
        size: V::Quantity,
        v: &mut V,
    ) -> Option<V::Quantity> {
        // Parts that are fused again count as the whole does.
        let again = v.graph().provenance.fused(self.outer, self.inner);
        if let Some(whole) = again.and_then(|fused| v.by_parts(fused)) {
            return Some(whole);
        }
        let outer = v.by_parts(self.outer)?;
        let inner = v.by_parts(self.inner)?;
        Some(outer.mul(size).add(inner))
    }

    /// The offset of a part, from that of the whole.
    pub(super) fn offset_of_part<'g, V: Values<'g> + ?Sized>(
        self,
        part: VarId,
        size: V::Quantity,
        v: &mut V,
    ) -> Option<V::Quantity> {
        let whole = v.offset(self.whole)?;
        if part == self.outer {
            return Some(whole.floor_div(size));
        }
        let outer = match v.by_parts(self.outer) {
            Some(outer) => outer,
            None => whole.clone().floor_div(size.clone()),
        };
        Some(whole.sub(outer.mul(size)))
    }

    /// From a part, which the command gives `many` values whatever the whole has, to the whole.
    pub(super) fn lift<'g, V: Values<'g> + ?Sized>(
        self,
        part: VarId,
        Affine { base, stride }: Affine<V::Quantity>,
        many: Option<i64>,
        (size, overshoots): (impl FnOnce(&mut V) -> Option<V::Quantity>, bool),
        v: &mut V,
    ) -> Option<Lift<V::Quantity>> {
        let is_inner = part == self.inner;
        let other = if is_inner { self.outer } else { self.inner };
        let Some(rest) = v.by_parts(other) else {
            let many = many.is_some_and(|many| many > FEW_PARTS);
            let whole = if many { v.extent(self.whole) } else { None };
            let end = whole.map(|extent| extent.sub(base).ceil_div(&stride));
            return Some(Lift::Open { end });
        };
        let size = size(v)?;
        let affine = if is_inner {
            Affine {
                base: rest.mul(size).add(base),
                stride,
            }
        } else {
            Affine {
                base: base.mul(size.clone()).add(rest),
                stride: stride.mul(size),
            }
        };
        Some(Lift::Whole {
            whole: self.whole,
            affine,
            overshoots,
            left: None,
        })
    }

    /// The whole, for the part that runs over consecutive values of it.
    pub(super) fn consecutive(self, part: VarId) -> Option<VarId> {
        (part == self.inner).then_some(self.whole)
    }
}
