//! A level in a kernel: its arrays and extent, from which level types make expressions.

use super::{ArrayRole, LevelType};
use crate::loops::build as b;
use crate::loops::ir::{ArrayId, Expr, ScalarType};
use std::ops::Range;

/// Where positions have their parents.
#[derive(Clone, Debug)]
pub enum Parents<T> {
    /// Arithmetic tells.
    Known(T),
    /// The last one of which the elements begin at the position or before: to be searched in this
    /// array, which ascends.
    Searched(ArrayId),
}

/// The arrays of a level, with the type of their elements, and the extent of what it stores.
#[derive(Clone)]
pub struct InKernel {
    ty: &'static dyn LevelType,
    arrays: Vec<(ArrayRole, ArrayId, ScalarType)>,
    extent: Expr,
}

impl InKernel {
    #[must_use]
    pub fn new(
        ty: &'static dyn LevelType,
        arrays: Vec<(ArrayRole, ArrayId, ScalarType)>,
        extent: Expr,
    ) -> Self {
        InKernel { ty, arrays, extent }
    }

    /// The array of a role, if the level keeps one.
    #[must_use]
    pub fn array(&self, role: ArrayRole) -> Option<ArrayId> {
        let mut arrays = self.arrays.iter();
        arrays.find(|(own, ..)| *own == role).map(|(_, id, _)| *id)
    }

    /// The extent of the dimension that it stores.
    #[must_use]
    pub fn extent(&self) -> Expr {
        self.extent.clone()
    }

    /// An element of an array that its type keeps, widened to `I64`.
    #[must_use]
    pub fn load(&self, role: ArrayRole, at: Expr) -> Expr {
        b::cast(ScalarType::I64, self.element(role, at))
    }

    /// An element of an array that its type keeps.
    #[must_use]
    pub fn element(&self, role: ArrayRole, at: Expr) -> Expr {
        let found = self.arrays.iter().find(|(own, ..)| *own == role);
        debug_assert!(found.is_some(), "{} keeps no {role:?}", self.ty.word());
        found.map_or_else(|| b::int(0), |&(_, array, elem)| b::load(array, elem, at))
    }

    /// [`LevelType::below`]
    #[must_use]
    pub fn below(&self, parents: Range<Expr>) -> Range<Expr> {
        self.ty.below(self, parents)
    }

    /// The number of positions below so many parents, the first ones.
    #[must_use]
    pub fn size(&self, parents: Expr) -> Expr {
        self.below(b::int(0)..parents).end
    }

    /// [`LevelType::parent`]
    #[must_use]
    pub fn parent(&self, position: Expr) -> Parents<Expr> {
        self.ty.parent(self, position)
    }

    /// [`LevelType::parents`]
    #[must_use]
    pub fn parents(&self, positions: Range<Expr>) -> Parents<Range<Expr>> {
        self.ty.parents(self, positions)
    }

    /// [`LevelType::coordinate`]
    #[must_use]
    pub fn coordinate(&self, parent: Expr, position: Expr) -> Expr {
        self.ty.coordinate(self, parent, position)
    }

    /// [`LevelType::locate`]
    #[must_use]
    pub fn locate(&self, parent: Expr, coordinate: Expr) -> Option<Expr> {
        self.ty.locate(self, parent, coordinate)
    }

    /// [`LevelType::present`]
    #[must_use]
    pub fn present(&self, position: Expr) -> Option<Expr> {
        self.ty.present(self, position)
    }
}
