//! Free genes as loops of a GPU: the families of 001 (a row or some stored elements for each
//! worker, sums by groups of threads or by atomics), and a block for all that joined statements do in an
//! iteration (002). Dense products are [`tiles`].

mod tiles;

use super::{Genes, Growing, Walked, texts, walk};
use crate::driver::tune::decisions::{Free, Unit, column, is_dense};
use crate::graph::Nest;
use crate::graph::order::sparse_accesses;
use crate::graph::print::{access_text, var_text};
use crate::program::ir::VarId;

/// How threads take part in sums, the safest first.
const RACES: &[&str] = &["NoRaces", "Atomics"];
/// The same for loops around those whose updates are atomic.
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
        tiles::tiles(genes, nest, growing);
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

    /// Writes a loop of sums out as often as a gene says.
    fn unroll_sums(&mut self, name: &str, genes: &Genes) {
        let times = genes.unit(Unit::Unroll);
        if times > 1 {
            self.tries(format!("unroll({name}, {times})"));
        }
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
    let columns = column(genes.graph, nest, &walked.roots);
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
        // Where groups do not sum rows, each of them sums one element at a time.
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
        return;
    }
    growing.unroll_sums(&own, genes);
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
    let inside: Vec<VarId> = match column(graph, nest, &[first]) {
        Some(column) => {
            let others = vars.iter().filter(|&&var| var != first && var != column);
            let inside: Vec<VarId> = others.copied().collect();
            own = columns(genes, &mut row, column, &inside, growing);
            inside
        }
        None => vars[1..].to_vec(),
    };
    let mut lanes = None;
    if let (Some(var), true) = (summed(nest), group > 1) {
        let name = summed_loop(genes, nest, var, growing);
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
        growing.unroll_sums(rounds, genes);
        let before = growing.mark();
        growing.share(&blocks, "GPUBlock", RACES);
        growing.share(&units, "GPUWarp", RACES);
        let unit = format!("GPUGroup({group})");
        let races = &["ParallelReduction"];
        if growing.share(lane, &unit, races).is_some() {
            return;
        }
        growing.back_to(before);
    }
    let names: Vec<String> = inside.iter().map(|&var| genes.name(var)).collect();
    let kept = match &own {
        Some(own) if genes.unit(Unit::Registers) == 1 && lanes.is_none() => {
            kept(genes, nest, (&order, own, &names), growing)
        }
        Some(_) | None => None,
    };
    if kept.is_none() && lanes.is_none() && turns.is_some() {
        growing.order(&order);
    }
    growing.share(&blocks, "GPUBlock", RACES);
    growing.share(&units, "GPUThread", RACES);
    for part in kept.iter().chain(own.as_ref()) {
        growing.tries(format!("unroll({part})"));
    }
    if let (None, Some(last)) = (&lanes, names.last()) {
        growing.unroll_sums(last, genes);
    }
}

/// Shares rows and columns out together; the loop over the columns that each thread has of its own.
fn columns(
    genes: &Genes,
    row: &mut String,
    column: VarId,
    inside: &[VarId],
    growing: &mut Growing,
) -> Option<String> {
    let (warps, own) = match growing.cut(&genes.name(column), genes.unit(Unit::Coarse)) {
        Some((warps, own)) => (warps, Some(own)),
        None => (genes.name(column), None),
    };
    let names: Vec<String> = inside.iter().map(|&var| genes.name(var)).collect();
    // Neighbours have columns of one row, or one column of rows.
    let pair = match genes.unit(Unit::Order) {
        1 => [&warps, &*row],
        _ => [&*row, &warps],
    };
    let mut order = pair.to_vec();
    order.extend(&names);
    order.extend(own.as_ref());
    growing.order(&order);
    let fused = growing.fresh(row);
    if growing.tries(format!("fuse({}, {}, {fused})", pair[0], pair[1])) {
        *row = fused;
    }
    own
}

/// The loop over what is summed, over positions where an operand stores it.
fn summed_loop(genes: &Genes, nest: &Nest, var: VarId, growing: &mut Growing) -> String {
    let graph = genes.graph;
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
    name
}

/// The sums of a thread's own columns in a workspace of its own, so that each of its stored elements is met once;
/// the loop over that.
fn kept(
    genes: &Genes,
    nest: &Nest,
    (order, own, inside): (&[&String], &String, &[String]),
    growing: &mut Growing,
) -> Option<String> {
    let before = growing.mark();
    growing.order(&order.iter().copied().chain(inside).collect::<Vec<_>>());
    let product = texts(genes.graph, nest).join(" * ");
    let (copy, sums) = (growing.fresh("r"), growing.fresh("w"));
    let taken = growing.tries(format!(
        "precompute({product}, {{{own}}}, {{{copy}}}, {sums})"
    ));
    let mut grows: Vec<&String> = inside.iter().collect();
    grows.push(&copy);
    let names: Vec<&str> = grows.iter().map(|name| name.as_str()).collect();
    if taken && growing.tries(format!("reorder({})", names.join(", "))) {
        return Some(copy);
    }
    growing.back_to(before);
    None
}

/// Blocks share the outermost loop that statements have in common, threads what each has inside of it. Where
/// nothing is inside, blocks share tiles of that loop. The first of the statements decides for all.
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
