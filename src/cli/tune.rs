//! `sparsec tune`.

mod report;
mod reproduce;

use super::args::{From, SearchKind, TuneArgs};
use super::places::{self, Place};
use super::progress::Progress;
use super::request::{is_picture, only_function, operands, threads_for};
use super::{Reporter, duration, request, tuned};
use crate::diagnostic::codes::environment as codes;
use crate::diagnostic::{Diagnostic, Severity};
use crate::diagram::chart::{self, Chart, Look, Series};
use crate::driver::bench::machine::Description;
use crate::driver::bind;
use crate::driver::build::Backend;
use crate::driver::cache::entry::{Entry, Provenance, SCHEMA, Tuned};
use crate::driver::cache::key::{Canonical, Key, Likeness};
use crate::driver::cache::{Cache, Found as Kept, Kind as Folder};
use crate::driver::tune::race::{Fault, Found, Plan, Timed};
use crate::driver::tune::search::Kind;
use crate::driver::tune::worker::Outcome;
use crate::driver::tune::{self, DataSet, Settings};
use crate::driver::{self, Failure, Request, ScheduleChoice, argument, auto, bench, device, model};
use crate::files::{self, Staged};
use crate::program::ir::Function;
use crate::schedule::auto::Model;
use crate::target::Target;
use std::path::{Path, PathBuf};

pub(super) fn tune(args: &TuneArgs) -> u8 {
    let mut reporter = Reporter::of(&args.program);
    match execute(args, &mut reporter) {
        Ok(code) => code,
        Err(failure) => reporter.fail(&failure),
    }
}

/// What a tuning is of, and with what.
struct Tuning<'t> {
    args: &'t TuneArgs,
    function: &'t Function,
    data: &'t [DataSet],
    /// Of each data set, what the command line says.
    sets: &'t [Vec<String>],
    threads: u32,
    backend: Backend,
    machine: Description,
}

fn execute(args: &TuneArgs, reporter: &mut Reporter) -> Result<u8, Failure> {
    let (programs, bindings) = operands(&args.operands, &mut reporter.sources)?;
    let mut request = request(&programs, &args.program, &mut reporter.sources)?;
    let sets = bench::data_sets(&bindings);
    let sets = sets.map_err(|binding| super::bench::uneven(&binding, reporter))?;
    if let Some(plain) = &args.worker {
        return tune::serve(&request, plain, &sets, &mut reporter.sources).map(|()| 0);
    }
    if let Some(folder) = &args.builder {
        let backend = runs(args, &request);
        // Where nobody listens any more there is nothing to say.
        let served = tune::build(&request, backend, folder);
        return Ok(u8::from(served.is_err()));
    }
    check(args, &request, reporter)?;
    // The program's own schedule is a start; what is wrong with it is said before anything else.
    let scheduled = driver::compile(&request, &mut reporter.sources)?;
    let plain = Request {
        schedule: ScheduleChoice::None,
        defines: Vec::new(),
        ..request.clone()
    };
    let compiled = driver::compile(&plain, &mut reporter.sources)?;
    apart(args, &scheduled.inputs, &bindings, reporter)?;
    drop(scheduled);
    let (function, _) = only_function(&compiled, &mut reporter.sources)?;
    let progress = Progress::new(sets.len() as u64);
    let mut data = Vec::new();
    for set in &sets {
        progress.step("reading data");
        let bound = bind::bind(function, set, &mut reporter.sources)?;
        // One kernel runs on all data sets: only one of them says what it is for.
        if sets.len() == 1 && auto::asks(function, request.target) {
            request.statistics = auto::statistics(function, &bound, &request.statistics.profile);
        }
        data.push(DataSet::of(set.join(" "), function, &bound));
    }
    drop(progress);
    let backend = runs(args, &request);
    admit(backend, reporter)?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let threads = match backend {
        Backend::C => args.threads.or(u32::try_from(cores).ok()).unwrap_or(1),
        Backend::Emulator { .. } | Backend::Gpu | Backend::Model(_) => 1,
    };
    let tuning = Tuning {
        args,
        function,
        data: &data,
        sets: &sets,
        threads,
        backend,
        machine: Description::of(backend),
    };
    let cache = Cache::of_environment(&mut reporter.sources)?;
    let likeness: Vec<Likeness> = data.iter().map(|set| set.likeness.clone()).collect();
    let kept = match &cache {
        Some(cache) if args.from == From::Auto => {
            tuned::of_function(cache, function, request.target, &likeness)
        }
        Some(_) | None => Kept::default(),
    };
    for one in &kept.ignored {
        tuned::ignored(one, reporter);
    }
    let mut settings = Settings {
        plan: plan(args, data.len()),
        backend,
        threads,
        log: None,
        kept: &kept,
    };
    let log = log(
        args,
        cache.as_ref(),
        &tune::identity(function, &data, &settings),
    );
    settings.log = log.as_deref();
    let found = match search(&request, &tuning, settings, reporter)? {
        Ok(found) => found,
        Err(faults) => {
            let mut nothing = tune::nothing_runs(function);
            let discarded = report::discarded(&faults);
            if !discarded.is_empty() {
                nothing = nothing.with_note(format!("discarded: {discarded}"));
            }
            if !tell_faults(&request, &tuning, &faults, reporter) {
                return Err(nothing.into());
            }
            reporter.say(&nothing);
            return Ok(1);
        }
    };
    let code = finish(&request, &tuning, &found, cache.as_ref(), reporter)?;
    // What is done is not gone on with.
    if let Some(log) = log.filter(|_| args.log.is_none()) {
        let _ = std::fs::remove_file(log);
    }
    Ok(code)
}

