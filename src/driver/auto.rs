//! The schedule of a program that has none for its target.

use super::bind::Bound;
mod choice;

use super::choice::Chosen;
use super::compile::{Built, lowered, placed};
use crate::data;
use crate::diagnostic::codes::{
    lower as lower_codes, performance as codes, schedule as schedule_codes,
};
use crate::diagnostic::{Diagnosed, Diagnostic, Sources};
use crate::graph::{Graph, Nest};
use crate::program::ir::{Function, SizeId, TensorId};
use crate::schedule::auto::{self, Profile, Statistics};
use crate::schedule::{self, Settings, Target};
use crate::syntax::{self, ast};
use crate::units::Unit;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

/// What a schedule was found by: the stages that have accepted it made this.
pub(super) enum Ready {
    Nothing,
    /// Its only kernel, before the passes of the target.
    Lowered(Box<Built>),
    /// All of `choose`.
    Chosen(Box<Chosen>),
}

/// The commands of a schedule for `target`, several under `choose` where a size that is not known
/// decides which is best, and what is there of them already. Notes the statements that stay serial.
pub(super) fn schedule(
    function: &Function,
    asked: (Target, &Statistics),
    sources: &mut Sources,
    remarks: &mut Vec<Diagnostic>,
) -> (Vec<ast::Command>, Ready) {
    let (found, carried) = searched(function, asked, sources);
    let Some(last) = found.into_iter().last() else {
        return (Vec::new(), Ready::Nothing);
    };
    remarks.extend(last.remarks);
    match (carried, last.lowered) {
        (Some((commands, chosen)), _) => (commands, Ready::Chosen(Box::new(chosen))),
        (None, Some(built)) => (last.commands, Ready::Lowered(Box::new(built))),
        (None, None) => (last.commands, Ready::Nothing),
    }
}

/// The commands of one schedule for all sizes.
pub(super) fn single(
    function: &Function,
    (target, statistics): (Target, &Statistics),
    sources: &mut Sources,
) -> Vec<ast::Command> {
    let Ok(graph) = Graph::build(&Rc::new(function.clone())) else {
        return Vec::new();
    };
    one(&graph, (target, statistics), (None, false), sources).commands
}

/// The same, as they are written.
pub(super) fn script(
    function: &Function,
    (target, statistics): (Target, &Statistics),
    sources: &mut Sources,
) -> Vec<String> {
    let Ok(graph) = Graph::build(&Rc::new(function.clone())) else {
        return Vec::new();
    };
    let found = one(&graph, (target, statistics), (None, false), sources);
    found.script().cloned().collect()
}

/// A schedule of a function, and how it was found.
pub struct Found {
    /// When it is used; the last one otherwise.
    pub condition: Option<String>,
    pub statements: Vec<Considered>,
    commands: Vec<ast::Command>,
    remarks: Vec<Diagnostic>,
    /// The kernel before the passes of the target, if all stages were asked.
    lowered: Option<Built>,
}

impl Found {
    /// The commands, as they are written.
    pub fn script(&self) -> impl Iterator<Item = &String> {
        let taken = self.statements.iter().filter_map(Considered::taken);
        taken.flat_map(|script| &script.commands)
    }

    /// What was not asked, with what is taken of the other statements: those that were next, first.
    #[must_use]
    pub fn alternatives(&self) -> Vec<Vec<String>> {
        let mut all: Vec<(usize, Vec<String>)> = Vec::new();
        for (at, of) in self.statements.iter().enumerate() {
            let left = of.scripts.iter();
            let left = left.filter(|(_, verdict)| matches!(verdict, Verdict::NotAsked));
            for (rank, (script, _)) in left.enumerate() {
                let statements = self.statements.iter().enumerate();
                let chosen = statements.filter_map(|(n, other)| match n == at {
                    true => Some(script),
                    false => other.taken(),
                });
                all.push((rank, chosen.flat_map(|s| s.commands.clone()).collect()));
            }
        }
        all.sort_by_key(|(rank, _)| *rank);
        all.into_iter().map(|(_, script)| script).collect()
    }
}

/// The schedules that are found for a function: one, or one for each range of a size that decides,
/// if they differ and a kernel can carry them.
pub fn found(
    function: &Function,
    asked: (Target, &Statistics),
    sources: &mut Sources,
) -> Vec<Found> {
    searched(function, asked, sources).0
}

