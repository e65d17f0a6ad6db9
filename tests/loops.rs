//! The loop IR as text: every kernel of the repository reads back as it was, at every stage.

mod support;

use sparsec::driver::Compiled;
use sparsec::loops::ir::Kernel;
use sparsec::loops::{passes, text, verify};
use sparsec::lower::lower;
use sparsec::{diagram, graph::Graph, plan};
use support::corpus::{files, listed, programs};
use support::{compile, parse, scheduled};

/// A kernel says the same when it is read, and is as well-formed; one that it calls is a text of its
/// own.
fn reads_back(kernel: &Kernel) {
    if let Some(keeping) = &kernel.keeping {
        reads_back(keeping);
    }
    let printed = text::print(kernel);
    let read = text::read(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
    assert_eq!(text::print(&read), printed);
    assert_eq!(verify::verify(&read), Vec::<String>::new(), "{printed}");
    let mut kernel = kernel.clone();
    kernel.comment = Vec::new();
    kernel.keeping = None;
    // By their text: NaN differs from itself.
    let (read, kernel) = (format!("{read:?}"), format!("{kernel:?}"));
    assert!(read == kernel, "the text leaves something out\n{printed}");
}

/// Its plan is told and drawn: all lines are boxes, and every result is among them.
fn has_a_plan(graph: &Graph) {
    let plan = plan::plan(graph, graph.function.span).unwrap().unwrap();
    let outline = plan::text::of(graph).unwrap();
    let printed = plan::text::print(&outline);
    let planned = plan.trees.iter().flat_map(|tree| &tree.nests);
    let planned: Vec<_> = planned.map(|nest| nest.tensor).collect();
    for nest in &graph.nests {
        // What would be collected is spread at once, which is told of the result.
        if graph.collected.contains(&nest.tensor) && !planned.contains(&nest.tensor) {
            continue;
        }
        let name = &graph.tensor(nest.tensor).name;
        let said = printed
            .lines()
            .any(|l| l.trim_start().starts_with(&format!("{name} ")));
        assert!(said, "{name} is not told of\n{printed}");
    }
    let diagram = diagram::plan::diagram(&outline);
    let labels: usize = diagram.nodes.iter().map(|node| node.label.len()).sum();
    assert_eq!(labels, printed.lines().count(), "{printed}");
    assert!(diagram.dot().contains("digraph") && diagram.svg().contains("</svg>"));
    let read: serde_json::Value = serde_json::from_str(&diagram.json()).unwrap();
    assert_eq!(
        read["nodes"].as_array().map(Vec::len),
        Some(diagram.nodes.len())
    );
}

/// Each function as lowered and after each pass: how many kernels.
fn all_stages(compiled: &Compiled) -> usize {
    let mut count = 0;
    for graph in &compiled.graphs {
        has_a_plan(graph);
        let mut kernel = lower(graph).unwrap().kernel;
        reads_back(&kernel);
        for pass in passes::of(compiled.target) {
            kernel = passes::run(kernel, &[*pass], compiled.target).unwrap();
            reads_back(&kernel);
            count += 1;
        }
    }
    count
}

const TARGETS: [&[&str]; 2] = [&[], &["--target", "cuda"]];

#[test]
fn golden_kernels_read_back() {
    let mut count = 0;
    for path in files("testdata/golden", "tc") {
        for target in TARGETS.into_iter().chain([&["--no-schedule"][..]]) {
            let mut args = vec![path.display().to_string()];
            args.extend(target.iter().map(ToString::to_string));
            let compiled = compile(&parse(&args));
            count += all_stages(&compiled.unwrap_or_else(|e| panic!("{e}")));
        }
    }
    println!("{count} kernels");
}

fn corpus_reads_back(target: &[&str]) {
    let mut count = 0;
    for folder in ["testdata/programs", "testdata/corpus"] {
        for case in programs(folder, target) {
            count += all_stages(&case.compiled);
        }
    }
    for case in listed(target) {
        count += all_stages(&case.compiled);
    }
    println!("{count} kernels");
}

#[test]
fn the_corpus_reads_back() {
    corpus_reads_back(&[]);
}

#[test]
fn the_corpus_reads_back_for_gpus() {
    corpus_reads_back(&["--target", "cuda"]);
}

#[test]
fn scheduled_programs_read_back() {
    let mut count = 0;
    for scheduled in scheduled::all() {
        let compiled = compile(&parse(&scheduled.args())).unwrap();
        count += all_stages(&compiled);
    }
    println!("{count} kernels");
}
