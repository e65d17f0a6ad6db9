//! What a level stores where the values of a loop's variable lie in strides, and at a distance
//! (`graph/distance.rs`).

use super::access::AccessId;
use super::recover::Visit;
use super::{Lower, Lowerer};
use crate::graph::access::size_param;
use crate::graph::distance::stride;
use crate::graph::spans;
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, BinaryOp, Expr};
use crate::loops::linear;
use crate::program::ir::{self as program, VarId};
use crate::program::ranges::affine::affine;
use crate::program::ranges::size;

/// A stride from which on positions between two values are leapt over: below, stepping is as fast.
const FAR: i64 = 16;

/// The coordinates of a level that a loop walks: `stride * v + distance` for a value v of its variable.
#[derive(Clone, Debug)]
pub(super) struct Coordinates {
    /// None where all coordinates are zero.
    array: Option<ArrayId>,
    stride: i64,
    distance: Expr,
    /// No value is negative, so that quotients tell which one comes next.
    counts: bool,
}

impl Coordinates {
    /// The coordinate for a value of the variable.
    pub(super) fn of(&self, value: &Expr) -> Expr {
        if self.are_values() {
            return value.clone();
        }
        let strides = b::mul(value.clone(), b::int(self.stride));
        linear::add(&strides, &self.distance)
    }

    /// Whether values lie so far from each other that positions between them are leapt over.
    pub(super) fn are_far(&self) -> bool {
        self.counts && self.stride >= FAR
    }

    /// Sets `var` to the first of the positions from `lo` to `hi` of which the coordinate is not below that for a value
    /// of the loop's variable.
    pub(super) fn search(
        &self,
        var: ir::VarId,
        (lo, hi): (Expr, Expr),
        value: &Expr,
        by: ir::Look,
    ) -> ir::Stmt {
        let key = self.of(value);
        match self.array {
            Some(array) => ir::Stmt::Search {
                var,
                array,
                lo,
                hi,
                key,
                by,
            },
            None => {
                let passed = match self.stride {
                    1 => b::lt(linear::sub(&b::int(0), &self.distance), value.clone()),
                    _ => b::lt(b::int(0), key),
                };
                b::bind(var, b::select(passed, hi, lo))
            }
        }
    }

    /// Whether they are the values themselves.
    pub(super) fn are_values(&self) -> bool {
        self.stride == 1 && self.distance == b::int(0)
    }
}

