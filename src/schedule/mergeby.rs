//! `mergeby(i, two_finger | gallop)`: how sparse operands are intersected at i.
//!
//! before: `forall(i, ...)`
//! after:  `forall(i, ..., Gallop)`
//!
//! Two fingers step through both operands, which is what happens without the command;
//! galloping leaps in steps that double to the larger coordinate, and pays where one operand
//! stores far less than another. Refused: fewer than two sparse operands meet at i; what
//! meets there is not an intersection alone ([`super::tree`]).

use super::arguments::Arguments;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::Graph;
use crate::graph::distance::{carried, stride};
use crate::graph::order::sparse_accesses;
use crate::program::ir::VarId;

const USAGE: &str = "mergeby(i, gallop)";

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    arguments.expect_count(2, USAGE)?;
    let var = arguments.loop_var(&graph, 0)?;
    arguments.expect_open(&graph, var)?;
    let how = arguments.expr(1)?;
    let gallop = match how.as_name().unwrap_or("").to_ascii_lowercase().as_str() {
        "gallop" => Some(true),
        "two_finger" | "twofinger" => Some(false),
        _ => None,
    };
    let Some(gallop) = gallop else {
        return Err(arguments.wrong(how.span, "expected two_finger or gallop".to_string(), USAGE));
    };
    let name = graph.var(var).name.clone();
    let met = meeting(&graph, var);
    if met < 2 {
        return Err(Diagnostic::error(
            codes::MERGE,
            arguments.span,
            format!("fewer than two sparse operands meet at `{name}`"),
            format!("{met} of them"),
        )
        .with_help("name a loop over a level that two sparse operands store"));
    }
    for nest in &mut graph.nests {
        nest.visit_mut(&mut |part| {
            for l in part.loops.iter_mut().filter(|l| l.var == var) {
                l.tag.gallop = gallop;
            }
        });
    }
    let how = if gallop { "gallop" } else { "two_finger" };
    let name = crate::graph::print::var_text(&graph, var);
    graph.script.push(format!("mergeby({name}, {how})"));
    Ok(graph)
}

/// How many sparse operands of a nest store the variable of the loop.
fn meeting(graph: &Graph, var: VarId) -> usize {
    let roots = graph.provenance.coordinates(var);
    let mut most = 0;
    for nest in &graph.nests {
        nest.visit(&mut |part| {
            if !part.loops.iter().any(|l| l.var == var) {
                return;
            }
            let stores = sparse_accesses(graph, &part.rhs)
                .into_iter()
                .filter(|access| {
                    let format = &graph.tensor(access.tensor).format;
                    let mut levels = format.levels.iter().zip(&format.modes);
                    levels.any(|(level, &mode)| {
                        let own = access.subscripts.get(mode);
                        // Others are searched where one tells the coordinates, see `Operands::iterators`.
                        let plain = own.filter(|e| {
                            carried(e)
                                .is_some_and(|v| stride(e, v) == Some(1) && roots.contains(&v))
                        });
                        level.is_walked() && plain.is_some()
                    })
                });
            most = most.max(stores.count());
        });
    }
    most
}
