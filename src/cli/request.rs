//! What the options of the command line ask the compiler for.

use super::args::{Cli, ProgramArgs};
use super::device;
use crate::diagnostic::codes::environment as codes;
use crate::diagnostic::{Diagnostic, Sources};
use crate::driver::bind::{self, Bound};
use crate::driver::compile::unscheduled;
use crate::driver::{Compiled, Failure, Request, ScheduleChoice, Source, argument, auto, binding};
use crate::loops::ir::Kernel;
use crate::program::ir::Function;
use crate::program::spelling::suggest;
use crate::schedule::auto::Statistics;
use crate::syntax::taco::TacoArgs;
use crate::target::Target;
use clap::CommandFactory;
use std::path::{Path, PathBuf};

/// The request that the arguments make.
pub fn request(
    files: &[PathBuf],
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
    if let Some(second) = files.get(1) {
        return Err(refuse(
            &second.display().to_string(),
            "a second program: sparsec compiles one at a time",
            "run sparsec once for each",
        ));
    }
    let file = files.first();
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
    let mut defines: Vec<(String, i64)> = Vec::new();
    for text in &program.defines {
        let (name, value) = pair::<i64>(text, "-D", sources)?;
        if defines.iter().any(|(other, _)| *other == name) {
            return Err(again(text, "-D", &name, sources));
        }
        defines.push((name, value));
    }
    let (sizes, variants) = sizes(&program.sizes, sources)?;
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
        variants,
        index_bits: program.index.as_ref().and_then(|bits| bits.parse().ok()),
        def: program.def.clone(),
        target: program.target,
        first_commands: None,
        device: program.device.clone(),
        statistics: Statistics {
            profile: device::profile(program.device.as_deref(), sources)?,
            ..Statistics::default()
        },
    })
}

/// What the data says to whoever seeks the schedule of a program's only function, if that may
/// depend on it. The data is kept. What is wrong with the program is said by whoever compiles it.
///
/// # Errors
/// As binding.
pub(super) fn statistics(
    request: &Request,
    bindings: &[String],
    known: &mut Option<Bound>,
    sources: &mut Sources,
) -> Result<Statistics, Failure> {
    let asking = |function: &Function| auto::asks(function, request.target);
    let function = match unscheduled(request, sources) {
        Ok(Some(function)) if asking(&function) => function,
        Ok(_) | Err(_) => return Ok(request.statistics.clone()),
    };
    let bound = match known.take() {
        Some(bound) => bound,
        None => bind::bind(&function, bindings, sources)?,
    };
    let statistics = auto::statistics(&function, &bound, &request.statistics.profile);
    *known = Some(bound);
    Ok(statistics)
}

/// The program's path, if it is there, and what binds data.
pub(super) fn operands(
    operands: &[String],
    sources: &mut Sources,
) -> Result<(Vec<PathBuf>, Vec<String>), Failure> {
    let (bindings, programs): (Vec<&String>, Vec<&String>) =
        operands.iter().partition(|o| binding::is_binding(o));
    if let Some(extra) = programs.get(1) {
        let span = argument(sources, "command line", extra);
        return Err(Diagnostic::error(
            codes::COMMAND_LINE,
            span,
            format!("`{extra}` is neither the program nor NAME=DATA"),
            "a second file",
        )
        .with_help("bind data to parameters as A=FILE")
        .into());
    }
    let programs = programs.into_iter().map(PathBuf::from).collect();
    Ok((programs, bindings.into_iter().cloned().collect()))
}

/// The function that is to run, and its kernel.
pub(super) fn only_function<'c>(
    compiled: &'c Compiled,
    sources: &mut Sources,
) -> Result<(&'c Function, &'c Kernel), Failure> {
    let functions = compiled.program.functions.as_slice();
    if let ([function], [kernel]) = (functions, compiled.kernels.as_slice()) {
        return Ok((function, kernel));
    }
    let names: Vec<&str> = functions.iter().map(|f| f.name.as_str()).collect();
    let span = match functions.first() {
        Some(first) => first.span,
        None => argument(sources, "command line", ""),
    };
    Err(Diagnostic::error(
        codes::COMMAND_LINE,
        span,
        format!("the program has {} functions", names.len()),
        "this is the first: which one is to run?",
    )
    .with_help(format!(
        "choose one with `--def NAME`: {}",
        names.join(", ")
    ))
    .into())
}

