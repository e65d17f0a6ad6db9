//! One program for all threads: loops over units become the numbers of blocks and threads.
//!
//! What stands outside the loops over threads is done by every thread alike, except that
//! one of them stores. What stands inside belongs to the threads whose iterations they
//! are. A scalar that the iterations of a loop add up is reduced behind it, so that all of
//! its threads know the sum.

use super::barriers::Pending;
use super::ir::{Device, GpuLevel, GpuUnit, ReduceScope, Scope, Strategy};
use super::segments::is_literal;
use super::shape::{LANES, Shape, most};
use super::{Definitions, Refusal};
use crate::loops::build as b;
use crate::loops::ir::{
    ArrayId, Axis, BinaryOp, Expr, ExprKind, Kernel, LoopTag, Place, ReduceOp, ScalarType, Stmt,
    Storage, VarId,
};
use crate::loops::visit;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of shared memory that every GPU gives a block.
const MOST_SHARED: u64 = 48 * 1024;

pub(super) struct Spmd<'k> {
    kernel: &'k mut Kernel,
    pub shape: Shape,
    pub known: Definitions,
    /// Arrays with a part for each unit, and how many units there are.
    pub rooms: BTreeMap<ArrayId, Expr>,
    shared: u64,
    /// What block-wide reductions exchange values in, by element type.
    scratch: Vec<(ScalarType, ArrayId)>,
    /// Scalars that still hold what they were declared with, a literal.
    fresh: BTreeSet<VarId>,
    started: BTreeMap<VarId, Expr>,
}

/// Which units the statements at hand belong to.
#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    pub warp: bool,
    pub axes: BTreeSet<Axis>,
    /// Only some of the threads are here.
    pub partial: bool,
    /// The iteration of a segment group exists; others take part with nothing.
    live: Option<Expr>,
}

