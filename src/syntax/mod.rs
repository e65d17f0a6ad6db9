//! Text into [`ast`] with spans, and back (`fmt`). Knows nothing of meaning.

pub mod ast;
pub mod build;
pub mod expr;
pub mod format;
mod formats;
mod habits;
mod operator;
pub mod parse;
pub mod taco;
pub mod tokens;

pub use parse::{parse, parse_schedule};
pub use tokens::{Token, tokens};
