//! Scripts for CPUs: products are taken apart where that costs much less (`nests.rs`), threads
//! share the outermost loop, and results that store what an operand stores keep their coordinates.

use super::nests;
use super::plan::Best;
use super::{
    Asked, Question, Range, Script, Scripts, Statistics, Writer, in_threads, in_vectors, rows,
    shapes, sums, threads, tiles, turned,
};
use crate::graph::print::expr_text;
use crate::graph::terms::{reduces, root_reduction};
use crate::graph::tree::groups;
use crate::graph::{Graph, Nest, pattern};
use crate::plan;
use crate::program::ir::{Role, SizeExpr, SizeId, VarId};

const THREADS: &str =
    "threads share the outermost loop, if its iterations write different elements";
const BLOCKS: &str = "blocks of a few elements are unrolled: full ones have no bounds to ask";
const BLOCK_TILES: &str =
    "rows of a block gather in registers, some columns at a time, while blocks pass";
const DIAGONALS: &str = "threads share rows, over which the diagonals pass";
const SLOT_LANES: &str = "lanes take rows side by side, slot by slot";
const ACROSS: &str =
    "what loops go across is read in tiles: lines of memory are used up while they are near";
const IN_ORDER: &str =
    "what is appended is appended in order: counting it first costs a few threads what they gain";
const COUNTED: &str =
    "so many threads count what rows hold and fill them in less time than one appends";
const TURNED: &str =
    "what loops go across is copied first, the other way round: its elements are read often enough";
const ROW: &str = "a row that others are merged with again and again stands in a workspace";
const KEPT: &str =
    "a result that stores what an operand stores keeps its coordinates from call to call";

const BY_ROWS: &str =
    "threads put elements behind those of their rows, which are counted first in any case";

/// Whether each element goes behind those of its row that are there, as threads come to them.
fn is_spread(graph: &Graph, nest: &Nest) -> bool {
    let groups = groups(graph);
    let own = groups
        .iter()
        .position(|nests| nests.iter().any(|own| own.tensor == nest.tensor));
    own.is_some_and(|at| plan::is_spread(graph, &groups[at..])) && plan::is_counted(graph, nest)
}

/// Scripts for one nest of an untransformed graph on a CPU; none if it has no loops.
#[must_use]
pub fn for_cpus(graph: &Graph, nest: &Nest, statistics: &Statistics) -> Scripts {
    let writer = &Writer {
        graph,
        nest,
        profile: &statistics.profile,
    };
    let best = nests::best(writer, statistics);
    let turned = best
        .as_ref()
        .and_then(|best| turned::best(writer, best, statistics));
    let mut plain = with_plan(writer, best.as_ref(), statistics);
    if let Some(apart) = sums::apart(writer, statistics) {
        plain.scripts.insert(0, apart);
    }
    let Some(turned) = turned else { return plain };
    let mut all = with_plan(writer, Some(&turned), statistics);
    for script in plain.scripts {
        if all
            .scripts
            .iter()
            .all(|own| own.commands != script.commands)
        {
            all.scripts.push(script);
        }
    }
    all
}

