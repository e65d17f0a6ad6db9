//! The command line (clap).

use crate::target::Target;
use clap::builder::PossibleValue;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Compiles tensor index notation, formats and schedules to readable C kernels.
#[derive(Debug, Parser)]
#[command(
    name = "sparsec",
    version,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    after_help = "Examples:\n  \
        sparsec spmv.tc -o out              compile to C\n  \
        sparsec run spmv.tc A=web.mtx x=random:1 --verify\n  \
        sparsec run -e 'y(i)=A(i,j)*x(j)' -f A:ds A=web.mtx x=ones --time 20\n  \
        sparsec explain E0507               what a diagnostic means"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub compile: CompileCommand,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compile, run on data, and verify or time.
    Run(RunArgs),
    /// Compare schedules on data: times in turn, against what the machine can do.
    Bench(BenchArgs),
    /// Diagnostics only.
    Check(CheckArgs),
    /// Format a program, a formats file or a .sched file in place (`-` for standard input).
    Fmt(FmtArgs),
    /// Print what a stage of the compiler made.
    Show(ShowArgs),
    /// The schedule that sparsec finds by itself, with the rules behind it and what they rejected.
    Auto(AutoArgs),
    /// The built-in formats, with pictures of a small example.
    Formats,
    /// The built-in schedules, all of them or those of an operation; or the text of one.
    Schedules(SchedulesArgs),
    /// What a diagnostic's code means, with an example and the fix.
    Explain {
        /// The code, as E0201.
        code: String,
        #[arg(long, value_enum, default_value = "human")]
        message_format: MessageFormat,
    },
    /// Completions for a shell.
    Completions { shell: clap_complete::Shell },
    /// Search for a schedule by measuring many on data.
    Tune(TuneArgs),
    /// List, show, clear, export or import tuned schedules.
    Cache(CacheArgs),
}

#[derive(Debug, Args)]
pub struct CacheArgs {
    #[command(subcommand)]
    pub command: CacheCommand,
    #[arg(long, global = true, value_enum, default_value = "human")]
    pub message_format: MessageFormat,
}

