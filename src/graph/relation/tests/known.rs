//! What is said to be known inside some of the loops, against the values that there are.

use super::{Numbers, graphs, run};
use crate::graph::Graph;
use crate::graph::known::Known;
use crate::graph::relation::Values;
use crate::program::ir::VarId;
use std::collections::BTreeMap;

/// How often a variable has one value inside the outer loops, and how often that is said.
#[derive(Default)]
struct Tally {
    decided: u64,
    said: u64,
}

/// Where a variable is said to be known inside the outer loops, their values decide its value.
fn compare(graph: &Graph, order: &[VarId], tally: &mut Tally) {
    let mut places: Vec<BTreeMap<VarId, i64>> = Vec::new();
    run(graph, order, &BTreeMap::new(), &mut |loops| {
        places.push(loops.clone())
    });
    let vars = (0..graph.vars.len()).map(|v| VarId(u32::try_from(v).unwrap()));
    for var in vars {
        for depth in 0..=order.len() {
            let outer = &order[..depth];
            let said = Known::after(graph, outer).offset(var).is_some();
            let mut values: BTreeMap<Vec<i64>, i64> = BTreeMap::new();
            let mut decided = true;
            for loops in &places {
                let Some(offset) = (Numbers { graph, loops }).offset(var) else {
                    decided = false;
                    continue;
                };
                let around = outer.iter().map(|v| loops[v]).collect();
                decided &= *values.entry(around).or_insert(offset) == offset;
            }
            let relations = &graph.provenance.relations;
            assert!(
                decided || !said,
                "{var:?} inside {outer:?} after {relations:?}"
            );
            tally.decided += u64::from(decided);
            tally.said += u64::from(said);
        }
    }
}

#[test]
fn what_is_said_to_be_known_is() {
    let mut tally = Tally::default();
    for sizes in [(2, 3), (3, 2)] {
        graphs(3, sizes, |graph, orders, _| {
            for order in orders {
                compare(graph, order, &mut tally);
            }
        });
    }
    // The others have one value by chance: a part of one value, a range that a tile holds.
    let share = 100 * tally.said / tally.decided;
    assert!(share >= 60, "{share}% of what loops decide is known");
}