/// Refuses what cannot be tuned before anything is done.
fn check(args: &TuneArgs, request: &Request, reporter: &mut Reporter) -> Result<(), Failure> {
    if args.program.tuned {
        let span = argument(&mut reporter.sources, "command line", "--tuned");
        let message = "--tuned compiles with what `tune` has found";
        return Err(
            Diagnostic::error(codes::COMMAND_LINE, span, message, "would have no effect")
                .with_help("leave it out: what the cache has is a start anyway")
                .into(),
        );
    }
    if args.model && request.target == Target::C {
        let span = argument(&mut reporter.sources, "command line", "--model");
        let message = "--model ranks schedules of GPUs";
        let label = "would have no effect on a CPU, where schedules are timed";
        return Err(Diagnostic::error(codes::COMMAND_LINE, span, message, label)
            .with_help("add `--target cuda`, or leave it out")
            .into());
    }
    if let Some(threads) = args.threads {
        threads_for(request.target, &threads.to_string(), &mut reporter.sources)?;
    }
    if let Some(path) = &args.plot {
        is_picture(path, &mut reporter.sources)?;
    }
    for path in [&args.output, &args.plot].into_iter().flatten() {
        files::check(path).map_err(|e| reporter.unwritable(path, &e))?;
    }
    Ok(())
}

/// Refuses to write into the place of what is read.
fn apart(
    args: &TuneArgs,
    inputs: &[PathBuf],
    bindings: &[String],
    reporter: &mut Reporter,
) -> Result<(), Failure> {
    let named = [
        ("-o", &args.output),
        ("--plot", &args.plot),
        ("--log", &args.log),
    ];
    let places: Vec<Place> = (named.iter())
        .filter_map(|(option, path)| {
            let path = path.as_deref()?;
            Some(Place { option, path })
        })
        .collect();
    let read = inputs.iter().map(PathBuf::as_path);
    places::check(&places, read.chain(places::data(bindings)), reporter)
}

/// What runs the kernels.
fn runs(args: &TuneArgs, request: &Request) -> Backend {
    if args.model {
        return Backend::Model(request.statistics.profile.model);
    }
    device::backend(request.target, false)
}

/// Says what figures of a GPU are none. The emulator is used only where it is asked for: its times tell nothing of
/// a GPU's.
fn admit(backend: Backend, reporter: &mut Reporter) -> Result<(), Failure> {
    let note = match backend {
        Backend::C | Backend::Gpu => return Ok(()),
        Backend::Emulator { .. } if !device::is_asked_for() => {
            return Err(super::bench::no_clock(reporter));
        }
        Backend::Emulator { .. } => device::emulated(&mut reporter.sources),
        // Kernels run on the emulator, which counts what a GPU would do.
        Backend::Model(_) => {
            model::tools(&mut reporter.sources)?;
            let span = argument(&mut reporter.sources, "command line", "--model");
            let message = "schedules are ranked by a model's cycles, which are no times";
            let label = "counts what kernels do on the emulator";
            Diagnostic::new(Severity::Note, codes::EMULATED, span, message, label)
                .with_help("where there is a GPU, leave it out: schedules are timed there")
        }
    };
    reporter.say(&note);
    Ok(())
}

