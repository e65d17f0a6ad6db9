//! One program for all threads: loops over units become the numbers of blocks and threads.
//!
//! What stands outside the loops over threads is done by every thread alike, except that
//! one of them stores. What stands inside belongs to the threads whose iterations they
//! are. A scalar that the iterations of a loop add up is reduced behind it, so that all of
//! its threads know the sum.

pub(super) mod nested;

use super::barriers::{Launch, Pending};
use super::ir::Device;
use super::private::privatise;
use super::shape::Shape;
use super::{Definitions, Refusal};
use crate::loops::build as b;
use crate::loops::effects::Around;
use crate::loops::ir::{
    ArrayId, Axis, BinaryOp, Expr, ExprKind, Kernel, Place, ReduceOp, ScalarType, Stmt, VarId,
};
use crate::loops::trips::Bounds;
use crate::loops::uniform::{Uniform, Units};
use crate::loops::visit;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of shared memory that every GPU gives a block.
const MOST_SHARED: u64 = 48 * 1024;

pub(super) struct Spmd<'k> {
    pub kernel: &'k mut Kernel,
    pub shape: Shape,
    pub known: Definitions,
    /// Arrays with a part for each unit, and how many units there are.
    pub rooms: BTreeMap<ArrayId, Expr>,
    /// Workspaces of which each thread has its own.
    pub own: BTreeSet<ArrayId>,
    /// Arrays that only one thread reaches.
    pub alone: BTreeSet<ArrayId>,
    pub shared: u64,
    /// Arrays in which claims count.
    pub claimed: BTreeSet<ArrayId>,
    /// The memory that sorting of rows needs.
    pub sort_scratch: Option<ArrayId>,
    /// The arrays in which reductions of a block exchange values, by element type.
    pub scratch: Vec<(ScalarType, ArrayId)>,
    /// Scalars that still hold what they were declared with, a literal.
    pub fresh: BTreeSet<VarId>,
    pub started: BTreeMap<VarId, Expr>,
    /// With which units the launch's values vary.
    pub uniform: Uniform,
    /// Those declared inside a loop over blocks.
    pub of_block: BTreeSet<VarId>,
    pub blocks: usize,
}

/// Which units the statements at hand belong to.
#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    pub warp: bool,
    pub axes: BTreeSet<Axis>,
    /// Whether only some of the threads come here.
    pub partial: bool,
    /// The loops around but those over blocks, and the units of those over units.
    pub around: Vec<Around>,
    pub entered: Units,
    /// The iteration of a segment group exists; others take part with nothing.
    pub live: Option<Expr>,
}

