//! The schedule of a program that has none for its target.

use super::compile::build;
use crate::diagnostic::codes::performance as codes;
use crate::diagnostic::{Diagnostic, Sources};
use crate::graph::Graph;
use crate::program::ir::Function;
use crate::schedule::{Settings, Target, auto};
use crate::syntax::{self, ast};
use std::rc::Rc;

/// Chooses for each statement the first script that is accepted behind those before it.
/// Notes the statements for which none is.
pub(super) fn schedule(
    function: &Function,
    sources: &mut Sources,
    remarks: &mut Vec<Diagnostic>,
) -> Vec<ast::Command> {
    let Ok(graph) = Graph::build(&Rc::new(function.clone())) else {
        return Vec::new();
    };
    let settings = Settings {
        defines: Vec::new(),
        target: Target::Cuda,
    };
    let mut chosen = Vec::new();
    let mut reached: Option<Graph> = None;
    for (at, nest) in graph.nests.iter().enumerate() {
        // Pieces of one statement may share variables, and so their loops.
        let done = reached
            .as_ref()
            .and_then(|g| g.nests.get(at))
            .is_some_and(|n| n.loops.iter().any(|l| l.tag.parallel.is_some()));
        if done {
            continue;
        }
        let candidates = auto::candidates(&graph, nest);
        let accepted = candidates.iter().find_map(|script| {
            let text = script.join("\n");
            let file = sources.add("<automatic schedule>", &text);
            let own = syntax::parse_schedule(file, &text).ok()?;
            let all: Vec<ast::Command> = chosen.iter().cloned().chain(own).collect();
            let built = build(function, &all, &settings).ok()?;
            Some((all, built.graph))
        });
        match accepted {
            Some((all, graph)) => {
                chosen = all;
                reached = Some(graph);
            }
            None if nest.loops.is_empty() => {}
            None => {
                let result = &graph.tensor(nest.tensor).name;
                remarks.push(
                    Diagnostic::performance(
                        codes::SERIAL,
                        nest.span,
                        format!("the loops of `{result}` run in one thread of the GPU"),
                        "cannot be shared out as they are",
                    )
                    .with_help(format!(
                        "store `{result}` dense, or write a schedule for it"
                    )),
                );
            }
        }
    }
    chosen
}
