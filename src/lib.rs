//! sparsec: a compiler from tensor index notation, formats and schedules to
//! readable C and CUDA kernels. `src/README.md` maps the modules and their
//! invariants.

#[cfg(test)]
mod cases;
pub mod cleanup;
pub mod cli;
pub mod data;
pub mod diagnostic;
pub mod diagram;
pub mod driver;
pub mod emit;
pub mod files;
pub mod format;
pub mod graph;
mod ids;
pub mod level;
pub mod loops;
pub mod lower;
pub mod operators;
pub mod plan;
pub mod program;
pub mod reference;
pub mod scalar;
pub mod schedule;
pub mod sums;
pub mod syntax;
pub mod target;
pub mod units;
