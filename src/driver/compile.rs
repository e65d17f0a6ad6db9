//! From texts to kernels: the pipeline, stage by stage.

mod functions;

use self::functions::{Asked, Done};
use super::schedules::{Schedules, named};
use super::{Failure, argument, variants};
use crate::diagnostic::codes::{
    environment as codes, program as program_codes, schedule as schedule_codes,
};
use crate::diagnostic::{Diagnosed, Diagnostic, FileId, Sources};
use crate::emit;
use crate::graph::Graph;
use crate::loops;
use crate::loops::ir::Kernel;
use crate::lower::{lattice, lower};
use crate::program::{self, ir::Function, ir::Program};
use crate::schedule::auto::Statistics;
use crate::schedule::{self, Settings, Target};
use crate::syntax::{self, ast, taco};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

/// What to compile.
#[derive(Clone, Debug)]
pub struct Request {
    pub source: Source,
    pub formats: Option<PathBuf>,
    pub schedule: ScheduleChoice,
    pub defines: Vec<(String, i64)>,
    pub sizes: Vec<(String, u64)>,
    /// A size, and the values that have kernels of their own.
    pub variants: Option<(String, Vec<u64>)>,
    pub index_bits: Option<u8>,
    pub def: Option<String>,
    pub target: Target,
    /// How many commands of the schedule apply; all of them if `None`.
    pub first_commands: Option<usize>,
    /// The file whose numbers `statistics` has, if they are of a file.
    pub device: Option<PathBuf>,
    /// For the schedule of a program that has none.
    pub statistics: Statistics,
}

impl Request {
    /// Everything by default.
    #[must_use]
    pub fn new(source: Source) -> Self {
        Request {
            source,
            formats: None,
            schedule: ScheduleChoice::Default,
            defines: Vec::new(),
            sizes: Vec::new(),
            variants: None,
            index_bits: None,
            def: None,
            target: Target::C,
            first_commands: None,
            device: None,
            statistics: Statistics::default(),
        }
    }
}

#[derive(Clone, Debug)]
pub enum Source {
    File(PathBuf),
    /// A program as text, with the name that diagnostics show.
    Text {
        name: String,
        text: String,
    },
    Taco(taco::TacoArgs),
}

/// Which schedule applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleChoice {
    /// The program's unnamed one for the target; an automatic one if it has none.
    Default,
    /// Plain loops.
    None,
    /// A `.sched` file, a named schedule of the program, or `builtin:NAME`.
    Named(String),
    /// Commands as text, with the name that diagnostics show.
    Text { name: String, text: String },
}

/// The outcome of every stage.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub target: Target,
    pub program: Program,
    /// Those of each function: one, or one for each alternative of its schedule.
    pub graphs: Vec<Graph>,
    /// The commands of each function's schedule that applied, as they can be written.
    pub scripts: Vec<Vec<String>>,
    pub kernels: Vec<Kernel>,
    /// The merge lattices of each graph's loops.
    pub lattices: Vec<Vec<lattice::Report>>,
    pub remarks: Vec<Diagnostic>,
    /// How many commands the longest schedule has, whether all of them applied or not.
    pub commands: usize,
    /// Some function has no schedule of its own, and got commands all the same.
    pub is_automatic: bool,
    /// What `let` and `param` of the schedules in use are, by name.
    pub constants: BTreeMap<String, i64>,
    /// The program's named schedules for the target.
    pub named: Vec<String>,
    /// Files that were read, for `--depfile`.
    pub inputs: Vec<PathBuf>,
}

/// Runs the pipeline. `sources` receives every text, so that spans can be shown.
///
/// # Errors
/// The diagnostics of the first stage that refuses.
pub fn compile(request: &Request, sources: &mut Sources) -> Result<Compiled, Failure> {
    let mut inputs = Vec::new();
    let (files, options) = program_of(request, sources, &mut inputs)?;
    inputs.extend(request.device.iter().cloned());
    let mut resolved = program::resolve(&files, &options)?;
    let schedules = Schedules::choose(request, &files, sources, &mut inputs, &resolved.program)?;
    let asked = Asked {
        request,
        program: (&files, &options),
        schedules: &schedules,
    };
    let mut done = Done {
        remarks: resolved.remarks,
        ..Done::default()
    };
    for function in &mut resolved.program.functions {
        done.compile(function, &asked, sources)?;
    }
    let mut errors = done.errors;
    schedules.explain(&mut errors);
    for (name, value) in &request.defines {
        if !done.declared.contains(name) {
            errors.push(sets_nothing(name, *value, &done.declared, sources));
        }
    }
    if let (Some((name, _)), false) = (&request.variants, done.is_varied) {
        errors.push(variants::unknown(name, sources));
    }
    if errors.is_empty() {
        errors.extend(clash(&resolved.program, &done.kernels, request.target));
    }
    if !errors.is_empty() {
        return Err(Failure::Program(errors));
    }
    Ok(Compiled {
        target: request.target,
        named: named(&files, &resolved.program, request.target),
        program: resolved.program,
        graphs: done.graphs,
        scripts: done.scripts,
        kernels: done.kernels,
        lattices: done.lattices,
        remarks: done.remarks,
        commands: done.commands,
        is_automatic: done.is_automatic,
        constants: done.constants,
        inputs,
    })
}

