//! The race checker: kernels whose loops are shared out, run once more, serially and watched.
//! Iterations count as threads of their own, so what it finds depends on no timing.

use super::bind::Bound;
use super::build::{Backend, Library, Trust, unit};
use super::cache::{self, Cache, Ignored};
use super::{Failure, run};
use crate::data::coordinates_at;
use crate::diagnostic::codes::environment as codes;
use crate::diagnostic::{Diagnostic, Severity, Sources, Span};
use crate::emit;
use crate::emit::watch::{self, Legend, Watching};
use crate::graph::Graph;
use crate::loops::interface::Arg;
use crate::loops::ir::{ArrayId, Kernel};
use crate::program::ir::Function;

/// Accesses up to which all elements are watched.
pub const ALL_ELEMENTS: i64 = 10_000_000;

/// Watched kernels.
pub struct Checker {
    library: Library,
    legend: Legend,
    /// The place in the library of each kernel, if it shares loops out.
    at: Vec<Option<usize>>,
}

/// What was found in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    pub races: Vec<Race>,
    /// One element in so many was watched.
    pub every: i64,
    /// Whether memory sufficed.
    pub complete: bool,
    /// What the watched run took.
    pub seconds: f64,
}

/// Two statements that race, in different iterations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// The first element on which they do: `y(3)`, `w_vals[13]`.
    pub element: String,
    pub statements: [Access; 2],
    /// How often they do.
    pub count: i64,
    /// The variable of the loop.
    pub shared: String,
    /// The user answers for it (`IgnoreRaces`).
    pub ignored: bool,
}

/// One of two accesses that race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    pub statement: String,
    pub how: &'static str,
}

/// `sparsec_race` of `watch.h`.
#[repr(C)]
struct CRace {
    element: i64,
    count: i64,
    first: u64,
    second: u64,
    place: i32,
    shared: i32,
}

/// `sparsec_found` of `watch.h`.
#[repr(C)]
struct CFound {
    races: *const CRace,
    count: i64,
    every: i64,
    complete: i64,
}

/// The text of watched kernels.
pub struct Watched {
    files: Vec<emit::File>,
    kernels: Vec<Kernel>,
    legend: Legend,
    at: Vec<Option<usize>>,
}

impl Watched {
    /// Of those of the kernels for the processor that share loops out; `None` if none does.
    #[must_use]
    pub fn of(kernels: &[Kernel], watching: Watching) -> Option<Self> {
        let mut shared = Vec::new();
        let mut at = Vec::new();
        for kernel in kernels {
            let watched = watch::shares_loops(kernel);
            at.push(watched.then_some(shared.len()));
            if watched {
                shared.push(kernel.clone());
            }
        }
        if shared.is_empty() {
            return None;
        }
        let (files, legend) = watch::emit(&unit(&shared), watching);
        Some(Watched {
            files,
            kernels: shared,
            legend,
            at,
        })
    }

    /// Compiled with these flags of the C compiler.
    ///
    /// # Errors
    /// No compiler, or it refuses the text.
    pub fn compiled(self, flags: &str, sources: &mut Sources) -> Result<Checker, Failure> {
        let (files, kernels) = (&self.files, &self.kernels);
        let library = Library::of_files(files, kernels, Backend::C, Trust::Inputs, flags, sources)?;
        Ok(self.checker(library))
    }

    /// From the cache if it is there, and put there if it is not. What is not used is told.
    ///
    /// # Errors
    /// As [`Watched::compiled`].
    pub fn kept(
        self,
        cache: &Cache,
        ignored: &mut Vec<Ignored>,
        sources: &mut Sources,
    ) -> Result<Checker, Failure> {
        let how = (Backend::C, Trust::Inputs);
        let library = cache::library_of(&self.files, &self.kernels, how, cache, ignored, sources)?;
        Ok(self.checker(library))
    }

    fn checker(self, library: Library) -> Checker {
        Checker {
            library,
            legend: self.legend,
            at: self.at,
        }
    }
}