/// Refuses numbers of threads for targets that have none.
pub(super) fn threads_for(
    target: Target,
    threads: &str,
    sources: &mut Sources,
) -> Result<(), Failure> {
    if !target.properties().has_blocks {
        return Ok(());
    }
    let span = argument(sources, "--threads", threads);
    Err(Diagnostic::error(
        codes::COMMAND_LINE,
        span,
        "--threads are those of OpenMP: the target cuda has none",
        "would have no effect",
    )
    .with_help("leave it out, or choose `--target c`")
    .into())
}

/// Refuses to write an SVG picture into a file that is named as another kind of picture.
pub(super) fn is_picture(path: &Path, sources: &mut Sources) -> Result<(), Failure> {
    if path
        .extension()
        .is_none_or(|ending| ending.eq_ignore_ascii_case("svg"))
    {
        return Ok(());
    }
    let span = argument(sources, "--plot", &path.display().to_string());
    let message = "pictures are written as SVG";
    Err(
        Diagnostic::error(codes::COMMAND_LINE, span, message, "this ending")
            .with_help("end it with .svg; browsers and Inkscape make other kinds of it")
            .into(),
    )
}

/// Sizes that are fixed, and a size with the values that have kernels of their own.
type Sizes = (Vec<(String, u64)>, Option<(String, Vec<u64>)>);

/// Kernels count with 64 bits and a sign, and round sizes up to tiles.
const LARGEST_SIZE: u64 = 1 << 62;

/// `NAME=SIZE`, and `NAME=SIZE,SIZE` for one of them.
fn sizes(texts: &[String], sources: &mut Sources) -> Result<Sizes, Failure> {
    let mut fixed: Vec<(String, u64)> = Vec::new();
    let mut variants: Option<(String, Vec<u64>)> = None;
    for text in texts {
        let (name, values) = pair::<String>(text, "--size", sources)?;
        // Kernels count with 64 bits and a sign.
        let value = |n: &str| n.trim().parse().ok().filter(|&n: &u64| n <= LARGEST_SIZE);
        let values: Option<Vec<u64>> = values.split(',').map(value).collect();
        let Some(mut values) = values else {
            let form = format!("NAME=SIZE, a whole number up to {LARGEST_SIZE}");
            return Err(not_a_pair(text, "--size", &form, sources));
        };
        let mut names = fixed.iter().map(|(name, _)| name);
        let known = names.any(|other| *other == name);
        if known || variants.as_ref().is_some_and(|(other, _)| *other == name) {
            return Err(again(text, "--size", &name, sources));
        }
        if let [value] = values[..] {
            fixed.push((name, value));
        } else if variants.is_some() {
            let span = argument(sources, "--size", text);
            let message = "two sizes with several values";
            return Err(
                Diagnostic::error(codes::COMMAND_LINE, span, message, "the second one")
                    .with_help(
                        "write a schedule with `choose { when M == 4 && N == 8: { .. } .. }`",
                    )
                    .into(),
            );
        } else {
            values.sort_unstable();
            values.dedup();
            variants = Some((name, values));
        }
    }
    Ok((fixed, variants))
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

/// An option that says a second time what something is.
fn again(text: &str, option: &str, name: &str, sources: &mut Sources) -> Failure {
    let span = argument(sources, option, text);
    Diagnostic::error(
        codes::COMMAND_LINE,
        span,
        format!("{option} gives `{name}` twice"),
        "the second time",
    )
    .with_help("leave one of them out")
    .into()
}

/// A word where the program's file is due, that is neither a file nor looks like one: a command
/// that does not exist.
pub(super) fn no_command(files: &[PathBuf], sources: &mut Sources) -> Option<Failure> {
    let name = files.first()?.to_str()?;
    if name.contains(['.', '/', '\\']) || Path::new(name).exists() {
        return None;
    }
    let commands = Cli::command();
    let commands = commands.get_subcommands().map(clap::Command::get_name);
    let help = suggest(name, commands, "`sparsec --help` lists the commands");
    let span = argument(sources, "command line", name);
    let message = format!("`{name}` is neither a command nor a file");
    let diagnostic = Diagnostic::error(codes::COMMAND_LINE, span, message, "here").with_help(help);
    Some(diagnostic.into())
}