impl Lowerer<'_> {
    /// The coordinates in `array`, seen from the values of the loop's variable.
    pub(super) fn coordinates_in(
        &self,
        (id, array): (AccessId, Option<ArrayId>),
        visit: Visit,
        out: &mut Vec<ir::Stmt>,
    ) -> Lower<Coordinates> {
        let subscript = self.walked_subscript(id, visit);
        let Some(stride) = stride(subscript, visit.root) else {
            return Err(self.unknown_tile(visit.root));
        };
        let distance = if subscript.as_var().is_some() {
            b::int(0)
        } else {
            // What is added is what is left where the variable is zero.
            let mut at_zero = visit.scope.clone();
            at_zero.coords.insert(visit.root, b::int(0));
            let added = linear::add(&self.value(subscript, &at_zero)?, &b::int(0));
            let name = self.level_name(id, visit.scope);
            match array {
                Some(_) => self.named(&format!("{name}_shift"), added, out),
                // It is where the one coordinate is.
                None => {
                    let at = linear::sub(&b::int(0), &added);
                    let at = self.named(&format!("at_{name}"), at, out);
                    linear::sub(&b::int(0), &at)
                }
            }
        };
        let counts = self.counts(visit.root);
        Ok(Coordinates {
            array,
            stride,
            distance,
            counts,
        })
    }

    /// Whether the level stores what a walk would leap over.
    pub(super) fn is_far(&self, id: AccessId, visit: Visit) -> bool {
        let own = stride(self.walked_subscript(id, visit), visit.root);
        own.is_some_and(|own| own >= FAR) && self.counts(visit.root)
    }

    /// Whether no value of the variable is negative.
    fn counts(&self, root: VarId) -> bool {
        let lo = &self.graph.var(root).range.lo;
        matches!(lo, program::Bound::Static(lo) if size::never_negative(lo))
    }

    /// The value of the variable at a position.
    pub(super) fn value_at(&self, coordinates: &Coordinates, pos: Expr) -> Expr {
        let along = self.along_at(coordinates, pos);
        match coordinates.stride {
            1 => along,
            stride => b::binary(BinaryOp::Div, along, b::int(stride)),
        }
    }

    /// What holds where a position has a value of the variable; none if each has one.
    pub(super) fn has_value(&self, coordinates: &Coordinates, pos: Expr) -> Option<Expr> {
        let rest = self.behind_stride(coordinates, pos)?;
        Some(b::eq(rest, b::int(0)))
    }

    /// What holds where a position has none.
    pub(super) fn has_none(&self, coordinates: &Coordinates, pos: Expr) -> Option<Expr> {
        let rest = self.behind_stride(coordinates, pos)?;
        Some(b::ne(rest, b::int(0)))
    }

    /// How far the coordinate at a position is behind that of a value, unless each has a value.
    fn behind_stride(&self, coordinates: &Coordinates, pos: Expr) -> Option<Expr> {
        let stride = (coordinates.stride != 1).then(|| b::int(coordinates.stride))?;
        let along = self.along_at(coordinates, pos);
        Some(b::binary(BinaryOp::Rem, along, stride))
    }

    /// The first value of the variable behind a position, if there may be many coordinates in between.
    pub(super) fn next_value(&self, coordinates: &Coordinates, pos: Expr) -> Option<Expr> {
        let stride = (coordinates.are_far()).then(|| b::int(coordinates.stride))?;
        let along = self.along_at(coordinates, pos);
        let value = b::binary(BinaryOp::Div, along, stride);
        Some(b::add(value, b::int(1)))
    }

    fn along_at(&self, coordinates: &Coordinates, pos: Expr) -> Expr {
        linear::sub(&self.stored_at(coordinates, pos), &coordinates.distance)
    }

    /// The coordinate that is stored at a position.
    pub(super) fn stored_at(&self, coordinates: &Coordinates, pos: Expr) -> Expr {
        let load = |array| self.load_index(array, pos);
        coordinates.array.map_or_else(|| b::int(0), load)
    }

    /// Whether nothing that the level stores lies in front of the variable's range, and whether nothing lies behind.
    pub(super) fn are_ends(&self, id: AccessId, visit: Visit) -> (bool, bool) {
        let subscript = self.walked_subscript(id, visit);
        let range = &self.graph.var(visit.root).range;
        let mut form = affine(subscript, &|tensor| size_param(self.tensor(tensor)));
        let factor = form
            .as_mut()
            .and_then(|form| form.terms.remove(&visit.root));
        let rest = form.and_then(|form| spans::ends_of(self.graph, form));
        let coordinate = |bound: &program::Bound, is_first: bool| {
            let program::Bound::Static(value) = bound else {
                return None;
            };
            let (least, most) = rest.clone()?;
            let rest = if is_first { most } else { least };
            Some(size::simplify(&size::add(
                size::mul(factor.clone()?, value.clone()),
                rest,
            )))
        };
        let access = &self.tree.table.get(id).access;
        let tensor = self.tensor(access.tensor);
        let extent = &tensor.dims[tensor.format.modes[visit.scope.cursors[id.0].level]];
        let reaches = |from: program::SizeExpr, to: &program::SizeExpr| {
            size::never_negative(&size::sub(to.clone(), from))
        };
        (
            coordinate(&range.lo, true).is_some_and(|lo| reaches(lo, &program::SizeExpr::Const(0))),
            coordinate(&range.hi, false).is_some_and(|hi| reaches(extent.clone(), &hi)),
        )
    }

    /// The subscript of the level that the loop walks.
    fn walked_subscript(&self, id: AccessId, visit: Visit) -> &program::Expr {
        let access = &self.tree.table.get(id).access;
        let mode = self.tensor(access.tensor).format.modes[visit.scope.cursors[id.0].level];
        &access.subscripts[mode]
    }
}
