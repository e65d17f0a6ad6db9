//! Errors as values: a stable code, a message, places in the source, a help line.
//!
//! Every stage returns [`Diagnostic`]s and never prints; [`render`] turns them
//! into text for people and `cli` into JSON. The catalogue of codes with their
//! long explanations (`sparsec explain CODE`) is in [`codes`].

pub mod codes;
pub mod render;
pub mod source;

pub use codes::Code;
pub use source::{FileId, Sources, Span};

/// How bad a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Remarks that lead to nothing slower or wrong.
    Note,
    /// The result is right but something is slower than the user may expect.
    Performance,
    /// Probably a mistake; compilation goes on.
    Warning,
    /// Nothing is written.
    Error,
}

/// A place in a source with what is to be said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    pub span: Span,
    pub text: String,
}

/// One message to the user.
///
/// The first label is the primary place (drawn with carets); the others are
/// context ("the size was fixed here"). An error of the program, a schedule or
/// the command line always has a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    pub message: String,
    pub labels: Vec<Label>,
    pub notes: Vec<String>,
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at `span`; `label` says what is wrong there.
    pub fn error(
        code: Code,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Self {
        Self::new(Severity::Error, code, span, message, label)
    }

    /// A performance note at `span`.
    pub fn performance(
        code: Code,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Self {
        Self::new(Severity::Performance, code, span, message, label)
    }

    pub fn new(
        severity: Severity,
        code: Code,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Self {
        let labels = vec![Label {
            span,
            text: label.into(),
        }];
        Diagnostic {
            code,
            severity,
            message: message.into(),
            labels,
            notes: Vec::new(),
            help: None,
        }
    }

    /// Adds a secondary place.
    #[must_use]
    pub fn with_label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label {
            span,
            text: text.into(),
        });
        self
    }

    /// Adds a remark under the source lines.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Says what the user can do about it.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// The result of a stage that reports several errors in one run.
pub type Diagnosed<T> = Result<T, Vec<Diagnostic>>;
