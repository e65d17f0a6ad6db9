//! `assemble(C, append | once)`: how a sparse result is built.
//!
//! before and after: the same loops.
//!
//! `append`, in order, is what happens without the command. With `once`, coordinates are made by
//! the first call of the checked function, and later calls (and the raw function) compute values
//! only: for results that store what an operand stores, where a program runs many times on one
//! pattern. Refused: C is dense; `once` on a result that follows no input, or on a GPU;
//! `two_phase` and `insert` (not supported yet).

use super::arguments::Arguments;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::{Graph, Once, pattern};
use crate::program::ir::{Role, TensorId};

const USAGE: &str = "assemble(C, once)";

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    arguments.expect_count(2, USAGE)?;
    let name = arguments.name(0)?;
    let how = arguments.name(1)?;
    let result = graph
        .tensors
        .iter()
        .position(|t| t.name == name.name && t.role == Role::Result)
        .and_then(|at| u32::try_from(at).ok())
        .map(TensorId);
    let Some(tensor) = result else {
        let message = format!("`{}` is no result that the function makes", name.name);
        return Err(arguments.wrong(name.span, message, USAGE));
    };
    if !graph.tensor(tensor).is_appended() {
        return Err(Diagnostic::error(
            codes::ASSEMBLE,
            name.span,
            if graph.tensor(tensor).is_sparse() {
                format!("`{}` has a place for each element", name.name)
            } else {
                format!("`{}` is dense", name.name)
            },
            "has no coordinates to assemble",
        )
        .with_help("leave the command out"));
    }
    match how.name.to_ascii_lowercase().as_str() {
        "append" => {}
        "once" => {
            if !arguments.target.properties().copies_coordinates {
                return Err(Diagnostic::error(
                    codes::UNSUPPORTED_COMMAND,
                    arguments.span,
                    "`assemble(.., once)` is not supported on GPUs yet",
                    "for the C target",
                )
                .with_help("leave it out: coordinates are made at every call"));
            }
            graph.once.push(Once {
                tensor,
                span: arguments.span,
            });
        }
        "two_phase" | "twophase" | "insert" => {
            return Err(Diagnostic::error(
                codes::UNSUPPORTED_COMMAND,
                how.span,
                format!("`assemble(.., {})` is not supported yet", how.name),
                "this strategy",
            )
            .with_help("`append` is in order; `once` is for what stores what an operand stores"));
        }
        _ => {
            let message = "expected append or once".to_string();
            return Err(arguments.wrong(how.span, message, USAGE));
        }
    }
    let how = how.name.to_ascii_lowercase();
    graph.script.push(format!("assemble({}, {how})", name.name));
    Ok(graph)
}

/// What is assembled once stores what an input stores, whatever commands have made of the loops.
///
/// # Errors
/// It follows no input any more.
pub(super) fn check(graph: &Graph, arguments: &Arguments) -> Result<(), Diagnostic> {
    let followed = match graph.once.is_empty() {
        true => return Ok(()),
        false => pattern::followed(graph),
    };
    for once in &graph.once {
        let mut writers = graph.nests.iter().filter(|n| n.tensor == once.tensor);
        let given = followed.get(&once.tensor).is_some_and(|&operand| {
            matches!(graph.tensor(operand).role, Role::Input | Role::InOut)
        });
        if !given || !writers.all(|nest| pattern::source(graph, nest).is_some()) {
            let name = &graph.tensor(once.tensor).name;
            return Err(pattern::follows_nothing(name, arguments.span));
        }
    }
    Ok(())
}
