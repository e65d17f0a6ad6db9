//! `assemble(C, append | two_phase | once)`: how a sparse result is built.
//!
//! before and after: the same loops.
//!
//! `append`, in order, is what happens without the command where the loops are serial. With
//! `two_phase` the loops run twice: they count what will be stored, then they store it, so that
//! iterations of the outermost loop may be shared out, each with room of its own. That is what
//! happens without the command where they are. With `once`, coordinates are made by
//! the first call of the checked function, and later calls (and the raw function) compute values
//! only: for results that store what an operand stores, where a program runs many times on one
//! pattern. Of TACO's `Insert` and `Append`, which mean the first two, the third argument says
//! whether the loops that count have a schedule of their own.
//! Refused: C is dense; `once` on a result that follows no input, or on a GPU (not supported yet);
//! loops that count with a schedule of their own (not supported yet).

use super::arguments::Arguments;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::{Assembled, Assembly, Graph, pattern};
use crate::program::ir::{Role, TensorId};

const USAGE: &str = "assemble(C, two_phase)";

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    if arguments.args.len() != 3 {
        arguments.expect_count(2, USAGE)?;
    }
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
    let said = match how.name.to_ascii_lowercase().as_str() {
        "append" => Assembly::Append,
        "two_phase" | "twophase" | "insert" => Assembly::TwoPhase,
        "once" => Assembly::Once,
        _ => {
            let message = "expected append, two_phase or once".to_string();
            return Err(arguments.wrong(how.span, message, USAGE));
        }
    };
    check_own_schedule(arguments)?;
    if said == Assembly::Once && !arguments.target.properties().copies_coordinates {
        return Err(Diagnostic::error(
            codes::UNSUPPORTED_COMMAND,
            arguments.span,
            "`assemble(.., once)` is not supported on GPUs yet",
            "for the C target",
        )
        .with_help("leave it out: coordinates are made at every call"));
    }
    graph.assembled.retain(|said| said.tensor != tensor);
    graph.assembled.push(Assembled {
        tensor,
        how: said,
        span: arguments.span,
    });
    let how = match said {
        Assembly::Append => "append",
        Assembly::TwoPhase => "two_phase",
        Assembly::Once => "once",
    };
    graph.script.push(format!("assemble({}, {how})", name.name));
    Ok(graph)
}

/// TACO's third argument.
fn check_own_schedule(arguments: &Arguments) -> Result<(), Diagnostic> {
    if arguments.args.len() < 3 {
        return Ok(());
    }
    let own = arguments.name(2)?;
    match own.name.to_ascii_lowercase().as_str() {
        "false" => Ok(()),
        "true" => Err(Diagnostic::error(
            codes::UNSUPPORTED_COMMAND,
            own.span,
            "loops that count with a schedule of their own are not supported yet",
            "they have that of the loops that fill",
        )
        .with_help("say `false`, or leave it out")),
        _ => Err(arguments.wrong(own.span, "expected true or false".to_string(), USAGE)),
    }
}

/// What is assembled once stores what an input stores, whatever commands have made of the loops.
///
/// # Errors
/// It follows no input any more.
pub(super) fn check(graph: &Graph, arguments: &Arguments) -> Result<(), Diagnostic> {
    let once = |said: &&Assembled| said.how == Assembly::Once;
    let all = || graph.assembled.iter().filter(once);
    let followed = match all().next() {
        None => return Ok(()),
        Some(_) => pattern::followed(graph),
    };
    for once in all() {
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
