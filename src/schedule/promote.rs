//! `promote(T, shared | local, v)`: the tile of an operand that the loops inside v read is
//! staged near the threads (002, 5.5).
//!
//! before: `forall(v, forall(i1, forall(k1, ... T(i,k) ...)))`
//! after:  `forall(v, where(forall(i1, forall(k1, ... T_tile(i1,k1) ...)), forall(i1_T, forall(k1_T, T_tile(i1_T,k1_T) = T(i,k)))))`
//!
//! A `precompute` over the parts of T's variables whose loops stand inside v; subscripts of
//! subscripts (index tensors) too. Where subscripts add up variables, or several accesses differ by
//! constants, the box around what they touch ([`window`]). `shared` memory is that of a block: v
//! stands outside its loops over threads; `local` is a thread's own, in registers where its loops
//! are unrolled. Refused: no statement reads T inside v, or with subscripts of different variables;
//! a part inside v has no constant number of iterations, or stands around the workspace that reads
//! T; the tile is too large. Of several statements, the last that reads T inside v gets the tile.

mod steps;
mod window;

use self::window::Side;
use super::arguments::{Arguments, new_var};
use super::precompute::find::{Wanted, find, whole_sum};
use super::precompute::place::Place;
use super::precompute::{precompute, would_lose_its_condition};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::format::TensorFormat;
use crate::graph::order::vars_in;
use crate::graph::print::var_text;
use crate::graph::producers::around;
use crate::graph::{Graph, Loop, Nest, Space};
use crate::program::ir::{Access, Bound, Expr, ExprKind, Role, SizeExpr, Tensor, TensorId, VarId};
use crate::scalar::Literal;
use crate::syntax::ast::Ident;
use std::collections::BTreeSet;

const USAGE: &str = "promote(A, shared, k0)";

