//! Text into [`ast`] with spans, and back (`fmt`). Knows nothing of meaning.

pub mod ast;