impl Spmd<'_> {
    pub(super) fn new(kernel: &mut Kernel, shape: Shape, known: Definitions) -> Spmd<'_> {
        Spmd {
            kernel,
            shape,
            known,
            rooms: BTreeMap::new(),
            shared: 0,
            scratch: Vec::new(),
            fresh: BTreeSet::new(),
            started: BTreeMap::new(),
        }
    }

    /// The launch's program.
    ///
    /// # Errors
    /// See [`super::place`].
    pub(super) fn run(&mut self, body: Vec<Stmt>) -> Result<Vec<Stmt>, Refusal> {
        let mut pending = Pending::default();
        let body = self.spread(body, self.shape.total() == 1);
        let mut placed = self.list(body, &Site::default(), &mut pending)?;
        let mut out = Vec::new();
        for &(_, array) in &self.scratch {
            out.push(Stmt::Declare {
                array,
                count: u64::from(self.shape.total()),
            });
        }
        out.append(&mut placed);
        if self.shared > MOST_SHARED {
            return Err(Refusal::new(
                format!(
                    "workspaces would take {} bytes of a block's shared memory, of which there are {MOST_SHARED}",
                    self.shared
                ),
                "make the tiles smaller, or bring the workspace inside the loop over threads",
            ));
        }
        Ok(out)
    }

    /// Threads that are alike at a place: those of all loops that are not entered yet.
    fn alike(&self, place: &Site) -> u32 {
        let mut n = 1;
        for axis in Axis::ALL {
            if !place.axes.contains(&axis) {
                n *= match (axis, place.warp, self.shape.warps) {
                    (Axis::X, true, Some((lanes, _))) => lanes,
                    (Axis::X | Axis::Y | Axis::Z, _, _) => self.shape.threads[axis as usize],
                };
            }
        }
        n
    }

    /// Whether the thread is the one that stores for all that are alike.
    fn owner(&self, place: &Site) -> Option<Expr> {
        let mut conditions = Vec::new();
        for axis in Axis::ALL {
            if place.axes.contains(&axis) || self.shape.threads[axis as usize] == 1 {
                continue;
            }
            let index = match (axis, place.warp, self.shape.warps) {
                (Axis::X, true, Some((1, _))) => continue,
                (Axis::X, true, Some((lanes, _))) => self.lane(lanes),
                (Axis::X | Axis::Y | Axis::Z, _, _) => b::place(Place::ThreadIndex(axis)),
            };
            conditions.push(b::eq(index, b::int(0)));
        }
        (!conditions.is_empty()).then(|| b::all(conditions))
    }

    fn lane(&self, lanes: u32) -> Expr {
        let x = b::place(Place::ThreadIndex(Axis::X));
        if self.shape.threads[0] == lanes {
            return x;
        }
        b::binary(BinaryOp::Rem, x, b::int(i64::from(lanes)))
    }

    fn list(
        &mut self,
        body: Vec<Stmt>,
        place: &Site,
        pending: &mut Pending,
    ) -> Result<Vec<Stmt>, Refusal> {
        let mut out: Vec<Stmt> = Vec::new();
        for stmt in body {
            if self.alike(place) > 1 {
                let accesses = pending.accesses(self.kernel, &self.shape, &self.known, &stmt);
                if pending.conflicts(&accesses, &self.known) {
                    out.push(self.barrier(place)?);
                    pending.clear();
                }
                self.stmt(stmt, place, pending, &mut out)?;
                pending.add(accesses);
            } else {
                self.stmt(stmt, place, pending, &mut out)?;
            }
        }
        Ok(out)
    }

    fn barrier(&self, place: &Site) -> Result<Stmt, Refusal> {
        let scope = match (place.warp, self.shape.warps) {
            (true, Some((lanes, _))) if lanes <= LANES && lanes.is_power_of_two() => {
                Scope::Lanes(lanes)
            }
            (true, Some((_, 1))) | (false, _) if !place.partial => Scope::Block,
            (_, _) => {
                return Err(Refusal::new(
                    "threads of one warp or row of a block would wait for others that never come",
                    "let the loop over units that shares the workspace be the outer one",
                ));
            }
        };
        Ok(Stmt::Device(Device::Barrier(scope)))
    }

    /// Pushes a statement that only one of the threads that are alike runs.
    fn once(&self, stmt: Stmt, place: &Site, out: &mut Vec<Stmt>) {
        let Some(cond) = self.owner(place) else {
            out.push(stmt);
            return;
        };
        if let Some(Stmt::If {
            cond: before,
            then,
            otherwise,
        }) = out.last_mut()
            && *before == cond
            && otherwise.is_empty()
        {
            then.push(stmt);
            return;
        }
        out.push(Stmt::If {
            cond,
            then: vec![stmt],
            otherwise: Vec::new(),
        });
    }

    fn stmt(
        &mut self,
        stmt: Stmt,
        place: &Site,
        pending: &mut Pending,
        out: &mut Vec<Stmt>,
    ) -> Result<(), Refusal> {
        match stmt {
            Stmt::For {
                var,
                lo,
                hi,
                tag,
                body,
                ..
            } if tag.gpu.is_some() => self.unit((var, lo, hi), &tag, body, place, pending, out)?,
            Stmt::For {
                var,
                lo,
                hi,
                step,
                tag,
                body,
            } => {
                let body = self.inner(body, place, pending)?;
                out.push(Stmt::For {
                    var,
                    lo,
                    hi,
                    step,
                    tag,
                    body,
                });
            }
            Stmt::While { cond, body } => {
                let body = self.inner(body, place, pending)?;
                out.push(Stmt::While { cond, body });
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                let mut other = pending.clone();
                let inside = |var: &VarId| then.iter().chain(&otherwise).any(|s| assigns(s, *var));
                self.fresh.retain(|var| !inside(var));
                let then = self.list(then, place, pending)?;
                let otherwise = self.list(otherwise, place, &mut other)?;
                pending.join(other);
                out.push(Stmt::If {
                    cond,
                    then,
                    otherwise,
                });
            }
            Stmt::Store { .. } => self.once(stmt, place, out),
            Stmt::Declare { array, count } => self.declare(array, count, place, out)?,
            Stmt::Slice { array, of, offset } => {
                let offset = self.own_part(of, offset, place);
                out.push(Stmt::Slice { array, of, offset });
            }
            Stmt::Device(Device::SegmentStore {
                array,
                index,
                op,
                value,
                lanes,
            }) => {
                let value = match &place.live {
                    Some(live) => {
                        let neutral = b::literal(op.neutral(value.ty), value.ty);
                        b::select(live.clone(), value, neutral)
                    }
                    None => value,
                };
                out.push(Stmt::Device(Device::SegmentStore {
                    array,
                    index,
                    op,
                    value,
                    lanes,
                }));
            }
            Stmt::Let { var, ref init } => {
                let zero = matches!(init.kind, ExprKind::Literal(_));
                if zero && self.kernel.var(var).mutable {
                    self.fresh.insert(var);
                    self.started.insert(var, init.clone());
                }
                out.push(stmt);
            }
            Stmt::Assign { var, .. } => {
                self.fresh.remove(&var);
                out.push(stmt);
            }
            Stmt::Search { .. } | Stmt::Assume { .. } | Stmt::Comment(_) => out.push(stmt),
            // Loops since `spread`.
            Stmt::Fill { .. } => {}
            Stmt::Alloc { .. }
            | Stmt::Grow { .. }
            | Stmt::Free { .. }
            | Stmt::FailIf { .. }
            | Stmt::Device(_) => {
                return Err(Refusal::new(
                    "a kernel cannot allocate or fail while it runs",
                    "bring the loop over blocks or threads further inside",
                ));
            }
        }
        Ok(())
    }

    /// The body of a loop that all threads at the place run.
    fn inner(
        &mut self,
        body: Vec<Stmt>,
        place: &Site,
        pending: &mut Pending,
    ) -> Result<Vec<Stmt>, Refusal> {
        // What the iteration before did.
        self.fresh
            .retain(|var| !body.iter().any(|stmt| assigns(stmt, *var)));
        if self.alike(place) > 1 {
            let all: Vec<_> = body
                .iter()
                .flat_map(|s| pending.accesses(self.kernel, &self.shape, &self.known, s))
                .collect();
            pending.add(all);
        }
        self.list(body, place, pending)
    }

    /// With loops in the place of fills; loops that only set elements, each its own, are
    /// shared out to the threads that would all run them.
    fn spread(&mut self, body: Vec<Stmt>, taken: bool) -> Vec<Stmt> {
        let mut out = Vec::new();
        for mut stmt in body {
            if let Stmt::Fill {
                array,
                start,
                count,
                value,
            } = stmt
            {
                let k = self.kernel.fresh_var("k", ScalarType::I64, false);
                let index = b::add(start, b::var(k, ScalarType::I64));
                stmt = Stmt::For {
                    var: k,
                    lo: b::int(0),
                    hi: count,
                    step: 1,
                    tag: LoopTag::default(),
                    body: vec![Stmt::Store {
                        array,
                        index,
                        op: None,
                        value,
                        atomic: false,
                    }],
                };
            }
            let mut inside = taken;
            if let Stmt::For { var, tag, body, .. } = &mut stmt {
                if !taken && tag.gpu.is_none() && only_sets(body, *var) {
                    *tag = thread_tag();
                }
                inside |= tag
                    .gpu
                    .is_some_and(|unit| unit.level == GpuLevel::Thread && unit.axis == Axis::X);
            }
            for inner in visit::bodies_mut(&mut stmt) {
                let old = std::mem::take(inner);
                *inner = self.spread(old, inside);
            }
            out.push(stmt);
        }
        out
    }

    /// Memory of a workspace: a thread's own, or shared by those that are alike.
    fn declare(
        &mut self,
        array: ArrayId,
        count: u64,
        place: &Site,
        out: &mut Vec<Stmt>,
    ) -> Result<(), Refusal> {
        if self.alike(place) == 1 {
            out.push(Stmt::Declare { array, count });
            return Ok(());
        }
        let elem = self.kernel.array(array).elem;
        let parts = u64::from(self.shape.total() / self.alike(place));
        self.shared += parts * count * elem.size() as u64;
        if parts == 1 {
            self.kernel.arrays[array.0 as usize].storage = Storage::Shared;
            out.push(Stmt::Declare { array, count });
            return Ok(());
        }
        let name = format!("{}_all", self.kernel.array(array).name);
        let all = self.kernel.fresh_array(&name, elem, Storage::Shared);
        out.push(Stmt::Declare {
            array: all,
            count: parts * count,
        });
        let size = b::int(i64::try_from(count).unwrap_or(i64::MAX));
        out.push(Stmt::Slice {
            array,
            of: all,
            offset: b::mul(self.part(place), size),
        });
        Ok(())
    }

    /// The number of the part of a block that the place belongs to.
    fn part(&self, place: &Site) -> Expr {
        let mut number = b::int(0);
        for axis in [Axis::Z, Axis::Y, Axis::X] {
            let index = b::place(Place::ThreadIndex(axis));
            let (own, count) = match (axis, place.axes.contains(&axis), self.shape.warps) {
                (_, true, _) => (index, self.shape.threads[axis as usize]),
                (Axis::X, false, Some((lanes, warps))) if place.warp => (
                    b::binary(BinaryOp::Div, index, b::int(i64::from(lanes))),
                    warps,
                ),
                (Axis::X | Axis::Y | Axis::Z, false, _) => continue,
            };
            if count > 1 {
                number = b::add(b::mul(number, b::int(i64::from(count))), own);
            }
        }
        number
    }

    /// Where the unit's own part of an array begins.
    fn own_part(&mut self, of: ArrayId, mut offset: Expr, place: &Site) -> Expr {
        let parts = self.shape.total() / self.alike(place);
        let mut unit = b::int(0);
        let mut units = b::int(1);
        for axis in [Axis::Z, Axis::Y, Axis::X] {
            let blocks = &self.shape.grid[axis as usize];
            if *blocks != b::int(1) {
                unit = b::add(
                    b::mul(unit, b::place(Place::Blocks(axis))),
                    b::place(Place::BlockIndex(axis)),
                );
                units = b::mul(units, blocks.clone());
            }
        }
        let unit = b::add(b::mul(unit, b::int(i64::from(parts))), self.part(place));
        let units = b::mul(units, b::int(i64::from(parts)));
        let mut asked = false;
        visit::replace_expr(&mut offset, &mut |e| {
            let own = e.kind == ExprKind::Place(Place::Thread);
            asked |= own;
            own.then(|| unit.clone())
        });
        if asked {
            self.rooms.insert(of, units);
        }
        offset
    }

    /// A loop over blocks, warps or threads.
    fn unit(
        &mut self,
        (var, lo, hi): (VarId, Expr, Expr),
        tag: &LoopTag,
        body: Vec<Stmt>,
        place: &Site,
        pending: &mut Pending,
        out: &mut Vec<Stmt>,
    ) -> Result<(), Refusal> {
        let Some(unit) = tag.gpu else { return Ok(()) };
        if unit.level == GpuLevel::Block {
            return self.block((var, lo, hi), unit.axis, body, place, pending, out);
        }
        let mut inside = place.clone();
        let taken = match unit.level {
            GpuLevel::Warp => std::mem::replace(&mut inside.warp, true),
            GpuLevel::Block | GpuLevel::Thread => !inside.axes.insert(unit.axis),
        };
        if taken {
            // All of these threads are busy with iterations of a loop outside.
            let tag = LoopTag::default();
            let body = self.list(body, place, pending)?;
            out.push(Stmt::For {
                var,
                lo,
                hi,
                step: 1,
                tag,
                body,
            });
            return Ok(());
        }
        let (index, count) = self.index(unit, place);
        let saved = self.save(tag, out);
        let segments = unit.group.is_some() && has_segments(&body);
        let most = most(&hi, &lo, &self.known);
        let single = most.is_some_and(|n| n <= i64::from(count));
        let exact = crate::loops::linear::sub(&hi, &lo) == b::int(i64::from(count));
        inside.partial |= !exact;
        let start = b::add(lo.clone(), index);
        let value = b::var(var, ScalarType::I64);
        if segments {
            self.group(
                (var, lo, hi),
                (start, count, single),
                body,
                &inside,
                pending,
                out,
            )?;
        } else if single {
            let body = self.list(body, &inside, pending)?;
            out.push(Stmt::Let { var, init: start });
            if exact {
                out.extend(body);
            } else {
                out.push(Stmt::If {
                    cond: b::lt(value, hi),
                    then: body,
                    otherwise: Vec::new(),
                });
            }
        } else {
            let body = self.list(body, &inside, pending)?;
            out.push(Stmt::For {
                var,
                lo: start,
                hi,
                step: i64::from(count),
                tag: LoopTag {
                    unroll: tag.unroll,
                    ..LoopTag::default()
                },
                body,
            });
        }
        for (op, scalar, old) in saved {
            self.reduce(unit, (op, scalar), place, out)?;
            if let Some(old) = old {
                let ty = self.kernel.var(scalar).ty;
                out.push(Stmt::Assign {
                    var: scalar,
                    op: Some(op),
                    value: b::var(old, ty),
                });
            }
        }
        Ok(())
    }

    /// The number of the unit, and how many there are.
    fn index(&self, unit: GpuUnit, place: &Site) -> (Expr, u32) {
        let x = b::place(Place::ThreadIndex(unit.axis));
        match (unit.level, unit.axis, self.shape.warps) {
            (GpuLevel::Warp, _, Some((lanes, warps))) => {
                let number = if lanes == 1 {
                    x
                } else {
                    b::binary(BinaryOp::Div, x, b::int(i64::from(lanes)))
                };
                (number, warps)
            }
            (GpuLevel::Thread, Axis::X, Some((lanes, _))) if place.warp => {
                if lanes == 1 {
                    (b::int(0), 1)
                } else {
                    (self.lane(lanes), lanes)
                }
            }
            (GpuLevel::Block | GpuLevel::Warp | GpuLevel::Thread, _, _) => {
                (x, self.shape.threads[unit.axis as usize])
            }
        }
    }

    fn block(
        &mut self,
        (var, lo, hi): (VarId, Expr, Expr),
        axis: Axis,
        body: Vec<Stmt>,
        place: &Site,
        pending: &mut Pending,
        out: &mut Vec<Stmt>,
    ) -> Result<(), Refusal> {
        let start = b::add(lo, b::place(Place::BlockIndex(axis)));
        match self.shape.turns[axis as usize] {
            None => {
                let body = self.list(body, place, pending)?;
                out.push(Stmt::Let { var, init: start });
                out.extend(body);
            }
            Some(turns) => {
                let body = self.inner(body, place, pending)?;
                out.push(Stmt::For {
                    var,
                    lo: start,
                    hi,
                    step: turns,
                    tag: LoopTag::default(),
                    body,
                });
            }
        }
        Ok(())
    }

    /// A loop whose iterations store by segments: all threads of a group come to the
    /// store, those without an iteration with nothing to add (001, 5.2).
    fn group(
        &mut self,
        (var, lo, hi): (VarId, Expr, Expr),
        (start, count, single): (Expr, u32, bool),
        body: Vec<Stmt>,
        inside: &Site,
        pending: &mut Pending,
        out: &mut Vec<Stmt>,
    ) -> Result<(), Refusal> {
        refuse_divergence(&body, var)?;
        let mut inside = inside.clone();
        let name = self.kernel.var(var).name.clone();
        let raw = self
            .kernel
            .fresh_var(&format!("{name}_own"), ScalarType::I64, false);
        let own = b::var(raw, ScalarType::I64);
        inside.live = Some(b::lt(own.clone(), hi.clone()));
        let last = b::sub(hi.clone(), b::int(1));
        let mut all = Vec::new();
        let mut list = self.list(body, &inside, pending)?;
        let clamp = Stmt::Let {
            var,
            init: b::min(own, last),
        };
        if single {
            all.push(Stmt::Let {
                var: raw,
                init: start,
            });
            all.push(clamp);
            all.append(&mut list);
            out.push(Stmt::If {
                cond: b::lt(lo, hi),
                then: all,
                otherwise: Vec::new(),
            });
            return Ok(());
        }
        let tile = self
            .kernel
            .fresh_var(&format!("{name}_tile"), ScalarType::I64, false);
        let base = b::var(tile, ScalarType::I64);
        let index = crate::loops::linear::sub(&start, &lo);
        all.push(Stmt::Let {
            var: raw,
            init: b::add(base, index),
        });
        all.push(clamp);
        all.append(&mut list);
        out.push(Stmt::For {
            var: tile,
            lo,
            hi,
            step: i64::from(count),
            tag: LoopTag::default(),
            body: all,
        });
        Ok(())
    }

    /// Scalars that a loop reduces start anew in each thread; what they held is kept.
    fn save(
        &mut self,
        tag: &LoopTag,
        out: &mut Vec<Stmt>,
    ) -> Vec<(ReduceOp, VarId, Option<VarId>)> {
        let mut saved = Vec::new();
        for &(op, var) in &tag.reductions {
            let ty = self.kernel.var(var).ty;
            let neutral = op.neutral(ty);
            let literal = self
                .started
                .get(&var)
                .is_some_and(|init| is_literal(init, neutral));
            let fresh = self.fresh.remove(&var) && literal;
            if fresh {
                saved.push((op, var, None));
                continue;
            }
            let name = format!("{}_before", self.kernel.var(var).name);
            let old = self.kernel.fresh_var(&name, ty, false);
            out.push(Stmt::Let {
                var: old,
                init: b::var(var, ty),
            });
            out.push(Stmt::Assign {
                var,
                op: None,
                value: b::literal(neutral, ty),
            });
            saved.push((op, var, Some(old)));
        }
        saved
    }

    /// Reduces a scalar over the threads of a loop.
    fn reduce(
        &mut self,
        unit: GpuUnit,
        (op, var): (ReduceOp, VarId),
        place: &Site,
        out: &mut Vec<Stmt>,
    ) -> Result<(), Refusal> {
        let (_, count) = self.index(unit, place);
        let mut push = |scope| out.push(Stmt::Device(Device::Reduce { var, op, scope }));
        if count == 1 {
            return Ok(());
        }
        if let Some(group) = unit.group {
            if group.strategy == Strategy::Parallel && group.size != count {
                return Err(Refusal::new(
                    format!(
                        "groups of {} threads would reduce a loop that {count} threads share",
                        group.size
                    ),
                    "only one of them could write the sum (001, 3.3): let the group be as large \
                     as the inner part of the split",
                ));
            }
            if group.strategy == Strategy::Parallel {
                push(ReduceScope::Lanes(group.size));
                return Ok(());
            }
        }
        let x = unit.level == GpuLevel::Thread && unit.axis == Axis::X;
        if x && count <= LANES && count.is_power_of_two() {
            push(ReduceScope::Lanes(count));
            return Ok(());
        }
        if place.partial || (place.warp && self.shape.warps.is_some_and(|(_, warps)| warps > 1)) {
            return Err(Refusal::new(
                format!("{count} threads of a part of a block cannot reduce together"),
                "at most 32 threads along x do inside a warp",
            ));
        }
        let row = self.shape.threads[0];
        let (lanes, stride) = match (unit.level, unit.axis) {
            (GpuLevel::Warp, _) => (1, self.shape.warps.map_or(1, |(lanes, _)| lanes)),
            (_, Axis::X) if count % LANES == 0 => (LANES, LANES),
            (_, Axis::X) => (1, 1),
            (_, Axis::Y) => (1, row),
            (_, Axis::Z) => (1, row * self.shape.threads[1]),
        };
        if lanes > 1 {
            push(ReduceScope::Lanes(lanes));
        }
        let ty = self.kernel.var(var).ty;
        let scratch = self.scratch(ty);
        out.push(Stmt::Device(Device::Reduce {
            var,
            op,
            scope: ReduceScope::Strided {
                scratch,
                count: count / lanes,
                stride,
            },
        }));
        Ok(())
    }

    fn scratch(&mut self, ty: ScalarType) -> ArrayId {
        if let Some(&(_, array)) = self.scratch.iter().find(|(t, _)| *t == ty) {
            return array;
        }
        let array = self.kernel.fresh_array("scratch", ty, Storage::Shared);
        self.shared += u64::from(self.shape.total()) * ty.size() as u64;
        self.scratch.push((ty, array));
        array
    }
}

