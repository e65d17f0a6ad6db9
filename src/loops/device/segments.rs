//! The body in segments: host statements, launches of many blocks, and what runs in one.

use super::fills::{each, fill};
use super::growth::{self, Growth};
use super::ir::Device;
use super::shape::Shape;
use super::spmd::Spmd;
use super::spread::only_sets;
use super::{Definitions, Refusal, counted, definitions, inlined};
use crate::loops::build as b;
use crate::loops::effects::Around;
use crate::loops::ir::{ArrayId, Expr, ExprKind, Kernel, Literal, Place, Room, Stmt, VarId};
use crate::loops::visit;
use crate::units::GpuLevel;
use std::collections::{BTreeMap, BTreeSet};

/// A part of the body.
#[derive(Clone, Debug)]
pub(super) enum Segment {
    /// A statement of the host.
    Host(Stmt),
    /// Statements of one block.
    Run(Vec<Stmt>),
    /// A loop over blocks, with what stands before and behind it in the same launch.
    Grid(Vec<Stmt>),
    /// An array filled by all threads there are.
    Fill(Stmt),
    /// A loop that only sets elements, one for each thread.
    Each(Stmt),
    /// Statements that append, or may fail.
    Growth(Growth),
    /// A loop or test of the host around segments; the statement's own bodies are empty.
    Control(Stmt, Vec<Vec<Segment>>),
}

impl Segment {
    /// The statement lists that run on the device.
    pub(super) fn device_bodies(&mut self) -> Vec<&mut Vec<Stmt>> {
        match self {
            Segment::Host(_) | Segment::Fill(_) | Segment::Each(_) => Vec::new(),
            Segment::Run(body) | Segment::Grid(body) => vec![body],
            Segment::Growth(growth) => vec![&mut growth.body],
            Segment::Control(_, bodies) => bodies
                .iter_mut()
                .flatten()
                .flat_map(Segment::device_bodies)
                .collect(),
        }
    }
}

pub(super) struct Cutter<'k> {
    pub kernel: &'k mut Kernel,
    /// Variables that the host knows.
    pub host: BTreeSet<VarId>,
    pub segments: Vec<Segment>,
    pub run: Vec<Stmt>,
    /// Workspaces that several launches share.
    pub shared: Vec<Segment>,
}

/// Cuts a body into segments.
///
/// # Errors
/// Loops over blocks inside what only the device can decide.
pub(super) fn cut(kernel: &mut Kernel, body: Vec<Stmt>) -> Result<Vec<Segment>, Refusal> {
    let mut host: BTreeSet<VarId> = kernel.interface.sizes.iter().map(|s| s.var).collect();
    host.extend(kernel.interface.counts.iter().map(|c| c.var));
    host.extend(kernel.interface.args.iter().filter_map(|arg| match arg {
        crate::loops::interface::Arg::Scalar { var, .. } => Some(*var),
        crate::loops::interface::Arg::Tensor(_) => None,
    }));
    let (mut all, segments) = cut_with(kernel, host, body)?;
    all.extend(segments);
    Ok(all)
}

fn cut_with(
    kernel: &mut Kernel,
    host: BTreeSet<VarId>,
    body: Vec<Stmt>,
) -> Result<(Vec<Segment>, Vec<Segment>), Refusal> {
    let mut cutter = Cutter {
        kernel,
        host,
        segments: Vec::new(),
        run: Vec::new(),
        shared: Vec::new(),
    };
    for stmt in body {
        cutter.stmt(stmt)?;
    }
    cutter.flush();
    Ok((cutter.shared, cutter.segments))
}

