//! Schedules that `schedule` takes and a later stage refuses: how many of each class, and the
//! smallest one of it. What lowering refuses without any schedule is not counted.

use crate::program::File;
use crate::scheduler::{Tried, after, unscheduled};
use crate::shrink;
use sparsec::diagnostic::Diagnostic;
use sparsec::loops::device;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Why a stage behind `schedule` refuses: what all refusals of a class have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    code: String,
    /// The message without names and numbers.
    shape: String,
}

impl Refusal {
    pub fn of_lowering(errors: &[Diagnostic]) -> Self {
        let first = errors.first();
        Refusal {
            code: first.map_or(String::new(), |e| e.code.id.to_string()),
            shape: first.map_or(String::new(), |e| shape(&e.message)),
        }
    }

    pub fn of_placing(refusal: &device::Refusal) -> Self {
        Refusal {
            code: "device".to_string(),
            shape: shape(&refusal.message),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.code, self.shape)
    }
}

/// ``loop over `i0` of 32`` as ``loop over `_` of #``.
fn shape(message: &str) -> String {
    let mut out = String::new();
    for (at, part) in message.split('`').enumerate() {
        if at % 2 == 1 {
            out.push_str("`_`");
            continue;
        }
        for c in part.chars() {
            if !c.is_ascii_digit() {
                out.push(c);
            } else if !out.ends_with('#') {
                out.push('#');
            }
        }
    }
    out
}

/// How many refusals there were of each class, and the shortest file of it.
#[derive(Default)]
pub struct Late(BTreeMap<Refusal, (usize, File)>);

impl Late {
    /// Notes that a schedule of the file's function number `at` is refused late.
    pub fn note(&mut self, refusal: Refusal, file: &File, at: usize, schedule: &[String]) {
        let mut own = file.clone();
        own.functions[at].schedule = schedule.to_vec();
        let length = |file: &File| file.text().len();
        let (count, smallest) = self.0.entry(refusal).or_insert_with(|| (0, own.clone()));
        *count += 1;
        if length(&own) < length(smallest) {
            *smallest = own;
        }
    }

    /// `taken by schedule, refused by lowering: {E0504 "...": n}`
    pub fn text(&self) -> String {
        let classes: Vec<String> = self
            .by_count()
            .into_iter()
            .map(|(refusal, count, _)| format!("{refusal}: {count}"))
            .collect();
        format!(
            "taken by schedule, refused by lowering: {{{}}}",
            classes.join(", ")
        )
    }

    fn by_count(&self) -> Vec<(&Refusal, usize, &File)> {
        let mut all: Vec<_> = self.0.iter().map(|(r, (n, file))| (r, *n, file)).collect();
        all.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
        all
    }

    /// Writes a small file of each class, the most frequent first.
    pub fn write(&self, folder: &Path) {
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).unwrap();
        for (at, (refusal, count, file)) in self.by_count().into_iter().enumerate() {
            let small = shrink::shrink(file, |f| {
                (late(f).as_ref() == Some(refusal)).then(String::new)
            });
            let small = small.map_or_else(|| file.clone(), |(file, _)| file);
            let text = format!("# {refusal}: {count}\n{}", small.text());
            std::fs::write(folder.join(format!("late{at:02}.tc")), text).unwrap();
        }
    }
}

/// The class of a file of which one function's schedule is refused late, by its last command.
fn late(file: &File) -> Option<Refusal> {
    let mut found = None;
    for function in file.functions.iter().filter(|f| !f.schedule.is_empty()) {
        let (mut graph, before) = unscheduled(file, &function.name)?;
        if before.is_some() {
            return None;
        }
        for (n, command) in function.schedule.iter().enumerate() {
            match after(&graph, command, file.cuda) {
                Tried::Taken(next) => graph = *next,
                Tried::Late(refusal) if n + 1 == function.schedule.len() => found = Some(refusal),
                Tried::Late(_) | Tried::Refused => return None,
            }
        }
    }
    found
}
