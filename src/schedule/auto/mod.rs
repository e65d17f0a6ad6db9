//! Schedules where a program has none. For CPUs, the outermost loop of each statement is
//! shared out, and results that store what an operand stores keep their coordinates from call to
//! call. For GPUs, there are several ways. They are scripts like any other, for each statement the best
//! first: whoever tries them keeps the first that is accepted, prints it (`show --stage schedule`),
//! and a person can paste and edit it.
//!
//! The rules, after 000, 8.3: a warp shares the row of a sparse matrix; where the result
//! has columns, its threads take 32 of them side by side, so that what they load stands
//! together; what stores a value for each element of an operand is shared out by
//! positions; everything else gives each thread elements of the result of its own, or of a
//! sum that the threads reduce. What an H100 said of them stands in `BENCHMARKS.md`.

mod estimate;
mod nests;
mod product;
mod statistics;

pub use self::statistics::Statistics;

use crate::graph::order::{is_sparse_driven, sparse_accesses};
use crate::graph::print::access_text;
use crate::graph::{Graph, Nest, pattern, visit};
use crate::program::ir::{Access, ExprKind, Role, VarId};
use std::borrow::Cow;

/// A way to schedule one statement.
#[derive(Clone, Debug)]
pub struct Script {
    /// The rule that it follows, in words.
    pub rule: Cow<'static, str>,
    pub commands: Vec<String>,
}

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