impl Cutter<'_> {
    pub(super) fn flush(&mut self) {
        if !self.run.is_empty() {
            let run = std::mem::take(&mut self.run);
            self.segments.push(Segment::Run(run));
        }
    }

    /// Whether the host can evaluate the expression.
    pub(super) fn known(&self, e: &Expr) -> bool {
        is_known(e, &self.host)
    }

    pub(super) fn stmt(&mut self, stmt: Stmt) -> Result<(), Refusal> {
        if let Stmt::Append { rooms, body } = stmt {
            self.flush();
            let known = |e: &Expr| self.known(e);
            if counted::is_counted(&rooms, &body) && counted::asks_once(&body, &known) {
                return self.counted(&rooms, body);
            }
            return self.append(rooms, body);
        }
        if let Stmt::Scan {
            array,
            count,
            op,
            total: None,
        } = stmt
        {
            return self.scan((array, count, op), None);
        }
        if matches!(stmt, Stmt::FailIf { .. }) {
            // With what was found out just before, as one launch that the host asks how it went.
            let mut body = std::mem::take(&mut self.run);
            body.push(stmt);
            let rooms = Vec::new();
            self.segments.push(Segment::Growth(Growth { rooms, body }));
            return Ok(());
        }
        let Some(stmt) = self.of_host(stmt)? else {
            return Ok(());
        };
        // One of several kernels, each with launches of its own.
        if matches!(&stmt, Stmt::If { cond, .. } if self.known(cond)) && has_regions(&stmt) {
            self.flush();
            return self.blocks(stmt);
        }
        if self.launches(&stmt) {
            self.flush();
            self.launch(stmt)?;
        } else {
            self.run.push(stmt);
        }
        Ok(())
    }

    /// Takes a statement that the host executes, wherever it stands; the others come back.
    fn of_host(&mut self, stmt: Stmt) -> Result<Option<Stmt>, Refusal> {
        if let Stmt::Let { var, init } = &stmt
            && !self.kernel.var(*var).mutable
            && self.known(init)
        {
            self.host.insert(*var);
            self.segments.push(Segment::Host(stmt));
        } else if let Stmt::Alloc { array, count, .. } = &stmt {
            if !self.known(count) {
                return Err(Refusal::new(
                    format!(
                        "the size of `{}` depends on data that lie on the device",
                        self.kernel.array(*array).name
                    ),
                    "`bound` the loop that it is as large as",
                ));
            }
            self.segments.push(Segment::Host(stmt));
        } else if let Stmt::Declare { array, count } = &stmt {
            self.shared.push(Segment::Host(Stmt::Alloc {
                array: *array,
                count: b::int(i64::try_from(*count).unwrap_or(i64::MAX)),
                zeroed: false,
            }));
        } else if matches!(stmt, Stmt::Free { .. } | Stmt::Trim { .. }) {
            // Memory of the device is given back by whoever gave it.
        } else if matches!(&stmt, Stmt::Assume { cond, found, .. } if self.known(cond) && self.known(found))
        {
            self.segments.push(Segment::Host(stmt));
        } else {
            return Ok(Some(stmt));
        }
        Ok(None)
    }

    /// Whether the statement is a launch of its own.
    fn launches(&self, stmt: &Stmt) -> bool {
        self.fills(stmt) || self.only_sets(stmt) || has_blocks(stmt)
    }

    fn launch(&mut self, stmt: Stmt) -> Result<(), Refusal> {
        if self.fills(&stmt) {
            self.segments.push(Segment::Fill(stmt));
        } else if self.only_sets(&stmt) {
            self.segments.push(Segment::Each(stmt));
        } else {
            self.blocks(stmt)?;
        }
        Ok(())
    }

    fn fills(&self, stmt: &Stmt) -> bool {
        matches!(stmt, Stmt::Fill { start, count, .. } if self.known(start) && self.known(count))
    }

    /// What appends is one launch, which is tried again as a whole; what can be done before is.
    fn append(&mut self, rooms: Vec<Room>, body: Vec<Stmt>) -> Result<(), Refusal> {
        let mut stmts = Vec::new();
        for stmt in body {
            stmts.extend(self.of_host(stmt)?.map(|stmt| (self.launches(&stmt), stmt)));
        }
        let mut own: BTreeSet<ArrayId> = rooms.iter().flat_map(|r| r.arrays.clone()).collect();
        for (_, stmt) in stmts.iter().filter(|(launches, _)| !launches) {
            own.extend(growth::written(std::slice::from_ref(stmt)));
        }
        let mut kept = Vec::new();
        for (launches, stmt) in stmts {
            if launches && growth::comes_first(&stmt, &kept, &own) {
                self.launch(stmt)?;
            } else if has_blocks(&stmt) {
                return Err(Refusal::new(
                    "a loop over blocks stands inside a loop that appends to a result",
                    "share out its iterations to threads, or store the result dense",
                ));
            } else {
                kept.push(stmt);
            }
        }
        self.segments
            .push(Segment::Growth(Growth { rooms, body: kept }));
        Ok(())
    }

    /// Whether the statement is a loop of the host whose iterations only set elements.
    fn only_sets(&self, stmt: &Stmt) -> bool {
        let Stmt::For {
            var,
            lo,
            hi,
            most: _,
            step: 1,
            tag,
            body,
        } = stmt
        else {
            return false;
        };
        let around: Vec<Around> = Around::of(stmt, &Definitions::new()).into_iter().collect();
        let own = (*var, tag.races_ignored);
        self.known(lo)
            && self.known(hi)
            && tag.gpu().is_none()
            && only_sets(body, own, &around, &Definitions::new())
            && self.stands_alone(*var, body)
    }

    /// Whether the body of a loop over `var` reads no variables but its own and the host's.
    fn stands_alone(&self, var: VarId, body: &[Stmt]) -> bool {
        let own = visit::declared(body);
        visit::read_vars(body)
            .iter()
            .all(|v| *v == var || own.contains(v) || self.host.contains(v))
    }

    /// A statement with loops over blocks.
    fn blocks(&mut self, mut stmt: Stmt) -> Result<(), Refusal> {
        if matches!(&stmt, Stmt::For { tag, .. } if tag.gpu().is_some()) {
            self.segments.push(Segment::Grid(vec![stmt]));
            return Ok(());
        }
        let mut known = !matches!(stmt, Stmt::While { .. });
        visit::own_exprs(&stmt, &mut |e| known &= self.known(e));
        if !known {
            return Err(Refusal::new(
                "a loop over blocks stands inside a loop that only the device can count",
                "bring the loop over blocks outside, or share out its iterations to threads",
            ));
        }
        let mut host = self.host.clone();
        host.extend(stmt.declares());
        let mut inner = Vec::new();
        for body in visit::bodies_mut(&mut stmt) {
            let body = std::mem::take(body);
            let (shared, segments) = cut_with(self.kernel, host.clone(), body)?;
            self.shared.extend(shared);
            inner.push(segments);
        }
        self.segments.push(Segment::Control(stmt, inner));
        Ok(())
    }
}

