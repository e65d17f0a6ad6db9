//! `split(i, i0, i1, n)`: i = i0 * n + i1 with i1 < n (000, 5.5).
//!
//! before: `forall(i, ...)`
//! after:  `forall(i0, forall(i1, ...)) suchthat split(i, i0, i1, n)`
//!
//! Known elsewhere as strip-mining. Refused: n < 1; i has no loop; i0 or i1 is not
//! new. A data-dependent range is split like a static one: the outer extent is
//! computed where the range is known. Positions are split like coordinates.

use super::arguments::{Arguments, new_var, replace_loops};
use super::parallelize;
use crate::diagnostic::Diagnostic;
use crate::graph::relation::Split;
use crate::graph::{Graph, Relation};
use crate::program::ir::VarId;
use crate::syntax::ast::Ident;

const USAGE: &str = "split(i, i0, i1, 32)";

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    arguments.expect_count(4, USAGE)?;
    let parent = arguments.loop_var(&graph, 0)?;
    arguments.expect_open_or_parallel(&graph, parent)?;
    let (outer, inner) = (arguments.name(1)?, arguments.name(2)?);
    let factor = arguments.positive(3)?;
    let (_, inner) = split(&mut graph, parent, &outer, &inner, factor)?;
    parallelize::check_parts(&graph, inner, arguments)?;
    Ok(graph)
}

/// Splits a loop variable; returns the outer and the inner one.
///
/// # Errors
/// A name is not new.
pub fn split(
    graph: &mut Graph,
    parent: VarId,
    outer: &Ident,
    inner: &Ident,
    factor: i64,
) -> Result<(VarId, VarId), Diagnostic> {
    let outer = new_var(graph, outer)?;
    let inner = new_var(graph, inner)?;
    replace_loops(graph, parent, &[outer, inner]);
    graph.relate(Relation::Split(Split {
        parent,
        outer,
        inner,
        factor,
    }));
    Ok((outer, inner))
}
