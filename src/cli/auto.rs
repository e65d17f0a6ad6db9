//! `sparsec auto`: the schedule that is found where a program has none, and why.

use super::Reporter;
use super::args::AutoArgs;
use super::device;
use super::request::{only_function, operands, request};
use crate::driver::auto::{Considered, Found, Verdict, found, statistics};
use crate::driver::bind;
use crate::driver::{self, Failure, ScheduleChoice};
use std::fmt::Write;

pub(super) fn auto(args: &AutoArgs) -> u8 {
    let mut reporter = Reporter::of(&args.program);
    match text(args, &mut reporter) {
        Ok(text) => reporter.print(&text, 0),
        Err(failure) => reporter.fail(&failure),
    }
}

/// The script that can be pasted, with the reasons as comments.
fn text(args: &AutoArgs, reporter: &mut Reporter) -> Result<String, Failure> {
    if args.print_device {
        let profile = device::profile(args.program.device.as_deref(), &mut reporter.sources)?;
        let text = serde_json::to_string_pretty(&*profile).unwrap_or_default();
        return Ok(text + "\n");
    }
    let (files, bindings) = operands(&args.operands, &mut reporter.sources)?;
    let mut request = request(&files, &args.program, &mut reporter.sources)?;
    // What the program says itself is not asked for here.
    request.schedule = ScheduleChoice::None;
    request.defines.clear();
    let compiled = driver::compile(&request, &mut reporter.sources)?;
    if !bindings.is_empty() {
        let (function, _) = only_function(&compiled, &mut reporter.sources)?;
        let bound = bind::bind(function, &bindings, &mut reporter.sources)?;
        request.statistics = statistics(function, &bound, &request.statistics.profile);
    }
    let several = compiled.program.functions.len() > 1;
    let mut out = String::new();
    for function in &compiled.program.functions {
        let asked = (request.target, &request.statistics);
        let all = found(function, asked, &mut reporter.sources);
        if several {
            let target = request.target.properties().word;
            let _ = writeln!(out, "schedule {} for {target} {{", function.name);
        }
        let indent = if several { "  " } else { "" };
        if let [only] = all.as_slice() {
            of_statements(&mut out, only, indent);
        } else {
            let _ = writeln!(out, "{indent}choose {{");
            for one in &all {
                let condition = one.condition.as_ref();
                let head = condition.map_or("otherwise".to_string(), |c| format!("when {c}"));
                let _ = writeln!(out, "{indent}  {head}: {{");
                of_statements(&mut out, one, &format!("{indent}    "));
                let _ = writeln!(out, "{indent}  }}");
            }
            let _ = writeln!(out, "{indent}}}");
        }
        if several {
            out += "}\n";
        }
    }
    Ok(out)
}

fn of_statements(out: &mut String, found: &Found, indent: &str) {
    for statement in &found.statements {
        of_statement(out, statement, indent);
    }
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
    use std::path::PathBuf;

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
                    print_device: false,
                    operands: vec![path.to_string()],
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
