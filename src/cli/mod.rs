//! The command line: parsing, printing, exit codes. Everything else is below `driver`.

pub mod args;
mod compile;
mod fmt;
mod inspect;
mod progress;
mod run;

use crate::diagnostic::codes::environment as codes;
use crate::diagnostic::{Diagnostic, Severity, Sources, codes as catalogue, render};
use crate::driver::{Failure, Request, ScheduleChoice, Source, argument};
use crate::schedule::Target;
use crate::syntax::taco::TacoArgs;
use args::{Cli, Command, MessageFormat, ProgramArgs, TargetName};
use clap::{CommandFactory, Parser};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Runs the command line of this process and returns its exit code.
#[must_use]
pub fn main() -> u8 {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return u8::from(error.use_stderr()) * 2;
        }
    };
    match cli.command {
        None => compile::compile(&cli.compile),
        Some(Command::Run(args)) => run::run(&args),
        Some(Command::Check(args)) => compile::check(&args),
        Some(Command::Fmt(args)) => fmt::fmt(&args),
        Some(Command::Show(args)) => inspect::show(&args),
        Some(Command::Formats) => inspect::formats(),
        Some(Command::Explain { code }) => explain(&code),
        Some(Command::Completions { shell }) => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "sparsec", &mut text);
            Reporter::new(MessageFormat::Human, &[]).print(&String::from_utf8_lossy(&text), 0)
        }
        Some(Command::Bench(_)) => not_supported("bench"),
        Some(Command::Tune(_)) => not_supported("tune"),
        Some(Command::Cache(_)) => not_supported("cache"),
    }
}

fn not_supported(what: &str) -> u8 {
    let mut reporter = Reporter::new(MessageFormat::Human, &[]);
    let span = argument(&mut reporter.sources, "command line", what);
    reporter.fail(&Failure::Program(vec![
        Diagnostic::error(
            codes::NOT_SUPPORTED,
            span,
            format!("`sparsec {what}` is not supported yet"),
            "this command",
        )
        .with_help("`sparsec run --time N` times one schedule"),
    ]))
}

