//! What may be decided of a nest's loops, and what people usually decide.

use super::bases::extent;
use super::express::factors;
use crate::graph::order::{is_sparse_driven, sparse_accesses, vars_in};
use crate::graph::{Graph, Nest};
use crate::level::Level;
use crate::program::ir::{ExprKind, VarId};
use std::collections::BTreeMap;

/// A decision on the loops of a nest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Free {
    /// Into which tiles a variable's loop is split; 0 is not at all.
    Split(VarId, Vec<i64>),
    /// Where a loop stands: its place in the usual order, or another one.
    Place(Part),
    /// Which operand is walked by its positions, over so many of its levels, in such tiles.
    Walk(Vec<Option<(usize, usize, i64)>>),
    /// Which dense factor of a dense product, by its number, is copied for a tile of the result, so that it
    /// stands side by side there.
    Pack(Vec<Option<usize>>),
    /// What is kept in a workspace, and over which loops.
    Workspace,
    /// Which loop is vectorised: innermost, none, the one around it.
    Vector,
    /// Which loop is unrolled, and how far.
    Unroll,
    /// Which loop is shared out to threads.
    Threads,
    /// How many elements ahead are fetched.
    Prefetch(Vec<i64>),
    /// A number that the units of a GPU are made with.
    Unit(Unit, Vec<i64>),
}

/// What 001 (7.2) tunes, and the tiles of dense products (002).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Threads of a block (001: `blockSz`); of a dense tile those along its columns, and along its rows.
    Block,
    Down,
    /// Threads that add up one sum (`groupSz`); 1 where each has its own.
    Group,
    /// Columns, or stored elements, of a thread (`tileSz`).
    Coarse,
    /// Rows that a thread, or a group of them, takes one after another (`workerDimR`).
    Worker,
    /// Whether groups that add up stored elements find the ends of rows, or each thread adds to
    /// memory.
    Segment,
    /// Elements of a block's tile: rows, columns, and those of the sums.
    Rows,
    Columns,
    Sums,
    /// Whether operands are kept in shared memory.
    Shared,
    /// Whether the elements of a thread are kept in registers while their sums grow, side by side.
    Registers,
    /// Which way loops go, a bit each: along which of two axes neighbouring blocks or threads lie, and whether sums
    /// are inside of a thread's elements.
    Order,
    /// How often the loop of the sums is written out: 0 as usual, 1 not at all.
    Unroll,
}

/// A loop of a variable that may be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Outer(VarId),
    Inner(VarId),
}

/// Tiles of positions.
pub const POSITIONS: &[i64] = &[64, 256, 1024, 4096];
/// Factors of products that workspaces choose from at most.
pub const FACTORS: usize = 4;
/// Loops that a workspace is kept over: the innermost, the two innermost, a reduction and the
/// innermost.
pub const OVER: usize = 3;
/// Rows and columns from which on a factor is copied for tiles.
const PACKED: i64 = 64;

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Block => "block",
            Unit::Down => "down",
            Unit::Group => "group",
            Unit::Coarse => "coarse",
            Unit::Worker => "worker",
            Unit::Segment => "segment",
            Unit::Rows => "rows",
            Unit::Columns => "columns",
            Unit::Sums => "sums",
            Unit::Shared => "shared",
            Unit::Registers => "registers",
            Unit::Order => "order",
            Unit::Unroll => "unroll",
        }
    }
}

impl Free {
    /// What the gene is called.
    #[must_use]
    pub fn name(&self, graph: &Graph) -> String {
        let name = |var: &VarId| graph.var(*var).name.clone();
        match self {
            Free::Split(var, _) => format!("split.{}", name(var)),
            Free::Place(Part::Outer(var)) => format!("place.{}", name(var)),
            Free::Place(Part::Inner(var)) => format!("place.{}.inner", name(var)),
            Free::Walk(_) => "walk".to_string(),
            Free::Pack(_) => "pack".to_string(),
            Free::Workspace => "workspace".to_string(),
            Free::Vector => "vector".to_string(),
            Free::Unroll => "unroll".to_string(),
            Free::Threads => "shared".to_string(),
            Free::Prefetch(_) => "prefetch".to_string(),
            Free::Unit(unit, _) => unit.name().to_string(),
        }
    }
}

/// Tiles that cut an extent into 1, 2, 3... equal parts, but for the last one.
#[must_use]
pub fn parts(extent: i64, least: i64, most: i64) -> Vec<i64> {
    let each = (1..=8).map(|count| extent.div_euclid(count) + i64::from(extent % count != 0));
    each.filter(|tile| (least..=most).contains(tile)).collect()
}

