//! What clap refuses, said as all other errors are.

use super::Reporter;
use super::args::MessageFormat;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::environment as codes;
use crate::driver::{Failure, argument};
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// How messages are wanted, of a command line that may not be understood.
pub(super) fn message_format() -> MessageFormat {
    let mut args = std::env::args_os().skip(1);
    let mut found = false;
    while let Some(arg) = args.next() {
        found |= arg == "--message-format=json"
            || (arg == "--message-format" && args.next().is_some_and(|value| value == "json"));
    }
    if found {
        MessageFormat::Json
    } else {
        MessageFormat::Human
    }
}

/// Prints help, or says what is wrong; the exit code.
pub(super) fn say(error: &clap::Error) -> u8 {
    let mut reporter = Reporter::new(message_format(), &[]);
    let kind = error.kind();
    if matches!(kind, ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return reporter.print(&error.render().to_string(), 0);
    }
    if kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return 2;
    }
    let text = error.render().to_string();
    let (message, help) = parts(&text);
    let word = word(error);
    let span = argument(&mut reporter.sources, "command line", &word);
    reporter.fail(&Failure::Program(vec![
        Diagnostic::error(codes::COMMAND_LINE, span, message, "here").with_help(help),
    ]))
}

/// The argument that is refused.
fn word(error: &clap::Error) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(ContextValue::Strings(all)) => all.first().cloned(),
        _ => None,
    };
    let kinds = [
        ContextKind::InvalidValue,
        ContextKind::InvalidSubcommand,
        ContextKind::InvalidArg,
    ];
    kinds.into_iter().find_map(text).unwrap_or_else(|| {
        // (A name of a file need not be text.)
        let args = std::env::args_os().skip(1);
        let args: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
        args.join(" ")
    })
}

/// clap's text as a message and a help: what is wrong, up to the usage, and the tips.
fn parts(text: &str) -> (String, String) {
    let ours = |text: &str| text.replace('\'', "`");
    let mut lines = text.lines();
    let first = lines.next().unwrap_or("");
    let mut message = ours(first.strip_prefix("error: ").unwrap_or(first));
    let mut help = Vec::new();
    for line in
        lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
    {
        let line = line.trim();
        if let Some(tip) = line.strip_prefix("tip: ") {
            // Files do not begin with a dash here.
            if !tip.starts_with("to pass ") {
                help.push(ours(tip));
            }
        } else if let Some(values) = line.strip_prefix('[') {
            help.push(values.trim_end_matches(']').to_string());
        } else if !line.is_empty() {
            message += &format!(" {line}");
        }
    }
    if help.is_empty() {
        help.push("`sparsec --help` lists commands and options".to_string());
    }
    (message, help.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claps_text_becomes_a_message_and_a_help() {
        let text = "error: invalid value 'rust' for '--target <TARGET>'\n  [possible values: c, cuda]\n\n  tip: a similar value exists: 'c'\n\nUsage: sparsec\n";
        let (message, help) = parts(text);
        assert_eq!(message, "invalid value `rust` for `--target <TARGET>`");
        assert_eq!(
            help,
            "possible values: c, cuda; a similar value exists: `c`"
        );
        let text = "error: the following required arguments were not provided:\n  --stage <STAGE>\n\nFor more information\n";
        let (message, _) = parts(text);
        assert_eq!(
            message,
            "the following required arguments were not provided: --stage <STAGE>"
        );
    }
}
