//! Programs in their cases, and what no list of cases shows.

mod refusals;
mod robustness;
mod sizes;
mod verify;

use super::{Options, resolve};
use crate::cases::check;
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

/// What a case's first line says, in the command line's words.
fn options(given: &str) -> Options {
    let mut options = Options::default();
    let first = given.lines().next().unwrap_or_default();
    let mut words = first.split_whitespace().skip(1);
    if !first.starts_with("# --") {
        return options;
    }
    while let (Some(option), Some(value)) = (words.next(), words.next()) {
        match option {
            "--def" => options.def = Some(value.to_string()),
            "--index" => options.index_bits = value.parse().ok(),
            "--size" => {
                let (name, size) = value.split_once('=').expect("NAME=VALUE");
                options
                    .sizes
                    .push((name.to_string(), size.parse().expect("a number")));
            }
            _ => panic!("what is {option}?"),
        }
    }
    options
}

/// The files of `testdata/stages/program`: programs, as `show --stage program` prints them, or
/// the errors. A rule begins with a code if this is among these, otherwise nothing is refused.
#[test]
fn cases_are_resolved_or_refused() {
    let cases = check("program", |shared, given| {
        assert!(shared.is_empty(), "programs stand in their cases");
        match outcome_with(given, &options(given)) {
            Ok(printed) => printed,
            Err((sources, errors)) => listing(&sources, &errors),
        }
    });
    for case in &cases {
        let code = case.rule.split(':').next().filter(|c| c.starts_with("E0"));
        let as_said = match code {
            Some(code) => case.expected.contains(&format!("{code}: ")),
            None => !case.expected.starts_with("E0"),
        };
        assert!(as_said, "{}:\n{}", case.rule, case.expected);
    }
    refusals::check_codes(&cases);
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
