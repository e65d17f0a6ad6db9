//! `unroll(i, n)`: n iterations of the loop at a time (000, 5.9).
//!
//! before: `forall(i, ...)`
//! after:  `forall(i, ..., Unroll(n))`
//!
//! Without n the whole loop is unrolled, which needs a constant number of iterations. A
//! loop whose number of iterations is not a multiple of n gets a rest loop. May follow
//! `parallelize`. Refused: n < 1; i has no loop.

use super::arguments::Arguments;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::Graph;
use crate::program::ir::SizeExpr;

const USAGE: &str = "unroll(i, 4)";

/// The most copies of a loop body.
const MOST: i64 = 1024;

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    if arguments.args.len() != 1 {
        arguments.expect_count(2, USAGE)?;
    }
    let var = arguments.loop_var(&graph, 0)?;
    let name = graph.var(var).name.clone();
    let (count, span) = if arguments.args.len() == 1 {
        let Some(SizeExpr::Const(count)) = graph.extent(var) else {
            return Err(Diagnostic::error(
                codes::BAD_NUMBER,
                arguments.span,
                format!("`{name}` has no constant number of iterations"),
                "cannot be unrolled wholly",
            )
            .with_help(format!(
                "`split` it first, or say how far: `unroll({name}, 4)`"
            )));
        };
        (count, arguments.span)
    } else {
        (arguments.positive(1)?, arguments.expr(1)?.span)
    };
    let factor = u32::try_from(count).ok().filter(|_| count <= MOST);
    let Some(factor) = factor else {
        return Err(Diagnostic::error(
            codes::BAD_NUMBER,
            span,
            format!("{count} copies of a loop body are too many"),
            format!("at most {MOST}"),
        )
        .with_help("unroll by less, or `split` the loop and unroll the inner part"));
    };
    for nest in &mut graph.nests {
        nest.visit_mut(&mut |part| {
            for l in part.loops.iter_mut().filter(|l| l.var == var) {
                l.tag.unroll = Some(factor);
            }
        });
    }
    let name = crate::graph::print::var_text(&graph, var);
    graph.script.push(format!("unroll({name}, {factor})"));
    Ok(graph)
}
