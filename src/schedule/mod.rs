//! `Graph × Command → Result<Graph>`: one file a command, with its preconditions,
//! its rewrite and its tests. Knows nothing of lowering.
//!
//! A command either gives a new graph or a diagnostic, never half of one.

pub mod arguments;
pub mod assemble;
pub mod auto;
pub mod bound;
pub mod builtin;
pub mod constants;
pub mod coord;
pub mod divide;
pub mod fuse;
pub mod inspect;
pub mod join;
pub mod legal;
pub mod matching;
pub mod mergeby;
pub mod parallelize;
pub mod partition;
pub mod pos;
pub mod precompute;
pub mod prefetch;
pub mod promote;
pub mod reorder;
pub mod shift;
pub mod size;
pub mod skew;
pub mod split;
pub mod starts;
pub mod strides;
pub mod synthesized;
#[cfg(test)]
mod tests;
pub mod tile;
pub mod tree;
pub mod units;
pub mod unroll;

use crate::diagnostic::codes::schedule as codes;
use crate::diagnostic::{Diagnosed, Diagnostic, Span};
use crate::graph::Graph;
use crate::program::ir::Function;
use crate::program::spelling::nearest;
use crate::syntax::ast::{Arg, Command, Ident};
pub use crate::target::Target;
use arguments::Arguments;
use constants::Constants;
use std::rc::Rc;

/// What the command line says about schedules.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `-D NAME=VALUE`
    pub defines: Vec<(String, i64)>,
    pub target: Target,
}

/// The graph of a function under a schedule. Where `reorder` or `tile` wants an order in which no row of a sparse
/// result is done before the next one begins, its elements are collected as a whole in place of row by row.
///
/// # Errors
/// A statement that no order of loops computes; the first command that is refused.
pub fn scheduled(
    function: &Rc<Function>,
    commands: &[Command],
    settings: &Settings,
) -> Diagnosed<Graph> {
    let mut refused = match applied(Graph::build(function)?, commands, settings) {
        Ok(graph) => return Ok(graph),
        Err(refused) => refused,
    };
    let mut whole: Vec<usize> = Vec::new();
    while refused.is_of_order(commands) {
        let (mut further, mut told) = (None, None);
        for stmt in (0..function.stmts.len()).filter(|stmt| !whole.contains(stmt)) {
            let tried = [&whole[..], &[stmt]].concat();
            let Ok(graph) = Graph::build_whole(function, &tried) else {
                continue;
            };
            match applied(graph, commands, settings) {
                Ok(graph) => return Ok(graph),
                Err(later) if later.at > refused.at => {
                    further = Some((stmt, later));
                    break;
                }
                // What the loops themselves do not allow says more than a workspace that nobody asked for.
                Err(other) if other.at == refused.at && !other.says_as(&refused) => {
                    told = Some(other)
                }
                Err(_) => {}
            }
        }
        let Some((stmt, later)) = further else {
            refused = told.unwrap_or(refused);
            break;
        };
        whole.push(stmt);
        refused = later;
    }
    Err(refused.errors)
}

/// Why commands were not taken, and the number of the first such one.
struct Refused {
    at: usize,
    errors: Vec<Diagnostic>,
}

impl Refused {
    fn new(at: usize, error: Diagnostic) -> Refused {
        Refused {
            at,
            errors: vec![error],
        }
    }

    fn says_as(&self, other: &Refused) -> bool {
        let messages = |refused: &Refused| refused.errors.first().map(|e| e.message.clone());
        messages(self) == messages(other)
    }

    /// Whether the command says an order of loops, which these cannot have.
    fn is_of_order(&self, commands: &[Command]) -> bool {
        let orders = match commands.get(self.at) {
            Some(Command::Call { name, .. }) => Entry::of(name).is_some_and(|entry| entry.orders),
            Some(
                Command::Let { .. }
                | Command::Param { .. }
                | Command::Choose { .. }
                | Command::Size { .. },
            )
            | None => false,
        };
        let codes = [codes::NOT_NESTED, codes::LEVEL_ORDER];
        orders && self.errors.iter().any(|error| codes.contains(&error.code))
    }
}

/// A command that schedules may call.
struct Entry {
    /// In lower case; more than one where it has an alias.
    names: &'static [&'static str],
    apply: fn(Graph, &Arguments) -> Result<Graph, Diagnostic>,
    /// It says in which order loops stand.
    orders: bool,
    /// It puts workspaces between loops.
    makes_workspaces: bool,
}

impl Entry {
    const fn new(
        names: &'static [&'static str],
        apply: fn(Graph, &Arguments) -> Result<Graph, Diagnostic>,
    ) -> Self {
        Entry {
            names,
            apply,
            orders: false,
            makes_workspaces: false,
        }
    }

    const fn ordering(mut self) -> Self {
        self.orders = true;
        self
    }

    const fn with_workspaces(mut self) -> Self {
        self.makes_workspaces = true;
        self
    }

    fn of(name: &Ident) -> Option<&'static Entry> {
        let lower = name.name.to_ascii_lowercase();
        let mut all = COMMANDS.iter();
        all.find(|entry| entry.names.contains(&lower.as_str()))
    }
}

