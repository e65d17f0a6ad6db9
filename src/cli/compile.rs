//! `sparsec FILE.tc` and `sparsec check`.

use super::args::{CheckArgs, CompileCommand};
use super::{Reporter, print, request};
use crate::driver::{self, Source, write};
use crate::emit::{self, Unit};
use crate::syntax::taco;
use std::path::{Path, PathBuf};

/// The stem of the files to be written: the program's, without what make or a shell would
/// take apart.
fn stem(source: &Source) -> String {
    let kept = |c: char| c.is_alphanumeric() || "_-+.,@".contains(c);
    match source {
        Source::File(path) => path.file_stem().map_or("kernel".to_string(), |s| {
            let stem = s.to_string_lossy();
            stem.chars()
                .map(|c| if kept(c) { c } else { '_' })
                .collect()
        }),
        Source::Text { name, .. } => name.clone(),
        Source::Taco(_) => taco::FUNCTION.to_string(),
    }
}

pub(super) fn compile(args: &CompileCommand) -> u8 {
    let mut reporter = Reporter::of(&args.program);
    let request = match request(args.file.as_ref(), &args.program, &mut reporter.sources) {
        Ok(request) => request,
        Err(failure) => return reporter.fail(&failure),
    };
    let name = stem(&request.source);
    let folder = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{name}.out")));
    if args.list_outputs {
        for file in emit::file_names(&name, request.target) {
            print(&format!("{}\n", folder.join(file).display()));
        }
        return 0;
    }
    let compiled = match driver::compile(&request, &mut reporter.sources) {
        Ok(compiled) => compiled,
        Err(failure) => return reporter.fail(&failure),
    };
    if let Err(code) = reporter.remarks(&compiled.remarks) {
        return code;
    }
    let unit = Unit {
        name: name.clone(),
        kernels: compiled.kernels,
    };
    if let Some(depfile) = &args.depfile {
        let outputs: Vec<PathBuf> = emit::file_names(&name, request.target)
            .iter()
            .map(|f| folder.join(Path::new(f)))
            .collect();
        let text = write::depfile(&outputs, &compiled.inputs);
        if let Err(error) = write::write_if_changed(depfile, &text) {
            return reporter.io_error(depfile, &error);
        }
    }
    if args.stdout {
        print(&emit::kernel_text(&unit, request.target));
        return 0;
    }
    let files = emit::emit(&unit, request.target);
    if args.check {
        let diff = write::diff(&folder, &files);
        if diff.is_empty() {
            return 0;
        }
        print(&diff);
        return 1;
    }
    if let Err(error) = write::write(&folder, &files) {
        return reporter.io_error(&folder, &error);
    }
    0
}

pub(super) fn check(args: &CheckArgs) -> u8 {
    let mut reporter = Reporter::of(&args.program);
    let compiled = request(args.file.as_ref(), &args.program, &mut reporter.sources)
        .and_then(|request| driver::compile(&request, &mut reporter.sources));
    match compiled {
        Ok(compiled) => reporter.remarks(&compiled.remarks).err().unwrap_or(0),
        Err(failure) => reporter.fail(&failure),
    }
}
