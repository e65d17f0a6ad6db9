//! Free genes as loops of a GPU: the families of 001 (a row or some stored elements for each
//! worker, sums by groups of threads or by atomics), tiles of dense products in shared memory and registers, and
//! a block for all that joined statements do in an iteration (002).

use super::{Genes, Growing, Walked, texts, walk};
use crate::driver::tune::decisions::{Free, Unit, is_dense, tile};
use crate::graph::Nest;
use crate::graph::order::{is_sparse_driven, sparse_accesses};
use crate::graph::print::{access_text, var_text};
use crate::program::ir::VarId;

/// Bytes that operands may take of a block's shared memory.
const MOST_SHARED: i64 = 48 * 1024;
/// How threads take part in sums, the safest first.
const RACES: &[&str] = &["NoRaces", "Atomics"];
/// Where what lies inside is what is atomic.
const ANY: &[&str] = &["NoRaces", IGNORED];
const IGNORED: &str = "IgnoreRaces";

pub(super) fn statement(genes: &Genes, growing: &mut Growing) {
    let nest = genes.nest;
    if nest.loops.is_empty() {
        return;
    }
    if genes.is_joined() {
        joined(genes, nest, growing);
    } else if is_dense(genes.graph, nest) {
        tiles(genes, nest, growing);
    } else if let Some(walked) = walk(genes, &nest.loop_vars(), growing) {
        positions(genes, nest, &walked, growing);
    } else {
        rows(genes, nest, growing);
    }
}

impl Genes<'_> {
    /// The number that a gene says; 1 where there is no such gene.
    fn unit(&self, wanted: Unit) -> i64 {
        let found = self.choices(|free, choice| {
            let Free::Unit(unit, values) = free else {
                return None;
            };
            values.get(choice).copied().filter(|_| *unit == wanted)
        });
        found.first().copied().unwrap_or(1)
    }

    fn name(&self, var: VarId) -> String {
        var_text(self.graph, var)
    }

    /// How many loops the statement shares with the one behind it.
    fn shares(&self) -> usize {
        let followed = self.at < self.graph.nests.len();
        let next = self.graph.nests.get(self.at + 1).filter(|_| followed);
        next.map_or(0, |next| next.joined)
    }

    fn is_joined(&self) -> bool {
        self.nest.joined > 0 || self.shares() > 0
    }

    /// The last dense loop of the result that is none of these: columns lie side by side.
    fn columns(&self, nest: &Nest, roots: &[VarId]) -> Option<VarId> {
        let vars = nest.loop_vars();
        let is_column = |var: &&VarId| {
            nest.lhs.contains(var)
                && !roots.contains(var)
                && !is_sparse_driven(self.graph, &nest.rhs, **var)
        };
        vars.iter().rev().find(is_column).copied()
    }
}

/// The innermost loop that adds up.
fn summed(nest: &Nest) -> Option<VarId> {
    let vars = nest.loop_vars();
    vars.into_iter().rev().find(|var| !nest.lhs.contains(var))
}

impl Growing {
    /// Splits a loop; the names of its parts.
    fn cut(&mut self, name: &str, tile: i64) -> Option<(String, String)> {
        let (outer, inner) = (self.fresh(name), self.fresh(name));
        self.tries(format!("split({name}, {outer}, {inner}, {tile})"))
            .then_some((outer, inner))
    }

    /// Shares a loop out, by the first of the ways that is taken.
    fn share<'r>(&mut self, name: &str, unit: &str, races: &[&'r str]) -> Option<&'r str> {
        let mut races = races.iter().copied();
        races.find(|race| self.tries(format!("parallelize({name}, {unit}, {race})")))
    }

    fn order(&mut self, names: &[&String]) {
        let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        if names.len() > 1 {
            self.tries(format!("reorder({})", names.join(", ")));
        }
    }
}