const COMMANDS: &[Entry] = &[
    Entry::new(&["assemble"], assemble::apply),
    Entry::new(&["bound"], bound::apply),
    Entry::new(&["coord"], coord::apply),
    Entry::new(&["divide"], divide::apply),
    Entry::new(&["fuse"], fuse::apply),
    Entry::new(&["inspect"], inspect::apply),
    Entry::new(&["join"], join::apply),
    Entry::new(&["mergeby"], mergeby::apply),
    Entry::new(&["parallelize"], parallelize::apply),
    Entry::new(&["partition"], partition::apply),
    Entry::new(&["pos"], pos::apply),
    Entry::new(&["precompute"], precompute::apply).with_workspaces(),
    Entry::new(&["prefetch"], prefetch::apply),
    Entry::new(&["promote"], promote::apply).with_workspaces(),
    Entry::new(&["reorder", "order"], reorder::apply).ordering(),
    Entry::new(&["shift"], shift::apply),
    Entry::new(&["skew"], skew::apply),
    Entry::new(&["split"], split::apply),
    Entry::new(&["starts"], starts::apply),
    Entry::new(&["tile"], tile::apply).ordering(),
    Entry::new(&["unroll"], unroll::apply),
];

fn unknown(name: &Ident) -> Diagnostic {
    let names = COMMANDS.iter().flat_map(|entry| entry.names).copied();
    let help = "`sparsec explain E0401` lists the commands";
    Diagnostic::error(
        codes::UNKNOWN_COMMAND,
        name.span,
        format!("unknown command `{}`", name.name),
        "no such command",
    )
    .with_help(match nearest(&name.name, names) {
        Some(meant) => format!("did you mean `{meant}`? {help}"),
        None => help.to_string(),
    })
}

/// Applies the commands one after another.
///
/// # Errors
/// The first command that is refused; the graph before it is lost, so that nothing
/// is ever compiled with half a schedule.
pub fn apply(graph: Graph, commands: &[Command], settings: &Settings) -> Diagnosed<Graph> {
    applied(graph, commands, settings).map_err(|refused| refused.errors)
}

/// Where a later command is such that a workspace which sums read cannot list what it holds, it is an array.
fn applied(graph: Graph, commands: &[Command], settings: &Settings) -> Result<Graph, Refused> {
    let makes = |command: &Command| {
        let Command::Call { name, .. } = command else {
            return false;
        };
        Entry::of(name).is_some_and(|entry| entry.makes_workspaces)
    };
    if !commands.iter().any(makes) {
        return in_turn(graph, commands, settings);
    }
    in_turn(graph.clone(), commands, settings).or_else(|refused| {
        let arrays = Graph {
            arrays: true,
            ..graph
        };
        in_turn(arrays, commands, settings).map_err(|other| match other.at > refused.at {
            true => other,
            false => refused,
        })
    })
}

fn in_turn(graph: Graph, commands: &[Command], settings: &Settings) -> Result<Graph, Refused> {
    let mut graph = graph;
    // The memory of a launch is there before it.
    graph.follows_appended = settings.target.properties().allocates;
    let mut constants = Constants::new(&settings.defines).with_sizes(&graph.function);
    for (at, command) in commands.iter().enumerate() {
        let last = at + 1 == commands.len();
        graph = one(graph, (command, last), &mut constants, settings.target)
            .map_err(|error| Refused::new(at, error))?;
    }
    let finished = constants.finish(graph.function.span);
    finished.map_err(|error| Refused::new(commands.len(), error))?;
    Ok(graph)
}

fn one(
    graph: Graph,
    (command, last): (&Command, bool),
    constants: &mut Constants,
    target: Target,
) -> Result<Graph, Diagnostic> {
    match command {
        Command::Let { name, value, .. } => {
            constants.define(name, value)?;
            Ok(graph)
        }
        Command::Param {
            name,
            values,
            default,
            ..
        } => {
            constants.parameter(name, values, default)?;
            Ok(graph)
        }
        Command::Choose { span, .. } => Err(Diagnostic::error(
            codes::CHOICE,
            *span,
            "`choose` is the end of a schedule",
            "not here",
        )
        .with_help("its alternatives are schedules of their own, without `choose`")),
        Command::Size { name, value, .. } => size::check(graph, name, value, constants),
        Command::Call { name, args, span } => {
            call(graph, (name, args, *span, last), constants, target)
        }
    }
}

fn call(
    graph: Graph,
    (name, args, span, last): (&Ident, &[Arg], Span, bool),
    constants: &Constants,
    target: Target,
) -> Result<Graph, Diagnostic> {
    let arguments = Arguments {
        command: name,
        args,
        span,
        constants,
        target,
    };
    let Some(entry) = Entry::of(name) else {
        return Err(unknown(name));
    };
    let graph = (entry.apply)(graph, &arguments)?;
    let graph = if last {
        inspect::share_out(graph, &arguments)?
    } else {
        graph
    };
    legal::check_all(&graph, &arguments)?;
    join::check_shared(&graph, &arguments)?;
    assemble::check(&graph, &arguments)?;
    tree::check(&graph, &arguments, last)?;
    Ok(graph)
}