fn explain(code: &str) -> u8 {
    let mut reporter = Reporter::new(MessageFormat::Human, &[]);
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

/// Collects texts and says what is to be said.
struct Reporter {
    sources: Sources,
    format: MessageFormat,
    silence_performance: bool,
    refuse_performance: bool,
}

impl Reporter {
    fn new(format: MessageFormat, warnings: &[String]) -> Self {
        Reporter {
            sources: Sources::default(),
            format,
            silence_performance: warnings.iter().any(|w| w == "no-performance"),
            refuse_performance: warnings.iter().any(|w| w == "error=performance"),
        }
    }

    fn of(program: &ProgramArgs) -> Self {
        Self::new(program.message_format, &program.warnings)
    }

    fn say(&self, diagnostic: &Diagnostic) {
        let text = match self.format {
            MessageFormat::Json => render::json(diagnostic, &self.sources).to_string(),
            MessageFormat::Human => {
                let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
                let colour = !plain && std::io::stderr().is_terminal();
                render::text(diagnostic, &self.sources, colour) + "\n"
            }
        };
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    /// Says why something failed; the exit code.
    fn fail(&mut self, failure: &Failure) -> u8 {
        match failure {
            Failure::Program(diagnostics) => diagnostics.iter().for_each(|d| self.say(d)),
            Failure::Environment(diagnostic) => self.say(diagnostic),
            Failure::Data(error) => match self.format {
                MessageFormat::Human => {
                    let _ = writeln!(std::io::stderr(), "error[{}]: {error}", error.code.id);
                }
                MessageFormat::Json => {
                    let object = serde_json::json!({
                        "code": error.code.id,
                        "severity": "error",
                        "message": error.reason,
                        "spans": [{
                            "file": error.file.as_ref().map(|f| f.display().to_string()),
                            "line": error.line,
                        }],
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
            if remark.severity == Severity::Performance {
                if self.silence_performance {
                    continue;
                }
                if self.refuse_performance {
                    let mut error = remark.clone();
                    error.severity = Severity::Error;
                    self.say(&error);
                    refused = true;
                    continue;
                }
            }
            self.say(remark);
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
        let span = argument(
            &mut self.sources,
            "command line",
            &path.display().to_string(),
        );
        self.fail(&Failure::Environment(
            Diagnostic::error(
                codes::UNWRITABLE,
                span,
                format!("cannot write {}: {error}", path.display()),
                "here",
            )
            .with_help("check that the folder exists, may be written and has room"),
        ))
    }
}

/// The request that the arguments make.
pub fn request(
    file: Option<&PathBuf>,
    program: &ProgramArgs,
    sources: &mut Sources,
) -> Result<Request, Failure> {
    let taco = TacoArgs {
        exprs: program.exprs.clone(),
        formats: program.formats_of.clone(),
        types: program.types.clone(),
        dims: program.dims.clone(),
        schedules: program.commands.clone(),
    };
    let uses_taco = !(taco.formats.is_empty()
        && taco.types.is_empty()
        && taco.dims.is_empty()
        && taco.schedules.is_empty());
    let mut refuse = |text: &str, message: &str, help: &str| -> Failure {
        let span = argument(sources, "command line", text);
        Diagnostic::error(codes::COMMAND_LINE, span, message, "here")
            .with_help(help)
            .into()
    };
    let source = match (file, taco.exprs.is_empty()) {
        (Some(file), true) if uses_taco => {
            return Err(refuse(
                &file.display().to_string(),
                "-f, -t, -d and -s belong to -e, not to a file",
                "write formats and schedules into the file, or use --formats and --schedule",
            ));
        }
        (Some(file), true) => Source::File(file.clone()),
        (None, false) => Source::Taco(taco),
        (Some(file), false) => {
            return Err(refuse(
                &file.display().to_string(),
                "a file and -e cannot be compiled together",
                "leave one of them out",
            ));
        }
        (None, true) => {
            return Err(refuse(
                "",
                "no program given",
                "name a .tc file, or give -e EXPR",
            ));
        }
    };
    let mut defines = Vec::new();
    for text in &program.defines {
        defines.push(pair::<i64>(text, "-D", sources)?);
    }
    let mut sizes = Vec::new();
    for text in &program.sizes {
        let (name, value) = pair::<i64>(text, "--size", sources)?;
        let Ok(value) = u64::try_from(value) else {
            return Err(not_a_pair(text, "--size", "NAME=SIZE", sources));
        };
        sizes.push((name, value));
    }
    Ok(Request {
        source,
        formats: program.formats.clone(),
        schedule: match (&program.schedule, program.no_schedule) {
            (Some(name), _) => ScheduleChoice::Named(name.clone()),
            (None, true) => ScheduleChoice::None,
            (None, false) => ScheduleChoice::Default,
        },
        defines,
        sizes,
        index_bits: program.index.as_ref().and_then(|bits| bits.parse().ok()),
        def: program.def.clone(),
        target: match program.target {
            TargetName::C => Target::C,
            TargetName::Cuda => Target::Cuda,
        },
        first_commands: None,
    })
}

/// `NAME=NUMBER`
fn pair<N: std::str::FromStr>(
    text: &str,
    option: &str,
    sources: &mut Sources,
) -> Result<(String, N), Failure> {
    let parsed = text.split_once('=').and_then(|(name, value)| {
        let name = name.trim();
        let value = value.trim().parse().ok()?;
        (!name.is_empty()).then(|| (name.to_string(), value))
    });
    parsed.ok_or_else(|| not_a_pair(text, option, "NAME=NUMBER", sources))
}

fn not_a_pair(text: &str, option: &str, form: &str, sources: &mut Sources) -> Failure {
    let span = argument(sources, option, text);
    Diagnostic::error(
        codes::COMMAND_LINE,
        span,
        format!("`{text}` is not {form}"),
        "here",
    )
    .with_help(format!("write `{option} N=128`"))
    .into()
}
