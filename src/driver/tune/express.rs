//! From a genome to the commands of a schedule. What the free genes say is tried command by
//! command on the graph: one that is refused is left out, so that every genome has a schedule, and
//! several may have the same.

mod cpu;
mod gpu;

use super::bases::nests;
use super::decisions::Free;
use super::space::Decision;
use super::space::{Gene, Genome, Space, TURNS};
use super::starts::parse;
use crate::graph::order::sparse_accesses;
use crate::graph::print::{expr_text, var_text};
use crate::graph::{Graph, Nest};
use crate::program::ir::{BinaryOp, Expr, ExprKind, VarId};
use crate::schedule::{self, Settings, constants};
use crate::syntax::ast::{self, Command};

/// The commands of a genome's schedule; `None` if its script is refused.
#[must_use]
pub fn express(space: &Space, genome: &Genome) -> Option<Vec<String>> {
    let turns = space.of(genome, |what| *what == Decision::Turns);
    let turns = TURNS.get(turns).copied().unwrap_or_default();
    let settings = Settings {
        defines: Vec::new(),
        target: space.target,
    };
    match space.script(genome) {
        Ok(at) => known(space, genome, at, turns, &settings),
        Err(base) => Some(free((space, genome, base), turns, settings)),
    }
}

/// A known script with the parameters and the turns of a genome.
fn known(
    space: &Space,
    genome: &Genome,
    at: usize,
    turns: &str,
    settings: &Settings,
) -> Option<Vec<String>> {
    let mut commands = space.scripts[at].commands.clone();
    for command in &mut commands {
        let Command::Param {
            name,
            default,
            span,
            ..
        } = command
        else {
            continue;
        };
        let own = format!("{}.{}", space.scripts[at].name, name.name);
        let is_own = |gene: &Gene| {
            matches!(gene.what, Decision::Param(of, _) if of == at) && gene.name == own
        };
        let gene = space.genes.iter().position(is_own);
        let value = gene.and_then(|g| match &space.genes[g].what {
            Decision::Param(_, values) => values.get(genome[g]).copied(),
            Decision::Script | Decision::Turns | Decision::Free(..) => None,
        });
        let value = match value.and_then(|value| u64::try_from(value).ok()) {
            // The search may take what the list does not have.
            Some(value) => ast::Expr {
                kind: ast::ExprKind::Number(ast::Number::Int(value)),
                span: default.span,
            },
            None => default.clone(),
        };
        *command = Command::Let {
            name: name.clone(),
            value,
            span: *span,
        };
    }
    if let Some(lines) = &space.scripts[at].choice {
        let values = constants::values(&commands, &[]);
        let constants = commands.iter().filter_map(|command| {
            let Command::Let { name, .. } = command else {
                return None;
            };
            let value = values.get(&name.name);
            Some(value.map(|value| format!("let {} = {value}", name.name)))
        });
        // One that a fixed size decides has no value here.
        let constants: Option<Vec<String>> = constants.collect();
        return Some([constants?, lines.clone()].concat());
    }
    let graph = schedule::apply(space.graph().clone(), &commands, settings).ok()?;
    let script = graph.script;
    if turns.is_empty() {
        return Some(script);
    }
    // Other turns of the same threads, where they are taken.
    let other: Vec<String> = script.iter().map(|line| with_turns(line, turns)).collect();
    let taken = parse(&other.join("\n"))
        .is_some_and(|c| schedule::apply(space.graph().clone(), &c, settings).is_ok());
    Some(if taken { other } else { script })
}

/// `parallelize(i, CPUThread(dynamic, 4), NoRaces)` with other turns.
fn with_turns(line: &str, turns: &str) -> String {
    let Some((before, after)) = line.split_once("CPUThread") else {
        return line.to_string();
    };
    let after = match after.strip_prefix('(') {
        Some(inside) => inside.split_once(')').map_or("", |(_, after)| after),
        None => after,
    };
    format!("{before}CPUThread{turns}{after}")
}

/// A schedule while it grows.
struct Growing {
    graph: Graph,
    commands: Vec<String>,
    settings: Settings,
    /// How many names it has made.
    names: usize,
}

impl Growing {
    /// Adds a command, if it is taken.
    fn tries(&mut self, command: String) -> bool {
        let next = parse(&command)
            .and_then(|parsed| schedule::apply(self.graph.clone(), &parsed, &self.settings).ok());
        match next {
            Some(next) => {
                self.graph = next;
                self.commands.push(command);
                true
            }
            None => false,
        }
    }

    /// A nest as it has become.
    fn nest(&self, genes: &Genes) -> Option<&Nest> {
        if genes.at < genes.graph.nests.len() {
            return self.graph.nests.get(genes.at);
        }
        let mut all = nests(&self.graph).into_iter();
        all.find(|nest| nest.tensor == genes.nest.tensor)
    }

    /// Where it is now, for [`Growing::back_to`].
    fn mark(&self) -> (Graph, usize) {
        (self.graph.clone(), self.commands.len())
    }

    /// Takes back what was added since.
    fn back_to(&mut self, (graph, commands): (Graph, usize)) {
        self.graph = graph;
        self.commands.truncate(commands);
    }

    fn fresh(&mut self, of: &str) -> String {
        self.names += 1;
        let stem: String = of.chars().filter(|c| c.is_alphanumeric()).collect();
        format!("{stem}_t{}", self.names)
    }
}

