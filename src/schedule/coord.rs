//! `coord(p, c)`: back from positions to coordinates (000, 5.2).
//!
//! before: `forall(p, ...) suchthat pos(i, p, A(i,j))`
//! after:  `forall(c, ...) suchthat pos(i, p, A(i,j)) and coord(p, c)`
//!
//! Refused: p is in coordinate space already; p is a part of a split.

use super::arguments::{Arguments, new_var, replace_loops};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::{Graph, Relation};

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    arguments.expect_count(2, "coord(p, c)")?;
    let parent = arguments.loop_var(&graph, 0)?;
    arguments.expect_open(&graph, parent)?;
    let here = arguments.expr(0)?.span;
    let name = graph.var(parent).name.clone();
    if graph.provenance.position_of(parent).is_none() {
        return Err(Diagnostic::error(
            codes::POSITION_SPACE,
            here,
            format!("`{name}` is in coordinate space already"),
            "counts coordinates",
        )
        .with_help("`pos(i, p, A(i,j))` leads to positions"));
    }
    if !matches!(
        graph.provenance.producer(parent),
        Some(Relation::Pos { .. })
    ) {
        return Err(Diagnostic::error(
            codes::UNSUPPORTED_COMMAND,
            here,
            format!("the coordinates of a part of the positions (`{name}`) are not supported yet"),
            "a part of a split",
        )
        .with_help("go back to coordinates before the split"));
    }
    let coord = new_var(&mut graph, &arguments.name(1)?)?;
    replace_loops(&mut graph, parent, &[coord]);
    graph.relate(Relation::Coord { parent, coord });
    Ok(graph)
}
