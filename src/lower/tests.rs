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
            Ok(lowered) => {
                let keeping = lowered.kernel.keeping.clone();
                let kernels = [Some(lowered.kernel), keeping.map(|own| *own)];
                let texts = kernels.into_iter().flatten().map(simplify);
                texts.map(|kernel| text::print(&kernel)).collect()
            }
            Err(errors) => rendered(&errors, &sources),
        }
    });
}
