//! The tile of a window: a workspace for the box of elements that several subscripts touch, which a nest of its own
//! fills.

use super::super::arguments::{Arguments, new_var};
use super::reads::Reads;
use super::refusals::{no_tile, not_constant};
use super::window::{self, Side};
use crate::diagnostic::{Diagnostic, Span};
use crate::format::TensorFormat;
use crate::graph::{Graph, Loop, Nest, Space, terms};
use crate::program::ir::{Access, Bound, Expr, ExprKind, Role, SizeExpr, Tensor, TensorId, VarId};
use crate::scalar::Literal;
use crate::syntax::ast::Ident;

/// Stages the box that the accesses touch.
///
/// # Errors
/// A side has no constant size, the tile is too large, or it does not tell where an access reads in it.
pub(super) fn stage(
    mut graph: Graph,
    arguments: &Arguments,
    reads: &Reads,
    sides: &[Side],
    tile_name: &str,
    space: Space,
) -> Result<Graph, Diagnostic> {
    let span = arguments.span;
    let mut extents = Vec::new();
    for side in sides.iter().filter(|side| side.is_tiled()) {
        let extent = side.extent(&graph);
        extents.push(extent.map_err(|var| not_constant(&graph, var, arguments))?);
    }
    let operand = graph.tensor(reads.tensor).clone();
    let tile = graph.add_tensor(Tensor {
        name: tile_name.to_string(),
        span,
        role: Role::Temporary,
        ty: operand.ty,
        format: TensorFormat::dense(extents.len()),
        dims: extents.iter().map(|&n| SizeExpr::Const(n)).collect(),
        fill: Literal::ZERO,
    });
    super::check_size(&graph, reads.tensor, tile, space, arguments)?;
    graph.workspaces.push(tile);
    graph.spaces.push((tile, space));
    let stmt = reads.place.of(&graph).stmt;
    let over = side_vars(&mut graph, sides, &extents, (tile_name, stmt), span)?;
    // What is loaded side by side stands side by side.
    let order = operand.format.modes.iter().filter_map(|&m| over[m]);
    let loops: Vec<Loop> = order.map(Loop::serial).collect();
    let rhs = element(&operand, reads.tensor, sides, &over, span);
    let replaced = reads_of_tile(reads, sides, tile, span).ok_or_else(|| {
        let message = format!(
            "a tile does not tell where `{}` is read in it",
            operand.name
        );
        no_tile(
            arguments,
            message,
            "promote it inside the outer part of a split",
        )
    })?;
    let nest = reads.place.of_mut(&mut graph);
    for (from, to) in replaced {
        terms::replace(&mut nest.rhs, from, &to);
    }
    nest.producers.push(Nest {
        stmt,
        tensor: tile,
        lhs: over.into_iter().flatten().collect(),
        op: None,
        rhs,
        loops,
        producers: Vec::new(),
        joined: 0,
        guards: Vec::new(),
        span: nest.span,
    });
    Ok(graph)
}

/// For each mode of the operand, the variable that runs over its side, if the tile has that side.
fn side_vars(
    graph: &mut Graph,
    sides: &[Side],
    extents: &[i64],
    (tile_name, stmt): (&str, usize),
    span: Span,
) -> Result<Vec<Option<VarId>>, Diagnostic> {
    let mut over = Vec::new();
    let mut left = extents.iter();
    for (m, side) in sides.iter().enumerate() {
        if !side.is_tiled() {
            over.push(None);
            continue;
        }
        let name = match side.inside.first() {
            Some(&(var, _)) => format!("{}_{tile_name}", graph.var(var).name),
            None => format!("{tile_name}_{m}"),
        };
        let var = new_var(graph, &Ident { name, span })?;
        let own = &mut graph.vars[var.index()];
        own.stmt = stmt;
        own.range.hi = Bound::Static(SizeExpr::Const(left.next().copied().unwrap_or(1)));
        over.push(Some(var));
    }
    Ok(over)
}

/// The element of the operand that one of the tile holds, zero where the box reaches beyond the operand.
fn element(
    operand: &Tensor,
    tensor: TensorId,
    sides: &[Side],
    over: &[Option<VarId>],
    span: Span,
) -> Expr {
    let mut subscripts = Vec::new();
    let mut bounds = Vec::new();
    for ((side, &var), dim) in sides.iter().zip(over).zip(&operand.dims) {
        let subscript = side.subscript(var, span);
        if side.is_tiled() {
            bounds.push((subscript.clone(), dim.clone(), side.negative));
        }
        subscripts.push(subscript);
    }
    let element = Expr {
        kind: ExprKind::Access(Access { tensor, subscripts }),
        ty: operand.ty.compute(),
        span,
    };
    window::guarded(element, &bounds)
}

/// Each access with what takes its place, an access of the tile. `None` where an offset in the tile does not follow.
fn reads_of_tile<'r>(
    reads: &'r Reads,
    sides: &[Side],
    tile: TensorId,
    span: Span,
) -> Option<Vec<(&'r Expr, Expr)>> {
    let mut replaced = Vec::new();
    for e in &reads.accesses {
        let ExprKind::Access(access) = &e.kind else {
            continue;
        };
        let kind = ExprKind::Access(Access {
            tensor: tile,
            subscripts: window::offsets(sides, access, span)?,
        });
        replaced.push((e, Expr { kind, ..e.clone() }));
    }
    Some(replaced)
}