/// The same; several with the commands and the kernel that carry them.
fn searched(
    function: &Function,
    (target, statistics): (Target, &Statistics),
    sources: &mut Sources,
) -> (Vec<Found>, Option<(Vec<ast::Command>, Chosen)>) {
    // What cannot be built is refused by whoever asks for this schedule.
    let Ok(graph) = Graph::build(&Rc::new(function.clone())) else {
        return (Vec::new(), None);
    };
    let ranges = choice::assumed(&graph, (target, statistics));
    let several = ranges.len() > 1 && !choice::appends(&graph);
    if !several {
        let found = one(&graph, (target, statistics), (None, false), sources);
        return (vec![found], None);
    }
    let mut found: Vec<Found> = (ranges.into_iter())
        .map(|(range, assumed)| one(&graph, (target, &assumed), (range, true), sources))
        .collect();
    // What two ranges share, the smaller bound covers.
    found.dedup_by(|next, kept| {
        let same = next.script().eq(kept.script());
        if same {
            kept.condition = next.condition.take();
        }
        same
    });
    let carried = match found.len() {
        0 | 1 => None,
        _ => choice::carried(function, target, &found, sources),
    };
    if carried.is_none() {
        found = vec![one(&graph, (target, statistics), (None, false), sources)];
    }
    (found, carried)
}

/// `by_graph`: the graph alone accepts scripts, and whoever asks builds what is found.
fn one(
    graph: &Graph,
    (target, statistics): (Target, &Statistics),
    (condition, by_graph): (Option<String>, bool),
    sources: &mut Sources,
) -> Found {
    let settings = settings(target);
    let function = &graph.function;
    // The last that is accepted is what is found.
    let mut accepted = None;
    let mut stages = |commands: &[ast::Command]| {
        if by_graph {
            return Ok(());
        }
        let built = lowered(function, commands, &settings)?;
        placed(function, built.kernel.clone(), target)?;
        accepted = Some(built);
        Ok(())
    };
    let mut search = Search::new(graph, (target, statistics), sources, &mut stages);
    let reached = search.run(graph);
    let mut remarks = Vec::new();
    for (at, nest) in graph.nests.iter().enumerate() {
        // What brings elements in order is told of its own.
        let sorting = graph.is_added(nest.tensor) && graph.tensor(nest.tensor).is_sparse();
        let shared = reached.nests.get(at).is_none_or(is_in_threads);
        if nest.loops.is_empty() || sorting || shared {
            continue;
        }
        if target.properties().has_blocks {
            remarks.push(in_one_thread_of_the_gpu(graph, nest));
        } else if let Some(why) = search.refused(at) {
            let counts = why.code == lower_codes::PARALLEL_APPEND
                && auto::threads(graph, nest).is_some_and(|text| takes(graph, &text, target));
            remarks.push(in_one_thread(graph, nest, why, counts));
        }
    }
    Found {
        condition,
        commands: search.commands(&[]),
        statements: search.considered(graph),
        remarks,
        lowered: accepted,
    }
}

/// Whether the schedule found for `function` may depend on its data.
#[must_use]
pub fn asks(function: &Function, target: Target) -> bool {
    let graph = Graph::build(&Rc::new(function.clone()));
    graph.is_ok_and(|graph| match target.properties().has_blocks {
        true => auto::asks_on_gpus(&graph),
        false => auto::asks(&graph),
    })
}

/// What `bound` says to whoever seeks a schedule: sizes, and how much each level of the operands
/// that `function` stores sparse has.
#[must_use]
pub fn statistics(function: &Function, bound: &Bound, profile: &Arc<Profile>) -> Statistics {
    let named = |(id, &value): (&SizeId, &i64)| (function.size(*id).name.clone(), value);
    let sparse = |(id, _): &(&TensorId, _)| function.tensor(**id).is_sparse();
    let tensors = || bound.tensors.iter().filter(sparse);
    let longest = tensors().map(|(&id, data)| {
        let tensor = function.tensor(id);
        (tensor.name.clone(), data::longest_row(data, &tensor.format))
    });
    let stored = tensors().map(|(&id, data)| {
        let tensor = function.tensor(id);
        (
            tensor.name.clone(),
            data::level_counts(data, &tensor.format),
        )
    });
    Statistics {
        sizes: bound.sizes.iter().map(named).collect(),
        stored: stored.collect(),
        longest: longest.collect(),
        profile: Arc::clone(profile),
    }
}

fn settings(target: Target) -> Settings {
    Settings {
        defines: Vec::new(),
        target,
    }
}

