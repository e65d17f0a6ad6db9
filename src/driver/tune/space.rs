//! The space of schedules of a function: a list of genes, each a decision with its choices.
//!
//! The first gene chooses a script: one that is known (what sparsec chooses by itself, a built-in
//! one, one from the cache, the program's own), whose parameters are genes, too, or one made of the
//! free genes, which say for each statement how its loops are split, ordered, walked, shared out,
//! and what is kept in workspaces ([`super::express`]). Each gene's first choice is what people
//! usually write.

use crate::data::generate::Random;
use crate::graph::order::{is_sparse_driven, sparse_accesses};
use crate::graph::{Graph, Nest};
use crate::level::Level;
use crate::program::ir::VarId;
use crate::syntax::ast::{Command, ExprKind, Number};
use crate::target::Target;
use std::collections::BTreeMap;

/// A choice of each gene, by number.
pub type Genome = Vec<usize>;

/// A decision.
#[derive(Clone, Debug)]
pub struct Gene {
    pub name: String,
    pub what: Decision,
    /// How many choices there are.
    pub choices: usize,
}

/// What a gene decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Script,
    /// A parameter of a known script, with its values.
    Param(usize, Vec<i64>),
    /// How threads take iterations: an entry of [`TURNS`].
    Turns,
    /// Of a statement.
    Free(usize, Free),
}

/// A decision on the loops of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Free {
    /// Into which tiles a variable's loop is split; 0 is not at all.
    Split(VarId, Vec<i64>),
    /// Where a loop stands: its place in the usual order, or another one.
    Place(Part),
    /// Which operand is walked by its positions, over so many of its levels, in such tiles.
    Walk(Vec<Option<(usize, usize, i64)>>),
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
    /// Threads of a block (001: `blockSz`).
    Block,
    /// Threads that add up one sum (`groupSz`); 1 where each has its own.
    Group,
    /// Columns, or stored elements, of a thread (`tileSz`).
    Coarse,
    /// Whether groups that add up stored elements find the ends of rows, or each thread adds to
    /// memory.
    Segment,
    /// Elements of a block's tile: rows, columns, and those of the sums.
    Rows,
    Columns,
    Sums,
    /// Whether operands are kept in shared memory.
    Shared,
}

/// A loop of a variable that may be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Outer(VarId),
    Inner(VarId),
}

/// How threads take iterations.
pub const TURNS: &[&str] = &[
    "",
    "(static)",
    "(dynamic, 1)",
    "(dynamic, 4)",
    "(dynamic, 16)",
    "(guided)",
];

/// Tiles of positions.
const POSITIONS: &[i64] = &[64, 256, 1024, 4096];
/// Factors of products that workspaces choose from at most.
pub const FACTORS: usize = 4;
/// Loops that a workspace is kept over: the innermost, the two innermost, a reduction and the
/// innermost.
pub const OVER: usize = 3;
/// Statements with free genes; what comes behind them is as it is found.
const STATEMENTS: usize = 4;

/// A script that is known.
#[derive(Clone, Debug)]
pub struct Script {
    /// Where it comes from.
    pub name: String,
    pub commands: Vec<Command>,
}

/// All schedules that are searched.
pub struct Space {
    pub graph: Graph,
    pub target: Target,
    pub scripts: Vec<Script>,
    pub genes: Vec<Gene>,
}

impl Space {
    /// Of a function for a target, with what is known to fit it, and its sizes.
    #[must_use]
    pub fn new(
        graph: Graph,
        target: Target,
        scripts: Vec<Script>,
        extents: &BTreeMap<VarId, i64>,
    ) -> Self {
        let mut genes = vec![Gene {
            name: "script".to_string(),
            what: Decision::Script,
            choices: scripts.len() + 1,
        }];
        for (at, script) in scripts.iter().enumerate() {
            for (name, values) in params(&script.commands, extents) {
                genes.push(Gene {
                    name: format!("{}.{name}", script.name),
                    choices: values.len(),
                    what: Decision::Param(at, values),
                });
            }
        }
        let has_blocks = target.properties().has_blocks;
        genes.push(Gene {
            name: "threads".to_string(),
            what: Decision::Turns,
            choices: if has_blocks { 1 } else { TURNS.len() },
        });
        for (at, nest) in graph.nests.iter().enumerate().take(STATEMENTS) {
            let free = if has_blocks {
                blocks(&graph, nest)
            } else {
                free(&graph, nest, extents)
            };
            genes.extend(free.into_iter().map(|(what, choices)| {
                let label = &graph.statement(nest).label;
                Gene {
                    name: format!("{label}.{}", what.name(&graph)),
                    what: Decision::Free(at, what),
                    choices,
                }
            }));
        }
        genes.retain(|gene| gene.choices > 1);
        Space {
            graph,
            target,
            scripts,
            genes,
        }
    }

