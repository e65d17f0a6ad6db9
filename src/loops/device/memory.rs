//! Where workspaces are: in registers, shared memory, or a part of global memory for each unit.

use super::Refusal;
use super::spmd::{Site, Spmd};
use crate::loops::build as b;
use crate::loops::ir::{ArrayId, Axis, BinaryOp, Expr, ExprKind, Place, ScalarType, Stmt, Storage};
use crate::loops::visit;

/// Eight-byte words of shared memory in which a block sorts.
pub(super) const SORT_WORDS: u64 = 2048;

impl Spmd<'_> {
    /// Memory of a workspace: a thread's own, or shared by those that are alike.
    pub(super) fn declare(
        &mut self,
        array: ArrayId,
        count: u64,
        place: &Site,
        out: &mut Vec<Stmt>,
    ) -> Result<(), Refusal> {
        let single = self.alike(place) == 1 && !self.claimed.contains(&array);
        if single {
            self.alone.insert(array);
        }
        if single || self.own.contains(&array) {
            out.push(Stmt::Declare { array, count });
            return Ok(());
        }
        let elem = self.kernel.array(array).elem;
        let parts = u64::from(self.shape.total() / self.alike(place));
        self.shared += parts * count * elem.size() as u64;
        if parts == 1 {
            self.kernel.arrays[array.index()].storage = Storage::Shared;
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
    pub(super) fn part(&self, place: &Site) -> Expr {
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
    pub(super) fn own_part(&mut self, of: ArrayId, mut offset: Expr, place: &Site) -> Expr {
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

    /// What a block sorts rows in that fit.
    pub(super) fn sort_scratch(&mut self) -> ArrayId {
        *self.sort_scratch.get_or_insert_with(|| {
            self.shared += SORT_WORDS * 8;
            self.kernel
                .fresh_array("sorting", ScalarType::U64, Storage::Shared)
        })
    }

    pub(super) fn scratch(&mut self, ty: ScalarType) -> ArrayId {
        if let Some(&(_, array)) = self.scratch.iter().find(|(t, _)| *t == ty) {
            return array;
        }
        let array = self.kernel.fresh_array("scratch", ty, Storage::Shared);
        self.shared += u64::from(self.shape.total()) * ty.size() as u64;
        self.scratch.push((ty, array));
        array
    }
}
