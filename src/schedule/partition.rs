//! `partition(i, b, ib, P, by)`: the range of i in P parts that data decide (000, chapter 10).
//!
//! before: `forall(i, ...)`
//! after:  `forall(b, forall(ib, ...)) suchthat partition(i, b, ib, P, nnz)`
//!
//! `rows`: equally many values of i, as `divide(i, b, ib, P)` has it. `nnz`: neighbouring rows of the first
//! operand that has i as its rows, with equally many stored elements; a row is never cut, so that iterations
//! of b write different rows. `merge_path`: equally many rows and stored elements together, and rows are cut. Its loop
//! is one over positions:
//!
//! before: `forall(i, forall(j, ...))`
//! after:  `forall(b, forall(ib, ...)) suchthat fuse(i, j, i_j) and pos(i_j, i_jpos, A(i,j)) and
//!         partition(i_jpos, b, ib, P, merge_path)`
//!
//! and positions of rows may be given themselves. `bins(4, 32)`: a part for rows of up to 4 elements, one for those of
//! up to 32, and one for all others, each in their own order; iterations of b and ib write different rows.
//!
//! Where parts begin is searched before the loops, and so is what stands in bins. ib stands
//! inside b. Refused: P < 1; i has no loop, or is a part of something; no operand stores a compressed
//! level below a dense one over i; what `fuse` and `pos` refuse; positions of no rows, or that are counted
//! anew in each iteration of a loop outside; bins that are not P, or whose lengths do not ascend; a result that
//! would be appended in the order of bins.

use super::arguments::{Arguments, new_var, replace_loops};
use super::{fuse, pos};
use crate::diagnostic::codes::schedule as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::access::has_rows;
use crate::graph::order::sparse_accesses;
use crate::graph::relation::{By, Divide, Partition, Pos};
use crate::graph::{Graph, Relation};
use crate::level::ArrayRole;
use crate::program::ir::{Access, Role, VarId};
use crate::syntax::ast::{Expr, ExprKind, Ident};
use std::rc::Rc;

const USAGE: &str = "partition(i, b, ib, 8, nnz)";

/// Refuses a loop that has values of which an operand has no row: those of another statement.
fn unless_guarded(graph: &Graph, var: VarId, arguments: &Arguments) -> Result<(), Diagnostic> {
    let mut guards = graph.nests.iter().flat_map(|nest| &nest.guards);
    if !guards.any(|guard| graph.provenance.roots(var).contains(&guard.var)) {
        return Ok(());
    }
    Err(Diagnostic::error(
        codes::NOT_NESTED,
        arguments.span,
        format!(
            "statements share `{}` that have different ranges of it",
            graph.var(var).name
        ),
        "rows are not those of all",
    )
    .with_help("`split` it, or join loops of equal ranges"))
}

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    arguments.expect_count(5, USAGE)?;
    let mut parent = arguments.loop_var(&graph, 0)?;
    arguments.expect_open(&graph, parent)?;
    unless_guarded(&graph, parent, arguments)?;
    let (part, inner) = (arguments.name(1)?, arguments.name(2)?);
    let parts = arguments.positive(3)?;
    let by = arguments.expr(4)?;
    let word = if let ExprKind::Name(name) = &by.kind {
        name.as_str()
    } else if let ExprKind::Apply { callee, .. } = &by.kind {
        callee.name.as_str()
    } else {
        ""
    };
    let by = match word.to_ascii_lowercase().as_str() {
        "rows" => None,
        "nnz" => Some(By::Stored(rows_of(&graph, parent, arguments)?.tensor)),
        "merge_path" => {
            (graph, parent) = positions_of_rows(graph, parent, arguments)?;
            Some(By::Path)
        }
        "bins" => {
            let most = lengths(by, parts, arguments)?;
            Some(By::Lengths(
                rows_of(&graph, parent, arguments)?.tensor,
                most,
            ))
        }
        _ => {
            let message = "expected rows, nnz, merge_path or bins(4, 32)".to_string();
            return Err(arguments.wrong(by.span, message, USAGE));
        }
    };
    let part = new_var(&mut graph, &part)?;
    let inner = new_var(&mut graph, &inner)?;
    replace_loops(&mut graph, parent, &[part, inner]);
    graph.relate(match by {
        None => Relation::Divide(Divide {
            parent,
            outer: part,
            inner,
            parts,
        }),
        Some(by) => Relation::Partition(Partition {
            parent,
            part,
            inner,
            parts,
            by,
        }),
    });
    Ok(graph)
}

/// The numbers of elements that rows of all bins but the last have at most.
fn lengths(by: &Expr, parts: i64, arguments: &Arguments) -> Result<Rc<[i64]>, Diagnostic> {
    let given: &[Expr] = if let ExprKind::Apply { args, .. } = &by.kind {
        args
    } else {
        &[]
    };
    let usage = "partition(i, b, ib, 3, bins(4, 32))";
    let mut most: Vec<i64> = Vec::new();
    for e in given {
        let length = arguments.constants.eval(e)?;
        if length < most.last().map_or(0, |last| last + 1) {
            let message = format!("{length} does not exceed the length before it");
            return Err(arguments.wrong(e.span, message, usage));
        }
        most.push(length);
    }
    let bins = most.len() + 1;
    if given.is_empty() || i64::try_from(bins) != Ok(parts) {
        let message = match given.is_empty() {
            true => "`bins` takes the lengths of rows at which bins end".to_string(),
            false => format!("these are {bins} bins, not {parts}"),
        };
        return Err(arguments.wrong(by.span, message, usage));
    }
    Ok(most.into())
}

