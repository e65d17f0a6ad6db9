//! How accesses take the elements of a workspace apart: which loops, at which strides.

use super::Definitions;
use super::shape::Shape;
use crate::loops::build as b;
use crate::loops::ir::{ArrayId, Axis, Expr, ExprKind, Stmt, VarId};
use crate::loops::linear::Linear;
use crate::loops::visit;
use crate::units::GpuLevel;

/// A loop that a subscript of the workspace depends on.
#[derive(Clone, Debug)]
pub(super) struct Dim {
    pub var: VarId,
    pub stride: i64,
    pub extent: i64,
    /// Its iterations are threads along this axis.
    pub axis: Option<Axis>,
    /// One iteration for each thread at most.
    pub single: bool,
}

/// A loop around an access.
#[derive(Clone)]
pub(super) struct Around {
    var: VarId,
    /// It runs from 0 to at most this.
    extent: Option<i64>,
    axis: Option<Axis>,
}

/// The workspaces declared outside the loops over threads.
pub(super) fn of_block(body: &[Stmt]) -> Vec<ArrayId> {
    let mut found = Vec::new();
    for stmt in body {
        let of_threads = matches!(stmt, Stmt::For { tag, .. }
            if tag.gpu().is_some_and(|unit| unit.level != GpuLevel::Block));
        if let Stmt::Declare { array, .. } = stmt {
            found.push(*array);
        } else if !of_threads {
            for inner in visit::bodies(stmt) {
                found.extend(of_block(inner));
            }
        }
    }
    found
}

/// Where the array is declared and set to a literal right behind that, by a fill or by loops
/// that no units share: the statement's place, and the literal.
pub(super) fn start(body: &[Stmt], array: ArrayId) -> Option<(usize, Expr)> {
    let declares = |s: &Stmt| matches!(s, Stmt::Declare { array: a, .. } if *a == array);
    let at = body.iter().position(declares)? + 1;
    Some((at, literal_set(body.get(at)?, array)?))
}

/// The literal, where a nest of loops does nothing but set elements of the array to it.
fn literal_set(stmt: &Stmt, array: ArrayId) -> Option<Expr> {
    let literal = |e: &Expr| matches!(e.kind, ExprKind::Literal(_)).then(|| e.clone());
    if let Stmt::For { tag, body, .. } = stmt
        && tag.gpu().is_none()
        && let [inner] = body.as_slice()
    {
        return literal_set(inner, array);
    }
    if let Stmt::Store {
        array: set,
        op: None,
        value,
        atomic: false,
        ..
    }
    | Stmt::Fill {
        array: set, value, ..
    } = stmt
        && *set == array
    {
        return literal(value);
    }
    None
}

/// The accesses of an array in a launch but for its [`start`], each as its loops by ascending
/// strides; `None` where
/// one of them is no such sum, atomic, or made by another statement than a store.
pub(super) fn uses(
    shape: &Shape,
    known: &Definitions,
    array: ArrayId,
    body: &[Stmt],
) -> Option<Vec<Vec<Dim>>> {
    let mut uses = Some(Vec::new());
    Scan::new(shape, known, array).list(body, &mut uses);
    uses
}

/// A walk through the statements of a launch.
pub(super) struct Scan<'a> {
    shape: &'a Shape,
    known: &'a Definitions,
    pub array: ArrayId,
    around: Vec<Around>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(shape: &'a Shape, known: &'a Definitions, array: ArrayId) -> Scan<'a> {
        Scan {
            shape,
            known,
            array,
            around: Vec::new(),
        }
    }

    /// Whether the statement is a loop; [`Scan::leave`] it afterwards.
    pub(super) fn enter(&mut self, stmt: &Stmt) -> bool {
        let Stmt::For {
            var, lo, most, tag, ..
        } = stmt
        else {
            return false;
        };
        let extent = most.filter(|n| *lo == b::int(0) && *n > 0);
        let axis = tag.gpu().filter(|u| u.level == GpuLevel::Thread);
        self.around.push(Around {
            var: *var,
            extent,
            axis: axis.map(|u| u.axis),
        });
        true
    }

    pub(super) fn leave(&mut self) {
        self.around.pop();
    }

    /// Whether loops over threads along all axes are around.
    pub(super) fn of_thread(&self) -> bool {
        Axis::ALL.into_iter().all(|axis| {
            self.shape.threads[axis as usize] == 1
                || self.around.iter().any(|around| around.axis == Some(axis))
        })
    }

    /// How an access takes the elements apart, by ascending strides.
    pub(super) fn dims(&self, index: &Expr) -> Option<Vec<Dim>> {
        let mut sum = Linear::of(&super::inlined(index, self.known))?;
        let mut dims = Vec::new();
        for around in &self.around {
            let (stride, rest) = sum.split(around.var)?;
            sum = Linear::of(&rest)?;
            if stride == 0 {
                continue;
            }
            let extent = around.extent?;
            let threads = around.axis.map(|axis| self.shape.threads[axis as usize]);
            (stride > 0).then_some(())?;
            dims.push(Dim {
                var: around.var,
                stride,
                extent,
                axis: around.axis,
                single: threads.is_none_or(|threads| extent <= i64::from(threads)),
            });
        }
        (sum.as_constant()? == 0).then_some(())?;
        dims.sort_by_key(|dim| dim.stride);
        Some(dims)
    }

    fn list(&mut self, body: &[Stmt], uses: &mut Option<Vec<Vec<Dim>>>) {
        let skipped = start(body, self.array).map(|(at, _)| at);
        for (at, stmt) in body.iter().enumerate() {
            if Some(at) != skipped {
                self.stmt(stmt, uses);
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt, uses: &mut Option<Vec<Vec<Dim>>>) {
        visit::own_exprs(stmt, &mut |e| {
            visit::expr(e, &mut |node| {
                if let ExprKind::Load { array, index } = &node.kind
                    && *array == self.array
                {
                    add(self.dims(index), uses);
                }
            });
        });
        if let Stmt::Store {
            array,
            index,
            atomic,
            ..
        } = stmt
        {
            if *array == self.array {
                add(self.dims(index).filter(|_| !atomic), uses);
            }
        } else if !is_plain(stmt) && visit::arrays(stmt).contains(&self.array) {
            *uses = None;
        }
        let entered = self.enter(stmt);
        for inner in visit::bodies(stmt) {
            self.list(inner, uses);
        }
        if entered {
            self.leave();
        }
    }
}

/// Whether all that a statement does with an array's elements is to load them.
fn is_plain(stmt: &Stmt) -> bool {
    matches!(
        stmt,
        Stmt::Declare { .. }
            | Stmt::Let { .. }
            | Stmt::Assign { .. }
            | Stmt::For { .. }
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Assume { .. }
            | Stmt::FailIf { .. }
            | Stmt::Prefetch { .. }
    )
}

fn add(dims: Option<Vec<Dim>>, uses: &mut Option<Vec<Vec<Dim>>>) {
    match (dims, uses.as_mut()) {
        (Some(dims), Some(list)) => list.push(dims),
        (None, _) => *uses = None,
        (Some(_), None) => {}
    }
}
