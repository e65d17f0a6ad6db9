//! The reader of NumPy files, and packing what it read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sparsec::data::FileKind;

fuzz_target!(|bytes: &[u8]| sparsec_fuzz::read(FileKind::Numpy, bytes));
