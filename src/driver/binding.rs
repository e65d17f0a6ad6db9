//! The form of `NAME=WHAT`: `A=web.mtx`, `x=random:1:0.1`, `s=-2.5`.

use super::number;
use crate::data;
use crate::data::values::Number;
use crate::diagnostic::codes::environment as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::program::ir::{Function, Role, TensorId};
use std::path::{Path, PathBuf};

/// What a binding says, before sizes are known.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    File(PathBuf),
    Random { seed: u64, density: Option<f64> },
    Constant(Number),
}

/// Whether an operand of `sparsec run` binds data; else it is the program's path. A path
/// may hold a `=` as well: it ends in `.tc`, or has something before the `=` that no name
/// contains.
#[must_use]
pub fn is_binding(operand: &str) -> bool {
    let program = Path::new(operand)
        .extension()
        .is_some_and(|ending| ending == "tc");
    operand
        .split_once('=')
        .is_some_and(|(name, _)| !program && !name.contains(['/', '\\', '.']))
}

/// The parameter that a binding names, whatever it gives it.
#[must_use]
pub fn named(function: &Function, text: &str) -> Option<TensorId> {
    function.tensor_named(text.split_once('=')?.0)
}

/// Reads a binding of one of the function's parameters.
///
/// # Errors
/// It has another form, or names what takes no data.
pub fn parse(
    function: &Function,
    wanted: &[TensorId],
    text: &str,
    span: Span,
) -> Result<(TensorId, Origin), Diagnostic> {
    let wrong = |message: String, label: &str| {
        Diagnostic::error(codes::COMMAND_LINE, span, message, label).with_help(
            "write NAME=FILE, NAME=random:SEED[:DENSITY], NAME=ones, NAME=zeros or NAME=NUMBER",
        )
    };
    let Some((name, what)) = text.split_once('=') else {
        return Err(wrong(format!("`{text}` binds nothing"), "no `=` here"));
    };
    let Some(id) = function.tensor_named(name) else {
        let known: Vec<&str> = wanted
            .iter()
            .map(|&id| function.tensor(id).name.as_str())
            .collect();
        return Err(Diagnostic::error(
            codes::COMMAND_LINE,
            span,
            format!("`{}` has no parameter `{name}`", function.name),
            "not a parameter",
        )
        .with_help(format!("its parameters are {}", known.join(", "))));
    };
    let tensor = function.tensor(id);
    if matches!(tensor.role, Role::Result | Role::Temporary) {
        return Err(wrong(
            format!("`{name}` is computed by `{}`", function.name),
            "takes no data",
        )
        .with_help("leave it out"));
    }
    if let Some(rest) = what.strip_prefix("random:") {
        let origin = random(rest).map_err(|(message, label)| wrong(message, label))?;
        return Ok((id, origin));
    }
    match what {
        "" => return Err(wrong(format!("`{text}` gives no data"), "nothing here")),
        "ones" => return Ok((id, Origin::Constant(Number::Int(1)))),
        "zeros" => return Ok((id, Origin::Constant(Number::Int(0)))),
        "random" => {
            return Err(wrong("`random` needs a seed".to_string(), "write random:1"));
        }
        _ => {}
    }
    if tensor.dims.is_empty() {
        return match number::parse(what, tensor.ty) {
            Ok(value) => Ok((id, Origin::Constant(value))),
            Err(_) if data::file_kind(Path::new(what)).is_some() => {
                Ok((id, Origin::File(PathBuf::from(what))))
            }
            Err(reason) => Err(wrong(
                format!("`{what}` {reason}"),
                "the value of a scalar is due",
            )),
        };
    }
    if what.parse::<f64>().is_ok() {
        return Err(wrong(
            format!("`{name}` is no scalar"),
            "a number fits scalars only",
        ));
    }
    Ok((id, Origin::File(PathBuf::from(what))))
}

/// `SEED[:DENSITY]`; what is wrong with it, and a label.
fn random(text: &str) -> Result<Origin, (String, &'static str)> {
    let (seed, density) = match text.split_once(':') {
        Some((seed, density)) => (seed, Some(density)),
        None => (text, None),
    };
    let Ok(seed) = seed.parse::<u64>() else {
        return Err((format!("`{seed}` is no seed"), "a whole number is due"));
    };
    let density = match density.map(str::parse::<f64>) {
        None => None,
        Some(Ok(d)) if (0.0..=1.0).contains(&d) => Some(d),
        Some(_) => {
            return Err((
                format!("`{text}`: the density must be between 0 and 1"),
                "not a density",
            ));
        }
    };
    Ok(Origin::Random { seed, density })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_an_equals_sign_are_programs() {
        for binding in ["A=web.mtx", "x=random:1", "x=a/b=c.mtx", "=3", "A="] {
            assert!(is_binding(binding), "{binding}");
        }
        for path in ["spmv.tc", "run=1/spmv.tc", "./n=2.tc", "a.b=c.tc"] {
            assert!(!is_binding(path), "{path}");
        }
    }

    #[test]
    fn random_takes_a_seed_and_a_density() {
        assert_eq!(
            random("7:0.5"),
            Ok(Origin::Random {
                seed: 7,
                density: Some(0.5)
            })
        );
        for bad in ["", "-1", "1.5", "1:", "1:2", "1:nan", "1:-0.1", "1:0.1:2"] {
            assert!(random(bad).is_err(), "{bad}");
        }
    }
}