    /// The usual choices with a known script, or with the free genes behind the last one.
    #[must_use]
    pub fn usual(&self, script: usize) -> Genome {
        let usual = |gene: &Gene| match gene.what {
            Decision::Script => script,
            Decision::Param(..) | Decision::Turns | Decision::Free(..) => 0,
        };
        self.genes.iter().map(usual).collect()
    }

    /// A random choice of each gene; the usual one half of the time.
    pub fn drawn(&self, random: &mut Random) -> Genome {
        let mut draw = |gene: &Gene| {
            let usual = gene.what != Decision::Script && random.below(2) == 0;
            if usual {
                0
            } else {
                choice(random, gene.choices)
            }
        };
        self.genes.iter().map(&mut draw).collect()
    }

    /// The choice that a genome has for a decision; the first if there is no other.
    #[must_use]
    pub fn of(&self, genome: &Genome, wanted: impl Fn(&Decision) -> bool) -> usize {
        let found = self.genes.iter().position(|gene| wanted(&gene.what));
        found.and_then(|at| genome.get(at).copied()).unwrap_or(0)
    }

    /// Which known script a genome has; `None` for one of free genes.
    #[must_use]
    pub fn script(&self, genome: &Genome) -> Option<usize> {
        let at = self.of(genome, |what| *what == Decision::Script);
        (at < self.scripts.len()).then_some(at)
    }

    /// Whether a gene changes what the genome stands for.
    #[must_use]
    pub fn counts(&self, genome: &Genome, gene: usize) -> bool {
        match &self.genes[gene].what {
            Decision::Script | Decision::Turns => true,
            Decision::Param(script, _) => self.script(genome) == Some(*script),
            Decision::Free(..) => self.script(genome).is_none(),
        }
    }

    /// What a genome says beside the usual, for people.
    #[must_use]
    pub fn text(&self, genome: &Genome) -> String {
        let name = match self.script(genome) {
            Some(at) => self.scripts[at].name.clone(),
            None => "free".to_string(),
        };
        let mut out = name;
        for (at, gene) in self.genes.iter().enumerate() {
            if gene.what != Decision::Script && genome[at] != 0 && self.counts(genome, at) {
                let choice = genome[at];
                let value = match &gene.what {
                    Decision::Param(_, values) => values.get(choice).map(i64::to_string),
                    Decision::Turns => TURNS.get(choice).map(ToString::to_string),
                    Decision::Free(_, Free::Split(_, values) | Free::Unit(_, values)) => {
                        values.get(choice).map(i64::to_string)
                    }
                    Decision::Script | Decision::Free(..) => None,
                };
                let own = gene
                    .name
                    .rsplit_once(':')
                    .map_or(gene.name.as_str(), |(_, own)| own);
                let value = value.unwrap_or_else(|| format!("#{choice}"));
                out += &format!(" {own}={value}");
            }
        }
        out
    }
}

/// A number below `n`.
pub fn choice(random: &mut Random, n: usize) -> usize {
    usize::try_from(random.below(n as u64)).unwrap_or(0)
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Block => "block",
            Unit::Group => "group",
            Unit::Coarse => "coarse",
            Unit::Segment => "segment",
            Unit::Rows => "rows",
            Unit::Columns => "columns",
            Unit::Sums => "sums",
            Unit::Shared => "shared",
        }
    }
}

impl Free {
    fn name(&self, graph: &Graph) -> String {
        let name = |var: &VarId| graph.var(*var).name.clone();
        match self {
            Free::Split(var, _) => format!("split.{}", name(var)),
            Free::Place(Part::Outer(var)) => format!("place.{}", name(var)),
            Free::Place(Part::Inner(var)) => format!("place.{}.inner", name(var)),
            Free::Walk(_) => "walk".to_string(),
            Free::Workspace => "workspace".to_string(),
            Free::Vector => "vector".to_string(),
            Free::Unroll => "unroll".to_string(),
            Free::Threads => "shared".to_string(),
            Free::Prefetch(_) => "prefetch".to_string(),
            Free::Unit(unit, _) => unit.name().to_string(),
        }
    }
}