/// The variable that counts the positions of all elements below rows: the one at hand, or that of
/// the rows at hand with what is stored in them.
fn positions_of_rows(
    graph: Graph,
    row: VarId,
    arguments: &Arguments,
) -> Result<(Graph, VarId), Diagnostic> {
    if let Some(counted) = graph.provenance.producer(row).and_then(Relation::counts) {
        expect_rows(&graph, counted, arguments)?;
        return Ok((graph, row));
    }
    let access = rows_of(&graph, row, arguments)?;
    let column = access.subscripts[graph.tensor(access.tensor).format.modes[1]].as_var();
    let Some(column) = column else {
        return Err(uncuttable(
            &graph,
            row,
            arguments.expr(0)?.span,
            "its rows have no loop over what they store",
            "name an operand's columns by a variable alone, or cut rows by `nnz`",
        ));
    };
    let names = [row, column].map(|v| graph.var(v).name.clone());
    let new = |graph: &Graph, like: String| Ident {
        name: graph.fresh_name(&like),
        span: arguments.span,
    };
    let both = new(&graph, names.join("_"));
    let (graph, both) = fuse::fuse(graph, (row, column), &both, arguments)?;
    let positions = new(&graph, format!("{}pos", graph.var(both).name));
    pos::count(graph, (both, access), &positions, arguments)
}

/// Whether the positions are those of all rows that an operand has, as `pos` counts them.
fn expect_rows(graph: &Graph, counted: &Pos, arguments: &Arguments) -> Result<(), Diagnostic> {
    let roots = graph.provenance.coordinates(counted.parent);
    let levels = &graph.tensor(counted.access.tensor).format.levels;
    let level = |root: &VarId| graph.level_of(&counted.access, *root);
    let (first, last) = (roots.first().and_then(level), roots.last().and_then(level));
    let why = if first != Some(0) || graph.provenance.is_inner_part(counted.parent) {
        "they are counted anew in each iteration of a loop outside"
    } else if last.is_none_or(|last| last == 0 || !levels[last].has(ArrayRole::Positions)) {
        "they have rows by arithmetic, or none"
    } else {
        return Ok(());
    };
    let help =
        "take it of fused positions of a compressed level below others, before anything else";
    Err(uncuttable(
        graph,
        counted.pos,
        arguments.expr(0)?.span,
        why,
        help,
    ))
}

/// The diagnostic of a loop along which there is no path of rows and elements.
fn uncuttable(graph: &Graph, var: VarId, place: Span, why: &str, help: &str) -> Diagnostic {
    let message = format!("`{}` has no path of rows and elements", graph.var(var).name);
    Diagnostic::error(codes::PARTITION, place, message, why).with_help(help)
}

/// The first operand that has a row for each value of a variable of the program.
fn rows_of(graph: &Graph, row: VarId, arguments: &Arguments) -> Result<Access, Diagnostic> {
    let name = &graph.var(row).name;
    let refuse = |message: String, help: &str| {
        let place = arguments.expr(0)?.span;
        let error = Diagnostic::error(
            codes::PARTITION,
            place,
            message,
            "cannot be cut by what is stored",
        );
        Err(error.with_help(help))
    };
    let made = graph.provenance.producer(row).is_some() && !graph.provenance.is_stored(row);
    if made || graph.data_decides(row) {
        return refuse(
            format!("`{name}` is no row as the program has it"),
            "partition the program's own variable first, then cut its parts",
        );
    }
    let is_row = |access: &Access| {
        has_rows(graph.tensor(access.tensor), access, row)
            && !graph.collected.contains(&access.tensor)
    };
    // A copy in another order has rows, too, but nobody knows them before it is made.
    let is_copied = |access: &Access| {
        let tensor = graph.tensor(access.tensor);
        let first = &access.subscripts[tensor.format.modes[0]];
        let has_rows = tensor.role == Role::Temporary && tensor.format.levels.len() > 1;
        has_rows && first.as_var() == Some(row)
    };
    let (mut found, mut copy) = (None, None);
    graph.visit_nests(&mut |nest| {
        let own = sparse_accesses(graph, &nest.rhs);
        let one = |is: &dyn Fn(&Access) -> bool| own.iter().find(|a| is(a)).cloned();
        found = found.take().or_else(|| one(&is_row));
        copy = copy.take().or_else(|| one(&is_copied));
    });
    match (found, copy) {
        (Some(access), _) => Ok(access),
        (None, Some(copy)) => refuse(
            format!(
                "the rows of `{name}` are those of `{}`, which is made here",
                graph.tensor(copy.tensor).name
            ),
            "store the operand in the order of the loops, so that its rows are there before; `rows` gives equally \
             many iterations",
        ),
        (None, None) => refuse(
            format!("no operand stores rows of `{name}`"),
            "it takes an operand with a compressed level below a dense one over this variable, as csr \
             has; `rows` gives equally many iterations",
        ),
    }
}
