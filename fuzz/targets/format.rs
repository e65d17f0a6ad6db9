//! The formatter, on programs and on schedules.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| sparsec_fuzz::format(text));
