//! Compressed files: what inflates is read as each kind.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sparsec::data::{self, FileKind};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(content) = data::decompress(bytes) {
        for kind in [FileKind::MatrixMarket, FileKind::Frostt, FileKind::Numpy] {
            sparsec_fuzz::read(kind, &content);
        }
    }
});