/// The only function of a request that names no schedule, if the program has none for it either.
///
/// # Errors
/// The diagnostics of the first stage that refuses.
pub fn unscheduled(request: &Request, sources: &mut Sources) -> Result<Option<Function>, Failure> {
    let (files, options) = program_of(request, sources, &mut Vec::new())?;
    let program = program::resolve(&files, &options)?.program;
    let own = Schedules::defaults(&files, request.target);
    let mut functions = program.functions.into_iter();
    let first = functions.next().filter(|f| own.commands(f).is_none());
    Ok(first.filter(|_| functions.next().is_none()))
}

fn program_of(
    request: &Request,
    sources: &mut Sources,
    inputs: &mut Vec<PathBuf>,
) -> Result<(Vec<ast::File>, program::Options), Failure> {
    let parsed = parse(request, sources, inputs)?;
    let mut files = vec![parsed];
    if let Some(path) = &request.formats {
        let (file, text) = read(sources, path, inputs)?;
        let parsed = syntax::parse(file, &text)?;
        only_formats(&parsed)?;
        files.push(parsed);
    }
    let options = program::Options {
        def: request.def.clone(),
        sizes: request.sizes.clone(),
        index_bits: request.index_bits,
    };
    Ok((files, options))
}

/// What `--formats` names declares no functions: a program that is named by mistake would add its kernels.
fn only_formats(file: &ast::File) -> Result<(), Failure> {
    for item in &file.items {
        match item {
            ast::Item::Def(def) => {
                return Err(Diagnostic::error(
                    codes::COMMAND_LINE,
                    def.name.span,
                    format!("`{}` is a function", def.name.name),
                    "`--formats` names a file of format declarations",
                )
                .with_help(
                    "name the program's file first, and that of its formats behind `--formats`",
                )
                .into());
            }
            ast::Item::FormatDecl(_)
            | ast::Item::FormatUse(_)
            | ast::Item::Operator(_)
            | ast::Item::Schedule(_) => {}
        }
    }
    Ok(())
}

/// The diagnostic of a `-D` that no schedule asks for.
pub(super) fn sets_nothing(
    name: &str,
    value: i64,
    declared: &[String],
    sources: &mut Sources,
) -> Diagnostic {
    let text = format!("{name}={value}");
    let span = argument(sources, "-D", &text);
    let help = if declared.is_empty() {
        "the schedule declares no `let` or `param`".to_string()
    } else {
        format!("it declares {}", declared.join(", "))
    };
    Diagnostic::error(
        schedule_codes::REDEFINED,
        span,
        format!("-D {name} sets nothing"),
        format!("no schedule in use declares `{name}`"),
    )
    .with_help(help)
}

/// One function through all stages.
pub(super) struct Built {
    pub graph: Graph,
    pub kernel: Kernel,
    pub lattices: Vec<lattice::Report>,
    pub remarks: Vec<Diagnostic>,
}

/// Schedules, lowers and places a function.
///
/// # Errors
/// The diagnostics of the first stage that refuses.
pub(super) fn build(
    function: &Function,
    commands: &[ast::Command],
    settings: &Settings,
) -> Diagnosed<Built> {
    let mut built = lowered(function, commands, settings)?;
    built.kernel = placed(function, built.kernel, settings.target)?;
    Ok(built)
}

/// A function as lowering leaves it.
///
/// # Errors
/// The diagnostics of the first stage that refuses.
pub(super) fn lowered(
    function: &Function,
    commands: &[ast::Command],
    settings: &Settings,
) -> Diagnosed<Built> {
    let graph = schedule::scheduled(&Rc::new(function.clone()), commands, settings)?;
    let lowered = lower(&graph)?;
    Ok(Built {
        graph,
        kernel: lowered.kernel,
        lattices: lowered.lattices,
        remarks: lowered.remarks,
    })
}

/// A kernel behind the passes of its target.
///
/// # Errors
/// What the target has no place for.
pub(super) fn placed(function: &Function, kernel: Kernel, target: Target) -> Diagnosed<Kernel> {
    loops::passes::run(kernel, loops::passes::of(target), target)
        .map_err(|refusal| vec![not_placed(function, refusal)])
}

