//! `sparsec show` and `sparsec formats`.

use super::args::{ShowArgs, ShowFormat, Stage};
use super::compile::stem;
use super::{Reporter, refused, request, tuned};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::environment as codes;
use crate::diagram::{self, Diagram};
use crate::driver::{self, Compiled, Failure, argument, compile};
use crate::emit::{self, Unit};
use crate::format::builtin;
use crate::graph::print as graph_print;
use crate::loops::text as loops_text;
use crate::plan::text as plan_text;

pub(super) fn show(args: &ShowArgs) -> u8 {
    let mut reporter = Reporter::of(&args.program);
    match text(args, &mut reporter) {
        Ok(text) => reporter.print(&text, 0),
        Err(failure) => reporter.fail(&failure),
    }
}

fn text(args: &ShowArgs, reporter: &mut Reporter) -> Result<String, Failure> {
    let mut request = request(&args.files, &args.program, &mut reporter.sources)?;
    let count = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
    request.first_commands = args.after.or(args.before.map(|n| n - 1)).map(count);
    if args.stage == Stage::Tokens {
        let tokens = compile::tokens(&request, &mut reporter.sources)?;
        let text: String = tokens.iter().map(|token| format!("{token}\n")).collect();
        return Ok(in_format(args.format, text, |_| json(&tokens)));
    }
    if args.program.tuned {
        request = tuned::without_data(request, reporter)?;
    }
    let compiled = driver::compile(&request, &mut reporter.sources)?;
    if let Some(asked) = args.after.or(args.before)
        && count(asked) > compiled.commands
    {
        let option = if args.after.is_some() {
            "--after"
        } else {
            "--before"
        };
        let span = argument(&mut reporter.sources, option, &asked.to_string());
        let help = match compiled.commands {
            0 => "there is no schedule: leave the option out".to_string(),
            n => format!("the last one is {n}"),
        };
        return Err(Diagnostic::error(
            codes::COMMAND_LINE,
            span,
            format!("the schedule has no command {asked}"),
            "counted from 1",
        )
        .with_help(help)
        .into());
    }
    // What is shown of a part of a schedule is not what would be compiled.
    if reporter.refuse_performance && request.first_commands.is_none() {
        refuse_on_notes(&compiled)?;
    }
    let name = stem(&request.source);
    if args.stage == Stage::Kernel {
        let names = emit::file_names(&name, compiled.target);
        let file = names.into_iter().next().unwrap_or_default();
        let text = kernel(name, compiled);
        return Ok(in_format(args.format, text, |text| {
            json(&KernelFile { file, text })
        }));
    }
    let diagram = match args.format {
        ShowFormat::Text => return plain(args.stage, &compiled),
        ShowFormat::Dot | ShowFormat::Svg | ShowFormat::Json => drawn(args.stage, &compiled)?,
    };
    Ok(match args.format {
        ShowFormat::Dot => diagram.dot(),
        ShowFormat::Svg => diagram.svg(),
        ShowFormat::Json | ShowFormat::Text => diagram.json(),
    })
}

/// `-W error=performance`: nothing is shown of what would not be compiled.
fn refuse_on_notes(compiled: &Compiled) -> Result<(), Failure> {
    let refused: Vec<Diagnostic> = compiled.remarks.iter().filter_map(refused).collect();
    if refused.is_empty() {
        return Ok(());
    }
    Err(Failure::Program(refused))
}