/// A schedule of free genes, nest by nest.
fn free(
    (space, genome, base): (&Space, &Genome, usize),
    turns: &str,
    settings: Settings,
) -> Vec<String> {
    let begin = &space.bases[base];
    let mut growing = Growing {
        graph: begin.graph.clone(),
        commands: begin.commands.clone(),
        settings,
        names: 0,
    };
    let numbered = nests(&begin.graph).into_iter().enumerate();
    let all = numbered.map(|(at, nest)| Genes {
        space,
        genome,
        base,
        at,
        graph: &begin.graph,
        nest,
    });
    let all: Vec<Genes> = all.collect();
    if space.target.properties().has_blocks {
        for genes in &all {
            gpu::statement(genes, &mut growing);
        }
    } else {
        let orders: Vec<Vec<String>> = all.iter().map(|g| cpu::loops(g, &mut growing)).collect();
        // What shares loops with others is taken apart before these have threads.
        for (genes, order) in all.iter().zip(&orders) {
            cpu::units(genes, order, turns, &mut growing);
        }
    }
    growing.commands
}

/// The free genes of a nest.
struct Genes<'s> {
    space: &'s Space,
    genome: &'s Genome,
    /// The numbers of the base and of its nest.
    base: usize,
    at: usize,
    /// The base's.
    graph: &'s Graph,
    nest: &'s Nest,
}

impl Genes<'_> {
    /// The choices for the decisions that are wanted, in the order of the genes.
    fn choices<T>(&self, wanted: impl Fn(&Free, usize) -> Option<T>) -> Vec<T> {
        let genes = self.space.genes.iter().zip(self.genome);
        let all = genes.filter_map(|(gene, &choice)| match &gene.what {
            Decision::Free(base, at, free) if (*base, *at) == (self.base, self.at) => {
                wanted(free, choice)
            }
            Decision::Free(..) | Decision::Script | Decision::Param(..) | Decision::Turns => None,
        });
        all.collect()
    }

    fn choice(&self, wanted: impl Fn(&Free) -> bool) -> usize {
        let found = self.choices(|free, choice| wanted(free).then_some(choice));
        found.first().copied().unwrap_or(0)
    }
}

/// Positions that are walked in tiles instead of loops over coordinates.
struct Walked {
    roots: Vec<VarId>,
    outer: String,
    within: String,
}

/// `own` are the loops that no other nest shares.
fn walk(genes: &Genes, own: &[VarId], growing: &mut Growing) -> Option<Walked> {
    let walks = genes.choices(|free, choice| {
        let Free::Walk(walks) = free else {
            return None;
        };
        walks.get(choice).copied()
    });
    let (at, depth, tile) = walks.into_iter().next().flatten()?;
    let graph = genes.graph;
    let access = sparse_accesses(graph, &genes.nest.rhs)
        .into_iter()
        .nth(at)?;
    let modes = &graph.tensor(access.tensor).format.modes;
    let roots: Option<Vec<VarId>> = (modes.iter().take(depth))
        .map(|&mode| access.subscripts.get(mode)?.as_var())
        .collect();
    let roots = roots.filter(|roots| roots.len() == depth)?;
    if !roots.iter().all(|var| own.contains(var)) {
        return None;
    }
    let text = crate::graph::print::access_text(graph, &access);
    // All of it, or nothing.
    let before = growing.mark();
    let mut name = var_text(graph, roots[0]);
    let mut taken = true;
    for &next in &roots[1..] {
        let fused = growing.fresh(&name);
        let next = var_text(graph, next);
        taken = taken && growing.tries(format!("fuse({name}, {next}, {fused})"));
        name = fused;
    }
    let (pos, outer, within) = (growing.fresh("p"), growing.fresh("p"), growing.fresh("p"));
    taken = taken && growing.tries(format!("pos({name}, {pos}, {text})"));
    taken = taken && growing.tries(format!("split({pos}, {outer}, {within}, {tile})"));
    if !taken {
        growing.back_to(before);
        return None;
    }
    Some(Walked {
        roots,
        outer,
        within,
    })
}

/// The factors of the product that a nest adds up.
#[must_use]
pub fn factors(nest: &Nest) -> Vec<&Expr> {
    let mut all = Vec::new();
    collect(&nest.rhs, &mut all);
    all
}

/// The same, as commands write them.
fn texts(graph: &Graph, nest: &Nest) -> Vec<String> {
    let factors = factors(nest).into_iter();
    factors.map(|e| expr_text(graph, e)).collect()
}

fn collect<'e>(e: &'e Expr, all: &mut Vec<&'e Expr>) {
    if let ExprKind::Access(access) = &e.kind
        && !access.subscripts.is_empty()
    {
        all.push(e);
    }
    if matches!(
        e.kind,
        ExprKind::Reduce { .. } | ExprKind::Binary(BinaryOp::Mul, ..)
    ) {
        for part in e.parts() {
            collect(part, all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_replaced() {
        let with = |line: &str| with_turns(line, "(guided)");
        let other = "parallelize(i, CPUThread(guided), NoRaces)";
        assert_eq!(with("parallelize(i, CPUThread, NoRaces)"), other);
        assert_eq!(
            with("parallelize(i, CPUThread(dynamic, 4), NoRaces)"),
            other
        );
        assert_eq!(with("split(i, a, b, 4)"), "split(i, a, b, 4)");
    }
}
