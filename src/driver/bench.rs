//! Schedules of one function against each other: compiled, compared by what they compute, then
//! timed in turn, in one process, on the same packed data.

pub(super) mod agree;
pub mod compare;
pub mod machine;
pub mod plot;
pub mod report;
pub mod statistics;

use super::bind::Bound;
use super::build::{Backend, Library, Trust};
use super::call::{Arguments, Calls, Taken};
use super::compile::{Compiled, Request, ScheduleChoice, compile, sets_nothing};
use super::run::Clock;
use super::{Failure, count, run};
use crate::data;
use crate::diagnostic::{Diagnostic, Sources};
use crate::emit::watch::shares_loops;
use crate::loops::ir::Kernel;
use crate::program::ir::{Function, TensorId};
use crate::reference;
use agree::Agreement;
use machine::Machine;
use report::{DataSet, Measured, TensorData, Times};
use std::collections::BTreeMap;
use std::time::Instant;

/// A schedule that is to be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub name: String,
    pub choice: ScheduleChoice,
    /// Nobody asked for it by name: it is left out where it is refused.
    pub implied: bool,
}

impl Candidate {
    /// What the program says, or sparsec finds.
    pub const DEFAULT: &'static str = "default";
    /// No schedule.
    pub const PLAIN: &'static str = "plain";

    /// By one of the words above, or as `--schedule` says it.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let choice = match name {
            Self::DEFAULT => ScheduleChoice::Default,
            Self::PLAIN => ScheduleChoice::None,
            _ => ScheduleChoice::Named(name.to_string()),
        };
        Candidate {
            name: name.to_string(),
            choice,
            implied: false,
        }
    }

    fn of(choice: &ScheduleChoice) -> Self {
        let word = match choice {
            ScheduleChoice::Default => Self::DEFAULT,
            ScheduleChoice::None => Self::PLAIN,
            ScheduleChoice::Named(name) | ScheduleChoice::Text { name, .. } => name,
        };
        Candidate {
            choice: choice.clone(),
            ..Self::named(word)
        }
    }
}

/// A candidate through all stages.
pub struct Entrant {
    pub candidate: Candidate,
    pub compiled: Compiled,
    /// What the stages took.
    pub seconds: f64,
}

/// A candidate that nobody asked for by name, and why it is refused.
pub type LeftOut = (Candidate, Vec<Diagnostic>);

/// Compiles the candidates: what the request asks for, then those of `listed`; without a list plain
/// loops and the program's named schedules. Each takes those of the request's `-D` that it
/// declares. With those that are left out.
///
/// # Errors
/// The first candidate, or one that is listed, is refused; a `-D` sets nothing in any.
pub fn candidates(
    request: &Request,
    listed: Option<&[String]>,
    sources: &mut Sources,
) -> Result<(Vec<Entrant>, Vec<LeftOut>), Failure> {
    let first = one(request, Candidate::of(&request.schedule), sources)?;
    let rest: Vec<Candidate> = match listed {
        Some(names) => names.iter().map(|name| Candidate::named(name)).collect(),
        None => {
            let words = [Candidate::DEFAULT, Candidate::PLAIN].map(str::to_string);
            let implied = words.iter().chain(&first.compiled.named);
            let implied = implied.map(|name| Candidate {
                implied: true,
                ..Candidate::named(name)
            });
            implied.collect()
        }
    };
    let mut all = vec![first];
    let mut left_out = Vec::new();
    for candidate in rest {
        if all.iter().any(|c| c.candidate.choice == candidate.choice) {
            continue;
        }
        match one(request, candidate.clone(), sources) {
            Ok(compiled) => all.push(compiled),
            Err(Failure::Program(reasons)) if candidate.implied => {
                left_out.push((candidate, reasons));
            }
            Err(failure) => return Err(failure),
        }
    }
    let declares = |name: &String| {
        let mut all = all.iter();
        all.any(|c| c.compiled.constants.contains_key(name))
    };
    if let Some((name, value)) = request.defines.iter().find(|(name, _)| !declares(name)) {
        let known = all.iter().flat_map(|c| c.compiled.constants.keys());
        let known: Vec<String> = known.cloned().collect();
        return Err(sets_nothing(name, *value, &known, sources).into());
    }
    Ok((all, left_out))
}

