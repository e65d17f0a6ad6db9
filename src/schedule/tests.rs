//! What each command makes of a graph, and what it refuses: the files of
//! `testdata/stages/schedule`, one a command.

use crate::cases::{check, rendered, scheduled};
use crate::diagnostic::Sources;
use crate::graph::print;

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
