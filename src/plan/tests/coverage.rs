//! Which elements of a result a plan sets is what it is said to set.

use super::runner::{
    DISTANT, OF_MATRIX, Operand, Runner, Values, all_patterns, elements, extents, program,
};
use crate::cases::scheduled;
use crate::diagnostic::Sources;
use crate::graph::Graph;
use crate::plan::{Coverage, Plan, Tree, plan};
use crate::program::ir::TensorId;

/// What a vector is made of; `#` stands for the operand's number. Three have columns, over which it
/// is summed.
const OF_VECTOR: [Operand; 7] = [
    ("D#(i)", "dense"),
    ("S#(i)", "compressed"),
    ("P#(i)", "bitmap"),
    ("sum(j, A#(i,j))", "dense, compressed"),
    ("sum(j, B#(i,j))", "compressed, compressed"),
    ("sum(j, T#(j,i))", "compressed, compressed"),
    ("sum(j, V#(j))", "compressed"),
];

/// What schedules do besides, with what they need of the program.
const SCHEDULES: [(&str, &str); 4] = [
    ("", ""),
    ("split(i, i0, i1, 2)", ""),
    ("pos(i, p, S0(i)) split(p, p0, p1, 2)", "S0(i)"),
    (
        "fuse(i, j, f) pos(f, p, A0(i,j)) split(p, p0, p1, 2)",
        "A0(i,j)",
    ),
];

/// How often it was said that all is set, and how often it was not said although it is so.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    programs: usize,
    refused: usize,
    whole: usize,
    unsure: usize,
}

/// Runs a program on all that its operands may store.
fn judge(text: &str, tally: &mut Tally) {
    tally.programs += 1;
    let Ok(graph) = scheduled(&mut Sources::default(), "", text) else {
        tally.refused += 1;
        return;
    };
    let plan = plan(&graph, graph.function.span).unwrap().unwrap();
    for tree in &plan.trees {
        for (&tensor, &said) in &tree.coverage {
            judge_of((&graph, &plan, tree), (tensor, said), text, tally);
        }
    }
}

/// Compares what is said of a tensor with what its tree does.
fn judge_of(
    (graph, plan, tree): (&Graph, &Plan, &Tree),
    (tensor, said): (TensorId, Coverage),
    text: &str,
    tally: &mut Tally,
) {
    let Some(body) = &tree.body else {
        assert_ne!(said, Coverage::Whole, "{text}");
        return;
    };
    let all = elements(&extents(plan, tensor));
    let mut always = true;
    for patterns in all_patterns(plan, tree) {
        let mut runner = Runner::new(graph, plan, (tree, &patterns), tensor);
        runner.inside(body, &Values::new());
        always &= runner.set == all;
        let set = std::mem::take(&mut runner.set);
        match said {
            Coverage::Whole => assert_eq!(set, all, "{text}: {patterns:?}"),
            Coverage::Stored(id) => {
                let stored = runner.stored_elements(id);
                assert!(set.is_superset(&stored), "{text}: {patterns:?}");
            }
            Coverage::Part => {}
        }
    }
    tally.whole += usize::from(said == Coverage::Whole);
    tally.unsure += usize::from(always && said != Coverage::Whole);
}

#[test]
fn what_is_said_to_be_set_is_set() {
    let mut tally = Tally::default();
    for (lhs, operands) in [("y(i)", OF_VECTOR), ("y(i,j)", OF_MATRIX)] {
        for (schedule, needs) in SCHEDULES {
            let mut judge = |operands: &[Operand], ops: &[&str]| {
                if program(lhs, operands, ops, "").contains(needs) {
                    judge(&program(lhs, operands, ops, schedule), &mut tally);
                }
            };
            // What is stored at a distance stands beside one operand, for there is more of it.
            for first in DISTANT.into_iter().filter(|_| lhs == "y(i,j)") {
                for second in operands {
                    for op in ["+", "*"] {
                        judge(&[first, second], &[op]);
                    }
                }
            }
            for first in operands {
                judge(&[first], &[]);
                for second in operands {
                    for op in ["+", "*"] {
                        judge(&[first, second], &[op]);
                        // Of three operands the last is a vector: 10 bits at most say what is
                        // stored.
                        for third in operands.iter().filter(|o| !o.1.contains(',')) {
                            for other in ["+", "*"] {
                                judge(&[first, second, *third], &[op, other]);
                            }
                        }
                    }
                }
            }
        }
    }
    println!("{tally:?}");
    assert_eq!(
        tally,
        Tally {
            programs: 3364,
            refused: 356,
            whole: 1424,
            unsure: 0
        }
    );
}