fn one(request: &Request, candidate: Candidate, sources: &mut Sources) -> Result<Entrant, Failure> {
    let start = Instant::now();
    let mut own = request.clone();
    own.schedule = candidate.choice.clone();
    own.defines.clear();
    let mut compiled = compile(&own, sources)?;
    let mut defines = request.defines.iter();
    let taken = defines.any(|(name, _)| compiled.constants.contains_key(name));
    if taken {
        let mut defines = request.defines.clone();
        defines.retain(|(name, _)| compiled.constants.contains_key(name));
        own.defines = defines;
        compiled = compile(&own, sources)?;
    }
    Ok(Entrant {
        candidate,
        compiled,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// A candidate's kernel as machine code.
pub struct Built {
    pub name: String,
    kernel: Kernel,
    /// For timed runs.
    library: Library,
    /// Checks what the schedule promises, if it does.
    checked: Option<Library>,
    /// What the compiler took for the kernel that is timed.
    pub seconds: f64,
    pub shares_loops: bool,
}

impl Built {
    /// Compiles the only kernel of a candidate.
    ///
    /// # Errors
    /// No compiler, or it refuses the text.
    pub fn new(
        name: &str,
        kernel: &Kernel,
        backend: Backend,
        sources: &mut Sources,
    ) -> Result<Self, Failure> {
        let kernels = std::slice::from_ref(kernel);
        let start = Instant::now();
        let library = Library::build(kernels, backend, Trust::Inputs, sources)?;
        let seconds = start.elapsed().as_secs_f64();
        let checked = kernel
            .promises()
            .then(|| Library::build(kernels, backend, Trust::Nothing, sources))
            .transpose()?;
        Ok(Built {
            name: name.to_string(),
            kernel: kernel.clone(),
            library,
            checked,
            seconds,
            shares_loops: backend == Backend::C && shares_loops(kernel),
        })
    }
}

/// A candidate with a number of threads: a row of the table.
#[derive(Clone, Copy)]
pub struct Row<'b> {
    pub built: &'b Built,
    pub threads: u32,
}

/// How measurements are made.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Rounds of all candidates; as many as the time allows if `None`.
    pub rounds: Option<u32>,
    /// Compares with the reference evaluator, too.
    pub verify: bool,
}

/// Seconds for the rounds of a data set, if nobody says how many.
const BUDGET: f64 = 5.0;
const FEWEST: u32 = 5;
const MOST: u32 = 101;
/// A sample is of as many calls as take this long, so that clocks are fine enough.
const SAMPLE: f64 = 1e-4;

/// Measures the rows on a data set; with the clock. `round` is told how many rounds are done, and
/// of how many.
///
/// # Errors
/// The data does not fit; results differ; what [`Calls::call`] refuses.
pub fn measure(
    rows: &[Row],
    function: &Function,
    (name, bound): (&str, &Bound),
    settings: Settings,
    machine: Option<&Machine>,
    round: &mut dyn FnMut(u32, u32),
) -> Result<(DataSet, Clock), Failure> {
    let Some(first) = rows.first() else {
        return Ok((DataSet::default(), Clock::Host));
    };
    let start = Instant::now();
    let mut arguments = Arguments::pack(&first.built.kernel.interface, function, bound)?;
    let pack_seconds = start.elapsed().as_secs_f64();
    let operations = count::operations(function, bound, &arguments.stored);
    let mut agreement = Agreement::new(function, bound, operations);
    let mut compared = Vec::new();
    let mut made = 0;
    for row in rows {
        let named = |failure| run::named(failure, function, bound);
        if let Some(checked) = &row.built.checked {
            let checking = Calls::new(checked, 0, &arguments).call(&mut arguments, function, 1);
            checking.map_err(named)?;
        }
        let mut calls = Calls::new(&row.built.library, 0, &arguments);
        row.built.library.set_threads(row.threads);
        calls.call(&mut arguments, function, 1).map_err(named)?;
        let results = calls.results(&arguments, function)?;
        made = results.values().map(count::bytes).sum();
        agreement.add(&row.built.name, results, settings.verify)?;
        compared.push((row, calls));
    }
    // What one has made is not freed before the results of all are compared: another one may get its memory.
    let mut contestants: Vec<Contestant> = Vec::new();
    for (row, mut calls) in compared {
        if let Some(last) = contestants.last_mut() {
            calls.take_place(&mut last.calls);
        }
        // Caches and results are warm from here on.
        row.built.library.set_threads(row.threads);
        let taken = calls.call(&mut arguments, function, 1)?;
        contestants.push(Contestant::new(row, calls, &arguments, taken));
    }
    let total: f64 = contestants.iter().map(Contestant::expected).sum();
    let planned = settings.rounds.unwrap_or_else(|| affordable(total));
    let start = Instant::now();
    let mut rounds = 0;
    let mut last = contestants.len().saturating_sub(1);
    while rounds < planned {
        // Where calls take longer than the warm one did, fewer are enough.
        let late = start.elapsed().as_secs_f64() > 2.0 * BUDGET;
        if settings.rounds.is_none() && rounds >= FEWEST && late {
            break;
        }
        round(rounds, planned);
        for k in 0..contestants.len() {
            // Each is first as often as the others.
            let at = (usize::try_from(rounds).unwrap_or(0) + k) % contestants.len();
            if let Ok([own, other]) = contestants.get_disjoint_mut([at, last]) {
                own.calls.take_place(&mut other.calls);
            }
            last = at;
            contestants[at].sample(&mut arguments, function)?;
        }
        rounds += 1;
    }
    #[expect(clippy::cast_precision_loss)]
    let bytes = (arguments.bytes + made) as f64;
    let measured = contestants.iter().map(Contestant::measured);
    let measured: Vec<Measured> = measured.collect();
    drop(contestants);
    let limits = machine.map_or_else(Vec::new, |machine| {
        machine.limits(function, bytes, &measured)
    });
    let mut set = DataSet {
        name: name.to_string(),
        tensors: tensors(function, bound),
        stored: stored(function, &arguments.stored),
        operations,
        bytes,
        pack_seconds,
        verified: settings.verify,
        rounds,
        limits,
        times: Vec::new(),
    };
    let times = measured.iter().map(|m| Times::of(m, &measured[0], &set));
    set.times = times.collect();
    Ok((set, measured[0].clock))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn affordable(seconds: f64) -> u32 {
    ((BUDGET / seconds.max(1e-9)) as u32).clamp(FEWEST, MOST)
}

/// A row while it is measured.
struct Contestant<'b> {
    row: Row<'b>,
    calls: Calls<'b>,
    /// Of a sample.
    times: u32,
    /// What a call takes, as far as known.
    estimate: f64,
    taken: Vec<Taken>,
}

impl<'b> Contestant<'b> {
    fn new(row: &Row<'b>, calls: Calls<'b>, arguments: &Arguments, taken: Taken) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let repeated = (SAMPLE / taken.seconds.max(1e-9)).ceil() as u32;
        // On a device each call is an interval of its own, and what is updated in place would
        // be updated again.
        let single = taken.device.is_some() || !arguments.are_kept();
        Contestant {
            row: *row,
            calls,
            times: if single { 1 } else { repeated.clamp(1, 1000) },
            estimate: taken.seconds,
            taken: Vec::new(),
        }
    }

    /// Seconds of a sample.
    fn expected(&self) -> f64 {
        self.estimate * f64::from(self.times)
    }

    fn sample(&mut self, arguments: &mut Arguments, function: &Function) -> Result<(), Failure> {
        self.row.built.library.set_threads(self.row.threads);
        let taken = self.calls.call(arguments, function, self.times)?;
        self.taken.push(taken);
        Ok(())
    }

    fn measured(&self) -> Measured {
        let (clock, seconds) = run::timed(&self.taken);
        let calls = f64::from(self.times);
        Measured {
            candidate: self.row.built.name.clone(),
            threads: self.row.threads,
            clock,
            calls: self.times,
            seconds: seconds.into_iter().map(|s| s / calls).collect(),
        }
    }
}

