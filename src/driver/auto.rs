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
    for nest in &graph.nests {
        let candidates = auto::candidates(&graph, nest);
        let accepted = candidates.iter().find_map(|script| {
            let text = script.join("\n");
            let file = sources.add("<automatic schedule>", &text);
            let own = syntax::parse_schedule(file, &text).ok()?;
            let all: Vec<ast::Command> = chosen.iter().cloned().chain(own).collect();
            build(function, &all, &settings).ok()?;
            Some(all)
        });
        match accepted {
            Some(all) => chosen = all,
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
