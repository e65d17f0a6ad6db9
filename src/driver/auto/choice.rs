//! Several schedules of a function where something that is not known decides which is best.

use super::{Found, Target};
use crate::diagnostic::Sources;
use crate::driver::choice::{Chosen, Setting, alternatives, build_all};
use crate::graph::Graph;
use crate::lower::conditions::THREADS;
use crate::program;
use crate::program::ir::{Function, Role, SizeExpr, SizeId};
use crate::schedule::auto::{self, Asked, Question, Range, Statistics};
use crate::syntax::{self, ast};

/// Alternatives of one function.
const MOST: usize = 3;

/// The ranges of what decides that are told apart, each as a condition and what it says of the
/// data; one without a condition if nothing decides.
pub(super) fn assumed(
    graph: &Graph,
    (target, statistics): (Target, &Statistics),
) -> Vec<(Option<String>, Statistics)> {
    let mut asked: Vec<Asked> = Vec::new();
    if !target.properties().has_blocks {
        let nests = graph.nests.iter();
        asked.extend(nests.filter_map(|nest| auto::for_cpus(graph, nest, statistics).asked));
        asked.retain(|asked| can_be_asked(&graph.function, asked.question));
    }
    // Of several things whether threads share the loops matters most, then how long rows are.
    let rank = |asked: &&Asked| match asked.question {
        Question::Threads(_) => 0,
        Question::MeanRow(_) => 1,
        Question::Size(_) => 2,
    };
    let Some(question) = asked.iter().min_by_key(rank).map(|asked| asked.question) else {
        return vec![(None, statistics.clone())];
    };
    asked.retain(|asked| asked.question == question);
    let (words, besides) = (
        words(&graph.function, question),
        besides(&graph.function, question),
    );
    let mut ranges: Vec<Range> = asked.into_iter().flat_map(|asked| asked.ranges).collect();
    // How long sums are matters less than how long rows are.
    if ranges.iter().any(|range| matches!(range, Range::From(_))) {
        ranges.retain(|range| matches!(range, Range::From(_)));
    }
    ranges.sort_unstable_by(|x, y| y.cmp(x));
    ranges.dedup();
    ranges.truncate(MOST - 1);
    let of = |value: i64| {
        let mut assumed = statistics.clone();
        match question {
            Question::Size(size) => {
                let name = graph.function.size(size).name.clone();
                assumed.sizes.insert(name, value);
            }
            Question::MeanRow(matrix) => {
                let stored = vec![1, u64::try_from(value).unwrap_or(0)];
                let name = graph.tensor(matrix).name.clone();
                assumed.stored.insert(name, stored);
            }
            Question::Threads(_) => assumed.threads = Some(value),
        }
        assumed
    };
    // What is shorter than all of them.
    let rest = ranges.last().map_or(1, |last| last.examples().1);
    let mut all: Vec<_> = (ranges.iter())
        .map(|range| {
            let condition = format!("{}{besides}", range.condition(&words));
            (Some(condition), of(range.examples().0))
        })
        .collect();
    all.push((None, of(rest)));
    all
}

/// Whether a call says it: it does of what is given, not of copies that the kernel makes.
fn can_be_asked(function: &Function, question: Question) -> bool {
    match question {
        Question::Size(_) => true,
        // A size of this name is meant by conditions.
        Question::Threads(_) => function.sizes.iter().all(|size| size.name != THREADS),
        Question::MeanRow(matrix) => match function.tensors.get(matrix.index()).map(|t| t.role) {
            Some(Role::Input | Role::InOut) => true,
            Some(Role::Result | Role::Temporary) | None => false,
        },
    }
}

/// How a condition asks: for a size of a tensor, if it is one of its first dimensions.
fn words(function: &Function, question: Question) -> String {
    let size = match question {
        Question::Size(size) => size,
        Question::MeanRow(matrix) => return format!("mean_row({})", function.tensor(matrix).name),
        Question::Threads(_) => return THREADS.to_string(),
    };
    of_size(function, size)
}

/// What has to hold in each range.
fn besides(function: &Function, question: Question) -> String {
    match question {
        Question::Threads(Some((size, least))) => {
            format!(" && {} >= {least}", of_size(function, size))
        }
        Question::Threads(None) | Question::Size(_) | Question::MeanRow(_) => String::new(),
    }
}

/// A size as conditions name it.
fn of_size(function: &Function, size: SizeId) -> String {
    let is_argument = |role: Role| match role {
        Role::Input | Role::InOut | Role::Result => true,
        Role::Temporary => false,
    };
    let arguments = function.tensors.iter().filter(|t| is_argument(t.role));
    let mut found = arguments.filter_map(|tensor| {
        let at = tensor
            .dims
            .iter()
            .position(|dim| *dim == SizeExpr::Size(size))?;
        let word = ["rows", "cols"].get(at)?;
        Some(format!("{word}({})", tensor.name))
    });
    found
        .next()
        .unwrap_or_else(|| function.size(size).name.clone())
}

/// The schedules under `choose`.
fn text(found: &[Found]) -> String {
    let mut text = "choose {\n".to_string();
    for one in found {
        let head = match &one.condition {
            Some(condition) => format!("when {condition}"),
            None => "otherwise".to_string(),
        };
        let lines: Vec<&str> = one.script().map(String::as_str).collect();
        text += &format!("  {head}: {{\n    {}\n  }}\n", lines.join("\n    "));
    }
    text + "}\n"
}

/// The commands that choose, and the kernel that carries all of them, if one can.
pub(super) fn carried(
    function: &Function,
    target: Target,
    found: &[Found],
    sources: &mut Sources,
) -> Option<(Vec<ast::Command>, Chosen)> {
    let text = text(found);
    let file = sources.add("<automatic schedule>", &text);
    let commands = syntax::parse_schedule(file, &text).ok()?;
    let setting = Setting {
        defines: &[],
        target,
        first_commands: None,
        program: (&[], &program::Options::default()),
    };
    let all = alternatives(&commands, |_| None).ok()?;
    let chosen = build_all(function, &all, &setting, (None, sources)).ok()?;
    Some((commands, chosen))
}
