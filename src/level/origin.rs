//! One coordinate below each parent, which is zero: there is no array. No format names it. The graph reads a condition
//! as an operand of such a level (`graph/points.rs`).

use super::memory::{Elements, IndexArray, Stored, TooLarge};
use super::{ArrayRole, Growth, InKernel, Level, LevelType, Parents, Properties, Sizes};
use crate::loops::build as b;
use crate::loops::ir::Expr;
use std::ops::Range;

pub(super) struct Origin;

impl LevelType for Origin {
    fn word(&self) -> &'static str {
        "origin"
    }

    fn code(&self) -> i32 {
        5
    }

    fn c_name(&self) -> &'static str {
        "SPARSEC_ORIGIN"
    }

    fn roles(&self) -> &'static [ArrayRole] {
        &[]
    }

    fn properties(&self) -> Properties {
        Properties {
            full: false,
            branchless: true,
            compact: true,
            ordered: true,
        }
    }

    fn growth(&self) -> Growth {
        Growth::Joined
    }

    fn below(&self, _own: &InKernel, parents: Range<Expr>) -> Range<Expr> {
        parents
    }

    fn parent(&self, _own: &InKernel, position: Expr) -> Parents<Expr> {
        Parents::Known(position)
    }

    fn parents(&self, _own: &InKernel, positions: Range<Expr>) -> Parents<Range<Expr>> {
        Parents::Known(positions)
    }

    fn coordinate(&self, _own: &InKernel, _parent: Expr, _position: Expr) -> Expr {
        b::int(0)
    }

    fn locate(&self, _own: &InKernel, _parent: Expr, _coordinate: Expr) -> Option<Expr> {
        None
    }

    fn pack(
        &self,
        _unique: bool,
        Sizes { parents, .. }: Sizes,
        elements: &mut Elements,
    ) -> Result<Stored, TooLarge> {
        debug_assert!(
            elements.columns[0]
                .iter()
                .all(|&coordinate| coordinate == 0)
        );
        Ok(Stored {
            arrays: Vec::new(),
            positions: parents,
        })
    }

    fn each(
        &self,
        _arrays: &[IndexArray],
        parent: u64,
        _extent: u64,
        give: &mut dyn FnMut(u64, u64),
    ) {
        give(0, parent);
    }

    fn find(&self, _arrays: &[IndexArray], position: u64, _extent: u64) -> Option<(u64, u64)> {
        Some((0, position))
    }

    fn check(
        &self,
        _own: Level,
        _arrays: &[IndexArray],
        Sizes { parents, .. }: Sizes,
        _name: &str,
    ) -> Result<u64, String> {
        Ok(parents)
    }

    fn estimate(&self, parents: f64, _extent: f64, _stored: f64) -> (f64, f64) {
        (0.0, parents)
    }
}
