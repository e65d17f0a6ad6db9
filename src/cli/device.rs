//! `--device FILE`: the numbers that schedules are found by (see [`crate::schedule::auto::Profile`]).

use crate::diagnostic::codes::environment as codes;
use crate::diagnostic::{Diagnostic, FileId, Sources, Span};
use crate::driver::{Failure, compile};
use crate::schedule::auto::Profile;
use std::path::Path;
use std::sync::Arc;

/// Those of a file; without one, those that sparsec has by itself.
///
/// # Errors
/// The file cannot be read, or is no profile.
pub(super) fn profile(path: Option<&Path>, sources: &mut Sources) -> Result<Arc<Profile>, Failure> {
    let Some(path) = path else {
        return Ok(Arc::default());
    };
    let (file, text) = compile::read(sources, path, &mut Vec::new())?;
    Profile::parse(&text).map(Arc::new).map_err(|(why, line)| {
        let span = line_of(file, &text, line);
        Diagnostic::error(codes::DEVICE_FILE, span, why, "in this file")
            .with_help("`sparsec auto --print-device` writes one with all its numbers")
            .into()
    })
}

/// A line, counted from 1, or the first one.
fn line_of(file: FileId, text: &str, line: Option<usize>) -> Span {
    let before = line.unwrap_or(1).saturating_sub(1);
    let lines = || text.split_inclusive('\n');
    let start: usize = lines().take(before).map(str::len).sum();
    let own = lines().nth(before).map_or("", str::trim_end);
    let at = |byte: usize| u32::try_from(byte).unwrap_or(u32::MAX);
    Span {
        file,
        start: at(start),
        end: at(start + own.len()),
    }
}
