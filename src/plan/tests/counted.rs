//! What a plan counts is what it stores, and no more than it says.

use super::runner::{
    DISTANT, EXTENT, OF_MATRIX, Operand, Pattern, Runner, Values, all_patterns, extents, program,
};
use crate::cases::scheduled;
use crate::diagnostic::Sources;
use crate::graph::Graph;
use crate::graph::access::AccessId;
use crate::plan::counting::counting;
use crate::plan::{Plan, plan};
use crate::program::ir::VarId;
use std::collections::{BTreeMap, BTreeSet};

/// What the plan's first tree comes to where its operands store `patterns`.
fn stored(graph: &Graph, plan: &Plan, patterns: &BTreeMap<usize, Pattern>) -> Vec<Values> {
    let tree = plan.trees.last().unwrap();
    let mut runner = Runner::new(graph, plan, (tree, patterns), tree.made[0].0);
    if let Some(body) = &tree.body {
        runner.inside(body, &Values::new());
    }
    runner.stored
}

/// Whether the plan says how much its last tree stores at most; `None` if it stores more.
fn stays_below(
    (graph, plan): (&Graph, &Plan),
    patterns: &BTreeMap<usize, Pattern>,
    stored: &[Values],
) -> Option<bool> {
    let tree = plan.trees.last()?;
    let tensor = tree.made[0].0;
    let Some(most) = tree.most.get(&tensor) else {
        return Some(false);
    };
    let positions = |&(id, last): &(AccessId, usize), others: u32| {
        let tensor = tree.table.get(id).access.tensor;
        if graph.points.is(tensor) {
            return usize::try_from(EXTENT.pow(others)).unwrap();
        }
        let format = &plan.tensors[tensor.index()].format;
        let extents = extents(plan, tensor);
        (0..=last).fold(1, |above, level| {
            let stored = patterns[&id.0].iter().map(|at| &at[..=level]);
            match format.levels[level].is_placed() {
                true => above * usize::try_from(extents[level]).unwrap(),
                false => stored.collect::<BTreeSet<_>>().len(),
            }
        })
    };
    let modes = &plan.tensors[tensor.index()].format.modes;
    let fits = |(level, levels): (usize, &Vec<(AccessId, usize)>)| {
        let vars = modes[..=level].iter().map(|&m| tree.nests[0].lhs[m]);
        let vars: Vec<VarId> = vars.collect();
        let at = |values: &Values| -> Vec<i64> { vars.iter().map(|var| values[var]).collect() };
        let elements: BTreeSet<Vec<i64>> = stored.iter().map(at).collect();
        let others = u32::try_from(level).unwrap();
        let most = || levels.iter().map(|own| positions(own, others)).sum();
        levels.is_empty() || elements.len() <= most()
    };
    let all = most.levels.iter().enumerate().all(fits);
    all.then_some(true)
}

#[test]
fn what_is_counted_is_stored() {
    let products: [Operand; 2] = [
        ("sum(k, A#(i,k) * A#(j,k))", "dense, compressed"),
        ("sum(k, B#(i,k) * B#(j,k))", "compressed, compressed"),
    ];
    let distant = DISTANT.into_iter().chain(products);
    let operands: Vec<Operand> = OF_MATRIX.into_iter().chain(distant).collect();
    let (mut counted, mut programs, mut bounded) = (0, 0, 0);
    for first in &operands {
        for second in &operands {
            for (op, result) in ["+", "*"].into_iter().flat_map(|op| {
                ["dense, compressed", "compressed, compressed"].map(|format| (op, format))
            }) {
                let text = program("y(i,j)", &[*first, *second], &[op], "");
                let text =
                    text.replacen("format f {", &format!("format f {{\n  y: {{{result}}}"), 1);
                programs += 1;
                let Ok(graph) = scheduled(&mut Sources::default(), "", &text) else {
                    continue;
                };
                let filling = plan(&graph, graph.function.span).unwrap().unwrap();
                let Some(counting) = counting(&filling) else {
                    continue;
                };
                for patterns in all_patterns(&filling, filling.trees.last().unwrap()) {
                    let of = |plan: &Plan| stored(&graph, plan, &patterns);
                    let all = of(&filling);
                    assert_eq!(all, of(&counting), "{text}: {patterns:?}");
                    counted += 1;
                    let has_bound = stays_below((&graph, &filling), &patterns, &all);
                    bounded += usize::from(has_bound.unwrap_or_else(|| panic!("{text}")));
                }
            }
        }
    }
    println!("{programs} programs, {counted} patterns, {bounded} with a bound");
    assert!(counted > 10_000, "{counted}");
    assert!(bounded > 10_000, "{bounded}");
}
