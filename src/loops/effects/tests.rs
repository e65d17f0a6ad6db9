//! `meet` against brute force: never "apart" where two units come to one element.

use super::*;
use crate::loops::build as b;
use crate::loops::ir::ScalarType;

/// What a digit of a subscript is: the number of a thread along x or y, of a block, or of a
/// serial iteration.
const KINDS: [usize; 4] = [THREAD, ROW, BLOCK, SERIAL];
const THREAD: usize = 0;
const ROW: usize = 1;
const BLOCK: usize = 2;
const SERIAL: usize = 3;

/// Rows of threads in a block, and threads in each.
const COUNT: i64 = 4;

fn var(kind: usize, side: u32) -> VarId {
    VarId(u32::try_from(kind).expect("small") + 10 * side)
}

/// A loop over a kind of units of so many.
fn around(kind: usize, side: u32, extent: i64) -> Around {
    let unit = |level, axis| {
        Some(GpuUnit {
            level,
            axis,
            group: None,
        })
    };
    Around {
        var: var(kind, side),
        lo: b::int(0),
        step: 1,
        most: Some(extent),
        unit: match kind {
            THREAD => unit(GpuLevel::Thread, Axis::X),
            ROW => unit(GpuLevel::Thread, Axis::Y),
            BLOCK => unit(GpuLevel::Block, Axis::X),
            _ => None,
        },
        tells: true,
    }
}

/// An access by digits: the loops it stands in, and their extents (0: not in that loop).
struct Case {
    touch: Touch,
    kinds: Vec<usize>,
    extents: [i64; 4],
}

fn case(side: u32, kinds: &[usize], digits: &[i64], write: bool, who: &Who) -> Case {
    // One block, one loop over iterations is around both accesses.
    let side_of = |kind: usize| match who {
        Who::Thread(_) if kind == BLOCK => 0,
        Who::Iteration(_) if kind == SERIAL => 0,
        Who::Thread(_) | Who::Block | Who::Iteration(_) => side,
    };
    // Only loops over blocks and threads along x are always there.
    let mut extents = [COUNT, 0, 2, 2];
    for (&kind, &extent) in kinds.iter().zip(digits) {
        let known = kinds.iter().zip(digits).filter(|(k, _)| **k == kind);
        extents[kind] = known.map(|(_, e)| *e).min().unwrap_or(extent);
    }
    let value = |kind: usize| b::var(var(kind, side_of(kind)), ScalarType::I64);
    let mut index = b::int(0);
    for (&kind, &extent) in kinds.iter().zip(digits) {
        index = b::locate(index, b::int(extent), value(kind));
    }
    let loops = [BLOCK, THREAD, ROW, SERIAL]
        .into_iter()
        .filter(|&kind| extents[kind] > 0 && !(kind == BLOCK && matches!(who, Who::Thread(_))))
        .map(|kind| around(kind, side_of(kind), extents[kind]));
    Case {
        touch: Touch {
            array: ArrayId(0),
            index: Some(index),
            write,
            atomic: false,
            around: loops.collect(),
            home: 0,
        },
        kinds: kinds.to_vec(),
        extents,
    }
}

impl Case {
    /// Calls `f` with each element and the values of all kinds that come to it.
    fn elements(&self, digits: &[i64], f: &mut impl FnMut(usize, [i64; 4])) {
        // Without a loop one row stores, all load.
        let rows = match (self.extents[ROW], self.touch.write) {
            (0, true) => 1,
            (0, false) => COUNT,
            (rows, _) => rows,
        };
        for thread in 0..self.extents[THREAD] {
            for row in 0..rows {
                for block in 0..self.extents[BLOCK] {
                    for serial in 0..self.extents[SERIAL] {
                        let at = [thread, row, block, serial];
                        let element = self.kinds.iter().zip(digits);
                        let element = element.fold(0, |sum, (&k, &e)| sum * e + at[k]);
                        f(usize::try_from(element).expect("positive"), at);
                    }
                }
            }
        }
    }
}

/// For each element and shared value, the units that come to it, as bits.
fn units(case: &Case, digits: &[i64], who: &Who) -> Vec<u32> {
    let mut found = vec![0; 64 * 4];
    case.elements(digits, &mut |element, [thread, row, block, serial]| {
        let (unit, shared) = match who {
            // Both accesses are of the same block.
            Who::Thread(_) => (4 * row + thread, block),
            Who::Block => (block, 0),
            Who::Iteration(_) => (serial, 0),
        };
        found[4 * element + usize::try_from(shared).expect("positive")] |= 1 << unit;
    });
    found
}

fn truly_meet(a: &[u32], c: &[u32]) -> bool {
    a.iter()
        .zip(c)
        .any(|(x, y)| (*x != 0 && *y != 0) && (x != y || x.count_ones() > 1))
}

/// All arrays of up to three digits with extents up to 4, all assignments of the digits of two
/// accesses to threads, rows of threads, blocks and iterations.
#[test]
fn nothing_is_apart_that_meets() {
    let threads = Threads {
        along: [4, 4, 1],
        warps: None,
    };
    let facts = Facts {
        same: &|v| v == var(BLOCK, 0),
        fixed: &|_| false,
        together: 0,
    };
    let (mut apart, mut unsure) = (0, 0);
    for n in 1..=3u32 {
        for shape in 0..4usize.pow(n) {
            let digits: Vec<i64> = (0..n)
                .map(|d| 1 + i64::try_from(shape / 4usize.pow(d) % 4).expect("small"))
                .collect();
            let kinds = |code: usize| -> Vec<usize> {
                (0..n).map(|d| KINDS[code / 4usize.pow(d) % 4]).collect()
            };
            for first in 0..4usize.pow(n) {
                for second in 0..4usize.pow(n) {
                    for who in [
                        Who::Thread(threads),
                        Who::Block,
                        Who::Iteration(var(SERIAL, 0)),
                    ] {
                        let a = case(0, &kinds(first), &digits, true, &who);
                        let write = (first + second) % 2 == 0;
                        let c = case(1, &kinds(second), &digits, write, &who);
                        let meets =
                            truly_meet(&units(&a, &digits, &who), &units(&c, &digits, &who));
                        let said = meet(&a.touch, &c.touch, &who, facts);
                        assert!(said || !meets, "{:?} {:?} {who:?}", a.touch, c.touch);
                        apart += u32::from(!meets);
                        unsure += u32::from(said && !meets);
                    }
                }
            }
        }
    }
    // The share that stands in src/README.md.
    let share = f64::from(unsure) / f64::from(apart);
    println!("unsure of {unsure} of {apart} that do not meet: {share:.3}");
    assert!(
        share < 0.25,
        "unsure of {unsure} of {apart} that do not meet: {share:.3}"
    );
}
