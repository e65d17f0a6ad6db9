//! `size N = 32`: the function for one size.
//!
//! A size is the program's, not a loop's: what is known of it decides ranges, shapes and what may
//! be read, so the program is resolved again with the sizes that its schedule fixes
//! ([`specialised`]), as it is with those of `--size`, and the commands find them there.
//!
//! Refused: a name that is no size of the function; one that is fixed as something else, by the
//! command line or by another `size`; a value that the program contradicts (by whoever resolves
//! it).

use super::constants::{self, Constants};
use crate::diagnostic::codes::program as codes;
use crate::diagnostic::codes::schedule as schedule_codes;
use crate::diagnostic::{Diagnosed, Diagnostic};
use crate::graph::Graph;
use crate::program::spelling::suggest;
use crate::program::{self, ir::Function};
use crate::syntax::ast::{Command, Expr, File, Ident};

/// The function as `commands` have its sizes; `None` if they fix none that it does not know.
///
/// # Errors
/// The commands contradict the program, one another, or what `options` say.
pub fn specialised(
    function: &Function,
    commands: &[Command],
    defines: &[(String, i64)],
    (files, options): (&[File], &program::Options),
) -> Diagnosed<Option<Function>> {
    let wanted = wanted(function, commands, defines).map_err(|error| vec![error])?;
    if wanted.is_empty() {
        return Ok(None);
    }
    let mut options = options.clone();
    options.def = Some(function.name.clone());
    // Those of the command line are for any function.
    options.sizes.retain(|(name, _)| {
        let mut names = function.sizes.iter().map(|size| &size.name);
        names.any(|own| own == name) || function.synonyms.iter().any(|s| s.name == *name)
    });
    options.sizes.extend(wanted);
    // What is noted of it was noted when the sizes were open.
    let resolved = program::resolve(files, &options)?;
    Ok(resolved.program.functions.into_iter().next())
}

/// Whether the commands are for other sizes than the function has.
#[must_use]
pub fn is_ruled_out(function: &Function, commands: &[Command], defines: &[(String, i64)]) -> bool {
    let own = constants::sizes(commands, defines).unwrap_or_default();
    own.iter().any(|(name, value)| {
        let fixed = known(function, name).ok().flatten();
        fixed.is_some_and(|fixed| i64::try_from(*value) != Ok(fixed))
    })
}

/// The sizes that `commands` fix and the function does not know yet.
///
/// # Errors
/// A name that is no size, one that is fixed as something else.
fn wanted(
    function: &Function,
    commands: &[Command],
    defines: &[(String, i64)],
) -> Result<Vec<(String, u64)>, Diagnostic> {
    let mut wanted: Vec<(String, u64)> = Vec::new();
    for (name, value) in constants::sizes(commands, defines)? {
        let before = wanted.iter().find(|(known, _)| *known == name.name);
        if let Some((_, before)) = before.filter(|(_, before)| *before != value) {
            return Err(contradicts(name, value, i64::try_from(*before).ok()));
        }
        match known(function, name)? {
            Some(fixed) if i64::try_from(value) == Ok(fixed) => {}
            Some(fixed) => return Err(contradicts(name, value, Some(fixed))),
            None if before.is_none() => wanted.push((name.name.clone(), value)),
            None => {}
        }
    }
    Ok(wanted)
}

/// The graph as it is, of a function that was resolved with this size.
///
/// # Errors
/// It was not.
pub(super) fn check(
    mut graph: Graph,
    name: &Ident,
    value: &Expr,
    constants: &Constants,
) -> Result<Graph, Diagnostic> {
    let value = constants.eval(value)?;
    match known(&graph.function, name)? {
        Some(fixed) if fixed == value => {
            graph.script.push(format!("size {} = {value}", name.name));
            Ok(graph)
        }
        fixed => Err(contradicts(name, value, fixed)),
    }
}

/// What the size is fixed as.
fn known(function: &Function, name: &Ident) -> Result<Option<i64>, Diagnostic> {
    let mut synonyms = function.synonyms.iter();
    if let Some(synonym) = synonyms.find(|synonym| synonym.name == name.name) {
        return Ok(function.constant(&synonym.means));
    }
    if let Some(size) = function.sizes.iter().find(|size| size.name == name.name) {
        return Ok(size.constant());
    }
    let sizes = function.sizes.iter().map(|size| size.name.as_str());
    let names = sizes.chain(function.synonyms.iter().map(|s| s.name.as_str()));
    let help = suggest(&name.name, names, "sizes are the names of dimensions");
    Err(Diagnostic::error(
        codes::UNKNOWN_SIZE,
        name.span,
        format!("`{}` has no size `{}`", function.name, name.name),
        "no parameter has this dimension",
    )
    .with_help(help))
}

fn contradicts(name: &Ident, value: impl std::fmt::Display, fixed: Option<i64>) -> Diagnostic {
    let name_text = &name.name;
    let known = fixed.map_or("left open".to_string(), |fixed| fixed.to_string());
    Diagnostic::error(
        schedule_codes::BAD_BOUND,
        name.span,
        format!("`{name_text}` cannot be {value}: it is {known}"),
        "fixed as something else",
    )
    .with_help("leave the command out, or give both one value")
}
