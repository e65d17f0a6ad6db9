//! `bitmap`: a place for every coordinate, position = parent * extent + coordinate, and a byte for
//! each that says whether an element stands there. Bytes, since bits of one byte would race
//! between threads. What stands at other positions is not said.

use super::memory::{Elements, IndexArray, LIMIT, Stored, TooLarge, index};
use super::{ArrayRole, Growth, InKernel, Level, LevelType, Parents, Properties, Sizes, dense};
use crate::loops::build as b;
use crate::loops::ir::{Expr, Literal};
use std::ops::Range;

pub(super) struct Bitmap;

impl LevelType for Bitmap {
    fn word(&self) -> &'static str {
        "bitmap"
    }

    fn code(&self) -> i32 {
        4
    }

    fn c_name(&self) -> &'static str {
        "SPARSEC_BITMAP"
    }

    fn roles(&self) -> &'static [ArrayRole] {
        &[ArrayRole::Presence]
    }

    fn properties(&self) -> Properties {
        Properties {
            full: false,
            branchless: false,
            compact: false,
            ordered: true,
        }
    }

    fn growth(&self) -> Growth {
        Growth::Placed
    }

    fn below(&self, own: &InKernel, parents: Range<Expr>) -> Range<Expr> {
        dense::Dense.below(own, parents)
    }

    fn parent(&self, own: &InKernel, position: Expr) -> Parents<Expr> {
        dense::Dense.parent(own, position)
    }

    fn parents(&self, own: &InKernel, positions: Range<Expr>) -> Parents<Range<Expr>> {
        dense::Dense.parents(own, positions)
    }

    fn coordinate(&self, own: &InKernel, parent: Expr, position: Expr) -> Expr {
        dense::Dense.coordinate(own, parent, position)
    }

    fn locate(&self, own: &InKernel, parent: Expr, coordinate: Expr) -> Option<Expr> {
        dense::Dense.locate(own, parent, coordinate)
    }

    fn present(&self, own: &InKernel, position: Expr) -> Option<Expr> {
        let byte = own.element(ArrayRole::Presence, position);
        let none = b::literal(Literal::Int(0), byte.ty);
        Some(b::ne(byte, none))
    }

    fn pack(
        &self,
        unique: bool,
        sizes: Sizes,
        elements: &mut Elements,
    ) -> Result<Stored, TooLarge> {
        let Stored { positions, .. } = dense::Dense.pack(unique, sizes, elements)?;
        if positions > LIMIT {
            return Err(TooLarge("the bytes of a bitmap level"));
        }
        let mut present = vec![0; index(positions)?];
        for &at in &*elements.at {
            present[index(at)?] = 1;
        }
        Ok(Stored {
            arrays: vec![present],
            positions,
        })
    }

    fn each(
        &self,
        arrays: &[IndexArray],
        parent: u64,
        extent: u64,
        give: &mut dyn FnMut(u64, u64),
    ) {
        let [present] = arrays else { return };
        dense::Dense.each(&[], parent, extent, &mut |coordinate, position| {
            if present.get(position).is_some_and(|byte| byte != 0) {
                give(coordinate, position);
            }
        });
    }

    fn find(&self, _arrays: &[IndexArray], position: u64, extent: u64) -> Option<(u64, u64)> {
        dense::Dense.find(&[], position, extent)
    }

    fn check(
        &self,
        own: Level,
        arrays: &[IndexArray],
        sizes: Sizes,
        name: &str,
    ) -> Result<u64, String> {
        let [present] = arrays else {
            return Err(format!("{name} has no bits"));
        };
        let positions = dense::Dense.check(own, &[], sizes, name)?;
        if present.len() as u64 != positions {
            return Err(format!(
                "bits of {name} has {} elements, not {positions}",
                present.len()
            ));
        }
        Ok(positions)
    }

    fn estimate(&self, parents: f64, extent: f64, _stored: f64) -> (f64, f64) {
        (parents * extent, parents * extent)
    }
}
