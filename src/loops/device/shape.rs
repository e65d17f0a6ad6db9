//! The shape of a launch: how many blocks, and how many threads in each.
//!
//! A loop over blocks whose number of iterations the host knows gets as many blocks;
//! another takes turns with a fixed number of them. Threads are as many as the loops over
//! threads have iterations, where that is a constant, and as usual otherwise.

use super::ir::Device;
use super::{Definitions, inlined};
use crate::loops::build as b;
use crate::loops::effects::Threads;
use crate::loops::ir::{Axis, Expr, ExprKind, Place, Stmt, VarId};
use crate::loops::{linear, visit};
use crate::units::GpuLevel;
use std::collections::BTreeSet;

/// Blocks of a loop whose iterations the host cannot count.
const SOME_BLOCKS: i64 = 1024;
/// The same along a second axis.
const FEW_BLOCKS: i64 = 32;
/// Blocks that CUDA takes along y and z.
const MOST_BLOCKS: i64 = 65535;
const MOST_THREADS: u32 = 1024;
/// Threads along x, and along y and z, where the number is free.
const SOME_THREADS: u32 = 256;
const FEW_THREADS: u32 = 8;

#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub grid: [Expr; 3],
    /// Blocks take turns along this axis, so many at a time.
    pub turns: [Option<i64>; 3],
    pub threads: [u32; 3],
    /// Threads that follow one another and exchange values without memory: a warp of the hardware.
    pub lanes: u32,
    /// Threads of a warp, and warps of a block, if loops run over warps.
    pub warps: Option<(u32, u32)>,
}

/// A loop over a unit.
struct Found {
    level: GpuLevel,
    axis: Axis,
    lo: Expr,
    hi: Expr,
    /// The most iterations, if a constant bounds them.
    most: Option<i64>,
    in_warp: bool,
    /// Its threads reduce: in groups of so many, or all.
    reduces: bool,
    group: u32,
}

impl Shape {
    /// The shape that the loops of `body` ask for.
    #[must_use]
    pub(super) fn of(body: &[Stmt], known: &Definitions, lanes: u32) -> Self {
        let mut found = Vec::new();
        collect(body, false, &mut found);
        let mut shape = Shape {
            grid: [b::int(1), b::int(1), b::int(1)],
            turns: [None; 3],
            threads: [1; 3],
            lanes,
            warps: None,
        };
        for axis in Axis::ALL {
            shape.blocks(axis, &found, known, body);
        }
        shape.count_threads(&found);
        shape
    }

    fn blocks(&mut self, axis: Axis, found: &[Found], known: &Definitions, body: &[Stmt]) {
        let own: Vec<&Found> = found
            .iter()
            .filter(|f| f.level == GpuLevel::Block && f.axis == axis)
            .collect();
        let at = axis as usize;
        let mut counts = own
            .iter()
            .map(|f| inlined(&linear::sub(&f.hi, &f.lo), known));
        let Some(first) = counts.next() else {
            return;
        };
        let count = counts.fold(first, b::max);
        let host = !reads_device(&count, known, &visit::declared(body));
        let (most, exact) = match (axis, own.len(), uses_rooms(body)) {
            (Axis::X, 1, false) => (SOME_BLOCKS, host),
            (Axis::X, _, _) => (SOME_BLOCKS, false),
            (Axis::Y | Axis::Z, _, _) => (MOST_BLOCKS, false),
        };
        if exact {
            self.grid[at] = count;
        } else if host {
            self.grid[at] = b::min(count, b::int(most));
            self.turns[at] = Some(most);
        } else {
            // Along a second axis, most of as many again would find nothing to do.
            let first = self.turns.iter().all(Option::is_none);
            let some = if first { SOME_BLOCKS } else { FEW_BLOCKS };
            self.grid[at] = b::int(some);
            self.turns[at] = Some(some);
        }
    }

