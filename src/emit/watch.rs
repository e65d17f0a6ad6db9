//! Watched kernels: the same text without OpenMP, run serially, in which every access that could
//! meet another iteration's passes through `runtime/watch.h`. It reports what two iterations of
//! a loop that is shared out do to the same element, whatever the number of cores and the timing.
//!
//! before: `y_vals[i] += A_vals[p];`
//! after:  `y_vals[sparsec_watch(3, SPARSEC_WRITE, 0, 17, i)] += A_vals[p];`
//!
//! Only what iterations write can race: `A_vals` above is an input. Statement 17 is the line
//! without what was put into it. So texts carry marks until the line is whole ([`only`],
//! [`unwatched`], [`STATEMENT`]), and a [`Legend`] says what the numbers stand for.

mod apart;
mod contested;

use super::kernel::Printer;
use super::{File, Unit, c};
use crate::loops::ir::is_atomic;
use crate::loops::ir::{ArrayId, Kernel, LoopTag, Run, Stmt, VarId};
use contested::{Contested, SharedLoop};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The runtime of watched kernels.
const RUNTIME: &str = include_str!("runtime/watch.h");

/// What the numbers in a checker's report stand for.
#[derive(Clone, Debug, Default)]
pub struct Legend {
    pub places: Vec<Place>,
    pub loops: Vec<Shared>,
    /// Statements as they stand in the kernel.
    pub statements: Vec<String>,
    /// How deep loops that are shared out stand in each other.
    depth: usize,
}

/// An array, or a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub name: String,
    pub array: Option<ArrayId>,
}

/// A loop that is shared out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    pub name: String,
    /// The user answers for its races (`IgnoreRaces`).
    pub ignored: bool,
}

/// What is watched of what iterations write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watching {
    /// All of it: tests.
    All,
    /// What is not plainly each iteration's own.
    Unproved,
}

/// Whether iterations run in threads or lanes.
fn is_shared(tag: &LoopTag) -> bool {
    !tag.is_serial()
}

/// Whether some loop of the kernel is shared out.
#[must_use]
pub fn shares_loops(kernel: &Kernel) -> bool {
    let mut found = false;
    crate::loops::visit::stmts(&kernel.body, &mut |stmt| {
        found |= matches!(stmt, Stmt::For { tag, .. } if is_shared(tag));
    });
    found
}

/// The files of a unit whose kernels are watched.
#[must_use]
pub fn emit(unit: &Unit, watching: Watching) -> (Vec<File>, Legend) {
    let mut legend = Legend::default();
    let text = c::text_with(unit, &mut |kernel, name| {
        let known = legend.places.len();
        let mut printer = Printer::new(kernel);
        printer.watch = Some(Watch::new(kernel, watching, &mut legend));
        let text = printer.function(name, "", super::kernel::Part::Body);
        if unit.is_keeping(kernel) {
            // Its arrays are none of the kernel's that is asked for.
            (legend.places[known..].iter_mut()).for_each(|place| place.array = None);
        }
        text
    });
    let head = format!(
        "#undef _OPENMP\n#define SPARSEC_PLACES {}\n#define SPARSEC_DEPTH {}\n#include \"watch.h\"\n",
        legend.places.len().max(1),
        legend.depth.max(1),
    );
    let mut files = c::emit(unit);
    files[0].content = head + &text;
    files.push(File {
        name: "watch.h".to_string(),
        content: RUNTIME.to_string(),
    });
    (files, legend)
}

/// What a [`Printer`] of a watched kernel knows.
pub(super) struct Watch<'k> {
    legend: &'k mut Legend,
    contested: Contested,
    /// The numbers in the legend of what is contested somewhere.
    numbers: BTreeMap<Contender, usize>,
    /// How many shared loops were entered, and those around.
    entered: usize,
    around: Vec<SharedLoop>,
    /// The array that the statement at hand updates atomically, and how.
    turn: Option<(ArrayId, &'static str)>,
}

/// What iterations may compete for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Contender {
    Array(ArrayId),
    Var(VarId),
}

/// Begins and ends text that only the watched kernel has.
const ONLY: (char, char) = ('\u{1}', '\u{2}');
/// Begins and ends text that only the kernel has that is not watched.
const UNWATCHED: (char, char) = ('\u{3}', '\u{4}');
/// Stands for the number of the line's statement.
const STATEMENT: char = '\u{5}';

fn only(text: &str) -> String {
    format!("{}{text}{}", ONLY.0, ONLY.1)
}

fn unwatched(text: &str) -> String {
    format!("{}{text}{}", UNWATCHED.0, UNWATCHED.1)
}