/// The free decisions on a nest's loops, each with its choices.
#[must_use]
pub fn free(graph: &Graph, nest: &Nest, extents: &BTreeMap<VarId, i64>) -> Vec<(Free, usize)> {
    let vars = nest.loop_vars();
    if vars.is_empty() {
        return Vec::new();
    }
    let mut all = Vec::new();
    let kept = is_dense(graph, nest).then(|| tile(graph, nest)).flatten();
    for (at, &var) in vars.iter().enumerate() {
        let extent = extent(graph, extents, var).unwrap_or(0);
        let first = if let Some((row, column)) = kept {
            match var {
                _ if var == column => 16,
                _ if var == row => 6,
                _ => 0,
            }
        } else if at == 0 || !is_sparse_driven(graph, &nest.rhs, var) && extent > 32 {
            32
        } else {
            0
        };
        let mut tiles: Vec<i64> = vec![first, 0, 2, 4, 6, 8, 16, 32, 64, 128, 256];
        tiles.extend(parts(extent, 2, 512));
        let mut seen = Vec::new();
        tiles.retain(|tile| {
            let new = !seen.contains(tile) && (*tile == 0 || *tile < extent.max(2));
            seen.push(*tile);
            new
        });
        let choices = tiles.len();
        all.push((Free::Split(var, tiles), choices));
    }
    for part in usual_order(graph, nest, None) {
        all.push((Free::Place(part), 2 * vars.len()));
    }
    if let Some((row, column)) = kept {
        let packed = packed(graph, nest, (row, column), extents);
        let choices = packed.len();
        all.push((Free::Pack(packed), choices));
    }
    all.push(walks(graph, nest, |_| true));
    // The usual one, none, and each choice of factors over each choice of loops.
    let kept = 2 + ((1 << FACTORS) - 1) * OVER;
    all.push((Free::Workspace, kept));
    all.push((Free::Workspace, kept));
    all.push((Free::Vector, 3));
    all.push((Free::Unroll, 4));
    all.push((Free::Threads, 3));
    let ahead = vec![0, 64, 256, 1024];
    let choices = ahead.len();
    all.push((Free::Prefetch(ahead), choices));
    all
}

/// The loops of the tile of a dense product's result that is kept in registers: the last one, along which
/// vectors run, and the last one that no factor has which has that one, so that each vector is used for all rows.
#[must_use]
pub fn tile(graph: &Graph, nest: &Nest) -> Option<(VarId, VarId)> {
    let vars = nest.loop_vars();
    let left: Vec<VarId> = vars.into_iter().filter(|v| nest.lhs.contains(v)).collect();
    let (&column, others) = left.split_last()?;
    let roots = |var| graph.provenance.roots(var);
    let reads = |var: VarId| {
        let all = factors(nest).into_iter().map(vars_in);
        let all = all.filter(|vars| {
            vars.contains(&column) || roots(column).iter().any(|r| vars.contains(r))
        });
        all.flatten().any(|v| v == var || roots(var).contains(&v))
    };
    let row = others.iter().rev().find(|&&var| !reads(var));
    Some((*row.or(others.last())?, column))
}

/// Factors that may be copied for tiles, the usual choice first: the one that vectors run along, where it has rows
/// and columns enough and other rows of the result use it again.
fn packed(
    graph: &Graph,
    nest: &Nest,
    (row, column): (VarId, VarId),
    extents: &BTreeMap<VarId, i64>,
) -> Vec<Option<usize>> {
    let factors = factors(nest);
    let is_long = |var: &VarId| extent(graph, extents, *var).is_some_and(|e| e >= PACKED);
    let usual = factors.iter().position(|e| {
        let ExprKind::Access(access) = &e.kind else {
            return false;
        };
        let vars = vars_in(e);
        vars.contains(&column)
            && !vars.contains(&row)
            && vars.len() == access.subscripts.len()
            && vars.iter().chain([&row]).all(is_long)
    });
    let mut all = vec![usual];
    let others = (0..factors.len().min(FACTORS)).map(Some);
    all.extend([None].into_iter().chain(others).filter(|one| *one != usual));
    all
}

/// Ways to walk the operands of a statement, down to a level that is `wanted`.
fn walks(graph: &Graph, nest: &Nest, wanted: impl Fn(&Level) -> bool) -> (Free, usize) {
    let mut walks = vec![None];
    for (at, access) in sparse_accesses(graph, &nest.rhs).iter().enumerate() {
        let levels = &graph.tensor(access.tensor).format.levels;
        for depth in 1..=access.subscripts.len() {
            if !levels.get(depth - 1).is_some_and(&wanted) {
                continue;
            }
            walks.extend(POSITIONS.iter().map(|&tile| Some((at, depth, tile))));
        }
    }
    let choices = walks.len();
    (Free::Walk(walks), choices)
}

