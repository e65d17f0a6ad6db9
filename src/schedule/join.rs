//! `join(S1, S2, i, ...)`: the outer loops of adjacent statements become one (loop
//! fusion; 002 section 5.2, 003).
//!
//! before: `forall(i, S1)  forall(i, S2)`
//! after:  `forall(i, sequence(S1, S2))`
//!
//! A loop that one of them reduces over may be shared where that statement adds to its result in place, as
//! `w(col(e)) += ...` does; one that sets it is taken apart first ([`apart`]).
//!
//! Loops of different ranges become one over the values of both, where the loops outside tell these
//! ([`ranges`]).
//!
//! Refused: the statements are not adjacent; the loops are not their outermost ones; a loop
//! reduces into what is set before or behind it; a dependence would point backwards
//! ([`dependence`]); the second statement would read rows of a sparse result that are still
//! appended to. On GPUs what is appended cannot share loops yet.

mod apart;
pub mod dependence;
mod ranges;
#[cfg(test)]
mod tests;

use super::arguments::Arguments;
use crate::diagnostic::codes::schedule as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::concretize::concretize_numbered;
pub(super) use crate::graph::terms::rename_expr;
use crate::graph::{Graph, Nest, Stmt, pattern};
use crate::program::ir::{Bound, VarId};

const USAGE: &str = "join(S1, S2, i)";

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    if arguments.args.len() < 3 {
        return Err(arguments.wrong(
            arguments.span,
            "`join` takes two statements and the loops to share".to_string(),
            USAGE,
        ));
    }
    let (first, second) = (label(&graph, arguments, 0)?, label(&graph, arguments, 1)?);
    let at = adjacent(&graph, first, second, arguments.span)?;
    let depth = arguments.args.len() - 2;
    let at = apart::set_apart(&mut graph, at, depth);
    let mut pairs = Vec::new();
    for n in 0..depth {
        let name = arguments.name(n + 2)?;
        let var = |nest: &Nest| {
            nest.loops
                .get(n)
                .map(|l| l.var)
                .filter(|&v| graph.var(v).name == name.name)
        };
        let (Some(a), Some(b)) = (var(&graph.nests[at]), var(&graph.nests[at + 1])) else {
            let mut labels = graph.nests.iter().map(|nest| &graph.statement(nest).label);
            let help = match labels.any(|label| *label == name.name) {
                true => "join two statements at a time, the last two first",
                false => "bring it outside with `reorder`, in both statements",
            };
            return Err(Diagnostic::error(
                codes::NOT_NESTED,
                name.span,
                format!(
                    "`{}` is not loop number {} of both statements",
                    name.name,
                    n + 1
                ),
                "must be outermost in both",
            )
            .with_help(help));
        };
        arguments.expect_open(&graph, a)?;
        arguments.expect_open(&graph, b)?;
        check_loops(&graph, a, b, at, name.span)?;
        pairs.push((a, b));
    }
    if graph.nests[at + 1].joined >= depth {
        return Err(arguments.wrong(
            arguments.span,
            "the statements share these loops already".to_string(),
            USAGE,
        ));
    }
    let before = graph.clone();
    let followers = graph.nests[at + 2..].iter();
    let end = at + 2 + followers.take_while(|nest| nest.joined > 0).count();
    for nest in at + 1..end {
        rename(&mut graph, nest, &pairs);
    }
    graph.nests[at + 1].joined = depth;
    ranges::unite(&mut graph, (at, end), &pairs, arguments.span)?;
    share_tags(&mut graph, at, depth, arguments)?;
    let shared: Vec<VarId> = pairs.iter().map(|p| p.0).collect();
    for nest in [at, at + 1] {
        check_outermost(&graph, nest, &shared, arguments.span)?;
    }
    for (first, second, depth) in dependence::sharing(&graph) {
        if (first..second).contains(&at) {
            let shared = &graph.nests[first].loop_vars()[..depth];
            dependence::check(&graph, (first, second), shared, arguments.span)?;
        }
    }
    let labels = |nest: &Nest| before.statement(nest).label.clone();
    let names: Vec<&str> = shared.iter().map(|&v| graph.var(v).name.as_str()).collect();
    let line = format!(
        "join({}, {}, {})",
        labels(&before.nests[at]),
        labels(&before.nests[at + 1]),
        names.join(", ")
    );
    graph.script.push(line);
    Ok(graph)
}