/// Bytes of shared memory that every GPU gives a block, and of registers that a thread may
/// spend on a tile.
const MOST_SHARED: i64 = 48 * 1024;
const MOST_LOCAL: i64 = 1024;

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
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
        let mut graph = stage(graph, arguments, &reads, &sides, &tile_name, space)?;
        graph.script.push(text);
        return Ok(graph);
    }
    let [access] = reads.accesses.as_slice() else {
        return Err(arguments.wrong(
            arguments.span,
            format!("`{}` is read with different subscripts", name.name),
            "precompute(A(i,k), {i1, k1}, {i1p, k1p}, w)",
        ));
    };
    check_constant(&graph, &reads.inside, arguments)?;
    let nest = reads.place.of(&graph);
    let own = nest.loop_vars();
    if let Some(&outer) = reads.inside.iter().find(|v| !own.contains(v)) {
        return Err(not_its_own(&graph, outer, &reads, arguments));
    }
    let Some(found) = find(&graph, &nest.rhs, Wanted::Access(access)) else {
        return Err(no_tile(
            arguments,
            format!("`{}` stands inside a subscript", name.name),
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

/// Inside the loop the subscripts have one value: a tile needs a loop over one of them there.
fn single_element(
    graph: &Graph,
    reads: &Reads,
    (operand, kind): (&Ident, &Ident),
    arguments: &Arguments,
) -> Diagnostic {
    let (operand, kind) = (&operand.name, &kind.name);
    let (loops, at) = (&reads.loops, reads.at);
    let sides: BTreeSet<VarId> = reads
        .accesses
        .iter()
        .flat_map(vars_in)
        .flat_map(|root| graph.provenance.leaves(root, loops))
        .collect();
    let is_constant = |var: &VarId| matches!(graph.extent(*var), Some(SizeExpr::Const(_)));
    let inside = |outer: usize| {
        let inner = loops[outer + 1..].iter();
        inner.copied().filter(|v| sides.contains(v)).collect()
    };
    let nearest = (0..at).rev().find(|&outer| {
        let inside: Vec<VarId> = inside(outer);
        !inside.is_empty()
    });
    let constant = (0..at).rev().find(|&outer| {
        let inside: Vec<VarId> = inside(outer);
        !inside.is_empty() && inside.iter().all(is_constant)
    });
    let var = loops[at];
    let promoted = |var: VarId| format!("promote({operand}, {kind}, {})", var_text(graph, var));
    let list = |vars: &[VarId]| {
        let names: Vec<String> = vars.iter().map(|&v| var_text(graph, v)).collect();
        names.join(", ")
    };
    let own = reads.place.of(graph).loop_vars();
    let (sided, others): (Vec<VarId>, Vec<VarId>) =
        own.iter().partition(|&v| *v != var && sides.contains(v));
    let order = [others, sided.clone()].concat();
    let mut ordered = graph.clone();
    let legal = order != own
        && !sided.is_empty()
        && super::reorder::reorder(&mut ordered, &order, arguments)
            .and_then(|()| super::legal::check_all(&ordered, arguments))
            .is_ok();
    let help = match (constant, nearest) {
        (Some(outer), _) => format!(
            "name a loop outside of one of them: `{}`",
            promoted(loops[outer])
        ),
        (None, _) if legal => format!(
            "bring one inside first: `reorder({})`, then `{}`",
            list(&order),
            promoted(var)
        ),
        (None, Some(outer)) => {
            format!(
                "name a loop outside of one of them: `{}`",
                promoted(loops[outer])
            )
        }
        (None, None) => "leave the command out".to_string(),
    };
    Diagnostic::error(
        codes::WRONG_ARGUMENTS,
        arguments.span,
        format!(
            "no loop over the subscripts of `{operand}` stands inside `{}`",
            var_text(graph, var)
        ),
        "a tile of a single element",
    )
    .with_help(help)
}

/// A tile would be filled once for all iterations of a loop that it has a side along.
fn not_its_own(graph: &Graph, outer: VarId, reads: &Reads, arguments: &Arguments) -> Diagnostic {
    let outer = &graph.var(outer).name;
    let operand = &graph.tensor(reads.tensor).name;
    Diagnostic::error(
        codes::NOT_NESTED,
        arguments.span,
        format!("`{outer}` is no loop of the workspace that reads `{operand}`"),
        "the tile would stand inside that loop",
    )
    .with_label(reads.place.of(graph).span, "it is computed for this")
    .with_help(format!(
        "promote inside `{outer}`, or before the `precompute`"
    ))
}

/// What a statement updates is no operand that is staged: its tile is the workspace of the sum.
fn is_updated(
    graph: &Graph,
    name: &Ident,
    place: &Place,
    var: VarId,
    arguments: &Arguments,
) -> Diagnostic {
    let help = match workspace_of_sum(graph, place, var, arguments) {
        Some(command) => format!("its tile is the workspace of the sum: write `{command}`"),
        None => "leave the command out".to_string(),
    };
    Diagnostic::error(
        codes::WRONG_ARGUMENTS,
        name.span,
        format!(
            "`{}` is updated inside `{}`, not read as an operand",
            name.name,
            var_text(graph, var)
        ),
        "only operands are staged",
    )
    .with_label(place.of(graph).span, "updated here")
    .with_help(help)
}

/// The `precompute` that keeps the sum of a nest over the loops of its left side inside `var`, where there is one.
fn workspace_of_sum(
    graph: &Graph,
    place: &Place,
    var: VarId,
    arguments: &Arguments,
) -> Option<String> {
    let nest = place.of(graph);
    let found = whole_sum(&nest.rhs)?;
    let own = nest.loop_vars();
    let inside = match own.iter().position(|&v| v == var) {
        Some(at) => &own[at + 1..],
        None => &own[..],
    };
    let sides: BTreeSet<VarId> = nest
        .lhs
        .iter()
        .flat_map(|&root| graph.provenance.leaves(root, &own))
        .collect();
    let over: Vec<(VarId, Option<Ident>)> = inside
        .iter()
        .filter(|v| sides.contains(v))
        .map(|&v| (v, None))
        .collect();
    let mut kept = graph.clone();
    precompute(&mut kept, (place, &found), &over, None, arguments.span).ok()?;
    super::legal::check_all(&kept, arguments).ok()?;
    kept.script.pop()
}

fn no_tile(arguments: &Arguments, message: String, help: &str) -> Diagnostic {
    Diagnostic::error(
        codes::WRONG_ARGUMENTS,
        arguments.span,
        message,
        "no tile can be made",
    )
    .with_help(help)
}

/// How a nest reads a tensor inside a loop.
struct Reads {
    place: Place,
    tensor: TensorId,
    /// Different ones.
    accesses: Vec<Expr>,
    /// Around the accesses, outermost first; the loop is number `at`.
    loops: Vec<VarId>,
    at: usize,
    /// The loops inside that subscripts run over. If there are none, the access is no tile.
    inside: Vec<VarId>,
}

fn reads_inside(graph: &Graph, name: &str, var: VarId) -> Option<Reads> {
    let mut found = None;
    for (at, nest) in graph.nests.iter().enumerate() {
        let place = Place {
            nest: at,
            path: Vec::new(),
        };
        reads_below(graph, nest, &place, &[], (name, var), &mut found);
    }
    found
}

/// As [`reads_inside`], in a nest and the nests of its workspaces: `outer` are the loops
/// around it of the nests that read it.
fn reads_below(
    graph: &Graph,
    nest: &Nest,
    place: &Place,
    outer: &[VarId],
    (name, var): (&str, VarId),
    found: &mut Option<Reads>,
) {
    for (n, producer) in nest.producers.iter().enumerate() {
        let above = [outer, around(graph, nest, producer).as_slice()].concat();
        let mut place = place.clone();
        place.path.push(n);
        reads_below(graph, producer, &place, &above, (name, var), found);
    }
    let loops = [outer, nest.loop_vars().as_slice()].concat();
    let Some(at) = loops.iter().position(|&v| v == var) else {
        return;
    };
    if graph.is_guarded(nest) {
        return;
    }
    let mut tensor = None;
    let mut accesses: Vec<Expr> = Vec::new();
    let is_itself = |e: &Expr| matches!(&e.kind, ExprKind::Access(access) if graph.tensor(access.tensor).name == name);
    let itself = nest.rhs.any(&is_itself);
    nest.rhs.walk(&mut |e| {
        if let ExprKind::Access(access) = &e.kind
            && (is_itself(e) || !itself && graph.is_called(access.tensor, name))
            && !accesses.iter().any(|a| crate::graph::equal::same(a, e))
        {
            tensor = Some(access.tensor);
            accesses.push(e.clone());
        }
    });
    let mut inside = Vec::new();
    for root in accesses.iter().flat_map(vars_in) {
        for leaf in graph.provenance.leaves(root, &loops) {
            if loops[at + 1..].contains(&leaf) && !inside.contains(&leaf) {
                inside.push(leaf);
            }
        }
    }
    if let Some(tensor) = tensor
        && (found.is_none() || !inside.is_empty())
    {
        *found = Some(Reads {
            place: place.clone(),
            tensor,
            accesses,
            loops,
            at,
            inside,
        });
    }
}

/// The nest that updates a tensor inside a loop.
fn updated_inside(graph: &Graph, name: &str, var: VarId) -> Option<Place> {
    let mut nests = graph.nests.iter().enumerate();
    nests.find_map(|(at, nest)| {
        let place = Place {
            nest: at,
            path: Vec::new(),
        };
        updated_below(graph, nest, &place, &[], (name, var))
    })
}

/// As [`updated_inside`], in a nest and the nests of its workspaces.
fn updated_below(
    graph: &Graph,
    nest: &Nest,
    place: &Place,
    outer: &[VarId],
    (name, var): (&str, VarId),
) -> Option<Place> {
    let sums = nest.rhs.any(&|e| matches!(e.kind, ExprKind::Reduce { .. }));
    if graph.tensor(nest.tensor).name == name
        && (nest.op.is_some() || sums)
        && (outer.contains(&var) || nest.loop_vars().contains(&var))
    {
        return Some(place.clone());
    }
    let mut producers = nest.producers.iter().enumerate();
    producers.find_map(|(n, producer)| {
        let above = [outer, around(graph, nest, producer).as_slice()].concat();
        let mut place = place.clone();
        place.path.push(n);
        updated_below(graph, producer, &place, &above, (name, var))
    })
}

fn check_constant(graph: &Graph, inside: &[VarId], args: &Arguments) -> Result<(), Diagnostic> {
    let constant = |var: VarId| matches!(graph.extent(var), Some(SizeExpr::Const(_)));
    match inside.iter().find(|&&var| !constant(var)) {
        Some(&var) => Err(not_constant(graph, var, args)),
        None => Ok(()),
    }
}

fn not_constant(graph: &Graph, var: VarId, arguments: &Arguments) -> Diagnostic {
    let own = &graph.var(var).name;
    Diagnostic::error(
        codes::NO_TILE,
        arguments.span,
        format!("the loop over `{own}` has no constant number of iterations"),
        "no fixed-size tile",
    )
    .with_help(format!("`split` {own} and promote outside its inner part"))
}

/// The tile holds elements as the statement reads them, which may be converted, and has room
/// for all coordinates of a side, from 0 on.
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

/// Stages the box that the accesses touch.
fn stage(
    mut graph: Graph,
    arguments: &Arguments,
    reads: &Reads,
    sides: &[Side],
    tile_name: &str,
    space: Space,
) -> Result<Graph, Diagnostic> {
    let span = arguments.span;
    let tiled: Vec<&Side> = sides.iter().filter(|side| side.is_tiled()).collect();
    let mut extents = Vec::new();
    for side in &tiled {
        let extent = side.extent(&graph);
        extents.push(extent.map_err(|var| not_constant(&graph, var, arguments))?);
    }
    let stmt = reads.place.of(&graph).stmt;
    let operand = graph.tensor(reads.tensor).clone();
    let tile = graph.add_tensor(Tensor {
        name: tile_name.to_string(),
        span,
        role: Role::Temporary,
        ty: operand.ty,
        format: TensorFormat::dense(tiled.len()),
        dims: extents.iter().map(|&n| SizeExpr::Const(n)).collect(),
        fill: Literal::ZERO,
    });
    check_size(&graph, reads.tensor, tile, space, arguments)?;
    graph.workspaces.push(tile);
    graph.spaces.push((tile, space));
    // Of each mode, the variable that runs over the side.
    let mut over: Vec<Option<VarId>> = Vec::new();
    let mut left = extents.into_iter();
    for (m, side) in sides.iter().enumerate() {
        if !side.is_tiled() {
            over.push(None);
            continue;
        }
        let name = match side.inside.first() {
            Some(&(var, _)) => format!("{}_{tile_name}", graph.var(var).name),
            None => format!("{tile_name}_{m}"),
        };
        let var = new_var(&mut graph, &Ident { name, span })?;
        let own = &mut graph.vars[var.index()];
        own.stmt = stmt;
        own.range.hi = Bound::Static(SizeExpr::Const(left.next().unwrap_or(1)));
        over.push(Some(var));
    }
    let mut subscripts = Vec::new();
    let mut bounds = Vec::new();
    for ((side, &var), dim) in sides.iter().zip(&over).zip(&operand.dims) {
        let subscript = side.subscript(var, span);
        if side.is_tiled() {
            bounds.push((subscript.clone(), dim.clone(), side.negative));
        }
        subscripts.push(subscript);
    }
    let element = Expr {
        kind: ExprKind::Access(Access {
            tensor: reads.tensor,
            subscripts,
        }),
        ty: operand.ty.compute(),
        span,
    };
    // What is loaded side by side stands side by side.
    let order = operand.format.modes.iter().filter_map(|&m| over[m]);
    let loops: Vec<Loop> = order.map(Loop::serial).collect();
    let mut replaced = Vec::new();
    for e in &reads.accesses {
        let ExprKind::Access(access) = &e.kind else {
            continue;
        };
        let Some(subscripts) = window::offsets(sides, access, span) else {
            return Err(no_tile(
                arguments,
                format!(
                    "a tile does not tell where `{}` is read in it",
                    operand.name
                ),
                "promote it inside the outer part of a split",
            ));
        };
        let kind = ExprKind::Access(Access {
            tensor: tile,
            subscripts,
        });
        replaced.push((e, Expr { kind, ..e.clone() }));
    }
    let nest = reads.place.of_mut(&mut graph);
    for (from, to) in replaced {
        crate::graph::terms::replace(&mut nest.rhs, from, &to);
    }
    nest.producers.push(Nest {
        stmt,
        tensor: tile,
        lhs: over.into_iter().flatten().collect(),
        op: None,
        rhs: window::guarded(element, &bounds),
        loops,
        producers: Vec::new(),
        joined: 0,
        guards: Vec::new(),
        span: nest.span,
    });
    Ok(graph)
}
