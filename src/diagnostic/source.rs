//! Source texts and places in them.

use crate::ids::id;

id!(
    /// A text in [`Sources`].
    FileId
);

/// A half-open range of bytes of one source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// The smallest span that covers both; they must be of one file.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span {
            file: self.file,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

/// A named text: a file, or an argument of the command line such as `-e`.
#[derive(Clone, Debug)]
pub struct Source {
    /// What diagnostics show: the path as the user gave it, or `-e`.
    pub name: String,
    pub text: String,
}

/// All texts of one compilation. Spans are only valid with the table that made them.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<Source>,
}

impl Sources {
    /// Adds a text and returns its id.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let id = FileId::at(self.files.len());
        self.files.push(Source {
            name: name.into(),
            text: text.into(),
        });
        id
    }

    /// The text of `id`.
    ///
    /// # Panics
    /// When `id` comes from another table.
    #[must_use]
    pub fn get(&self, id: FileId) -> &Source {
        &self.files[id.index()]
    }

    /// Line and column of a byte, both from 1; columns count characters.
    #[must_use]
    pub fn line_column(&self, file: FileId, byte: u32) -> (usize, usize) {
        let text = &self.get(file).text;
        let end = (byte as usize).min(text.len());
        let before = &text.as_bytes()[..end];
        let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
        let start = before
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |p| p + 1);
        let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
        (line, column)
    }
}
