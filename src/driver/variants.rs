//! `--size K=4,32,128`: a kernel for each of these sizes, and one for all others, behind one entry
//! point.
//!
//! They are the alternatives of a `choose` whose conditions compare the size and whose commands fix
//! it (002, section 4: kernels are specialised to sizes).

use super::auto;
use super::{Failure, argument};
use crate::diagnostic::codes::{program as program_codes, schedule as codes};
use crate::diagnostic::{Diagnostic, Sources};
use crate::program::ir::Function;
use crate::schedule::Target;
use crate::schedule::auto::Statistics;
use crate::syntax::{self, ast};

/// The commands for a function that has the size open: each alternative has its own schedule, or
/// the one that is found for this size. `None` if the function does not have the size.
///
/// # Errors
/// The function's schedule lets the data choose already.
pub(super) fn commands(
    function: &Function,
    own: Option<&[ast::Command]>,
    (name, values): &(String, Vec<u64>),
    (target, statistics): (Target, &Statistics),
    sources: &mut Sources,
) -> Result<Option<Vec<ast::Command>>, Failure> {
    let mut open = function.sizes.iter().filter(|size| size.value.is_none());
    if !open.any(|size| size.name == *name) {
        return Ok(None);
    }
    let mut chooses = own.into_iter().flatten();
    if let Some(choice) = chooses.find(|command| matches!(command, ast::Command::Choose { .. })) {
        let message = format!("`--size {name}` with several values for a schedule that chooses");
        let error = Diagnostic::error(codes::CHOICE, choice.span(), message, "by data already");
        let help =
            format!("write the values into it: `when {name} == 32: {{ size {name} = 32 .. }}`");
        return Err(error.with_help(help).into());
    }
    let mut found = |value: Option<u64>| {
        let mut known = statistics.clone();
        let value = value.and_then(|value| i64::try_from(value).ok());
        known.sizes.extend(value.map(|value| (name.clone(), value)));
        match own {
            Some(_) => String::new(),
            None => auto::script(function, (target, &known), sources).join("\n    "),
        }
    };
    let mut text = "choose {\n".to_string();
    for &value in values {
        let script = found(Some(value));
        text += &format!(
            "  when {name} == {value}: {{\n    size {name} = {value}\n    {script}\n  }}\n"
        );
    }
    text += &format!("  otherwise: {{\n    {}\n  }}\n}}\n", found(None));
    let file = sources.add("<kernels for sizes>", &text);
    let mut commands = syntax::parse_schedule(file, &text)?;
    for command in &mut commands {
        if let ast::Command::Choose { arms, .. } = command {
            for arm in arms {
                if let ast::Branch::Commands(commands) = &mut arm.branch {
                    commands.extend(own.into_iter().flatten().cloned());
                }
            }
        }
    }
    Ok(Some(commands))
}

/// The diagnostic of a size that no function has open.
pub(super) fn unknown(name: &str, sources: &mut Sources) -> Diagnostic {
    let span = argument(sources, "--size", name);
    Diagnostic::error(
        program_codes::UNKNOWN_SIZE,
        span,
        format!("there is no size `{name}` to fix"),
        "no function leaves it open",
    )
    .with_help("`sparsec show --stage program` shows the sizes of a program")
}
