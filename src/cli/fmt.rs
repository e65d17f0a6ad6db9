//! `sparsec fmt`.

use super::Reporter;
use super::args::FmtArgs;
use crate::driver::{Failure, compile, write};
use crate::emit::File;
use crate::syntax;
use std::io::Read;
use std::path::Path;

pub(super) fn fmt(args: &FmtArgs) -> u8 {
    let mut worst = 0;
    for path in &args.files {
        worst = worst.max(one(path, args));
    }
    worst
}

fn one(path: &Path, args: &FmtArgs) -> u8 {
    let check = args.check;
    let mut reporter = Reporter::new(args.message_format, &[]);
    let stdin = path.as_os_str() == "-";
    let read = if stdin {
        let mut bytes = Vec::new();
        let read = std::io::stdin().read_to_end(&mut bytes);
        let bytes = read.map(|_| bytes);
        compile::source(&mut reporter.sources, Path::new("<stdin>"), bytes)
    } else {
        compile::read(&mut reporter.sources, path, &mut Vec::new())
    };
    let (file, text) = match read {
        Ok(read) => read,
        Err(failure) => return reporter.fail(&failure),
    };
    // Standard input has no name: its first word tells.
    let sched = if stdin {
        syntax::format::is_schedule(&text)
    } else {
        path.extension().is_some_and(|e| e == "sched")
    };
    let formatted = if sched {
        syntax::format::format_schedule(file, &text)
    } else {
        syntax::format::format_source(file, &text)
    };
    let formatted = match formatted {
        Ok(formatted) => formatted,
        Err(errors) => return reporter.fail(&Failure::Program(errors)),
    };
    if stdin && !check {
        return reporter.print(&formatted, 0);
    }
    if formatted == text {
        return 0;
    }
    if stdin {
        let to = "<stdin> (would be written)";
        return reporter.print(&write::unified("<stdin>", to, &text, &formatted), 1);
    }
    if check {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let folder = path.parent().unwrap_or(Path::new(""));
        let file = File {
            name: name.into_owned(),
            content: formatted,
        };
        return reporter.differences(folder, &[file]);
    }
    match write::write_if_changed(path, &formatted) {
        Ok(()) => 0,
        Err(error) => reporter.io_error(path, &error),
    }
}
