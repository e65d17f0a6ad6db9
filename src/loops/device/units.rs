//! Loops over blocks, warps and threads, and the scalars that they reduce.

use super::Refusal;
use super::barriers::Pending;
use super::groups::has_segments;
use super::ir::{Device, ReduceScope};
use super::segments::is_literal;
use super::spmd::{Site, Spmd};
use crate::loops::build as b;
use crate::loops::effects::Around;
use crate::loops::ir::{Axis, BinaryOp, Expr, LoopTag, Place, ReduceOp, ScalarType, Stmt, VarId};
use crate::loops::trips::Bounds;
use crate::loops::uniform::Units;
use crate::units::{GpuLevel, GpuUnit, Strategy};

impl Spmd<'_> {
    /// A loop over blocks, warps or threads.
    pub(super) fn unit(
        &mut self,
        (var, Bounds { lo, hi, most }): (VarId, Bounds),
        tag: &LoopTag,
        body: Vec<Stmt>,
        place: &Site,
        pending: &mut Pending,
        out: &mut Vec<Stmt>,
    ) -> Result<(), Refusal> {
        let Some(unit) = tag.gpu() else { return Ok(()) };
        if unit.level == GpuLevel::Block {
            self.refuse_adding_blocks(tag)?;
            return self.block(
                (var, Bounds { lo, hi, most }),
                unit.axis,
                body,
                place,
                pending,
                out,
            );
        }
        let segments = unit.group.is_some() && has_segments(&body);
        let around = Around {
            var,
            lo: super::inlined(&lo, &self.known),
            step: 1,
            most,
            unit: Some(unit),
            tells: !segments,
        };
        let mut inside = place.clone();
        let taken = match unit.level {
            GpuLevel::Warp => std::mem::replace(&mut inside.warp, true),
            GpuLevel::Block | GpuLevel::Thread => !inside.axes.insert(unit.axis),
        };
        if taken {
            // These threads already share the iterations of a loop outside.
            let tag = LoopTag::default();
            let body = self.list(body, place, pending)?;
            out.push(Bounds { lo, hi, most }.each(var, tag, body));
            return Ok(());
        }
        inside.entered = inside.entered.and(Units::of(unit));
        inside.around.push(around);
        let (index, count) = self.index(unit, place);
        let saved = self.save(tag, out);
        let lanes = unit.group.map_or(1, |group| group.size);
        if segments && !self.shape.total().is_multiple_of(lanes) {
            return Err(Refusal::new(
                format!(
                    "a block of {} threads has no whole groups of {lanes}",
                    self.shape.total()
                ),
                "group a loop that threads along x share",
            ));
        }
        let single = most.is_some_and(|n| n <= i64::from(count));
        let exact = crate::loops::linear::sub(&hi, &lo) == b::int(i64::from(count));
        inside.partial |= !exact;
        if !segments && unit.level == GpuLevel::Thread {
            self.refuse_split_groups((var, unit.axis), &body, exact)?;
        }
        let start = b::add(lo.clone(), index);
        let value = b::var(var, ScalarType::I64);
        if segments {
            self.group(
                (var, Bounds { lo, hi, most }),
                (start, count, single),
                body,
                &inside,
                pending,
                out,
            )?;
        } else if single {
            let body = self.list(body, &inside, pending)?;
            out.push(b::bind(var, start));
            if exact {
                out.extend(body);
            } else {
                out.push(b::if_then(b::lt(value, hi), body));
            }
        } else {
            let body = self.inner(body, Some(var), &inside, pending)?;
            let bounds = Bounds::of(start, hi).at_most(most);
            let tag = LoopTag::unrolled(tag.unroll);
            out.push(bounds.every(i64::from(count), var, tag, body));
        }
        for (op, scalar, old) in saved {
            self.reduce(unit, (op, scalar), place, out)?;
            if let Some(old) = old {
                let ty = self.kernel.var(scalar).ty;
                out.push(b::update(scalar, op, b::var(old, ty)));
            }
        }
        Ok(())
    }

    /// Refuses blocks that add to a scalar of which each block around has its own.
    fn refuse_adding_blocks(&self, tag: &LoopTag) -> Result<(), Refusal> {
        let mut adds = tag.reductions().iter();
        match adds.find(|(_, var)| self.of_block.contains(var)) {
            Some((_, own)) => Err(Refusal::new(
                format!(
                    "blocks would add to `{}`, which each of the blocks around has its own of",
                    self.kernel.var(*own).name
                ),
                "let the loop over blocks that adds be the outer one, or share it out to threads",
            )),
            None => Ok(()),
        }
    }

    /// The number of the unit, and how many there are.
    pub(super) fn index(&self, unit: GpuUnit, place: &Site) -> (Expr, u32) {
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

    pub(super) fn block(
        &mut self,
        (var, Bounds { lo, hi, most }): (VarId, Bounds),
        axis: Axis,
        body: Vec<Stmt>,
        place: &Site,
        pending: &mut Pending,
        out: &mut Vec<Stmt>,
    ) -> Result<(), Refusal> {
        let start = b::add(lo, b::place(Place::BlockIndex(axis)));
        self.blocks += 1;
        match self.shape.turns[axis as usize] {
            None => {
                let body = self.list(body, place, pending)?;
                out.push(b::bind(var, start));
                out.extend(body);
            }
            Some(turns) => {
                let body = self.inner(body, Some(var), place, pending)?;
                let bounds = Bounds::of(start, hi).at_most(most);
                out.push(bounds.every(turns, var, LoopTag::default(), body));
            }
        }
        self.blocks -= 1;
        Ok(())
    }

    /// Scalars that a loop reduces start anew in each thread; what they held is kept.
    pub(super) fn save(
        &mut self,
        tag: &LoopTag,
        out: &mut Vec<Stmt>,
    ) -> Vec<(ReduceOp, VarId, Option<VarId>)> {
        let mut saved = Vec::new();
        for &(op, var) in tag.reductions() {
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
            out.push(b::bind(old, b::var(var, ty)));
            out.push(b::set(var, b::literal(neutral, ty)));
            saved.push((op, var, Some(old)));
        }
        saved
    }

    /// Reduces a scalar over the threads of a loop.
    pub(super) fn reduce(
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
            // Along other axes threads of a group are not consecutive lanes of a warp.
            if group.strategy == Strategy::Parallel && unit.axis == Axis::X {
                push(ReduceScope::Lanes(group.size));
                return Ok(());
            }
        }
        let x = unit.level == GpuLevel::Thread && unit.axis == Axis::X;
        if x && count <= self.shape.lanes && count.is_power_of_two() {
            push(ReduceScope::Lanes(count));
            return Ok(());
        }
        if place.partial || (place.warp && self.shape.warps.is_some_and(|(_, warps)| warps > 1)) {
            return Err(Refusal::new(
                "threads of a part of a block reduce together only inside a warp",
                format!(
                    "`split` the loop (`pos` first, where it walks what is stored) by {} or less, and share out its inner \
                     part along x, as `GPUThread`",
                    self.shape.lanes
                ),
            ));
        }
        let (row, warp) = (self.shape.threads[0], self.shape.lanes);
        let (lanes, stride) = match (unit.level, unit.axis) {
            (GpuLevel::Warp, _) => (1, self.shape.warps.map_or(1, |(lanes, _)| lanes)),
            (_, Axis::X) if count.is_multiple_of(warp) => (warp, warp),
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
}
