//! Statements that stand twice in a kernel, once for full tiles and once for the rest.

use super::build as b;
use super::ir::{ArrayId, Expr, Kernel, Stmt, Var, VarId};
use super::visit;
use std::collections::BTreeMap;

/// The statements with variables and arrays of their own.
pub fn copied(kernel: &mut Kernel, stmts: &[Stmt]) -> Vec<Stmt> {
    let mut new_vars: BTreeMap<VarId, VarId> = BTreeMap::new();
    for var in visit::declared(stmts) {
        let copy = kernel.vars[var.index()].clone();
        new_vars.insert(var, kernel.add_var(copy));
    }
    let mut new_arrays: BTreeMap<ArrayId, ArrayId> = BTreeMap::new();
    for array in visit::declared_arrays(stmts) {
        let copy = kernel.arrays[array.index()].clone();
        new_arrays.insert(array, kernel.add_array(copy));
    }
    let mut copy = stmts.to_vec();
    visit::rename(
        &mut copy,
        &|v| new_vars.get(&v).copied().unwrap_or(v),
        &|a| new_arrays.get(&a).copied().unwrap_or(a),
    );
    copy
}

/// A variable for where the full tiles of a loop end.
pub fn end_of_full(kernel: &mut Kernel, var: VarId) -> (VarId, Expr) {
    let Var { name, ty, .. } = &kernel.vars[var.index()];
    let (name, ty) = (format!("{name}_full"), *ty);
    let id = kernel.fresh_var(&name, ty, false);
    (id, b::var(id, ty))
}
