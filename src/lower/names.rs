//! The variables and arrays of a kernel, and what they stand for. Lowering adds to them from
//! everywhere; nothing is ever taken back, so that a place in the loops may hold on to what it got.

use super::collect::Row;
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{self, Array, ArrayId, Expr, ScalarType, Storage, Var};
use crate::program::ir::TensorId;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The arrays of a tensor.
#[derive(Clone, Debug)]
pub(crate) struct Arrays {
    /// Those of each level, in the order of its type's roles.
    pub levels: Vec<Vec<(ArrayRole, ArrayId)>>,
    pub values: ArrayId,
}

/// What a kernel has names for.
#[derive(Debug, Default)]
pub(super) struct Names {
    vars: RefCell<Vec<Var>>,
    arrays: RefCell<Vec<Array>>,
    /// Scalars that live in variables: parameters, temporaries, workspaces of one value.
    scalars: RefCell<BTreeMap<TensorId, ir::VarId>>,
    storage: RefCell<BTreeMap<TensorId, Arrays>>,
    /// Workspaces that collect a row, as they are at hand.
    rows: RefCell<BTreeMap<TensorId, Row>>,
    /// Of a result with the coordinates of an operand: which operand, of how many levels.
    follows: RefCell<BTreeMap<TensorId, (TensorId, usize)>>,
}

impl Names {
    /// A variable of its own, however many are called so.
    pub fn fresh(&self, name: &str, ty: ScalarType, mutable: bool) -> ir::VarId {
        let mut vars = self.vars.borrow_mut();
        vars.push(Var {
            name: name.to_string(),
            ty,
            mutable,
        });
        ir::VarId::at(vars.len() - 1)
    }

    pub fn var(&self, var: ir::VarId) -> Var {
        self.vars.borrow()[var.index()].clone()
    }

    /// Calls a variable otherwise.
    pub fn rename(&self, var: ir::VarId, name: String) {
        self.vars.borrow_mut()[var.index()].name = name;
    }

    /// An array of its own.
    pub fn array(&self, name: &str, elem: ScalarType, storage: Storage) -> ArrayId {
        let mut arrays = self.arrays.borrow_mut();
        arrays.push(Array {
            name: name.to_string(),
            elem,
            storage,
        });
        ArrayId::at(arrays.len() - 1)
    }

    pub fn array_name(&self, array: ArrayId) -> String {
        self.arrays.borrow()[array.index()].name.clone()
    }

    /// The type of an array's elements.
    pub fn elem(&self, array: ArrayId) -> ScalarType {
        self.arrays.borrow()[array.index()].elem
    }

    /// `array[index]`
    pub fn load(&self, array: ArrayId, index: Expr) -> Expr {
        b::load(array, self.elem(array), index)
    }

    /// The variable in which a scalar lives.
    pub fn scalar(&self, tensor: TensorId) -> Option<ir::VarId> {
        self.scalars.borrow().get(&tensor).copied()
    }

    pub fn set_scalar(&self, tensor: TensorId, var: ir::VarId) {
        self.scalars.borrow_mut().insert(tensor, var);
    }

    /// The arrays of a tensor that is no variable.
    pub fn arrays(&self, tensor: TensorId) -> Option<Arrays> {
        self.storage.borrow().get(&tensor).cloned()
    }

    pub fn set_arrays(&self, tensor: TensorId, arrays: Arrays) {
        self.storage.borrow_mut().insert(tensor, arrays);
    }

    /// The same where the caller knows that it is none.
    pub fn stored(&self, tensor: TensorId) -> Arrays {
        self.storage.borrow()[&tensor].clone()
    }

    /// The array of such a tensor's values.
    pub fn values(&self, tensor: TensorId) -> ArrayId {
        self.storage.borrow()[&tensor].values
    }

    /// Lets an array hold a tensor's values from here on.
    pub fn set_values(&self, tensor: TensorId, values: ArrayId) {
        if let Some(arrays) = self.storage.borrow_mut().get_mut(&tensor) {
            arrays.values = values;
        }
    }

    /// Lets these arrays be the tensor's from here on: those of its only level, and its values.
    pub fn stand_in(&self, temp: TensorId, (role, array): (ArrayRole, ArrayId), values: ArrayId) {
        let mut storage = self.storage.borrow_mut();
        let Some(arrays) = storage.get_mut(&temp) else {
            return;
        };
        arrays.values = values;
        for (own, of_level) in &mut arrays.levels[0] {
            if *own == role {
                *of_level = array;
            }
        }
    }

    /// The row that a workspace collects here.
    pub fn row(&self, temp: TensorId) -> Option<Row> {
        self.rows.borrow().get(&temp).cloned()
    }

    pub fn set_row(&self, temp: TensorId, row: Row) {
        self.rows.borrow_mut().insert(temp, row);
    }

    /// The operand whose coordinates a result has, and of how many levels.
    pub fn followed(&self, result: TensorId) -> Option<(TensorId, usize)> {
        self.follows.borrow().get(&result).copied()
    }

    /// What a result follows from here on: nothing, if it has coordinates of its own.
    pub fn follow(&self, result: TensorId, operand: Option<(TensorId, usize)>) {
        let mut follows = self.follows.borrow_mut();
        match operand {
            Some(operand) => follows.insert(result, operand),
            None => follows.remove(&result),
        };
    }

    /// All variables and all arrays.
    pub fn finish(self) -> (Vec<Var>, Vec<Array>) {
        (self.vars.into_inner(), self.arrays.into_inner())
    }
}
