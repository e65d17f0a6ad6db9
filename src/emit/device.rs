//! The text of kernels: what runs on the device.

use super::kernel::{Dialect, Printer, used_names};
use super::memory::Sorts;
use super::operators;
use super::types::{c_type, half};
use super::wrap::wrap_call;
use crate::loops::device::ir::{ReduceScope, Scope};
use crate::loops::ir::{ArrayId, Device, Expr, Kernel, ReduceOp, ScalarType, Stmt, VarId};
use crate::loops::operands::{ArrayUse, Operand};
use crate::loops::visit;
use std::collections::BTreeSet;

/// A kernel's text and what it is launched with.
pub(super) struct KernelText {
    pub text: String,
    /// In the order of its parameters.
    pub vars: Vec<VarId>,
    pub arrays: Vec<ArrayId>,
}

/// The `__global__` function that runs `body`, with what its compiler is told of its threads.
pub(super) fn kernel_function(
    kernel: &Kernel,
    name: &str,
    body: &[Stmt],
    bounds: &str,
) -> KernelText {
    let (mut vars, mut arrays) = used_names(body);
    let (own_vars, own_arrays) = (visit::declared(body), visit::declared_arrays(body));
    vars.retain(|v| !own_vars.contains(v));
    arrays.retain(|a| !own_arrays.contains(a));
    // What no thread of this launch writes is restricted, also where other launches write it: nvcc
    // then reads it through the read-only cache. Of what is written nothing may be said: a
    // barrier changes no memory that a restricted pointer alone leads to, as nvcc understands
    // it, and so threads would read before it what others have yet to write.
    let written = written(body);
    let mut printer = Printer::new(kernel);
    printer.dialect = Dialect::Device;
    printer.scopes.open();
    let mut params = Vec::new();
    for &var in &vars {
        let declared = kernel.var(var);
        let own = printer.scopes.fresh(&declared.name);
        printer.names[var.index()].clone_from(&own);
        params.push(format!("{} {own}", c_type(declared.ty)));
    }
    for &array in &arrays {
        let declared = kernel.array(array);
        let own = printer.scopes.fresh(&declared.name);
        printer.arrays[array.index()].clone_from(&own);
        let ty = c_type(declared.elem);
        params.push(if written.contains(&array) {
            format!("{ty} *{own}")
        } else {
            format!("const {ty} *SPARSEC_RESTRICT {own}")
        });
    }
    let list: Vec<&str> = params.iter().map(String::as_str).collect();
    let head = format!("static __global__ void {bounds} {name}(");
    printer.out = wrap_call(&head, &list, ") {");
    printer.out.push('\n');
    printer.indent = 1;
    printer.stmts(body);
    printer.out.push_str("}\n");
    KernelText {
        text: printer.out,
        vars: vars.into_iter().collect(),
        arrays: arrays.into_iter().collect(),
    }
}

/// The arrays that statements write, or give away a part of.
fn written(body: &[Stmt]) -> BTreeSet<ArrayId> {
    let mut found = BTreeSet::new();
    visit::stmts(body, &mut |stmt| {
        stmt.operands(&mut |operand| {
            if let Operand::Array(array, how) = operand
                && how != ArrayUse::Read
            {
                found.insert(*array);
            }
        });
    });
    found
}

/// The runtime's name of a reduction's operator.
fn operator(op: ReduceOp, ty: ScalarType) -> String {
    let logical = ty == ScalarType::Bool;
    let value = match op {
        ReduceOp::Add | ReduceOp::Max if logical => "sparsec_or()",
        ReduceOp::Mul | ReduceOp::Min if logical => "sparsec_and()",
        ReduceOp::Add => "sparsec_add()",
        ReduceOp::Mul => "sparsec_mul()",
        ReduceOp::Min => "sparsec_min()",
        ReduceOp::Max => "sparsec_max()",
        ReduceOp::And => "sparsec_and()",
        ReduceOp::Or => "sparsec_or()",
        ReduceOp::Own(own) => return format!("{}()", operators::functor(own)),
    };
    value.to_string()
}

