//! Statements that stand twice in a kernel, once for full tiles and once for the rest.

use super::build as b;
use super::ir::{ArrayId, Expr, Kernel, Stmt, Var, VarId};
use super::visit;
use std::collections::BTreeMap;

/// The statements with variables and arrays of their own.
pub fn copied(kernel: &mut Kernel, stmts: &[Stmt]) -> Vec<Stmt> {
    let mut new_vars: BTreeMap<VarId, VarId> = BTreeMap::new();
    for var in visit::declared(stmts) {
        let copy = kernel.vars[var.0 as usize].clone();
        new_vars.insert(var, new_var(kernel, copy));
    }
    let mut new_arrays: BTreeMap<ArrayId, ArrayId> = BTreeMap::new();
    for array in visit::declared_arrays(stmts) {
        let copy = kernel.arrays[array.0 as usize].clone();
        kernel.arrays.push(copy);
        let new = u32::try_from(kernel.arrays.len() - 1).unwrap_or(u32::MAX);
        new_arrays.insert(array, ArrayId(new));
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
    let Var { name, ty, .. } = &kernel.vars[var.0 as usize];
    let (name, ty) = (format!("{name}_full"), *ty);
    let mutable = false;
    let id = new_var(kernel, Var { name, ty, mutable });
    (id, b::var(id, ty))
}

fn new_var(kernel: &mut Kernel, var: Var) -> VarId {
    kernel.vars.push(var);
    VarId(u32::try_from(kernel.vars.len() - 1).unwrap_or(u32::MAX))
}
