//! `starts(v, before | inside)`: where the rows are found in which tiles of positions begin.
//!
//! before and after: the same loops.
//!
//! A tile of positions begins somewhere inside a row, which is searched among all rows: by
//! whoever runs the tile (`inside`, as without the command), or for the tiles of v by a loop of
//! its own `before` (on GPUs a kernel, one thread for each tile), after which the parts of a tile
//! search between its row and that of the next one only (000, figure 2-2). Refused: v is not
//! the outer part of split positions, these are those of one level, or they are counted anew in
//! each iteration of a loop outside.

use super::arguments::Arguments;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::print::var_text;
use crate::graph::relation::Pos;
use crate::graph::{Graph, Starts};
use crate::level::ArrayRole;
use crate::program::ir::VarId;

const USAGE: &str = "starts(block, before)";

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    arguments.expect_count(2, USAGE)?;
    let tile = arguments.loop_var(&graph, 0)?;
    arguments.expect_open(&graph, tile)?;
    let how = arguments.name(1)?;
    let before = match how.name.to_ascii_lowercase().as_str() {
        "before" => true,
        "inside" => false,
        _ => {
            let message = "expected before or inside".to_string();
            return Err(arguments.wrong(how.span, message, USAGE));
        }
    };
    let pos = tiled_positions(&graph, tile).map_err(|why| {
        Diagnostic::error(
            codes::STARTS,
            arguments.span,
            format!("no rows are searched for `{}`", graph.var(tile).name),
            why,
        )
        .with_help("name the outer part of fused positions right after they were split")
    })?;
    graph.starts.retain(|starts| starts.tile != tile);
    if before {
        graph.starts.push(Starts {
            pos,
            tile,
            span: arguments.span,
        });
    }
    let (name, how) = (var_text(&graph, tile), how.name.to_ascii_lowercase());
    graph.script.push(format!("starts({name}, {how})"));
    Ok(graph)
}

/// The positions that `tile` counts the tiles of, if their rows are searched.
fn tiled_positions(graph: &Graph, tile: VarId) -> Result<VarId, &'static str> {
    let no_tile = "is no outer part of split positions";
    let Some(parts) = graph.provenance.tiles(tile).filter(|t| t.outer == tile) else {
        return Err(no_tile);
    };
    // Something may have been said of all positions, but tiles of tiles are none.
    let Some(Pos {
        parent,
        pos,
        access,
        ..
    }) = graph.provenance.position_of(parts.whole)
    else {
        return Err(no_tile);
    };
    let pos = *pos;
    if tiles_between(graph, parts.whole, pos) {
        return Err(no_tile);
    }
    let roots = graph.provenance.coordinates(*parent);
    let format = &graph.tensor(access.tensor).format;
    let first = roots.first().and_then(|&root| graph.level_of(access, root));
    let levels = format.levels.iter().enumerate();
    let searched = levels
        .skip(first.unwrap_or(0) + 1)
        .take(roots.len().saturating_sub(1))
        .any(|(_, level)| level.has(ArrayRole::Positions));
    if !searched {
        return Err("its positions have rows by arithmetic, or none");
    }
    if first != Some(0) || graph.provenance.is_inner_part(*parent) {
        return Err("its positions are counted anew in each iteration of a loop outside");
    }
    Ok(pos)
}

/// Whether `var` is only a tile of the positions `pos`.
fn tiles_between(graph: &Graph, var: VarId, pos: VarId) -> bool {
    let made = graph.provenance.producer(var).filter(|_| var != pos);
    made.is_some_and(|made| {
        let of = made.part_of(var, &graph.provenance);
        made.tiles().is_some() || of.is_some_and(|of| tiles_between(graph, of, pos))
    })
}
