//! Innermost loops that step from row to row of a dense operand, and the orders of the same loops
//! that step along the rows of all operands instead.
//!
//! `C(i,j) = A(i,k) * B(k,j)` without a schedule runs i, j, k, the sum in a variable, and reads B
//! down its columns: a cache line for each element, and no vectors. In the order i, k, j no
//! access steps further than to the next element.

use crate::graph::order::{is_sparse_driven, vars_in};
use crate::graph::{Graph, Nest};
use crate::program::ir::{Access, Expr, TensorId, VarId};

/// Loops and rows of so few elements are no matter: they fit into a cache line or two.
const FEW: i64 = 16;

/// An innermost loop that steps from row to row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strided {
    pub operand: TensorId,
    pub inner: VarId,
    /// Orders of the loops that step along rows, the nearest first. Nobody has asked yet
    /// whether they are allowed.
    pub orders: Vec<Vec<VarId>>,
}

/// Where a loop takes an access from one iteration to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Nowhere,
    /// To the next element, or nearly so.
    Next,
    /// To another row.
    Far,
    /// Data decide, or a subscript that is no plain variable.
    Unknown,
}

/// Whether the innermost loop of a nest without a schedule steps from row to row while other
/// orders would not.
#[must_use]
pub fn strided(graph: &Graph, nest: &Nest) -> Option<Strided> {
    let vars = nest.loop_vars();
    let (&inner, outer) = vars.split_last()?;
    let is_plain = |v: VarId| !is_few(graph, v) && !is_sparse_driven(graph, &nest.rhs, v);
    if !nest.producers.is_empty() || nest.joined > 0 || !is_plain(inner) {
        return None;
    }
    let accesses = nest.rhs.accesses();
    let operand = accesses
        .iter()
        .find(|access| step(graph, access, inner) == Step::Far)?
        .tensor;
    let along_rows = |v: &VarId| {
        let mut steps: Vec<Step> = accesses.iter().map(|a| step(graph, a, *v)).collect();
        steps.push(result_step(graph, nest, *v));
        let near = |s: &Step| matches!(s, Step::Nowhere | Step::Next);
        is_plain(*v) && steps.iter().all(near) && steps.contains(&Step::Next)
    };
    let orders = outer.iter().rev().copied().filter(along_rows).map(|v| {
        let others = vars.iter().copied().filter(|&other| other != v);
        others.chain([v]).collect()
    });
    let orders: Vec<Vec<VarId>> = orders.collect();
    (!orders.is_empty()).then_some(Strided {
        operand,
        inner,
        orders,
    })
}

fn is_few(graph: &Graph, var: VarId) -> bool {
    graph.most_extent(var).is_some_and(|n| n <= FEW)
}

fn step(graph: &Graph, access: &Access, var: VarId) -> Step {
    let holds = |subscript: &Expr| vars_in(subscript).contains(&var);
    let modes: Vec<usize> = (0..access.subscripts.len())
        .filter(|&mode| holds(&access.subscripts[mode]))
        .collect();
    match modes.as_slice() {
        [] => Step::Nowhere,
        &[mode] if access.subscripts[mode].as_var() == Some(var) => {
            step_of(graph, access.tensor, mode)
        }
        _ => Step::Unknown,
    }
}

fn result_step(graph: &Graph, nest: &Nest, var: VarId) -> Step {
    let mode = nest.lhs.iter().position(|&v| v == var);
    mode.map_or(Step::Nowhere, |mode| step_of(graph, nest.tensor, mode))
}

/// How far apart the elements are whose coordinates differ by one in this mode.
fn step_of(graph: &Graph, tensor: TensorId, mode: usize) -> Step {
    let tensor = graph.tensor(tensor);
    let format = &tensor.format;
    let Some(level) = format.modes.iter().position(|&m| m == mode) else {
        return Step::Unknown;
    };
    if !format.levels[level..].iter().all(|l| l.is_full()) {
        return Step::Unknown;
    }
    let length = format.modes[level + 1..]
        .iter()
        .try_fold(1i64, |product, &m| {
            product.checked_mul(graph.function.at_most(&tensor.dims[m])?)
        });
    if length.is_some_and(|n| n <= FEW) {
        Step::Next
    } else {
        Step::Far
    }
}

#[cfg(test)]
mod tests {
    use super::strided;
    use crate::diagnostic::Sources;
    use crate::graph::Graph;
    use crate::{program, syntax};
    use std::rc::Rc;

    /// Operand, innermost loop and orders: `B k: ikj`.
    fn found(text: &str) -> String {
        let mut sources = Sources::default();
        let file = sources.add("test.tc", text);
        let ast = syntax::parse(file, text).unwrap();
        let program = program::resolve(&[ast], &program::Options::default())
            .unwrap()
            .program;
        let graph = Graph::build(&Rc::new(program.functions[0].clone())).unwrap();
        let Some(strided) = strided(&graph, &graph.nests[0]) else {
            return String::new();
        };
        let name = |v: &_| graph.var(*v).name.clone();
        let orders: Vec<String> = (strided.orders.iter())
            .map(|order| order.iter().map(name).collect())
            .collect();
        let operand = &graph.tensor(strided.operand).name;
        format!("{operand} {}: {}", name(&strided.inner), orders.join(" "))
    }

    #[test]
    fn columns_are_found_where_rows_could_be_walked() {
        let gemm = |b: &str, format: &str| {
            found(&format!(
                "def f(double(M,K) A, {b}) -> (C) {{ C(i,j) = A(i,k) * B(k,j) }}\n{format}"
            ))
        };
        assert_eq!(gemm("double(K,N) B", ""), "B k: ikj");
        // B is stored by columns, rows of it are short, the loop is, the loop over rows is.
        assert_eq!(
            gemm(
                "double(K,N) B",
                "format f { B: {dense, dense} order (1,0) }"
            ),
            ""
        );
        assert_eq!(gemm("double(K,16) B", ""), "");
        assert_eq!(gemm("double(K,17) B", ""), "B k: ikj");
        let few = "def f(double(M,8) A, double(8,N) B) -> (C) { C(i,j) = A(i,k) * B(k,j) }";
        assert_eq!(found(few), "");
        // The result would be walked by columns instead.
        assert_eq!(
            gemm(
                "double(K,N) B",
                "format f { C: {dense, dense} order (1,0) }"
            ),
            ""
        );
        // Sparse rows are walked in the order of what they store.
        assert_eq!(gemm("double(K,N) B", "format f { A: csr }"), "");
    }

    #[test]
    fn a_transposition_has_no_better_order() {
        assert_eq!(found("def f(double(M,N) A) -> (B) { B(j,i) = A(i,j) }"), "");
        let sum = "def f(double(M,N) A, double(M) x) -> (y) { y(j) = A(i,j) * x(i) }";
        assert_eq!(found(sum), "A i: ij");
        let diagonal = "def f(double(N,N) A) -> (y) { y(i) = A(i,i) }";
        assert_eq!(found(diagonal), "");
    }

    #[test]
    fn of_several_orders_the_nearest_comes_first() {
        let two = "def f(double(K,I,J) B) -> (A) { A(i,j) = B(k,i,j) }";
        assert_eq!(found(two), "B k: ikj");
        let gathered = "def f(double(M,N) A, int(M) p) -> (y) { y(j) = A(p(i),j) }";
        assert_eq!(found(gathered), "");
    }
}
