//! The command line: parsing, printing, exit codes. Everything else is below `driver`.

pub mod args;
mod auto;
mod bench;
mod cache;
mod compile;
mod device;
mod fmt;
mod inspect;
mod neighbours;
mod places;
mod progress;
mod request;
mod run;
mod schedules;
mod tune;
mod tuned;
mod usage;

use crate::diagnostic::codes::environment as codes;
use crate::diagnostic::{Diagnostic, Severity, Sources, codes as catalogue, render};
use crate::driver::{Failure, argument, write};
use crate::emit::File;
use args::{Cli, Command, MessageFormat, ProgramArgs};
use clap::{CommandFactory, Parser};
use request::no_command;
pub use request::request;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Runs the command line of this process and returns its exit code.
#[must_use]
pub fn main() -> u8 {
    crate::cleanup::install();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage::say(&error),
    };
    match cli.command {
        None => compile::compile(&cli.compile),
        Some(Command::Run(args)) => run::run(&args),
        Some(Command::Check(args)) => compile::check(&args),
        Some(Command::Fmt(args)) => fmt::fmt(&args),
        Some(Command::Show(args)) => inspect::show(&args),
        Some(Command::Auto(args)) => auto::auto(&args),
        Some(Command::Formats) => inspect::formats(),
        Some(Command::Schedules(args)) => schedules::schedules(&args),
        Some(Command::Explain {
            code,
            message_format,
        }) => explain(&code, message_format),
        Some(Command::Completions { shell }) => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "sparsec", &mut text);
            Reporter::new(MessageFormat::Human, &[]).print(&String::from_utf8_lossy(&text), 0)
        }
        Some(Command::Bench(args)) => bench::bench(&args),
        Some(Command::Tune(args)) => tune::tune(&args),
        Some(Command::Cache(args)) => cache::cache(&args),
    }
}