/// The text without marks, as the watched kernel has it or the other.
fn unmarked(text: &str, watched: bool, statement: usize) -> String {
    let (kept, dropped) = if watched {
        (ONLY, UNWATCHED)
    } else {
        (UNWATCHED, ONLY)
    };
    let mut out = String::new();
    let mut inside = 0;
    for c in text.chars() {
        if c == dropped.0 {
            inside += 1;
        } else if c == dropped.1 {
            inside -= 1;
        } else if inside > 0 || c == kept.0 || c == kept.1 {
        } else if c == STATEMENT {
            out += &statement.to_string();
        } else {
            out.push(c);
        }
    }
    out
}

impl<'k> Watch<'k> {
    fn new(kernel: &Kernel, watching: Watching, legend: &'k mut Legend) -> Self {
        let contested = Contested::of(&kernel.body, watching);
        let mut numbers = BTreeMap::new();
        for shared in contested.loops() {
            let arrays = shared.arrays.iter().map(|&a| Contender::Array(a));
            let vars = shared.vars.iter().map(|&v| Contender::Var(v));
            for contender in arrays.chain(vars) {
                numbers.entry(contender).or_insert_with(|| {
                    let (name, array) = match contender {
                        Contender::Array(a) => (&kernel.array(a).name, Some(a)),
                        Contender::Var(v) => (&kernel.var(v).name, None),
                    };
                    let name = name.clone();
                    legend.places.push(Place { name, array });
                    legend.places.len() - 1
                });
            }
        }
        Watch {
            legend,
            contested,
            numbers,
            entered: 0,
            around: Vec::new(),
            turn: None,
        }
    }

    /// The array's number, if iterations of a loop around compete for it.
    fn array(&self, array: ArrayId) -> Option<usize> {
        let met = self.around.iter().any(|l| l.arrays.contains(&array));
        met.then(|| self.numbers[&Contender::Array(array)])
    }

    /// The variable's number, if iterations of a loop around compete for it.
    fn var(&self, var: VarId) -> Option<usize> {
        let met = self.around.iter().any(|l| l.vars.contains(&var));
        met.then(|| self.numbers[&Contender::Var(var)])
    }

    fn kind(&self, array: ArrayId, read: bool) -> &'static str {
        match self.turn {
            // All of a critical section is protected, also what it reads of its array.
            Some((of, "CRITICAL")) if of == array => "CRITICAL",
            Some((of, kind)) if of == array && !read => kind,
            Some(_) | None if read => "READ",
            Some(_) | None => "WRITE",
        }
    }

    /// What is there anew: what was done to it before is another's.
    fn born(&self, contender: Contender) -> String {
        let number = self.numbers.get(&contender);
        let text = number.map(|n| format!(" sparsec_watch_born({n});"));
        text.map_or(String::new(), |text| only(&text))
    }
}

