//! Tiles of dense products for the blocks of a GPU, kept in registers, whose operands pass through shared memory
//! (002).

use super::super::{Genes, Growing, texts};
use super::RACES;
use crate::driver::tune::decisions::{Unit, tile};
use crate::graph::Nest;
use crate::program::ir::VarId;

/// Bytes that operands may take of a block's shared memory.
const MOST_SHARED: i64 = 48 * 1024;
/// Threads of a block.
const MOST_THREADS: i64 = 1024;

/// A loop of a tile: of blocks, of what each thread has, of threads.
type Cut = (String, String, String);

/// Tiles of a dense result for blocks, of which each thread keeps some elements in registers.
pub(super) fn tiles(genes: &Genes, nest: &Nest, growing: &mut Growing) {
    let vars = nest.loop_vars();
    let (left, summed): (Vec<VarId>, Vec<VarId>) =
        vars.iter().partition(|var| nest.lhs.contains(var));
    let Some((row, column)) = tile(genes.graph, nest) else {
        return;
    };
    let across = genes.unit(Unit::Block);
    let down = genes.unit(Unit::Down).min(MOST_THREADS / across).max(1);
    let (rows, columns) = (genes.unit(Unit::Rows), genes.unit(Unit::Columns));
    let mut cut = |var: VarId, each: i64, side: i64| {
        let (block, rest) = growing.cut(&genes.name(var), each * side)?;
        let (own, unit) = growing.cut(&rest, side)?;
        Some((block, own, unit))
    };
    let (Some(y), Some(x)) = (cut(row, rows, down), cut(column, columns, across)) else {
        return;
    };
    let order = genes.unit(Unit::Order);
    let outer: Vec<String> = (left.iter())
        .filter(|&&var| var != row && var != column)
        .map(|&var| genes.name(var))
        .collect();
    let mut loops: Vec<&String> = outer.iter().collect();
    loops.extend([&y.0, &x.0, &y.2, &x.2, &y.1, &x.1]);
    let last = summed.last().copied();
    let copies = match genes.unit(Unit::Registers) {
        1 => sums(genes, (nest, last), (&y, &x), &loops, growing),
        _ => {
            growing.order(&loops);
            None
        }
    };
    if copies.is_none() {
        growing.tries(format!("unroll({}, {rows})", y.1));
        growing.tries(format!("unroll({}, {columns})", x.1));
        if let Some(last) = last {
            growing.unroll_sums(&genes.name(last), genes);
        }
    }
    if let Some(batch) = outer.first() {
        growing.share(batch, "GPUBlockZ", RACES);
    }
    let blocks = match order & 1 {
        0 => [&y.0, &x.0],
        _ => [&x.0, &y.0],
    };
    growing.share(blocks[0], "GPUBlockY", RACES);
    growing.share(blocks[1], "GPUBlock", RACES);
    growing.share(&y.2, "GPUThreadY", RACES);
    growing.share(&x.2, "GPUThread", RACES);
    if let Some([down, across]) = &copies {
        growing.share(down, "GPUThreadY", RACES);
        growing.share(across, "GPUThread", RACES);
    }
}

/// The sums of a thread's elements in registers, grown tile by tile of the summed loop, of which operands may be in
/// shared memory; the loops over threads there.
fn sums(
    genes: &Genes,
    (nest, last): (&Nest, Option<VarId>),
    (y, x): (&Cut, &Cut),
    loops: &[&String],
    growing: &mut Growing,
) -> Option<[String; 2]> {
    let before = growing.mark();
    let tiles = last.and_then(|var| growing.cut(&genes.name(var), genes.unit(Unit::Sums)));
    growing.order(loops);
    let product = texts(genes.graph, nest).join(" * ");
    let copies: Vec<String> = (0..4).map(|_| growing.fresh("r")).collect();
    let sum = growing.fresh("w");
    let kept = growing.tries(format!(
        "precompute({product}, {{{}, {}, {}, {}}}, {{{}}}, {sum})",
        y.2,
        x.2,
        y.1,
        x.1,
        copies.join(", ")
    ));
    let [down, across, own_rows, own_columns] = &copies[..] else {
        return None;
    };
    if !kept {
        growing.back_to(before);
        growing.order(loops);
        return None;
    }
    if let Some((tiles, within)) = &tiles {
        match genes.unit(Unit::Order) & 2 {
            0 => growing.order(&[tiles, down, across, within, own_rows, own_columns]),
            _ => growing.order(&[tiles, down, across, own_rows, own_columns, within]),
        }
        let [rows, columns, each] = [Unit::Rows, Unit::Columns, Unit::Sums].map(|u| genes.unit(u));
        // Of each operand a tile of the summed loop for all rows, or all columns, of the block's.
        let side = |unit| genes.unit(unit);
        let elements = (rows * side(Unit::Down) + columns * side(Unit::Block)) * each;
        let bytes = elements.saturating_mul(i64::try_from(nest.rhs.ty.size()).unwrap_or(i64::MAX));
        if genes.unit(Unit::Shared) == 1 && bytes <= MOST_SHARED {
            for factor in texts(genes.graph, nest) {
                let tensor = factor.split('(').next().unwrap_or_default();
                growing.tries(format!("promote({tensor}, shared, {tiles})"));
            }
        }
        let times = match genes.unit(Unit::Unroll) {
            0 => each,
            times => times.min(each),
        };
        for (part, times) in [(within, times), (own_rows, rows), (own_columns, columns)] {
            if times > 1 {
                growing.tries(format!("unroll({part}, {times})"));
            }
        }
    }
    Some([down.clone(), across.clone()])
}
