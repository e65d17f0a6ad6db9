//! The space of schedules of a function: a list of genes, each a decision with its choices.
//!
//! The first gene chooses a script: one that is known (what sparsec chooses by itself, a built-in
//! one, one from the cache, the program's own), whose parameters are genes, too, or one made of the
//! free genes behind a base ([`super::bases`]), which say for each nest how its loops are split, ordered,
//! walked, shared out, and what is kept in workspaces ([`super::decisions`], [`super::express`]). Each gene's first choice
//! is what people usually write.

use super::bases::{self, Base, nests};
use super::decisions::{Free, POSITIONS, blocks, free, parts};
use crate::data::generate::Random;
use crate::graph::Graph;
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

impl Gene {
    /// The choices beside one of them: the next smaller and the next larger number, all of what has few, none of
    /// orders.
    #[must_use]
    pub fn near(&self, from: usize) -> Vec<usize> {
        let values: &[i64] = match &self.what {
            Decision::Param(_, values)
            | Decision::Free(
                ..,
                Free::Split(_, values) | Free::Unit(_, values) | Free::Prefetch(values),
            ) => values,
            Decision::Script => return Vec::new(),
            Decision::Free(.., Free::Place(_)) => return Vec::new(),
            Decision::Turns
            | Decision::Free(
                ..,
                Free::Walk(_)
                | Free::Pack(_)
                | Free::Workspace
                | Free::Vector
                | Free::Unroll
                | Free::Threads,
            ) => return (0..self.choices.min(FEW)).collect(),
        };
        let Some(&own) = values.get(from) else {
            return Vec::new();
        };
        let numbered = || values.iter().copied().enumerate();
        let below = numbered().filter(|(_, value)| *value < own);
        let above = numbered().filter(|(_, value)| *value > own);
        let below = below.max_by_key(|(_, value)| *value);
        let above = above.min_by_key(|(_, value)| *value);
        [below, above]
            .into_iter()
            .flatten()
            .map(|(at, _)| at)
            .collect()
    }
}

/// What a gene decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Script,
    /// A parameter of a known script, with its values.
    Param(usize, Vec<i64>),
    /// How threads take iterations: an entry of [`TURNS`].
    Turns,
    /// Of a base's nest, by their numbers.
    Free(usize, usize, Free),
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

/// Choices that are few.
const FEW: usize = 4;
/// Nests with free genes; what comes behind them is as it usually is.
const NESTS: usize = 8;
/// A script that is known.
#[derive(Clone, Debug)]
pub struct Script {
    /// Where it comes from.
    pub name: String,
    pub commands: Vec<Command>,
    /// Where it chooses at run time: its lines, but for constants. Thresholds may be parameters.
    pub choice: Option<Vec<String>>,
}

/// All schedules that are searched.
pub struct Space {
    pub target: Target,
    pub scripts: Vec<Script>,
    /// What free genes begin with.
    pub bases: Vec<Base>,
    pub genes: Vec<Gene>,
}

impl Space {
    /// Of a function for a target, with what is known to fit it, and its sizes.
    #[must_use]
    pub fn new(
        graph: &Graph,
        target: Target,
        scripts: Vec<Script>,
        extents: &BTreeMap<VarId, i64>,
    ) -> Self {
        let bases = bases::all(graph, target, extents);
        let mut genes = vec![Gene {
            name: "script".to_string(),
            what: Decision::Script,
            choices: scripts.len() + bases.len(),
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
        for (of, Base { graph, .. }) in bases.iter().enumerate() {
            for (at, nest) in nests(graph).into_iter().enumerate().take(NESTS) {
                let free = if has_blocks {
                    blocks(graph, (at, nest), extents)
                } else {
                    free(graph, nest, extents)
                };
                let label = if at < graph.nests.len() {
                    &graph.statement(nest).label
                } else {
                    &graph.tensor(nest.tensor).name
                };
                genes.extend(free.into_iter().map(|(what, choices)| Gene {
                    name: format!("{label}.{}", what.name(graph)),
                    what: Decision::Free(of, at, what),
                    choices,
                }));
            }
        }
        genes.retain(|gene| gene.choices > 1);
        Space {
            target,
            scripts,
            bases,
            genes,
        }
    }

    /// The program, without any schedule.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.bases[0].graph
    }

    /// The usual choices with a known script, or with the free genes of a base behind these.
    #[must_use]
    pub fn usual(&self, script: usize) -> Genome {
        let usual = |gene: &Gene| match gene.what {
            Decision::Script => script,
            Decision::Param(..) | Decision::Turns | Decision::Free(..) => 0,
        };
        self.genes.iter().map(usual).collect()
    }

    /// The usual genome of a base, and those that differ from it in one decision of its first nest that shapes all
    /// others: whether there is a workspace, what is walked by its positions, what is packed, which loop threads
    /// share.
    #[must_use]
    pub fn shapes(&self, base: usize) -> Vec<Genome> {
        let usual = self.usual(self.scripts.len() + base);
        let mut all = vec![usual.clone()];
        let mut workspaces = 0;
        for (at, gene) in self.genes.iter().enumerate() {
            let Decision::Free(of, 0, free) = &gene.what else {
                continue;
            };
            if *of != base {
                continue;
            }
            let others: Vec<usize> = match free {
                // Of each depth one tile.
                Free::Walk(_) => (2..gene.choices).step_by(POSITIONS.len()).collect(),
                Free::Pack(_) => (1..gene.choices).collect(),
                Free::Threads => vec![1],
                Free::Workspace => {
                    workspaces += 1;
                    match workspaces {
                        1 => vec![1],
                        _ => Vec::new(),
                    }
                }
                Free::Split(..)
                | Free::Place(_)
                | Free::Vector
                | Free::Unroll
                | Free::Prefetch(_)
                | Free::Unit(..) => Vec::new(),
            };
            all.extend(others.into_iter().map(|choice| {
                let mut other = usual.clone();
                other[at] = choice;
                other
            }));
        }
        all
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

    /// Which known script a genome has, or the base of its free genes.
    ///
    /// # Errors
    /// The number of the base.
    pub fn script(&self, genome: &Genome) -> Result<usize, usize> {
        let at = self.of(genome, |what| *what == Decision::Script);
        match at.checked_sub(self.scripts.len()) {
            Some(base) => Err(base),
            None => Ok(at),
        }
    }

    /// Whether a gene changes what the genome stands for.
    #[must_use]
    pub fn counts(&self, genome: &Genome, gene: usize) -> bool {
        match &self.genes[gene].what {
            Decision::Script | Decision::Turns => true,
            Decision::Param(script, _) => self.script(genome) == Ok(*script),
            Decision::Free(base, ..) => self.script(genome) == Err(*base),
        }
    }

    /// What a genome says beside the usual, for people.
    #[must_use]
    pub fn text(&self, genome: &Genome) -> String {
        let name = match self.script(genome) {
            Ok(at) => self.scripts[at].name.clone(),
            Err(base) => self.bases[base].name.clone(),
        };
        let mut out = name;
        for (at, gene) in self.genes.iter().enumerate() {
            if gene.what != Decision::Script && genome[at] != 0 && self.counts(genome, at) {
                let choice = genome[at];
                let value = match &gene.what {
                    Decision::Param(_, values) => values.get(choice).map(i64::to_string),
                    Decision::Turns => TURNS.get(choice).map(ToString::to_string),
                    Decision::Free(.., Free::Split(_, values) | Free::Unit(_, values)) => {
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