impl Printer<'_> {
    /// A whole line without marks.
    pub(super) fn marked<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let Some(watch) = &mut self.watch else {
            return Cow::Borrowed(text);
        };
        let statement = watch.legend.statements.len();
        let line = unmarked(text, true, statement);
        if text.contains(STATEMENT) {
            let statement = unmarked(text, false, statement);
            watch.legend.statements.push(statement.trim().to_string());
        }
        Cow::Owned(line)
    }

    /// Notes what the statement to be printed updates atomically.
    pub(super) fn begin_watching(&mut self, stmt: &Stmt) {
        let Some(watch) = &mut self.watch else {
            return;
        };
        watch.turn = None;
        if let &Stmt::Store {
            array,
            op,
            atomic: true,
            ..
        } = stmt
        {
            let atomic = is_atomic(self.kernel.array(array).elem, op);
            watch.turn = Some((array, if atomic { "ATOMIC" } else { "CRITICAL" }));
        } else if let &Stmt::Take { array, .. } = stmt {
            watch.turn = Some((array, "ATOMIC"));
        }
    }

    /// The index of an access of `array`.
    pub(super) fn watched(&self, array: ArrayId, read: bool, index: String) -> String {
        let Some(watch) = &self.watch else {
            return index;
        };
        let call = |place: usize, kind: &str, base: &str, index: &str| {
            let head = format!("sparsec_watch({place}, SPARSEC_{kind}, {base}, {STATEMENT}, ");
            only(&head) + index + &only(")")
        };
        let mut at = index;
        if let Some(place) = watch.array(array) {
            at = call(place, watch.kind(array, read), "0", &at);
        }
        if let Some((part, place)) = self.part(array) {
            let kind = if part.own {
                "OWN"
            } else {
                watch.kind(array, read)
            };
            at = call(place, kind, &self.offset(array, part.root), &at);
        }
        at
    }

    /// What stands before a statement that accesses `count` elements from `start` on.
    pub(super) fn watched_range(
        &self,
        array: ArrayId,
        read: bool,
        start: &str,
        count: &str,
    ) -> String {
        let Some(watch) = &self.watch else {
            return String::new();
        };
        let call = |place: usize, kind: &str, base: &str| {
            only(&format!(
                "sparsec_watch_range({place}, SPARSEC_{kind}, {base}, {STATEMENT}, {start}, {count}); "
            ))
        };
        let mut out = String::new();
        if let Some(place) = watch.array(array) {
            out += &call(place, watch.kind(array, read), "0");
        }
        if let Some((part, place)) = self.part(array) {
            let kind = if part.own {
                "OWN"
            } else {
                watch.kind(array, read)
            };
            out += &call(place, kind, &self.offset(array, part.root));
        }
        out
    }

    /// The array that this one is a part of, and its number, if iterations compete for it.
    fn part(&self, array: ArrayId) -> Option<(contested::Part, usize)> {
        let watch = self.watch.as_ref()?;
        let part = watch.contested.part(array)?;
        Some((part, watch.array(part.root)?))
    }

    /// Where a part of an array begins in it.
    fn offset(&self, part: ArrayId, root: ArrayId) -> String {
        format!("{} - {}", self.array(part), self.array(root))
    }

    /// A variable that is read or assigned.
    pub(super) fn watched_var(&self, var: VarId, read: bool) -> String {
        let name = self.var(var);
        let Some(place) = self.watch.as_ref().and_then(|w| w.var(var)) else {
            return name.to_string();
        };
        let kind = if read { "READ" } else { "WRITE" };
        let tail = format!(")[sparsec_watch({place}, SPARSEC_{kind}, 0, {STATEMENT}, 0)]");
        only("(&") + name + &only(&tail)
    }

    /// What follows the declaration of an array.
    pub(super) fn born(&self, array: ArrayId) -> String {
        let watch = self.watch.as_ref();
        watch.map_or(String::new(), |w| w.born(Contender::Array(array)))
    }

    /// What follows the declaration of a variable.
    pub(super) fn born_var(&self, var: VarId) -> String {
        let watch = self.watch.as_ref();
        watch.map_or(String::new(), |w| w.born(Contender::Var(var)))
    }

    /// How a loop is printed: if watched, iteration by iteration.
    pub(super) fn run_as<'t>(&self, tag: &'t LoopTag) -> Cow<'t, LoopTag> {
        if self.watch.is_none() {
            return Cow::Borrowed(tag);
        }
        let mut tag = tag.clone();
        tag.unroll = None;
        if let Run::Lanes { count, .. } = &mut tag.run {
            *count = None;
        }
        Cow::Owned(tag)
    }

    /// The head of a loop.
    pub(super) fn enter(
        &mut self,
        tag: &LoopTag,
        var: VarId,
        (lo, hi, next): (&str, &str, &str),
    ) -> String {
        let name = self.var(var).to_string();
        let head =
            |lo: &str, hi: &str| format!("for (int64_t {name} = {lo}; {name} < {hi}; {next}) {{");
        let Some(watch) = self.watch.as_mut().filter(|_| is_shared(tag)) else {
            return head(lo, hi);
        };
        let shared = watch.contested.nth(watch.entered);
        watch.entered += 1;
        let quiet = shared.is_empty();
        watch.around.push(shared);
        if quiet {
            return head(lo, hi);
        }
        let number = watch.legend.loops.len();
        watch.legend.loops.push(Shared {
            name: name.clone(),
            ignored: tag.races_ignored,
        });
        watch.legend.depth = watch.legend.depth.max(watch.around.len());
        // What the loop adds up is each iteration's own.
        let born: String = tag
            .reductions()
            .iter()
            .map(|&(_, var)| watch.born(Contender::Var(var)))
            .collect();
        // Bounds are computed before the loop, by the iteration around.
        let (first, end) = (format!("sparsec_lo_{name}"), format!("sparsec_hi_{name}"));
        let before = format!(
            "{{ const int64_t {first} = {lo}, {end} = {hi}; sparsec_watch_enter({number}); {} sparsec_watch_iterate();{born}",
            head(&first, &end)
        );
        only(&before) + &unwatched(&head(lo, hi))
    }

    /// The end of a loop.
    pub(super) fn leave(&mut self, tag: &LoopTag) -> String {
        match &mut self.watch {
            Some(watch) if is_shared(tag) => match watch.around.pop() {
                Some(shared) if !shared.is_empty() => "} sparsec_watch_leave(); }".to_string(),
                Some(_) | None => "}".to_string(),
            },
            Some(_) | None => "}".to_string(),
        }
    }
}
