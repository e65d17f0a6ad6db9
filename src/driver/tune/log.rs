//! Measurements in a file, a line each: a tuning that was ended goes on where it was. What is drawn
//! follows from the measurements alone, so reading them again leads to the same place.

use super::race::Runner;
use super::worker::Outcome;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

/// The form of the file.
const SCHEMA: &str = "sparsec-tuning-1";

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
    /// Seconds since the tuning began, those of earlier calls among them.
    elapsed: f64,
}

/// A runner whose measurements are written, and read where they were made before.
pub struct Logged<'f, R> {
    runner: R,
    before: VecDeque<Line>,
    file: Option<&'f mut File>,
    /// The clock where reading ended, and that of the runner then.
    reached: f64,
    began: f64,
}

/// Opens a log to read and go on with it; one of another tuning is begun anew. What is cut short
/// at its end is measured again.
///
/// # Errors
/// It cannot be read or written.
pub fn open(path: &Path, of: &str) -> std::io::Result<(File, Vec<String>)> {
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    // Two tunings of the same would write into each other's lines.
    rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| std::io::Error::other("another tuning writes it"))?;
    let header = Header {
        schema: SCHEMA.to_string(),
        of: of.to_string(),
    };
    let mut text = BufReader::new(&file);
    let mut first = String::new();
    text.read_line(&mut first)?;
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
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(kept))?;
    if kept == 0 {
        writeln!(file, "{}", serde_json::to_string(&header)?)?;
    }
    Ok((file, lines))
}

impl<'f, R: Runner> Logged<'f, R> {
    /// With the lines that [`open`] read.
    pub fn new(runner: R, lines: &[String], file: Option<&'f mut File>) -> Self {
        let read = lines
            .iter()
            .map_while(|line| serde_json::from_str(line).ok());
        Logged {
            before: read.collect(),
            file,
            reached: 0.0,
            began: runner.elapsed(),
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
            Some(line) if line.scripts == scripts && line.set == set && line.rounds == rounds => {
                self.reached = line.elapsed;
                self.began = self.runner.elapsed();
                return line.outcome;
            }
            // They are no more those of this tuning: sparsec or the data has changed.
            Some(_) => self.before.clear(),
            None => {}
        }
        let outcome = self.runner.run(scripts, set, rounds, compare);
        let line = Line {
            scripts: scripts.to_vec(),
            set,
            rounds,
            outcome: outcome.clone(),
            elapsed: self.elapsed(),
        };
        if let Some(file) = &mut self.file {
            // One call, so that a kill leaves whole lines, or none. Without room the tuning goes on.
            let text = serde_json::to_string(&line).unwrap_or_default() + "\n";
            let _ = file.write_all(text.as_bytes());
        }
        outcome
    }

    fn elapsed(&self) -> f64 {
        if self.before.is_empty() {
            self.reached + self.runner.elapsed() - self.began
        } else {
            self.reached
        }
    }
}