/// The diagnostic of two functions that cannot stand in one file.
fn clash(program: &Program, kernels: &[Kernel], target: Target) -> Option<Diagnostic> {
    let (first, again, name) = emit::clashes::find(kernels, target)?;
    let [first, again] = [first, again].map(|at| &program.functions[at]);
    Some(
        Diagnostic::error(
            program_codes::DUPLICATE_NAME,
            again.span,
            format!(
                "the C text of `{}` and that of `{}` both need the name `{name}`",
                first.name, again.name
            ),
            "the second one",
        )
        .with_label(first.span, "the first one")
        .with_help("give one of them another name, or write them apart with `--def`"),
    )
}

/// The diagnostic of what cannot be placed on a GPU.
fn not_placed(function: &Function, refusal: loops::device::Refusal) -> Diagnostic {
    Diagnostic::error(
        crate::diagnostic::codes::lower::DEVICE,
        function.span,
        refusal.message,
        "with this schedule",
    )
    .with_help(refusal.help)
}

/// Parses the program of a request.
///
/// # Errors
/// The file cannot be read, or its text does not parse.
pub fn parse(
    request: &Request,
    sources: &mut Sources,
    inputs: &mut Vec<PathBuf>,
) -> Result<ast::File, Failure> {
    match &request.source {
        Source::File(path) => {
            let (file, text) = read(sources, path, inputs)?;
            Ok(syntax::parse(file, &text)?)
        }
        Source::Text { name, text } => {
            let file = sources.add(name, text);
            Ok(syntax::parse(file, text)?)
        }
        Source::Taco(args) => Ok(taco::parse(sources, args)?.file),
    }
}

/// The tokens of the program's text.
///
/// # Errors
/// The file cannot be read, its text does not parse, or there is no text but expressions.
pub fn tokens(request: &Request, sources: &mut Sources) -> Result<Vec<syntax::Token>, Failure> {
    match &request.source {
        Source::File(path) => {
            let (file, text) = read(sources, path, &mut Vec::new())?;
            Ok(syntax::tokens(file, &text)?)
        }
        Source::Text { name, text } => {
            let file = sources.add(name, text);
            Ok(syntax::tokens(file, text)?)
        }
        Source::Taco(_) => {
            let span = argument(sources, "--stage", "tokens");
            Err(Diagnostic::error(
                codes::NOT_SUPPORTED,
                span,
                "TACO notation is not a program's text",
                "this stage",
            )
            .with_help("`--stage program` shows what `-e` stands for")
            .into())
        }
    }
}

/// Reads a source file.
///
/// # Errors
/// It cannot be read, or is no UTF-8 text.
pub fn read(
    sources: &mut Sources,
    path: &Path,
    inputs: &mut Vec<PathBuf>,
) -> Result<(FileId, String), Failure> {
    let text = source(sources, path, content(path))?;
    inputs.push(path.to_path_buf());
    Ok(text)
}

/// What a file holds, or a pipe, which can be read once: several stages ask for the same text.
fn content(path: &Path) -> std::io::Result<Vec<u8>> {
    static PIPES: Mutex<BTreeMap<PathBuf, Vec<u8>>> = Mutex::new(BTreeMap::new());
    let is_kept = std::fs::metadata(path).is_ok_and(|found| found.is_file() || found.is_dir());
    // (Some systems open `/dev/stdin` where the last reader stopped, a file's too.)
    if is_kept && !path.starts_with("/dev") {
        return std::fs::read(path);
    }
    let mut known = PIPES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(content) = known.get(path) {
        return Ok(content.clone());
    }
    let content = std::fs::read(path)?;
    known.insert(path.to_path_buf(), content.clone());
    Ok(content)
}

/// A source file of this content.
///
/// # Errors
/// It could not be read, or is no UTF-8 text.
pub fn source(
    sources: &mut Sources,
    path: &Path,
    content: std::io::Result<Vec<u8>>,
) -> Result<(FileId, String), Failure> {
    let refuse = |sources: &mut Sources, reason: &str, help: &str| {
        let span = argument(sources, "command line", &path.display().to_string());
        Diagnostic::error(
            codes::NO_FILE,
            span,
            format!("cannot read {}", path.display()),
            reason,
        )
        .with_help(help)
    };
    let bytes = match content {
        Ok(bytes) => bytes,
        Err(error) => {
            let help = "check the path; it is relative to the current directory";
            return Err(refuse(sources, &error.to_string(), help).into());
        }
    };
    let Ok(text) = String::from_utf8(bytes) else {
        let help = "name a text, or convert it to UTF-8 (`iconv -t UTF-8`)";
        return Err(refuse(sources, "the file is no UTF-8 text", help).into());
    };
    // Some editors begin UTF-8 so.
    let text = text
        .strip_prefix('\u{feff}')
        .map_or_else(|| text.clone(), str::to_string);
    let Ok(_) = u32::try_from(text.len()) else {
        let help = "name a program";
        return Err(refuse(sources, "the file is larger than 4 GiB", help).into());
    };
    Ok((sources.add(path.display().to_string(), &text), text))
}
