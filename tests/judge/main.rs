//! Results worked out by hand: whoever doubts the judge reads these. Everything else that
//! is verified rests on it.

mod extremes;
mod operators;
mod sparse;
mod statements;
mod subscripts;
mod sums;
mod support;
mod tolerances;
