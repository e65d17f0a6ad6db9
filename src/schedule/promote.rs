//! `promote(T, shared | local, v)`: the tile of an operand that the loops inside v read is
//! staged near the threads (002, 5.5).
//!
//! before: `forall(v, forall(i1, forall(k1, ... T(i,k) ...)))`
//! after:  `forall(v, where(forall(i1, forall(k1, ... T_tile(i1,k1) ...)), forall(i1_T, forall(k1_T, T_tile(i1_T,k1_T) = T(i,k)))))`
//!
//! The tile is the workspace of a `precompute` of the access, over the loops inside v that its subscripts run over,
//! those of subscripts of subscripts (index tensors) too. Where subscripts add up variables, or several accesses
//! differ by constants, it is the box around all that they touch ([`window`]). `shared` memory is that of a
//! block: v stands outside its loops over threads; `local` is a thread's own, in registers where its loops
//! are unrolled. Refused: no statement reads T inside v, or one does with subscripts of different variables;
//! a loop inside v has no constant number of iterations, or stands around the workspace that reads
//! T; the tile is too large. Of several statements, the last that reads T inside v gets the tile.

mod boxed;
mod reads;
mod refusals;
mod steps;
mod window;

use self::reads::{Reads, reads_inside, updated_inside};
use self::refusals::{is_updated, no_tile, not_constant, not_its_own, single_element};
use super::arguments::Arguments;
use super::precompute::find::{Wanted, find};
use super::precompute::{precompute, would_lose_its_condition};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::print::var_text;
use crate::graph::{Graph, Space};
use crate::program::ir::{SizeExpr, TensorId, VarId};
use crate::syntax::ast::Ident;

const USAGE: &str = "promote(A, shared, k0)";

/// Bytes of shared memory that every GPU gives a block, and of registers that a thread may
/// spend on a tile.
const MOST_SHARED: i64 = 48 * 1024;
const MOST_LOCAL: i64 = 1024;

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    arguments.expect_count(3, USAGE)?;
    let name = arguments.name(0)?;
    let kind = arguments.name(1)?;
    let space = match kind.name.to_ascii_lowercase().as_str() {
        "shared" => Space::Shared,
        "local" => Space::Local,
        _ => {
            return Err(arguments.wrong(kind.span, "expected shared or local".to_string(), USAGE));
        }
    };
    let var = arguments.loop_var(&graph, 2)?;
    arguments.expect_open(&graph, var)?;
    let Some(reads) = reads_inside(&graph, &name.name, var) else {
        if let Some(place) = updated_inside(&graph, &name.name, var) {
            return Err(is_updated(&graph, &name, &place, var, arguments));
        }
        return Err(arguments.wrong(
            name.span,
            format!(
                "no statement reads `{}` inside `{}`",
                name.name,
                var_text(&graph, var)
            ),
            USAGE,
        ));
    };
    if reads.inside.is_empty() {
        return Err(single_element(&graph, &reads, (&name, &kind), arguments));
    }
    if graph.function.conditional.contains(&reads.tensor) {
        let error = would_lose_its_condition(&graph, reads.tensor, arguments.span);
        return Err(error.with_help("leave the command out"));
    }
    let mut tile_name = format!("{}_tile", name.name);
    while graph.tensors.iter().any(|t| t.name == tile_name) {
        tile_name.push('_');
    }
    if !graph.tensor(reads.tensor).is_sparse()
        && let Some(sides) = window::sides(&graph, &reads.accesses, &reads.loops, reads.at)
    {
        let text = format!(
            "promote({}, {}, {})",
            name.name,
            kind.name,
            var_text(&graph, var)
        );
        let mut graph = boxed::stage(graph, arguments, &reads, &sides, &tile_name, space)?;
        graph.script.push(text);
        return Ok(graph);
    }
    copied(graph, arguments, &reads, &name.name, tile_name, space)
}

/// Stages what one access reads: a `precompute` of it over the loops inside.
fn copied(
    mut graph: Graph,
    arguments: &Arguments,
    reads: &Reads,
    operand: &str,
    tile_name: String,
    space: Space,
) -> Result<Graph, Diagnostic> {
    let [access] = reads.accesses.as_slice() else {
        return Err(arguments.wrong(
            arguments.span,
            format!("`{operand}` is read with different subscripts"),
            "precompute(A(i,k), {i1, k1}, {i1p, k1p}, w)",
        ));
    };
    check_constant(&graph, &reads.inside, arguments)?;
    let nest = reads.place.of(&graph);
    let own = nest.loop_vars();
    if let Some(&outer) = reads.inside.iter().find(|v| !own.contains(v)) {
        return Err(not_its_own(&graph, outer, reads, arguments));
    }
    let Some(found) = find(&graph, &nest.rhs, Wanted::Access(access)) else {
        return Err(no_tile(
            arguments,
            format!("`{operand}` stands inside a subscript"),
            "promote what it subscripts, or leave the command out",
        ));
    };
    let span = arguments.span;
    let copy = |&var: &VarId| {
        let name = format!("{}_{tile_name}", graph.var(var).name);
        (var, Some(Ident { name, span }))
    };
    let over: Vec<(VarId, Option<Ident>)> = reads.inside.iter().map(copy).collect();
    let name = Ident {
        name: tile_name,
        span,
    };
    let at = (&reads.place, &found);
    let (tile, loops) = precompute(&mut graph, at, &over, Some(name), span)?;
    check_size(&graph, reads.tensor, tile, space, arguments)?;
    graph.spaces.push((tile, space));
    // What is loaded side by side stands side by side.
    let mut ordered = graph.clone();
    let legal = |ordered: &mut Graph| {
        super::reorder::reorder(ordered, &loops, arguments)
            .and_then(|()| super::legal::check_all(ordered, arguments))
    };
    if loops.len() > 1 && legal(&mut ordered).is_ok() {
        return Ok(ordered);
    }
    Ok(graph)
}

/// The sides of a tile are loops with a constant number of iterations.
fn check_constant(graph: &Graph, inside: &[VarId], args: &Arguments) -> Result<(), Diagnostic> {
    let constant = |var: VarId| matches!(graph.extent(var), Some(SizeExpr::Const(_)));
    match inside.iter().find(|&&var| !constant(var)) {
        Some(&var) => Err(not_constant(graph, var, args)),
        None => Ok(()),
    }
}

/// The memory has room for the tile, whose elements are as the statement reads them, maybe converted, and whose
/// sides begin at coordinate 0.
fn check_size(
    graph: &Graph,
    operand: TensorId,
    tile: TensorId,
    space: Space,
    arguments: &Arguments,
) -> Result<(), Diagnostic> {
    let tile = graph.tensor(tile);
    let elements = |dim: &SizeExpr| dim.eval(&|_| None, &|_| None).unwrap_or(i64::MAX);
    let size = tile.ty.size() as i64;
    let bytes = tile
        .dims
        .iter()
        .fold(size, |all, dim| all.saturating_mul(elements(dim)));
    let most = match space {
        Space::Shared => MOST_SHARED,
        Space::Local => MOST_LOCAL,
    };
    if bytes > most {
        let name = &graph.tensor(operand).name;
        return Err(Diagnostic::error(
            codes::NO_TILE,
            arguments.span,
            format!("the tile of `{name}` takes {bytes} bytes, at most {most} are there"),
            "too large",
        )
        .with_help("make the tiles smaller, or promote further inside"));
    }
    Ok(())
}
