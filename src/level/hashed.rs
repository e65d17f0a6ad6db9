//! `hashed`: the coordinates of a `compressed` level in any order, and a table in which they are
//! found. Of the positions lo..hi below a parent, `table[2 * lo .. 2 * hi]` has each, plus 1, at the
//! slot of its coordinate or, where others are before it, at the next one that is free, from the last
//! on to the first; 0 where nothing is. So what is stored stands side by side, and is walked as in a
//! compressed level (Chou et al. 2018, 3.1, have coordinates and values in the slots themselves).

use super::compressed::Compressed;
use super::memory::{Elements, IndexArray, Stored, TooLarge, index};
use super::{ArrayRole, Growth, InKernel, Level, LevelType, Parents, Properties, Sizes};
use crate::loops::ir::Expr;
use std::ops::Range;

pub(super) struct Hashed;

/// The slot of a coordinate among so many: `sparsec_slot` of the runtime header.
fn slot(coordinate: u64, slots: u64) -> u64 {
    let hash = coordinate.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    match u32::try_from(slots) {
        Ok(slots) => (hash * u64::from(slots)) >> 32,
        Err(_) => hash,
    }
}

/// The slots at which the coordinate may be found, of those of the positions lo..hi.
fn slots(coordinate: u64, Range { start: lo, end: hi }: Range<u64>) -> impl Iterator<Item = u64> {
    let all = 2 * (hi - lo);
    let first = slot(coordinate, all);
    (0..all).map(move |k| 2 * lo + (first + k) % all)
}

impl LevelType for Hashed {
    fn word(&self) -> &'static str {
        "hashed"
    }

    fn code(&self) -> i32 {
        3
    }

    fn c_name(&self) -> &'static str {
        "SPARSEC_HASHED"
    }

    fn roles(&self) -> &'static [ArrayRole] {
        &[
            ArrayRole::Positions,
            ArrayRole::Coordinates,
            ArrayRole::Table,
        ]
    }

    fn properties(&self) -> Properties {
        Properties {
            ordered: false,
            ..Compressed.properties()
        }
    }

    fn growth(&self) -> Growth {
        Compressed.growth()
    }

    fn below(&self, own: &InKernel, parents: Range<Expr>) -> Range<Expr> {
        Compressed.below(own, parents)
    }

    fn parent(&self, own: &InKernel, position: Expr) -> Parents<Expr> {
        Compressed.parent(own, position)
    }

    fn parents(&self, own: &InKernel, positions: Range<Expr>) -> Parents<Range<Expr>> {
        Compressed.parents(own, positions)
    }

    fn coordinate(&self, own: &InKernel, parent: Expr, position: Expr) -> Expr {
        Compressed.coordinate(own, parent, position)
    }

    fn locate(&self, _own: &InKernel, _parent: Expr, _coordinate: Expr) -> Option<Expr> {
        None
    }

    fn pack(
        &self,
        unique: bool,
        sizes: Sizes,
        elements: &mut Elements,
    ) -> Result<Stored, TooLarge> {
        let Stored {
            mut arrays,
            positions,
        } = Compressed.pack(unique, sizes, elements)?;
        let [pos, crd] = arrays.as_slice() else {
            return Err(TooLarge("the arrays of a hashed level"));
        };
        let mut table = vec![0u64; index(2 * positions)?];
        for row in pos.windows(2) {
            for position in row[0]..row[1] {
                for slot in slots(crd[index(position)?], row[0]..row[1]) {
                    let slot = &mut table[index(slot)?];
                    if *slot == 0 {
                        *slot = position + 1;
                        break;
                    }
                }
            }
        }
        arrays.push(table);
        Ok(Stored { arrays, positions })
    }

    fn each(
        &self,
        arrays: &[IndexArray],
        parent: u64,
        extent: u64,
        give: &mut dyn FnMut(u64, u64),
    ) {
        Compressed.each(without_table(arrays), parent, extent, give);
    }

    fn find(&self, arrays: &[IndexArray], position: u64, extent: u64) -> Option<(u64, u64)> {
        Compressed.find(without_table(arrays), position, extent)
    }

    fn check(
        &self,
        own: Level,
        arrays: &[IndexArray],
        sizes: Sizes,
        name: &str,
    ) -> Result<u64, String> {
        let stored = Compressed.check(own, without_table(arrays), sizes, name)?;
        let [pos, crd, table] = arrays else {
            return Err(format!("{name} has no table"));
        };
        if table.len() as u64 != 2 * stored {
            let has = table.len();
            return Err(format!(
                "table of {name} has {has} slots, not {}",
                2 * stored
            ));
        }
        for parent in 0..sizes.parents {
            let (lo, hi) = (
                pos.get(parent).unwrap_or(0),
                pos.get(parent + 1).unwrap_or(0),
            );
            let taken = (2 * lo..2 * hi)
                .filter(|&at| table.get(at) != Some(0))
                .count() as u64;
            let found = |position: u64| {
                let at = slots(crd.get(position).unwrap_or(0), lo..hi);
                let entries = at.map(|slot| table.get(slot));
                let mut taken = entries.take_while(|entry| *entry != Some(0));
                taken.any(|entry| entry == Some(position + 1))
            };
            if taken != hi - lo || !(lo..hi).all(found) {
                return Err(format!(
                    "table of {name} does not lead to what is below {parent}"
                ));
            }
        }
        Ok(stored)
    }

    fn estimate(&self, parents: f64, extent: f64, stored: f64) -> (f64, f64) {
        let (elements, positions) = Compressed.estimate(parents, extent, stored);
        (elements + 2.0 * positions, positions)
    }
}

fn without_table(arrays: &[IndexArray]) -> &[IndexArray] {
    match arrays {
        [both @ .., _] if arrays.len() == 3 => both,
        _ => arrays,
    }
}
