//! Scalars and elements that are numbers whatever comes: they start as one, and take only minima and maxima, which
//! leave out what is none.

use super::ir::{ArrayId, Expr, ExprKind, Kernel, ReduceOp, Stmt, VarId};
use super::operands::{Operand, VarUse};
use super::visit;
use std::collections::BTreeSet;

/// The float variables of a kernel that are never NaN by this.
#[must_use]
pub fn numbers(kernel: &Kernel) -> BTreeSet<VarId> {
    let (mut starts, mut others) = (BTreeSet::new(), BTreeSet::new());
    visit::stmts(&kernel.body, &mut |stmt| {
        // (A loop's own variable is no float, and what it reduces is set where it is combined.)
        let takes = matches!(
            stmt,
            Stmt::For { .. }
                | Stmt::Assign {
                    op: Some(ReduceOp::Min | ReduceOp::Max),
                    ..
                }
        );
        let known = matches!(stmt, Stmt::Let { init: value, .. } | Stmt::Assign { op: None, value, .. } if is_number(value));
        stmt.operands(&mut |operand| {
            if let (Operand::Var(var, VarUse::Declare | VarUse::Assign), false) = (operand, takes) {
                let into = if known { &mut starts } else { &mut others };
                into.insert(*var);
            }
        });
    });
    let floats = starts.difference(&others).copied();
    floats
        .filter(|var| kernel.var(*var).ty.is_float())
        .collect()
}

/// The float arrays of constant size whose elements are never NaN by this.
#[must_use]
pub fn number_arrays(kernel: &Kernel) -> BTreeSet<ArrayId> {
    let (mut declared, mut others) = (BTreeSet::new(), BTreeSet::new());
    visit::stmts(&kernel.body, &mut |stmt| {
        if let Stmt::Declare { array, .. } = stmt {
            declared.insert(*array);
            return;
        }
        let takes = matches!(
            stmt,
            Stmt::Store {
                op: Some(ReduceOp::Min | ReduceOp::Max),
                ..
            }
        );
        let starts = matches!(stmt, Stmt::Store { op: None, value, .. } | Stmt::Fill { value, .. } if is_number(value));
        // What else names an array may write to it.
        stmt.operands(&mut |operand| {
            if let (Operand::Array(array, _), false) = (operand, takes || starts) {
                others.insert(*array);
            }
        });
    });
    let floats = declared.difference(&others).copied();
    floats
        .filter(|array| kernel.array(*array).elem.is_float())
        .collect()
}

fn is_number(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Literal(value) if !value.as_f64().is_nan())
}

#[cfg(test)]
mod tests {
    use super::{number_arrays, numbers};
    use crate::loops::text;

    #[test]
    fn what_else_an_element_takes_may_be_no_number() {
        let kernel = text::read(
            "kernel f\n  var i: int64\n  array most, sum, own: double local\n  array x: double input\n\
             body\n  declare most[4]\n  declare sum[4]\n  for i in 0..4\n    most[i] = -inf\n    \
             most[i] max= x[i]\n    sum[i] = 0.0\n    sum[i] += x[i]\n  own[0] = 0.0\n",
        );
        let kernel = kernel.expect("a kernel");
        let names: Vec<&str> = number_arrays(&kernel)
            .into_iter()
            .map(|array| kernel.array(array).name.as_str())
            .collect();
        assert_eq!(names, ["most"]);
    }

    #[test]
    fn what_else_a_scalar_takes_may_be_no_number() {
        let kernel = text::read(
            "kernel f\n  var i: int64\n  var least, most, sum, from, nan: double mut\n  array x: double input\nbody\n  \
             let least = inf\n  let most = 0.0\n  let sum = 0.0\n  let from = x[0]\n  let nan = NaN\n  \
             for i in 0..9\n    least min= x[i]\n    most max= x[i]\n    most = 1.5\n    sum min= x[i]\n    \
             sum += 1.0\n    from min= x[i]\n    nan max= x[i]\n",
        );
        let kernel = kernel.expect("a kernel");
        let names: Vec<&str> = numbers(&kernel)
            .into_iter()
            .map(|var| kernel.var(var).name.as_str())
            .collect();
        assert_eq!(names, ["least", "most"]);
    }
}
