//! `sparsec cache`.

use super::args::{CacheArgs, CacheCommand};
use super::{Reporter, duration, tuned};
use crate::data::DataError;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::{data as data_codes, environment as codes};
use crate::driver::bench::machine::Description;
use crate::driver::cache::entry::Entry;
use crate::driver::cache::{Cache, Kept, Kind, key};
use crate::driver::{Failure, argument, device};
use crate::files::{self, Staged};
use crate::target::Target;
use std::io::Read;
use std::path::Path;

pub(super) fn cache(args: &CacheArgs) -> u8 {
    let mut reporter = Reporter::new(args.message_format, &[]);
    match execute(args, &mut reporter) {
        Ok(code) => code,
        Err(failure) => reporter.fail(&failure),
    }
}

fn execute(args: &CacheArgs, reporter: &mut Reporter) -> Result<u8, Failure> {
    let Some(cache) = Cache::of_environment(&mut reporter.sources)? else {
        let why = "SPARSEC_CACHE is off, or there is no home folder";
        return Err(unusable(why, reporter));
    };
    match &args.command {
        CacheCommand::List => {
            let all = entries(&cache, reporter)?;
            let text = list(&cache, &all);
            Ok(reporter.print(&text, 0))
        }
        CacheCommand::Show { id } => {
            let all = chosen(
                entries(&cache, reporter)?,
                std::slice::from_ref(id),
                reporter,
            )?;
            let text: String = all.iter().map(|(_, entry)| show(entry)).collect();
            Ok(reporter.print(&text, 0))
        }
        CacheCommand::Clear { ids } => clear(&cache, ids, reporter).map(|()| 0),
        CacheCommand::Export { file, ids } => {
            let mut all = entries(&cache, reporter)?;
            if !ids.is_empty() {
                all = chosen(all, ids, reporter)?;
            }
            // A line each, so that lists can be put together and searched.
            let line = |(_, entry): &(Kept, Entry)| {
                serde_json::to_string(entry).unwrap_or_default() + "\n"
            };
            let text: String = all.iter().map(line).collect();
            if file.as_os_str() == "-" {
                return Ok(reporter.print(&text, 0));
            }
            let written = files::stage(file, |to| to.write_all(text.as_bytes()));
            let placed = written.and_then(|staged| staged.map_or(Ok(()), Staged::place));
            placed.map_err(|e| reporter.unwritable(file, &e))?;
            Ok(0)
        }
        CacheCommand::Import { file, as_device } => {
            import(&cache, file, as_device.as_deref(), reporter)
        }
    }
}

/// The tuned schedules; what is none is told.
fn entries(cache: &Cache, reporter: &mut Reporter) -> Result<Vec<(Kept, Entry)>, Failure> {
    let listed = cache.list(Kind::Schedule);
    let listed = listed.map_err(|ignored| unusable(&ignored.reason, reporter))?;
    let mut all = Vec::new();
    for kept in listed {
        let content = cache.read(Kind::Schedule, &kept.name);
        let entry = content.and_then(|content| {
            let entry = content.map(|content| Entry::read(&content)).transpose();
            entry.map_err(|reason| crate::driver::cache::Ignored {
                path: kept.path.clone(),
                reason,
            })
        });
        match entry {
            Ok(Some(entry)) => all.push((kept, entry)),
            // Somebody has removed it meanwhile.
            Ok(None) => {}
            Err(ignored) => tuned::ignored(&ignored, reporter),
        }
    }
    Ok(all)
}

/// Those whose names begin so.
fn chosen(
    all: Vec<(Kept, Entry)>,
    ids: &[String],
    reporter: &mut Reporter,
) -> Result<Vec<(Kept, Entry)>, Failure> {
    for id in ids {
        if !all.iter().any(|(_, entry)| entry.id().starts_with(id)) {
            let span = argument(&mut reporter.sources, "command line", id);
            let message = format!("the cache has no schedule `{id}`");
            return Err(
                Diagnostic::error(codes::COMMAND_LINE, span, message, "unknown")
                    .with_help("`sparsec cache list` prints their names")
                    .into(),
            );
        }
    }
    let named = |entry: &Entry| ids.iter().any(|id| entry.id().starts_with(id));
    Ok(all.into_iter().filter(|(_, entry)| named(entry)).collect())
}