/// The scripts with this plan.
fn with_plan(writer: &Writer, best: Option<&Best>, statistics: &Statistics) -> Scripts {
    let (graph, nest) = (writer.graph, writer.nest);
    let Some(threads) = threads(graph, nest) else {
        return Scripts::default();
    };
    let tiled = best.and_then(|best| tiles::tiled(writer, best, statistics));
    let turned = best.map_or(&[][..], |best| &best.product.turned);
    let turning: Vec<String> = turned.iter().map(|own| in_threads(&own.first)).collect();
    let cut = |more: &[&[String]]| {
        let tiled = tiled.as_ref()?;
        let commands = [&[&tiled.commands[..]], more].concat().concat();
        Some(script(tiled.rule, commands))
    };
    let first = tiled.as_ref().and_then(|tiled| tiled.first.as_ref());
    let shared = first.map(|first| [&turning[..], &[in_threads(first)]].concat());
    if !pattern::appended(graph, nest).is_empty() {
        let counted = counted(writer, statistics);
        let pays = |counted: &Counted| statistics.threads.is_some_and(|n| n >= counted.threads);
        let asked = counted.as_ref().filter(|_| statistics.threads.is_none());
        let asked = asked.map(|counted| Asked {
            question: Question::Threads(counted.rows),
            ranges: vec![Range::From(counted.threads)],
        });
        let steps = rows_in_steps(writer, statistics);
        let mut scripts = Vec::new();
        if let Some(counted) = counted.filter(pays) {
            scripts.extend(shared.as_ref().and_then(|shared| cut(&[shared])));
            scripts.extend(steps.iter().map(|steps| steps.with(&counted.command)));
            scripts.push(script(COUNTED, vec![counted.command]));
        }
        scripts.extend(appending(writer, threads, shared.as_deref(), &cut));
        // Behind what is refused because threads do not append, for which a note says why.
        scripts.extend(steps);
        return Scripts { scripts, asked };
    }
    let once = once(graph, nest);
    let (in_steps, serial) = planned(writer, best, statistics, once.as_ref());
    let mut all = Vec::new();
    if once.is_some() {
        all.extend(cut(&[
            once.as_slice(),
            shared.as_deref().unwrap_or_default(),
        ]));
    }
    all.extend(shared.and_then(|shared| cut(&[&shared])));
    all.extend(in_steps);
    let mut own = Vec::new();
    if let Some(best) = best.filter(|_| !turned.is_empty() && tiled.is_none()) {
        let commands = best.product.turning();
        let copies =
            |more: &[&[String]]| script(TURNED, [&[&commands[..]], more].concat().concat());
        let threads = [&turning[..], std::slice::from_ref(&threads)].concat();
        own.extend((once.iter()).map(|once| copies(&[std::slice::from_ref(once), &threads])));
        own.push(copies(&[&threads]));
        own.push(copies(&[]));
    }
    own.extend(
        once.iter()
            .map(|once| script(KEPT, vec![once.clone(), threads.clone()])),
    );
    let blocks = blocks(writer);
    if let Some(rows) = writer.diagonals_in_threads() {
        own.push(script(DIAGONALS, rows));
    }
    if let Some((lanes, first)) = slot_lanes(writer) {
        let shared = in_threads(&first);
        own.push(script(SLOT_LANES, [&lanes[..], &[shared]].concat()));
    }
    if let Some(tiles) = block_tiles(writer) {
        let shared = tiles.iter().chain([&threads]).cloned().collect();
        own.push(script(BLOCK_TILES, shared));
    }
    if !blocks.is_empty() {
        let shared = blocks.iter().chain([&threads]).cloned().collect();
        own.push(script(BLOCKS, shared));
    }
    let row = best.and_then(|best| rows::kept_row(writer, best));
    own.extend((row.iter()).map(|row| script(ROW, vec![row.clone(), threads.clone()])));
    own.extend(row.iter().map(|row| script(ROW, vec![row.clone()])));
    if let Some((tiles, first)) = writer.tiles_across(statistics) {
        own.push(script(ACROSS, [&tiles[..], &[in_threads(&first)]].concat()));
        own.push(script(ACROSS, tiles));
    }
    own.push(script(THREADS, vec![threads]));
    // A plan that only orders loops comes behind the tiles, which have its order, too.
    let orders = best.is_some_and(|best| best.plan.splits.is_empty());
    let (early, late) = match orders && serial.is_some() {
        true => (cut(&[]), None),
        false => (None, cut(&[])),
    };
    match serial {
        // Few machines have as many threads.
        Some((gain, serial)) if gain >= writer.profile.cpu.threads_gain => {
            all.extend(early.into_iter().chain(serial).chain(own))
        }
        Some((_, serial)) => all.extend(own.into_iter().chain(early).chain(serial)),
        None => all.extend(own),
    }
    all.extend(once.map(|once| script(KEPT, vec![once])));
    all.extend((!blocks.is_empty()).then(|| script(BLOCKS, blocks)));
    all.extend(late);
    Scripts {
        scripts: all,
        asked: best.and_then(|best| shapes::asked(writer, best, statistics)),
    }
}

fn script(rule: &'static str, commands: Vec<String>) -> Script {
    Script {
        rule: rule.into(),
        commands,
    }
}

/// A nest that appends whose iterations are shared out: they count what they append first.
struct Counted {
    command: String,
    /// From how many threads on that pays (`BENCHMARKS.md`).
    threads: i64,
    /// The size that says how many iterations there are, and from which on it pays, where that is not known.
    rows: Option<(SizeId, i64)>,
}

/// How a nest that appends is shared out; `None` where that never pays, or nobody counts in any case.
fn counted(writer: &Writer, statistics: &Statistics) -> Option<Counted> {
    let (graph, nest, cpu) = (writer.graph, writer.nest, &writer.profile.cpu);
    let outermost = nest.loops.first()?.var;
    if is_spread(graph, nest) || !writer.is_left(outermost) {
        return None;
    }
    let name = writer.name(outermost);
    let mut is_product = false;
    nest.visit(&mut |own| is_product |= !reduces(&own.rhs).is_empty());
    let (command, threads, least) = match is_product {
        true => {
            let unit = format!("CPUThread(dynamic, {})", cpu.rows_at_once);
            let command = format!("parallelize({name}, {unit}, NoRaces)");
            (command, cpu.product_threads, cpu.product_rows)
        }
        false => (in_threads(&name), cpu.merge_threads, cpu.merged_rows),
    };
    let rows = match (
        statistics.extent(graph, outermost),
        graph.static_range(outermost),
    ) {
        (Some(rows), _) if rows < least => return None,
        (None, Some((SizeExpr::Const(0), SizeExpr::Size(size)))) => Some((*size, least)),
        (Some(_) | None, _) => None,
    };
    Some(Counted {
        command,
        threads,
        rows,
    })
}

