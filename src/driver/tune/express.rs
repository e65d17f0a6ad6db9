//! From a genome to the commands of a schedule. What the free genes say is tried command by
//! command on the graph: one that is refused is left out, so that every genome has a schedule, and
//! several may have the same.

mod gpu;

use super::space::Decision;
use super::space::{FACTORS, Free, Genome, OVER, Part, Space, TURNS, is_dense, usual_order};
use crate::diagnostic::Sources;
use crate::graph::order::sparse_accesses;
use crate::graph::print::{expr_text, var_text};
use crate::graph::{Graph, Nest};
use crate::program::ir::{BinaryOp, Expr, ExprKind, VarId};
use crate::schedule::{self, Settings};
use crate::syntax;
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
        Some(at) => known(space, genome, at, turns, &settings),
        None => Some(free(space, genome, turns, settings)),
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
        let gene = space.genes.iter().position(|gene| gene.name == own);
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
    let graph = schedule::apply(space.graph.clone(), &commands, settings).ok()?;
    let script = graph.script;
    if turns.is_empty() {
        return Some(script);
    }
    // Other turns of the same threads, where they are taken.
    let other: Vec<String> = script.iter().map(|line| with_turns(line, turns)).collect();
    let taken = parse(&other.join("\n"))
        .is_some_and(|c| schedule::apply(space.graph.clone(), &c, settings).is_ok());
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

fn parse(text: &str) -> Option<Vec<Command>> {
    let mut sources = Sources::default();
    let file = sources.add("<candidate>", text);
    syntax::parse_schedule(file, text).ok()
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

/// A schedule of free genes, statement by statement.
fn free(space: &Space, genome: &Genome, turns: &str, settings: Settings) -> Vec<String> {
    let mut growing = Growing {
        graph: space.graph.clone(),
        commands: Vec::new(),
        settings,
        names: 0,
    };
    for at in 0..space.graph.nests.len() {
        let genes = Genes { space, genome, at };
        if space.target.properties().has_blocks {
            gpu::statement(&genes, &mut growing);
        } else {
            statement(&genes, turns, &mut growing);
        }
    }
    growing.commands
}

/// The free genes of a statement.
struct Genes<'s> {
    space: &'s Space,
    genome: &'s Genome,
    at: usize,
}

impl Genes<'_> {
    /// The choices for the decisions that are wanted, in the order of the genes.
    fn choices<T>(&self, wanted: impl Fn(&Free, usize) -> Option<T>) -> Vec<T> {
        let genes = self.space.genes.iter().zip(self.genome);
        let all = genes.filter_map(|(gene, &choice)| match &gene.what {
            Decision::Free(at, free) if *at == self.at => wanted(free, choice),
            Decision::Free(..) | Decision::Script | Decision::Param(..) | Decision::Turns => None,
        });
        all.collect()
    }

    fn choice(&self, wanted: impl Fn(&Free) -> bool) -> usize {
        let found = self.choices(|free, choice| wanted(free).then_some(choice));
        found.first().copied().unwrap_or(0)
    }
}

fn statement(genes: &Genes, turns: &str, growing: &mut Growing) {
    let nest = &genes.space.graph.nests[genes.at];
    if nest.loops.is_empty() {
        return;
    }
    let walked = walk(genes, nest, growing);
    // What is split, and how its parts are called.
    let mut parts: Vec<(Part, String)> = Vec::new();
    let mut inner: Vec<String> = Vec::new();
    let splits = genes.choices(|free, choice| {
        let Free::Split(var, tiles) = free else {
            return None;
        };
        Some((*var, tiles.get(choice).copied().unwrap_or(0)))
    });
    for &var in &nest.loop_vars() {
        let name = var_text(&genes.space.graph, var);
        if walked.as_ref().is_some_and(|w| w.roots.contains(&var)) {
            continue;
        }
        let tile = splits.iter().find(|(of, _)| *of == var).map_or(0, |s| s.1);
        let (outer, within) = (growing.fresh(&name), growing.fresh(&name));
        if tile > 0 && growing.tries(format!("split({name}, {outer}, {within}, {tile})")) {
            parts.push((Part::Outer(var), outer));
            parts.push((Part::Inner(var), within.clone()));
            inner.push(within);
        } else {
            parts.push((Part::Inner(var), name));
        }
    }
    let order = ordered(genes, nest, &parts, walked.as_ref());
    if order.len() > 1 {
        growing.tries(format!("reorder({})", order.join(", ")));
    }
    workspaces(genes, &order, growing);
    units(genes, nest, &order, turns, growing);
}