/// The parameters of a script, the default first: its own values, powers of two between them, and
/// those that cut a size into equal parts.
fn params(commands: &[Command], extents: &BTreeMap<VarId, i64>) -> Vec<(String, Vec<i64>)> {
    let known = crate::schedule::constants::values(commands, &[]);
    let mut all = Vec::new();
    for command in commands {
        let Command::Param { name, values, .. } = command else {
            continue;
        };
        let Some(&default) = known.get(&name.name) else {
            continue;
        };
        let own = values.iter().filter_map(|e| {
            let ExprKind::Number(Number::Int(n)) = e.kind else {
                return None;
            };
            i64::try_from(n).ok()
        });
        let mut own: Vec<i64> = own.collect();
        let (least, most) = (own.iter().min().copied(), own.iter().max().copied());
        if let (Some(least), Some(most)) = (least, most) {
            let powers = std::iter::successors(Some(1i64), |power| power.checked_mul(2));
            let powers = powers.take_while(|power| *power <= most);
            own.extend(powers.filter(|power| *power >= least));
            let parts = extents
                .values()
                .flat_map(|&extent| parts(extent, least, most));
            own.extend(parts);
        }
        own.retain(|&value| value != default);
        own.sort_unstable();
        own.dedup();
        own.insert(0, default);
        all.push((name.name.clone(), own));
    }
    all
}

/// Tiles that cut an extent into 1, 2, 3... equal parts, but for the last one.
fn parts(extent: i64, least: i64, most: i64) -> Vec<i64> {
    let each = (1..=8).map(|count| extent.div_euclid(count) + i64::from(extent % count != 0));
    each.filter(|tile| (least..=most).contains(tile)).collect()
}

/// The free decisions on a statement's loops.
fn free(graph: &Graph, nest: &Nest, extents: &BTreeMap<VarId, i64>) -> Vec<(Free, usize)> {
    let vars = nest.loop_vars();
    if vars.is_empty() {
        return Vec::new();
    }
    let mut all = Vec::new();
    for (at, &var) in vars.iter().enumerate() {
        let extent = extents.get(&var).copied().unwrap_or(0);
        let left = vars.iter().filter(|var| nest.lhs.contains(var));
        let from_inside = { left }.rev().position(|other| *other == var);
        let first = if is_dense(graph, nest) {
            match from_inside {
                Some(0) => 16,
                Some(1) => 6,
                Some(_) | None => 0,
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
    for part in usual_order(graph, nest) {
        all.push((Free::Place(part), 2 * vars.len()));
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

/// The free decisions on a statement's loops on a GPU: how they become blocks and threads.
fn blocks(graph: &Graph, nest: &Nest) -> Vec<(Free, usize)> {
    if nest.loop_vars().is_empty() {
        return Vec::new();
    }
    let units: &[(Unit, &[i64])] = if is_dense(graph, nest) {
        &[
            (Unit::Rows, &[4, 1, 2, 8]),
            (Unit::Columns, &[4, 1, 2, 8]),
            (Unit::Sums, &[16, 8, 32]),
            (Unit::Block, &[16, 8]),
            (Unit::Shared, &[1, 0]),
        ]
    } else {
        &[
            (Unit::Block, &[256, 64, 128, 512, 1024]),
            (Unit::Group, &[8, 1, 2, 4, 16, 32]),
            (Unit::Coarse, &[4, 1, 2, 8, 16]),
            (Unit::Segment, &[1, 0]),
        ]
    };
    let units = units
        .iter()
        .map(|(unit, values)| (Free::Unit(*unit, values.to_vec()), values.len()));
    // Tiles of positions of a level with all coordinates are tiles of coordinates.
    let walks = walks(graph, nest, |level| !level.is_full());
    [walks].into_iter().chain(units).collect()
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
/// dense ones, sparse ones and what is not split, and what lies inside tiles.
#[must_use]
pub fn usual_order(graph: &Graph, nest: &Nest) -> Vec<Part> {
    let vars = nest.loop_vars();
    if is_dense(graph, nest) {
        let (left, summed): (Vec<VarId>, Vec<VarId>) =
            vars.iter().partition(|var| nest.lhs.contains(var));
        let outer = left.iter().chain(&summed).map(|&var| Part::Outer(var));
        let inner = summed.iter().chain(&left).map(|&var| Part::Inner(var));
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
