//! Compile, run and verify as functions. Knows nothing of terminals.

pub mod abi;
pub mod auto;
pub mod bench;
pub mod bind;
pub mod binding;
mod blame;
pub mod build;
pub mod cache;
pub mod call;
mod choice;
pub mod compile;
pub mod count;
pub mod device;
mod loaded;
pub mod memory;
pub mod model;
pub mod number;
pub mod run;
mod schedules;
mod strides;
mod tools;
pub mod tune;
mod variants;
pub mod watch;
pub mod write;

pub use compile::{Compiled, Request, ScheduleChoice, Source, compile};

use crate::data::DataError;
use crate::diagnostic::{Diagnostic, Sources};

/// Why something was not done, with the process's exit code.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The program, schedule or command line is wrong: exit 2.
    Program(Vec<Diagnostic>),
    /// The data is wrong: exit 3.
    Data(DataError),
    /// The environment lacks something: exit 4.
    Environment(Diagnostic),
    /// A check does not hold: exit 1.
    Check(Diagnostic),
}

impl Failure {
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Program(_) => 2,
            Failure::Data(_) => 3,
            Failure::Environment(_) => 4,
            Failure::Check(_) => 1,
        }
    }

    /// The first message, on one line.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Failure::Program(all) => all.first().map_or(String::new(), |one| one.message.clone()),
            Failure::Data(error) => error.to_string(),
            Failure::Environment(one) | Failure::Check(one) => one.message.clone(),
        }
    }
}

impl From<Vec<Diagnostic>> for Failure {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Failure::Program(diagnostics)
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Failure::Program(vec![diagnostic])
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        Failure::Data(error)
    }
}

/// A place for an argument of the command line, so that diagnostics can show it.
pub fn argument(sources: &mut Sources, option: &str, value: &str) -> crate::diagnostic::Span {
    let file = sources.add(format!("<{option}>"), value);
    crate::diagnostic::Span {
        file,
        start: 0,
        end: u32::try_from(value.len()).unwrap_or(u32::MAX),
    }
}
