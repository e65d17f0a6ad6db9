//! Diagnostics as text for people: source lines with carets (annotate-snippets).
