//! From texts to kernels: the pipeline, stage by stage.

use super::{Failure, argument};
use crate::diagnostic::codes::{environment as codes, schedule as schedule_codes};
use crate::diagnostic::{Diagnosed, Diagnostic, FileId, Sources, Span};
use crate::graph::Graph;
use crate::loops;
use crate::loops::ir::Kernel;
use crate::lower::{lattice, lower};
use crate::program::{self, ir::Function, ir::Program};
use crate::schedule::{self, Settings, Target};
use crate::syntax::{self, ast, taco};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// What to compile.
#[derive(Clone, Debug)]
pub struct Request {
    pub source: Source,
    pub formats: Option<PathBuf>,
    pub schedule: ScheduleChoice,
    pub defines: Vec<(String, i64)>,
    pub sizes: Vec<(String, u64)>,
    pub index_bits: Option<u8>,
    pub def: Option<String>,
    pub target: Target,
    /// How many commands of the schedule apply; all of them if `None`.
    pub first_commands: Option<usize>,
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
            index_bits: None,
            def: None,
            target: Target::C,
            first_commands: None,
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
    /// The program's unnamed one for the target, if it has one.
    Default,
    /// Plain loops.
    None,
    /// A `.sched` file, or a named schedule of the program.
    Named(String),
}

/// The outcome of every stage.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub target: Target,
    pub program: Program,
    pub graphs: Vec<Graph>,
    pub kernels: Vec<Kernel>,
    /// The merge lattices of each function's loops.
    pub lattices: Vec<Vec<lattice::Report>>,
    pub remarks: Vec<Diagnostic>,
    /// Files that were read, for `--depfile`.
    pub inputs: Vec<PathBuf>,
}

/// Runs the pipeline. `sources` receives every text, so that spans can be shown.
///
/// # Errors
/// The diagnostics of the first stage that refuses.
pub fn compile(request: &Request, sources: &mut Sources) -> Result<Compiled, Failure> {
    let mut inputs = Vec::new();
    let parsed = parse(request, sources, &mut inputs)?;
    let mut files = vec![parsed];
    if let Some(path) = &request.formats {
        let (file, text) = read(sources, path, &mut inputs)?;
        files.push(syntax::parse(file, &text)?);
    }
    let options = program::Options {
        def: request.def.clone(),
        sizes: request.sizes.clone(),
        index_bits: request.index_bits,
    };
    let resolved = program::resolve(&files, &options)?;
    let mut remarks = resolved.remarks;
    let schedules = Schedules::choose(request, &files, sources, &mut inputs, &resolved.program)?;
    let mut graphs = Vec::new();
    let mut kernels = Vec::new();
    let mut lattices = Vec::new();
    let mut errors = Vec::new();
    let mut declared: Vec<String> = Vec::new();
    for function in &resolved.program.functions {
        let chosen = match schedules.commands(function) {
            Some(commands) => commands.to_vec(),
            None if request.target == Target::Cuda => {
                super::auto::schedule(function, sources, &mut remarks)
            }
            None => Vec::new(),
        };
        let commands = &first(&chosen, request.first_commands);
        let own = declared_names(commands);
        let settings = Settings {
            defines: request
                .defines
                .iter()
                .filter(|(name, _)| own.contains(name))
                .cloned()
                .collect(),
            target: request.target,
        };
        declared.extend(own);
        match build(function, commands, &settings) {
            Ok(mut built) => {
                remarks.append(&mut built.remarks);
                kernels.push(built.kernel);
                lattices.push(built.lattices);
                graphs.push(built.graph);
            }
            Err(mut found) => errors.append(&mut found),
        }
    }
    for (name, value) in &request.defines {
        if !declared.contains(name) {
            let text = format!("{name}={value}");
            let span = argument(sources, "-D", &text);
            let help = if declared.is_empty() {
                "the schedule declares no `let` or `param`".to_string()
            } else {
                format!("it declares {}", declared.join(", "))
            };
            errors.push(
                Diagnostic::error(
                    schedule_codes::REDEFINED,
                    span,
                    format!("-D {name} sets nothing"),
                    format!("no schedule in use declares `{name}`"),
                )
                .with_help(help),
            );
        }
    }
    if !errors.is_empty() {
        return Err(Failure::Program(errors));
    }
    Ok(Compiled {
        target: request.target,
        program: resolved.program,
        graphs,
        kernels,
        lattices,
        remarks,
        inputs,
    })
}

