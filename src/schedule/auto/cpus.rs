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
    let (shared, serial) = planned(graph, nest, statistics, once.as_ref());
    let mut own = Vec::new();
    own.extend(
        once.iter()
            .map(|once| script(KEPT, vec![once.clone(), threads.clone()])),
    );
    own.push(script(THREADS, vec![threads]));
    let mut all = shared;
    match serial {
        // Threads rarely gain as much.
        Some((gain, serial)) if gain >= MANY_THREADS => all.extend(serial.into_iter().chain(own)),
        Some((_, serial)) => all.extend(own.into_iter().chain(serial)),
        None => all.extend(own),
    }
    all.extend(once.map(|once| script(KEPT, vec![once])));
    all
}

/// What one nest in threads is taken to gain over a plan without them.
const MANY_THREADS: f64 = 8.0;

type Plans = (Vec<Script>, Option<(f64, Vec<Script>)>);

/// Loops and workspaces of a product that are much cheaper than the nest as it is: with threads that share
/// the result's loops out, and with others and how many times cheaper they are.
fn planned(graph: &Graph, nest: &Nest, statistics: &Statistics, once: Option<&String>) -> Plans {
    let Some(planned) = nests::planned(&Writer { graph, nest }, statistics) else {
        return Plans::default();
    };
    let what = if planned.in_steps {
        "sums are taken before other factors are met"
    } else {
        "the innermost loop goes along what stands side by side"
    };
    let rule = format!("{what}: some {:.1} times cheaper by estimate", planned.gain);
    let mut commands = planned.commands;
    commands.extend(once.cloned());
    // Lanes are for loops that visit everything, which the graph knows.
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
    // Whether threads may share the result's loops out is not the workspaces' affair.
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