fn plan(args: &TuneArgs, sets: usize) -> Plan {
    Plan {
        kind: match args.search {
            SearchKind::Genetic => Kind::Genetic,
            SearchKind::Random => Kind::Random,
        },
        seed: args.seed,
        budget: args.budget,
        trials: args.trials,
        sets,
        scratch: args.from == From::Scratch,
    }
}

/// Where measurements are written; nowhere if nothing is kept.
fn log(args: &TuneArgs, cache: Option<&Cache>, identity: &str) -> Option<PathBuf> {
    let kept = || {
        Some(
            cache?
                .prepare(Folder::Tuning)
                .ok()?
                .join(format!("{identity}.jsonl")),
        )
    };
    args.log.clone().or_else(kept)
}

fn search(
    request: &Request,
    tuning: &Tuning,
    settings: Settings,
    reporter: &mut Reporter,
) -> Result<Result<Found, Vec<Fault>>, Failure> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = |seconds: f64| seconds.max(0.0) as u64;
    let progress = Progress::new(whole(settings.plan.budget.ceil()));
    let mut tell = |elapsed: f64, best: Option<f64>, measured: usize| {
        let best = best.map(|s| figure(tuning.backend, s));
        let best = best.map_or(String::new(), |figure| format!(", best {figure}"));
        progress.at(whole(elapsed), &format!("{measured} schedules{best}"));
    };
    let (function, data) = (tuning.function, tuning.data);
    tune::tune(
        request,
        function,
        data,
        settings,
        &mut reporter.sources,
        &mut tell,
    )
}

/// Writes and prints what was found; the exit code.
fn finish(
    request: &Request,
    tuning: &Tuning,
    found: &Found,
    cache: Option<&Cache>,
    reporter: &mut Reporter,
) -> Result<u8, Failure> {
    let args = tuning.args;
    let wrong = tell_faults(request, tuning, &found.faults, reporter);
    if let Some(path) = &args.output {
        let text = report::schedule(tuning, found);
        place(path, &text, reporter)?;
    }
    if let Some(path) = &args.plot {
        let svg = chart::svg(&[curve(tuning, found)]);
        place(path, &svg, reporter)?;
    }
    // What was only counted or emulated is no measurement that others should rely on.
    let measured = match tuning.backend {
        Backend::C | Backend::Gpu => true,
        Backend::Emulator { .. } | Backend::Model(_) => false,
    };
    if let Some(cache) = cache
        && found.ahead
        && measured
    {
        let entry = entry(tuning, found);
        let (name, text) = (entry.file_name(), entry.text());
        if let Err(error) = cache.write(Folder::Schedule, &name, text.as_bytes()) {
            let path = cache.path(Folder::Schedule, &name);
            let Failure::Environment(mut note) = reporter.unwritable(&path, &error) else {
                return Ok(4);
            };
            note.severity = Severity::Note;
            reporter.say(&note);
        }
    }
    let mut text = report::text(tuning, found);
    if let Backend::Model(model) = tuning.backend {
        text += &counts(request, tuning, (found, model), reporter)?;
    }
    Ok(reporter.print(&text, u8::from(wrong)))
}

/// What the model counted of the best schedule, of what sparsec chooses by itself, and of the one that was
/// given.
fn counts(
    request: &Request,
    tuning: &Tuning,
    (found, model): (&Found, Model),
    reporter: &mut Reporter,
) -> Result<String, Failure> {
    let text = |name: &str, one: &Timed| Request {
        schedule: ScheduleChoice::Text {
            name: format!("{name}.sched"),
            text: one.script.join("\n"),
        },
        defines: Vec::new(),
        ..request.clone()
    };
    let mut rows = Vec::new();
    let mut each = vec![("found", text("found", &found.best))];
    if found.ahead {
        each.push(("automatic", text("automatic", &found.automatic)));
    }
    if let ScheduleChoice::Named(_) = request.schedule {
        each.push(("given", request.clone()));
    }
    for (name, own) in each {
        let all = model::count(&own, tuning.sets, model, &mut reporter.sources)?;
        let sets = tuning.data.iter().map(|set| set.name.as_str());
        rows.extend(sets.zip(all).map(|(set, own)| (name, set, own)));
    }
    Ok(report::counted(&rows))
}