    fn count_threads(&mut self, found: &[Found]) {
        let of = |level: GpuLevel, axis: Axis, in_warp: bool| {
            found
                .iter()
                .filter(move |f| f.level == level && f.axis == axis && f.in_warp == in_warp)
        };
        let most = |f: &Found, free: u32| match f.most {
            Some(n) => u32::try_from(n.clamp(1, i64::from(MOST_THREADS))).unwrap_or(1),
            None => free,
        };
        let mut lanes = 1;
        let mut inside = 1;
        for f in of(GpuLevel::Thread, Axis::X, true) {
            lanes = lanes.max(self.rounded(most(f, self.lanes), f));
        }
        for f in of(GpuLevel::Thread, Axis::X, false) {
            inside = inside.max(self.rounded(most(f, SOME_THREADS), f));
        }
        let mut warps = 0;
        for f in of(GpuLevel::Warp, Axis::X, false) {
            warps = warps.max(most(f, (SOME_THREADS / lanes).max(1)));
        }
        if warps > 0 {
            let warps = warps.min(MOST_THREADS / lanes).max(1);
            self.warps = Some((lanes, warps));
            inside = lanes * warps;
        }
        self.threads[0] = inside;
        for axis in [Axis::Y, Axis::Z] {
            for in_warp in [false, true] {
                for f in of(GpuLevel::Thread, axis, in_warp) {
                    let own = most(f, FEW_THREADS).next_multiple_of(f.group);
                    let at = axis as usize;
                    self.threads[at] = self.threads[at].max(own);
                }
            }
        }
        while self.total() > MOST_THREADS {
            let at = if self.threads[2] > 1 { 2 } else { 1 };
            self.threads[at] = (self.threads[at] / 2).max(1);
            if self.threads[1] == 1 && self.threads[2] == 1 {
                break;
            }
        }
    }

    /// So many threads along x that groups of them are whole.
    fn rounded(&self, n: u32, f: &Found) -> u32 {
        let n = n.next_multiple_of(f.group);
        if !f.reduces {
            n
        } else if n <= self.lanes {
            n.next_power_of_two()
        } else {
            n.next_multiple_of(self.lanes)
        }
    }

    /// The threads of a block, as units that may meet.
    pub(super) fn all_threads(&self) -> Threads {
        Threads {
            along: self.threads,
            warps: self.warps,
        }
    }

    /// Threads of a block.
    pub(super) fn total(&self) -> u32 {
        self.threads.iter().product()
    }
}

fn collect(body: &[Stmt], in_warp: bool, found: &mut Vec<Found>) {
    for stmt in body {
        let mut inside = in_warp;
        if let Stmt::For {
            lo,
            hi,
            most,
            tag,
            body: inner,
            ..
        } = stmt
            && let Some(unit) = tag.gpu()
        {
            inside |= unit.level == GpuLevel::Warp;
            let mut group = unit.group.map_or(1, |g| g.size);
            visit::stmts(inner, &mut |s| {
                if let Stmt::Device(Device::SegmentStore { lanes, .. }) = s {
                    group = group.max(*lanes);
                }
            });
            found.push(Found {
                level: unit.level,
                axis: unit.axis,
                lo: lo.clone(),
                hi: hi.clone(),
                most: *most,
                in_warp,
                reduces: !tag.reductions().is_empty(),
                group: if unit.level == GpuLevel::Thread {
                    group
                } else {
                    1
                },
            });
        }
        for inner in visit::bodies(stmt) {
            collect(inner, inside, found);
        }
    }
}

/// Whether the value needs what lies on the device, or what the launch declares.
fn reads_device(e: &Expr, known: &Definitions, declared: &BTreeSet<VarId>) -> bool {
    let own = |v: &VarId| declared.contains(v);
    inlined(e, known).any(|node| {
        matches!(&node.kind, ExprKind::Load { .. } | ExprKind::Place(_))
            || matches!(&node.kind, ExprKind::Var(v) if own(v))
    })
}

/// Whether units have parts of an array of their own.
fn uses_rooms(body: &[Stmt]) -> bool {
    let own = |e: &Expr| e.any(|node| node.kind == ExprKind::Place(Place::Thread));
    visit::any(
        body,
        &|s| matches!(s, Stmt::Slice { offset, .. } if own(offset)),
    )
}
