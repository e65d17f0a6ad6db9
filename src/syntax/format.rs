//! `sparsec fmt`.

use crate::diagnostic::{Diagnosed, FileId};

/// Formats a `.tc` or formats file.
///
/// # Errors
/// It does not parse.
pub fn format_source(file: FileId, text: &str) -> Diagnosed<String> {
    super::parse(file, text)?;
    Ok(text.to_string())
}

/// Formats a `.sched` file.
///
/// # Errors
/// It does not parse.
pub fn format_schedule(file: FileId, text: &str) -> Diagnosed<String> {
    super::parse_schedule(file, text)?;
    Ok(text.to_string())
}
