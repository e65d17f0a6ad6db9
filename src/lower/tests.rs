//! The loops of small programs, and what lowering refuses: the files of `testdata/stages/lower`.

use super::lower;
use crate::cases::{check, rendered, scheduled};
use crate::diagnostic::Sources;
use crate::loops::{simplify, text};

#[test]
fn cases_of_lowering() {
    check("lower", |shared, given| {
        let mut sources = Sources::default();
        match scheduled(&mut sources, shared, given).and_then(|graph| lower(&graph)) {
            Ok(lowered) => text::print(&simplify(lowered.kernel)),
            Err(errors) => rendered(&errors, &sources),
        }
    });
}
