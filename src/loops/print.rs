//! The loop IR as text (`sparsec show --stage loops`).