/// One function through all stages.
pub(super) struct Built {
    pub graph: Graph,
    pub kernel: Kernel,
    pub lattices: Vec<lattice::Report>,
    pub remarks: Vec<Diagnostic>,
}

/// Schedules and lowers a function.
///
/// # Errors
/// The diagnostics of the first stage that refuses.
pub(super) fn build(
    function: &Function,
    commands: &[ast::Command],
    settings: &Settings,
) -> Diagnosed<Built> {
    let graph = Graph::build(&Rc::new(function.clone()))?;
    let graph = schedule::apply(graph, commands, settings)?;
    let lowered = lower(&graph)?;
    let kernel = loops::split_full_tiles(lowered.kernel);
    let kernel = match settings.target {
        Target::C => loops::mark_reversed(loops::widen(kernel)),
        Target::Cuda => {
            loops::device::place(kernel).map_err(|refusal| vec![not_placed(function, refusal)])?
        }
    };
    let kernel = loops::divide_plainly(kernel);
    debug_assert_eq!(loops::verify::verify(&kernel), Vec::<String>::new());
    Ok(Built {
        graph,
        kernel,
        lattices: lowered.lattices,
        remarks: lowered.remarks,
    })
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

/// The first commands of a schedule, with all its constants.
fn first(commands: &[ast::Command], count: Option<usize>) -> Vec<ast::Command> {
    let mut left = count.unwrap_or(usize::MAX);
    commands
        .iter()
        .filter(|command| {
            let counts = matches!(command, ast::Command::Call { .. });
            let kept = !counts || left > 0;
            left = left.saturating_sub(usize::from(counts));
            kept
        })
        .cloned()
        .collect()
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
pub fn tokens(request: &Request, sources: &mut Sources) -> Result<String, Failure> {
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
    let refuse = |sources: &mut Sources, reason: String| {
        let span = argument(sources, "command line", &path.display().to_string());
        Diagnostic::error(
            codes::NO_FILE,
            span,
            format!("cannot read {}", path.display()),
            reason,
        )
        .with_help("check the path; it is relative to the current directory")
    };
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return Err(refuse(sources, error.to_string()).into()),
    };
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(refuse(sources, "the file is no UTF-8 text".to_string()).into());
    };
    let Ok(_) = u32::try_from(text.len()) else {
        return Err(refuse(sources, "the file is larger than 4 GiB".to_string()).into());
    };
    inputs.push(path.to_path_buf());
    Ok((sources.add(path.display().to_string(), &text), text))
}

/// The names of `let` and `param`.
fn declared_names(commands: &[ast::Command]) -> Vec<String> {
    commands
        .iter()
        .filter_map(|command| match command {
            ast::Command::Let { name, .. } | ast::Command::Param { name, .. } => {
                Some(name.name.clone())
            }
            ast::Command::Call { .. } => None,
        })
        .collect()
}

/// The schedules in use.
enum Schedules {
    Plain,
    /// A `.sched` file, for the only function.
    File(Vec<ast::Command>),
    /// Those of the program, by function.
    OfProgram(Vec<ast::Schedule>),
}

