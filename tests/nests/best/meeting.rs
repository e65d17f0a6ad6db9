//! What operands and workspaces have in common where loops meet them.

use super::search::Below;
use super::{Factor, Item, Point, Set, Stored, only};
use std::ops::Range;
use std::rc::Rc;

/// What a loop walks or asks.
pub(super) struct Driver<'p> {
    pub item: Item,
    pub by: By<'p>,
}

pub(super) enum By<'p> {
    /// A level; the coordinates of those that it reaches are known, and searched.
    Walking(&'p Factor, &'p Stored, Range<usize>),
    /// What is there where these variables are known.
    Asking(Rc<Below>, Set),
}

/// A loop, and what drives it.
pub(super) struct Meeting<'p> {
    pub drivers: Vec<Driver<'p>>,
    pub extent: u64,
    pub var: usize,
}

/// What a loop does in one iteration of those around.
pub(super) struct Met {
    /// Iterations of the loop or of the merge.
    pub iterations: u64,
    /// Comparisons.
    pub searched: u64,
    /// Where all drivers have something.
    pub values: Vec<u16>,
}

impl Meeting<'_> {
    fn is_walked(driver: &Driver) -> bool {
        match &driver.by {
            By::Walking(_, stored, depths) => depths.start > 0 || !stored.is_full,
            By::Asking(..) => false,
        }
    }

    /// Whether the loop walks several operands.
    pub fn merges(&self) -> bool {
        self.drivers.iter().filter(|d| Self::is_walked(d)).count() > 1
    }

    pub fn at(&self, point: &Point) -> Met {
        let mut rows: Vec<Vec<u16>> = Vec::new();
        let mut walked = 0;
        for driver in &self.drivers {
            match &driver.by {
                By::Walking(factor, stored, depths) if Self::is_walked(driver) => {
                    // Those that are walked come first.
                    let row = factor.level(stored, depths.start, point).to_vec();
                    rows.insert(walked, row);
                    walked += 1;
                }
                By::Walking(..) => {}
                By::Asking(below, open) => {
                    let there = below.get(&only(point, *open)).into_iter().flatten();
                    rows.push(there.map(|point| point[self.var]).collect());
                }
            }
        }
        let iterations = match walked {
            0 => rows
                .iter()
                .map(|row| row.len() as u64)
                .min()
                .unwrap_or(self.extent),
            1 => rows[0].len() as u64,
            _ => merge_steps(&rows[..walked]),
        };
        let extent = u16::try_from(self.extent).expect("the data are small");
        let mut values = rows.pop().unwrap_or_else(|| (0..extent).collect());
        values.retain(|value| rows.iter().all(|row| row.binary_search(value).is_ok()));
        let mut searched = 0;
        values.retain(|&value| self.finds(point, value, &mut searched));
        Met {
            iterations,
            searched,
            values,
        }
    }

    /// Whether operands have the coordinates below a value that are known: each is searched.
    fn finds(&self, point: &Point, value: u16, searched: &mut u64) -> bool {
        let mut inside = *point;
        inside[self.var] = value;
        self.drivers.iter().all(|driver| match &driver.by {
            By::Walking(factor, stored, depths) => (depths.start + 1..depths.end).all(|depth| {
                let row = factor.level(stored, depth, &inside);
                *searched += u64::from(row.len().checked_ilog2().map_or(0, |log| log + 1));
                row.binary_search(&inside[factor.vars[depth]]).is_ok()
            }),
            By::Asking(..) => true,
        })
    }
}

/// Iterations of a merge of rows, which takes the least coordinate each time, until one of them ends.
fn merge_steps(rows: &[Vec<u16>]) -> u64 {
    let mut at = vec![0; rows.len()];
    let mut steps = 0;
    loop {
        let heads = rows.iter().zip(&at).map(|(row, &at)| row.get(at));
        let Some(least) = heads
            .collect::<Option<Vec<_>>>()
            .and_then(|all| all.into_iter().min())
        else {
            return steps;
        };
        for (row, at) in rows.iter().zip(&mut at) {
            *at += usize::from(row[*at] == *least);
        }
        steps += 1;
    }
}