impl Printer<'_> {
    /// `sparsec_atomic(&array[index], value, op)`
    pub(super) fn atomic_update(
        &self,
        array: ArrayId,
        index: &Expr,
        op: Option<ReduceOp>,
        value: &Expr,
    ) -> String {
        let elem = self.kernel.array(array).elem;
        let target = format!("{}[{}]", self.array(array), self.expr(index));
        match op {
            // Threads may set one byte, which is a race for the language if not for the machine.
            None if elem.is_integer() && elem.size() == 1 => {
                let value = self.expr(value);
                format!("sparsec_atomic(&{target}, {value}, sparsec_set());")
            }
            None => format!("{target} = {};", self.expr(value)),
            Some(op) => format!(
                "sparsec_atomic{}(&{target}, {}, {});",
                suffix(elem),
                self.expr(value),
                operator(op, elem)
            ),
        }
    }

    pub(super) fn device(&mut self, device: &Device) {
        match device {
            Device::Aligned { array, bytes } => {
                let name = self.array(*array).to_string();
                self.line(&format!("{name} = sparsec_aligned<{bytes}>({name});"));
            }
            Device::Barrier(Scope::Block) => self.line("__syncthreads();"),
            Device::Barrier(Scope::Lanes(lanes)) => {
                self.line(&format!("sparsec_sync_lanes<{lanes}>();"));
            }
            Device::Reduce { var, op, scope } => {
                let ty = self.kernel.var(*var).ty;
                let name = self.var(*var).to_string();
                let op = operator(*op, ty);
                let text = match scope {
                    ReduceScope::Lanes(lanes) => {
                        format!("{name} = sparsec_reduce_lanes<{lanes}>({name}, {op});")
                    }
                    ReduceScope::Strided {
                        scratch,
                        count,
                        stride,
                    } => format!(
                        "{name} = sparsec_reduce_strided<{count}, {stride}>({name}, {op}, {});",
                        self.array(*scratch)
                    ),
                };
                self.line(&text);
            }
            Device::SegmentStore {
                array,
                index,
                op,
                value,
                lanes,
            } => {
                let elem = self.kernel.array(*array).elem;
                let text = format!(
                    "sparsec_segment{}<{lanes}>({}, {}, {}, {});",
                    suffix(elem),
                    self.array(*array),
                    self.expr(index),
                    self.expr(value),
                    operator(*op, elem)
                );
                self.line(&text);
            }
            Device::Claim(claim) => {
                let [table, count, keys] = [claim.table, claim.count, claim.keys]
                    .map(|array| self.array(array).to_string());
                let places = claim
                    .places
                    .map_or("NULL", |places| self.array(places))
                    .to_string();
                let [slots, extent, key] =
                    [&claim.slots, &claim.extent, &claim.key].map(|e| self.expr(e));
                let name = claim.var.map(|var| self.declare(var));
                let declared = name.map_or(String::new(), |name| format!("int64_t {name} = "));
                let elem = c_type(self.kernel.array(claim.table).elem);
                self.line(&format!(
                    "{declared}sparsec_claim<{elem}>({table}, {slots}, {extent}, {key}, {count}, {keys}, {places});"
                ));
            }
            Device::Sort {
                coordinates,
                values,
                count,
                scratch,
            } => self.sort(coordinates, *values, count, Sorts::Together(*scratch)),
            // Of the host; it prints them itself.
            Device::Launch { .. } | Device::Retry(_) | Device::Scan(_) | Device::Fetch { .. } => {}
        }
    }
}

/// What the names of functions end in that work on elements of half width.
fn suffix(elem: ScalarType) -> String {
    half(elem).map_or(String::new(), |half| format!("_{half}"))
}