/// Whether the script of some nest may depend on what operands store. On GPUs none does.
#[must_use]
pub fn asks(graph: &Graph) -> bool {
    graph.nests.iter().any(|nest| nests::asks(graph, nest))
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

/// Scripts for one nest of an untransformed graph on a GPU; none if it has to stay serial.
#[must_use]
pub fn for_gpus(graph: &Graph, nest: &Nest) -> Vec<Script> {
    if nest.loops.is_empty() {
        return Vec::new();
    }
    let writer = Writer { graph, nest };
    let mut all = Vec::new();
    let mut by = |rule: &'static str, write: &dyn Fn(&mut Vec<Vec<String>>)| {
        let mut own = Vec::new();
        write(&mut own);
        all.extend(own.into_iter().map(|commands| Script {
            rule: Cow::Borrowed(rule),
            commands,
        }));
    };
    // What is appended is counted first by those who share the outermost loop. Rows that are collected
    // would need memory for each block, which nobody has asked for: they stay with one thread.
    if !pattern::appended(graph, nest).is_empty() {
        by(
            "who shares the outermost loop counts what is appended first",
            &|all| {
                writer.outermost(all);
            },
        );
        return all;
    }
    if let Some(source) = pattern::source(graph, nest) {
        by(
            "values of what an operand stores are shared out by its positions",
            &|all| {
                writer.stored_elements(&source.access, all);
            },
        );
    }
    if nest.lhs.is_empty() {
        by(
            "each thread adds up a part of a sum of everything",
            &|all| writer.scalar(all),
        );
    }
    by("a warp walks the row of a sparse matrix", &|all| {
        writer.warp_per_row(all)
    });
    by(
        "tiles of both matrices pass through shared memory, sums stay in registers",
        &|all| {
            writer.product(all);
        },
    );
    by("threads take columns of the result side by side", &|all| {
        writer.columns(all)
    });
    by(
        "each thread has elements of the result of its own",
        &|all| writer.elements(all),
    );
    by("blocks share the outermost loop", &|all| {
        writer.outermost(all)
    });
    all
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

/// Columns of a result that the threads of a block take side by side.
const COLUMNS: i64 = 64;

/// Threads that reduce the sum of one stored element.
const GROUP: i64 = 8;

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

    /// The variables of an access, outer levels first, if they are those of the first loops.
    fn outer_vars(&self, access: &Access) -> Option<Vec<VarId>> {
        let format = &self.graph.tensor(access.tensor).format;
        let roots: Vec<VarId> = format
            .modes
            .iter()
            .map(|&m| access.subscripts[m].as_var())
            .collect::<Option<_>>()?;
        (!roots.is_empty() && self.vars().starts_with(&roots)).then_some(roots)
    }

    /// A loop over the positions of all levels of an access, and its variable.
    fn positions(&self, access: &Access, roots: &[VarId]) -> (Vec<String>, String) {
        let mut script = Vec::new();
        let mut at = self.name(roots[0]);
        for (n, &next) in roots.iter().enumerate().skip(1) {
            let fused = self.fresh(&format!("f{n}"));
            script.push(format!("fuse({at}, {}, {fused})", self.name(next)));
            at = fused;
        }
        let p = self.fresh("p");
        let operand = access_text(self.graph, access);
        script.push(format!("pos({at}, {p}, {operand})"));
        (script, p)
    }

    /// The stored elements of an operand, shared out evenly: each to a group of threads that
    /// reduces a sum over a dense dimension, or to a thread.
    fn stored_elements(&self, access: &Access, all: &mut Vec<Vec<String>>) {
        let Some(roots) = self.outer_vars(access) else {
            return;
        };
        let vars = self.vars();
        let (mut base, p) = self.positions(access, &roots);
        let (block, own) = (self.fresh("block"), self.fresh("own"));
        if let [k] = vars[roots.len()..]
            && !self.is_left(k)
            && !self.is_sparse(k)
        {
            let (k0, k1) = (self.fresh("k0"), self.fresh("k1"));
            let mut script = base.clone();
            script.push(format!("split({p}, {block}, {own}, {})", 256 / GROUP));
            script.push(format!("starts({block}, before)"));
            script.push(format!("split({}, {k0}, {k1}, {GROUP})", self.name(k)));
            script.push(format!("reorder({block}, {own}, {k1}, {k0})"));
            let group = format!("GPUGroup({GROUP})");
            script.extend(self.units(&[
                (&block, "GPUBlock", "NoRaces"),
                (&own, "GPUWarp", "NoRaces"),
                (&k1, &group, "ParallelReduction"),
            ]));
            all.push(script);
        }
        base.push(format!("split({p}, {block}, {own}, 256)"));
        base.extend(self.units(&[
            (&block, "GPUBlock", "NoRaces"),
            (&own, "GPUThread", "NoRaces"),
        ]));
        all.push(base);
    }

    /// A sum of everything: each thread adds up a part, blocks add theirs together.
    fn scalar(&self, all: &mut Vec<Vec<String>>) {
        let Some(&first) = self.vars().first() else {
            return;
        };
        // Elements of one operand side by side, sparse ones first: neighbouring threads
        // then load neighbouring elements, and rows are shared out evenly.
        let mut operands = sparse_accesses(self.graph, &self.nest.rhs);
        visit(&self.nest.rhs, &mut |node| {
            if let ExprKind::Access(access) = &node.kind {
                operands.push(access.clone());
            }
        });
        let whole = operands.into_iter().find_map(|access| {
            let roots = self.outer_vars(&access)?;
            (roots.len() == self.vars().len()).then_some((access, roots))
        });
        if let Some((access, roots)) = whole.filter(|(_, roots)| roots.len() > 1) {
            let (base, p) = self.positions(&access, &roots);
            all.push(self.summed(base, &p));
        }
        all.push(self.summed(Vec::new(), &self.name(first)));
        self.tiles(first, "Temporary", all);
    }

    /// 4096 iterations for each block, whose threads take them in turns.
    fn summed(&self, mut script: Vec<String>, name: &str) -> Vec<String> {
        let (block, part, turn, thread) = (
            self.fresh("block"),
            self.fresh("part"),
            self.fresh("turn"),
            self.fresh("thread"),
        );
        script.extend([
            format!("split({name}, {block}, {part}, 4096)"),
            format!("split({part}, {turn}, {thread}, 256)"),
            format!("reorder({block}, {thread}, {turn})"),
        ]);
        script.extend(self.units(&[
            (&block, "GPUBlock", "Temporary"),
            (&thread, "GPUThread", "Temporary"),
        ]));
        script
    }

    /// A block for each tile of 256 iterations, a thread for each.
    fn tiles(&self, var: VarId, race: &str, all: &mut Vec<Vec<String>>) {
        let (block, thread) = (self.fresh("block"), self.fresh("thread"));
        let mut script = vec![format!("split({}, {block}, {thread}, 256)", self.name(var))];
        script.extend(self.units(&[(&block, "GPUBlock", race), (&thread, "GPUThread", race)]));
        all.push(script);
    }

    /// `y(i) = A(i,j) * x(j)`: a warp walks a row.
    fn warp_per_row(&self, all: &mut Vec<Vec<String>>) {
        let vars = self.vars();
        let accesses = sparse_accesses(self.graph, &self.nest.rhs);
        let ([i, j], [access]) = (vars.as_slice(), accesses.as_slice()) else {
            return;
        };
        if !self.is_left(*i) || self.is_left(*j) || !self.is_sparse(*j) {
            return;
        }
        let (block, warp) = (self.fresh("block"), self.fresh("warp"));
        let (p, turn, thread) = (self.fresh("p"), self.fresh("turn"), self.fresh("thread"));
        let mut script = vec![
            format!("split({}, {block}, {warp}, 16)", self.name(*i)),
            format!(
                "pos({}, {p}, {})",
                self.name(*j),
                access_text(self.graph, access)
            ),
            format!("split({p}, {turn}, {thread}, 16)"),
            format!("reorder({block}, {warp}, {thread}, {turn})"),
        ];
        script.extend(self.units(&[
            (&block, "GPUBlock", "NoRaces"),
            (&warp, "GPUWarp", "NoRaces"),
            (&thread, "GPUThread", "Temporary"),
        ]));
        all.push(script);
    }

    /// Columns of the result side by side.
    fn columns(&self, all: &mut Vec<Vec<String>>) {
        let vars = self.vars();
        let format = &self.graph.tensor(self.nest.tensor).format;
        let (Some(&first), Some(&mode)) = (vars.first(), format.modes.last()) else {
            return;
        };
        let Some(&column) = self.nest.lhs.get(mode) else {
            return;
        };
        if column == first || !self.is_left(first) || self.is_sparse(column) {
            return;
        }
        let (tile, thread) = (self.fresh("tile"), self.fresh("thread"));
        let inner = vars
            .iter()
            .filter(|&&v| v != first && v != column)
            .map(|&v| self.name(v));
        // No more threads than columns; a block takes several rows where those are few.
        let columns = self.columns_of_tile(column);
        let rows = COLUMNS / columns;
        let (mut script, rows_first, row_units) = if rows > 1 && !self.is_sparse(first) {
            let (block, row) = (self.fresh("block"), self.fresh("row"));
            let split = format!("split({}, {block}, {row}, {rows})", self.name(first));
            let units = self.units(&[(&row, "GPUThreadY", "NoRaces")]);
            (vec![split], vec![block, tile.clone(), row], units)
        } else {
            let first = self.name(first);
            (Vec::new(), vec![first, tile.clone()], Vec::new())
        };
        let outer = rows_first[0].clone();
        let mut order = rows_first;
        order.push(thread.clone());
        order.extend(inner);
        let column = self.name(column);
        script.push(format!("split({column}, {tile}, {thread}, {columns})"));
        script.push(format!("reorder({})", order.join(", ")));
        script.extend(self.units(&[
            (&outer, "GPUBlock", "NoRaces"),
            (&tile, "GPUBlockY", "NoRaces"),
        ]));
        script.extend(row_units);
        script.extend(self.units(&[(&thread, "GPUThread", "NoRaces")]));
        all.push(script);
    }

    /// Threads side by side for the columns of a result: as many as there are, if that is known
    /// and few, in powers of two.
    fn columns_of_tile(&self, column: VarId) -> i64 {
        let most = self.graph.most_extent(column).unwrap_or(COLUMNS);
        let mut columns = COLUMNS;
        while columns / 2 >= most.max(1) && columns > 4 {
            columns /= 2;
        }
        columns
    }

    /// Elements of a dense result, one for each thread.
    fn elements(&self, all: &mut Vec<Vec<String>>) {
        let left: Vec<VarId> = self
            .vars()
            .into_iter()
            .take_while(|&v| self.is_left(v) && !self.is_sparse(v))
            .collect();
        let Some((&first, rest)) = left.split_first() else {
            return;
        };
        if !rest.is_empty() {
            let mut script = Vec::new();
            let mut at = self.name(first);
            for (n, &next) in rest.iter().enumerate() {
                let fused = self.fresh(&format!("f{n}"));
                script.push(format!("fuse({at}, {}, {fused})", self.name(next)));
                at = fused;
            }
            let (block, thread) = (self.fresh("block"), self.fresh("thread"));
            script.push(format!("split({at}, {block}, {thread}, 256)"));
            script.extend(self.units(&[
                (&block, "GPUBlock", "NoRaces"),
                (&thread, "GPUThread", "NoRaces"),
            ]));
            all.push(script);
        }
        self.tiles(first, "NoRaces", all);
    }

    /// The outermost loop, whatever it is.
    fn outermost(&self, all: &mut Vec<Vec<String>>) {
        let Some(&first) = self.vars().first() else {
            return;
        };
        for race in ["NoRaces", "Atomics"] {
            self.tiles(first, race, all);
            // A coiterated loop is shared out in tiles.
            let (tile, own) = (self.fresh("tile"), self.fresh("own"));
            let (block, thread) = (self.fresh("block"), self.fresh("thread"));
            let mut script = vec![
                format!("split({}, {tile}, {own}, 32)", self.name(first)),
                format!("split({tile}, {block}, {thread}, 128)"),
            ];
            script.extend(self.units(&[(&block, "GPUBlock", race), (&thread, "GPUThread", race)]));
            all.push(script);
        }
    }
}
