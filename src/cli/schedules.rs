//! `sparsec schedules`.

use super::Reporter;
use super::args::SchedulesArgs;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::environment as codes;
use crate::driver::argument;
use crate::program::spelling::suggest;
use crate::schedule::builtin::{self, Builtin, Scheduled};

type Entry = (&'static Scheduled, &'static Builtin);

/// An entry for programs that read the list.
#[derive(serde::Serialize)]
struct Listed {
    name: &'static str,
    operation: &'static str,
    target: &'static str,
    /// The whole comment at its head.
    about: String,
    /// The program whose names it uses.
    program: &'static str,
    text: &'static str,
}

impl Listed {
    fn of((of, one): &Entry) -> Self {
        Listed {
            name: one.name,
            operation: of.operation,
            target: one.target.properties().word,
            about: one.about(),
            program: of.program(),
            text: one.text,
        }
    }
}

pub(super) fn schedules(args: &SchedulesArgs) -> u8 {
    let mut reporter = Reporter::new(args.message_format, &[]);
    let what = args.what.as_deref();
    let what = what.map(|text| text.strip_prefix(builtin::PREFIX).unwrap_or(text));
    let found: Vec<Entry> = builtin::all()
        .filter(|(of, one)| what.is_none_or(|w| w == of.operation || w == one.name))
        .collect();
    if let Some(what) = what
        && found.is_empty()
    {
        let known = builtin::all().flat_map(|(of, one)| [of.operation, one.name]);
        let help = suggest(what, known, "`sparsec schedules` lists them all");
        let span = argument(&mut reporter.sources, "command line", what);
        let message = format!("there is no built-in schedule of or for `{what}`");
        let error = Diagnostic::error(codes::NO_SCHEDULE, span, message, "unknown");
        return reporter.fail(&error.with_help(help).into());
    }
    let text = match found.as_slice() {
        all if args.json => {
            let all: Vec<Listed> = all.iter().map(Listed::of).collect();
            serde_json::to_string(&all).unwrap_or_default() + "\n"
        }
        [one] if what == Some(one.1.name) => text(one),
        all => list(all),
    };
    reporter.print(&text, 0)
}

/// Operations with their schedules: name, target, what it is for.
fn list(all: &[Entry]) -> String {
    let mut out = String::new();
    let mut operation = "";
    for (of, one) in all {
        if of.operation != operation {
            operation = of.operation;
            out += &format!("{operation}\n");
        }
        let target = one.target.properties().word;
        out += &format!("  {:<22} {target:<5} {}\n", one.name, one.summary());
    }
    out
}

/// A `.sched` file that says in its comments what it is for.
fn text((of, one): &Entry) -> String {
    let (prefix, target) = (builtin::PREFIX, one.target.properties().word);
    let mut out = format!(
        "# {prefix}{}, for the target {target} and the names of this program:\n#\n",
        one.name
    );
    for line in of.program().lines() {
        out += &format!("#     {line}\n");
    }
    out + "#\n" + one.text
}