/// Scripts for a nest that appends, in one thread where counting first costs more than threads gain.
/// `cut` gives the tiles, with more commands.
fn appending(
    writer: &Writer,
    threads: String,
    shared: Option<&[String]>,
    cut: &dyn Fn(&[&[String]]) -> Option<Script>,
) -> Vec<Script> {
    let (graph, nest) = (writer.graph, writer.nest);
    let result = graph.tensor(nest.tensor);
    let in_order = format!("assemble({}, append)", result.name);
    let mut all = Vec::new();
    if is_spread(graph, nest) {
        all.push(script(BY_ROWS, vec![threads.clone()]));
    }
    if result.role == Role::Result {
        let more = [std::slice::from_ref(&in_order), shared.unwrap_or_default()];
        all.extend(cut(&more));
        all.push(script(IN_ORDER, vec![in_order, threads]));
    }
    all.extend(cut(&[]));
    all
}

/// The rows of a result in steps: sums that are taken before other factors are met, in workspaces that list what they
/// hold.
fn rows_in_steps(writer: &Writer, statistics: &Statistics) -> Option<Script> {
    let best = nests::best_of_rows(writer, statistics)?;
    let planned = best.planned(writer, statistics)?;
    Some(Script {
        rule: in_steps(planned.gain).into(),
        commands: planned.commands,
    })
}

fn in_steps(gain: f64) -> String {
    format!("sums are taken before other factors are met: some {gain:.1} times cheaper by estimate")
}

/// Commands for the loops inside of an operand's blocks, if no others stand inside: with a longer loop there, there is
/// nothing that unrolling would save.
fn blocks(writer: &Writer) -> Vec<String> {
    let graph = writer.graph;
    let size = |var: VarId| {
        let tiles = graph.provenance.tiles(var)?;
        let is_place = tiles.inner == var && graph.provenance.is_stored(tiles.outer);
        let SizeExpr::Const(size) = graph.extent(var).filter(|_| is_place)? else {
            return None;
        };
        Some((var, size))
    };
    let inner = writer.nest.loops.iter().rev();
    let places = inner.map_while(|l| size(l.var));
    let few = places.filter(|(_, size)| (2..=writer.profile.cpu.short_row).contains(size));
    let mut commands: Vec<String> = few
        .map(|(var, size)| format!("unroll({}, {size})", writer.name(var)))
        .collect();
    commands.reverse();
    commands
}

/// Commands for the columns that an operand's blocks are multiplied by: a tile of the result for each row of
/// blocks, whose rows are those of a block.
fn block_tiles(writer: &Writer) -> Option<Vec<String>> {
    let (graph, nest) = (writer.graph, writer.nest);
    let (_, _, product) = root_reduction(&nest.rhs, nest.op)?;
    let [rows, sums, row, sum, column] = writer.vars().try_into().ok()?;
    let place = |var: VarId, outer: VarId| {
        let tiles = graph.provenance.tiles(var)?;
        let size = graph.extent(var)?;
        let SizeExpr::Const(size) = size else {
            return None;
        };
        let few = size > 1 && size <= writer.profile.cpu.short_row;
        let own = tiles.outer == outer && graph.provenance.is_stored(outer);
        (own && few).then_some(size)
    };
    let (height, width) = (place(row, rows)?, place(sum, sums)?);
    let is_tile = writer.is_left(rows) && !writer.is_left(sums) && writer.is_left(column);
    if !is_tile || nest.op.is_some() || graph.tensor(nest.tensor).is_appended() {
        return None;
    }
    let lanes = writer.profile.cpu.block_bytes / i64::try_from(nest.rhs.ty.size()).ok()?;
    let name = |var| writer.name(var);
    let [rows, sums, row, sum, column] = [rows, sums, row, sum, column].map(name);
    let [tiles, lane, own_row, own_lane, tile] =
        ["tiles", "lane", "own_row", "own_lane", "tile"].map(|like| writer.fresh(like));
    let product = expr_text(graph, product);
    Some(vec![
        format!("split({column}, {tiles}, {lane}, {lanes})"),
        format!("reorder({rows}, {tiles}, {sums}, {sum}, {row}, {lane})"),
        format!("precompute({product}, {{{row}, {lane}}}, {{{own_row}, {own_lane}}}, {tile})"),
        format!("unroll({own_row}, {height})"),
        format!("unroll({row}, {height})"),
        format!("unroll({sum}, {width})"),
        in_vectors(&own_lane),
        in_vectors(&lane),
    ])
}

