//! Diagnostics as text for people (source lines with carets, by annotate-snippets) and
//! as JSON for tools.

use super::{Diagnostic, Severity, Sources};
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use serde_json::{Value, json};

/// The text of a diagnostic; with terminal colours if `colour`.
#[must_use]
pub fn text(diagnostic: &Diagnostic, sources: &Sources, colour: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Note => Level::NOTE,
        Severity::Performance => Level::NOTE.with_name("performance"),
        Severity::Warning => Level::WARNING,
        Severity::Error => Level::ERROR,
    };
    let mut group = level
        .primary_title(diagnostic.message.as_str())
        .id(diagnostic.code.id)
        .elements(Vec::<Snippet<annotate_snippets::Annotation>>::new());
    let mut files: Vec<super::FileId> = Vec::new();
    for label in &diagnostic.labels {
        if !files.contains(&label.span.file) {
            files.push(label.span.file);
        }
    }
    for file in files {
        let source = sources.get(file);
        let mut snippet = Snippet::source(source.text.as_str()).path(source.name.as_str());
        for (at, label) in diagnostic.labels.iter().enumerate() {
            if label.span.file != file {
                continue;
            }
            let kind = if at == 0 {
                AnnotationKind::Primary
            } else {
                AnnotationKind::Context
            };
            let length = source.text.len();
            let start = (label.span.start as usize).min(length);
            let end = (label.span.end as usize).clamp(start, length);
            snippet = snippet.annotation(kind.span(start..end).label(label.text.as_str()));
        }
        group = group.element(snippet);
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    let renderer = if colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    renderer.render(&[group])
}

/// A severity's name in JSON.
#[must_use]
pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Performance => "performance",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// The diagnostic as one JSON object.
#[must_use]
pub fn json(diagnostic: &Diagnostic, sources: &Sources) -> Value {
    let spans: Vec<Value> = diagnostic
        .labels
        .iter()
        .enumerate()
        .map(|(at, label)| {
            let (line, column) = sources.line_column(label.span.file, label.span.start);
            let (end_line, end_column) = sources.line_column(label.span.file, label.span.end);
            json!({
                "file": sources.get(label.span.file).name,
                "line": line,
                "column": column,
                "end_line": end_line,
                "end_column": end_column,
                "label": label.text,
                "primary": at == 0,
            })
        })
        .collect();
    json!({
        "code": diagnostic.code.id,
        "severity": severity(diagnostic.severity),
        "message": diagnostic.message,
        "spans": spans,
        "notes": diagnostic.notes,
        "help": diagnostic.help,
    })
}
