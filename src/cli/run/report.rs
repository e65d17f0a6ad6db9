//! What `sparsec run` prints.

use crate::cli::duration;
use crate::data::Summary;
use crate::driver::bench::statistics::Quartiles;
use crate::driver::run::{Clock, Outcome};
use crate::driver::watch::Findings;
use crate::driver::{Compiled, ScheduleChoice};

/// A result and what is printed of it: shape, number of elements, norm.
#[derive(serde::Serialize)]
pub(super) struct ResultSummary {
    pub name: String,
    #[serde(flatten)]
    pub summary: Summary,
}

/// Everything that a run gives.
#[derive(serde::Serialize)]
pub(super) struct Report {
    pub function: String,
    pub results: Vec<ResultSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    /// Where the kernel and the reference differ; races are not among them.
    pub differences: Vec<String>,
    /// What the race checker says, if loops are shared out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub races: Option<Races>,
    /// Where the schedule came from.
    pub schedule: String,
    /// What ran the kernel: times of the emulator are none of a GPU's.
    pub device: &'static str,
    /// Nothing if the kernel did not run to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<Times>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
}

#[derive(serde::Serialize)]
pub(super) struct Races {
    /// Pairs of statements that race; those that the schedule answers for apart.
    found: usize,
    ignored: usize,
    /// One element in so many was watched.
    every: i64,
    complete: bool,
    /// What the watched run took.
    seconds: f64,
}

#[derive(serde::Serialize)]
pub(super) struct Times {
    /// Of the whole call (`host`), or of the device's part (`events`).
    clock: &'static str,
    runs: usize,
    min: f64,
    median: f64,
    max: f64,
    gflops: f64,
    gbytes_per_second: f64,
}

impl Report {
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

/// Where a schedule came from, in words.
pub(super) fn origin(choice: &ScheduleChoice, compiled: &Compiled) -> String {
    match choice {
        ScheduleChoice::Named(name) | ScheduleChoice::Text { name, .. } => name.clone(),
        ScheduleChoice::Default if compiled.is_automatic => "automatic".to_string(),
        ScheduleChoice::Default if compiled.scripts.iter().any(|s| !s.is_empty()) => {
            "the program's".to_string()
        }
        ScheduleChoice::Default | ScheduleChoice::None => "plain loops".to_string(),
    }
}

impl Races {
    pub fn of(findings: &Findings) -> Self {
        let ignored = findings.races.iter().filter(|race| race.ignored).count();
        Races {
            found: findings.races.len() - ignored,
            ignored,
            every: findings.every,
            complete: findings.complete,
            seconds: findings.seconds,
        }
    }

    fn text(&self) -> String {
        let found = match (self.found, self.ignored) {
            (0, 0) => "no races".to_string(),
            (0, _) => "only races that the schedule ignores".to_string(),
            (1, _) => "1 race".to_string(),
            (n, _) => format!("{n} races"),
        };
        let watched = match (self.every, self.complete) {
            (1, true) => String::new(),
            (every, true) => format!("; one element in {every} was watched"),
            (_, false) => "; not all were watched: memory is short".to_string(),
        };
        found + &watched + "\n"
    }
}

pub(super) fn times(outcome: &Outcome) -> Times {
    let mut seconds = outcome.seconds.clone();
    seconds.sort_by(f64::total_cmp);
    let at = |k: usize| seconds.get(k).copied().unwrap_or(0.0);
    let median = Quartiles::of(&seconds).median;
    let rate = |work: f64| {
        if median > 0.0 {
            work / median / 1e9
        } else {
            0.0
        }
    };
    Times {
        clock: match outcome.clock {
            Clock::Host => "host",
            Clock::Events { .. } => "events",
        },
        runs: seconds.len(),
        min: at(0),
        median,
        max: at(seconds.len().saturating_sub(1)),
        gflops: rate(outcome.operations),
        gbytes_per_second: rate(outcome.bytes),
    }
}

pub(super) fn text(report: &Report, timed: bool) -> String {
    let mut out = String::new();
    for result in &report.results {
        let shape: Vec<String> = result
            .summary
            .shape
            .iter()
            .map(ToString::to_string)
            .collect();
        let shape = if shape.is_empty() {
            "scalar".to_string()
        } else {
            shape.join(" x ")
        };
        out += &format!(
            "{}: {shape}, {} stored, norm {:.6e}\n",
            result.name, result.summary.stored, result.summary.norm
        );
    }
    if let Some(times) = &report.seconds {
        out += &time(report, times, timed);
    }
    match report.verified {
        Some(true) => out += "verified\n",
        Some(false) if report.differences.is_empty() => {
            out += "NOT verified: iterations race\n";
        }
        Some(false) => {
            out += "NOT verified: the kernel and the reference evaluator differ\n";
            for difference in &report.differences {
                out += &format!("  {difference}\n");
            }
        }
        None => {}
    }
    if let Some(races) = &report.races {
        out += &races.text();
    }
    out
}

fn time(report: &Report, t: &Times, timed: bool) -> String {
    if timed {
        format!(
            "schedule: {}\ntime{}: min {}, median {}, max {} over {} runs; {:.3} GFLOP/s, {:.3} GB/s\n",
            report.schedule,
            if t.clock == "events" {
                " on the device"
            } else {
                ""
            },
            duration(t.min),
            duration(t.median),
            duration(t.max),
            t.runs,
            t.gflops,
            t.gbytes_per_second
        )
    } else {
        format!("time: {}\n", duration(t.median))
    }
}
