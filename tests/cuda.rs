//! The CUDA target on the emulator, every access checked.

mod support;

use support::corpus::{check, listed, programs};

const CUDA: [&str; 2] = ["--target", "cuda"];

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