/// Stored elements in tiles, one for each block.
fn positions(genes: &Genes, nest: &Nest, walked: &Walked, growing: &mut Growing) {
    let (outer, within) = (&walked.outer, &walked.within);
    growing.tries(format!("starts({outer}, before)"));
    let columns = genes.columns(nest, &walked.roots);
    let coarse = genes.unit(Unit::Coarse);
    if genes.unit(Unit::Segment) == 1 {
        let before = growing.mark();
        let cut = columns.and_then(|var| growing.cut(&genes.name(var), coarse));
        if let Some((warps, own)) = &cut {
            growing.order(&[outer, warps, within, own]);
            growing.share(warps, "GPUWarp", ANY);
        }
        let in_blocks = growing.share(outer, "GPUBlock", ANY).is_some();
        let group = genes.unit(Unit::Group).max(2);
        let unit = format!("GPUGroup({group})");
        if in_blocks && growing.share(within, &unit, &["Segment"]).is_some() {
            return;
        }
        growing.back_to(before.clone());
        // No sums of rows: those of each element, by a group of its own.
        let summed = summed(nest).filter(|var| !walked.roots.contains(var));
        let lanes = summed.and_then(|var| growing.cut(&genes.name(var), group));
        let units = (genes.unit(Unit::Block) / group).max(1);
        let own = growing.cut(within, units);
        if let (Some((rounds, lane)), Some((own, units))) = (&lanes, &own) {
            growing.order(&[outer, units, own, lane, rounds]);
            growing.share(outer, "GPUBlock", RACES);
            growing.share(units, "GPUWarp", RACES);
            let unit = format!("GPUGroup({group})");
            if growing.share(lane, &unit, &["ParallelReduction"]).is_some() {
                return;
            }
        }
        growing.back_to(before);
    }
    let before = growing.mark();
    let cut_columns = columns.and_then(|var| growing.cut(&genes.name(var), 32));
    let Some((units, own)) = growing.cut(within, coarse.max(2)) else {
        return;
    };
    let (between, last) = match &cut_columns {
        Some((rounds, lanes)) => {
            growing.order(&[outer, &units, rounds, lanes, &own]);
            (Some(&units), lanes)
        }
        None => {
            growing.order(&[outer, &units, &own]);
            (None, &units)
        }
    };
    let above = [
        growing.share(outer, "GPUBlock", ANY),
        between.and_then(|units| growing.share(units, "GPUWarp", ANY)),
    ];
    // Where units above ignore that they meet, each update is atomic.
    let races: &[&str] = match above.contains(&Some(IGNORED)) {
        true => &["Atomics"],
        false => RACES,
    };
    if growing.share(last, "GPUThread", races).is_none() {
        growing.back_to(before);
    }
}

/// Rows for threads, or for groups of them.
fn rows(genes: &Genes, nest: &Nest, growing: &mut Growing) {
    let graph = genes.graph;
    let vars = nest.loop_vars();
    let Some(&first) = vars.first() else {
        return;
    };
    let (threads, group) = (genes.unit(Unit::Block), genes.unit(Unit::Group));
    let mut row = genes.name(first);
    let mut own = None;
    if let Some(column) = genes.columns(nest, &[first]) {
        let cut = growing.cut(&genes.name(column), genes.unit(Unit::Coarse));
        let warps = match &cut {
            Some((warps, rest)) => {
                own = Some(rest.clone());
                warps.clone()
            }
            None => genes.name(column),
        };
        let fused = growing.fresh(&row);
        let inside: Vec<String> = (vars.iter().filter(|&&var| var != first && var != column))
            .map(|&var| genes.name(var))
            .collect();
        let mut order = vec![&row, &warps];
        order.extend(&inside);
        order.extend(own.as_ref());
        growing.order(&order);
        if growing.tries(format!("fuse({row}, {warps}, {fused})")) {
            row = fused;
        }
    }
    let mut lanes = None;
    if let (Some(var), true) = (summed(nest), group > 1) {
        let mut name = genes.name(var);
        let accesses = sparse_accesses(graph, &nest.rhs);
        let walked = accesses.iter().find(|access| {
            let subscripts = &access.subscripts;
            subscripts.iter().any(|s| s.as_var() == Some(var))
        });
        if let Some(access) = walked {
            let position = growing.fresh("p");
            let text = access_text(graph, access);
            if growing.tries(format!("pos({name}, {position}, {text})")) {
                name = position;
            }
        }
        lanes = growing.cut(&name, group);
    }
    let of_block = if lanes.is_some() {
        (threads / group).max(1)
    } else {
        threads
    };
    let each = genes.unit(Unit::Worker);
    let Some((blocks, mut units)) = growing.cut(&row, of_block * each) else {
        return;
    };
    let mut turns = None;
    if each > 1 {
        let Some((rows, unit)) = growing.cut(&units, of_block) else {
            return;
        };
        (turns, units) = (Some(rows), unit);
    }
    let mut order = vec![&blocks, &units];
    order.extend(turns.as_ref());
    order.extend(own.as_ref());
    if let Some((rounds, lane)) = &lanes {
        order.extend([lane, rounds]);
        growing.order(&order);
        let before = growing.mark();
        growing.share(&blocks, "GPUBlock", RACES);
        growing.share(&units, "GPUWarp", RACES);
        let unit = format!("GPUGroup({group})");
        let races = &["ParallelReduction"];
        if growing.share(lane, &unit, races).is_some() {
            return;
        }
        growing.back_to(before);
    } else if turns.is_some() {
        growing.order(&order);
    }
    growing.share(&blocks, "GPUBlock", RACES);
    growing.share(&units, "GPUThread", RACES);
    if let Some(own) = own {
        growing.tries(format!("unroll({own})"));
    }
}

