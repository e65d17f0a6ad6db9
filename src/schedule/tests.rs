//! What each command makes of a graph, and what it refuses: the files of
//! `testdata/stages/schedule`, one a command.

use super::{Settings, apply, auto};
use crate::cases::{check, rendered, scheduled};
use crate::diagnostic::Sources;
use crate::graph::print;
use crate::syntax;
use crate::target::Target;

#[test]
fn cases_of_commands() {
    check("schedule", |shared, given| {
        let mut sources = Sources::default();
        match scheduled(&mut sources, shared, given) {
            Ok(graph) => print::print(&graph),
            Err(errors) => rendered(&errors, &sources),
        }
    });
}

/// The first of sparsec's scripts for each statement that the graph takes, its rule, and the loops
/// that it makes: the files of `testdata/stages/auto`.
#[test]
fn cases_of_scripts() {
    check("auto", |shared, given| {
        let mut sources = Sources::default();
        let mut graph = match scheduled(&mut sources, shared, given) {
            Ok(graph) => graph,
            Err(errors) => return rendered(&errors, &sources),
        };
        let settings = Settings {
            defines: vec![],
            target: Target::C,
        };
        let mut out = String::new();
        for at in 0..graph.nests.len() {
            let unknown = auto::Statistics::default();
            for script in auto::for_cpus(&graph, &graph.nests[at], &unknown).scripts {
                let text = script.commands.join("\n");
                let file = sources.add("script", &text);
                let commands = syntax::parse_schedule(file, &text).unwrap();
                if let Ok(next) = apply(graph.clone(), &commands, &settings) {
                    out += &format!("{}\n{text}\n", script.rule);
                    graph = next;
                    break;
                }
            }
        }
        graph.script.clear();
        out + &print::print(&graph)
    });
}