/// What is appended may be read in shared loops where its rows are complete, and is made by one
/// statement; no statement reads where the results of another say.
fn check_appended(graph: &Graph, arguments: &Arguments) -> Result<(), Diagnostic> {
    for (first, second, depth) in dependence::sharing(graph) {
        let (writer, reader) = (&graph.nests[first], &graph.nests[second]);
        for nest in [writer, reader] {
            let result = graph.tensor(nest.tensor);
            let appends = result.is_appended() && pattern::source(graph, nest).is_none();
            if appends && !arguments.target.properties().allocates {
                return Err(Diagnostic::error(
                    codes::UNSUPPORTED_COMMAND,
                    arguments.span,
                    format!(
                        "joining a statement that appends to `{}` is not supported on GPUs yet",
                        result.name
                    ),
                    "is run again where room was too small",
                )
                .with_help("store the result dense, or as the operand that it follows"));
            }
        }
        let result = graph.tensor(writer.tensor);
        if dependence::decides(graph, reader, writer) {
            return Err(Diagnostic::error(
                codes::NOT_NESTED,
                arguments.span,
                format!(
                    "`{}` decides which elements the other statement reads",
                    result.name
                ),
                "that they are there is checked before the shared loops",
            )
            .with_help("leave the statements apart"));
        }
        if !result.is_appended() || pattern::source(graph, writer).is_some() {
            continue;
        }
        let shared = &writer.loop_vars()[..depth];
        let incomplete = (0..result.format.order()).any(|level| {
            let var = writer.lhs[result.format.modes[level]];
            // A tile of the level's coordinates is as incomplete.
            let over = |v: &VarId| graph.provenance.ancestors(*v).contains(&var);
            !result.format.levels[level].is_placed() && shared.iter().any(over)
        });
        let reads = dependence::reads(graph, reader, writer);
        if writer.tensor == reader.tensor || (reads && incomplete) {
            return Err(Diagnostic::error(
                codes::NOT_NESTED,
                arguments.span,
                format!("`{}` is not complete inside the shared loops", result.name),
                "its elements are appended one after another",
            )
            .with_help(format!(
                "share only loops over dense levels of `{}`, or store it dense",
                result.name
            )));
        }
    }
    Ok(())
}

/// After any command: loops that statements share are still the same ones, and what is
/// appended in them can be.
///
/// # Errors
/// The command took a shared loop away from one of them; see [`check_appended`].
pub(super) fn check_shared(graph: &Graph, arguments: &Arguments) -> Result<(), Diagnostic> {
    for (first, second, depth) in dependence::sharing(graph) {
        let [a, b] = [first, second].map(|nest| graph.nests[nest].loop_vars());
        if a.get(..depth).is_none() || a.get(..depth) != b.get(..depth) {
            return Err(Diagnostic::error(
                codes::NOT_NESTED,
                arguments.span,
                "a loop that statements share would become one with a loop of one of them",
                "statements joined before",
            )
            .with_help("leave the shared loops apart from the others, or do not join them"));
        }
    }
    for (at, nest) in graph.nests.iter().enumerate() {
        let next = graph.nests.get(at + 1).map_or(0, |next| next.joined);
        let loops = nest.loop_vars();
        let shared = loops.get(..nest.joined.max(next));
        if nest.guards.is_empty() || shared.is_some_and(|own| stands_inside(graph, at, own)) {
            continue;
        }
        let label = &graph.statement(nest).label;
        return Err(Diagnostic::error(
            codes::NOT_NESTED,
            arguments.span,
            format!("`{label}` would not stand inside of the loops that it shares"),
            "in which it has a range of its own",
        )
        .with_help("leave the shared loops as they are, or join loops of equal ranges"));
    }
    check_appended(graph, arguments)
}

/// What commands said of a shared loop of either statement holds for both.
fn share_tags(
    graph: &mut Graph,
    at: usize,
    depth: usize,
    arguments: &Arguments,
) -> Result<(), Diagnostic> {
    for n in 0..depth {
        let [a, b] = [at, at + 1].map(|nest| graph.nests[nest].loops[n].tag.clone());
        if let (Some(x), Some(y)) = (a.unroll, b.unroll)
            && x != y
        {
            let name = &graph.var(graph.nests[at].loops[n].var).name;
            return Err(Diagnostic::error(
                codes::NOT_NESTED,
                arguments.span,
                format!("`{name}` is unrolled by {x} in one statement and by {y} in the other"),
                "one loop from here on",
            )
            .with_help("join first, then unroll"));
        }
        for nest in [at, at + 1] {
            graph.nests[nest].loops[n].tag = a.with(&b);
        }
    }
    Ok(())
}