/// A kernel's text and the file that has it.
#[derive(serde::Serialize)]
struct KernelFile {
    file: String,
    text: String,
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// A stage as boxes and arrows: of several functions, or alternatives of one, one beside the other.
fn drawn(stage: Stage, compiled: &Compiled) -> Result<Diagram, Failure> {
    let mut parts: Vec<(&str, Diagram)> = Vec::new();
    if matches!(stage, Stage::Program | Stage::Loops) {
        return Ok(diagram::outline::diagram(&plain(stage, compiled)?));
    }
    for (graph, lattices) in compiled.graphs.iter().zip(&compiled.lattices) {
        let diagram = match stage {
            Stage::Graph | Stage::Schedule => diagram::graph::diagram(graph),
            Stage::Provenance => diagram::provenance::diagram(graph),
            Stage::Lattice => diagram::lattice::diagram(lattices),
            Stage::Plan => diagram::plan::diagram(&plan_text::of(graph)?),
            Stage::Tokens | Stage::Program | Stage::Loops | Stage::Kernel => continue,
        };
        parts.push((&graph.function.name, diagram));
    }
    if parts.len() == 1 {
        return Ok(parts.swap_remove(0).1);
    }
    let names: Vec<&str> = parts.iter().map(|(name, _)| *name).collect();
    let mut out = Diagram::default();
    for (at, (name, diagram)) in parts.into_iter().enumerate() {
        let alike = |names: &[&str]| names.iter().filter(|own| **own == name).count();
        let title = match alike(&names) {
            1 => name.to_string(),
            _ => format!("{name}, alternative {}", alike(&names[..=at])),
        };
        out.add(&title, diagram);
    }
    Ok(out)
}

/// A stage that is a text: its lines in boxes, where they are drawn.
fn in_format(format: ShowFormat, text: String, described: impl FnOnce(String) -> String) -> String {
    match format {
        ShowFormat::Text => text,
        ShowFormat::Json => described(text),
        ShowFormat::Dot => diagram::outline::diagram(&text).dot(),
        ShowFormat::Svg => diagram::outline::diagram(&text).svg(),
    }
}

fn kernel(name: String, compiled: Compiled) -> String {
    let kernels = compiled.kernels;
    emit::kernel_text(&Unit { name, kernels }, compiled.target)
}

fn plain(stage: Stage, compiled: &Compiled) -> Result<String, Failure> {
    let mut out = String::new();
    match stage {
        Stage::Program => {
            for function in &compiled.program.functions {
                out += &format!("{function}\n");
            }
        }
        Stage::Graph => compiled
            .graphs
            .iter()
            .for_each(|g| out += &graph_print::print(g)),
        Stage::Provenance => compiled
            .graphs
            .iter()
            .for_each(|g| out += &graph_print::print_provenance(g)),
        Stage::Schedule => {
            let word = compiled.target.properties().word;
            let several = compiled.scripts.len() > 1;
            for (function, script) in compiled.program.functions.iter().zip(&compiled.scripts) {
                let lines = script.iter().flat_map(|command| command.lines());
                if several && !script.is_empty() {
                    let indented = lines.map(|line| format!("  {line}\n"));
                    let body: String = indented.collect();
                    out += &format!("schedule {} for {word} {{\n{body}}}\n", function.name);
                } else {
                    lines.for_each(|line| out += &format!("{line}\n"));
                }
            }
        }
        Stage::Lattice => compiled
            .lattices
            .iter()
            .for_each(|l| out += &diagram::lattice::text(l)),
        Stage::Plan => {
            for graph in &compiled.graphs {
                out += &plan_text::print(&plan_text::of(graph)?);
            }
        }
        Stage::Loops => compiled
            .kernels
            .iter()
            .flat_map(|kernel| [Some(kernel), kernel.keeping.as_deref()])
            .flatten()
            .for_each(|k| out += &loops_text::print(k)),
        Stage::Tokens | Stage::Kernel => {}
    }
    Ok(out)
}

pub(super) fn formats() -> u8 {
    let mut out = String::new();
    for format in builtin::ALL {
        let later = if format.supported {
            ""
        } else {
            " (not supported yet)"
        };
        out += &format!(
            "{:<14} {}{later}\n{:14} {}\n",
            format.name, format.about, "", format.declaration
        );
    }
    out += EXAMPLE;
    Reporter::new(super::MessageFormat::Human, &[]).print(&out, 0)
}

/// One matrix in the formats that differ most.
const EXAMPLE: &str = "
The matrix    [ 5 . 1 ]
              [ . . . ]
              [ . 7 . ]

dense   vals  5 0 1 0 0 0 0 7 0
csr     pos   0 2 2 3        row i holds crd[pos[i]] to crd[pos[i+1] - 1]
        crd   0 2 1
        vals  5 1 7
csc     pos   0 1 2 3        the same by columns
        crd   0 2 0
        vals  5 7 1
dcsr    pos   0 2            only rows that hold something
        crd   0 2
        pos   0 2 3
        crd   0 2 1
        vals  5 1 7
coo     pos   0 3
        crd   0 0 2          the row of each element
        crd   0 2 1          its column
        vals  5 1 7
bcsr    pos   0 2 3          bcsr(2,2): rows of blocks of 2 by 2
        crd   0 1 0
        vals  5 0 0 0  1 0 0 0  0 7 0 0
";
