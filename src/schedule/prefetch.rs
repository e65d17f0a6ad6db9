//! `prefetch(A, v, n)`: memory is asked for before it is needed.
//!
//! before: `forall(v, ... A ...)`
//! after:  `forall(v, ... A ..., Prefetch(A, n))`
//!
//! Each iteration of v fetches what A stores n elements behind the first one that it reads:
//! values, and coordinates where A has them. Pays where rows are short and many, as the
//! processor then sees no stream that it could follow by itself. Refused: a GPU (its threads
//! hide latency themselves); n < 1; no statement reads A inside v; v runs in lanes
//! ([`super::tree`]). Where the first element is not known as the iteration begins there is no
//! hint, and a note says so.

use super::arguments::Arguments;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::print::var_text;
use crate::graph::{Fetch, Graph, Nest};
use crate::program::ir::{Role, TensorId, VarId};

const USAGE: &str = "prefetch(A, i, 512)";

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    arguments.expect_count(3, USAGE)?;
    let name = arguments.name(0)?;
    let var = arguments.loop_var(&graph, 1)?;
    arguments.expect_open(&graph, var)?;
    let ahead = arguments.positive(2)?;
    if !arguments.target.properties().fetches {
        return Err(Diagnostic::error(
            codes::UNSUPPORTED_COMMAND,
            arguments.span,
            "`prefetch` has no form on a GPU",
            "for the C target",
        )
        .with_help("leave it out: other warps run while one waits for memory"));
    }
    let read = operands(&graph, &name.name, var);
    if read.is_empty() {
        return Err(arguments.wrong(
            name.span,
            format!("no statement reads `{}` inside that loop", name.name),
            USAGE,
        ));
    }
    let span = arguments.span;
    let fetches: Vec<Fetch> = read
        .into_iter()
        .map(|tensor| Fetch {
            tensor,
            ahead,
            span,
        })
        .collect();
    for nest in &mut graph.nests {
        nest.visit_mut(&mut |part| {
            for l in part.loops.iter_mut().filter(|l| l.var == var) {
                l.tag.fetches.extend(fetches.iter().cloned());
            }
        });
    }
    let loop_name = var_text(&graph, var);
    graph
        .script
        .push(format!("prefetch({}, {loop_name}, {ahead})", name.name));
    Ok(graph)
}

/// What the program calls so and statements read inside the loop: the operand, or copies of it in another order.
fn operands(graph: &Graph, name: &str, var: VarId) -> Vec<TensorId> {
    let read_by = |wanted: &dyn Fn(&Nest) -> bool| -> Vec<TensorId> {
        let tensors = (0..graph.tensors.len()).map(TensorId::at);
        let is_read = |&id: &TensorId| {
            let tensor = graph.tensor(id);
            let is_operand = tensor.role != Role::Temporary || graph.copied(id).is_some();
            let mut nests = graph.nests.iter().filter(|nest| wanted(nest));
            is_operand
                && graph.is_called(id, name)
                && !tensor.dims.is_empty()
                && nests.any(|nest| reads(nest, id, var))
        };
        tensors.filter(is_read).collect()
    };
    let own = read_by(&|nest| !graph.makes_copy(nest));
    match own.is_empty() {
        true => read_by(&|_| true),
        false => own,
    }
}

/// Whether the nest has a loop over the variable and reads the tensor.
fn reads(nest: &Nest, tensor: TensorId, var: VarId) -> bool {
    let mut inside = false;
    nest.visit(&mut |part| inside |= part.loops.iter().any(|l| l.var == var));
    inside && nest.reads(tensor)
}
