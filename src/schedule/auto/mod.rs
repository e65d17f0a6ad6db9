//! Schedules where a program has none, for CPUs (`cpus.rs`) and GPUs (`gpus.rs`). They are scripts like any other, for each statement the best
//! first: whoever tries them keeps the first that is accepted, prints it (`show --stage schedule`),
//! and a person can paste and edit it.

mod commands;
mod cpus;
mod estimate;
mod factors;
mod gpus;
mod nests;
mod product;
mod statistics;

pub use self::cpus::for_cpus;
pub use self::gpus::for_gpus;
pub use self::statistics::Statistics;

use crate::graph::order::is_sparse_driven;
use crate::graph::{Graph, Nest};
use crate::program::ir::VarId;
use std::borrow::Cow;

/// A way to schedule one statement.
#[derive(Clone, Debug)]
pub struct Script {
    /// The rule that it follows, in words.
    pub rule: Cow<'static, str>,
    pub commands: Vec<String>,
}

/// Whether the script of some nest may depend on what operands store. On GPUs none does.
#[must_use]
pub fn asks(graph: &Graph) -> bool {
    graph.nests.iter().any(|nest| nests::asks(graph, nest))
}

/// The command that shares the outermost loop of a nest out to the threads of a CPU;
/// `None` if it has no loops. `NoRaces` is only accepted where iterations write different
/// elements, so that results do not depend on the number of threads.
#[must_use]
pub fn threads(graph: &Graph, nest: &Nest) -> Option<String> {
    let writer = Writer { graph, nest };
    let outermost = nest.loops.first()?.var;
    Some(in_threads(&writer.name(outermost)))
}

fn in_threads(name: &String) -> String {
    format!("parallelize({name}, CPUThread(static), NoRaces)")
}

struct Writer<'g> {
    graph: &'g Graph,
    nest: &'g Nest,
}

impl Writer<'_> {
    /// The variable as a command names it.
    fn name(&self, var: VarId) -> String {
        let label = &self.graph.statement(self.nest).label;
        format!("{label}.{}", self.graph.var(var).name)
    }

    /// A name that nothing has yet.
    fn fresh(&self, what: &str) -> String {
        let label = self.graph.statement(self.nest).label.to_ascii_lowercase();
        let mut name = format!("{label}_{what}");
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
        self.nest.lhs.contains(&var)
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