/// The outermost of loops that statements share for blocks, what each has inside of it for threads; where nothing
/// is inside, its tiles for blocks. The first of the statements decides for all.
fn joined(genes: &Genes, nest: &Nest, growing: &mut Growing) {
    let (true, Some(&first)) = (nest.joined == 0, nest.loop_vars().first()) else {
        return;
    };
    let threads = genes.unit(Unit::Block);
    let others = genes.graph.nests[genes.at + 1..].iter();
    let others = others.take_while(|nest| nest.joined > 0);
    let mut outer = genes.name(first);
    let mut units = Vec::new();
    for nest in [nest].into_iter().chain(others) {
        let vars = nest.loop_vars();
        let own = vars[nest.joined.max(1)..].iter().rev();
        let column = { own }.find(|var| nest.lhs.contains(var));
        let cut = column.and_then(|&var| growing.cut(&genes.name(var), threads));
        units.extend(cut.map(|(_, inner)| inner));
    }
    if units.is_empty()
        && let Some((blocks, inner)) = growing.cut(&outer, threads)
    {
        (outer, units) = (blocks, vec![inner]);
    }
    growing.share(&outer, "GPUBlock", RACES);
    for unit in &units {
        growing.share(unit, "GPUThread", RACES);
    }
}

/// Tiles of a dense result for blocks, of which each thread keeps some elements in registers.
fn tiles(genes: &Genes, nest: &Nest, growing: &mut Growing) {
    let vars = nest.loop_vars();
    let (left, summed): (Vec<VarId>, Vec<VarId>) =
        vars.iter().partition(|var| nest.lhs.contains(var));
    let Some((row, column)) = tile(genes.graph, nest) else {
        return;
    };
    let side = genes.unit(Unit::Block);
    let (rows, columns) = (genes.unit(Unit::Rows), genes.unit(Unit::Columns));
    let mut cut = |var: VarId, each: i64| {
        let (block, rest) = growing.cut(&genes.name(var), each * side)?;
        let (own, unit) = growing.cut(&rest, side)?;
        Some((block, own, unit))
    };
    let (Some(y), Some(x)) = (cut(row, rows), cut(column, columns)) else {
        return;
    };
    let last = summed.last().copied();
    let sums = last.and_then(|var| growing.cut(&genes.name(var), genes.unit(Unit::Sums)));
    let mut order: Vec<&String> = Vec::new();
    let outer: Vec<String> = (left.iter())
        .filter(|&&var| var != row && var != column)
        .map(|&var| genes.name(var))
        .collect();
    order.extend(&outer);
    order.extend([&y.0, &x.0, &y.2, &x.2, &y.1, &x.1]);
    growing.order(&order);
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
    if let (true, Some((tiles, within))) = (kept, &sums) {
        growing.order(&[
            tiles, &copies[0], &copies[1], within, &copies[2], &copies[3],
        ]);
        // Of each operand a tile of the summed loop for all rows, or all columns, of the block's.
        let elements = (rows + columns) * side * genes.unit(Unit::Sums);
        let bytes = elements.saturating_mul(i64::try_from(nest.rhs.ty.size()).unwrap_or(i64::MAX));
        if genes.unit(Unit::Shared) == 1 && bytes <= MOST_SHARED {
            for factor in texts(genes.graph, nest) {
                let tensor = factor.split('(').next().unwrap_or_default();
                growing.tries(format!("promote({tensor}, shared, {tiles})"));
            }
        }
        for (part, times) in [
            (within, None),
            (&copies[2], Some(rows)),
            (&copies[3], Some(columns)),
        ] {
            let times = times.unwrap_or(genes.unit(Unit::Sums));
            if times > 1 {
                growing.tries(format!("unroll({part}, {times})"));
            }
        }
    }
    if let Some(batch) = outer.first() {
        growing.share(batch, "GPUBlockZ", RACES);
    }
    growing.share(&y.0, "GPUBlockY", RACES);
    growing.share(&x.0, "GPUBlock", RACES);
    growing.share(&y.2, "GPUThreadY", RACES);
    growing.share(&x.2, "GPUThread", RACES);
    if kept {
        growing.share(&copies[0], "GPUThreadY", RACES);
        growing.share(&copies[1], "GPUThread", RACES);
    }
}
