//! Measurements as lines of comma-separated values (RFC 4180), each complete in itself.

use crate::driver::bench::report::{CandidateReport, DataSet, Report, Times};

/// A heading and how a row's value is found.
type Column = (&'static str, fn(&Of) -> String);

/// A row with everything that it belongs to.
struct Of<'r> {
    report: &'r Report,
    set: &'r DataSet,
    row: &'r Times,
    candidate: Option<&'r CandidateReport>,
}

const COLUMNS: &[Column] = &[
    ("function", |of| of.report.function.clone()),
    ("data", |of| of.set.name.clone()),
    ("candidate", |of| of.row.candidate.clone()),
    ("threads", |of| of.row.threads.to_string()),
    ("stored", |of| of.set.stored.to_string()),
    ("operations", |of| of.set.operations.to_string()),
    ("bytes", |of| of.set.bytes.to_string()),
    ("clock", |of| of.report.clock.clone()),
    ("rounds", |of| of.set.rounds.to_string()),
    ("calls", |of| of.row.calls.to_string()),
    ("min_s", |of| of.row.seconds.min.to_string()),
    ("q1_s", |of| of.row.seconds.q1.to_string()),
    ("median_s", |of| of.row.seconds.median.to_string()),
    ("q3_s", |of| of.row.seconds.q3.to_string()),
    ("max_s", |of| of.row.seconds.max.to_string()),
    ("ratio", |of| of.row.ratio.to_string()),
    ("gflops", |of| of.row.gflops.to_string()),
    ("gbytes_per_s", |of| of.row.gbytes_per_second.to_string()),
    ("of_limit", |of| {
        of.row
            .of_limit
            .map_or(String::new(), |part| part.to_string())
    }),
    ("compile_s", |of| {
        of.candidate
            .map_or(String::new(), |c| c.compile_seconds.to_string())
    }),
    ("build_s", |of| {
        of.candidate
            .map_or(String::new(), |c| c.build_seconds.to_string())
    }),
    ("pack_s", |of| of.set.pack_seconds.to_string()),
    ("parameters", |of| {
        let all = of.candidate.iter().flat_map(|c| &c.parameters);
        let all: Vec<String> = all.map(|(name, value)| format!("{name}={value}")).collect();
        all.join(" ")
    }),
    ("schedule", |of| {
        of.candidate
            .map_or(String::new(), |c| c.schedule.join("; "))
    }),
    ("target", |of| of.report.target.clone()),
    ("device", |of| of.report.device.clone()),
    ("cpu", |of| of.report.machine.cpu.clone()),
    ("cores", |of| of.report.machine.cores.to_string()),
    ("gpu", |of| {
        of.report.machine.gpu.clone().unwrap_or_default()
    }),
    ("compiler", |of| of.report.machine.version.clone()),
    ("flags", |of| of.report.machine.flags.clone()),
    ("sparsec", |of| of.report.sparsec.clone()),
    ("old_median_s", |of| {
        let compared = of.report.comparison.iter().flatten().find(|c| {
            c.data == of.set.name && c.candidate == of.row.candidate && c.threads == of.row.threads
        });
        compared
            .and_then(|c| c.old)
            .map_or(String::new(), |old| old.to_string())
    }),
];

pub(super) fn text(report: &Report) -> String {
    let heads: Vec<&str> = COLUMNS.iter().map(|(head, _)| *head).collect();
    let mut out = heads.join(",") + "\n";
    for set in &report.data {
        for row in &set.times {
            let candidate = report.candidates.iter().find(|c| c.name == row.candidate);
            let of = Of {
                report,
                set,
                row,
                candidate,
            };
            let fields: Vec<String> = COLUMNS
                .iter()
                .map(|(_, value)| quoted(&value(&of)))
                .collect();
            out += &(fields.join(",") + "\n");
        }
    }
    out
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn what_would_end_a_field_is_quoted() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("split(i, i0, i1, 32)"), "\"split(i, i0, i1, 32)\"");
        assert_eq!(quoted("a \"b\""), "\"a \"\"b\"\"\"");
    }
}
