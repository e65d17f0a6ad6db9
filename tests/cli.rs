//! Transcripts of the command line: `tests/cli/*.md`. `TRYCMD=overwrite` rewrites them.

#[test]
fn transcripts() {
    trycmd::TestCases::new().case("tests/cli/*.md");
}
