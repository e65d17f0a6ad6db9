//! What is missed of the table's rows.

use super::Known;

/// Where the chosen nest takes more than a fifth above the steps of the best.
pub struct Missed {
    pub program: &'static str,
    pub data: &'static str,
    pub known: &'static [Known],
    /// To the steps of the best.
    pub ratio: f64,
    pub why: &'static str,
}

const ALWAYS: &[Known] = &[Known::Data, Known::Nothing];

pub const MISSED: &[Missed] = &[
    Missed {
        program: "layer",
        data: "f > h",
        known: &[Known::Nothing],
        ratio: 1.47,
        why: "which product comes first, f and h decide, and no versions are made to choose from at run time",
    },
    Missed {
        program: "sampled",
        data: "dense",
        known: &[Known::Nothing],
        ratio: 1.35,
        why: "C is copied the other way round for lanes, whose sums are set and added up: more steps, of which a vector takes \
              several (a fifth of the time, BENCHMARKS.md)",
    },
    Missed {
        program: "triangles",
        data: "",
        known: ALWAYS,
        ratio: 1.50,
        why: "a row in a workspace does not say what it holds, so that T would store edges without triangles",
    },
];