/// Commands for the rows of an operand in slots, and the loop that is outermost then: lanes take rows that stand
/// side by side, slot by slot.
fn slot_lanes(writer: &Writer) -> Option<(Vec<String>, String)> {
    let (graph, nest) = (writer.graph, writer.nest);
    let vars = writer.vars();
    let slot = vars.iter().position(|&var| graph.is_slot(nest, var))?;
    let (&row, outer) = vars[..slot].split_last()?;
    let left = |var: &VarId| writer.is_left(*var);
    if !vars[..slot].iter().all(left)
        || vars[slot + 1..].iter().any(left)
        || graph.tensor(nest.tensor).is_appended()
        || root_reduction(&nest.rhs, nest.op).is_none()
    {
        return None;
    }
    let mut names: Vec<String> = outer.iter().map(|&var| writer.name(var)).collect();
    let slot = writer.name(vars[slot]);
    let is_place = |var| {
        let tiles = graph.provenance.tiles(var);
        tiles.is_some_and(|tiles| tiles.inner == var && graph.provenance.is_stored(tiles.outer))
    };
    let mut commands = Vec::new();
    let lane = if is_place(row) {
        writer.name(row)
    } else {
        let lanes = writer.profile.cpu.slot_bytes / i64::try_from(nest.rhs.ty.size()).ok()?;
        let [tiles, lane] = ["tiles", "lane"].map(|like| writer.fresh(like));
        let row = writer.name(row);
        commands.push(format!("split({row}, {tiles}, {lane}, {lanes})"));
        names.push(tiles);
        lane
    };
    commands.push(format!("reorder({}, {slot}, {lane})", names.join(", ")));
    commands.push(in_vectors(&lane));
    Some((commands, names.first()?.clone()))
}

type Plans = (Vec<Script>, Option<(f64, Vec<Script>)>);

/// Loops and workspaces of a product that are much cheaper than the nest as it is: scripts in which threads share
/// the result's loops, and other scripts with how many times cheaper they are.
fn planned(
    writer: &Writer,
    best: Option<&Best>,
    statistics: &Statistics,
    once: Option<&String>,
) -> Plans {
    let Some(planned) = best.and_then(|best| best.planned(writer, statistics)) else {
        return Plans::default();
    };
    let mut rule = match planned.in_steps {
        true => in_steps(planned.gain),
        false => format!(
            "the innermost loop goes along what stands side by side: some {:.1} times cheaper by estimate",
            planned.gain
        ),
    };
    let turned = best.map_or(&[][..], |best| &best.product.turned);
    if !turned.is_empty() {
        let mut names: Vec<&str> = turned.iter().map(|own| own.tensor.as_str()).collect();
        names.dedup();
        rule += &format!(
            "; {} is copied first, the other way round",
            names.join(" and ")
        );
    }
    let mut commands = planned.commands;
    commands.extend(once.cloned());
    // Lanes need loops that visit everything: the graph refuses others, and the script without them is next.
    let with = |loops: &[String]| {
        let threads: Vec<String> = loops.iter().map(in_threads).collect();
        let script = |more: &[&[String]]| Script {
            rule: rule.clone().into(),
            commands: [&[commands.as_slice()], more].concat().concat(),
        };
        let mut scripts = vec![script(&[&planned.lanes, &threads])];
        scripts.extend((!planned.lanes.is_empty()).then(|| script(&[&threads])));
        scripts
    };
    // Threads may not be able to share the result's loops, whatever the workspaces are: others come behind.
    let shared = with(&[&[planned.first][..], &planned.before].concat());
    let mut serial = Vec::new();
    if !planned.before.is_empty() {
        serial.extend(with(&planned.before));
    }
    serial.extend(with(&[]));
    (shared, Some((planned.gain, serial)))
}

/// The command that keeps the coordinates of a result that stores what an input stores:
/// comparing them reads what writing them again would read, and costs less.
fn once(graph: &Graph, nest: &Nest) -> Option<String> {
    let mut writers = graph.nests.iter().filter(|n| n.tensor == nest.tensor);
    let follows_input = |writer: &Nest| {
        let source = pattern::source(graph, writer);
        let role = source.map(|source| graph.tensor(source.access.tensor).role);
        matches!(role, Some(Role::Input | Role::InOut))
    };
    let result = graph.tensor(nest.tensor);
    let is_first = writers
        .clone()
        .next()
        .is_some_and(|n| std::ptr::eq(n, nest));
    (result.role == Role::Result && is_first && writers.all(follows_input))
        .then(|| format!("assemble({}, once)", result.name))
}
