//! `compressed`: below parent p the positions `pos[p] .. pos[p + 1]`, their coordinates in `crd`.

use super::memory::{Elements, IndexArray, LIMIT, Stored, TooLarge, index};
use super::{ArrayRole, Growth, InKernel, Level, LevelType, Parents, Properties, Sizes};
use crate::loops::ir::Expr;
use std::ops::Range;

pub(super) struct Compressed;

impl LevelType for Compressed {
    fn word(&self) -> &'static str {
        "compressed"
    }

    fn code(&self) -> i32 {
        1
    }

    fn c_name(&self) -> &'static str {
        "SPARSEC_COMPRESSED"
    }

    fn roles(&self) -> &'static [ArrayRole] {
        &[ArrayRole::Positions, ArrayRole::Coordinates]
    }

    fn properties(&self) -> Properties {
        Properties {
            full: false,
            branchless: false,
            compact: true,
            ordered: true,
        }
    }

    fn growth(&self) -> Growth {
        Growth::Counted
    }

    fn below(&self, own: &InKernel, parents: Range<Expr>) -> Range<Expr> {
        let at = |parent| own.load(ArrayRole::Positions, parent);
        at(parents.start)..at(parents.end)
    }

    fn parent(&self, own: &InKernel, position: Expr) -> Parents<Expr> {
        searched(own, position)
    }

    fn parents(&self, own: &InKernel, positions: Range<Expr>) -> Parents<Range<Expr>> {
        searched(own, positions)
    }

    fn coordinate(&self, own: &InKernel, _parent: Expr, position: Expr) -> Expr {
        own.load(ArrayRole::Coordinates, position)
    }

    fn locate(&self, _own: &InKernel, _parent: Expr, _coordinate: Expr) -> Option<Expr> {
        None
    }

    fn pack(
        &self,
        unique: bool,
        Sizes { parents, .. }: Sizes,
        elements: &mut Elements,
    ) -> Result<Stored, TooLarge> {
        if parents > LIMIT / 8 {
            return Err(TooLarge("the positions of a compressed level"));
        }
        let columns = elements.columns;
        let mut pos = vec![0u64; index(parents)? + 1];
        let mut crd: Vec<u64> = Vec::with_capacity(elements.at.len());
        let mut before = None;
        for (k, at) in elements.at.iter_mut().enumerate() {
            let repeated = before == Some(*at)
                && columns[0][k - 1] == columns[0][k]
                // A non-unique level keeps one entry for what it and the singletons below it store.
                && (unique || columns.iter().all(|c| c[k - 1] == c[k]));
            before = Some(*at);
            if !repeated {
                crd.push(columns[0][k]);
                pos[index(*at)? + 1] = crd.len() as u64;
            }
            *at = crd.len() as u64 - 1;
        }
        let mut last = 0;
        for p in &mut pos {
            last = last.max(*p);
            *p = last;
        }
        let positions = crd.len() as u64;
        Ok(Stored {
            arrays: vec![pos, crd],
            positions,
        })
    }

    fn each(
        &self,
        arrays: &[IndexArray],
        parent: u64,
        _extent: u64,
        give: &mut dyn FnMut(u64, u64),
    ) {
        let [pos, crd] = arrays else { return };
        let end = |parent| pos.get(parent).unwrap_or(0);
        for position in end(parent)..end(parent.saturating_add(1)) {
            if let Some(coordinate) = crd.get(position) {
                give(coordinate, position);
            }
        }
    }

    fn find(&self, arrays: &[IndexArray], position: u64, _extent: u64) -> Option<(u64, u64)> {
        let [pos, crd] = arrays else { return None };
        let coordinate = crd.get(position)?;
        let ends_behind = |parent: &u64| pos.get(parent + 1).is_some_and(|end| end > position);
        let parent = (0..pos.len() as u64).find(ends_behind)?;
        Some((coordinate, parent))
    }

    fn check(
        &self,
        own: Level,
        arrays: &[IndexArray],
        Sizes { extent, parents }: Sizes,
        name: &str,
    ) -> Result<u64, String> {
        let [pos, crd] = arrays else {
            return Err(format!("{name} has no pos and crd"));
        };
        let ends = pos.len() as u64;
        if ends != parents + 1 {
            return Err(format!(
                "pos of {name} has {ends} elements, not {}",
                parents + 1
            ));
        }
        if pos.get(0) != Some(0) {
            return Err(format!("pos of {name} does not begin with 0"));
        }
        for k in 1..ends {
            let (Some(from), Some(to)) = (pos.get(k - 1), pos.get(k)) else {
                return Err(format!("pos of {name} is negative at {k}"));
            };
            if from > to {
                return Err(format!("pos of {name} descends at {k}"));
            }
            if !own.ordered {
                if own.unique && is_repeating((from..to).map(|p| crd.get(p))) {
                    return Err(format!(
                        "crd of {name} repeats a coordinate below {}",
                        k - 1
                    ));
                }
                continue;
            }
            for p in from + 1..to {
                let (a, b) = (crd.get(p - 1), crd.get(p));
                if a > b || (a == b && own.unique) {
                    return Err(format!("crd of {name} is not ascending at {p}"));
                }
            }
        }
        let stored = pos.get(ends - 1).unwrap_or(0);
        if stored != crd.len() as u64 {
            return Err(format!(
                "crd of {name} has {} elements, pos says {stored}",
                crd.len()
            ));
        }
        crd.within(extent, name)?;
        Ok(stored)
    }

    fn estimate(&self, parents: f64, _extent: f64, stored: f64) -> (f64, f64) {
        (parents + 1.0 + stored, stored)
    }
}

/// Whether some coordinate stands twice.
fn is_repeating(coordinates: impl Iterator<Item = Option<u64>>) -> bool {
    let mut all: Vec<Option<u64>> = coordinates.collect();
    all.sort_unstable();
    all.windows(2).any(|pair| pair[0] == pair[1])
}

fn searched<T>(own: &InKernel, positions: T) -> Parents<T> {
    match own.array(ArrayRole::Positions) {
        Some(array) => Parents::Searched(array),
        None => Parents::Known(positions),
    }
}
