//! `sparsec auto`: the schedule that is found where a program has none, and why.

use super::Reporter;
use super::args::AutoArgs;
use super::device;
use super::request::{only_function, operands, request};
use crate::diagnostic::Sources;
use crate::driver::auto::{Considered, Found, Verdict, found, found_once, statistics};
use crate::driver::bind;
use crate::driver::{self, Failure, ScheduleChoice};
use crate::program::ir::Function;
use crate::schedule::auto::Statistics;
use crate::target::Target;
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
    let variants = request.variants.take();
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
        let all = alternatives(function, asked, variants.as_ref(), &mut reporter.sources);
        if several {
            let target = request.target.properties().word;
            let _ = writeln!(out, "schedule {} for {target} {{", function.name);
        }
        let indent = if several { "  " } else { "" };
        if let [Alternative { found, .. }] = all.as_slice() {
            of_statements(&mut out, found, indent);
        } else {
            let _ = writeln!(out, "{indent}choose {{");
            for one in &all {
                let condition = one.condition.as_ref();
                let head = condition.map_or("otherwise".to_string(), |c| format!("when {c}"));
                let _ = writeln!(out, "{indent}  {head}: {{");
                let size = one.size.iter();
                size.for_each(|size| out += &format!("{indent}    size {size}\n"));
                of_statements(&mut out, &one.found, &format!("{indent}    "));
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

/// A schedule, when it is used, and the size that it fixes.
struct Alternative {
    condition: Option<String>,
    size: Option<String>,
    found: Found,
}

/// The schedules of a function: for each of several values of `--size`, or for what data decide.
fn alternatives(
    function: &Function,
    (target, statistics): (Target, &Statistics),
    variants: Option<&(String, Vec<u64>)>,
    sources: &mut Sources,
) -> Vec<Alternative> {
    let is_open = |name: &String| {
        let mut open = function.sizes.iter().filter(|size| size.value.is_none());
        open.any(|size| size.name == *name)
    };
    let Some((name, values)) = variants.filter(|(name, _)| is_open(name)) else {
        let all = found(function, (target, statistics), sources);
        let alone = all.into_iter().map(|found| Alternative {
            condition: found.condition.clone(),
            size: None,
            found,
        });
        return alone.collect();
    };
    let all = values.iter().map(Some).chain([None]);
    let all = all.filter_map(|value| {
        let mut known = statistics.clone();
        let number = value.and_then(|&value| i64::try_from(value).ok());
        known
            .sizes
            .extend(number.map(|value| (name.clone(), value)));
        Some(Alternative {
            condition: value.map(|value| format!("{name} == {value}")),
            size: value.map(|value| format!("{name} = {value}")),
            found: found_once(function, (target, &known), sources)?,
        })
    });
    all.collect()
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
    use crate::driver::{Request, Source};
    use crate::emit::{self, Unit};
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
