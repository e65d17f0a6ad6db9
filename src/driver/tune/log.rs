//! Measurements in a file, a line each: a tuning that was ended goes on where it was. What is drawn
//! follows from the measurements alone, so reading them again leads to the same place.

use super::race::Runner;
use super::worker::Outcome;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;

/// The form of the file.
const SCHEMA: &str = "sparsec-tuning-1";
/// How every log begins, whatever its form.
const BEGIN: &str = "{\"schema\":\"sparsec-tuning-";

/// The first line: whose measurements these are.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    schema: String,
    of: String,
}

/// A measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Line {
    scripts: Vec<Vec<String>>,
    set: usize,
    rounds: u32,
    outcome: Outcome,
    /// What the clock said last before it: the budget was compared with that.
    asked: f64,
    /// Seconds since the tuning began, those of earlier calls among them.
    elapsed: f64,
}

/// A runner whose measurements are written, and read where they were made before.
pub struct Logged<'f, R> {
    runner: R,
    /// With their lengths in the file.
    before: VecDeque<(u64, Line)>,
    file: Option<&'f mut File>,
    /// The clock where reading ended, and that of the runner then.
    reached: f64,
    began: f64,
    /// What it said last.
    asked: Cell<f64>,
}

/// Two tunings of the same would write into each other's lines. A process that is being started has all
/// that is open here for a moment, a log that was just closed, too.
fn lock(file: &File) -> rustix::io::Result<()> {
    const TRIES: u32 = 20;
    let lock = || rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive);
    for _ in 1..TRIES {
        if lock().is_ok() {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    lock()
}

/// Opens a log to read and go on with it; one of another tuning is begun anew. What is cut short
/// at its end is measured again.
///
/// # Errors
/// It cannot be read or written, or is something else, which is left as it is.
pub fn open(path: &Path, of: &str) -> std::io::Result<(File, Vec<String>)> {
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    lock(&file).map_err(|_| std::io::Error::other("another tuning writes it"))?;
    let header = Header {
        schema: SCHEMA.to_string(),
        of: of.to_string(),
    };
    let mut text = BufReader::new(&file);
    let mut first = String::new();
    text.read_line(&mut first)?;
    if !first.starts_with(BEGIN) && !BEGIN.starts_with(first.as_str()) {
        return Err(std::io::Error::other("it is no log of a tuning"));
    }
    let mut kept = first.len() as u64;
    let mut lines = Vec::new();
    if serde_json::from_str::<Header>(&first).is_ok_and(|own| own == header) {
        loop {
            let mut line = String::new();
            // A line that is no text ends what is kept, too.
            let read = text.read_line(&mut line).unwrap_or(0);
            if read == 0 || serde_json::from_str::<Line>(&line).is_err() || !line.ends_with('\n') {
                break;
            }
            kept += read as u64;
            lines.push(line);
        }
        file.set_len(kept)?;
    } else {
        file.set_len(0)?;
        kept = 0;
    }
    file.seek(SeekFrom::Start(kept))?;
    if kept == 0 {
        writeln!(file, "{}", serde_json::to_string(&header)?)?;
    }
    Ok((file, lines))
}

/// Removes the last bytes of a file that is written at its end.
fn cut(file: &mut File, bytes: u64) -> std::io::Result<()> {
    let end = file.metadata()?.len().saturating_sub(bytes);
    file.set_len(end)?;
    file.seek(SeekFrom::Start(end)).map(drop)
}

impl<'f, R: Runner> Logged<'f, R> {
    /// With the lines that [`open`] read.
    pub fn new(runner: R, lines: &[String], file: Option<&'f mut File>) -> Self {
        let read = lines
            .iter()
            .map_while(|line| Some((line.len() as u64, serde_json::from_str(line).ok()?)));
        Logged {
            before: read.collect(),
            file,
            reached: 0.0,
            began: runner.elapsed(),
            asked: Cell::new(0.0),
            runner,
        }
    }
}

impl<R: Runner> Runner for Logged<'_, R> {
    fn prepare(&mut self, scripts: &[Vec<String>]) {
        if self.before.is_empty() {
            self.runner.prepare(scripts);
        }
    }

    fn run(&mut self, scripts: &[Vec<String>], set: usize, rounds: u32, compare: bool) -> Outcome {
        match self.before.pop_front() {
            Some((_, line))
                if line.scripts == scripts && line.set == set && line.rounds == rounds =>
            {
                self.reached = line.elapsed;
                self.began = self.runner.elapsed();
                return line.outcome;
            }
            // They are no more those of this tuning: it has more time than it had, or the data has
            // changed.
            Some((length, _)) => {
                let rest = length + self.before.iter().map(|(length, _)| length).sum::<u64>();
                self.before.clear();
                if let Some(file) = &mut self.file {
                    // Lines behind them would not be read again.
                    let _ = cut(file, rest);
                }
            }
            None => {}
        }
        let asked = self.asked.get();
        let outcome = self.runner.run(scripts, set, rounds, compare);
        let line = Line {
            scripts: scripts.to_vec(),
            set,
            rounds,
            outcome: outcome.clone(),
            asked,
            elapsed: self.elapsed(),
        };
        if let Some(file) = &mut self.file {
            // One call, so that a kill leaves whole lines, or none. Without room the tuning goes
            // on.
            let text = serde_json::to_string(&line).unwrap_or_default() + "\n";
            let _ = file.write_all(text.as_bytes());
        }
        outcome
    }

    fn elapsed(&self) -> f64 {
        let elapsed = match self.before.front() {
            // What the clock decided then, it decides again.
            Some((_, line)) => line.asked,
            None => self.reached + self.runner.elapsed() - self.began,
        };
        self.asked.set(elapsed);
        elapsed
    }
}
