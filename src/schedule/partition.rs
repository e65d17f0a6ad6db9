//! `partition(i, b, ib, P, by)`: the range of i in P parts that data decide (000, chapter 10).
//!
//! before: `forall(i, ...)`
//! after:  `forall(b, forall(ib, ...)) suchthat partition(i, b, ib, P, nnz)`
//!
//! `rows`: equally many values of i, as `divide(i, b, ib, P)` has it. `nnz`: neighbouring rows of the first
//! operand that has i as its rows, with equally many stored elements; a row is never cut, so that iterations
//! of b write different rows. Where parts begin is searched before the loops. ib stands inside b.
//! Refused: P < 1; i has no loop, or is a part of something; no operand stores a compressed
//! level below a dense one over i. `merge_path` and `bins` are not supported yet.

use super::arguments::{Arguments, new_var, replace_loops};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::access::has_rows;
use crate::graph::order::sparse_accesses;
use crate::graph::relation::{Divide, Partition};
use crate::graph::{Graph, Relation};
use crate::program::ir::{Access, TensorId, VarId};
use crate::syntax::ast::ExprKind;

const USAGE: &str = "partition(i, b, ib, 8, nnz)";

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    arguments.expect_count(5, USAGE)?;
    let parent = arguments.loop_var(&graph, 0)?;
    arguments.expect_open(&graph, parent)?;
    let (part, inner) = (arguments.name(1)?, arguments.name(2)?);
    let parts = arguments.positive(3)?;
    let by = arguments.expr(4)?;
    let word = match &by.kind {
        ExprKind::Name(name) => name.as_str(),
        ExprKind::Apply { callee, .. } => callee.name.as_str(),
        ExprKind::Number(_)
        | ExprKind::Extent { .. }
        | ExprKind::Member { .. }
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..) => "",
    };
    let of = match word.to_ascii_lowercase().as_str() {
        "rows" => None,
        "nnz" => Some(rows_of(&graph, parent, arguments)?),
        "merge_path" | "bins" => {
            return Err(Diagnostic::error(
                codes::UNSUPPORTED_COMMAND,
                by.span,
                format!("parts by `{word}` are not supported yet"),
                "`rows` and `nnz` are",
            )
            .with_help(
                "`fuse`, `pos` and `split` cut rows where tiles of stored elements end, as `merge_path` does",
            ));
        }
        _ => {
            let message = "expected rows, nnz, merge_path or bins(4, 32)".to_string();
            return Err(arguments.wrong(by.span, message, USAGE));
        }
    };
    let part = new_var(&mut graph, &part)?;
    let inner = new_var(&mut graph, &inner)?;
    replace_loops(&mut graph, parent, &[part, inner]);
    graph.relate(match of {
        None => Relation::Divide(Divide {
            parent,
            outer: part,
            inner,
            parts,
        }),
        Some(of) => Relation::Partition(Partition {
            parent,
            part,
            inner,
            parts,
            of,
        }),
    });
    Ok(graph)
}

/// The first operand that has a row for each value of a variable of the program.
fn rows_of(graph: &Graph, row: VarId, arguments: &Arguments) -> Result<TensorId, Diagnostic> {
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
    let mut found = None;
    graph.visit_nests(&mut |nest| {
        let own = sparse_accesses(graph, &nest.rhs);
        found = found.or_else(|| own.iter().find(|a| is_row(a)).map(|a| a.tensor));
    });
    match found {
        Some(tensor) => Ok(tensor),
        None => refuse(
            format!("no operand stores rows of `{name}`"),
            "it takes an operand with a compressed level below a dense one over this variable, as csr \
             has; `rows` gives equally many iterations",
        ),
    }
}
