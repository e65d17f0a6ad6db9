//! The plan of one tree of loops: what is asked ahead of the walk over it, and of what it comes to.

use super::coverage::fills;
use super::gaps::skipped;
use super::refusal::Refusal;
use super::results::{Made, Results};
use super::spread::Turns;
use super::walk::Walker;
use super::{Phase, Tree};
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::access::Table;
use crate::graph::simplify::{Operands, droppable};
use crate::graph::{Graph, Nest, Stmt, pattern};
use crate::program::ir::Tensor;
use std::collections::BTreeMap;

/// See [`super::tree`].
pub(super) fn planned(
    graph: &Graph,
    tensors: &[Tensor],
    (nests, stmt): (&[&Nest], &Stmt),
    spread: Option<Turns>,
    span: Span,
) -> Result<Tree, Diagnostic> {
    let table = Table::of(graph, tensors, stmt);
    let mut results = Results::of(graph, tensors, nests, &table);
    if let Some(turns) = spread {
        results.spread(turns);
    }
    let mut blocks = Vec::new();
    let mut accumulated = BTreeMap::new();
    for (nest, (tensor, made)) in nests.iter().zip(&results.made) {
        if let Made::Follows(id, _) = made {
            let added = pattern::accumulates(stmt, *tensor);
            accumulated.extend(added.map(|op| (*tensor, op)));
            if pattern::is_by_block(graph, nest, stmt) {
                blocks.push((*tensor, *id));
            }
        }
    }
    let droppable = droppable(graph, tensors, nests);
    let operands = Operands {
        graph,
        tensors,
        table: &table,
        droppable: &droppable,
        blocks: &blocks,
    };
    let (walker, mut body) = Walker::walk(operands, &results, stmt, span)?;
    let (coverage, filled) = fills((operands, &results), nests, body.as_ref(), walker.filled);
    if let Some(body) = &mut body {
        super::exits::find(graph, body);
        super::shares::find(operands, body);
    }
    let gaps = walker.gaps;
    let nest = nests.first().map_or(span, |nest| nest.span);
    let refused = walker.endless;
    let refused = refused.or_else(|| skipped((operands, &results), &gaps, nest));
    let mut tree = Tree {
        phase: Phase::Filling,
        nests: nests.iter().map(|&nest| nest.clone()).collect(),
        made: results.made,
        accumulated,
        gaps,
        coverage,
        filled,
        body,
        refused,
        droppable,
        blocks,
        table,
        counted: None,
        most: BTreeMap::new(),
    };
    tree.most = super::most::most(graph, &tree);
    Refusal { span }.unless_bounded((graph, tensors), &tree)?;
    tree.counted = super::phases::counted(graph, &tree, span)?;
    Ok(tree)
}
