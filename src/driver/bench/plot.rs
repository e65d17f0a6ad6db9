//! Charts of measurements: rooflines (S. Williams, A. Waterman, D. Patterson, "Roofline: an
//! insightful visual performance model for multicore architectures", CACM 52(4), 2009), and times
//! against the size of the data.

use super::report::{DataSet, Limit, Report};
use crate::diagram::chart::{Chart, Look, Series};

/// A roofline, and times where there are several data sets.
#[must_use]
pub fn charts(report: &Report) -> Vec<Chart> {
    let mut charts = vec![roofline(report)];
    if report.data.len() > 1 {
        charts.push(times(report));
    }
    charts
}

/// What a candidate did on each data set, below what the machine could do.
fn roofline(report: &Report) -> Chart {
    let intensities = report.data.iter().filter_map(intensity);
    let (low, high) = intensities.fold((f64::INFINITY, 0.0f64), |(low, high), x| {
        (low.min(x), high.max(x))
    });
    let mut series: Vec<Series> = Vec::new();
    if low <= high {
        for set in &report.data {
            for (dashes, limit) in set.limits.iter().enumerate() {
                let name = format!("limit of {}", threads(limit.threads));
                // Data sets of other sizes have limits of their own, which one name stands for.
                let named = series.iter().any(|s| s.name == name);
                series.push(Series {
                    name: if named { String::new() } else { name },
                    points: roof(limit, low / 4.0, high * 4.0),
                    look: Look::Limit { dashes },
                });
            }
        }
    }
    for (candidate, count) in contestants(report) {
        let points = report.data.iter().filter_map(|set| {
            let mut rows = set.times.iter();
            let row = rows.find(|t| t.candidate == candidate && t.threads == count)?;
            Some((intensity(set)?, row.gflops))
        });
        series.push(Series {
            name: format!("{candidate}, {}", threads(count)),
            points: points.collect(),
            look: Look::Marks,
        });
    }
    Chart {
        title: format!("{}: roofline", report.function),
        x: "operations per byte".to_string(),
        y: "GFLOP/s".to_string(),
        series,
    }
}

/// Operations for each byte; `None` where there is nothing to divide.
fn intensity(set: &DataSet) -> Option<f64> {
    (set.operations > 0.0 && set.bytes > 0.0).then(|| set.operations / set.bytes)
}

/// GFLOP/s over operations per byte: bandwidth first, then the peak.
fn roof(limit: &Limit, low: f64, high: f64) -> Vec<(f64, f64)> {
    let at = |x: f64| {
        let passing = x * limit.bytes_per_second;
        let most = limit
            .operations_per_second
            .map_or(passing, |p| p.min(passing));
        (x, most / 1e9)
    };
    let ridge = limit
        .operations_per_second
        .map(|p| p / limit.bytes_per_second);
    let ridge = ridge.filter(|&x| low < x && x < high);
    [Some(low), ridge, Some(high)]
        .into_iter()
        .flatten()
        .map(at)
        .collect()
}

/// Medians against stored elements.
fn times(report: &Report) -> Chart {
    let series = contestants(report).into_iter().map(|(candidate, count)| {
        let points = report.data.iter().filter_map(|set| {
            let mut rows = set.times.iter();
            let row = rows.find(|t| t.candidate == candidate && t.threads == count)?;
            #[expect(clippy::cast_precision_loss)]
            let stored = set.stored as f64;
            Some((stored, row.seconds.median))
        });
        let mut points: Vec<(f64, f64)> = points.collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series {
            name: format!("{candidate}, {}", threads(count)),
            points,
            look: Look::Line,
        }
    });
    Chart {
        title: format!("{}: time", report.function),
        x: "stored elements".to_string(),
        y: "seconds".to_string(),
        series: series.collect(),
    }
}

/// Candidates with numbers of threads, as they come in the tables.
fn contestants(report: &Report) -> Vec<(String, u32)> {
    let first = report.data.iter().take(1).flat_map(|set| &set.times);
    first.map(|t| (t.candidate.clone(), t.threads)).collect()
}

fn threads(count: u32) -> String {
    if count == 1 {
        "1 thread".to_string()
    } else {
        format!("{count} threads")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_roof_bends_where_bandwidth_meets_the_peak() {
        let limit = Limit {
            threads: 1,
            bytes_per_second: 1e10,
            operations_per_second: Some(2e10),
        };
        assert_eq!(
            roof(&limit, 0.5, 8.0),
            [(0.5, 5.0), (2.0, 20.0), (8.0, 20.0)]
        );
        assert_eq!(roof(&limit, 0.25, 1.0), [(0.25, 2.5), (1.0, 10.0)]);
        let unknown = Limit {
            operations_per_second: None,
            ..limit
        };
        assert_eq!(roof(&unknown, 1.0, 8.0), [(1.0, 10.0), (8.0, 80.0)]);
    }
}
