//! `sparsec show` and `sparsec formats`.

use super::args::{ShowArgs, ShowFormat, Stage};
use super::{Reporter, request, tuned};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::environment as codes;
use crate::diagram;
use crate::driver::{self, Failure, argument, compile};
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
        expect_text(args, reporter)?;
        return compile::tokens(&request, &mut reporter.sources);
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
    if args.format == ShowFormat::Text {
        return plain(args.stage, compiled);
    }
    if compiled.graphs.len() > 1 && args.format != ShowFormat::Dot {
        let span = argument(&mut reporter.sources, "--def", "none given");
        return Err(Diagnostic::error(
            codes::NOT_SUPPORTED,
            span,
            "there are several functions or alternatives, a picture shows one",
            "which one?",
        )
        .with_help("choose with `--def NAME`, or `--schedule NAME`")
        .into());
    }
    let mut out = String::new();
    for (graph, lattices) in compiled.graphs.iter().zip(&compiled.lattices) {
        let diagram = match args.stage {
            Stage::Graph | Stage::Schedule => diagram::graph::diagram(graph),
            Stage::Provenance => diagram::provenance::diagram(graph),
            Stage::Lattice => diagram::lattice::diagram(lattices),
            Stage::Plan => diagram::plan::diagram(&plan_text::of(graph)?),
            Stage::Tokens | Stage::Program | Stage::Loops | Stage::Kernel => {
                expect_text(args, reporter)?;
                continue;
            }
        };
        out += &match args.format {
            ShowFormat::Dot => diagram.dot(),
            ShowFormat::Svg => diagram.svg(),
            ShowFormat::Json | ShowFormat::Text => diagram.json(),
        };
    }
    Ok(out)
}

/// Refuses a stage that is no diagram in a format for diagrams.
fn expect_text(args: &ShowArgs, reporter: &mut Reporter) -> Result<(), Failure> {
    if args.format == ShowFormat::Text {
        return Ok(());
    }
    let span = argument(&mut reporter.sources, "--format", "dot, svg or json");
    Err(Diagnostic::error(
        codes::NOT_SUPPORTED,
        span,
        "this stage is text, not a diagram",
        "this format",
    )
    .with_help("graph, provenance, schedule, lattice and plan can be drawn; leave `--format` out")
    .into())
}

fn plain(stage: Stage, compiled: driver::Compiled) -> Result<String, Failure> {
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
            for line in compiled.scripts.iter().flatten() {
                out += &format!("{line}\n");
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
        Stage::Kernel => {
            out = emit::kernel_text(
                &Unit {
                    name: "kernel".to_string(),
                    kernels: compiled.kernels,
                },
                compiled.target,
            );
        }
        Stage::Tokens => {}
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