fn is_in_threads(nest: &Nest) -> bool {
    let mut units = nest.loops.iter().filter_map(|l| l.tag.parallel.as_ref());
    units.any(|parallel| parallel.unit != Unit::CpuVector)
}

fn is_shared(nest: &Nest) -> bool {
    nest.loops.iter().any(|l| l.tag.parallel.is_some())
}

/// A script, and the place of its statement among the nests of the graph.
type Script = (usize, Offer);

/// A script as the rule writes it and as it is parsed.
#[derive(Clone)]
struct Offer {
    written: auto::Script,
    commands: Vec<ast::Command>,
}

/// What became of a script.
pub enum Verdict {
    Taken,
    Refused(Diagnostic),
    /// One before it was taken.
    NotAsked,
}

/// A statement, as the program writes it, and its scripts, best first.
pub struct Considered {
    pub statement: String,
    pub scripts: Vec<(auto::Script, Verdict)>,
}

impl Considered {
    fn taken(&self) -> Option<&auto::Script> {
        let mut scripts = self.scripts.iter();
        let taken = scripts.find(|(_, verdict)| matches!(verdict, Verdict::Taken));
        taken.map(|(script, _)| script)
    }
}

/// Chooses for each statement the first of its scripts that is accepted: those of all
/// statements are tried on the graph alone, then all together by all stages, so that the number of
/// times that a program is built does not grow with its statements as long as they are
/// accepted.
struct Search<'s> {
    settings: Settings,
    /// Whether all stages accept these commands.
    stages: &'s mut dyn FnMut(&[ast::Command]) -> Diagnosed<()>,
    sources: &'s mut Sources,
    /// What each statement has left to try.
    scripts: Vec<VecDeque<auto::Script>>,
    /// Those that were refused, with the place of their statement, and why.
    tried: Vec<(usize, auto::Script, Diagnostic)>,
    chosen: BTreeMap<usize, Offer>,
}

impl<'s> Search<'s> {
    fn new(
        graph: &Graph,
        (target, statistics): (Target, &Statistics),
        sources: &'s mut Sources,
        stages: &'s mut dyn FnMut(&[ast::Command]) -> Diagnosed<()>,
    ) -> Self {
        let scripts = graph.nests.iter().map(|nest| {
            let scripts: Vec<auto::Script> = if target.properties().has_blocks {
                auto::for_gpus(graph, nest, statistics)
            } else {
                auto::for_cpus(graph, nest, statistics).scripts
            };
            scripts.into()
        });
        Search {
            settings: settings(target),
            stages,
            sources,
            scripts: scripts.collect(),
            tried: Vec::new(),
            chosen: BTreeMap::new(),
        }
    }

    /// Returns the graph with what is chosen.
    fn run(&mut self, graph: &Graph) -> Graph {
        let mut reached = graph.clone();
        loop {
            let first = self.chosen.is_empty();
            let (offered, with_all) = self.offers(&reached);
            if offered.is_empty() {
                return reached;
            }
            self.accept(&offered);
            // Statements that had their scripts before may stand behind those that got them now.
            if first && self.chosen.len() == offered.len() {
                reached = with_all;
                continue;
            }
            let commands = self.commands(&[]);
            match schedule::apply(graph.clone(), &commands, &self.settings) {
                Ok(next) => reached = next,
                // They were accepted, all together.
                Err(_) => return reached,
            }
        }
    }

    /// Whether the statement has its script. Pieces of one statement may share variables, and
    /// so their loops.
    fn has(&self, reached: &Graph, at: usize) -> bool {
        self.chosen.contains_key(&at) || reached.nests.get(at).is_none_or(is_shared)
    }

    /// The first script that the graph takes, of each statement that has none, and the graph with
    /// all of these.
    fn offers(&mut self, reached: &Graph) -> (Vec<Script>, Graph) {
        let mut reached = reached.clone();
        let mut offered = Vec::new();
        for at in 0..self.scripts.len() {
            if self.has(&reached, at) {
                continue;
            }
            while let Some(written) = self.scripts[at].pop_front() {
                let text = written.commands.join("\n");
                let file = self.sources.add("<automatic schedule>", &text);
                let Ok(commands) = syntax::parse_schedule(file, &text) else {
                    continue;
                };
                let offer = Offer { written, commands };
                match schedule::apply(reached.clone(), &offer.commands, &self.settings) {
                    Ok(next) => {
                        reached = next;
                        offered.push((at, offer));
                        break;
                    }
                    Err(errors) => self.refuse((at, &offer), errors),
                }
            }
        }
        (offered, reached)
    }