fn list(cache: &Cache, all: &[(Kept, Entry)]) -> String {
    let mut out = format!("{}\n", cache.root().display());
    for (_, entry) in all {
        let times = entry
            .data
            .iter()
            .map(|d| d.automatic / d.seconds.max(1e-12));
        let least = times.fold(f64::INFINITY, f64::min);
        let data: Vec<&str> = entry.data.iter().map(|d| d.name.as_str()).collect();
        out += &format!(
            "  {}  {} for {}, {:.2} times as fast as auto on {}\n                {}\n",
            entry.id(),
            entry.function,
            entry.key.target,
            if least.is_finite() { least } else { 1.0 },
            data.join("; "),
            entry.key.device,
        );
    }
    for (kind, what) in [
        (Kind::Schedule, "tuned schedules"),
        (Kind::Kernel, "compiled kernels"),
        (Kind::Tuning, "tunings under way"),
    ] {
        let usage = cache.usage(kind).unwrap_or_default();
        out += &format!(
            "{what}: {}, {} KiB\n",
            usage.files,
            usage.bytes.div_ceil(1024)
        );
    }
    out
}

fn show(entry: &Entry) -> String {
    let mut out = format!(
        "{}: {}, for {}\n",
        entry.id(),
        entry.function,
        entry.key.target
    );
    for data in &entry.data {
        out += &format!(
            "  {}: {}; {} with what sparsec chooses by itself\n",
            data.name,
            duration(data.seconds),
            duration(data.automatic)
        );
    }
    let found = &entry.found;
    out += &format!(
        "  found by {} search (seed {}) among {} schedules in {:.0} s, on {} threads\n",
        found.search, found.seed, found.candidates, found.seconds, found.threads
    );
    for (what, text) in [
        ("device", &entry.key.device),
        ("sparsec", &entry.key.sparsec),
        ("compiler", &entry.key.compiler),
        ("flags", &entry.key.flags),
        ("names", &entry.names.join(" ")),
    ] {
        out += &format!("  {what}: {text}\n");
    }
    for line in entry.key.program.lines() {
        out += &format!("  | {line}\n");
    }
    for command in &entry.schedule {
        out += &format!("{command}\n");
    }
    out
}

fn clear(cache: &Cache, ids: &[String], reporter: &mut Reporter) -> Result<(), Failure> {
    let mut all = Vec::new();
    if ids.is_empty() {
        for kind in Kind::ALL {
            let listed = cache.list(kind);
            all.extend(listed.map_err(|ignored| unusable(&ignored.reason, reporter))?);
        }
    } else {
        let named = chosen(entries(cache, reporter)?, ids, reporter)?;
        all.extend(named.into_iter().map(|(kept, _)| kept));
    }
    for kept in all {
        let removed = cache.remove(&kept);
        removed.map_err(|e| reporter.unwritable(&kept.path, &e))?;
    }
    Ok(())
}

/// Takes all entries of a file, or none.
fn import(
    cache: &Cache,
    file: &Path,
    as_device: Option<&str>,
    reporter: &mut Reporter,
) -> Result<u8, Failure> {
    let mut text = String::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|mut from| from.read_to_string(&mut text))
    };
    read.map_err(|e| DataError::new(data_codes::UNREADABLE, e.to_string()).in_file(file))?;
    let this = |entry: &Entry| {
        let target = Target::named(&entry.key.target).unwrap_or_default();
        key::device(&Description::of(device::backend(target, false)))
    };
    let mut all = Vec::new();
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, l)| !l.trim().is_empty())
    {
        let mut entry = Entry::read(line.as_bytes()).map_err(|reason| {
            let mut error = DataError::new(data_codes::MALFORMED, reason).in_file(file);
            error.line = Some(at as u64 + 1);
            error
        })?;
        if let Some(named) = as_device {
            entry.key.device = match named {
                "this" => this(&entry),
                other => other.to_string(),
            };
            entry = entry.sealed();
        }
        all.push(entry);
    }
    // The newest was written first, and is the newest here, too.
    for entry in all.iter().rev() {
        let name = entry.file_name();
        let written = cache.write(Kind::Schedule, &name, entry.text().as_bytes());
        written.map_err(|e| reporter.unwritable(&cache.path(Kind::Schedule, &name), &e))?;
    }
    let text = format!("{} tuned schedules\n", all.len());
    Ok(reporter.print(&text, 0))
}

fn unusable(why: &str, reporter: &mut Reporter) -> Failure {
    let span = argument(&mut reporter.sources, "command line", "cache");
    Failure::Environment(
        Diagnostic::error(
            codes::CACHE_UNUSABLE,
            span,
            format!("there is no cache to use: {why}"),
            "this command",
        )
        .with_help("set SPARSEC_CACHE to a folder of your own that nobody else may write to"),
    )
}
