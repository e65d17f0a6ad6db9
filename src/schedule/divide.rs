//! `divide(i, i0, i1, n)`: the range of i in n equal parts (000, 5.6).
//!
//! before: `forall(i, ...)`
//! after:  `forall(i0, forall(i1, ...)) suchthat divide(i, i0, i1, n)`
//!
//! i0 runs over the n parts, i1 within one; a part has ceil(extent / n) values, the
//! last ones fewer or none. Refused: n < 1; i has no loop; i0 or i1 is not new.

use super::arguments::{Arguments, new_var, replace_loops};
use super::parallelize;
use crate::diagnostic::Diagnostic;
use crate::graph::relation::Divide;
use crate::graph::{Graph, Relation};

const USAGE: &str = "divide(i, i0, i1, 8)";

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    arguments.expect_count(4, USAGE)?;
    let parent = arguments.loop_var(&graph, 0)?;
    arguments.expect_open_or_parallel(&graph, parent)?;
    let (outer, inner) = (arguments.name(1)?, arguments.name(2)?);
    let parts = arguments.positive(3)?;
    let outer = new_var(&mut graph, &outer)?;
    let inner = new_var(&mut graph, &inner)?;
    replace_loops(&mut graph, parent, &[outer, inner]);
    graph.relate(Relation::Divide(Divide {
        parent,
        outer,
        inner,
        parts,
    }));
    parallelize::check_parts(&graph, inner, arguments)?;
    Ok(graph)
}
