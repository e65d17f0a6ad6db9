//! What is kept from one call of sparsec to the next, in a folder of the user's: schedules that
//! tuning found, kernels that `run` compiled, and the notes of tunings that are under way.
//!
//! Nothing that is read here is believed: folders and files must be the user's own, and files
//! whole. What is not is ignored, with a reason; what cannot be written is not kept.

pub mod entry;
mod kernels;
pub mod key;
mod lookup;
mod store;

pub use kernels::{library, library_of};
pub use lookup::{Found, tuned};
pub use store::{Cache, Ignored, Kept, Kind, Usage};

use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// A short name for a text.
#[must_use]
pub fn short_hash(text: &str) -> String {
    hash(&[text.as_bytes()])[..16].to_string()
}

/// SHA-256 of parts, each with its length before it, in hexadecimal digits.
fn hash(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    let mut text = String::new();
    for byte in digest.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
