//! `sparsec FILE.tc` and `sparsec check`.

use super::args::{CheckArgs, CompileCommand};
use super::places::{self, Place};
use super::{Reporter, neighbours, no_command, request, tuned};
use crate::diagnostic::codes::environment as codes;
use crate::diagnostic::{Diagnostic, Sources};
use crate::driver::{self, Failure, Source, argument, write};
use crate::emit::{self, Unit};
use crate::files;
use crate::syntax::taco;
use std::path::{Path, PathBuf};

/// The stem of the files to be written: the program's, without what make or a shell would
/// take apart.
pub(super) fn stem(source: &Source) -> String {
    let kept = |c: char| c.is_alphanumeric() || "_-+.,@".contains(c);
    match source {
        Source::File(path) => path.file_stem().map_or("kernel".to_string(), |s| {
            let stem = s.to_string_lossy();
            let text: String = (stem.chars())
                .map(|c| if kept(c) { c } else { '_' })
                .collect();
            // Compilers and `rm` take it for an option, a shell's `*` leaves it out.
            match text.strip_prefix(['-', '.']) {
                Some(rest) => format!("_{rest}"),
                None => text,
            }
        }),
        Source::Text { name, .. } => name.clone(),
        Source::Taco(_) => taco::FUNCTION.to_string(),
    }
}

/// A name that two of the files have, on file systems that ignore letter case, too.
fn written_twice(names: &[String]) -> Option<&String> {
    names.iter().enumerate().find_map(|(at, name)| {
        let again = names[at + 1..].iter();
        again
            .into_iter()
            .find(|other| other.eq_ignore_ascii_case(name))
    })
}

/// The refusal of a name that no rule of make may have.
fn untold(name: &Path, sources: &mut Sources) -> Failure {
    let span = argument(sources, "--depfile", &name.display().to_string());
    Diagnostic::error(
        codes::COMMAND_LINE,
        span,
        "make has no way to write this name in a rule",
        "with one of `; | [ * ? ( ) \\`, a tab, the end of a line, or what is no UTF-8",
    )
    .with_help("give the file another name")
    .into()
}

pub(super) fn compile(args: &CompileCommand) -> u8 {
    let mut reporter = Reporter::of(&args.program);
    if let Some(failure) = no_command(&args.files, &mut reporter.sources) {
        return reporter.fail(&failure);
    }
    let request = match request(&args.files, &args.program, &mut reporter.sources) {
        Ok(request) => request,
        Err(failure) => return reporter.fail(&failure),
    };
    let name = stem(&request.source);
    let folder = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{name}.out")));
    let names = emit::file_names(&name, request.target);
    let object = format!("{name}.o");
    let objects = names.iter().filter_map(|own| own.strip_prefix("emulator/"));
    let objects = objects.filter_map(|own| own.strip_suffix(".cpp"));
    let mut objects = objects.map(|own| format!("{own}.o"));
    let twice = written_twice(&names).map(|name| (name.clone(), "the runtime's header"));
    let twice = twice.or_else(|| {
        let own = objects.find(|own| own.eq_ignore_ascii_case(&object))?;
        Some((own, "the emulator's object file"))
    });
    if let Some((file, what)) = twice
        && !args.stdout
    {
        let text = format!("{name}.tc");
        let span = argument(&mut reporter.sources, "command line", &text);
        let message = format!("`{file}` is {what}, and would be this program's, too");
        let error = Diagnostic::error(codes::COMMAND_LINE, span, message, "names the files");
        return reporter.fail(&error.with_help("give the program another name").into());
    }
    let outputs: Vec<PathBuf> = names.iter().map(|file| folder.join(file)).collect();
    let target = request.target;
    let request = match args.program.tuned {
        true => tuned::without_data(request, &mut reporter),
        false => Ok(request),
    };
    let compiled = request.and_then(|r| driver::compile(&r, &mut reporter.sources));
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(failure) => return reporter.fail(&failure),
    };
    // Whoever asks for names compiles as well, and is told then.
    let is_silent = args.list_outputs && !reporter.refuse_performance;
    let remarks = if is_silent {
        &[]
    } else {
        compiled.remarks.as_slice()
    };
    if let Err(code) = reporter.remarks(remarks) {
        return code;
    }
    if args.list_outputs {
        let lines = outputs.iter().map(|path| format!("{}\n", path.display()));
        return reporter.print(&lines.collect::<String>(), 0);
    }
    let unit = Unit {
        name: name.clone(),
        kernels: compiled.kernels,
    };
    // On standard output is the kernel's text, which is the first of the files.
    let outputs = if args.stdout { &outputs[..1] } else { &outputs };
    if !args.check
        && let Err(failure) = apart(args, outputs, &compiled.inputs, &mut reporter)
    {
        return reporter.fail(&failure);
    }
    let rule = match args.depfile {
        Some(_) => write::depfile(outputs, &compiled.inputs),
        None => Ok(String::new()),
    };
    let rule = match &rule {
        Ok(rule) => args.depfile.as_deref().map(|path| (path, rule.as_str())),
        Err(name) => {
            let refusal = untold(name, &mut reporter.sources);
            return reporter.fail(&refusal);
        }
    };
    if args.stdout {
        return printed(&emit::kernel_text(&unit, target), rule, &mut reporter);
    }
    let files = emit::emit(&unit, target);
    if args.check {
        return reporter.differences(&folder, &files);
    }
    let own = (name.as_str(), target);
    let warning = neighbours::warning(&folder, own, &files, &mut reporter.sources);
    match write::write(&folder, &files, rule) {
        Ok(()) => {
            warning.iter().for_each(|warning| reporter.say(warning));
            0
        }
        Err((path, error)) => reporter.io_error(&path, &error),
    }
}

/// Prints a kernel, unless its rule for make cannot be written; the exit code.
fn printed(kernel: &str, rule: Option<(&Path, &str)>, reporter: &mut Reporter) -> u8 {
    let Some((path, text)) = rule else {
        return reporter.print(kernel, 0);
    };
    if let Err(error) = files::check(path) {
        return reporter.io_error(path, &error);
    }
    let code = reporter.print(kernel, 0);
    match write::write_if_changed(path, text) {
        Ok(()) => code,
        Err(error) => code.max(reporter.io_error(path, &error)),
    }
}

/// Refuses to write into the place of what was read.
fn apart(
    args: &CompileCommand,
    outputs: &[PathBuf],
    inputs: &[PathBuf],
    reporter: &mut Reporter,
) -> Result<(), Failure> {
    let place = |option, path| Place { option, path };
    let mut places: Vec<Place> = Vec::new();
    if !args.stdout {
        places.extend(outputs.iter().map(|path| place(places::FOLDER, path)));
    }
    places.extend(args.depfile.iter().map(|path| place("--depfile", path)));
    places::check(&places, inputs.iter().map(PathBuf::as_path), reporter)
}

pub(super) fn check(args: &CheckArgs) -> u8 {
    let mut reporter = Reporter::of(&args.program);
    let compiled = request(&args.files, &args.program, &mut reporter.sources)
        .and_then(|request| match args.program.tuned {
            true => tuned::without_data(request, &mut reporter),
            false => Ok(request),
        })
        .and_then(|request| driver::compile(&request, &mut reporter.sources));
    match compiled {
        Ok(compiled) => reporter.remarks(&compiled.remarks).err().unwrap_or(0),
        Err(failure) => reporter.fail(&failure),
    }
}