/// Of a loop over threads.
fn thread_tag() -> LoopTag {
    LoopTag {
        gpu: Some(GpuUnit {
            level: GpuLevel::Thread,
            axis: Axis::X,
            group: None,
        }),
        ..LoopTag::default()
    }
}

/// Whether the iterations of a loop only set elements, each its own: any thread may do it.
fn only_sets(body: &[Stmt], var: VarId) -> bool {
    let Some((
        Stmt::Store {
            array,
            index,
            op: None,
            value,
            atomic: false,
        },
        before,
    )) = body.split_last()
    else {
        return false;
    };
    if !before.iter().all(|s| matches!(s, Stmt::Let { .. })) {
        return false;
    }
    let known = super::definitions(before, &|_| false);
    let apart = crate::loops::linear::Linear::of(&super::inlined(index, &known))
        .and_then(|sum| sum.split(var))
        .is_some_and(|(factor, _)| factor != 0);
    let mut reads = false;
    visit::expr(&super::inlined(value, &known), &mut |e| {
        reads |= matches!(e.kind, ExprKind::Load { array: from, .. } if from == *array);
    });
    apart && !reads
}

/// Whether the variable changes inside.
fn assigns(stmt: &Stmt, var: VarId) -> bool {
    let mut found = false;
    visit::stmts(std::slice::from_ref(stmt), &mut |s| {
        found |= match s {
            Stmt::Assign { var: v, .. } => *v == var,
            Stmt::For { tag, .. } => tag.reductions.iter().any(|(_, v)| *v == var),
            Stmt::Let { .. }
            | Stmt::Store { .. }
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Alloc { .. }
            | Stmt::Grow { .. }
            | Stmt::Declare { .. }
            | Stmt::Slice { .. }
            | Stmt::Assume { .. }
            | Stmt::Free { .. }
            | Stmt::Fill { .. }
            | Stmt::Search { .. }
            | Stmt::FailIf { .. }
            | Stmt::Device(_)
            | Stmt::Comment(_) => false,
        };
    });
    found
}

