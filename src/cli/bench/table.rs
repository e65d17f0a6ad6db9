//! Measurements as tables for people.

use crate::cli::duration;
use crate::driver::bench::compare::{Compared, Verdict};
use crate::driver::bench::report::{DataSet, Report};

/// A table for each data set, and one against older times.
pub(super) fn text(report: &Report) -> String {
    let machine = &report.machine;
    let ran_on = machine.gpu.as_ref().unwrap_or(&machine.cpu);
    let mut out = format!(
        "{} on {ran_on}, {} cores{}; {} ({})\n",
        report.function,
        machine.cores,
        machine
            .load
            .map_or(String::new(), |load| format!(", load {load}")),
        machine.version,
        machine.flags
    );
    for set in &report.data {
        out += &format!("\n{}\n{}\n\n", set.name, facts(set));
        out += &aligned(&rows(set));
    }
    if let Some(compared) = &report.comparison {
        out += "\nagainst the older measurement\n\n";
        out += &aligned(&comparison(compared));
    }
    out
}

/// What holds for all rows of a data set.
fn facts(set: &DataSet) -> String {
    let mut out = format!(
        "{} stored, {} operations, {} bytes; packed in {}; {} rounds",
        set.stored,
        short(set.operations),
        short(set.bytes),
        duration(set.pack_seconds),
        set.rounds
    );
    if set.verified {
        out += "; verified";
    }
    for limit in &set.limits {
        let threads = plural(limit.threads);
        out += &format!(
            "\n{threads} can pass {:.1} GB/s",
            limit.bytes_per_second / 1e9
        );
        if let Some(rate) = limit.operations_per_second {
            out += &format!(" and compute {:.1} GFLOP/s", rate / 1e9);
        }
    }
    out
}

fn plural(threads: u32) -> String {
    if threads == 1 {
        "1 thread".to_string()
    } else {
        format!("{threads} threads")
    }
}

/// A number of operations or bytes.
fn short(count: f64) -> String {
    for (size, unit) in [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if count >= size {
            return format!("{:.3} {unit}", count / size);
        }
    }
    count.to_string()
}

fn rows(set: &DataSet) -> Vec<Vec<String>> {
    let head = [
        "candidate",
        "threads",
        "min",
        "q1",
        "median",
        "q3",
        "ratio",
        "GFLOP/s",
        "GB/s",
        "of limit",
    ];
    let mut rows = vec![head.map(String::from).to_vec()];
    rows.extend(set.times.iter().map(|row| {
        let t = &row.seconds;
        vec![
            row.candidate.clone(),
            row.threads.to_string(),
            duration(t.min),
            duration(t.q1),
            duration(t.median),
            duration(t.q3),
            format!("{:.3}", row.ratio),
            format!("{:.3}", row.gflops),
            format!("{:.3}", row.gbytes_per_second),
            row.of_limit
                .map_or("-".to_string(), |part| format!("{:.0}%", 100.0 * part)),
        ]
    }));
    rows
}

fn comparison(compared: &[Compared]) -> Vec<Vec<String>> {
    let head = ["data", "candidate", "threads", "old", "new", "new/old", ""];
    let mut rows = vec![head.map(String::from).to_vec()];
    rows.extend(compared.iter().map(|row| {
        let old = row.old.map_or("-".to_string(), duration);
        let ratio = row.old.filter(|&old| old > 0.0);
        let ratio = ratio.map_or("-".to_string(), |old| format!("{:.3}", row.new / old));
        let verdict = match row.verdict {
            Verdict::Slower => "SLOWER",
            Verdict::Same => "same",
            Verdict::Faster => "faster",
            Verdict::Unsteady => "the machine differs",
            Verdict::New => "new",
        };
        vec![
            row.data.clone(),
            row.candidate.clone(),
            row.threads.to_string(),
            old,
            duration(row.new),
            ratio,
            verdict.to_string(),
        ]
    }));
    rows
}

/// Columns as wide as their widest field; names to the left, numbers to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |c: usize| rows.iter().map(|row| row[c].chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|c| width(c).unwrap_or(0)).collect();
    let named = |c: usize| {
        let numbers = rows.iter().skip(1);
        !numbers
            .clone()
            .all(|row| row[c].starts_with(|d: char| d.is_ascii_digit() || d == '-'))
    };
    let left: Vec<bool> = (0..columns).map(named).collect();
    let mut out = String::new();
    for row in rows {
        let fields = row
            .iter()
            .zip(&widths)
            .zip(&left)
            .map(|((text, width), left)| {
                if *left {
                    format!("{text:<width$}")
                } else {
                    format!("{text:>width$}")
                }
            });
        let line = fields.collect::<Vec<_>>().join("  ");
        out += &(line.trim_end().to_string() + "\n");
    }
    out
}
