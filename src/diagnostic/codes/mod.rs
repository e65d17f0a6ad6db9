//! The catalogue: every code with a title and the long text of `sparsec explain`.
//!
//! One file a stage, each with its own range of numbers, so that a code says
//! where it comes from: E01xx syntax, E02xx program, E03xx formats, E04xx
//! schedules, E05xx lowering (features that are not built yet among them),
//! E06xx data, E07xx environment and command line, P08xx performance notes.
//! Codes are stable: a code that is no longer used is not given out again.

pub mod data;
pub mod environment;
pub mod format;
pub mod lower;
pub mod performance;
pub mod program;
pub mod schedule;
pub mod syntax;

/// An entry of the catalogue. Two codes are equal when their ids are.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// `E0201`.
    pub id: &'static str,
    /// One line, lower case.
    pub title: &'static str,
    /// What it means, an example that causes it, and the fix.
    pub explanation: &'static str,
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Code {}

/// Declares the codes of one stage and their list `ALL`.
///
/// ```ignore
/// codes! {
///     UNKNOWN_NAME = "E0201", "unknown name", "A name is used that ...";
/// }
/// ```
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $title:literal, $text:expr;)*) => {
        $($(#[$doc])* pub const $name: $crate::diagnostic::Code = $crate::diagnostic::Code {
            id: $id,
            title: $title,
            explanation: $text,
        };)*
        /// Every code of this stage, in order.
        pub const ALL: &[$crate::diagnostic::Code] = &[$($name),*];
    };
}
pub(crate) use codes;

/// Every code of the catalogue, stage by stage.
pub fn all() -> impl Iterator<Item = Code> {
    [
        syntax::ALL,
        program::ALL,
        format::ALL,
        schedule::ALL,
        lower::ALL,
        data::ALL,
        environment::ALL,
        performance::ALL,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// The code with this id, in any letter case.
#[must_use]
pub fn find(id: &str) -> Option<Code> {
    all().find(|code| code.id.eq_ignore_ascii_case(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_an_example() {
        let has = |code: &Code| {
            code.explanation
                .lines()
                .any(|line| line.starts_with("    "))
        };
        let without: Vec<&str> = all().filter(|c| !has(c)).map(|c| c.id).collect();
        assert_eq!(without, [""; 0]);
    }
}