/// Says what became of schedules that ended badly; whether one of them changes results.
fn tell_faults(
    request: &Request,
    tuning: &Tuning,
    faults: &[Fault],
    reporter: &mut Reporter,
) -> bool {
    let mut wrong = false;
    let mut broken = 0;
    for fault in faults {
        match &fault.outcome {
            Outcome::Wrong(reason) => {
                wrong = true;
                let cause = match fault.script.iter().any(|line| line.contains("IgnoreRaces")) {
                    true => {
                        "its IgnoreRaces lets threads lose updates, or this is a bug in sparsec"
                    }
                    false => "this is a bug in sparsec",
                };
                let error = Diagnostic::error(
                    codes::WRONG_SCHEDULE,
                    tuning.function.span,
                    format!("a schedule changes the result: {reason}"),
                    "of this function",
                );
                reporter.say(&match reproduce::write(request, tuning, fault, reason) {
                    Ok(folder) => error.with_help(format!(
                        "{cause}; please report it with what {} holds",
                        folder.display()
                    )),
                    // The rest of what was found is not lost for that.
                    Err((path, e)) => error
                        .with_note(format!("with\n{}", fault.script.join("\n")))
                        .with_note(format!("cannot write {}: {e}", path.display()))
                        .with_help(format!("{cause}; please report it")),
                });
            }
            Outcome::Crashed(signal) if broken < report::SHOWN => {
                broken += 1;
                reporter.say(&report::crashed(tuning, fault, *signal));
            }
            Outcome::Crashed(_)
            | Outcome::TimedOut
            | Outcome::OutOfMemory
            | Outcome::Refused(_)
            | Outcome::Measured(_) => {}
        }
    }
    wrong
}

fn place(path: &Path, text: &str, reporter: &mut Reporter) -> Result<(), Failure> {
    let written = files::stage(path, |file| file.write_all(text.as_bytes()));
    let placed = written.and_then(|file| file.map_or(Ok(()), Staged::place));
    placed.map_err(|e| reporter.unwritable(path, &e))
}

/// The best time against the time of tuning.
fn curve(tuning: &Tuning, found: &Found) -> Chart {
    Chart {
        title: format!("{}: best schedule so far", tuning.function.name),
        x: "seconds of tuning".to_string(),
        y: match tuning.backend {
            Backend::Model(_) => "thousand cycles of the model".to_string(),
            Backend::C | Backend::Emulator { .. } | Backend::Gpu => {
                "microseconds of a call".to_string()
            }
        },
        series: vec![Series {
            name: search_word(tuning.args.search).to_string(),
            // (A thousand million cycles are called a second.)
            points: found.curve.iter().map(|(t, s)| (*t, 1e6 * s)).collect(),
            look: Look::Line,
        }],
    }
}

/// What a schedule takes: a time, or cycles of a model.
fn figure(backend: Backend, seconds: f64) -> String {
    match backend {
        Backend::Model(_) => format!("{:.0} cycles", 1e9 * seconds),
        Backend::C | Backend::Emulator { .. } | Backend::Gpu => duration(seconds),
    }
}

fn search_word(search: SearchKind) -> &'static str {
    match search {
        SearchKind::Genetic => "genetic",
        SearchKind::Random => "random",
    }
}

/// What the cache keeps.
fn entry(tuning: &Tuning, found: &Found) -> Entry {
    let function = tuning.function;
    let canonical = Canonical::of(function);
    let each = tuning.data.iter().enumerate().map(|(at, set)| Tuned {
        name: set.name.clone(),
        tensors: set.tensors.clone(),
        likeness: set.likeness.clone(),
        seconds: found.best.seconds[at],
        automatic: found.automatic.seconds[at],
    });
    Entry {
        schema: SCHEMA.to_string(),
        checksum: String::new(),
        function: function.name.clone(),
        names: canonical.all_names(),
        schedule: found.best.script.clone(),
        data: each.collect(),
        key: Key::of(&canonical, tuning.backend, &tuning.machine),
        found: Provenance {
            search: search_word(tuning.args.search).to_string(),
            seed: tuning.args.seed,
            seconds: found.curve.last().map_or(0.0, |last| last.0),
            candidates: found.measured,
            threads: tuning.threads,
            machine: tuning.machine.clone(),
        },
    }
    .sealed()
}
