mod programs;
mod refusals;
mod robustness;
mod sizes;
mod verify;

use super::{Options, resolve};
use crate::diagnostic::{Diagnostic, Sources};
use crate::syntax;

/// The errors or the printed program of a source text.
fn outcome(text: &str) -> Result<String, (Sources, Vec<Diagnostic>)> {
    outcome_with(text, &Options::default())
}

fn outcome_with(text: &str, options: &Options) -> Result<String, (Sources, Vec<Diagnostic>)> {
    let mut sources = Sources::default();
    let file = sources.add("t.tc", text);
    let ast = match syntax::parse(file, text) {
        Ok(ast) => ast,
        Err(errors) => return Err((sources, errors)),
    };
    match resolve(&[ast], options) {
        Ok(resolved) => {
            for function in &resolved.program.functions {
                if let Err(broken) = verify::verify(function) {
                    panic!("{broken} does not hold:\n{function}");
                }
            }
            Ok(resolved.program.to_string())
        }
        Err(errors) => Err((sources, errors)),
    }
}

/// What a source text resolves to.
fn program(text: &str) -> String {
    outcome(text).unwrap_or_else(|(sources, errors)| panic!("{}", listing(&sources, &errors)))
}

/// The errors of a source text, each with its places and the text there.
fn refused(text: &str) -> String {
    match outcome(text) {
        Ok(printed) => panic!("accepted:\n{printed}"),
        Err((sources, errors)) => listing(&sources, &errors),
    }
}

fn listing(sources: &Sources, errors: &[Diagnostic]) -> String {
    let mut out = String::new();
    for error in errors {
        out.push_str(&format!("{}: {}\n", error.code.id, error.message));
        for label in &error.labels {
            let span = label.span;
            let text = &sources.get(span.file).text;
            let place = text.get(span.start as usize..span.end as usize);
            let place = place
                .unwrap_or("?")
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            out.push_str(&format!("  `{place}`: {}\n", label.text));
        }
        for note in &error.notes {
            out.push_str(&format!("  note: {note}\n"));
        }
        if let Some(help) = &error.help {
            out.push_str(&format!("  help: {help}\n"));
        }
    }
    out
}
