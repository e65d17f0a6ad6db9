//! The schedule of a program that has none for its target.

mod choice;
mod search;

use super::bind::Bound;
use super::choice::Chosen;
use super::compile::{Built, lowered, placed};
use crate::data;
use crate::diagnostic::codes::{
    lower as lower_codes, performance as codes, schedule as schedule_codes,
};
use crate::diagnostic::{Diagnostic, Sources};
use crate::graph::{Graph, Nest};
use crate::program::ir::{Function, SizeId, TensorId};
use crate::schedule::auto::{self, Profile, Statistics};
use crate::schedule::{self, Settings, Target, builtin};
use crate::syntax::{self, ast};
use crate::units::Unit;
use search::Search;
pub use search::{Considered, Verdict};
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
    let mut others = found;
    let Some(last) = others.pop() else {
        return (Vec::new(), Ready::Nothing);
    };
    // What one of several schedules shares out is no loss.
    remarks.extend(last.remarks.into_iter().filter(|remark| {
        let mut others = others.iter();
        others.all(|other| other.remarks.contains(remark))
    }));
    match (carried, last.lowered) {
        (Some((commands, chosen)), _) => (commands, Ready::Chosen(Box::new(chosen))),
        (None, Some(built)) => (last.commands, Ready::Lowered(Box::new(built))),
        (None, None) => (last.commands, Ready::Nothing),
    }
}

/// The commands of one schedule for all sizes.
pub(super) fn single(
    function: &Function,
    asked: (Target, &Statistics),
    sources: &mut Sources,
) -> Vec<ast::Command> {
    found_once(function, asked, sources).map_or(Vec::new(), |found| found.commands)
}

/// The same, as they are written.
pub(super) fn script(
    function: &Function,
    asked: (Target, &Statistics),
    sources: &mut Sources,
) -> Vec<String> {
    let found = found_once(function, asked, sources);
    found.map_or(Vec::new(), |found| found.script().cloned().collect())
}

/// The one schedule for all sizes, and how it was found; `None` if the function has no graph.
pub fn found_once(
    function: &Function,
    asked: (Target, &Statistics),
    sources: &mut Sources,
) -> Option<Found> {
    let graph = Graph::build(&Rc::new(function.clone())).ok()?;
    Some(one(&graph, asked, (None, false), sources))
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
    if ranges.len() == 1 {
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
            remarks.push(in_one_thread(graph, nest, why, (counts, target)));
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
        threads: None,
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

/// Whether the graph takes a command.
fn takes(graph: &Graph, text: &str, target: Target) -> bool {
    let file = Sources::default().add("<automatic schedule>", text);
    syntax::parse_schedule(file, text)
        .is_ok_and(|commands| schedule::apply(graph.clone(), &commands, &settings(target)).is_ok())
}

/// `counts`: its threads could count first what they append.
fn in_one_thread(
    graph: &Graph,
    nest: &Nest,
    why: &Diagnostic,
    (counts, target): (bool, Target),
) -> Diagnostic {
    let result = &graph.tensor(nest.tensor).name;
    let note = Diagnostic::performance(
        codes::SERIAL,
        nest.span,
        format!("the loops of `{result}` run in one thread"),
        "cannot be shared out as they are",
    )
    .with_note(why.message.clone());
    let Some(ways) = ways(graph, nest) else {
        return note;
    };
    if counts {
        return note.with_help(format!(
            "`{}` shares them out, and counts what is appended first",
            ways.whole("NoRaces")
        ));
    }
    let reduces = why.code == schedule_codes::PARALLEL_REDUCTION;
    let strategies: &[&str] = match reduces {
        true => &["Temporary"],
        false => &["NoRaces", "Temporary"],
    };
    for strategy in strategies {
        let own = [ways.whole(strategy), ways.pieces(strategy)];
        let Some(taken) = own.iter().find(|text| takes(graph, text, target)) else {
            continue;
        };
        return note.with_help(match *strategy {
            "NoRaces" => format!("`{taken}` shares them out"),
            _ => format!(
                "`{taken}` shares them out; the order of sums then depends on the number of threads"
            ),
        });
    }
    let levels = &graph.tensor(nest.tensor).format.levels;
    match levels.first() {
        Some(first) if !first.is_full() => note.with_help(format!(
            "store `{result}` with a dense first level, as `csr` does, or dense"
        )),
        Some(_) | None => note,
    }
}

/// How the outermost loop of a nest can be shared out.
struct Ways {
    /// As commands name it.
    outermost: String,
    /// Names for its pieces and for what counts in one.
    parts: (String, String),
}

impl Ways {
    fn whole(&self, strategy: &str) -> String {
        format!("parallelize({}, CPUThread, {strategy})", self.outermost)
    }

    /// What is walked together, or one coordinate several times, can be shared out in pieces.
    fn pieces(&self, strategy: &str) -> String {
        let (outermost, (piece, within)) = (&self.outermost, &self.parts);
        format!(
            "split({outermost}, {piece}, {within}, 32) parallelize({piece}, CPUThread, {strategy})"
        )
    }
}

fn ways(graph: &Graph, nest: &Nest) -> Option<Ways> {
    let name = &graph.var(nest.loops.first()?.var).name;
    let outermost = match graph.nests.len() {
        1 => name.clone(),
        _ => format!("{}.{name}", graph.statement(nest).label),
    };
    let is_taken = |name: &String| graph.vars.iter().any(|var| var.name == *name);
    let mut free = (0..).map(|n| format!("{name}{n}"));
    let mut next = || free.find(|name| !is_taken(name));
    let parts = (next()?, next()?);
    Some(Ways { outermost, parts })
}

fn in_one_thread_of_the_gpu(graph: &Graph, nest: &Nest) -> Diagnostic {
    let result = &graph.tensor(nest.tensor).name;
    let note = Diagnostic::performance(
        codes::SERIAL,
        nest.span,
        format!("the loops of `{result}` run in one thread of the GPU"),
        "cannot be shared out as they are",
    );
    let levels = &graph.tensor(nest.tensor).format.levels;
    let dense = match levels.iter().all(|level| level.is_full()) {
        true => String::new(),
        false => format!("store `{result}` dense, or "),
    };
    note.with_help(match carried(graph) {
        Some(name) => format!(
            "{dense}write `--schedule {}{name}`, which shares them out",
            builtin::PREFIX
        ),
        None => format!("{dense}write a schedule for it"),
    })
}

/// A built-in schedule that a GPU runs the program by.
fn carried(graph: &Graph) -> Option<&'static str> {
    let target = Target::Cuda;
    let all = builtin::all().map(|(_, one)| one);
    let mut own = all.filter(|one| one.target == target && graph.nests.len() == 1);
    let fits = |one: &&builtin::Builtin| {
        let file = Sources::default().add(one.name, one.text);
        let settings = settings(target);
        syntax::parse_schedule(file, one.text).is_ok_and(|commands| {
            let built = lowered(&graph.function, &commands, &settings);
            built.is_ok_and(|built| placed(&graph.function, built.kernel, target).is_ok())
        })
    };
    own.find(fits).map(|one| one.name)
}

#[cfg(test)]
mod tests;