/// Says why this process ends or does not begin. Renders no places: who panicked may have been
/// about to.
pub fn last_words(what: &str, help: &str) {
    let text = match usage::message_format() {
        MessageFormat::Human => format!("sparsec: {what}\n{help}"),
        MessageFormat::Json => serde_json::json!({
            "code": codes::ITSELF.id,
            "severity": "error",
            "message": what,
            "spans": [],
            "notes": [],
            "help": help,
        })
        .to_string(),
    };
    // Standard error may be full, too.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A time for people.
fn duration(seconds: f64) -> String {
    if seconds < 1e-3 {
        format!("{:.1} us", 1e6 * seconds)
    } else if seconds < 1.0 {
        format!("{:.3} ms", 1e3 * seconds)
    } else {
        format!("{seconds:.3} s")
    }
}

fn explain(code: &str, format: MessageFormat) -> u8 {
    let mut reporter = Reporter::new(format, &[]);
    if let Some(code) = catalogue::find(code) {
        let text = format!("{}: {}\n\n{}\n", code.id, code.title, code.explanation);
        return reporter.print(&text, 0);
    }
    let span = argument(&mut reporter.sources, "command line", code);
    let known: Vec<&str> = catalogue::all().map(|c| c.id).collect();
    reporter.fail(&Failure::Program(vec![
        Diagnostic::error(
            codes::COMMAND_LINE,
            span,
            format!("there is no code `{code}`"),
            "unknown",
        )
        .with_help(format!("the codes are {}", known.join(" "))),
    ]))
}

/// Whether a terminal with these variables is to have colours.
fn has_colours(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    variable("NO_COLOR").is_none_or(|v| v.is_empty())
        && variable("TERM").is_none_or(|v| v != "dumb")
}

/// Collects texts and says what is to be said.
struct Reporter {
    sources: Sources,
    format: MessageFormat,
    silence_performance: bool,
    refuse_performance: bool,
}

/// The error that a performance note becomes where such notes are refused.
fn refused(note: &Diagnostic) -> Option<Diagnostic> {
    let error = Diagnostic {
        severity: Severity::Error,
        ..note.clone()
    };
    (note.severity == Severity::Performance).then_some(error)
}

impl Reporter {
    /// Of several `-W` the last one holds, as with other compilers.
    fn new(format: MessageFormat, warnings: &[String]) -> Self {
        Reporter {
            sources: Sources::default(),
            format,
            silence_performance: warnings.last().is_some_and(|w| w == "no-performance"),
            refuse_performance: warnings.last().is_some_and(|w| w == "error=performance"),
        }
    }

    fn of(program: &ProgramArgs) -> Self {
        Self::new(program.message_format, &program.warnings)
    }

    fn say(&self, diagnostic: &Diagnostic) {
        let text = match self.format {
            MessageFormat::Json => render::json(diagnostic, &self.sources).to_string(),
            MessageFormat::Human => {
                let colour =
                    has_colours(|name| std::env::var_os(name)) && std::io::stderr().is_terminal();
                render::text(diagnostic, &self.sources, colour) + "\n"
            }
        };
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    /// Says why something failed; the exit code.
    fn fail(&mut self, failure: &Failure) -> u8 {
        match failure {
            Failure::Program(diagnostics) => diagnostics.iter().for_each(|d| self.say(d)),
            Failure::Environment(diagnostic) | Failure::Check(diagnostic) => self.say(diagnostic),
            Failure::Data(error) => match self.format {
                MessageFormat::Human => {
                    let _ = writeln!(std::io::stderr(), "error[{}]: {error}", error.code.id);
                }
                MessageFormat::Json => {
                    // As other spans have them; columns of data are not known.
                    let span = |file: &PathBuf| {
                        serde_json::json!({
                            "file": file.display().to_string(),
                            "line": error.line,
                            "column": null,
                            "end_line": error.line,
                            "end_column": null,
                            "label": "here",
                            "primary": true,
                        })
                    };
                    let object = serde_json::json!({
                        "code": error.code.id,
                        "severity": "error",
                        "message": error.reason,
                        "spans": error.file.iter().map(span).collect::<Vec<_>>(),
                        "notes": [],
                        "help": format!("sparsec explain {}", error.code.id),
                    });
                    let _ = writeln!(std::io::stderr(), "{object}");
                }
            },
        }
        failure.exit_code()
    }

    /// Says remarks; an exit code if they are refused.
    fn remarks(&mut self, remarks: &[Diagnostic]) -> Result<(), u8> {
        let mut refused = false;
        for remark in remarks {
            let error = self::refused(remark);
            if error.is_some() && self.silence_performance {
                continue;
            }
            let error = error.filter(|_| self.refuse_performance);
            refused |= error.is_some();
            self.say(error.as_ref().unwrap_or(remark));
        }
        if refused { Err(2) } else { Ok(()) }
    }

    /// Prints to standard output: the exit code is `code` if that succeeds. Who closes a pipe
    /// has read enough, which is no error.
    fn print(&mut self, text: &str, code: u8) -> u8 {
        let mut out = std::io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                self.io_error(Path::new("standard output"), &error)
            }
            Ok(()) | Err(_) => code,
        }
    }

    fn io_error(&mut self, path: &Path, error: &std::io::Error) -> u8 {
        let failure = self.unwritable(path, error);
        self.fail(&failure)
    }

    /// Prints how files differ from what would be written; the exit code.
    fn differences(&mut self, folder: &Path, files: &[File]) -> u8 {
        match write::diff(folder, files) {
            Ok(diff) if diff.is_empty() => 0,
            Ok(diff) => self.print(&diff, 1),
            Err((path, error)) => {
                let path = path.display().to_string();
                let span = argument(&mut self.sources, "command line", &path);
                let message = format!("cannot read {path}, to compare it: {error}");
                let error = Diagnostic::error(codes::UNWRITABLE, span, message, "here")
                    .with_help("check that it is a file, which may be read");
                self.fail(&Failure::Environment(error))
            }
        }
    }

    /// An output that cannot be written.
    fn unwritable(&mut self, path: &Path, error: &std::io::Error) -> Failure {
        let span = argument(
            &mut self.sources,
            "command line",
            &path.display().to_string(),
        );
        Failure::Environment(
            Diagnostic::error(
                codes::UNWRITABLE,
                span,
                format!("cannot write {}: {error}", path.display()),
                "here",
            )
            .with_help("check that the folder exists, may be written and has room"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::has_colours;

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        let of = |name: &'static str, value: &'static str| {
            has_colours(|asked| (asked == name).then(|| value.into()))
        };
        assert!(of("TERM", "xterm-256color") && of("NO_COLOR", ""));
        assert!(!of("TERM", "dumb") && !of("NO_COLOR", "1"));
    }
}
