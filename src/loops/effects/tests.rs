//! `meet` against brute force: never "apart" where two units come to one element.

use super::*;
use crate::loops::build as b;
use crate::loops::ir::ScalarType;

// What a digit of a subscript is: the number of a thread along x (of a lane, inside a loop over
// warps) or y, of a block, of a serial iteration, of a warp.
const THREAD: usize = 0;
const ROW: usize = 1;
const BLOCK: usize = 2;
const SERIAL: usize = 3;
const WARP: usize = 4;

/// Threads along x, and rows of them.
const COUNT: i64 = 4;

/// Lanes of a warp, and warps: a loop may take several turns.
const LANES: i64 = 2;

/// What a block is made of, and what loops run over.
struct Machine {
    kinds: [usize; 4],
    threads: Threads,
}

/// Rows of threads.
const ROWS: Machine = Machine {
    kinds: [THREAD, ROW, BLOCK, SERIAL],
    threads: Threads {
        along: [4, 4, 1],
        warps: None,
    },
};

/// Warps of lanes.
const WARPS: Machine = Machine {
    kinds: [THREAD, WARP, BLOCK, SERIAL],
    threads: Threads {
        along: [4, 1, 1],
        warps: Some((2, 2)),
    },
};

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
            WARP => unit(GpuLevel::Warp, Axis::X),
            _ => None,
        },
        tells: true,
    }
}

/// An access by digits: the loops it stands in, and their extents (0: not in that loop).
struct Case {
    touch: Touch,
    kinds: Vec<usize>,
    extents: [i64; 5],
    /// How many threads along x and rows come to it without a loop over them.
    alike: [i64; 2],
}

fn case(
    machine: &Machine,
    side: u32,
    kinds: &[usize],
    digits: &[i64],
    write: bool,
    who: &Who,
) -> Case {
    // One block, one loop over iterations is around both accesses.
    let side_of = |kind: usize| match who {
        Who::Thread(_) if kind == BLOCK => 0,
        Who::Iteration(_) if kind == SERIAL => 0,
        Who::Thread(_) | Who::Block | Who::Iteration(_) => side,
    };
    // Only loops over blocks and iterations are always there; where threads come in rows, those
    // over threads along x are, too.
    let rows = machine.kinds.contains(&ROW);
    let mut extents = [if rows { COUNT } else { 0 }, 0, 2, 2, 0];
    for (&kind, &extent) in kinds.iter().zip(digits) {
        let known = kinds.iter().zip(digits).filter(|(k, _)| **k == kind);
        extents[kind] = known.map(|(_, e)| *e).min().unwrap_or(extent);
    }
    let value = |kind: usize| b::var(var(kind, side_of(kind)), ScalarType::I64);
    let mut index = b::int(0);
    for (&kind, &extent) in kinds.iter().zip(digits) {
        index = b::locate(index, b::int(extent), value(kind));
    }
    // Without a loop one thread stores, all load.
    let [x, y, _] = machine.threads.along.map(i64::from);
    let x = if extents[WARP] > 0 { LANES } else { x };
    let alike = if write { [1, 1] } else { [x, y] };
    let loops = [BLOCK, WARP, THREAD, ROW, SERIAL]
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
        alike,
    }
}

impl Case {
    /// Calls `f` with each element and the values of all kinds that come to it.
    fn elements(&self, digits: &[i64], f: &mut impl FnMut(usize, [i64; 5])) {
        let [threads, rows] = self.alike;
        let least = [threads, rows, 1, 1, 1];
        let counts: [i64; 5] = std::array::from_fn(|kind| match self.extents[kind] {
            0 => least[kind],
            extent => extent,
        });
        for number in 0..counts.iter().product() {
            let mut rest = number;
            let at = counts.map(|count| {
                let digit = rest % count;
                rest /= count;
                digit
            });
            let element = self.kinds.iter().zip(digits);
            let element = element.fold(0, |sum, (&k, &e)| sum * e + at[k]);
            f(usize::try_from(element).expect("positive"), at);
        }
    }
}

/// For each element and shared value, the units that come to it, as bits.
fn units(case: &Case, digits: &[i64], who: &Who) -> Vec<u32> {
    let mut found = vec![0; 64 * 4];
    case.elements(
        digits,
        &mut |element, [thread, row, block, serial, warp]| {
            let thread = match case.extents[WARP] {
                0 => COUNT * row + thread,
                _ => LANES * (warp % LANES) + thread % LANES,
            };
            let (unit, shared) = match who {
                // Both accesses are of the same block.
                Who::Thread(_) => (thread, block),
                Who::Block => (block, 0),
                Who::Iteration(_) => (serial, 0),
            };
            found[4 * element + usize::try_from(shared).expect("positive")] |= 1 << unit;
        },
    );
    found
}

fn truly_meet(a: &[u32], c: &[u32]) -> bool {
    a.iter()
        .zip(c)
        .any(|(x, y)| (*x != 0 && *y != 0) && (x != y || x.count_ones() > 1))
}

/// All arrays of up to three digits with extents up to 4, all assignments of the digits of two
/// accesses to threads, rows of threads, blocks and iterations; then to warps instead of rows.
#[test]
fn nothing_is_apart_that_meets() {
    for machine in [ROWS, WARPS] {
        let (mut apart, mut unsure) = (0, 0);
        for n in 1..=3u32 {
            for shape in 0..4usize.pow(n) {
                let digits: Vec<i64> = (0..n)
                    .map(|d| 1 + i64::try_from(shape / 4usize.pow(d) % 4).expect("small"))
                    .collect();
                all_pairs(&machine, &digits, &mut |meets, said| {
                    apart += u32::from(!meets);
                    unsure += u32::from(said && !meets);
                });
            }
        }
        // The shares that stand in src/README.md.
        let share = f64::from(unsure) / f64::from(apart);
        let warps = machine.threads.warps.is_some();
        println!("warps {warps}: unsure of {unsure} of {apart} that do not meet: {share:.3}");
        let most = if warps { 0.4 } else { 0.15 };
        assert!(share < most, "{share:.3}");
    }
}

/// Whether two accesses of an array meet, and whether [`meet`] says so, for all assignments.
fn all_pairs(machine: &Machine, digits: &[i64], f: &mut impl FnMut(bool, bool)) {
    let facts = Facts {
        same: &|v| v == var(BLOCK, 0),
        fixed: &|_| false,
        together: 0,
    };
    let n = u32::try_from(digits.len()).expect("small");
    let kinds = |code: usize| -> Vec<usize> {
        let kind = |d| machine.kinds[code / 4usize.pow(d) % 4];
        (0..n).map(kind).collect()
    };
    for (first, second) in pairs(4usize.pow(n)) {
        for who in [
            Who::Thread(machine.threads),
            Who::Block,
            Who::Iteration(var(SERIAL, 0)),
        ] {
            let a = case(machine, 0, &kinds(first), digits, true, &who);
            let write = (first + second) % 2 == 0;
            let c = case(machine, 1, &kinds(second), digits, write, &who);
            let meets = truly_meet(&units(&a, digits, &who), &units(&c, digits, &who));
            let said = meet(&a.touch, &c.touch, &who, facts);
            assert!(said || !meets, "{:?} {:?} {who:?}", a.touch, c.touch);
            f(meets, said);
        }
    }
}

fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |first| (0..n).map(move |second| (first, second)))
}
