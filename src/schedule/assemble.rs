//! `assemble(C, append | two_phase | once)`: how a sparse result is built.
//!
//! before and after: the same loops.
//!
//! `append`, in order, is what happens without the command where the loops are serial. With
//! `two_phase` the loops run twice: they count what will be stored, then they store it, so that
//! iterations of the outermost loop may be shared out, each with room of its own. That is what
//! happens without the command where they are. With `once`, coordinates are made by
//! the first call of the checked function, and later calls compute values only, where a program runs
//! many times on one pattern (see `graph/kept.rs`). Of TACO's `Insert` and `Append`, which mean the first two, the third argument says
//! whether the loops that count have a schedule of their own.
//! Refused: C is dense; `once` on a sparse result that is updated.

use super::arguments::Arguments;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::{Assembled, Assembly, Graph};
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
        let mut results = graph
            .tensors
            .iter()
            .filter(|t| t.role == Role::Result && t.is_appended());
        let error = Diagnostic::error(codes::WRONG_ARGUMENTS, name.span, message, "here");
        return Err(match results.next() {
            Some(result) => {
                error.with_help(format!("write `assemble({}, two_phase)`", result.name))
            }
            None => error.with_help("leave the command out: no result has coordinates to assemble"),
        });
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
    graph.assembled.retain(|said| said.tensor != tensor);
    graph.assembled.push(Assembled {
        tensor,
        how: said,
        span: arguments.span,
    });
    let how = match said {
        Assembly::Append => "append",
        Assembly::TwoPhase => "two_phase",
        Assembly::Once | Assembly::Kept => "once",
    };
    graph.script.push(format!("assemble({}, {how})", name.name));
    Ok(graph)
}

/// TACO's third argument says that loops that count may have a schedule of their own. They have that of the loops
/// that fill, whatever it says.
fn check_own_schedule(arguments: &Arguments) -> Result<(), Diagnostic> {
    if arguments.args.len() < 3 {
        return Ok(());
    }
    let own = arguments.name(2)?;
    match own.name.to_ascii_lowercase().as_str() {
        "false" | "true" => Ok(()),
        _ => Err(arguments.wrong(own.span, "expected true or false".to_string(), USAGE)),
    }
}

/// The caller of a sparse result that is updated says what it stores before: its coordinates are made
/// anew, unless they stay as they are, whatever commands have made of the loops.
///
/// # Errors
/// It would be assembled once all the same.
pub(super) fn check(graph: &Graph, arguments: &Arguments) -> Result<(), Diagnostic> {
    let once = |said: &&Assembled| said.how == Assembly::Once && !graph.is_given(said.tensor);
    let renewed = |said: &Assembled| graph.renewed.iter().any(|(own, _)| *own == said.tensor);
    let Some(said) = graph
        .assembled
        .iter()
        .filter(once)
        .find(|said| renewed(said))
    else {
        return Ok(());
    };
    let name = &graph.tensor(said.tensor).name;
    Err(Diagnostic::error(
        codes::ASSEMBLE,
        arguments.span,
        format!("`{name}` has the coordinates that its caller gives"),
        "each call adds to them",
    )
    .with_help("make a result of its own, or leave `assemble` out"))
}
