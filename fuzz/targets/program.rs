//! Programs, from text to C text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sparsec::driver::Source;

fuzz_target!(|text: &str| {
    sparsec_fuzz::compile(Source::Text {
        name: "fuzzed.tc".to_string(),
        text: text.to_string(),
    });
});