    /// Chooses those of `offered` that all stages accept, by halves.
    fn accept(&mut self, offered: &[Script]) {
        let commands = self.commands(offered);
        match (self.stages)(&commands) {
            Ok(()) => self.chosen.extend(offered.iter().cloned()),
            Err(errors) => match offered {
                [] => {}
                [(at, offer)] => self.refuse((*at, offer), errors),
                _ => {
                    let (first, rest) = offered.split_at(offered.len() / 2);
                    self.accept(first);
                    self.accept(rest);
                }
            },
        }
    }

    /// What became of each statement's scripts.
    fn considered(&self, graph: &Graph) -> Vec<Considered> {
        let statements = graph.nests.iter().enumerate().map(|(at, nest)| {
            let refused = self.tried.iter().filter(|(of, ..)| *of == at);
            let refused =
                refused.map(|(_, script, why)| (script.clone(), Verdict::Refused(why.clone())));
            let taken = self.chosen.get(&at);
            let taken = taken.map(|offer| (offer.written.clone(), Verdict::Taken));
            let left = self.scripts[at].iter();
            let left = left.map(|script| (script.clone(), Verdict::NotAsked));
            Considered {
                statement: graph.statement(nest).text.clone(),
                scripts: refused.chain(taken).chain(left).collect(),
            }
        });
        statements.collect()
    }

    fn refuse(&mut self, (at, offer): (usize, &Offer), errors: Vec<Diagnostic>) {
        let why = errors.into_iter().next();
        let tried = why.map(|why| (at, offer.written.clone(), why));
        self.tried.extend(tried);
    }

    /// Why the last script of a statement was refused.
    fn refused(&self, at: usize) -> Option<&Diagnostic> {
        let mut tried = self.tried.iter().rev();
        tried.find(|(of, ..)| *of == at).map(|(.., why)| why)
    }

    /// What is chosen, and more, in the order of the statements.
    fn commands(&self, more: &[Script]) -> Vec<ast::Command> {
        let mut all: BTreeMap<usize, &[ast::Command]> = BTreeMap::new();
        let chosen = self.chosen.iter();
        all.extend(chosen.map(|(at, offer)| (*at, &offer.commands[..])));
        all.extend(more.iter().map(|(at, offer)| (*at, &offer.commands[..])));
        all.into_values().flatten().cloned().collect()
    }
}

/// Whether the graph takes a command.
fn takes(graph: &Graph, text: &str, target: Target) -> bool {
    let file = Sources::default().add("<automatic schedule>", text);
    syntax::parse_schedule(file, text)
        .is_ok_and(|commands| schedule::apply(graph.clone(), &commands, &settings(target)).is_ok())
}

/// `counts`: its threads could count first what they append.
fn in_one_thread(graph: &Graph, nest: &Nest, why: &Diagnostic, counts: bool) -> Diagnostic {
    let result = &graph.tensor(nest.tensor).name;
    let note = Diagnostic::performance(
        codes::SERIAL,
        nest.span,
        format!("the loops of `{result}` run in one thread"),
        "cannot be shared out as they are",
    )
    .with_note(why.message.clone());
    let outermost = nest.loops.first().map_or("", |l| &graph.var(l.var).name);
    let label = &graph.statement(nest).label;
    let outermost = if graph.nests.len() > 1 {
        format!("{label}.{outermost}")
    } else {
        outermost.to_owned()
    };
    if counts {
        return note.with_help(format!(
            "`parallelize({outermost}, CPUThread, NoRaces)` shares them out, and counts what is appended first"
        ));
    }
    if why.code == schedule_codes::PARALLEL_REDUCTION {
        return note.with_help(format!(
            "`parallelize({outermost}, CPUThread, Temporary)` shares them out; the order of \
             sums then depends on the number of threads"
        ));
    }
    note
}

fn in_one_thread_of_the_gpu(graph: &Graph, nest: &Nest) -> Diagnostic {
    let result = &graph.tensor(nest.tensor).name;
    Diagnostic::performance(
        codes::SERIAL,
        nest.span,
        format!("the loops of `{result}` run in one thread of the GPU"),
        "cannot be shared out as they are",
    )
    .with_help(format!(
        "store `{result}` dense, or write a schedule for it"
    ))
}

#[cfg(test)]
mod tests;
