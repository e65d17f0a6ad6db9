//! Data: readers and writers of `.mtx`, `.tns` and `.npy`, packing into any
//! format and back, generators. Knows nothing of the compiler but formats.

pub mod fit;
pub mod generate;
pub mod levels;
pub mod mtx;
pub mod npy;
pub mod pack;
pub mod scan;
pub mod slots;
pub mod summary;
pub mod tensor;
pub mod tns;
pub mod unpack;
pub mod values;
pub mod whole;
pub mod write;

pub use generate::{constant, random};
pub use levels::{level_counts, longest_row};
pub use pack::pack;
pub use summary::{Summary, summarize};
pub use tensor::{Coo, Dense, Packed, Tensor};
pub use unpack::{coordinates_at, unpack, validate};
pub use values::Values;
pub use write::{content, ending};

use crate::diagnostic::Code;
use crate::diagnostic::codes::data as codes;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What is wrong with data: where, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", place(file.as_deref(), *line))]
pub struct DataError {
    pub code: Code,
    pub file: Option<PathBuf>,
    /// Counted from 1.
    pub line: Option<u64>,
    pub reason: String,
}

fn place(file: Option<&Path>, line: Option<u64>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{}:{line}: ", file.display()),
        (Some(file), None) => format!("{}: ", file.display()),
        (None, Some(line)) => format!("line {line}: "),
        (None, None) => String::new(),
    }
}

impl DataError {
    pub fn new(code: Code, reason: impl Into<String>) -> Self {
        DataError {
            code,
            file: None,
            line: None,
            reason: reason.into(),
        }
    }

    /// A malformed file at a line.
    pub fn at(line: u64, reason: impl Into<String>) -> Self {
        DataError {
            line: Some(line),
            ..Self::new(codes::MALFORMED, reason)
        }
    }

    #[must_use]
    pub fn in_file(mut self, file: &Path) -> Self {
        self.file = Some(file.to_path_buf());
        self
    }
}

/// A file format, by the ending of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    MatrixMarket,
    Frostt,
    Numpy,
}

/// The format of a file and whether it is compressed.
#[must_use]
pub fn file_kind(path: &Path) -> Option<(FileKind, bool)> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let (name, compressed) = match name.strip_suffix(".gz") {
        Some(name) => (name, true),
        None => (name.as_str(), false),
    };
    let kind = match Path::new(name).extension()?.to_str()? {
        "mtx" => FileKind::MatrixMarket,
        "tns" => FileKind::Frostt,
        "npy" => FileKind::Numpy,
        _ => return None,
    };
    Some((kind, compressed))
}

/// Reads a data file.
///
/// # Errors
/// The file and, where it is malformed, the line and the reason.
pub fn read(path: &Path) -> Result<Tensor, DataError> {
    let Some((kind, compressed)) = file_kind(path) else {
        return Err(DataError::new(
            codes::UNREADABLE,
            "unknown ending: expected .mtx, .tns or .npy, or one of these with .gz",
        )
        .in_file(path));
    };
    let bytes = load(path, compressed).map_err(|e| e.in_file(path))?;
    parse(kind, &bytes).map_err(|e| e.in_file(path))
}

/// Parses the content of a file.
///
/// # Errors
/// The line and the reason.
pub fn parse(kind: FileKind, bytes: &[u8]) -> Result<Tensor, DataError> {
    match kind {
        FileKind::MatrixMarket => mtx::parse(bytes),
        FileKind::Frostt => tns::parse(bytes),
        FileKind::Numpy => npy::parse(bytes),
    }
}

/// The line of a file that has the element at a position of the tensor that [`read`] made of it. Readers keep
/// no lines: the file is read again, for a message.
#[must_use]
pub fn line_of(path: &Path, element: usize) -> Option<u64> {
    let (kind, compressed) = file_kind(path)?;
    // What is no file, as a pipe, does not say it again.
    let bytes = path.is_file().then(|| load(path, compressed))?.ok()?;
    let mut found = None;
    let mut seen = |at: usize, line: u64| {
        if at == element {
            found = Some(line);
        }
    };
    match kind {
        FileKind::MatrixMarket => mtx::parse_watched(&bytes, &mut seen).ok()?,
        FileKind::Frostt => tns::parse_watched(&bytes, &mut seen).ok()?,
        FileKind::Numpy => return None,
    };
    found
}

fn load(path: &Path, compressed: bool) -> Result<Vec<u8>, DataError> {
    let unreadable = |e: std::io::Error| DataError::new(codes::UNREADABLE, e.to_string());
    let bytes = std::fs::read(path).map_err(unreadable)?;
    if !compressed {
        return Ok(bytes);
    }
    decompress(&bytes)
}

/// The content of a gzip file of one or more members.
///
/// # Errors
/// It is damaged, or ends too early.
pub fn decompress(bytes: &[u8]) -> Result<Vec<u8>, DataError> {
    let refuse = |reason: String| Err(DataError::new(codes::UNREADABLE, reason));
    let mut text = Vec::new();
    let mut rest = bytes;
    loop {
        let mut member = flate2::bufread::GzDecoder::new(rest);
        if let Err(error) = member.read_to_end(&mut text) {
            return refuse(format!("not a whole gzip stream: {error}"));
        }
        rest = member.into_inner();
        if rest.is_empty() {
            return Ok(text);
        }
        if !rest.starts_with(&GZIP) {
            let count = rest.len();
            return refuse(format!(
                "what follows the gzip stream is not gzip ({count} bytes)"
            ));
        }
    }
}

/// What members of a gzip file begin with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

#[cfg(test)]
mod tests;
