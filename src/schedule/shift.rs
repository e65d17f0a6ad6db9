//! `shift(i, n)`: the loop over i + n (002, 5.2).
//!
//! before: `forall(i, ...)`
//! after:  `forall(i, ...) suchthat shift(i, n)`
//!
//! The loop keeps its name and its number of iterations; its variable begins n further on (n may be
//! negative), and what the statement says of i it says of i - n. Where a sparse level is walked the
//! loop runs over its positions, and nothing is left to shift. Refused: i counts positions; n is
//! too large.

use super::arguments::{Arguments, renamed};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::relation::Shift;
use crate::graph::{Graph, Relation};

const USAGE: &str = "shift(i, 2)";

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    arguments.expect_count(2, USAGE)?;
    let parent = arguments.loop_var(&graph, 0)?;
    arguments.expect_open(&graph, parent)?;
    if graph.provenance.position_of(parent).is_some() {
        return Err(Diagnostic::error(
            codes::POSITION_SPACE,
            arguments.expr(0)?.span,
            format!("`{}` counts positions", graph.var(parent).name),
            "cannot be shifted",
        )
        .with_help("shift the coordinates first, then take their positions with `pos`"));
    }
    let by = arguments.whole(1)?;
    let child = renamed(&mut graph, parent);
    graph.relate(Relation::Shift(Shift { parent, child, by }));
    Ok(graph)
}
