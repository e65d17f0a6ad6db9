//! `coord(p, c)`: back from positions to coordinates (000, 5.2).
//!
//! before: `forall(p, ...) suchthat pos(i, p, A(i,j))`
//! after:  `forall(c, ...) suchthat pos(i, p, A(i,j)) and coord(p, c)`
//!
//! Of a tile of positions (the inner part of a split), c runs over the coordinates from the tile's
//! first element to its last: tiles hold equally many elements of A, and inside of them other
//! operands are met at coordinates. Refused: p is in coordinate space already; p is an outer part
//! of a split; the tile is not known outside; a workspace holds an element for each position.

use super::arguments::{Arguments, new_var, replace_loops};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::order::vars_in;
use crate::graph::relation::{Coord, Pos};
use crate::graph::{Graph, Relation};
use crate::program::ir::{TensorId, VarId};

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
    let Some(&Pos { pos, .. }) = graph.provenance.position_of(parent) else {
        return Ok(graph);
    };
    if !graph.provenance.is_innermost_part(parent, pos) {
        return Err(Diagnostic::error(
            codes::POSITION_SPACE,
            here,
            format!("positions `{name}` do not follow one another"),
            "an outer part of a split",
        )
        .with_help("take the coordinates of the inner part: of a tile of positions"));
    }
    if let Some(workspace) = at_positions(&graph, parent) {
        return Err(Diagnostic::error(
            codes::POSITION_SPACE,
            here,
            format!(
                "`{}` holds an element for each position, but not for each coordinate",
                graph.tensor(workspace).name
            ),
            "coordinates in between are not stored",
        )
        .with_help("leave the positions, or give `coord` before `precompute` or `promote`"));
    }
    let coord = new_var(&mut graph, &arguments.name(1)?)?;
    replace_loops(&mut graph, parent, &[coord]);
    graph.relate(Relation::Coord(Coord { parent, coord }));
    Ok(graph)
}

/// A workspace that these positions, or those that they are a part of, subscript.
fn at_positions(graph: &Graph, parent: VarId) -> Option<TensorId> {
    let mut positions = graph.provenance.ancestors(parent);
    positions.retain(|&v| graph.provenance.position_of(v).is_some());
    let mut found = None;
    graph.visit_nests(&mut |nest| {
        if graph.workspaces.contains(&nest.tensor) && nest.lhs.iter().any(|v| positions.contains(v))
        {
            found = Some(nest.tensor);
        }
        for access in nest.rhs.accesses() {
            if graph.workspaces.contains(&access.tensor)
                && (access.subscripts.iter().flat_map(vars_in)).any(|v| positions.contains(&v))
            {
                found = Some(access.tensor);
            }
        }
    });
    found
}
