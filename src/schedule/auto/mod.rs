//! Schedules where a program has none, for CPUs (`cpus.rs`) and GPUs (`gpus/`). They are scripts
//! like any other, for each statement the best first: whoever tries them keeps the first that is
//! accepted, prints it (`show --stage schedule`), and a person can paste and edit it.

mod across;
mod commands;
mod cpus;
mod diagonals;
mod estimate;
mod factors;
mod gpus;
mod nests;
mod plan;
mod product;
mod profile;
mod rows;
mod shapes;
mod statistics;
mod sums;
mod tiles;
mod turned;

pub use self::cpus::for_cpus;
pub use self::gpus::for_gpus;
pub use self::profile::{Model, Profile};
pub use self::statistics::Statistics;

use crate::graph::order::{is_sparse_driven, sparse_accesses};
use crate::graph::{Graph, Nest};
use crate::program::ir::{SizeId, TensorId, VarId};
use std::borrow::Cow;

/// A way to schedule one statement.
#[derive(Clone, Debug)]
pub struct Script {
    /// The rule that it follows, in words.
    pub rule: Cow<'static, str>,
    pub commands: Vec<String>,
}

impl Script {
    /// The same with a command behind.
    fn with(&self, command: &str) -> Self {
        let mut script = self.clone();
        script.commands.push(command.to_string());
        script
    }
}

/// The scripts of one statement, best first.
#[derive(Debug, Default)]
pub struct Scripts {
    pub scripts: Vec<Script>,
    /// What would have to be known to tell which is best.
    pub asked: Option<Asked>,
}

/// What decides which tiles pay, and its ranges, the largest numbers first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub question: Question,
    pub ranges: Vec<Range>,
}

/// What may be known when a kernel runs, if it is not before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    Size(SizeId),
    /// The elements that a matrix stores for each of its rows.
    MeanRow(TensorId),
    /// How many threads share loops, and whether there is enough to share: at least so many values of a size.
    Threads(Option<(SizeId, i64)>),
}

/// What is told apart of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Range {
    /// At least this.
    From(i64),
    /// At least so many products of a sum, which matters less than how long rows are.
    Products(i64),
}

impl Range {
    /// As a condition on what is asked.
    #[must_use]
    pub fn condition(self, asked: &str) -> String {
        match self {
            Range::From(least) | Range::Products(least) => format!("{asked} >= {least}"),
        }
    }

    /// A number in the range, and one below all that are.
    #[must_use]
    pub fn examples(self) -> (i64, i64) {
        match self {
            Range::From(least) | Range::Products(least) => (least, least / 2),
        }
    }
}

/// Whether the script of some nest may depend on sizes and on what operands store, on CPUs.
#[must_use]
pub fn asks(graph: &Graph) -> bool {
    let unknown = Statistics::default();
    let by_data = |asked: Asked| match asked.question {
        Question::Size(_) | Question::MeanRow(_) => true,
        Question::Threads(_) => false,
    };
    let sized = |nest| for_cpus(graph, nest, &unknown).asked.is_some_and(by_data);
    let mut nests = graph.nests.iter();
    nests.any(|nest| nests::asks(graph, nest) || sized(nest))
}

/// The same on GPUs, where rows of sparse operands decide.
#[must_use]
pub fn asks_on_gpus(graph: &Graph) -> bool {
    let mut nests = graph.nests.iter();
    nests.any(|nest| !nest.lhs.is_empty() && !sparse_accesses(graph, &nest.rhs).is_empty())
}

/// The command that shares the outermost loop of a nest out to the threads of a CPU;
/// `None` if it has no loops. `NoRaces` is only accepted where iterations write different
/// elements, so that results do not depend on the number of threads.
#[must_use]
pub fn threads(graph: &Graph, nest: &Nest) -> Option<String> {
    let writer = Writer {
        graph,
        nest,
        profile: &Profile::default(),
    };
    let outermost = nest.loops.first()?.var;
    Some(in_threads(&writer.name(outermost)))
}

fn in_threads(name: &String) -> String {
    format!("parallelize({name}, CPUThread(static), NoRaces)")
}

fn in_vectors(name: &String) -> String {
    format!("parallelize({name}, CPUVector, NoRaces)")
}

struct Writer<'g> {
    graph: &'g Graph,
    nest: &'g Nest,
    profile: &'g Profile,
}

impl Writer<'_> {
    /// Whether there are no other loops that a name might be of.
    fn is_alone(&self) -> bool {
        self.graph.nests.len() == 1
    }

    /// The variable as a command names it.
    fn name(&self, var: VarId) -> String {
        let name = &self.graph.var(var).name;
        match self.is_alone() {
            true => name.clone(),
            false => format!("{}.{name}", self.graph.statement(self.nest).label),
        }
    }

    /// A name that nothing has yet.
    fn fresh(&self, what: &str) -> String {
        let mut name = match self.is_alone() {
            true => what.to_string(),
            false => {
                let label = &self.graph.statement(self.nest).label;
                // A statement may have several nests: copies of operands come first.
                let before = self.graph.nests.iter();
                let before = before.take_while(|nest| nest.tensor != self.nest.tensor);
                let own = |nest: &&Nest| self.graph.statement(nest).label == *label;
                let label = label.to_ascii_lowercase();
                match before.filter(own).count() {
                    0 => format!("{label}_{what}"),
                    n => format!("{label}_{n}_{what}"),
                }
            }
        };
        let taken = |name: &String| {
            self.graph.vars.iter().any(|v| v.name == *name)
                || self.graph.tensors.iter().any(|t| t.name == *name)
                || self.graph.function.sizes.iter().any(|s| s.name == *name)
        };
        while taken(&name) {
            name.push('_');
        }
        name
    }

    fn vars(&self) -> Vec<VarId> {
        self.nest.loop_vars()
    }

    fn is_left(&self, var: VarId) -> bool {
        let roots = self.graph.provenance.roots(var);
        roots.iter().all(|root| self.nest.lhs.contains(root))
    }

    fn is_sparse(&self, var: VarId) -> bool {
        is_sparse_driven(self.graph, &self.nest.rhs, var)
    }

    fn units(&self, units: &[(&str, &str, &str)]) -> Vec<String> {
        units
            .iter()
            .map(|(var, unit, race)| format!("parallelize({var}, {unit}, {race})"))
            .collect()
    }
}