/// Whether a store by segments stands inside.
fn has_segments(body: &[Stmt]) -> bool {
    let mut found = false;
    visit::stmts(body, &mut |s| {
        found |= matches!(s, Stmt::Device(Device::SegmentStore { .. }));
    });
    found
}

/// Refuses stores by segments that not all threads of a group would come to.
fn refuse_divergence(body: &[Stmt], var: VarId) -> Result<(), Refusal> {
    let mut own = BTreeSet::from([var]);
    diverges(body, &mut own)
}

fn diverges(body: &[Stmt], own: &mut BTreeSet<VarId>) -> Result<(), Refusal> {
    let depends = |e: &Expr, own: &BTreeSet<VarId>| {
        let mut found = false;
        visit::expr(e, &mut |node| {
            if let ExprKind::Var(v) = node.kind {
                found |= own.contains(&v);
            }
        });
        found
    };
    for stmt in body {
        let mut any = false;
        visit::own_exprs(stmt, &mut |e| any |= depends(e, own));
        match stmt {
            Stmt::Let { var, .. } | Stmt::Search { var, .. } | Stmt::Assign { var, .. } if any => {
                own.insert(*var);
            }
            Stmt::For { .. } | Stmt::If { .. } | Stmt::While { .. } => {
                let inside = visit::bodies(stmt).into_iter().any(has_segments);
                if any && inside {
                    return Err(Refusal::new(
                        "threads of a segment group would not all come to where it reduces",
                        "a loop around the result depends on the element at hand; bring it \
                         outside the loop of the group, or reduce with Atomics",
                    ));
                }
            }
            Stmt::Let { .. }
            | Stmt::Search { .. }
            | Stmt::Assign { .. }
            | Stmt::Store { .. }
            | Stmt::Alloc { .. }
            | Stmt::Grow { .. }
            | Stmt::Declare { .. }
            | Stmt::Slice { .. }
            | Stmt::Assume { .. }
            | Stmt::Free { .. }
            | Stmt::Fill { .. }
            | Stmt::FailIf { .. }
            | Stmt::Device(_)
            | Stmt::Comment(_) => {}
        }
        for inner in visit::bodies(stmt) {
            diverges(inner, own)?;
        }
    }
    Ok(())
}