/// The number of the statement with the label.
fn label(graph: &Graph, arguments: &Arguments, at: usize) -> Result<usize, Diagnostic> {
    let name = arguments.name(at)?;
    let stmts = &graph.function.stmts;
    stmts
        .iter()
        .position(|s| s.label == name.name)
        .ok_or_else(|| {
            let labels: Vec<&str> = stmts.iter().map(|s| s.label.as_str()).collect();
            Diagnostic::error(
                codes::UNKNOWN_VARIABLE,
                name.span,
                format!("there is no statement `{}`", name.name),
                "no such label",
            )
            .with_help(format!("the statements are {}", labels.join(", ")))
        })
}

/// The nest of `first` right after which one of `second` runs.
fn adjacent(graph: &Graph, first: usize, second: usize, span: Span) -> Result<usize, Diagnostic> {
    let found = graph
        .nests
        .windows(2)
        .position(|pair| pair[0].stmt == first && pair[1].stmt == second);
    found.ok_or_else(|| {
        Diagnostic::error(
            codes::NOT_NESTED,
            span,
            "the statements do not follow one another",
            "must be adjacent, in this order",
        )
        .with_help("only neighbouring statements can share loops")
    })
}

fn check_loops(graph: &Graph, a: VarId, b: VarId, at: usize, span: Span) -> Result<(), Diagnostic> {
    let refuse = |message: String, label: &str| {
        Diagnostic::error(codes::NOT_NESTED, span, message, label)
            .with_help("join loops of the program")
    };
    let name = &graph.var(a).name;
    if [a, b]
        .iter()
        .any(|&v| graph.provenance.producer(v).is_some())
    {
        return Err(refuse(
            format!("`{name}` was made by a command: join first, then transform"),
            "no variable of the program",
        ));
    }
    for (nest, var) in [(&graph.nests[at], a), (&graph.nests[at + 1], b)] {
        let is_update = nest.op.is_some() && !graph.tensor(nest.tensor).is_appended();
        if !nest.lhs.contains(&var) && !is_update {
            return Err(reduced(graph, nest, var, span));
        }
    }
    Ok(())
}

fn reduced(graph: &Graph, nest: &Nest, var: VarId, span: Span) -> Diagnostic {
    let (name, label) = (&graph.var(var).name, &graph.statement(nest).label);
    Diagnostic::error(
        codes::NOT_NESTED,
        span,
        format!("`{name}` is reduced over in `{label}`"),
        "no loop of the result",
    )
    .with_help(
        "join loops of the results, or set the result in a statement before and add to its elements: \
         `y(j) = 0  y(j) += ...`",
    )
}

/// Refuses loops of a nest that do not stand around all of it: those of a sum that is stored behind them.
fn check_outermost(
    graph: &Graph,
    at: usize,
    shared: &[VarId],
    span: Span,
) -> Result<(), Diagnostic> {
    let nest = &graph.nests[at];
    match shared.last() {
        Some(&last) if !stands_inside(graph, at, shared) => Err(reduced(graph, nest, last, span)),
        Some(_) | None => Ok(()),
    }
}

/// Whether all of a nest stands inside of these loops.
fn stands_inside(graph: &Graph, at: usize, shared: &[VarId]) -> bool {
    let tree = concretize_numbered(graph, at, &mut graph.tensors.clone());
    let mut inside = tree.as_ref();
    for &var in shared {
        inside = match inside {
            Some(Stmt::Forall { var: own, body, .. }) if *own == var => Some(body),
            Some(_) | None => return false,
        };
    }
    true
}

/// Gives the nest the variables of the one it joins.
fn rename(graph: &mut Graph, at: usize, pairs: &[(VarId, VarId)]) {
    graph.renamed.extend(pairs);
    let to = |var: VarId| pairs.iter().find(|p| p.1 == var).map_or(var, |p| p.0);
    graph.nests[at].visit_mut(&mut |part| {
        for l in &mut part.loops {
            l.var = to(l.var);
        }
        for v in &mut part.lhs {
            *v = to(*v);
        }
        rename_expr(&mut part.rhs, &to);
    });
    for guard in &mut graph.nests[at].guards {
        guard.var = to(guard.var);
        for bound in guard.lo.iter_mut().chain(&mut guard.hi) {
            if let Bound::Dynamic(e) = bound {
                rename_expr(e, &to);
            }
        }
    }
    for access in graph.provenance.accesses_mut() {
        for subscript in &mut access.subscripts {
            rename_expr(subscript, &to);
        }
    }
    for var in &mut graph.vars {
        for e in var.range.reads_mut() {
            rename_expr(e, &to);
        }
    }
}
