//! The CUDA target on the emulator, every access checked.

mod support;

use support::corpus::{check, listed, programs};

/// As sparsec schedules by itself, and in one thread.
const CUDA: [&str; 2] = ["--target", "cuda"];
const SERIAL: [&str; 3] = ["--target", "cuda", "--no-schedule"];

#[test]
fn programs_of_the_papers() {
    check(&programs("testdata/programs", &CUDA));
}

#[test]
fn readings_that_peers_get_wrong() {
    check(&programs("testdata/corpus", &CUDA));
}

#[test]
fn sparse_corpus() {
    check(&listed(&CUDA));
}

#[test]
fn serial_kernels() {
    let mut cases = programs("testdata/corpus", &SERIAL);
    cases.extend(programs("testdata/programs", &SERIAL));
    check(&cases);
}