/// The free decisions on the loops of a nest of this number on a GPU: how they become blocks and threads.
#[must_use]
pub fn blocks(
    graph: &Graph,
    (at, nest): (usize, &Nest),
    extents: &BTreeMap<VarId, i64>,
) -> Vec<(Free, usize)> {
    let vars = nest.loop_vars();
    let Some(first) = vars.first() else {
        return Vec::new();
    };
    let threads = vec![256, 64, 128, 512, 1024];
    // The first of joined statements decides for all, and that alone.
    if nest.joined > 0 {
        return Vec::new();
    }
    let behind = graph.nests.get(at + 1).filter(|_| at < graph.nests.len());
    if behind.is_some_and(|next| next.joined > 0) {
        let choices = threads.len();
        return vec![(Free::Unit(Unit::Block, threads), choices)];
    }
    // The usual values, then those that cut a loop into equal parts.
    let with_parts = |usual: &[i64], var: Option<VarId>, least: i64, most: i64| {
        let extent = var.and_then(|var| extent(graph, extents, var));
        let parts = extent.map_or(Vec::new(), |extent| parts(extent, least, most));
        let mut all = usual.to_vec();
        for value in parts {
            if !all.contains(&value) {
                all.push(value);
            }
        }
        all
    };
    let units =
        if let Some((row, column)) = is_dense(graph, nest).then(|| tile(graph, nest)).flatten() {
            let summed = vars.iter().rev().find(|var| !nest.lhs.contains(var));
            let sides = |var| with_parts(&[16, 8, 4, 32], Some(var), 4, 32);
            vec![
                (Unit::Rows, vec![4, 1, 2, 8]),
                (Unit::Columns, vec![4, 1, 2, 8]),
                (Unit::Sums, with_parts(&[16, 8, 32], summed.copied(), 4, 64)),
                (Unit::Block, sides(column)),
                (Unit::Down, sides(row)),
                (Unit::Shared, vec![1, 0]),
                (Unit::Registers, vec![1, 0]),
                (Unit::Order, vec![0, 1, 2, 3]),
                (Unit::Unroll, vec![0, 1, 2, 4, 8]),
            ]
        } else {
            let column = column(graph, nest, &[*first]);
            let mut units = vec![
                (Unit::Block, threads),
                (Unit::Group, vec![8, 1, 2, 4, 16, 32]),
                (Unit::Coarse, with_parts(&[4, 1, 2, 8, 16], column, 2, 16)),
                (Unit::Worker, vec![1, 2, 4, 8]),
                (Unit::Segment, vec![1, 0]),
                (Unit::Unroll, vec![0, 2, 4, 8]),
            ];
            if column.is_some() {
                units.extend([(Unit::Registers, vec![1, 0]), (Unit::Order, vec![0, 1])]);
            }
            units
        };
    let units = units.into_iter().map(|(unit, values)| {
        let choices = values.len();
        (Free::Unit(unit, values), choices)
    });
    // Tiles of positions of a level with all coordinates are tiles of coordinates.
    let walks = walks(graph, nest, |level| !level.is_full());
    [walks].into_iter().chain(units).collect()
}

/// The last dense loop of the result that is none of these: columns lie side by side.
#[must_use]
pub fn column(graph: &Graph, nest: &Nest, without: &[VarId]) -> Option<VarId> {
    let vars = nest.loop_vars();
    let is_column = |var: &&VarId| {
        nest.lhs.contains(var)
            && !without.contains(var)
            && !is_sparse_driven(graph, &nest.rhs, **var)
    };
    vars.iter().rev().find(is_column).copied()
}

/// Whether a statement adds up dense operands alone into a result of two dimensions or more: a tile
/// of it is kept in registers, as in products of matrices.
#[must_use]
pub fn is_dense(graph: &Graph, nest: &Nest) -> bool {
    let vars = nest.loop_vars();
    let left = vars.iter().filter(|var| nest.lhs.contains(var)).count();
    sparse_accesses(graph, &nest.rhs).is_empty() && left >= 2 && left < vars.len()
}

/// The order in which people put loops that are split: the first with its tiles, the tiles of
/// dense ones, sparse ones and what is not split, and what lies inside tiles. Loops of a factor that is `packed`
/// stand outside of those that it lacks.
#[must_use]
pub fn usual_order(graph: &Graph, nest: &Nest, packed: Option<&[VarId]>) -> Vec<Part> {
    let vars = nest.loop_vars();
    if is_dense(graph, nest) {
        let (mut left, summed): (Vec<VarId>, Vec<VarId>) =
            vars.iter().partition(|var| nest.lhs.contains(var));
        let inner = summed.iter().chain(&left).map(|&var| Part::Inner(var));
        let inner: Vec<Part> = inner.collect();
        if let Some(packed) = packed {
            left.sort_by_key(|var| !packed.contains(var));
        }
        let outer = left.iter().chain(&summed).map(|&var| Part::Outer(var));
        return outer.chain(inner).collect();
    }
    let Some((&first, rest)) = vars.split_first() else {
        return Vec::new();
    };
    let is_dense = |var: &VarId| !is_sparse_driven(graph, &nest.rhs, *var);
    // A dense loop on the left is the one that vectors run over.
    let (left, summed): (Vec<VarId>, Vec<VarId>) = rest
        .iter()
        .partition(|var| is_dense(var) && nest.lhs.contains(var));
    let mut order = vec![Part::Outer(first), Part::Inner(first)];
    order.extend(left.iter().map(|&var| Part::Outer(var)));
    order.extend(summed.iter().map(|&var| Part::Outer(var)));
    order.extend(summed.iter().map(|&var| Part::Inner(var)));
    order.extend(left.iter().map(|&var| Part::Inner(var)));
    order
}