/// The folder is that of SPARSEC_CACHE, or sparsec in XDG_CACHE_HOME or ~/.cache.
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// The tuned schedules, and what else is kept.
    List,
    /// A tuned schedule with all that is known of it.
    Show {
        /// As `list` prints it, or its beginning.
        id: String,
    },
    /// Remove everything that is kept, or some tuned schedules.
    Clear {
        #[arg(value_name = "ID")]
        ids: Vec<String>,
    },
    /// Write tuned schedules into a file: all, or some.
    Export {
        /// `-` for standard output.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[arg(value_name = "ID")]
        ids: Vec<String>,
    },
    /// Take tuned schedules from a file.
    Import {
        /// What `export` wrote; `-` for standard input.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// They are for this device, wherever they were found; `this` is this machine's.
        #[arg(long, value_name = "DEVICE")]
        as_device: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct TuneArgs {
    /// The program, then its data: A=FILE x=random:1 s=2.5; A=F1 A=F2 are two data sets
    #[arg(value_name = "FILE.tc | NAME=DATA")]
    pub operands: Vec<String>,
    #[command(flatten)]
    pub program: ProgramArgs,
    /// How long to search: 90s, 5m, 2h.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = seconds)]
    pub budget: f64,
    /// The same seed draws the same schedules where measurements are the same.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[arg(long, value_enum, default_value = "genetic")]
    pub search: SearchKind,
    /// Start from what is known of the program, or from nothing.
    #[arg(long, value_enum, default_value = "auto")]
    pub from: From,
    /// Measure at most so many schedules.
    #[arg(long, value_name = "N", value_parser = positive)]
    pub trials: Option<usize>,
    /// Rank schedules for a GPU by counts: no times, and no GPU is needed.
    #[arg(long)]
    pub model: bool,
    /// OpenMP threads (default: one for each core).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_THREADS))]
    pub threads: Option<u32>,
    /// Write the best schedule, with figures, data and machine in its comments.
    #[arg(short = 'o', value_name = "FILE.sched")]
    pub output: Option<PathBuf>,
    /// Draw the best time against the time of tuning.
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Where measurements are written, and read by a tuning that goes on (default: in the cache).
    #[arg(long, value_name = "FILE.jsonl")]
    pub log: Option<PathBuf>,
    /// The process that runs kernels, with the library of plain loops.
    #[arg(long, hide = true, value_name = "LIBRARY")]
    pub worker: Option<PathBuf>,
    /// A process that compiles schedules, into this folder.
    #[arg(long, hide = true, value_name = "FOLDER")]
    pub builder: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SearchKind {
    Genetic,
    Random,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum From {
    /// What sparsec chooses, the program's schedules, built-in ones, and what the cache has.
    Auto,
    /// Nothing.
    Scratch,
}

/// Of which systems start none more: what OpenMP says of that ends the process.
const MOST_THREADS: i64 = 4096;

/// A whole number from 1 on.
fn positive(text: &str) -> Result<usize, String> {
    let n = text.parse().ok().filter(|&n: &usize| n > 0);
    n.ok_or_else(|| "a whole number from 1 on is due".to_string())
}

/// A time in seconds: a number, perhaps with `ms`, `s`, `m` or `h`.
fn seconds(text: &str) -> Result<f64, String> {
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let unit = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (number, factor) = unit.unwrap_or((text, &1.0));
    match number.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number * factor),
        Ok(_) | Err(_) => Err("write a time as 90s, 5m or 2h".to_string()),
    }
}

/// The program and everything that changes what is compiled.
#[derive(Clone, Debug, Default, Args)]
pub struct ProgramArgs {
    /// An expression in TACO notation; may repeat.
    #[arg(short = 'e', value_name = "EXPR")]
    pub exprs: Vec<String>,
    /// A tensor's format: A:ds, A:ds:1,0
    #[arg(short = 'f', value_name = "T:LEVELS[:ORDER]")]
    pub formats_of: Vec<String>,
    /// A tensor's type: A:float
    #[arg(short = 't', value_name = "T:TYPE")]
    pub types: Vec<String>,
    /// A fixed range: i:100
    #[arg(short = 'd', value_name = "VAR:EXTENT")]
    pub dims: Vec<String>,
    /// Commands with commas between.
    #[arg(short = 's', value_name = "COMMANDS", conflicts_with_all = ["schedule", "no_schedule", "tuned"])]
    pub commands: Vec<String>,
    #[arg(long, value_enum, default_value = "c")]
    pub target: Target,
    /// A .sched file, a named schedule of the program, or a built-in one.
    #[arg(
        long,
        value_name = "FILE|NAME|builtin:NAME",
        conflicts_with = "no_schedule"
    )]
    pub schedule: Option<String>,
    /// Plain loops.
    #[arg(long)]
    pub no_schedule: bool,
    /// The schedule that `tune` found for this program on this machine, if the cache has one.
    #[arg(long, conflicts_with_all = ["schedule", "no_schedule"])]
    pub tuned: bool,
    /// Format declarations from a file.
    #[arg(long, value_name = "FILE")]
    pub formats: Option<PathBuf>,
    /// The numbers of a machine that schedules are found by, where a program has none
    /// (`sparsec auto --print-device` writes such a file).
    #[arg(long, value_name = "FILE.json")]
    pub device: Option<PathBuf>,
    /// Sets a `let` or `param` of the schedule.
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub defines: Vec<String>,
    /// Specialises a size; of several values each has a kernel of its own.
    #[arg(long = "size", value_name = "NAME=VALUE[,VALUE]")]
    pub sizes: Vec<String>,
    /// Width of coordinates and positions.
    #[arg(long, value_name = "32|64", value_parser = ["32", "64"])]
    pub index: Option<String>,
    /// One of the file's functions; all of them by default.
    #[arg(long, value_name = "NAME")]
    pub def: Option<String>,
    #[arg(long, value_enum, default_value = "human")]
    pub message_format: MessageFormat,
    /// `no-performance` silences performance notes, `error=performance` refuses on them; the last one holds.
    #[arg(short = 'W', value_name = "WARNING", value_parser = ["no-performance", "performance", "error=performance"])]
    pub warnings: Vec<String>,
}

impl ValueEnum for Target {
    fn value_variants<'a>() -> &'a [Self] {
        &Target::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.properties().word))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    #[default]
    Human,
    Json,
}

