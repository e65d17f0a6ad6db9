//! `promote(T, shared | local, v)`: the tile of an operand that the loops inside v read is
//! staged near the threads (002, 5.5).
//!
//! before: `forall(v, forall(i1, forall(k1, ... T(i,k) ...)))`
//! after:  `forall(v, where(forall(i1, forall(k1, ... T_tile(i1,k1) ...)), forall(i1_T, forall(k1_T, T_tile(i1_T,k1_T) = T(i,k)))))`
//!
//! A `precompute` over the parts of T's variables whose loops stand inside v; subscripts of
//! subscripts (index tensors) too. `shared` memory is that of a block: v stands outside its
//! loops over threads; `local` is a thread's own, in registers where its loops are unrolled.
//! Refused: no statement reads T inside v, or several do with different subscripts; a part
//! inside v has no constant number of iterations; the tile is too large.

use super::arguments::Arguments;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::concretize::around;
use crate::graph::order::vars_in;
use crate::graph::print::{expr_text, var_text};
use crate::graph::{Graph, Nest, Space, visit};
use crate::program::ir::{Expr, ExprKind, SizeExpr, VarId};
use crate::syntax::ast::Command;

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
    let Some((access, inside)) = tile(&graph, &name.name, var, arguments)? else {
        return Err(arguments.wrong(
            name.span,
            format!("no statement reads `{}` inside that loop", name.name),
            USAGE,
        ));
    };
    check_size(&graph, &name.name, &inside, space, arguments)?;
    let mut tile_name = format!("{}_tile", name.name);
    while graph.tensors.iter().any(|t| t.name == tile_name) {
        tile_name.push('_');
    }
    let own: Vec<String> = inside.iter().map(|&v| var_text(&graph, v)).collect();
    let copies: Vec<String> = inside
        .iter()
        .map(|&v| format!("{}_{tile_name}", graph.var(v).name))
        .collect();
    let text = format!(
        "precompute({}, {{{}}}, {{{}}}, {tile_name})",
        expr_text(&graph, &access),
        own.join(", "),
        copies.join(", ")
    );
    let at_own_place = |mut error: Diagnostic| {
        error.labels.truncate(1);
        for label in &mut error.labels {
            label.span = arguments.span;
        }
        error
    };
    let commands = crate::syntax::parse_schedule(arguments.span.file, &text).map_err(|errors| {
        at_own_place(
            errors
                .into_iter()
                .next()
                .unwrap_or_else(|| refused(arguments)),
        )
    })?;
    let Some(Command::Call { name, args, .. }) = commands.first() else {
        return Err(refused(arguments));
    };
    let precompute = Arguments {
        command: name,
        args,
        span: arguments.span,
        constants: arguments.constants,
        target: arguments.target,
    };
    let mut graph = super::precompute::apply(graph, &precompute).map_err(at_own_place)?;
    if let Some(&workspace) = graph.workspaces.last() {
        graph.spaces.push((workspace, space));
    }
    // What is loaded side by side stands side by side.
    let loops: Vec<VarId> = copies
        .iter()
        .filter_map(|name| {
            let at = graph.vars.iter().position(|v| v.name == *name)?;
            u32::try_from(at).ok().map(VarId)
        })
        .collect();
    let mut ordered = graph.clone();
    if loops.len() > 1 && super::reorder::reorder(&mut ordered, &loops, arguments).is_ok() {
        let names: Vec<String> = loops.iter().map(|&v| var_text(&ordered, v)).collect();
        ordered
            .script
            .push(format!("reorder({})", names.join(", ")));
        return Ok(ordered);
    }
    Ok(graph)
}

fn refused(arguments: &Arguments) -> Diagnostic {
    arguments.wrong(arguments.span, "no tile can be made".to_string(), USAGE)
}

/// The access to the tensor inside the loop, and the loops inside that its subscripts run
/// over.
fn tile(
    graph: &Graph,
    name: &str,
    var: VarId,
    arguments: &Arguments,
) -> Result<Option<(Expr, Vec<VarId>)>, Diagnostic> {
    let mut found = None;
    for nest in &graph.nests {
        tile_below(graph, nest, &[], (name, var), arguments, &mut found)?;
    }
    Ok(found)
}

/// As [`tile`], in a nest and the nests of its workspaces: `outer` are the loops around it
/// of the nests that read it.
fn tile_below(
    graph: &Graph,
    nest: &Nest,
    outer: &[VarId],
    (name, var): (&str, VarId),
    arguments: &Arguments,
    found: &mut Option<(Expr, Vec<VarId>)>,
) -> Result<(), Diagnostic> {
    for producer in &nest.producers {
        let above = [outer, around(graph, nest, producer).as_slice()].concat();
        tile_below(graph, producer, &above, (name, var), arguments, found)?;
    }
    let loops = [outer, nest.loop_vars().as_slice()].concat();
    let Some(at) = loops.iter().position(|&v| v == var) else {
        return Ok(());
    };
    let mut accesses: Vec<Expr> = Vec::new();
    visit(&nest.rhs, &mut |e| {
        if let ExprKind::Access(access) = &e.kind
            && graph.tensor(access.tensor).name == name
            && !accesses.iter().any(|a| crate::graph::equal::same(a, e))
        {
            accesses.push(e.clone());
        }
    });
    let access = match accesses.as_slice() {
        [] => return Ok(()),
        [one] => one.clone(),
        [_, ..] => {
            return Err(arguments.wrong(
                arguments.span,
                format!("`{name}` is read with different subscripts"),
                "precompute(A(i,k), {i1, k1}, {i1p, k1p}, w)",
            ));
        }
    };
    let mut inside = Vec::new();
    for root in vars_in(&access) {
        for leaf in graph.provenance.leaves(root, &loops) {
            if loops[at + 1..].contains(&leaf) && !inside.contains(&leaf) {
                inside.push(leaf);
            }
        }
    }
    if !inside.is_empty() {
        *found = Some((access, inside));
    }
    Ok(())
}

fn check_size(
    graph: &Graph,
    name: &str,
    inside: &[VarId],
    space: Space,
    arguments: &Arguments,
) -> Result<(), Diagnostic> {
    let mut bytes = graph
        .tensors
        .iter()
        .find(|t| t.name == name)
        .map_or(8, |t| t.ty.size() as i64);
    for &var in inside {
        let Some(SizeExpr::Const(n)) = graph.extent(var) else {
            let own = &graph.var(var).name;
            return Err(Diagnostic::error(
                codes::NO_TILE,
                arguments.span,
                format!("the loop over `{own}` has no constant number of iterations"),
                "no fixed-size tile",
            )
            .with_help(format!("`split` {own} and promote outside its inner part")));
        };
        bytes = bytes.saturating_mul(n);
    }
    let most = match space {
        Space::Shared => MOST_SHARED,
        Space::Local => MOST_LOCAL,
    };
    if bytes > most {
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