/// What identifies the data, wherever its files are.
fn tensors(function: &Function, bound: &Bound) -> Vec<TensorData> {
    let each = bound.tensors.iter().map(|(&id, tensor)| TensorData {
        name: function.tensor(id).name.clone(),
        summary: data::summarize(tensor),
    });
    each.collect()
}

/// Elements of the sparse tensors that are given; of all if none is sparse.
fn stored(function: &Function, stored: &BTreeMap<TensorId, usize>) -> usize {
    let sparse = |id: &TensorId| function.tensor(*id).is_sparse();
    let some = stored.keys().any(sparse);
    let counted = stored.iter().filter(|(id, _)| !some || sparse(id));
    counted.map(|(_, n)| n).sum()
}

/// Bindings as data sets: the n-th binding of a parameter belongs to the n-th set, and what is
/// bound once belongs to all.
///
/// # Errors
/// The binding of which there are neither one nor as many as of others.
pub fn data_sets(bindings: &[String]) -> Result<Vec<Vec<String>>, String> {
    let mut by_name: Vec<(&str, Vec<&String>)> = Vec::new();
    for binding in bindings {
        let name = binding.split_once('=').map_or("", |(name, _)| name);
        match by_name.iter_mut().find(|(other, _)| *other == name) {
            Some((_, all)) => all.push(binding),
            None => by_name.push((name, vec![binding])),
        }
    }
    let count = by_name.iter().map(|(_, all)| all.len()).max().unwrap_or(1);
    if let Some((_, all)) = (by_name.iter()).find(|(_, all)| all.len() != 1 && all.len() != count) {
        return Err(all[0].clone());
    }
    let set = |at: usize| {
        let each = by_name
            .iter()
            .map(|(_, all)| all[at.min(all.len() - 1)].clone());
        each.collect()
    };
    Ok((0..count).map(set).collect())
}

/// The reference evaluator's results are needed once for all candidates.
type Expected = Option<reference::Outputs>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_bindings_are_data_sets() {
        let sets = |text: &str| {
            let words: Vec<String> = text.split(' ').map(String::from).collect();
            data_sets(&words).map(|sets| sets.iter().map(|s| s.join(" ")).collect::<Vec<_>>())
        };
        assert_eq!(sets("A=a x=1"), Ok(vec!["A=a x=1".to_string()]));
        assert_eq!(
            sets("A=a x=1 A=b"),
            Ok(vec!["A=a x=1".to_string(), "A=b x=1".to_string()])
        );
        assert_eq!(
            sets("A=a x=1 A=b x=2"),
            Ok(vec!["A=a x=1".to_string(), "A=b x=2".to_string()])
        );
        assert_eq!(sets("A=a x=1 A=b x=2 A=c"), Err("x=1".to_string()));
    }

    #[test]
    fn rounds_are_what_the_time_allows() {
        assert_eq!(affordable(1e-6), MOST);
        assert_eq!(affordable(0.25), 20);
        assert_eq!(affordable(60.0), FEWEST);
    }
}
