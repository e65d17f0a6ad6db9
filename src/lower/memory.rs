//! What stands before all loops and behind them: memory that is made once, however often it is used.

use crate::loops::ir::{self, ArrayId, Expr};
use crate::program::ir::TensorId;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// The arrays of a workspace, and how many elements each has, or each thread's part of it.
type Rooms = Vec<(ArrayId, Expr)>;

/// Memory of a kernel's own.
#[derive(Debug, Default)]
pub(super) struct Memory {
    prelude: RefCell<Vec<ir::Stmt>>,
    postlude: RefCell<Vec<ir::Stmt>>,
    /// Arrays of workspaces that some block declares.
    declared: RefCell<BTreeSet<ArrayId>>,
    /// Where workspaces are, with a part for each thread or not.
    rooms: RefCell<BTreeMap<(TensorId, bool), Rooms>>,
}

impl Memory {
    /// A statement before all loops.
    pub fn first(&self, stmt: ir::Stmt) {
        self.prelude.borrow_mut().push(stmt);
    }

    /// An array that is freed behind all loops.
    pub fn freed(&self, array: ArrayId) {
        self.postlude.borrow_mut().push(ir::Stmt::Free { array });
    }

    /// An array that is there before all loops, until behind them.
    pub fn allocated(&self, array: ArrayId, count: Expr, zeroed: bool) {
        self.first(ir::Stmt::Alloc {
            array,
            count,
            zeroed,
        });
        self.freed(array);
    }

    /// Notes that a block declares an array. Gives whether one did before.
    pub fn declare(&self, array: ArrayId) -> bool {
        !self.declared.borrow_mut().insert(array)
    }

    /// The arrays of a workspace, if it has been given some.
    pub fn rooms(&self, workspace: (TensorId, bool)) -> Option<Rooms> {
        self.rooms.borrow().get(&workspace).cloned()
    }

    pub fn set_rooms(&self, workspace: (TensorId, bool), rooms: Rooms) {
        self.rooms.borrow_mut().insert(workspace, rooms);
    }

    /// What stands before all loops, and what behind them.
    pub fn finish(self) -> (Vec<ir::Stmt>, Vec<ir::Stmt>) {
        (self.prelude.into_inner(), self.postlude.into_inner())
    }
}
