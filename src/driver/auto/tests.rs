//! How often programs are built while their schedules are found.

use super::*;
use crate::program::{self, Options};

/// The commands for a program of eight statements `yN = ...`, and how often it was built.
/// All stages refuse commands in whose text `refused` finds something.
fn search(
    text: &str,
    target: Target,
    refused: impl Fn(&[ast::Command]) -> bool,
) -> (Vec<ast::Command>, u32) {
    let names: Vec<String> = (0..8).map(|n| format!("y{n}")).collect();
    let statements: Vec<String> = names.iter().map(|y| format!("{y}{text}")).collect();
    let text = format!(
        "def f(double(M,N) A, double(N) x, double(M) v) -> ({}) {{\n{}\n}}\nformat f {{ A: csr }}",
        names.join(", "),
        statements.join("\n")
    );
    let mut sources = Sources::default();
    let file = sources.add("f.tc", &text);
    let file = syntax::parse(file, &text).unwrap();
    let resolved = program::resolve(&[file], &Options::default()).unwrap();
    let function = &resolved.program.functions[0];
    let graph = Graph::build(&Rc::new(function.clone())).unwrap();
    let mut builds = 0;
    let mut stages = |commands: &[ast::Command]| {
        builds += 1;
        if refused(commands) {
            return Err(Vec::new());
        }
        crate::driver::compile::build(function, commands, &settings(target)).map(drop)
    };
    let mut search = Search::new(
        &graph,
        (target, &Statistics::default()),
        &mut sources,
        &mut stages,
    );
    search.run(&graph);
    let commands = search.commands(&[]);
    (commands, builds)
}

fn calls(commands: &[ast::Command], name: &str, first: &str) -> usize {
    let found = commands.iter().filter(|command| {
        let text = format!("{command:?}");
        text.contains(name) && text.contains(first)
    });
    found.count()
}

/// What the graph refuses costs nothing.
#[test]
fn many_statements_are_built_once() {
    for target in [Target::C, Target::Cuda] {
        for text in [
            "(i) = x(i) * 2",
            "(i) = A(i,j) * x(j)",
            "(i,j) = v(i) * x(j)",
        ] {
            let (commands, builds) = search(text, target, |_| false);
            assert!(commands.len() >= 8, "{target:?} {text}");
            assert_eq!(builds, 1, "{target:?} {text}");
        }
    }
}

/// One of eight is found by halves; it gets its next script, the others their first.
#[test]
fn what_is_refused_is_tried_otherwise() {
    let warps = |commands: &[ast::Command]| calls(commands, "GPUWarp", "s5_");
    let (commands, builds) = search("(i) = A(i,j) * x(j)", Target::Cuda, |c| warps(c) > 0);
    assert_eq!(calls(&commands, "GPUWarp", "_warp"), 7);
    assert_eq!(calls(&commands, "GPUThread", "s5_"), 1);
    // 8, 4, 4, 2, 1, 1, 2 statements, and the one again.
    assert_eq!(builds, 8);
}
