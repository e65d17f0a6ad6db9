//! `sparsec show` and `sparsec formats`.

use super::args::{ShowArgs, ShowFormat, Stage};
use super::{Reporter, print, request};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::environment as codes;
use crate::driver::{self, Failure, argument, compile};
use crate::emit::{Unit, c};
use crate::format::builtin;
use crate::graph::print as graph_print;
use crate::loops::print as loops_print;

pub(super) fn show(args: &ShowArgs) -> u8 {
    let mut reporter = Reporter::of(&args.program);
    match text(args, &mut reporter) {
        Ok(text) => {
            print(&text);
            0
        }
        Err(failure) => reporter.fail(&failure),
    }
}

fn text(args: &ShowArgs, reporter: &mut Reporter) -> Result<String, Failure> {
    let request = request(args.file.as_ref(), &args.program, &mut reporter.sources)?;
    if args.format != ShowFormat::Text {
        let span = argument(&mut reporter.sources, "--format", "dot, svg or json");
        return Err(Diagnostic::error(
            codes::NOT_SUPPORTED,
            span,
            "only `--format text` is supported yet",
            "this format",
        )
        .with_help("leave `--format` out")
        .into());
    }
    let unsupported = |reporter: &mut Reporter, stage: &str| -> Failure {
        let span = argument(&mut reporter.sources, "--stage", stage);
        Diagnostic::error(
            codes::NOT_SUPPORTED,
            span,
            format!("the stage {stage} cannot be shown yet"),
            "this stage",
        )
        .with_help("stages are program, graph, provenance, schedule, loops and kernel")
        .into()
    };
    match args.stage {
        Stage::Tokens => {
            let file = compile::parse(&request, &mut reporter.sources, &mut Vec::new())?;
            return Ok(format!("{file:#?}\n"));
        }
        Stage::Lattice => return Err(unsupported(reporter, "lattice")),
        Stage::Program
        | Stage::Graph
        | Stage::Provenance
        | Stage::Schedule
        | Stage::Loops
        | Stage::Kernel => {}
    }
    let compiled = driver::compile(&request, &mut reporter.sources)?;
    let mut out = String::new();
    match args.stage {
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
            for graph in &compiled.graphs {
                for line in &graph.script {
                    out += &format!("{line}\n");
                }
            }
        }
        Stage::Loops => compiled
            .kernels
            .iter()
            .for_each(|k| out += &loops_print::print(k)),
        Stage::Kernel => {
            out = c::kernel_text(&Unit {
                name: "kernel".to_string(),
                kernels: compiled.kernels,
            });
        }
        Stage::Tokens | Stage::Lattice => {}
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
    print(&out);
    0
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
";