#[derive(Debug, Args)]
pub struct CompileCommand {
    /// The program.
    #[arg(value_name = "FILE.tc")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub program: ProgramArgs,
    /// The folder to write into (default: NAME.out).
    #[arg(short = 'o', value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the kernel text and write nothing.
    #[arg(long)]
    pub stdout: bool,
    /// Write nothing; exit 1 with a diff where the folder differs from what would be written.
    #[arg(long, conflicts_with_all = ["stdout", "list_outputs", "depfile"])]
    pub check: bool,
    /// Write a make dependency file.
    #[arg(long, value_name = "FILE")]
    pub depfile: Option<PathBuf>,
    /// Print the names of the files that would be written.
    #[arg(long, conflicts_with_all = ["stdout", "depfile"])]
    pub list_outputs: bool,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// The program, then its data: A=FILE x=random:1 s=2.5
    #[arg(value_name = "FILE.tc | NAME=DATA")]
    pub operands: Vec<String>,
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Write a result: y=y.tns
    #[arg(long = "out", value_name = "NAME=FILE")]
    pub outputs: Vec<String>,
    /// Compare with the reference evaluator; exit 1 where they differ.
    #[arg(long)]
    pub verify: bool,
    /// Timed runs after a warm-up; on a GPU, of the device's part, by events, caches flushed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub time: Option<u32>,
    /// OpenMP threads.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_THREADS))]
    pub threads: Option<u32>,
    /// Everything as one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// The program, then its data: A=FILE x=random:1 s=2.5; A=F1 A=F2 are two data sets
    #[arg(value_name = "FILE.tc | NAME=DATA")]
    pub operands: Vec<String>,
    #[command(flatten)]
    pub program: ProgramArgs,
    /// What the program's own schedule (or --schedule) is compared with: .sched files, names,
    /// builtin:NAME, default, plain; without the option default, plain and all names.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub schedules: Option<Vec<String>>,
    /// Numbers of OpenMP threads; each schedule that has any runs with each.
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=MOST_THREADS))]
    pub threads: Vec<u32>,
    /// Rounds of all candidates (default: 5 to 101, as many as 5 seconds allow).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,
    /// Compare with the reference evaluator, too; exit 1 where they differ.
    #[arg(long)]
    pub verify: bool,
    /// Draw rooflines, and times against stored elements where there are several data sets.
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// What --json wrote before; exit 1 where a candidate is slower now.
    #[arg(long, value_name = "OLD.json")]
    pub compare: Option<PathBuf>,
    /// Everything as one JSON object.
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// A line for each candidate, number of threads and data set.
    #[arg(long)]
    pub csv: bool,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    #[arg(value_name = "FILE.tc")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub program: ProgramArgs,
}

#[derive(Debug, Args)]
pub struct FmtArgs {
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Write nothing; exit 1 with a diff where a file is formatted otherwise.
    #[arg(long)]
    pub check: bool,
    #[arg(long, value_enum, default_value = "human")]
    pub message_format: MessageFormat,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    #[arg(value_name = "FILE.tc")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub program: ProgramArgs,
    #[arg(long, value_enum)]
    pub stage: Stage,
    #[arg(long, value_enum, default_value = "text")]
    pub format: ShowFormat,
    /// What was there before command N of the schedule (the first is 1).
    #[arg(long, value_name = "N", conflicts_with = "after", value_parser = clap::value_parser!(u32).range(1..))]
    pub before: Option<u32>,
    /// What was there after command N of the schedule.
    #[arg(long, value_name = "N")]
    pub after: Option<u32>,
}

#[derive(Debug, Args)]
pub struct AutoArgs {
    #[arg(value_name = "FILE.tc | NAME=DATA")]
    pub operands: Vec<String>,
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Print the numbers that schedules are found by, as a file for --device, and no schedule.
    #[arg(long)]
    pub print_device: bool,
}

#[derive(Debug, Args)]
pub struct SchedulesArgs {
    /// An operation (spmm) or a schedule (spmm_cpu).
    #[arg(value_name = "OPERATION|NAME")]
    pub what: Option<String>,
    /// With programs and texts, as one JSON array.
    #[arg(long)]
    pub json: bool,
    #[arg(long, value_enum, default_value = "human")]
    pub message_format: MessageFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    Tokens,
    Program,
    Graph,
    Provenance,
    Schedule,
    Lattice,
    Plan,
    Loops,
    Kernel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShowFormat {
    Text,
    Dot,
    Svg,
    Json,
}