impl Checker {
    /// Runs the kernel at `at` watched; `None` if it shares no loop out. Elements are left out
    /// once more than `limit` accesses were watched.
    ///
    /// # Errors
    /// As [`run::run`].
    pub fn check(
        &self,
        at: usize,
        kernel: &Kernel,
        function: &Function,
        bound: &Bound,
        limit: i64,
    ) -> Result<Option<Findings>, Failure> {
        let Some(at) = self.at.get(at).copied().flatten() else {
            return Ok(None);
        };
        let missing = |e: libloading::Error| {
            Failure::Environment(Diagnostic::error(
                crate::diagnostic::codes::environment::COMPILER_FAILED,
                function.span,
                e.to_string(),
                "while this function was checked for races",
            ))
        };
        // SAFETY: `watch.h` defines it so.
        unsafe {
            let begin = self
                .library
                .function::<unsafe extern "C" fn(i64)>("sparsec_watch_begin");
            begin.map_err(missing)?(limit);
        }
        let outcome = run::run(&self.library, at, kernel, function, bound, None)?;
        // SAFETY: `watch.h` defines it so; the races it points to stand in the library.
        let (found, races) = unsafe {
            let found = self
                .library
                .function::<unsafe extern "C" fn() -> CFound>("sparsec_watch_found");
            let found = found.map_err(missing)?();
            let count = usize::try_from(found.count).unwrap_or(0);
            let races = std::slice::from_raw_parts(found.races, count);
            (found, races)
        };
        let element = |array: Option<ArrayId>, name: &str, at: i64| match array {
            None => name.to_string(),
            Some(array) => tensor_element(kernel, function, &outcome, array, at)
                .unwrap_or_else(|| format!("{name}[{at}]")),
        };
        Ok(Some(Findings {
            races: races
                .iter()
                .filter_map(|race| self.race(race, &element))
                .collect(),
            every: found.every,
            complete: found.complete != 0,
            seconds: outcome.seconds.iter().sum(),
        }))
    }

    fn race(
        &self,
        race: &CRace,
        element: &impl Fn(Option<ArrayId>, &str, i64) -> String,
    ) -> Option<Race> {
        let place = self.legend.places.get(usize::try_from(race.place).ok()?)?;
        let shared = self.legend.loops.get(usize::try_from(race.shared).ok()?)?;
        Some(Race {
            element: element(place.array, &place.name, race.element),
            statements: [self.access(race.first), self.access(race.second)],
            count: race.count,
            shared: shared.name.clone(),
            ignored: shared.ignored,
        })
    }

    fn access(&self, stamp: u64) -> Access {
        let statement = usize::try_from(stamp >> 3).unwrap_or(usize::MAX);
        Access {
            statement: self
                .legend
                .statements
                .get(statement)
                .cloned()
                .unwrap_or_default(),
            how: match stamp & 7 {
                0 => "reads it",
                1 => "writes it",
                2 => "updates it atomically",
                3 => "updates it in a critical section",
                _ => "updates its thread's part",
            },
        }
    }
}

/// An element of a result's values by its coordinates: `y(3)`.
fn tensor_element(
    kernel: &Kernel,
    function: &Function,
    outcome: &run::Outcome,
    array: ArrayId,
    at: i64,
) -> Option<String> {
    let tensor = kernel.interface.args.iter().find_map(|arg| match arg {
        Arg::Tensor(tensor) if tensor.values == array => Some(tensor),
        Arg::Tensor(_) | Arg::Scalar { .. } => None,
    })?;
    let packed = outcome.results.get(&function.tensor_named(&tensor.name)?)?;
    let coordinates = coordinates_at(packed, u64::try_from(at).ok()?)?;
    if coordinates.is_empty() {
        return Some(tensor.name.clone());
    }
    let coordinates: Vec<String> = coordinates.iter().map(ToString::to_string).collect();
    Some(format!("{}({})", tensor.name, coordinates.join(",")))
}

impl Findings {
    /// Whether there is a race that the user does not answer for.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.races.iter().any(|race| !race.ignored)
    }

    /// What is to be said of the races.
    #[must_use]
    pub fn diagnostics(&self, function: &Function, graph: &Graph) -> Vec<Diagnostic> {
        self.races
            .iter()
            .map(|race| race.diagnostic(command(graph, &race.shared).unwrap_or(function.span)))
            .collect()
    }
}

/// The command that shares out the loop.
fn command(graph: &Graph, name: &str) -> Option<Span> {
    let mut found = None;
    graph.visit_nests(&mut |nest| {
        for l in &nest.loops {
            if let Some(parallel) = &l.tag.parallel
                && graph.var(l.var).name == name
            {
                found = Some(parallel.span);
            }
        }
    });
    found
}

impl Race {
    fn diagnostic(&self, span: Span) -> Diagnostic {
        let severity = if self.ignored {
            Severity::Note
        } else {
            Severity::Error
        };
        let [first, second] = &self.statements;
        let times = match self.count {
            1 => String::new(),
            n => format!(", {n} times"),
        };
        let diagnostic = Diagnostic::new(
            severity,
            codes::RACE,
            span,
            format!(
                "iterations of `{}` race for `{}`",
                self.shared, self.element
            ),
            "shared out here",
        )
        .with_note(format!("one {}: {}", first.how, first.statement))
        .with_note(format!(
            "another {}{times}: {}",
            second.how, second.statement
        ));
        diagnostic.with_help(if self.ignored {
            "the schedule says IgnoreRaces"
        } else {
            "unless the data break a promise (`bound`), that is sparsec's fault: please report it with the program"
        })
    }
}
