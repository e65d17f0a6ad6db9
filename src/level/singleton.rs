//! `singleton`: one coordinate for each parent position: `crd[parent]`.

use super::memory::{Elements, IndexArray, Stored, TooLarge, index};
use super::{ArrayRole, Growth, InKernel, Level, LevelType, Parents, Properties, Sizes};
use crate::loops::ir::Expr;
use std::ops::Range;

pub(super) struct Singleton;

impl LevelType for Singleton {
    fn word(&self) -> &'static str {
        "singleton"
    }

    fn code(&self) -> i32 {
        2
    }

    fn c_name(&self) -> &'static str {
        "SPARSEC_SINGLETON"
    }

    fn roles(&self) -> &'static [ArrayRole] {
        &[ArrayRole::Coordinates]
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

    fn coordinate(&self, own: &InKernel, _parent: Expr, position: Expr) -> Expr {
        own.load(ArrayRole::Coordinates, position)
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
        let mut crd = vec![0u64; index(parents)?];
        for (&at, &coordinate) in elements.at.iter().zip(elements.columns[0]) {
            crd[index(at)?] = coordinate;
        }
        Ok(Stored {
            arrays: vec![crd],
            positions: parents,
        })
    }

    fn each(
        &self,
        arrays: &[IndexArray],
        parent: u64,
        _extent: u64,
        give: &mut dyn FnMut(u64, u64),
    ) {
        if let Some(coordinate) = arrays.first().and_then(|crd| crd.get(parent)) {
            give(coordinate, parent);
        }
    }

    fn find(&self, arrays: &[IndexArray], position: u64, _extent: u64) -> Option<(u64, u64)> {
        Some((arrays.first()?.get(position)?, position))
    }

    fn check(
        &self,
        _own: Level,
        arrays: &[IndexArray],
        Sizes { extent, parents }: Sizes,
        name: &str,
    ) -> Result<u64, String> {
        let [crd] = arrays else {
            return Err(format!("{name} has no crd"));
        };
        if crd.len() as u64 != parents {
            return Err(format!(
                "crd of {name} has {} elements, not {parents}",
                crd.len()
            ));
        }
        crd.within(extent, name)?;
        Ok(parents)
    }

    fn estimate(&self, _parents: f64, _extent: f64, stored: f64) -> (f64, f64) {
        (stored, stored)
    }
}
