//! Scripts for CPUs: products are taken apart where that costs much less (`nests.rs`), threads share the
//! outermost loop, and results that store what an operand stores keep their coordinates.

use super::{Script, Statistics, Writer, in_threads, nests, threads};
use crate::graph::{Graph, Nest, pattern};
use crate::program::ir::Role;

const THREADS: &str =
    "threads share the outermost loop, if its iterations write different elements";
const IN_ORDER: &str =
    "what is appended is appended in order: counting it first costs a few threads what they gain";
const KEPT: &str =
    "a result that stores what an operand stores keeps its coordinates from call to call";

/// Scripts for one nest of an untransformed graph on a CPU; none if it has no loops.
#[must_use]
pub fn for_cpus(graph: &Graph, nest: &Nest, statistics: &Statistics) -> Vec<Script> {
    let Some(threads) = threads(graph, nest) else {
        return Vec::new();
    };
    let script = |rule: &'static str, commands| Script {
        rule: rule.into(),
        commands,
    };
    // To count first costs one thread more than a few of them gain (`BENCHMARKS.md`), and how many there
    // are is not known here: what appends stays serial, and a note says what could be done.
    if !pattern::appended(graph, nest).is_empty() {
        let result = graph.tensor(nest.tensor);
        let in_order = format!("assemble({}, append)", result.name);
        let own = result.role == Role::Result;
        let both = own.then(|| script(IN_ORDER, vec![in_order, threads]));
        return both.into_iter().collect();
    }
    let once = once(graph, nest);
    let mut all = planned(graph, nest, statistics, once.as_ref());
    all.extend(
        once.iter()
            .map(|once| script(KEPT, vec![once.clone(), threads.clone()])),
    );
    all.push(script(THREADS, vec![threads]));
    all.extend(once.map(|once| script(KEPT, vec![once])));
    all
}

/// Loops and workspaces of a product that are much cheaper than the nest as it is, with threads and
/// without.
fn planned(
    graph: &Graph,
    nest: &Nest,
    statistics: &Statistics,
    once: Option<&String>,
) -> Vec<Script> {
    let Some(planned) = nests::planned(&Writer { graph, nest }, statistics) else {
        return Vec::new();
    };
    let what = if planned.in_steps {
        "sums are taken before other factors are met"
    } else {
        "the innermost loop goes along what stands side by side"
    };
    let rule = format!("{what}: some {:.1} times cheaper by estimate", planned.gain);
    let mut commands = planned.commands;
    commands.extend(once.cloned());
    let with_threads = |loops: &[String]| {
        let shared = loops.iter().map(in_threads);
        Script {
            rule: rule.clone().into(),
            commands: commands.iter().cloned().chain(shared).collect(),
        }
    };
    // Whether threads may share the result's loops out is not the workspaces' affair.
    let all = [&[planned.first][..], &planned.before].concat();
    let mut scripts = vec![with_threads(&all)];
    scripts.extend((!planned.before.is_empty()).then(|| with_threads(&planned.before)));
    scripts.push(with_threads(&[]));
    scripts
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
