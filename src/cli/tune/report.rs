//! What a tuning says: to people, and in the comments of the schedule that it writes.

use super::{Tuning, figure, search_word};
use crate::diagnostic::codes::environment as codes;
use crate::diagnostic::{Diagnostic, Severity};
use crate::driver::build::Backend;
use crate::driver::model::Counts;
use crate::driver::tune::DataSet;
use crate::driver::tune::race::{Fault, Found, Timed};
use crate::driver::tune::worker::Outcome;

/// Kernels that crashed of which a note is said.
pub(super) const SHOWN: usize = 3;

/// Everything, for people.
pub(super) fn text(tuning: &Tuning, found: &Found) -> String {
    let mut out = format!("{}\n", head(tuning, found));
    for line in figures(tuning, found) {
        out += &format!("  {line}\n");
    }
    let faults = discarded(&found.faults);
    if !faults.is_empty() {
        out += &format!("  discarded: {faults}\n");
    }
    out += match tuning.backend {
        Backend::Model(_) => "the last ones:\n",
        Backend::C | Backend::Emulator { .. } | Backend::Gpu => "the last ones, timed in turn:\n",
    };
    for one in &found.last {
        let times = one.seconds.iter().map(|s| figure(tuning.backend, *s));
        let times: Vec<String> = times.collect();
        out += &format!("  {:<24} {}\n", times.join(" "), one.text);
    }
    if !found.ahead {
        out += match found.best.script == found.automatic.script {
            true => "nothing is ahead beyond the noise of what sparsec chooses by itself:\n",
            false => {
                "found from nothing, not ahead beyond the noise of what sparsec chooses by itself:\n"
            }
        };
    }
    out + &commands(&found.best) + "\n"
}

/// A `.sched` file.
pub(super) fn schedule(tuning: &Tuning, found: &Found) -> String {
    let mut out = format!("# {}.\n", head(tuning, found));
    for line in figures(tuning, found) {
        out += &format!("# {line}\n");
    }
    let machine = &tuning.machine;
    out += &match &machine.gpu {
        Some(gpu) => format!("# On {gpu}; "),
        None => format!("# On {}, {} cores; ", machine.cpu, machine.cores),
    };
    out += &format!("{}, {}.\n", machine.version, machine.flags);
    out + &commands(&found.best) + "\n"
}

fn commands(one: &Timed) -> String {
    match one.script.as_slice() {
        [] => "# (plain loops)".to_string(),
        script => script.join("\n"),
    }
}

fn head(tuning: &Tuning, found: &Found) -> String {
    let on = match (tuning.backend, tuning.threads) {
        (Backend::Gpu, _) => "the GPU by events".to_string(),
        (Backend::Emulator { .. }, _) => {
            "the emulator, whose times are none of a GPU's".to_string()
        }
        (Backend::Model(_), _) => {
            "the emulator by counts: cycles of a model, which are no times".to_string()
        }
        (Backend::C, 1) => "1 thread".to_string(),
        (Backend::C, n) => format!("{n} threads"),
    };
    format!(
        "{}: {} schedules measured by {} search (seed {}), on {on}",
        tuning.function.name,
        found.measured,
        search_word(tuning.args.search),
        tuning.args.seed,
    )
}

/// A line for each data set, and the worst of several.
fn figures(tuning: &Tuning, found: &Found) -> Vec<String> {
    let ratio = |at: usize| found.automatic.seconds[at] / found.best.seconds[at].max(1e-12);
    let each = tuning
        .data
        .iter()
        .enumerate()
        .map(|(at, DataSet { name, .. })| {
            format!(
                "{name}: {}; {} with {} ({:.2} times)",
                figure(tuning.backend, found.best.seconds[at]),
                figure(tuning.backend, found.automatic.seconds[at]),
                match found.automatic.text.as_str() {
                    "plain" => "plain loops",
                    _ => "what sparsec chooses by itself",
                },
                ratio(at),
            )
        });
    let mut lines: Vec<String> = each.collect();
    if tuning.data.len() > 1 {
        let worst = (0..tuning.data.len()).min_by(|&a, &b| ratio(a).total_cmp(&ratio(b)));
        if let Some(worst) = worst {
            let name = &tuning.data[worst].name;
            lines.push(format!("worst: {:.2} times, on {name}", ratio(worst)));
        }
    }
    lines
}

/// What was counted of a call: whose schedule, of which data set, how much.
pub(super) fn counted(rows: &[(&str, &str, Counts)]) -> String {
    let mut out = String::from(
        "counted of a call:\n            launches       cycles instructions  kB: near   shared    memory registers spilled\n",
    );
    for (name, set, own) in rows {
        out += &format!(
            "  {name:<9} {:>8.0} {:>12.0} {:>12.0} {:>9.0} {:>8.0} {:>9.0} {:>9.0} {:>7.0}  {set}\n",
            own.launches,
            own.cycles,
            own.slots,
            own.near_bytes / 1e3,
            own.shared_bytes / 1e3,
            own.memory_bytes / 1e3,
            own.registers,
            own.spilled,
        );
    }
    out
}

/// How many were discarded, and why.
pub(super) fn discarded(faults: &[Fault]) -> String {
    let count = |is: &dyn Fn(&Outcome) -> bool| faults.iter().filter(|f| is(&f.outcome)).count();
    let all = [
        (count(&|o| matches!(o, Outcome::Wrong(_))), "wrong"),
        (count(&|o| matches!(o, Outcome::Crashed(_))), "crashed"),
        (count(&|o| matches!(o, Outcome::TimedOut)), "out of time"),
        (
            count(&|o| matches!(o, Outcome::OutOfMemory)),
            "out of memory",
        ),
        (count(&|o| matches!(o, Outcome::Refused(_))), "refused"),
    ];
    let some = all.iter().filter(|(n, _)| *n > 0);
    let some: Vec<String> = some.map(|(n, what)| format!("{n} {what}")).collect();
    let reason = faults.iter().find_map(|fault| match &fault.outcome {
        Outcome::Refused(reason) => reason.lines().next(),
        Outcome::Measured(_)
        | Outcome::Wrong(_)
        | Outcome::Crashed(_)
        | Outcome::TimedOut
        | Outcome::OutOfMemory => None,
    });
    match reason {
        Some(reason) => format!("{} (the first: {reason})", some.join(", ")),
        None => some.join(", "),
    }
}

/// That a kernel crashed.
pub(super) fn crashed(tuning: &Tuning, fault: &Fault, signal: i32) -> Diagnostic {
    Diagnostic::new(
        Severity::Note,
        codes::BROKEN_CANDIDATE,
        tuning.function.span,
        format!("the kernel of a schedule crashed (signal {signal}), and was discarded"),
        "of this function",
    )
    .with_note(format!("with\n{}", fault.script.join("\n")))
}
