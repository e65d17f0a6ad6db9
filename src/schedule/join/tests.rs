//! What joined loops of different ranges look like.

use crate::diagnostic::Sources;
use crate::driver::{Request, Source, compile};
use crate::graph::Graph;
use crate::graph::print::stmt_text;
use crate::graph::tree::concretize;
use crate::schedule::{Settings, apply};
use crate::syntax::parse_schedule;
use crate::target::Target;
use std::rc::Rc;

/// The trees of a program's statements behind commands.
fn trees(text: &str, commands: &str) -> String {
    let mut sources = Sources::default();
    let request = Request::new(Source::Text {
        name: "f".to_string(),
        text: text.to_string(),
    });
    let compiled = compile(&request, &mut sources).unwrap();
    let graph = Graph::build(&Rc::new(compiled.program.functions[0].clone())).unwrap();
    let file = sources.add("s", commands);
    let settings = Settings {
        defines: Vec::new(),
        target: Target::C,
    };
    let commands = parse_schedule(file, commands).unwrap();
    let graph = apply(graph, &commands, &settings).unwrap();
    let tree = concretize(&graph).unwrap();
    let all = tree
        .stmts
        .iter()
        .map(|s| stmt_text(&graph, &tree.tensors, s));
    all.collect::<Vec<_>>().join("\n")
}

const TWO: &str = "def f(double(N) x, double(M) z) -> (y, w) { y(i) = 2 * x(i)  w(i) = z(i) + 1 }";

#[test]
fn each_statement_guards_its_own() {
    let wanted =
        "forall(i, sequence(guarded(i < N, y(i) = 2.0 * x(i)), guarded(i < M, w(i) = z(i) + 1.0)))";
    assert_eq!(trees(TWO, "join(S0, S1, i)"), wanted);
    // Inside of all parts of the loop.
    let tiled = trees(TWO, "join(S0, S1, i) split(S0.i, i0, i1, 4)");
    assert!(
        tiled.starts_with("forall(i0, forall(i1, sequence(guarded(i < N, "),
        "{tiled}"
    );
    // The larger of two numbers is one of the statements' own.
    let numbers = TWO.replace("(N)", "(7)").replace("(M)", "(3)");
    let wanted = "forall(i, sequence(y(i) = 2.0 * x(i), guarded(i < 3, w(i) = z(i) + 1.0)))";
    assert_eq!(trees(&numbers, "join(S0, S1, i)"), wanted);
    let same = TWO.replace("(M)", "(N)");
    assert!(!trees(&same, "join(S0, S1, i)").contains("guarded"));
}

/// A third statement makes the loop longer for those that had all of it.
#[test]
fn what_had_all_of_a_loop_may_not_have_it_any_more() {
    let three = "def f(double(4) x, double(2) y, double(9) z) -> (a, b, c) { \
                 a(i) = x(i)  b(i) = y(i)  c(i) = z(i) }";
    for commands in [
        "join(S0, S1, i) join(S1, S2, i)",
        "join(S1, S2, i) join(S0, S1, i)",
    ] {
        let wanted = "forall(i, sequence(guarded(i < 4, a(i) = x(i)), guarded(i < 2, b(i) = y(i)), c(i) = z(i)))";
        assert_eq!(trees(three, commands), wanted, "{commands}");
    }
}

/// 003: the largest end, with the predicates of both; sums grow where they are added to.
#[test]
fn data_may_decide_both_ends() {
    let text = "def f(int(R) u, int(R) v, double(R,K) a, double(R,K) b) -> (y, z) { y(i) = 0  z(i) = 0 \
                y(i) += a(i,k) where k in 0:u(i)  z(i) += b(i,k) where k in 0:v(i) }";
    let all = trees(text, "join(S2, S3, i, k)");
    let wanted = "forall(i, forall(k, sequence(guarded(k < int64(u(i)), y(i) += a(i,k)), guarded(k < int64(v(i)), z(i) += b(i,k)))))";
    assert!(all.ends_with(wanted), "{all}");
    let same = trees(&text.replace("v(i)", "u(i)"), "join(S2, S3, i, k)");
    assert!(!same.contains("guarded"), "{same}");
}