impl Spmd<'_> {
    pub(super) fn new(kernel: &mut Kernel, shape: Shape, known: Definitions) -> Spmd<'_> {
        Spmd {
            kernel,
            shape,
            known,
            rooms: BTreeMap::new(),
            own: BTreeSet::new(),
            alone: BTreeSet::new(),
            shared: 0,
            claimed: BTreeSet::new(),
            sort_scratch: None,
            scratch: Vec::new(),
            fresh: BTreeSet::new(),
            started: BTreeMap::new(),
            uniform: Uniform::default(),
            of_block: BTreeSet::new(),
            blocks: 0,
        }
    }

    /// The launch's program.
    ///
    /// # Errors
    /// See [`super::place`].
    pub(super) fn run(&mut self, body: Vec<Stmt>) -> Result<Vec<Stmt>, Refusal> {
        let mut body = body;
        self.own = privatise(self.kernel, &self.shape, &self.known, &mut body);
        visit::stmts(&body, &mut |stmt| {
            if let Stmt::Device(Device::Claim(claim)) = stmt {
                self.claimed.insert(claim.count);
            }
        });
        let mut body = self.spread(body, [self.shape.total() == 1; 2]);
        super::banks::pad(self.kernel, &self.shape, &self.known, &mut body);
        super::blocks::check(self.kernel, &self.known, &body)?;
        self.uniform = Uniform::of(&self.own, &body);
        let mut pending = Pending::default();
        let mut placed = self.list(body, &Site::default(), &mut pending)?;
        let mut out = Vec::new();
        for &(_, array) in &self.scratch {
            out.push(Stmt::Declare {
                array,
                count: u64::from(self.shape.total()),
            });
        }
        out.extend(self.sort_scratch.map(|array| Stmt::Declare {
            array,
            count: super::memory::SORT_WORDS,
        }));
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
    pub(super) fn alike(&self, place: &Site) -> u32 {
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

    /// Whether all threads of a block of several come to the place, at once.
    fn is_whole(&self, place: &Site) -> bool {
        !place.partial && self.alike(place) == self.shape.total() && self.shape.total() > 1
    }

    /// The condition for being the one thread that stores for all that are alike, if there are others.
    pub(super) fn owner(&self, place: &Site) -> Option<Expr> {
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

    pub(super) fn lane(&self, lanes: u32) -> Expr {
        let x = b::place(Place::ThreadIndex(Axis::X));
        if self.shape.threads[0] == lanes {
            return x;
        }
        b::binary(BinaryOp::Rem, x, b::int(i64::from(lanes)))
    }

    pub(super) fn list(
        &mut self,
        body: Vec<Stmt>,
        place: &Site,
        pending: &mut Pending,
    ) -> Result<Vec<Stmt>, Refusal> {
        let mut out: Vec<Stmt> = Vec::new();
        let mut body = body.into_iter();
        while let Some(stmt) = body.next() {
            // One of the threads that are alike takes the number, and does all that needs it.
            if let (Stmt::Take { .. }, Some(cond)) = (&stmt, self.owner(place)) {
                let mut alone = place.clone();
                (alone.warp, alone.partial) = (true, true);
                alone.axes.extend(Axis::ALL);
                let rest = std::iter::once(stmt).chain(body).collect();
                out.push(b::if_then(cond, self.list(rest, &alone, pending)?));
                return Ok(out);
            }
            pending.declare(&stmt, &place.around);
            if self.alike(place) > 1 {
                let accesses = pending.accesses(self.launch(), &place.around, &stmt);
                if pending.conflicts(self.launch(), &place.around, &accesses)
                    && !self.waits_inside(&stmt, place, pending)
                {
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

    /// Pushes a statement that only one of the threads that are alike runs.
    pub(super) fn once(&self, stmt: Stmt, place: &Site, out: &mut Vec<Stmt>) {
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
        out.push(b::if_then(cond, vec![stmt]));
    }

    /// Pushes what threads do of a statement.
    pub(super) fn stmt(
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
                most,
                step,
                tag,
                body,
            } => {
                let bounds = Bounds { lo, hi, most };
                if tag.gpu().is_some() {
                    return self.unit((var, bounds), &tag, body, place, pending, out);
                }
                out.push(self.serial((var, bounds, step), tag, body, place, pending)?);
            }
            Stmt::While { cond, body } => out.push(self.repeated(cond, body, place, pending)?),
            Stmt::If {
                cond,
                then,
                otherwise,
            } => out.push(self.branches(cond, (then, otherwise), place, pending)?),
            Stmt::Store { array, .. } if self.own.contains(&array) => out.push(stmt),
            Stmt::Store {
                array,
                index,
                op,
                value,
                atomic,
            } => {
                let store = Stmt::Store {
                    array,
                    index,
                    op,
                    value,
                    // No update of a thread's own memory is.
                    atomic: atomic && !self.alone.contains(&array),
                };
                self.once(store, place, out);
            }
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
            }) => self.segment_store(array, (index, op, value), lanes, place, out),
            Stmt::Let { var, ref init } => {
                self.note_declared(var, init);
                out.push(stmt);
            }
            Stmt::Assign { var, .. } => {
                self.fresh.remove(&var);
                out.push(stmt);
            }
            Stmt::Sort {
                coordinates,
                values,
                count,
                ..
            } if self.is_whole(place) => {
                let scratch = self.sort_scratch();
                out.push(Stmt::Device(Device::Sort {
                    coordinates,
                    values,
                    count,
                    scratch,
                }));
            }
            Stmt::Sort { .. } | Stmt::Enter { .. } => self.once(stmt, place, out),
            // Threads that are alike come to the same slot, whoever of them takes it.
            Stmt::Device(Device::Claim(_)) => out.push(stmt),
            Stmt::Search { .. } | Stmt::Take { .. } | Stmt::Assume { .. } => out.push(stmt),
            Stmt::Prefetch { .. } | Stmt::Comment(_) => out.push(stmt),
            // `spread` made loops of these.
            Stmt::Fill { .. } => return Err(filled_in_turn()),
            Stmt::Alloc { .. }
            | Stmt::Append { .. }
            | Stmt::Scan { .. }
            | Stmt::Grow { .. }
            | Stmt::Trim { .. }
            | Stmt::Free { .. }
            | Stmt::FailIf { .. }
            | Stmt::Device(_) => return Err(allocates_or_fails()),
        }
        Ok(())
    }

    /// Whether the threads along x make whole groups, so that those along other axes are in other groups.
    fn has_whole_groups(&self, lanes: u32) -> bool {
        self.shape.threads[0].is_multiple_of(lanes)
    }

    /// Notes whether a scalar is a block's own, and which literal it starts from.
    fn note_declared(&mut self, var: VarId, init: &Expr) {
        if self.blocks > 0 {
            self.of_block.insert(var);
        }
        let literal = matches!(init.kind, ExprKind::Literal(_));
        if literal && self.kernel.var(var).mutable {
            self.fresh.insert(var);
            self.started.insert(var, init.clone());
        }
    }

    /// A group's sum of a segment goes to memory.
    fn segment_store(
        &self,
        array: ArrayId,
        (index, op, value): (Expr, ReduceOp, Expr),
        lanes: u32,
        place: &Site,
        out: &mut Vec<Stmt>,
    ) {
        let value = self.of_live((op, value), lanes, place);
        let store = Stmt::Device(Device::SegmentStore {
            array,
            index,
            op,
            value,
            lanes,
        });
        // Whole groups stay away.
        if self.has_whole_groups(lanes) {
            self.once(store, place, out);
        } else {
            out.push(store);
        }
    }

    /// What a thread of a group gives to a segment's sum: nothing where its iteration does not exist, or where
    /// threads along axes that the loop is not shared out along do the same in one group.
    fn of_live(&self, (op, value): (ReduceOp, Expr), lanes: u32, place: &Site) -> Expr {
        let owner = self.owner(place);
        let live = place.live.iter().cloned();
        let live: Vec<Expr> = live
            .chain(owner.filter(|_| !self.has_whole_groups(lanes)))
            .collect();
        if live.is_empty() {
            return value;
        }
        let neutral = b::literal(op.neutral(value.ty), value.ty);
        b::select(b::all(live), value, neutral)
    }

    /// What decides who comes to what.
    pub(super) fn launch(&self) -> Launch<'_> {
        Launch {
            kernel: self.kernel,
            shape: &self.shape,
            known: &self.known,
            uniform: &self.uniform,
            own: &self.own,
        }
    }
}

fn filled_in_turn() -> Refusal {
    Refusal::new(
        "an array would be filled by one thread after another",
        "this is sparsec's fault: please report it with the program",
    )
}

fn allocates_or_fails() -> Refusal {
    Refusal::new(
        "a kernel cannot allocate or fail while it runs",
        "bring the loop over blocks or threads further inside",
    )
}