/// Positions that are walked in tiles instead of loops over coordinates.
struct Walked {
    roots: Vec<VarId>,
    outer: String,
    within: String,
}

fn walk(genes: &Genes, nest: &Nest, growing: &mut Growing) -> Option<Walked> {
    let walks = genes.choices(|free, choice| {
        let Free::Walk(walks) = free else {
            return None;
        };
        walks.get(choice).copied()
    });
    let (at, depth, tile) = walks.into_iter().next().flatten()?;
    let graph = &genes.space.graph;
    let access = sparse_accesses(graph, &nest.rhs).into_iter().nth(at)?;
    let modes = &graph.tensor(access.tensor).format.modes;
    let roots: Option<Vec<VarId>> = (modes.iter().take(depth))
        .map(|&mode| access.subscripts.get(mode)?.as_var())
        .collect();
    let roots = roots.filter(|roots| roots.len() == depth)?;
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

/// Loops in the order that the genes say.
fn ordered(
    genes: &Genes,
    nest: &Nest,
    parts: &[(Part, String)],
    walked: Option<&Walked>,
) -> Vec<String> {
    let places = genes.choices(|free, choice| {
        let Free::Place(part) = free else {
            return None;
        };
        Some((*part, choice))
    });
    let mut ranked: Vec<(usize, usize, String)> = Vec::new();
    if let Some(walked) = walked {
        ranked.push((0, 0, walked.outer.clone()));
        ranked.push((0, 1, walked.within.clone()));
    }
    for (at, part) in usual_order(&genes.space.graph, nest).iter().enumerate() {
        let Some((_, name)) = parts.iter().find(|(of, _)| of == part) else {
            continue;
        };
        let moved = places.iter().find(|(of, _)| of == part).map_or(0, |p| p.1);
        // The first choice is the usual place; the others are all places in turn.
        let place = if moved == 0 {
            2 * at + 2
        } else {
            2 * moved - 1
        };
        ranked.push((place, at, name.clone()));
    }
    ranked.sort();
    ranked.into_iter().map(|(_, _, name)| name).collect()
}

/// Workspaces of products, or parts of them, over the inner loops.
fn workspaces(genes: &Genes, order: &[String], growing: &mut Growing) {
    let kept = genes.choices(|free, choice| (*free == Free::Workspace).then_some(choice));
    let Some(last) = order.last() else {
        return;
    };
    let dense = is_dense(&genes.space.graph, &genes.space.graph.nests[genes.at]);
    for (nth, choice) in kept.into_iter().enumerate() {
        // The usual one keeps the whole product, where it has a factor to keep.
        let (subset, over) = match choice.checked_sub(1) {
            None if nth == 0 && dense => (usize::MAX, 1),
            None if nth == 0 => (usize::MAX, 0),
            None | Some(0) => continue,
            Some(n) => ((n - 1) / OVER + 1, (n - 1) % OVER),
        };
        let nest = &growing.graph.nests[genes.at];
        let factors = factors(&growing.graph, nest);
        let chosen: Vec<&String> = factors
            .iter()
            .take(FACTORS)
            .enumerate()
            .filter(|(at, _)| subset & (1 << at) != 0)
            .map(|(_, factor)| factor)
            .collect();
        if chosen.is_empty() {
            continue;
        }
        let product = chosen
            .iter()
            .map(|f| f.as_str())
            .collect::<Vec<_>>()
            .join(" * ");
        let vars: Vec<&String> = match over {
            0 => vec![last],
            1 => order.iter().rev().take(2).rev().collect(),
            _ => match order.len() {
                0..3 => continue,
                n => vec![&order[n - 3], last],
            },
        };
        let names = vars
            .iter()
            .map(|v| v.as_str())
            .collect::<Vec<_>>()
            .join(", ");
        let (workspace, copies): (String, Vec<String>) = (
            growing.fresh("w"),
            vars.iter().map(|v| growing.fresh(v)).collect(),
        );
        let same = format!("precompute({product}, {{{names}}}, {{{names}}}, {workspace})");
        if !growing.tries(same) {
            let copies = copies.join(", ");
            growing.tries(format!(
                "precompute({product}, {{{names}}}, {{{copies}}}, {workspace})"
            ));
        }
    }
}

/// The factors of the product that a statement adds up, as commands write them.
fn factors(graph: &Graph, nest: &Nest) -> Vec<String> {
    let mut all = Vec::new();
    collect(&nest.rhs, &mut all);
    all.iter().map(|e| expr_text(graph, e)).collect()
}

fn collect<'e>(e: &'e Expr, all: &mut Vec<&'e Expr>) {
    match &e.kind {
        ExprKind::Reduce { body, .. } => collect(body, all),
        ExprKind::Binary(BinaryOp::Mul, a, b) => {
            collect(a, all);
            collect(b, all);
        }
        ExprKind::Access(access) if !access.subscripts.is_empty() => all.push(e),
        ExprKind::Access(_)
        | ExprKind::Literal(_)
        | ExprKind::Index(_)
        | ExprKind::Size(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Call(..)
        | ExprKind::Cast(_) => {}
    }
}

/// Fetches, unrolling, lanes and threads.
fn units(genes: &Genes, nest: &Nest, order: &[String], turns: &str, growing: &mut Growing) {
    let from_inside = |n: usize| order.iter().rev().nth(n).cloned();
    let ahead = genes.choices(|free, choice| {
        let Free::Prefetch(ahead) = free else {
            return None;
        };
        ahead.get(choice).copied()
    });
    if let (Some(&ahead), Some(access)) = (
        ahead.first().filter(|ahead| **ahead > 0),
        sparse_accesses(&genes.space.graph, &nest.rhs).first(),
    ) {
        let tensor = genes.space.graph.tensor(access.tensor).name.clone();
        for var in order.iter().rev() {
            if growing.tries(format!("prefetch({tensor}, {var}, {ahead})")) {
                break;
            }
        }
    }
    let dense = is_dense(&genes.space.graph, nest);
    let unrolled = match genes.choice(|free| *free == Free::Unroll) {
        0 if dense => from_inside(1).map(|v| format!("unroll({v})")),
        2 if dense => None,
        0 => None,
        1 => from_inside(0).map(|v| format!("unroll({v})")),
        2 => from_inside(1).map(|v| format!("unroll({v})")),
        _ => from_inside(0).map(|v| format!("unroll({v}, 4)")),
    };
    if let Some(command) = unrolled {
        growing.tries(command);
    }
    let lanes = match genes.choice(|free| *free == Free::Vector) {
        0 => from_inside(0),
        1 => None,
        _ => from_inside(1),
    };
    if let Some(var) = &lanes {
        for race in ["NoRaces", "ParallelReduction"] {
            if growing.tries(format!("parallelize({var}, CPUVector, {race})")) {
                break;
            }
        }
    }
    let shared = match genes.choice(|free| *free == Free::Threads) {
        0 => order.first(),
        1 => order.get(1),
        _ => None,
    };
    if let Some(var) = shared.filter(|var| Some(*var) != lanes.as_ref()) {
        for race in ["NoRaces", "Temporary", "Atomics"] {
            if growing.tries(format!("parallelize({var}, CPUThread{turns}, {race})")) {
                break;
            }
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