impl Schedules {
    fn choose(
        request: &Request,
        files: &[ast::File],
        sources: &mut Sources,
        inputs: &mut Vec<PathBuf>,
        program: &Program,
    ) -> Result<Self, Failure> {
        let all: Vec<&ast::Schedule> = files
            .iter()
            .flat_map(|file| &file.items)
            .filter_map(|item| match item {
                ast::Item::Schedule(schedule) => Some(schedule),
                ast::Item::Def(_) | ast::Item::FormatDecl(_) | ast::Item::FormatUse(_) => None,
            })
            .collect();
        check_headers(&all, files)?;
        let target = match request.target {
            Target::C => "c",
            Target::Cuda => "cuda",
        };
        let fits = |s: &ast::Schedule| s.target.as_ref().is_none_or(|t| t.name == target);
        match &request.schedule {
            ScheduleChoice::None => Ok(Schedules::Plain),
            ScheduleChoice::Default => Ok(Schedules::OfProgram(
                all.into_iter()
                    .filter(|s| s.name.is_none() && fits(s))
                    .cloned()
                    .collect(),
            )),
            ScheduleChoice::Named(name) => {
                let named: Vec<ast::Schedule> = all
                    .iter()
                    .filter(|s| s.name.as_ref().is_some_and(|n| n.name == *name) && fits(s))
                    .map(|s| (*s).clone())
                    .collect();
                if !named.is_empty() {
                    return Ok(Schedules::OfProgram(named));
                }
                let path = Path::new(name);
                let is_file = path.is_file() || path.extension().is_some_and(|e| e == "sched");
                if !is_file {
                    let known: Vec<&str> = all
                        .iter()
                        .filter_map(|s| s.name.as_ref())
                        .map(|n| n.name.as_str())
                        .collect();
                    let help = if known.is_empty() {
                        "the program names no schedule; give a .sched file".to_string()
                    } else {
                        format!("the program names {}", known.join(", "))
                    };
                    let span = argument(sources, "--schedule", name);
                    return Err(Diagnostic::error(
                        codes::NO_SCHEDULE,
                        span,
                        format!("there is no schedule `{name}`"),
                        "neither a file nor a name",
                    )
                    .with_help(help)
                    .into());
                }
                if program.functions.len() > 1 {
                    let span = argument(sources, "--schedule", name);
                    return Err(Diagnostic::error(
                        codes::COMMAND_LINE,
                        span,
                        "a .sched file applies to one function, the program has several",
                        "for which one?",
                    )
                    .with_help("choose one with `--def NAME`")
                    .into());
                }
                let (file, text) = read(sources, path, inputs)?;
                Ok(Schedules::File(syntax::parse_schedule(file, &text)?))
            }
        }
    }

    /// The commands for a function; `None` if there is no schedule for it.
    fn commands(&self, function: &Function) -> Option<&[ast::Command]> {
        match self {
            Schedules::Plain => Some(&[]),
            Schedules::File(commands) => Some(commands),
            Schedules::OfProgram(schedules) => {
                let own =
                    |s: &&ast::Schedule| s.def.as_ref().is_some_and(|d| d.name == function.name);
                // One for the target goes before one for any.
                let chosen = schedules
                    .iter()
                    .filter(own)
                    .find(|s| s.target.is_some())
                    .or_else(|| schedules.iter().find(own));
                chosen.map(|s| s.commands.as_slice())
            }
        }
    }
}

/// Schedules must be for functions that exist, for targets that exist, and not twice
/// the same.
fn check_headers(all: &[&ast::Schedule], files: &[ast::File]) -> Result<(), Failure> {
    let mut errors = Vec::new();
    let mut seen: Vec<(String, String, String, Span)> = Vec::new();
    for schedule in all {
        if let Some(target) = &schedule.target
            && !["c", "cuda"].contains(&target.name.as_str())
        {
            errors.push(
                Diagnostic::error(
                    schedule_codes::BAD_UNIT,
                    target.span,
                    format!("unknown target `{}`", target.name),
                    "no such target",
                )
                .with_help("the targets are c and cuda"),
            );
        }
        let Some(def) = &schedule.def else { continue };
        let exists = files.iter().flat_map(|f| &f.items).any(|item| match item {
            ast::Item::Def(d) => d.name.name == def.name,
            ast::Item::FormatDecl(_) | ast::Item::FormatUse(_) | ast::Item::Schedule(_) => false,
        });
        if !exists {
            errors.push(
                Diagnostic::error(
                    schedule_codes::UNKNOWN_VARIABLE,
                    def.span,
                    format!("a schedule for `{}`, which is not defined", def.name),
                    "no such function",
                )
                .with_help("name a `def` of this file"),
            );
        }
        let text = |i: &Option<ast::Ident>| i.as_ref().map_or(String::new(), |i| i.name.clone());
        let key = (
            def.name.clone(),
            text(&schedule.target),
            text(&schedule.name),
        );
        let first = seen
            .iter()
            .find(|(d, t, n, _)| (d, t, n) == (&key.0, &key.1, &key.2));
        if let Some((_, _, _, first)) = first {
            errors.push(
                Diagnostic::error(
                    schedule_codes::REDEFINED,
                    def.span,
                    format!("`{}` has two schedules of this target and name", def.name),
                    "the second one",
                )
                .with_label(*first, "the first one")
                .with_help("name one of them: `schedule f for c named other { ... }`"),
            );
        } else {
            seen.push((key.0, key.1, key.2, def.span));
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Failure::Program(errors))
    }
}
