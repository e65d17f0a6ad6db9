//! `dense`: every coordinate of the dimension; position = parent * extent + coordinate.

use super::memory::{Elements, IndexArray, Stored, TooLarge};
use super::{ArrayRole, Growth, InKernel, Level, LevelType, Parents, Properties, Sizes};
use crate::loops::build as b;
use crate::loops::ir::{BinaryOp, Expr};
use std::ops::Range;

pub(super) struct Dense;

impl LevelType for Dense {
    fn word(&self) -> &'static str {
        "dense"
    }

    fn code(&self) -> i32 {
        0
    }

    fn c_name(&self) -> &'static str {
        "SPARSEC_DENSE"
    }

    fn roles(&self) -> &'static [ArrayRole] {
        &[]
    }

    fn properties(&self) -> Properties {
        Properties {
            full: true,
            branchless: false,
            compact: true,
            ordered: true,
        }
    }

    fn growth(&self) -> Growth {
        Growth::Placed
    }

    fn below(&self, own: &InKernel, parents: Range<Expr>) -> Range<Expr> {
        b::mul(parents.start, own.extent())..b::mul(parents.end, own.extent())
    }

    fn parent(&self, own: &InKernel, position: Expr) -> Parents<Expr> {
        Parents::Known(b::binary(BinaryOp::FloorDiv, position, own.extent()))
    }

    fn parents(&self, own: &InKernel, positions: Range<Expr>) -> Parents<Range<Expr>> {
        // Of a dimension without coordinates there are no positions, which are divided all the
        // same.
        let extent = b::max(own.extent(), b::int(1));
        let first = b::binary(BinaryOp::FloorDiv, positions.start, extent.clone());
        Parents::Known(first..b::ceil_div_by(positions.end, &extent))
    }

    fn coordinate(&self, own: &InKernel, parent: Expr, position: Expr) -> Expr {
        b::sub(position, b::mul(parent, own.extent()))
    }

    fn locate(&self, own: &InKernel, parent: Expr, coordinate: Expr) -> Option<Expr> {
        Some(b::locate(parent, own.extent(), coordinate))
    }

    fn pack(
        &self,
        _unique: bool,
        Sizes { extent, parents }: Sizes,
        elements: &mut Elements,
    ) -> Result<Stored, TooLarge> {
        let positions = parents
            .checked_mul(extent)
            .ok_or(TooLarge("the dense levels"))?;
        for (at, coordinate) in elements.at.iter_mut().zip(elements.columns[0]) {
            *at = *at * extent + coordinate;
        }
        Ok(Stored {
            arrays: Vec::new(),
            positions,
        })
    }

    fn each(
        &self,
        _arrays: &[IndexArray],
        parent: u64,
        extent: u64,
        give: &mut dyn FnMut(u64, u64),
    ) {
        for coordinate in 0..extent {
            give(coordinate, parent * extent + coordinate);
        }
    }

    fn find(&self, _arrays: &[IndexArray], position: u64, extent: u64) -> Option<(u64, u64)> {
        let coordinate = position.checked_rem(extent)?;
        Some((coordinate, position / extent))
    }

    fn check(
        &self,
        _own: Level,
        _arrays: &[IndexArray],
        Sizes { extent, parents }: Sizes,
        _name: &str,
    ) -> Result<u64, String> {
        let positions = parents.checked_mul(extent);
        positions.ok_or_else(|| "the extents overflow".to_string())
    }

    fn estimate(&self, parents: f64, extent: f64, _stored: f64) -> (f64, f64) {
        (0.0, parents * extent)
    }
}