fn is_known(e: &Expr, host: &BTreeSet<VarId>) -> bool {
    let unknown = |v: &VarId| !host.contains(v);
    !e.any(|node| {
        matches!(&node.kind, ExprKind::Var(v) if unknown(v))
            || matches!(node.kind, ExprKind::Load { .. })
            // How many there are is known once launches have their sizes.
            || matches!(node.kind, ExprKind::Place(place) if place != Place::Threads)
    })
}

/// Whether a loop inside is shared out to blocks.
pub(super) fn has_blocks(stmt: &Stmt) -> bool {
    visit::any(
        std::slice::from_ref(stmt),
        &|s| matches!(s, Stmt::For { tag, .. } if tag.gpu().is_some_and(|unit| unit.level == GpuLevel::Block)),
    )
}

/// Whether something inside appends, or may fail.
fn has_regions(stmt: &Stmt) -> bool {
    let region = |s: &Stmt| matches!(s, Stmt::Append { .. } | Stmt::FailIf { .. });
    visit::any(std::slice::from_ref(stmt), &region)
}

/// What all launches of a kernel go by, and what they need together.
pub(super) struct Launches {
    /// Threads that exchange values without memory.
    pub lanes: u32,
    /// Arrays with a part for each unit, and how many units there are.
    pub rooms: BTreeMap<ArrayId, Expr>,
}

/// Turns a segment into host statements.
///
/// # Errors
/// See [`super::place`].
pub(super) fn place(
    kernel: &mut Kernel,
    segment: Segment,
    launches: &mut Launches,
    out: &mut Vec<Stmt>,
) -> Result<(), Refusal> {
    match segment {
        Segment::Host(stmt) => out.push(stmt),
        Segment::Run(body) | Segment::Grid(body) => {
            out.push(launch(kernel, body, out, launches)?);
        }
        Segment::Fill(stmt) => out.extend(fill(kernel, stmt)),
        Segment::Each(stmt) => out.extend(each(kernel, stmt)),
        Segment::Growth(growth) => {
            let (retry, prelude) = growth.place(kernel, launches, out)?;
            out.extend(prelude);
            out.push(Stmt::Device(Device::Retry(retry)));
        }
        Segment::Control(mut head, inner) => {
            for (body, segments) in visit::bodies_mut(&mut head).into_iter().zip(inner) {
                for segment in segments {
                    place(kernel, segment, launches, body)?;
                }
            }
            out.push(head);
        }
    }
    Ok(())
}

/// A launch that runs `body`.
///
/// # Errors
/// See [`super::place`].
pub(super) fn launch(
    kernel: &mut Kernel,
    body: Vec<Stmt>,
    before: &[Stmt],
    launches: &mut Launches,
) -> Result<Stmt, Refusal> {
    let vars = kernel.vars.clone();
    let mut known = definitions(&body, &|v| vars[v.index()].mutable);
    // What the host knows is no parameter of the sizes of a grid.
    let host = definitions(before, &|v| vars[v.index()].mutable);
    known.extend(host.iter().map(|(v, e)| (*v, e.clone())));
    let mut shape = Shape::of(&body, &known, launches.lanes);
    for e in &mut shape.grid {
        *e = inlined(e, &known);
    }
    let mut spmd = Spmd::new(kernel, shape, known);
    let mut body = spmd.run(body)?;
    super::vectors::promise(spmd.kernel, &spmd.known, &mut body);
    let (shape, used) = (spmd.shape.clone(), std::mem::take(&mut spmd.rooms));
    for (room, units) in used {
        let units = match launches.rooms.remove(&room) {
            Some(other) => b::max(other, units),
            None => units,
        };
        launches.rooms.insert(room, units);
    }
    Ok(Stmt::Device(Device::Launch {
        grid: shape.grid,
        block: shape.threads,
        body,
    }))
}

/// Whether the literal is zero.
pub(super) fn is_literal(e: &Expr, value: Literal) -> bool {
    matches!(e.kind, ExprKind::Literal(l) if l.same_value(value))
}
