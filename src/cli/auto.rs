//! `sparsec auto`: the schedule that is found where a program has none, and why.

use super::Reporter;
use super::args::AutoArgs;
use super::request::request;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::environment as codes;
use crate::driver::auto::{Considered, Verdict, considered};
use crate::driver::{self, Failure, ScheduleChoice, argument};
use std::fmt::Write;
use std::path::PathBuf;

pub(super) fn auto(args: &AutoArgs) -> u8 {
    let mut reporter = Reporter::of(&args.program);
    match text(args, &mut reporter) {
        Ok(text) => reporter.print(&text, 0),
        Err(failure) => reporter.fail(&failure),
    }
}

/// The script that can be pasted, with the reasons as comments.
fn text(args: &AutoArgs, reporter: &mut Reporter) -> Result<String, Failure> {
    let is_data = |word: &&String| word.contains('=') && !word.ends_with(".tc");
    if let Some(data) = args.words.iter().find(is_data) {
        let span = argument(&mut reporter.sources, "command line", data);
        return Err(Diagnostic::error(
            codes::NOT_SUPPORTED,
            span,
            "schedules are found without looking at data: not supported yet",
            "this argument",
        )
        .with_help("leave it out; `sparsec tune` measures schedules on data")
        .into());
    }
    let files: Vec<PathBuf> = args.words.iter().map(PathBuf::from).collect();
    let mut request = request(&files, &args.program, &mut reporter.sources)?;
    // What the program says itself is not asked for here.
    request.schedule = ScheduleChoice::None;
    request.defines.clear();
    let compiled = driver::compile(&request, &mut reporter.sources)?;
    let several = compiled.program.functions.len() > 1;
    let mut out = String::new();
    for function in &compiled.program.functions {
        let all = considered(function, request.target, &mut reporter.sources);
        let indent = if several { "  " } else { "" };
        if several {
            let target = request.target.properties().word;
            let _ = writeln!(out, "schedule {} for {target} {{", function.name);
        }
        for statement in &all {
            of_statement(&mut out, statement, indent);
        }
        if several {
            out += "}\n";
        }
    }
    Ok(out)
}

fn of_statement(out: &mut String, considered: &Considered, indent: &str) {
    let mut line = |text: &str| {
        let _ = writeln!(out, "{indent}{text}");
    };
    let statement: Vec<&str> = considered.statement.split_whitespace().collect();
    line(&format!("# {}", statement.join(" ")));
    if considered.scripts.is_empty() {
        line("#   no loop that could be shared out");
    }
    for (script, verdict) in &considered.scripts {
        let rule = &script.rule;
        let written = script.commands.join(" ");
        match verdict {
            Verdict::Taken => line(&format!("#   taken: {rule}")),
            Verdict::Refused(why) => {
                line(&format!("#   rejected: {rule}"));
                line(&format!("#     {written}"));
                line(&format!("#     {}: {}", why.code.id, why.message));
            }
            Verdict::NotAsked => {
                line(&format!("#   not needed: {rule}"));
                line(&format!("#     {written}"));
            }
        }
        if matches!(verdict, Verdict::Taken) {
            for command in &script.commands {
                line(command);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::ProgramArgs;
    use crate::diagnostic::Sources;
    use crate::driver::{Request, Source};
    use crate::emit::{self, Unit};
    use crate::target::Target;

    fn kernel(path: &str, target: Target, schedule: ScheduleChoice) -> Option<String> {
        let mut request = Request::new(Source::File(PathBuf::from(path)));
        (request.target, request.schedule) = (target, schedule);
        let is_own = request.schedule == ScheduleChoice::Default;
        let compiled = driver::compile(&request, &mut Sources::default()).ok()?;
        let unit = Unit {
            name: "f".to_string(),
            kernels: compiled.kernels,
        };
        (compiled.is_automatic || !is_own).then(|| emit::kernel_text(&unit, target))
    }

    /// What it prints is a schedule, and the one that is used without any.
    #[test]
    fn scripts_are_those_that_are_used() {
        let mut compared = 0;
        let mut programs: Vec<PathBuf> = std::fs::read_dir("testdata/golden")
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|e| e == "tc"))
            .collect();
        programs.sort();
        for path in programs {
            let path = path.to_str().unwrap();
            for target in Target::ALL {
                let Some(expected) = kernel(path, target, ScheduleChoice::Default) else {
                    continue;
                };
                let args = AutoArgs {
                    words: vec![path.to_string()],
                    program: ProgramArgs {
                        target,
                        ..ProgramArgs::default()
                    },
                };
                let mut reporter = Reporter::of(&args.program);
                let script = text(&args, &mut reporter).ok().unwrap();
                let file = tempfile::Builder::new()
                    .suffix(".sched")
                    .tempfile()
                    .unwrap();
                std::fs::write(file.path(), &script).unwrap();
                let named = ScheduleChoice::Named(file.path().display().to_string());
                let pasted = kernel(path, target, named).unwrap_or(script);
                assert_eq!(pasted, expected, "{path}");
                compared += 1;
            }
        }
        assert!(compared >= 10, "{compared}");
    }
}
